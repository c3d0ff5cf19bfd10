// SPDX-License-Identifier: Apache-2.0
// When the screen changes. Everything that arrived in between is shown at once, because what costs is the frame.

// Faster than this a person cannot read, and the feed is no faster.
const LEAST_MS = 100;
// A graphics card draws in a millisecond or two. Without one a frame takes a core for a tenth of a second, most of it after
// the page has finished with it, and that core may have a robot to mind: so it rests forty times as long as it drew, which
// leaves about a frame a second.
const REST = 40;
// A person who drags the view wants to see it turn at once.
const REST_WHILE_TOUCHED = 1;
// However slow the machine is, what is shown is no older than this.
const MOST_MS = 1000;

export class Pacer {
  constructor(present) {
    this.present = present;
    this.cost = 0;
    this.ended = -Infinity;
    this.timer = null;
    this.waits = false;
  }

  /** Something changed; `urgent` for what a person waits for. */
  ask(urgent = false) {
    if (this.waits) return;
    if (this.timer !== null) {
      if (!urgent) return;
      clearTimeout(this.timer);
    }
    const rest = urgent ? this.cost * REST_WHILE_TOUCHED : Math.max(LEAST_MS - this.cost, this.cost * REST);
    this.timer = setTimeout(() => {
      this.timer = null;
      this.waits = true;
      requestAnimationFrame(() => this.#frame());
    }, Math.max(0, this.ended + Math.min(rest, MOST_MS) - performance.now()));
  }

  #frame() {
    this.waits = false;
    const began = performance.now();
    this.present();
    this.ended = performance.now();
    // A frame in which little changed says little about the next one.
    this.cost = Math.max(this.ended - began, this.cost * 0.8);
  }
}
