// SPDX-License-Identifier: Apache-2.0
// The smaller cards: data ages, the cloud of the world, the 2-D map.
const NAMES = { chunk: "candidate", state: "joint state", world: "world", points: "points", voxels: "voxels", span: "spans" };

const spelled = (seconds) => (seconds < 10 ? `${seconds.toFixed(2)} s` : seconds < 3600 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 3600)} h`);

export function showAges(table, ages, limits) {
  Object.entries(NAMES).forEach(([key, name], index) => {
    const row = table.rows[index] ?? addRow(table, key, name);
    const age = ages[key];
    const limit = { state: limits?.state_age_s_max, world: limits?.world_age_s_max, points: limits?.world_age_s_max, voxels: limits?.world_age_s_max }[key];
    const stale = age !== null && limit !== undefined && age > limit;
    row.dataset.stale = String(stale);
    row.dataset.never = String(age === null);
    const words = age === null ? "never" : `${stale ? "stale · " : ""}${spelled(age)}`;
    if (row.cells[1].textContent !== words) row.cells[1].textContent = words;
  });
}

function addRow(table, key, name) {
  const row = table.insertRow();
  row.dataset.name = key;
  row.insertCell().textContent = name;
  row.insertCell();
  return row;
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

/** Puts the robot's mark onto a picture that is fitted into its frame. */
function placeMark(mark, image, at) {
  mark.hidden = !at || !image.naturalWidth || at.some((number) => number < 0 || number > 1);
  if (mark.hidden) return;
  const { clientWidth, clientHeight } = image;
  const scale = Math.min(clientWidth / image.naturalWidth, clientHeight / image.naturalHeight);
  const [width, height] = [image.naturalWidth * scale, image.naturalHeight * scale];
  mark.style.left = `${(clientWidth - width) / 2 + at[0] * width}px`;
  mark.style.top = `${(clientHeight - height) / 2 + at[1] * height}px`;
}

export function showPictures({ cloud, map, mark }, cards) {
  showPicture(cloud, "cloud", cards.cloud);
  showPicture(map, "map", cards.map);
  placeMark(mark, map.image, cards.map?.robot_at);
}
