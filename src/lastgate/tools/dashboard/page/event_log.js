// SPDX-License-Identifier: Apache-2.0
// The event log. Entries are added at the top; nothing here changes or removes one.

const time = (seconds) => {
  const moment = new Date(seconds * 1000);
  return `${moment.toLocaleTimeString([], { hour12: false })}.${String(moment.getMilliseconds()).padStart(3, "0")}`;
};

function made(tag, className, words) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.textContent = words;
  return element;
}

export class EventLogList {
  constructor(parts) {
    this.parts = parts;
    this.newest = 0;
    this.advice = {};
    parts.close.addEventListener("click", () => parts.dialog.close());
  }

  add(entries) {
    for (const entry of entries) {
      // After a lost connection the server sends all of it again.
      if (entry.number <= this.newest) continue;
      this.newest = entry.number;
      this.parts.list.prepend(this.#row(entry));
    }
    this.parts.empty.hidden = this.newest > 0;
  }

  /** A server that was started anew counts from one: what was listed stays, under a line that says so. */
  belongsTo(run) {
    if (this.run !== undefined && run !== this.run) {
      if (this.newest) this.parts.list.prepend(made("li", "soft", "the page's server was started again"));
      this.newest = 0;
    }
    this.run = run;
  }

  count({ violations, not_listed: notListed }) {
    this.parts.count.textContent = violations ? `${violations}` : "";
    this.parts.full.hidden = !notListed;
    this.parts.full.textContent = notListed ? `The event log is full: ${notListed} later rejections were counted, not listed.` : "";
  }

  #row(entry) {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.source = entry.source;
    button.dataset.code = entry.code;
    const top = made("div", "top", "");
    const who = [entry.source === "span" ? "span" : "", entry.rskill_id].filter(Boolean).join(" · ");
    top.append(made("b", "", entry.code), made("time", "", time(entry.time_s)), made("span", "who", who));
    button.append(top, made("div", "sentence", entry.sentence));
    button.addEventListener("click", () => this.#open(entry));
    item.append(button);
    return item;
  }

  #open(entry) {
    const { dialog, title, sentence, advice, picture, evidence } = this.parts;
    title.textContent = `${entry.code} · ${time(entry.time_s)}`;
    sentence.textContent = entry.sentence;
    advice.textContent = this.advice[entry.code] ?? "";
    advice.hidden = !advice.textContent;
    picture.hidden = true;
    picture.removeAttribute("src");
    if (entry.has_picture) {
      picture.onload = () => { picture.hidden = false; };
      picture.src = `/api/ledger/${entry.number}.png`;
    }
    evidence.textContent = readable(entry);
    dialog.show();
  }
}

function readable(entry) {
  let told = entry.evidence;
  try {
    told = JSON.parse(entry.evidence);
  } catch { /* shown as it came */ }
  return JSON.stringify({ number: entry.number, source: entry.source, rskill_id: entry.rskill_id, trace_id: entry.trace_id, evidence: told }, null, 1);
}
