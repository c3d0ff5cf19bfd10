// SPDX-License-Identifier: Apache-2.0
// An eye that goes round a point: drag turns, two fingers or the right button shift, wheel and pinch come nearer.
import { cross, dot, lookAt, multiply, perspective, subtract } from "./matrix.js";

const FIELD_OF_VIEW_RAD = 0.62;
// The share of the screen that what was fitted takes: its edges hold buttons and words.
const FILLED = 0.86;
const DISTANCE_MIN_M = 0.4;

export class OrbitCamera {
  constructor(canvas, onChange) {
    this.canvas = canvas;
    this.onChange = onChange;
    this.fingers = new Map();
    this.fit([[-0.5, -0.6, 0], [1, 0.6, 1]]);
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.fingers.set(event.pointerId, [event.clientX, event.clientY]);
    });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (event) => this.fingers.delete(event.pointerId));
    canvas.addEventListener("pointermove", (event) => this.#moved(event));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.#nearer(Math.exp(event.deltaY * 0.0012));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => this.#key(event));
  }

  /** Goes where all of some points are seen, and stays there for screens of any shape until a person moves it. */
  fit(points) {
    this.turn = 0.62;
    this.rise = 0.52;
    this.touched = false;
    this.fitted = points;
    const axes = [0, 1, 2].map((axis) => points.map((point) => point[axis]));
    this.target = axes.map((numbers) => (Math.min(...numbers) + Math.max(...numbers)) / 2);
    this.onChange();
  }

  /** Towards the eye, to its right, and up. */
  #directions() {
    const back = [Math.cos(this.rise) * Math.cos(this.turn), Math.cos(this.rise) * Math.sin(this.turn), Math.sin(this.rise)];
    const right = [-Math.sin(this.turn), Math.cos(this.turn), 0];
    return [back, right, cross(back, right)];
  }

  #fittingDistance(aspect) {
    const [back, right, up] = this.#directions();
    const half = Math.tan(FIELD_OF_VIEW_RAD / 2) * FILLED;
    const needed = this.fitted.map((point) => {
      const offset = subtract(point, this.target);
      return dot(offset, back) + Math.max(Math.abs(dot(offset, up)) / half, Math.abs(dot(offset, right)) / (half * aspect));
    });
    return Math.max(DISTANCE_MIN_M, ...needed);
  }

  matrix() {
    const aspect = this.canvas.width / Math.max(1, this.canvas.height) || 1;
    if (this.fitted) this.distance = this.#fittingDistance(aspect);
    const [back] = this.#directions();
    const distance = this.distance;
    const eye = this.target.map((number, axis) => number + distance * back[axis]);
    const near = distance * 0.02;
    return multiply(perspective(FIELD_OF_VIEW_RAD, aspect, near, near + 60), lookAt(eye, this.target));
  }

  #moved(event) {
    const before = this.fingers.get(event.pointerId);
    if (!before) return;
    const [dx, dy] = [event.clientX - before[0], event.clientY - before[1]];
    if (this.fingers.size === 2) {
      const [other] = [...this.fingers.entries()].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
      const apart = (at) => Math.hypot(at[0] - other[0], at[1] - other[1]) || 1;
      this.#nearer(apart(before) / apart([event.clientX, event.clientY]));
      this.#shift(dx / 2, dy / 2);
    } else if (event.buttons & 2 || event.shiftKey) this.#shift(dx, dy);
    else {
      this.turn -= dx * 0.007;
      this.rise = Math.min(1.5, Math.max(-0.3, this.rise + dy * 0.007));
    }
    this.fingers.set(event.pointerId, [event.clientX, event.clientY]);
    this.#changed();
  }

  #shift(dx, dy) {
    const scale = (this.distance * FIELD_OF_VIEW_RAD) / Math.max(1, this.canvas.clientHeight);
    this.target[0] += scale * (dx * Math.sin(this.turn) - dy * Math.sin(this.rise) * Math.cos(this.turn));
    this.target[1] += scale * (-dx * Math.cos(this.turn) - dy * Math.sin(this.rise) * Math.sin(this.turn));
    this.target[2] += scale * dy * Math.cos(this.rise);
  }

  #nearer(factor) {
    this.distance = Math.min(40, Math.max(0.15, this.distance * factor));
    this.#changed();
  }

  #key(event) {
    const steps = { ArrowLeft: [0.1, 0], ArrowRight: [-0.1, 0], ArrowUp: [0, 0.08], ArrowDown: [0, -0.08] }[event.key];
    if (steps) {
      this.turn += steps[0];
      this.rise = Math.min(1.5, Math.max(-0.3, this.rise + steps[1]));
      event.preventDefault();
      this.#changed();
    } else if (event.key === "+" || event.key === "-") this.#nearer(event.key === "+" ? 0.85 : 1.18);
  }

  #changed() {
    this.touched = true;
    this.fitted = null;
    this.onChange();
  }
}
