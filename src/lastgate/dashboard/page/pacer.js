// SPDX-License-Identifier: Apache-2.0
// When the screen changes. Everything that arrived in between is shown at once, because what costs is the frame.

// Faster than this nobody reads, and the feed is no faster.
const LEAST_MS = 100;
// Without a graphics card a frame takes a core for a tenth of a second, and that core may have a robot to mind: of the
// time that frames could take, the page uses a sixth.
const REST = 6;
// Whoever drags the view wants to see it turn now.
const REST_WHILE_TOUCHED = 1.2;
// However slow the machine is, what is shown is no older than this.
const MOST_MS = 1000;

export class Pacer {
  constructor(present) {
    this.present = present;
    this.cost = 0;
    this.began = -Infinity;
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
    const pause = urgent ? this.cost * REST_WHILE_TOUCHED : Math.max(LEAST_MS, this.cost * REST);
    const wait = this.began + Math.min(pause, MOST_MS) - performance.now();
    this.timer = setTimeout(() => {
      this.timer = null;
      this.waits = true;
      requestAnimationFrame(() => this.#frame());
    }, Math.max(0, wait));
  }

  #frame() {
    this.waits = false;
    this.began = performance.now();
    this.present();
    // The next frame is offered when this one is on the screen: that is what it cost, on this machine, just now.
    requestAnimationFrame(() => {
      this.cost = performance.now() - this.began;
    });
  }
}
