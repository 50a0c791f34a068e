/**
 * Rules to begin with: the textbook's, the published card's, and the best constants that were found for every population.
 */

import { get } from "./api.js";
import { h } from "./dom.js";
import { OPEN_RULES } from "./mechanism.js";

const POPULATIONS = { mixed: "bidders mixed at random", stages: "all stages alike", stage_0: "honest bidders", stage_1: "bidders who shade", stage_2: "bidders who stay away", stage_3: "a ring", stage_4: "everything at once" };
const titleOf = (name) => (name === "informed_greedy" ? "published card (informed greedy)" : `best constant for ${POPULATIONS[name] ?? name}`);

export class Presets {
  /** `chosen` is called when the player has taken one into `mechanism`. */
  constructor(mechanism, chosen) {
    Object.assign(this, { mechanism, chosen, known: [], bidders: null });
  }

  /** Ask for the bundled mechanisms, which depend on the number of bidders. */
  async load(bidders = 8) {
    this.bidders = bidders;
    const found = await get("mechanisms", { n_agents: bidders }).catch(() => ({ mechanisms: [] }));
    if (this.bidders !== bidders) return;
    this.known = [["textbook", "textbook second price, rings legal", OPEN_RULES], ...found.mechanisms.map(({ name, mechanism }) => [name, titleOf(name), mechanism])];
    this.chosen();
  }

  /** The field to choose one; the best for the market's own population is named first. */
  field({ bidders, stage }) {
    if (bidders && bidders !== this.bidders) this.load(bidders);
    const same = ([, , rules]) => Object.entries(rules).every(([name, value]) => this.mechanism.value[name] === value);
    const own = /^\d$/.test(stage) ? `stage_${stage}` : stage;
    const sorted = [...this.known].sort(([one], [other]) => (other === own) - (one === own));
    const current = sorted.find(same)?.[0];
    const take = (event) => {
      this.mechanism.set(this.known.find(([name]) => name === event.target.value)[2]);
      this.chosen();
    };
    return h("label", { class: "field" }, "Begin with the rules of", h("select", { "data-key": "preset", on: { change: take } },
      current ? null : h("option", { value: "", selected: true, disabled: true }, "your own"),
      sorted.map(([name, title]) => h("option", { value: name, selected: name === current }, title))));
  }
}
