/**
 * One negotiation on the server, as this page plays it: settings, the agent's moves, and what the server says of them.
 *
 * The seed and the moves determine the game, so it can be opened anew and replayed at any time: after a reload, from a link, to take a move
 * back, or when the server has lost the session. A move carries the step it is for, so that nothing is played twice.
 */

import { get, post } from "./api.js";
import { LOST, Work } from "./work.js";

export class Game extends Work {
  constructor(changed) {
    super(changed);
    this.settings = {};
    this.forget();
  }

  forget() {
    Object.assign(this, { moves: [], said: {}, observation: null, info: null, done: false, reward: 0, transcript: [], ending: null, analysis: null });
    Object.assign(this, { busy: "", error: null, retry: null });
  }

  /** Begin the game of these settings, and replay moves of the agent in it. */
  open(settings, moves = []) {
    this.settings = settings;
    const said = this.said;
    this.forget();
    this.said = Object.fromEntries(Object.entries(said).filter(([number]) => Number(number) < moves.length));
    return this.work("Opening the negotiation …", (signal) => this.replay(moves, signal), () => this.open(settings, moves));
  }

  /** Make a move; `text` is what the player typed, where they did. */
  async play(action, text = null) {
    if (this.busy || this.done || !this.observation) return;
    const wanted = [...this.moves, action];
    if (text !== null) this.said[this.moves.length] = text;
    await this.work("They are thinking …", async (signal) => {
      try {
        await this.step(action, signal);
      } catch (error) {
        if (!LOST.has(error.code)) throw error;
        await this.replay(wanted, signal); // the session is gone or elsewhere
      }
      await this.read(signal);
    }, () => this.open(this.settings, wanted));
  }

  /** Take back the last moves of the agent; all of them by default. */
  takeBack(number = this.moves.length) {
    this.said = {};
    return this.open(this.settings, this.moves.slice(0, this.moves.length - number));
  }

  /** How a sentence would be understood as the next move. */
  parse(text, signal) {
    return post("bargaining/parse", { session_id: this.session, text }, signal);
  }

  /** The move that a provider of hints suggests. */
  hint(provider, signal) {
    return post("bargaining/hint", { session_id: this.session, provider }, signal);
  }

  async replay(moves, signal) {
    const { scenario, partner, seed } = this.settings;
    const opened = await post("bargaining/reset", { session_id: this.session, scenario, partner, seed }, signal);
    Object.assign(this, { moves: [], observation: opened.observation, info: opened.info, done: false, reward: 0 });
    for (const move of moves) if (!this.done) await this.step(move, signal);
    await this.read(signal);
  }

  async step(action, signal) {
    const made = await post("bargaining/step", { session_id: this.session, action, expected: this.moves.length }, signal);
    this.moves = [...this.moves, action];
    Object.assign(this, { observation: made.observation, info: made.info, done: made.done, reward: this.reward + made.reward });
  }

  async read(signal) {
    const { moves, ending } = await get("bargaining/transcript", { session_id: this.session }, signal);
    Object.assign(this, { transcript: moves, ending });
    if (this.done) this.analysis = await get("bargaining/analysis", { session_id: this.session }, signal);
  }

  /** What a share is worth to the agent, in points. */
  worth(share) {
    return share.reduce((sum, units, item) => sum + units * this.observation.my_utilities[item], 0);
  }

  /** What the whole pool is worth to the agent. */
  get maximum() {
    return this.worth(this.observation.counts);
  }

  /** What the partner's last offer leaves for the agent, where there is one to accept. */
  get offer() {
    return this.info?.action_mask[2] ? this.observation.last_partner_offer_for_me : null;
  }
}
