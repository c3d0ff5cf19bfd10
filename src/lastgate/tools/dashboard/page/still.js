// SPDX-License-Identifier: Apache-2.0
// A view of one moment: what the data in this page say, and, where a server stands behind it, what its files say now.
import { Pacer } from "./pacer.js";
import { startTheme } from "./theme.js";
import { LiveView } from "./view.js";

// A person who saves a file looks at the screen about now.
const ASK_EVERY_MS = 700;
const FRAME_MS = 60;
const part = (id) => document.getElementById(id);
startTheme(part("theme"));

const pacer = new Pacer(() => view.draw());
const view = new LiveView({ canvas: part("scene"), labels: part("labels"), note: part("view-note"), ask: (urgent) => pacer.ask(urgent) });
let scene = null;
let playing = null;

const shows = (element, visible) => { element.hidden = !visible; };

function cells(...texts) {
  const row = document.createElement("tr");
  texts.forEach((text, index) => {
    const cell = document.createElement(index ? "td" : "th");
    if (!index) cell.scope = "row";
    // Text, never markup: names come from files of anybody.
    if (text instanceof Node) cell.append(text);
    else cell.textContent = text;
    row.append(cell);
  });
  return row;
}

function fill(id, rows) {
  part(id).querySelector("tbody").replaceChildren(...rows);
  shows(part(id), rows.length > 0);
}

function rangeOf({ name, position, low, high, unit }) {
  const told = `${position.toFixed(3)} ${unit}`;
  if (low === null) return cells(name, told, "turns without end");
  const meter = document.createElement("meter");
  Object.assign(meter, { min: low, max: high, value: position });
  meter.setAttribute("aria-label", `${name}: ${told} of ${low} to ${high}`);
  const row = cells(name, told, meter);
  row.lastElementChild.className = "range";
  return row;
}

const centimetres = (metres) => `${(metres * 100).toFixed(1)} cm`;

function sizeOf({ kind, size_m: size }) {
  if (kind === "box") return size.map((half) => (half * 200).toFixed(1)).join(" × ") + " cm";
  if (kind === "half_space") return "everything behind it";
  return kind === "sphere" ? `radius ${centimetres(size[0])}` : `radius ${centimetres(size[0])}, axis ${centimetres(2 * size[1])}`;
}

/** Evidence as lines of name and value; what is nested becomes one line each. */
function lines(told, before = "") {
  return Object.entries(told).flatMap(([name, value]) => {
    if (value === null || value === "") return [];
    if (typeof value === "object" && !Array.isArray(value)) return lines(value, `${before}${name}.`);
    const text = [value].flat().map((one) => (typeof one === "number" ? Number(one.toPrecision(5)) : one)).join(", ");
    return [cells(before + name.replaceAll("_", " "), text)];
  });
}

function showVerdict({ verdict, subject }) {
  const box = part("verdict");
  box.dataset.verdict = verdict.accepted ? "accepted" : "rejected";
  const [title, sentence, advice, rest] = box.children;
  title.textContent = `${subject}: ${verdict.accepted ? "accepted" : `rejected, ${verdict.code}`}`;
  sentence.textContent = verdict.sentence;
  advice.textContent = verdict.advice ?? "";
  rest.textContent = verdict.not_checked.length ? `not checked: ${verdict.not_checked.join(", ")}` : "";
}

function showStep(index) {
  const { numbers, volumes, link_poses: poses } = scene.steps;
  part("step").value = index;
  part("step-name").textContent = numbers[index] < 0 ? "measured state" : `step ${numbers[index]} of ${scene.candidate.rows}`;
  view.setLinkPoses(poses[index]);
  view.setVolumes(volumes[index]);
  view.setCandidate(scene.candidate);
}

function stopPlaying() {
  clearInterval(playing);
  playing = null;
  part("run").textContent = "Play";
}

