// SPDX-License-Identifier: Apache-2.0
// The smaller cards: data ages, the cloud of the world, the 2-D map.
import { colour } from "./theme.js";
import { unpacked } from "./view.js";

const NAMES = { chunk: "candidate", state: "measured state", world: "world", points: "points", voxels: "voxels", span: "spans" };
// The view of the world-cloud card: from behind and above, as on the bridge that sends pictures.
const BACK_M = 2.2, UP_M = 1.6, PITCH_RAD = 0.45, FAR_M = 4;

const spelled = (seconds) => (seconds < 10 ? `${seconds.toFixed(2)} s` : seconds < 3600 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 3600)} h`);

export function showAges(table, ages, limits) {
  const rows = Object.entries(NAMES).map(([key, name]) => {
    const row = document.createElement("tr");
    const age = ages[key];
    const limit = { state: limits?.state_age_s_max, world: limits?.world_age_s_max, points: limits?.world_age_s_max, voxels: limits?.world_age_s_max }[key];
    const stale = age !== null && limit !== undefined && age > limit;
    row.dataset.stale = String(stale);
    row.dataset.never = String(age === null);
    row.dataset.name = key;
    for (const words of [name, age === null ? "never" : `${stale ? "stale · " : ""}${spelled(age)}`]) {
      const cell = document.createElement("td");
      cell.textContent = words;
      row.append(cell);
    }
    return row;
  });
  table.replaceChildren(...rows);
}

function showPicture({ image, empty, facts, age }, name, card) {
  if (!card) return;
  const address = `/api/cards/${name}.png?${card.number}`;
  if (image.getAttribute("src") !== address) image.setAttribute("src", address);
  image.hidden = false;
  empty.hidden = true;
  facts.textContent = card.facts.map(([word, fact]) => `${word} ${fact}`).join(" · ");
  age.textContent = `${spelled(card.age_s)} ago`;
}

export class WorldCards {
  constructor(parts) {
    this.parts = parts;
  }

  pictures(cards) {
    showPicture(this.parts.map, "map", cards.map);
    showPicture(this.parts.cloud, "cloud", cards.cloud);
  }

  /** Draws the points of a world that came without a picture. */
  cloud(cloud) {
    const { canvas, image, empty, facts } = this.parts.cloud;
    const parts = [cloud.points, cloud.cells].filter(Boolean);
    if (!parts.length || !image.hidden) return;
    canvas.hidden = false;
    empty.hidden = true;
    const total = parts.reduce((sum, part) => sum + part.total, 0);
    const shown = parts.reduce((sum, part) => sum + part.shown, 0);
    facts.textContent = [
      cloud.points && `${cloud.points.total} points`, cloud.cells && `${cloud.cells.total} cells at the surface`,
      cloud.cells?.unknown && `${cloud.cells.unknown} unknown`, shown < total && `${shown} drawn`,
    ].filter(Boolean).join(" · ");
    paintCloud(canvas, parts.map((part) => unpacked(part.xyz)));
  }
}

function paintCloud(canvas, clouds) {
  canvas.width = canvas.clientWidth * 2;
  canvas.height = canvas.clientHeight * 2;
  const context = canvas.getContext("2d");
  context.fillStyle = colour("raised");
  context.fillRect(0, 0, canvas.width, canvas.height);
  const focal = canvas.width * 0.6;
  const [cos, sin] = [Math.cos(PITCH_RAD), Math.sin(PITCH_RAD)];
  const dots = [];
  for (const xyz of clouds)
    for (let at = 0; at < xyz.length; at += 3) {
      const [x, y, z] = [xyz[at] + BACK_M, xyz[at + 1], xyz[at + 2] - UP_M];
      const depth = x * cos - z * sin;
      if (depth > 0.1) dots.push([depth, canvas.width / 2 - (focal * y) / depth, canvas.height / 2 - (focal * (z * cos + x * sin)) / depth, Math.hypot(xyz[at], xyz[at + 1], xyz[at + 2])]);
    }
  dots.sort((a, b) => b[0] - a[0]);
  for (const [depth, u, v, range] of dots) {
    context.fillStyle = `hsl(${Math.min(1, range / FAR_M) * 240} 80% 55%)`;
    const size = Math.max(2, 10 / depth);
    context.fillRect(u, v, size, size);
  }
}
