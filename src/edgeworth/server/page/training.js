/**
 * Training on the server's own machine: choose a method, a game and a size, start, watch, cancel. One training at a time.
 */

import { get, post } from "./api.js";
import { button, h, show } from "./dom.js";

const SIZES = [[200_000, "200,000 (a second)"], [2_000_000, "2 million (some seconds)"], [20_000_000, "20 million (a minute)"]];
const ENDS = {
  finished: () => "has finished.", cancelled: () => "was cancelled; what it had learnt is saved.", failed: ({ message }) => `failed: ${message}`,
  ended: () => "is over; the server was restarted meanwhile.",
};

export class TrainingPanel {
  /** `begun` is called with the name of a run that was started here; `history` gives what is known of a run. */
  constructor(catalog, begun, history) {
    Object.assign(this, { scenarios: catalog.scenarios, begun, history, state: null, error: null, sending: false, drawn: "" });
    this.wanted = { preset: "ppo_fast", scenario: "lewis", steps: 2_000_000, seed: 0 };
    this.element = h("section", { class: "panel training", "aria-label": "Train a negotiator" });
  }

  /** Whether a training is under way. */
  get running() {
    return this.state?.current?.status === "running";
  }

  /** Ask the server what it trains. */
  async look() {
    this.state = await get("trainings");
  }

  async send(path, body) {
    if (this.sending) return;
    Object.assign(this, { sending: true, error: null });
    this.update();
    try {
      this.state.current = await post(path, body);
      if (body) this.begun(this.state.current.name);
    } catch (error) {
      this.error = error;
    }
    this.sending = false;
    this.update();
  }

  /** Show what has changed; a form that somebody fills in is left alone otherwise. */
  update() {
    if (!this.state) return;
    const steps = this.steps();
    const key = JSON.stringify([this.state, this.wanted, this.error?.message, this.sending, steps]);
    if (key === this.drawn) return;
    this.drawn = key;
    const { available, why, current } = this.state;
    show(this.element, h("h2", {}, "Train a negotiator"),
      available ? (this.running ? this.progress(current, steps) : this.form())
        : [h("p", {}, `${why} Training is started from a terminal instead:`), h("pre", {}, "edgeworth train --algo ppo --config configs/ppo_fast.yaml --seed 1 --out runs/mine")],
      this.error ? h("p", { role: "alert" }, `${this.error.message} ${this.error.remedy ?? ""}`) : null,
      current && !this.running ? h("p", { class: "small", role: "status" }, h("strong", {}, current.name), ` ${ENDS[current.status](current)}`) : null);
  }

  /** How many moves the current training has made. */
  steps() {
    return this.running ? (this.history(this.state.current.name)?.lines.at(-1)?.steps ?? 0) : 0;
  }

  form() {
    const choose = (name, title, options) => h("label", { class: "field" }, title, h("select", { "data-key": `train-${name}`, name, on: { change: (event) => (this.wanted[name] = name === "steps" ? Number(event.target.value) : event.target.value) } },
      options.map(([value, words]) => h("option", { value, selected: value === this.wanted[name] }, words))));
    const seed = (event) => event.target.reportValidity() && event.target.value !== "" && (this.wanted.seed = Number(event.target.value));
    return h("form", { class: "row", on: { submit: (event) => (event.preventDefault(), this.send("trainings", this.wanted)) } },
      choose("preset", "Method", this.state.presets.map(({ name, what }) => [name, what.replace(/,.*/, "")])),
      choose("scenario", "Scenario", this.scenarios.map(({ name }) => [name, name.replaceAll("_", " ")])),
      choose("steps", "Moves", SIZES.filter(([size]) => size <= this.state.most_steps)),
      h("label", { class: "field seed" }, "Seed", h("input", { type: "number", name: "seed", min: 0, max: 1e9, value: this.wanted.seed, "data-key": "train-seed", on: { change: seed } })),
      h("button", { class: "main", "data-key": "train", disabled: this.sending }, this.sending ? "Starting …" : "Start training"));
  }

  progress({ name, steps, cancelled }, made) {
    const words = cancelled ? "is being cancelled …" : made ? `has made ${made.toLocaleString("en")} of ${steps.toLocaleString("en")} moves.` : "is starting; its rules are being loaded …";
    return [h("p", { role: "status" }, h("strong", {}, name), ` ${words}`),
      h("progress", { max: steps, value: Math.min(made, steps), "aria-label": "Moves made" }),
      h("div", { class: "row" }, button("Cancel", () => this.send("trainings/cancel"), { "data-key": "train", disabled: cancelled || this.sending }))];
  }
}
