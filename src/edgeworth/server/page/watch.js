/**
 * Watching: an agent plays the player's side by following one provider's hints, move by move.
 */

import { button, h, show } from "./dom.js";
import { ADVISERS } from "./hints.js";

const PAUSES = { slow: 3_000, normal: 1_500, fast: 400 };

export class Watch {
  constructor(game) {
    Object.assign(this, { game, playing: false, timer: null, note: "", asking: null, pace: "normal" });
    this.element = h("div", { class: "acts watch" });
  }

  update() {
    const { game } = this;
    const adviser = ADVISERS.find(({ name }) => name === game.settings.watch);
    if (this.watched !== game.settings) this.begin(Boolean(adviser));
    this.element.hidden = !adviser || game.done;
    if (!adviser || game.done) return this.stop();
    show(this.element,
      h("p", {}, "Your side is played by: ", h("strong", { class: "you" }, adviser.title), "."),
      h("div", { class: "row" },
        button(this.playing ? "Pause" : "Play", () => this.toggle(), { class: "main", "data-key": "play" }),
        button("One move", () => this.move(), { disabled: this.playing || Boolean(game.busy) || this.asking !== null, "data-key": "one" }),
        h("label", { class: "field" }, "Speed", this.speeds())),
      h("p", { class: "small quiet", role: "status" }, this.note));
  }

  speeds() {
    return h("select", { "data-key": "speed", on: { change: (event) => (this.pace = event.target.value) } },
      Object.keys(PAUSES).map((name) => h("option", { value: name, selected: name === this.pace }, name)));
  }

  begin(plays) {
    this.stop();
    Object.assign(this, { watched: this.game.settings, playing: plays, note: "" });
    if (plays) this.wait();
  }

  toggle() {
    this.playing = !this.playing;
    this.playing ? this.move() : this.stop();
    this.update();
  }

  /** Stop playing; a question that is under way is dropped. */
  stop() {
    clearTimeout(this.timer);
    this.asking?.abort();
    Object.assign(this, { playing: false, asking: null });
  }

  wait() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.move(), PAUSES[this.pace]);
  }

  async move() {
    const { game } = this;
    if (game.error) return this.stop();
    if (game.busy || this.asking || game.done) return this.playing && !game.done ? this.wait() : undefined;
    const asking = (this.asking = new AbortController());
    this.note = "Choosing a move …";
    this.update();
    let said;
    try {
      said = await game.hint(game.settings.watch, asking.signal);
    } catch (error) {
      if (asking.signal.aborted) return;
      said = { rejection: { sentence: `${error.message} ${error.remedy ?? ""}` } };
    }
    if (asking.signal.aborted) return;
    this.asking = null;
    this.note = said.hint ? "" : (said.rejection?.sentence ?? "It has no move to suggest.");
    if (!said.hint) this.playing = false;
    else await game.play({ act_type: said.hint.act_type, oA: said.hint.oA });
    this.update();
    if (this.playing && !game.done) this.wait();
  }
}
