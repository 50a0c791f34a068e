/**
 * A race: two designers on the same market. Values and demand are drawn alike for both, so that every difference comes from the rules.
 */

import { button, h, show, svg } from "./dom.js";
import { Episode } from "./episode.js";
import { number, widest } from "./score.js";

const WIDTH = 600;
const HEIGHT = 206;
const LEFT = 36;
const FLOOR = 168;
const PARTED = 0.005;

export class Race {
  /** `titles` are the words for designers' names, `settings` gives the market. */
  constructor(titles, settings) {
    Object.assign(this, { titles, settings, names: [], chosen: ["informed_greedy", "policy"], lanes: null, running: false, error: null, heat: 0 });
    this.element = h("section", { class: "panel race", "aria-label": "Race of two designers" });
    this.update();
  }

  title(name) {
    return this.titles[name] ?? name;
  }

  /** End the race and forget it. */
  stop() {
    this.heat += 1;
    for (const lane of this.lanes ?? []) lane.close();
    Object.assign(this, { running: false, lanes: null, error: null });
  }

  async start() {
    this.stop();
    const heat = this.heat;
    const settings = { ...this.settings() };
    Object.assign(this, { running: true, length: settings.length, racers: [...this.chosen], lanes: this.chosen.map(() => new Episode(() => {})) });
    this.update();
    await Promise.all(this.lanes.map((lane) => lane.open(settings)));
    for (let step = 0; step < settings.length && this.heat === heat && !this.failed(); step += 1) {
      await Promise.all(this.lanes.map((lane, place) => this.post(lane, this.racers[place])));
      if (this.heat === heat) this.update();
    }
    if (this.heat !== heat) return;
    for (const lane of this.lanes) lane.close();
    this.running = false;
    this.update();
  }

  failed() {
    return this.error ?? this.lanes.find(({ error }) => error)?.error ?? null;
  }

  async post(lane, designer) {
    try {
      const { mechanism } = await lane.ask(designer);
      await lane.run(mechanism);
    } catch (error) {
      this.error = error;
    }
  }

  update() {
    const choose = (place, words) => h("label", { class: "field" }, words, h("select", { "data-key": `racer-${place}`, disabled: this.running, on: { change: (event) => (this.chosen[place] = event.target.value) } },
      this.names.map((name) => h("option", { value: name, selected: name === this.chosen[place] }, this.title(name)))));
    const failure = this.lanes && this.failed();
    show(this.element, h("h2", {}, "Race"), h("p", { class: "small quiet" }, "Two designers on this market from its first step: the same bidders, values and demand for both."),
      h("div", { class: "row" }, choose(0, "One"), choose(1, "The other"),
        this.running ? button("Cancel", () => (this.stop(), this.update()), { "data-key": "race" }) : button("Race", () => this.start(), { class: "main", "data-key": "race", disabled: !this.names.length })),
      failure ? h("p", { role: "alert" }, `${failure.message} ${failure.remedy ?? ""}`) : null,
      this.lanes ? [this.figure(), h("p", { role: "status", class: "verdict" }, this.words())] : null);
  }

  figure() {
    const x = (step) => LEFT + (step * (WIDTH - LEFT - 12)) / Math.max(1, this.length - 1);
    const y = (value) => FLOOR - value * (FLOOR - 12);
    const lines = this.lanes.map(({ outcomes }, place) => svg("g", { class: place ? "they" : "you" },
      svg("polyline", { points: outcomes.map(({ composite }, step) => `${x(step)},${y(composite)}`).join(" "), class: "lane" }),
      outcomes.map(({ composite }, step) => (place ? svg("path", { d: `M${x(step) - 4} ${y(composite) - 4}h8v8h-8z` }, svg("title", {}, number(composite))) : svg("circle", { cx: x(step), cy: y(composite), r: 4.5 }, svg("title", {}, number(composite)))))));
    return h("figure", {}, svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "lanes", role: "img", "aria-label": "R of both designers, step by step" },
      [0, 0.25, 0.5, 0.75, 1].map((value) => [svg("path", { class: "grid", d: `M${LEFT} ${y(value)}H${WIDTH - 12}` }), svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, value.toFixed(2))]),
      Array.from({ length: this.length }, (_, step) => svg("text", { x: x(step), y: FLOOR + 16, "text-anchor": "middle" }, String(step + 1))), svg("text", { x: (LEFT + WIDTH) / 2, y: HEIGHT - 5, "text-anchor": "middle" }, "step"), lines),
      h("figcaption", { class: "small" }, "R by step. ", h("span", { class: "you" }, `● ${this.title(this.racers[0])}`), "  ", h("span", { class: "they" }, `■ ${this.title(this.racers[1])}`)));
  }

  words() {
    const [one, other] = this.lanes.map(({ outcomes }) => outcomes);
    const done = Math.min(one.length, other.length);
    if (!done) return "Asking both designers for their first rules …";
    const mean = (outcomes) => outcomes.slice(0, done).reduce((sum, { composite }) => sum + composite, 0) / done;
    const score = `${this.title(this.racers[0])} ${number(mean(one))}, ${this.title(this.racers[1])} ${number(mean(other))} on average over ${done} step${done === 1 ? "" : "s"}.`;
    const parts = one.slice(0, done).findIndex(({ composite }, step) => Math.abs(composite - other[step].composite) > PARTED);
    if (parts < 0) return `${score} They have not parted.`;
    const most = widest(one[parts], other[parts]);
    return `${score} They part at step ${parts + 1}, most in ${most.title}: ${number(one[parts][most.name])} against ${number(other[parts][most.name])}.`;
  }
}
