/**
 * A step shown sale by sale: play, pause, single sales, earlier steps; with the lots and the story of each sale.
 */

import { button, h, show } from "./dom.js";
import { LETTERS, ladder } from "./ladder.js";

const PAUSES = { slow: 5_000, normal: 2_500, fast: 900 };

export class Sales {
  /** `reveal` switches what is true on and off; `look` asks for the sales of a step. */
  constructor(episode, reveal, look) {
    Object.assign(this, { episode, reveal, look, step: 0, sale: 0, playing: false, timer: null, pace: "normal", shown: null });
    this.element = h("section", { class: "panel sales", "aria-label": "The sales" });
  }

  /** Show a step from its first sale on. */
  begin(step, playing) {
    this.stop();
    Object.assign(this, { step, sale: 0, playing, shown: null });
    if (playing) this.wait();
  }

  stop() {
    clearTimeout(this.timer);
    this.playing = false;
  }

  wait() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (this.sale < 4) this.sale += 1;
      else return this.stop(), this.update();
      this.update();
      this.wait();
    }, PAUSES[this.pace]);
  }

  go(sale) {
    this.stop();
    this.sale = sale;
    this.update();
  }

  toggle() {
    if (this.playing) this.stop();
    else {
      if (this.sale === 4) this.sale = 0;
      this.playing = true;
      this.wait();
    }
    this.update();
  }

  update() {
    const { episode } = this;
    const held = episode.steps[this.step - 1];
    const truth = Boolean(episode.settings.reveal);
    if (!held) {
      return show(this.element, h("h2", {}, "The sales"), h("p", { class: "quiet", role: "status" }, episode.busy || (this.step ? "Asking for the sales of this step …" : "Set the rules, then run a step: five sales are held under them.")));
    }
    const sale = held.sales[this.sale];
    const key = `${this.step}.${this.sale}.${truth}`;
    if (this.shown !== key) this.drawing = ladder(sale, truth);
    this.shown = key;
    show(this.element,
      h("div", { class: "row player" }, h("h2", {}, `Step ${this.step}, sale ${this.sale + 1} of 5`),
        button(this.playing ? "Pause" : "Play", () => this.toggle(), { "data-key": "play" }),
        button("Previous", () => this.go(this.sale - 1), { "data-key": "previous", disabled: this.sale === 0 }),
        button("Next", () => this.go(this.sale + 1), { "data-key": "next", disabled: this.sale === 4 }),
        this.choice("Speed", this.pace, Object.keys(PAUSES).map((name) => [name, name]), (value) => (this.pace = value)),
        this.choice("Step", String(this.step), episode.mechanisms.map((_, place) => [String(place + 1), `step ${place + 1}`]), (value) => this.look(Number(value)))),
      this.drawing, legend(truth), lots(sale), story(sale, truth),
      h("label", { class: "flag" }, h("input", { type: "checkbox", "data-key": "reveal", checked: truth, on: { change: (event) => this.reveal(event.target.checked) } }), h("span", {}, "Show what is true", h("span", { class: "small quiet" }, "Types, values, cover bids, false names and the ring: no designer ever sees them."))));
  }

  choice(title, value, options, chosen) {
    return h("label", { class: "inline" }, h("span", { class: "unseen" }, title), h("select", { "data-key": title, on: { change: (event) => chosen(event.target.value) } }, options.map(([key, words]) => h("option", { value: key, selected: key === value }, words))));
  }
}

function legend(truth) {
  const always = "Each column is a bidder. Filled: won that lot. Bar: the price paid. All per unit of quality.";
  const types = Object.entries(LETTERS).map(([type, letter]) => `${letter} ${type}`).join(", ");
  return h("p", { class: "small quiet legend-line" }, truth ? `${always} Line: what a unit is worth to the bidder. ×: cover bid. Diamond: false name. ${types}.` : `${always} Types are hidden.`);
}

function lots(sale) {
  return h("ul", { class: "lots" }, sale.awards.map(({ lot, winner, payment, quality, fate }) => h("li", {}, h("strong", {}, `Lot ${lot + 1}`),
    winner ? ` → bidder ${winner.seat + 1} pays ${(payment / quality).toFixed(2)}${fate === "withdrawn" ? ", and withdraws" : ""}` : " unsold")));
}

function story(sale, truth) {
  const came = sale.types.length - sale.stayed_away.length - sale.kept_out.length;
  if (!truth) return h("p", {}, `${came} of ${sale.types.length} bidders came. Why they bid so is hidden.`);
  return h("ol", { class: "story" }, sale.story.map((sentence) => h("li", {}, sentence)));
}
