/**
 * One market on the server, as this page designs it: settings, the mechanisms posted, their scores, and the sales of each step.
 */

import { get, post } from "./api.js";
import { rounded } from "./link.js";
import { LOST, Work } from "./work.js";

export class Episode extends Work {
  constructor(changed) {
    super(changed);
    this.settings = {};
    this.forget();
  }

  forget() {
    Object.assign(this, { mechanisms: [], outcomes: [], observation: null, done: false, steps: [] });
  }

  /** Begin the market of these settings, and replay mechanisms in it. */
  open(settings, mechanisms = []) {
    this.settings = settings;
    this.forget();
    return this.work("Opening the market …", (signal) => this.replay(mechanisms, signal), () => this.open(settings, mechanisms));
  }

  /** Post a mechanism: five sales are held under it. */
  async run(mechanism) {
    if (this.busy || this.done || !this.observation) return;
    const wanted = [...this.mechanisms, rounded(mechanism)];
    await this.work("Holding five sales …", async (signal) => {
      try {
        await this.step(wanted.at(-1), signal);
      } catch (error) {
        if (!LOST.has(error.code)) throw error;
        await this.replay(wanted, signal); // the session is gone or elsewhere
      }
      await this.read(this.mechanisms.length, signal);
    }, () => this.open(this.settings, wanted));
  }

  /** The mechanism that a designer would post next. */
  ask(designer, signal) {
    return post("api/design", { session_id: this.session, designer }, signal);
  }

  /** The sales of a step, from 1; asked for once. */
  async read(step, signal) {
    this.steps[step - 1] ??= await get("sales", { session_id: this.session, step }, signal);
  }

  async replay(mechanisms, signal) {
    const { stage, bidders, length, seed } = this.settings;
    const opened = await post("reset", { session_id: this.session, stage, n_agents: bidders, episode_length: length, seed, truth: true }, signal);
    this.forget();
    this.observation = opened.observation;
    for (const mechanism of mechanisms) if (!this.done) await this.step(mechanism, signal);
    if (this.mechanisms.length) await this.read(this.mechanisms.length, signal);
  }

  async step(action, signal) {
    const made = await post("step", { session_id: this.session, action, expected: this.mechanisms.length }, signal);
    this.mechanisms = [...this.mechanisms, action];
    this.outcomes = [...this.outcomes, made.observation.market_outcomes.at(-1)];
    Object.assign(this, { observation: made.observation, done: made.done });
  }
}
