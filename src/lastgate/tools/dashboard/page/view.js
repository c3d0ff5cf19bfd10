// SPDX-License-Identifier: Apache-2.0
// The live 3-D view: the volumes the gate moves, what stands around them, and where the candidate would go.
import { OrbitCamera } from "./camera.js";
import { project, rotate } from "./matrix.js";
import { Renderer } from "./renderer.js";
import { onThemeChange, rgba } from "./theme.js";

const PATH_RADIUS_M = 0.006;
const WITNESS_RADIUS_M = 0.012;
const FLOOR_HALF_M = 2.5;
// A label for each obstacle up to here; more would hide what they name.
const LABELS_MAX = 40;
const NOTHING = new Float32Array(0);

/** Numbers in base64 as the server packs them: little-endian float32. */
function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

export class LiveView {
  constructor({ canvas, labels, note, ask }) {
    this.canvas = canvas;
    this.ask = ask;
    this.labels = labels;
    this.note = note;
    this.robot = null;
    this.volumes = null;
    this.candidate = null;
    this.obstacles = [];
    this.points = NOTHING;
    this.cells = NOTHING;
    this.cellSize = 0;
    this.shows = { labels: true, ghost: true };
    this.changed = false;
    this.drawn = 0;
    try {
      this.renderer = new Renderer(canvas);
    } catch (error) {
      this.#say(`The 3-D view cannot be drawn: ${error.message}`);
      return;
    }
    canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault();
      this.renderer = null;
      this.#say("The 3-D view was lost with the graphics driver and comes back with it.");
    });
    canvas.addEventListener("webglcontextrestored", () => {
      this.renderer = new Renderer(canvas);
      this.#say("");
      this.#ask();
    });
    this.camera = new OrbitCamera(canvas, () => this.#ask(true));
    new ResizeObserver(() => this.#ask(true)).observe(canvas);
    onThemeChange(() => this.#repaint());
    this.#repaint();
  }

  fit() {
    if (!this.volumes || !this.camera) return;
    const low = [Infinity, Infinity, Infinity];
    const high = [-Infinity, -Infinity, -Infinity];
    for (let at = 0; at < this.volumes.length; at++) {
      low[at % 3] = Math.min(low[at % 3], this.volumes[at]);
      high[at % 3] = Math.max(high[at % 3], this.volumes[at]);
    }
    const radius = Math.max(0.3, Math.hypot(high[0] - low[0], high[1] - low[1], high[2] - low[2]) / 2);
    this.camera.fit(low.map((number, axis) => (number + high[axis]) / 2), radius);
  }

  toggle(name) {
    this.shows[name] = !this.shows[name];
    this.#ask(true);
    return this.shows[name];
  }

  setRobot(robot) {
    this.robot = robot;
    this.volumes = this.candidate = null;
    this.#ask();
  }

  setVolumes(volumes) {
    const fits = this.robot && volumes && volumes.length === this.robot.radius_m.length * 6;
    const first = fits && !this.volumes;
    this.volumes = fits ? volumes : null;
    if (first && !this.camera?.touched) this.fit();
    this.#ask();
  }

  setCandidate(candidate) {
    this.candidate = candidate;
    this.#ask();
  }

  setObstacles(obstacles) {
    this.obstacles = obstacles;
    this.#nameObstacles();
    this.#paintWorld();
  }

  setCloud(cloud) {
    this.points = cloud.points ? unpacked(cloud.points.xyz) : NOTHING;
    this.cells = cloud.cells ? unpacked(cloud.cells.xyz) : NOTHING;
    this.cellSize = cloud.cells ? cloud.cells.resolution_m : 0;
    this.#paintWorld();
  }

  #say(text) {
    this.note.textContent = text;
    this.note.hidden = !text;
  }

  #nameObstacles() {
    const named = this.obstacles.filter((obstacle) => obstacle.kind !== "half_space").slice(0, LABELS_MAX);
    this.labels.replaceChildren(...named.map((obstacle) => {
      const label = document.createElement("span");
      // Text, never markup: the publisher of a world names its obstacles.
      label.textContent = obstacle.label;
      return label;
    }));
    this.labelled = named.map((obstacle) => [obstacle.xyz[0], obstacle.xyz[1], obstacle.xyz[2] + topOf(obstacle) + 0.02]);
  }

  #repaint() {
    this.tints = { robot: rgba("robot"), world: rgba("world"), good: rgba("good"), bad: rgba("bad"), mark: rgba("mark") };
    const soft = rgba("soft", 0.22);
    const lines = [];
    // The axes before the floor, which lies in them: of two lines at one place the first is seen.
    for (const [axis, tint] of [[0, [0.9, 0.3, 0.25, 1]], [1, [0.3, 0.75, 0.35, 1]], [2, [0.3, 0.5, 0.95, 1]]]) {
      const end = [0, 0, 0];
      end[axis] = 0.25;
      lines.push(0, 0, 0, ...tint, ...end, ...tint);
    }
    for (let k = -10; k <= 10; k++) {
      const at = (k / 10) * FLOOR_HALF_M;
      for (const ends of [[at, -FLOOR_HALF_M, 0, at, FLOOR_HALF_M, 0], [-FLOOR_HALF_M, at, 0, FLOOR_HALF_M, at, 0]])
        lines.push(...ends.slice(0, 3), ...soft, ...ends.slice(3), ...soft);
    }
    this.lines = new Float32Array(lines);
    this.#paintWorld();
  }

  #paintWorld() {
    const capsules = [];
    const boxes = [];
    const walls = [];
    this.obstacles.forEach(({ kind, size_m: size, xyz, quat_xyzw: turn }, index) => {
      const tint = shade(this.tints.world, index);
      if (kind === "box") boxes.push(...xyz, ...turn, ...size, ...tint);
      else if (kind === "half_space") {
        const down = rotate(turn, [0, 0, -0.003]);
        walls.push(...xyz.map((number, axis) => number + down[axis]), ...turn, 2, 2, 0.003, ...this.tints.world.slice(0, 3), 0.22);
      } else {
        const along = rotate(turn, [0, 0, kind === "capsule" ? size[1] : 0]);
        capsules.push(...xyz.map((number, axis) => number - along[axis]), ...xyz.map((number, axis) => number + along[axis]), size[0], ...tint);
      }
    });
    const cells = new Float32Array((this.cells.length / 3) * 14);
    const half = this.cellSize * 0.48;
    for (let cell = 0; cell * 3 < this.cells.length; cell++)
      cells.set([...this.cells.subarray(cell * 3, cell * 3 + 3), 0, 0, 0, 1, half, half, half, ...this.tints.world], cell * 14);
    this.worldCapsules = new Float32Array(capsules);
    this.worldBoxes = new Float32Array(boxes.length + cells.length);
    this.worldBoxes.set(boxes);
    this.worldBoxes.set(cells, boxes.length);
    this.walls = new Float32Array(walls);
    this.#ask();
  }

  #ask(urgent = false) {
    if (!this.renderer) return;
    this.changed = true;
    this.ask(urgent);
  }

  /** Draws, if anything is other than it was, and returns when it is drawn. */
  draw() {
    if (!this.changed || !this.renderer) return;
    this.changed = false;
    const scale = Math.min(2, devicePixelRatio || 1);
    const [width, height] = [Math.round(this.canvas.clientWidth * scale), Math.round(this.canvas.clientHeight * scale)];
    if (this.canvas.width !== width) this.canvas.width = width;
    if (this.canvas.height !== height) this.canvas.height = height;
    const camera = this.camera.matrix();
    const robot = [];
    const thin = [];
    const ghost = [];
    if (this.volumes) this.#addVolumes(robot, this.volumes, () => this.tints.robot);
    if (this.candidate) this.#addCandidate(thin, ghost);
    this.renderer.draw(camera, {
      lines: this.lines,
      boxes: this.worldBoxes,
      worldCapsules: this.worldCapsules,
      robotCapsules: new Float32Array(robot),
      thinCapsules: new Float32Array(thin),
      clearBoxes: this.walls,
      clearCapsules: new Float32Array(ghost),
      points: this.points,
      pointTint: this.tints.mark,
      pointSize: 6 * scale,
    });
    this.#placeLabels(camera);
    this.drawn += 1;
    this.canvas.dataset.drawn = String(this.drawn);
    this.canvas.dataset.volumes = String(this.volumes ? this.robot.radius_m.length : 0);
  }

  #addVolumes(into, ends, tintOf) {
    this.robot.radius_m.forEach((radius, index) => into.push(...ends.slice(index * 6, index * 6 + 6), radius, ...tintOf(index)));
  }

  #addCandidate(thin, ghost) {
    const { paths, ghost: ends, blamed = [], witness, verdict } = this.candidate;
    const tint = verdict === "accepted" ? this.tints.good : this.tints.bad;
    for (const path of paths)
      for (let at = 0; at + 6 <= path.length; at += 3) thin.push(...path.slice(at, at + 6), PATH_RADIUS_M, ...tint);
    if (ends && this.robot && this.shows.ghost && ends.length === this.robot.radius_m.length * 6) {
      const accused = new Set(blamed);
      const [pale, strong] = [[...tint.slice(0, 3), 0.22], [...this.tints.bad.slice(0, 3), 0.75]];
      this.#addVolumes(ghost, ends, (index) => (accused.has(index) ? strong : pale));
    }
    if (witness) {
      for (const end of [witness.slice(0, 3), witness.slice(3)]) thin.push(...end, ...end, WITNESS_RADIUS_M, ...this.tints.mark);
      thin.push(...witness, PATH_RADIUS_M / 2, ...this.tints.mark);
    }
  }

  #placeLabels(camera) {
    this.labels.hidden = !this.shows.labels;
    const { clientWidth, clientHeight } = this.canvas;
    // They stand still as long as the camera and the world do.
    const seen = [this.shows.labels, clientWidth, clientHeight, ...camera].join();
    if (!this.shows.labels || (seen === this.seenFrom && this.labelled === this.labelsPlaced)) return;
    this.seenFrom = seen;
    this.labelsPlaced = this.labelled;
    [...this.labels.children].forEach((label, index) => {
      const at = project(camera, this.labelled[index]);
      const inside = at && Math.abs(at[0]) < 0.97 && Math.abs(at[1]) < 0.95;
      label.hidden = !inside;
      if (inside) label.style.transform = `translate(${((at[0] + 1) / 2) * clientWidth}px, ${((1 - at[1]) / 2) * clientHeight}px) translate(-50%, -100%)`;
    });
  }
}

/** Neighbours in the list look a little different, so that a box on a table is seen. */
function shade(tint, index) {
  const factor = 0.82 + 0.36 * ((index * 0.618) % 1);
  return [...tint.slice(0, 3).map((number) => Math.min(1, number * factor)), tint[3]];
}

function topOf({ kind, size_m: size }) {
  if (kind === "box") return size[2];
  return kind === "capsule" ? size[0] + size[1] : size[0];
}
