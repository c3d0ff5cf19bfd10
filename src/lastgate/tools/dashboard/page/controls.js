// SPDX-License-Identifier: Apache-2.0
// The two buttons. The stop needs nothing; the reset needs the token, and says why it is refused.

const ANSWER_TIMEOUT_MS = 4000;
const SAID_MS = 12000;
const STATE_WORDS = { none: "no kernel", lost: "kernel lost" };

async function post(address, body, headers = {}) {
  const response = await fetch(address, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json", ...headers }, signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
  return { status: response.status, ...(await response.json()) };
}

export class Controls {
  constructor({ estop, reset, strip, stripTitle, stripText, dialog, token, state }) {
    Object.assign(this, { strip, stripTitle, stripText, dialog, token, state });
    this.said = null;
    this.gate = null;
    this.#takeTokenFromAddress();
    // On the way down, not on the way up: stopping a robot must not take a release.
    let pressedAt = -Infinity;
    estop.addEventListener("pointerdown", () => { pressedAt = performance.now(); this.stop(); });
    estop.addEventListener("click", () => { if (performance.now() - pressedAt > 1500) this.stop(); });
    reset.addEventListener("click", () => this.reset());
    dialog.addEventListener("close", () => {
      if (dialog.returnValue === "ok" && token.value) {
        sessionStorage.setItem("token", token.value.trim());
        this.#askForReset();
      }
      token.value = "";
    });
  }

  async stop() {
    try {
      const { success, message } = await post("/api/estop", { reason: "pressed on the page" });
      this.#say(success ? null : { kind: "bad", title: "NOT STOPPED", text: message });
    } catch {
      this.#say({ kind: "bad", title: "NOT STOPPED", text: "the page's server did not answer. Use the hardware stop" });
    }
  }

  reset() {
    if (sessionStorage.getItem("token")) this.#askForReset();
    else {
      this.dialog.show();
      this.token.focus();
    }
  }

  /** What the page showed last says nothing about now. */
  lose() {
    this.state.textContent = "no data";
    this.state.dataset.state = "lost";
    document.title = "NO DATA · lastgate";
    this.gate = null;
    this.#paint();
  }

  nameTab({ state }) {
    document.title = state === "active" ? "lastgate" : `${(STATE_WORDS[state] ?? state).toUpperCase()} · lastgate`;
  }

  show(gate) {
    this.gate = gate;
    this.state.textContent = STATE_WORDS[gate.state] ?? gate.state;
    this.state.dataset.state = gate.state;
    this.#paint();
  }

  async #askForReset() {
    try {
      const { status, success, message } = await post("/api/reset", {}, { Authorization: `Bearer ${sessionStorage.getItem("token")}` });
      if (status === 403) sessionStorage.removeItem("token");
      this.#say({ kind: success ? "good" : "bad", title: success ? "Reset" : "Not reset", text: message });
    } catch {
      this.#say({ kind: "bad", title: "Not reset", text: "the page's server did not answer" });
    }
  }

  #takeTokenFromAddress() {
    const given = new URLSearchParams(location.hash.slice(1)).get("token");
    if (!given) return;
    sessionStorage.setItem("token", given);
    history.replaceState(null, "", location.pathname);
  }

  #say(said) {
    this.said = said && { ...said, until: performance.now() + SAID_MS };
    if (said) setTimeout(() => this.#paint(), SAID_MS + 50);
    this.#paint();
  }

  #paint() {
    const said = this.said && performance.now() < this.said.until ? this.said : null;
    const gate = this.gate ?? { state: "none", held: [], note: "" };
    const latched = gate.state === "latched";
    const held = gate.held.map(([name, why]) => `${name} still holds the stop${why ? ` (${why})` : ""}`);
    const lines = latched ? [[gate.source, gate.reason].filter(Boolean).join(": "), ...held].filter(Boolean) : [];
    const title = latched ? "LATCHED" : said?.title ?? (gate.state === "lost" ? "KERNEL LOST" : "");
    const words = latched && said ? [...lines, `${said.title}: ${said.text}`] : latched ? lines : said ? [said.text] : gate.note ? [gate.note] : [];
    this.strip.hidden = !title && !words.length;
    this.strip.dataset.kind = latched || gate.state === "lost" ? "bad" : said ? said.kind : "note";
    this.stripTitle.textContent = title;
    this.stripText.textContent = words.join(" · ");
  }
}
