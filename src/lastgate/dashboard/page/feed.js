// SPDX-License-Identifier: Apache-2.0
// The live feed. It comes back by itself, and says loudly while it is gone.

const RETRY_MS = 1000;
// Frames come twenty times a second; without one for this long, what is on the screen is old.
const SILENT_MS = 2000;

export class Feed {
  constructor(handlers, onSilence) {
    this.handlers = handlers;
    this.onSilence = onSilence;
    this.version = null;
    this.heardAt = performance.now();
    this.#open();
    setInterval(() => this.onSilence(performance.now() - this.heardAt > SILENT_MS), 250);
  }

  #open() {
    const socket = new WebSocket(`ws://${location.host}/live`);
    socket.addEventListener("message", (event) => {
      this.heardAt = performance.now();
      const message = JSON.parse(event.data);
      if (message.type === "hello" && this.version && message.version !== this.version) location.reload();
      if (message.type === "hello") this.version = message.version;
      this.handlers[message.type]?.(message);
    });
    socket.addEventListener("close", () => setTimeout(() => this.#open(), RETRY_MS));
  }
}
