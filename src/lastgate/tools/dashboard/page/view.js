// SPDX-License-Identifier: Apache-2.0
// The live 3-D view: the volumes the gate moves, what stands around them, and where the candidate would go.
import { OrbitCamera } from "./camera.js";
import { project, rotate } from "./matrix.js";
import { Renderer } from "./renderer.js";
import { onThemeChange, rgba } from "./theme.js";

const PATH_RADIUS_M = 0.006;
const WITNESS_RADIUS_M = 0.012;
const FLOOR_HALF_M = 2.5;
// What is farther from the robot than this, or larger, is left out where the camera chooses what to show: a wall would
// make the arm a dot.
const FIT_REACH_M = 1.5;
// A label for each obstacle up to here; more would hide what they name.
const LABELS_MAX = 40;
const NOTHING = new Float32Array(0);
// The box that a tool stays in is often larger than all the rest.
const EDGE_OPACITY = 0.45;
// Enough to see that a volume is there, and what is inside it.
const LAYER_OPACITY = 0.3;

/** Numbers in base64 as the server packs them: little-endian float32, or another kind of array. */
function unpacked(text, Kind = Float32Array) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Kind(bytes.buffer);
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
    this.meshes = [];
    this.zones = [];
    this.margin = 0;
    this.shows = { labels: true, ghost: true, meshes: true, volumes: true, zones: true, margins: false };
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
      this.renderer.setMeshes(this.meshes);
      this.#say("");
      this.#ask();
    });
    this.camera = new OrbitCamera(canvas, () => this.#ask(true));
    new ResizeObserver(() => this.#ask(true)).observe(canvas);
    onThemeChange(() => this.#repaint());
    this.#repaint();
  }

  /** Turns the camera to all of the robot, and to the obstacles around it. */
  fit() {
    if (!this.volumes || !this.camera) return;
    const robot = this.robot.radius_m.flatMap((radius, index) => [0, 3].flatMap((end) => {
      const at = index * 6 + end;
      return around(this.volumes.slice(at, at + 3), [radius, radius, radius]);
    }));
    const low = [0, 1, 2].map((axis) => Math.min(...robot.map((point) => point[axis])) - FIT_REACH_M);
    const high = [0, 1, 2].map((axis) => Math.max(...robot.map((point) => point[axis])) + FIT_REACH_M);
    const near = this.obstacles.filter(({ kind }) => kind !== "half_space").map(verticesOf)
      .filter((vertices) => vertices.every((vertex) => vertex.every((number, axis) => number > low[axis] && number < high[axis])));
    this.camera.fit([...robot, ...near.flat()]);
  }

  toggle(name) {
    this.shows[name] = !this.shows[name];
    if (name === "zones") this.#paintWorld();
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

  /** The meshes that a robot is drawn from: for each a link's number, vertices in the link's frame, and triangles. */
  setMeshes(meshes) {
    this.meshes = meshes.map(({ link, vertices, triangles }) => ({
      link, vertices: unpacked(vertices), triangles: unpacked(triangles, Uint16Array),
    }));
    this.renderer?.setMeshes(this.meshes);
    this.#ask();
  }

  /** Where each link is: 12 numbers per link, a 3 x 4 pose row by row. */
  setLinkPoses(poses) {
    this.meshPoses = this.meshes.map(({ link }) => columns(poses.slice(link * 12, link * 12 + 12)));
    this.#ask();
  }

  /** Zones and boxes of the manifest: to stay out of, to stay in, or for the tool. */
  setZones(zones) {
    this.zones = zones;
    this.#paintWorld();
  }

  setMargin(marginM) {
    this.margin = marginM;
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
    // Once: a world that moves must not move the camera.
    if (obstacles.length && this.volumes && !this.sawWorld && !this.camera?.touched) this.fit();
    this.sawWorld ||= obstacles.length > 0 && this.volumes !== null;
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
    this.tints = { robot: rgba("robot"), world: rgba("world"), good: rgba("good"), bad: rgba("bad"), mark: rgba("mark"), mesh: rgba("mesh") };
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
    const cylinders = [];
    const walls = [];
    this.obstacles.forEach(({ kind, size_m: size, xyz, quat_xyzw: turn }, index) => {
      const tint = shade(this.tints.world, index);
      if (kind === "box") boxes.push(...xyz, ...turn, ...size, ...tint);
      else if (kind === "cylinder") cylinders.push(...xyz, ...turn, size[0], size[0], size[1], ...tint);
      else if (kind === "half_space") {
        const down = rotate(turn, [0, 0, -0.003]);
        walls.push(...xyz.map((number, axis) => number + down[axis]), ...turn, 2, 2, 0.003, ...this.tints.world.slice(0, 3), 0.22);
      } else {
        const along = rotate(turn, [0, 0, kind === "capsule" ? size[1] : 0]);
        capsules.push(...xyz.map((number, axis) => number - along[axis]), ...xyz.map((number, axis) => number + along[axis]), size[0], ...tint);
      }
    });
    const wires = [];
    if (this.shows.zones) for (const zone of this.zones) this.#paintZone(zone, walls, wires);
    this.wires = new Float32Array([...this.lines, ...wires]);
    const cells = new Float32Array((this.cells.length / 3) * 14);
    const half = this.cellSize * 0.48;
    for (let cell = 0; cell * 3 < this.cells.length; cell++)
      cells.set([...this.cells.subarray(cell * 3, cell * 3 + 3), 0, 0, 0, 1, half, half, half, ...this.tints.world], cell * 14);
    this.worldCapsules = new Float32Array(capsules);
    this.worldCylinders = new Float32Array(cylinders);
    this.worldBoxes = new Float32Array(boxes.length + cells.length);
    this.worldBoxes.set(boxes);
    this.worldBoxes.set(cells, boxes.length);
    this.walls = new Float32Array(walls);
    this.#ask();
  }

  /** A zone to stay out of is a wall one can see through; one to stay in, and the workspace box, are edges. */
  #paintZone(zone, walls, wires) {
    const { kind, size_m: size, xyz, quat_xyzw: turn, role } = zone;
    const tint = [...(role === "keep_out" ? this.tints.bad : this.tints.good).slice(0, 3), EDGE_OPACITY];
    if (kind === "half_space") {
      walls.push(...xyz, ...turn, 2, 2, 0.003, ...tint.slice(0, 3), 0.18);
      return;
    }
    const half = halfSizeOf(zone);
    if (role === "keep_out") walls.push(...xyz, ...turn, ...half, ...tint.slice(0, 3), 0.18);
    const vertex = (signs) => rotate(turn, half.map((number, axis) => number * signs[axis])).map((number, axis) => number + xyz[axis]);
    for (let axis = 0; axis < 3; axis++)
      for (const [s, t] of [[-1, -1], [-1, 1], [1, -1], [1, 1]])
        for (const end of [-1, 1]) {
          const signs = [0, 0, 0];
          [signs[axis], signs[(axis + 1) % 3], signs[(axis + 2) % 3]] = [end, s, t];
          wires.push(...vertex(signs), ...tint);
        }
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
    // Meshes are what a robot looks like; around them its volumes are a layer that one sees through.
    const solid = this.shows.meshes && this.meshPoses?.length ? this.meshPoses : [];
    if (this.volumes && this.shows.volumes) {
      if (solid.length) this.#addVolumes(ghost, this.volumes, () => [...this.tints.robot.slice(0, 3), LAYER_OPACITY]);
      else this.#addVolumes(robot, this.volumes, () => this.tints.robot);
    }
    if (this.volumes && this.shows.margins && this.margin > 0)
      this.#addVolumes(ghost, this.volumes, () => [...this.tints.mark.slice(0, 3), LAYER_OPACITY / 2], this.margin);
    if (this.candidate) this.#addCandidate(thin, ghost);
    this.renderer.draw(camera, {
      meshPoses: solid,
      meshTint: this.tints.mesh,
      lines: this.wires,
      boxes: this.worldBoxes,
      cylinders: this.worldCylinders,
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

  #addVolumes(into, ends, tintOf, grown = 0) {
    this.robot.radius_m.forEach((radius, index) => {
      const tint = tintOf(index);
      if (tint) into.push(...ends.slice(index * 6, index * 6 + 6), radius + grown, ...tint);
    });
  }

  #addCandidate(thin, ghost) {
    const { paths, ghost: ends, blamed = [], witness, verdict, is_here: isHere = false } = this.candidate;
    const tint = verdict === "accepted" ? this.tints.good : this.tints.bad;
    for (const path of paths)
      for (let at = 0; at + 6 <= path.length; at += 3) thin.push(...path.slice(at, at + 6), PATH_RADIUS_M, ...tint);
    if (ends && this.robot && this.shows.ghost && ends.length === this.robot.radius_m.length * 6) {
      const accused = new Set(blamed);
      const [pale, strong] = [[...tint.slice(0, 3), 0.22], [...this.tints.bad.slice(0, 3), 0.75]];
      // Where the robot itself stands at the rejected place, only what is to blame is painted over it.
      this.#addVolumes(ghost, ends, (index) => (accused.has(index) ? strong : isHere ? null : pale));
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

/** Half of the edges of the smallest upright box around a shape, in the shape's own frame. */
function halfSizeOf({ kind, size_m: size }) {
  if (kind === "box") return size;
  return [size[0], size[0], kind === "capsule" ? size[0] + size[1] : size[0]];
}

/** The eight vertices of a box, turned where a quaternion is given. */
function around(middle, half, turn = [0, 0, 0, 1]) {
  const found = [];
  for (const x of [-1, 1])
    for (const y of [-1, 1])
      for (const z of [-1, 1])
        found.push(rotate(turn, [x * half[0], y * half[1], z * half[2]]).map((number, axis) => number + middle[axis]));
  return found;
}

const verticesOf = (shape) => around(shape.xyz, halfSizeOf(shape), shape.quat_xyzw);

/** A 3 x 4 pose row by row, as WebGL reads a matrix. */
function columns(pose) {
  const [a, b, c, x, d, e, f, y, g, h, i, z] = pose;
  return [a, d, g, 0, b, e, h, 0, c, f, i, 0, x, y, z, 1];
}

function topOf({ kind, size_m: size }) {
  if (kind === "box") return size[2];
  if (kind === "cylinder") return size[1];
  return kind === "capsule" ? size[0] + size[1] : size[0];
}