function startPlaying() {
  let index = Number(part("step").value);
  if (index >= scene.steps.numbers.length - 1) index = -1;
  part("run").textContent = "Stop";
  playing = setInterval(() => {
    index += 1;
    showStep(index);
    if (index >= scene.steps.numbers.length - 1) stopPlaying();
  }, FRAME_MS);
}

function showLayers() {
  const here = {
    labels: scene.obstacles.some((obstacle) => obstacle.label),
    meshes: scene.meshes.length > 0,
    volumes: true,
    zones: scene.zones.length > 0,
    margins: scene.margin_m > 0,
    ghost: Boolean(scene.candidate?.ghost) && scene.steps !== undefined,
    keep_out: scene.zones.some(({ role }) => role === "keep_out"),
    stay_in: scene.zones.some(({ role }) => role !== "keep_out"),
    world: scene.obstacles.length > 0,
    blame: Boolean(scene.candidate?.ghost),
  };
  for (const button of document.querySelectorAll(".view-tools [id^=toggle-]")) shows(button, here[button.id.slice(7)]);
  for (const item of document.querySelectorAll(".legend li")) shows(item, here[item.dataset.for]);
}

function show(data) {
  scene = data;
  document.title = `${data.title}: ${data.subject}`;
  part("robot-name").textContent = data.title;
  view.setRobot(data.robot);
  view.setMeshes(data.meshes);
  view.setLinkPoses(data.link_poses);
  view.setMargin(data.margin_m);
  view.setZones(data.zones);
  view.setObstacles(data.obstacles);
  view.setCloud(data.cloud);
  view.setVolumes(data.volumes);
  view.setCandidate({ ...data.candidate, is_here: true });
  showVerdict(data);
  showLayers();
  part("notes").querySelector("ul").replaceChildren(...data.notes.map((note) => {
    const item = document.createElement("li");
    item.textContent = note;
    return item;
  }));
  shows(part("notes"), data.notes.length > 0);
  fill("joints", (data.joints ?? []).map(rangeOf));
  fill("world", data.obstacles.map((obstacle) => cells(obstacle.label || obstacle.kind, `${obstacle.kind.replace("_", " ")}, ${sizeOf(obstacle)}`)));
  fill("evidence", data.evidence ? lines(data.evidence) : []);
  const steps = data.steps?.numbers.length ?? 0;
  shows(part("play"), steps > 1);
  if (steps > 1) {
    part("step").max = steps - 1;
    // Where the rule was broken, the steps before it are seen by moving back.
    const at = data.steps.numbers.indexOf(data.candidate?.step ?? -1);
    part("step").value = at < 0 ? steps - 1 : at;
    part("step-name").textContent = data.verdict.accepted ? "the last step" : `rejected at step ${data.candidate.step}`;
  }
}

async function askAgain() {
  const live = part("live");
  shows(live, true);
  try {
    const answer = await fetch(`scene.json?have=${scene.version}`, { cache: "no-store" });
    if (answer.status === 200) {
      const told = await answer.json();
      shows(part("problem"), Boolean(told.problem));
      part("problem").lastElementChild.textContent = told.problem ?? "";
      if (told.problem) scene.version = told.version;
      else show(told);
    }
    live.textContent = "follows its files";
  } catch {
    live.textContent = "the program that served this page has ended";
  }
  setTimeout(askAgain, ASK_EVERY_MS);
}

part("camera").addEventListener("click", () => view.fit());
for (const button of document.querySelectorAll(".view-tools [id^=toggle-]"))
  button.addEventListener("click", () => button.setAttribute("aria-pressed", String(view.toggle(button.id.slice(7)))));
part("step").addEventListener("input", () => {
  stopPlaying();
  showStep(Number(part("step").value));
});
part("run").addEventListener("click", () => (playing === null ? startPlaying() : stopPlaying()));
show(JSON.parse(part("data").textContent));
if (scene.version !== undefined) askAgain();
