// SPDX-License-Identifier: Apache-2.0
// The live feed. It comes back by itself, and says loudly while it is gone.

const RETRY_MS = 1000;
// Ages come twice a second; without anything for this long, what is on the screen is old.
const SILENT_MS = 2000;
// A page in the background hears once a second, and its clock is the browser's to slow down.
const SILENT_WHILE_AWAY_MS = 6000;

export class Feed {
  constructor(take, onSilence) {
    this.take = take;
    this.version = null;
    this.heardAt = performance.now();
    this.isAway = document.hidden;
    this.#open();
    setInterval(() => onSilence(performance.now() - this.heardAt > (this.isAway ? SILENT_WHILE_AWAY_MS : SILENT_MS)), 250);
  }

  /** A hidden page is told less, so that it costs less. */
  lookAway(isAway) {
    this.isAway = isAway;
    this.heardAt = performance.now();
    this.#sayPace();
  }

  #sayPace() {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(this.isAway ? "hidden" : "visible");
  }

  #open() {
    this.socket = new WebSocket(`ws://${location.host}/live`);
    this.socket.addEventListener("open", () => this.#sayPace());
    this.socket.addEventListener("message", (event) => {
      this.heardAt = performance.now();
      const message = JSON.parse(event.data);
      if (message.type === "hello" && this.version && message.version !== this.version) location.reload();
      if (message.type === "hello") this.version = message.version;
      this.take(message);
    });
    this.socket.addEventListener("close", () => setTimeout(() => this.#open(), RETRY_MS));
  }
}
