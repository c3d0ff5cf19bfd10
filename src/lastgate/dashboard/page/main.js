// SPDX-License-Identifier: Apache-2.0
// Puts the parts of the page together: each message goes to the part that shows it.
import { showAges, showPictures } from "./cards.js";
import { drawClearance, drawLatency } from "./charts.js";
import { Controls } from "./controls.js";
import { Feed } from "./feed.js";
import { LedgerList } from "./ledger.js";
import { onThemeChange, startTheme } from "./theme.js";
import { LiveView } from "./view.js";

const part = (id) => document.getElementById(id);
startTheme(part("theme"));

const view = new LiveView({ canvas: part("scene"), labels: part("labels"), note: part("view-note") });
const controls = new Controls({
  estop: part("estop"), reset: part("reset"), strip: part("strip"), stripTitle: part("strip-title"), stripText: part("strip-text"),
  dialog: part("token-dialog"), token: part("token"), state: part("gate-state"),
});
const ledger = new LedgerList({
  list: part("ledger"), empty: part("ledger-empty"), full: part("ledger-full"), count: part("ledger-count"), dialog: part("entry-dialog"),
  title: part("entry-title"), sentence: part("entry-sentence"), picture: part("entry-picture"), evidence: part("entry-evidence"), close: part("entry-close"),
});
const cardParts = (name) => ({
  image: part(`${name}-image`), facts: part(`${name}-facts`), age: part(`${name}-age`),
  empty: part(`${name}-image`).parentElement.querySelector("p"),
});
const pictures = { cloud: cardParts("cloud"), map: cardParts("map"), mark: part("map-robot") };
const ages = part("ages").tBodies[0];

let robot = null;
let series = null;
let obstacles = null;
let agesShownAt = 0;

function showVerdict(candidate) {
  const box = part("verdict");
  if (!candidate) return;
  const accepted = candidate.verdict === "accepted";
  box.dataset.verdict = accepted ? "accepted" : "refused";
  box.firstElementChild.textContent = accepted ? "accepted" : `refused: ${candidate.verdict}`;
  const drawn = candidate.rows ? `${candidate.rows} rows${accepted ? "" : `, shown at step ${candidate.step}`}` : "its path cannot be drawn";
  const looked = obstacles?.declared_absent ? " · nobody looks at the world" : "";
  box.lastElementChild.textContent = drawn + looked;
}

function drawCharts() {
  if (!series) return;
  drawClearance(part("clearance"), series.clearance);
  drawLatency(part("latency"), part("percentiles"), series);
}

const handlers = {
  hello({ run }) {
    ledger.belongsTo(run);
  },
  robot(message) {
    robot = message.robot;
    view.setRobot(robot);
  },
  frame({ gate, counts, ages: old, volumes }) {
    part("robot-name").textContent = [robot?.name, gate.name !== robot?.name && gate.name, gate.model_digest && `model ${gate.model_digest.slice(0, 8)}`].filter(Boolean).join(" · ");
    part("count-checked").textContent = counts.accepted + counts.refused + counts.while_latched;
    part("count-accepted").textContent = counts.accepted;
    part("count-refused").textContent = counts.refused;
    part("count-latched").textContent = counts.while_latched;
    controls.show(gate);
    ledger.count(counts);
    view.setVolumes(volumes);
    // Digits that change twenty times a second cannot be read.
    if (performance.now() - agesShownAt > 200) {
      agesShownAt = performance.now();
      showAges(ages, old, robot);
    }
  },
  candidate({ candidate }) {
    view.setCandidate(candidate);
    showVerdict(candidate);
  },
  obstacles(message) {
    obstacles = message;
    view.setObstacles(message.obstacles);
  },
  cloud(message) {
    view.setCloud(message);
  },
  ledger({ entries }) {
    ledger.add(entries);
  },
  series(message) {
    series = message;
    drawCharts();
  },
  cards({ cards }) {
    showPictures(pictures, cards);
  },
};

new Feed(handlers, (silent) => {
  part("lost").hidden = !silent;
  if (silent) controls.lose();
});
addEventListener("keydown", (event) => {
  if (event.key === "Escape") document.querySelectorAll("dialog[open]").forEach((dialog) => dialog.close("cancel"));
});
part("camera").addEventListener("click", () => view.fit());
for (const name of ["labels", "ghost"])
  part(`toggle-${name}`).addEventListener("click", (event) => event.currentTarget.setAttribute("aria-pressed", String(view.toggle(name))));
onThemeChange(drawCharts);
addEventListener("resize", drawCharts);
