// SPDX-License-Identifier: Apache-2.0
// Puts the parts of the page together: each message waits for the next frame, and goes to the part that shows it.
import { showAges, showPictures } from "./cards.js";
import { drawClearance, drawLatency, SPAN_S } from "./charts.js";
import { Controls } from "./controls.js";
import { Feed } from "./feed.js";
import { EventLogList } from "./event_log.js";
import { Pacer } from "./pacer.js";
import { onThemeChange, startTheme } from "./theme.js";
import { LiveView } from "./view.js";

const part = (id) => document.getElementById(id);
startTheme(part("theme"));

const pacer = new Pacer(present);
const view = new LiveView({ canvas: part("scene"), labels: part("labels"), note: part("view-note"), ask: (urgent) => pacer.ask(urgent) });
const controls = new Controls({
  estop: part("estop"), reset: part("reset"), strip: part("strip"), stripTitle: part("strip-title"), stripText: part("strip-text"),
  dialog: part("token-dialog"), token: part("token"), state: part("gate-state"),
});
const ledger = new EventLogList({
  list: part("ledger"), empty: part("ledger-empty"), full: part("ledger-full"), count: part("ledger-count"), dialog: part("entry-dialog"),
  title: part("entry-title"), sentence: part("entry-sentence"), advice: part("entry-advice"), picture: part("entry-picture"), evidence: part("entry-evidence"), close: part("entry-close"),
});
const cardParts = (name) => ({
  image: part(`${name}-image`), facts: part(`${name}-facts`), age: part(`${name}-age`),
  empty: part(`${name}-image`).parentElement.querySelector("p"),
});
const pictures = { cloud: cardParts("cloud"), map: cardParts("map"), mark: part("map-robot") };
const ages = part("ages").tBodies[0];

let robot = null;
let gate = null;
let series = null;
let clearance = [];
let obstacles = null;
// What came since the last frame: of each kind the newest, of the event log all.
let waiting = new Map();

function showVerdict(candidate) {
  const box = part("verdict");
  if (!candidate) return;
  const accepted = candidate.verdict === "accepted";
  box.dataset.verdict = accepted ? "accepted" : "rejected";
  box.firstElementChild.textContent = accepted ? "accepted" : `rejected: ${candidate.verdict}`;
  const drawn = candidate.rows ? `${candidate.rows} steps${accepted ? "" : `, shown at step ${candidate.step}`}` : "its path cannot be drawn";
  const looked = obstacles?.declared_absent ? " · the world is not observed" : "";
  box.lastElementChild.textContent = drawn + looked;
}

function drawCharts() {
  if (!series) return;
  drawClearance(part("clearance"), clearance, series.now_s);
  drawLatency(part("latency"), part("percentiles"), series);
}

const say = (id, words) => {
  const element = part(id);
  if (element.textContent !== String(words)) element.textContent = words;
};

function nameRobot() {
  say("robot-name", [robot?.name, gate?.name !== robot?.name && gate?.name, gate?.model_digest && `model ${gate.model_digest.slice(0, 8)}`].filter(Boolean).join(" · "));
}

const showers = {
  hello({ run, advice }) {
    ledger.belongsTo(run);
    ledger.advice = advice;
  },
  robot(message) {
    robot = message.robot;
    view.setRobot(robot);
    nameRobot();
  },
  gate(message) {
    gate = message.gate;
    nameRobot();
    controls.show(gate);
  },
  counts({ counts }) {
    say("count-checked", counts.accepted + counts.rejected + counts.while_latched);
    say("count-accepted", counts.accepted);
    say("count-rejected", counts.rejected);
    say("count-latched", counts.while_latched);
    ledger.count(counts);
    // None was checked, so none can be shown; but they came.
    if (counts.while_latched && part("verdict").dataset.verdict === "none") part("verdict").firstElementChild.textContent = "rejected while latched";
  },
  volumes({ volumes }) {
    view.setVolumes(volumes);
    if (volumes && part("verdict").dataset.verdict === "none") part("verdict").lastElementChild.textContent = "";
  },
  ages({ ages: old }) {
    showAges(ages, old, robot);
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
const URGENT = new Set(["hello", "gate", "ledger"]);

function take(message) {
  // Of these two every message counts; of all others the newest.
  if (message.type === "ledger") message.entries = [...(waiting.get("ledger")?.entries ?? []), ...message.entries];
  if (message.type === "series") clearance = [...(message.whole ? [] : clearance), ...message.clearance].filter(([at_s]) => at_s > message.now_s - SPAN_S);
  // The name of a tab is read while the page is not seen, and no frame is drawn then.
  if (message.type === "gate") controls.nameTab(message.gate);
  // Set anew, so that what came last is shown last: a robot before its volumes.
  waiting.delete(message.type);
  waiting.set(message.type, message);
  pacer.ask(URGENT.has(message.type));
}

function present() {
  const shown = waiting;
  waiting = new Map();
  for (const [type, message] of shown) showers[type]?.(message);
  view.draw();
}

const feed = new Feed(take, (silent) => {
  if (part("lost").hidden === !silent) return;
  part("lost").hidden = !silent;
  if (silent) controls.lose();
});
document.addEventListener("visibilitychange", () => feed.lookAway(document.hidden));
addEventListener("keydown", (event) => {
  if (event.key === "Escape") document.querySelectorAll("dialog[open]").forEach((dialog) => dialog.close("cancel"));
});
part("camera").addEventListener("click", () => view.fit());
for (const name of ["labels", "ghost"])
  part(`toggle-${name}`).addEventListener("click", (event) => event.currentTarget.setAttribute("aria-pressed", String(view.toggle(name))));
onThemeChange(drawCharts);
addEventListener("resize", drawCharts);
