// SPDX-License-Identifier: Apache-2.0
// Light, dark, or as the system says; and the colours of the style sheet for what is painted by hand.

const ORDER = ["auto", "dark", "light"];
const listeners = [];

export const onThemeChange = (listener) => listeners.push(listener);

/** A colour of the style sheet as text. */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** The same as three numbers from 0 to 1, with how opaque it is. */
export function rgba(name, alpha = 1) {
  const digits = colour(name).slice(1);
  return [0, 2, 4].map((at) => parseInt(digits.slice(at, at + 2), 16) / 255).concat(alpha);
}

function apply(theme) {
  document.documentElement.dataset.theme = theme;
  listeners.forEach((listener) => listener());
}

export function startTheme(button) {
  apply(ORDER.includes(localStorage.getItem("theme")) ? localStorage.getItem("theme") : "auto");
  button.addEventListener("click", () => {
    const theme = ORDER[(ORDER.indexOf(document.documentElement.dataset.theme) + 1) % ORDER.length];
    localStorage.setItem("theme", theme);
    apply(theme);
  });
  matchMedia("(prefers-color-scheme: light)").addEventListener("change", () => apply(document.documentElement.dataset.theme));
}
