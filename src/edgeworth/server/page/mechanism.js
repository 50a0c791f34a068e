/**
 * The eleven fields of a mechanism as controls, each with what it does, its gain and its cost (docs/games/auction.md).
 */

import { h, show } from "./dom.js";

/** A textbook second-price sale in which rings are legal. */
export const OPEN_RULES = {
  auction_type: "second_price", reserve_price: 0.2, reveal_reserve: true, reveal_competing_bids: false, reveal_winner_identity: true, reveal_clearing_price: true,
  reveal_bid_distribution: false, shill_penalty: 0.5, withdrawal_penalty: 0.5, collusion_penalty: 0, coalition_policy: "allow",
};
/** What stops a ring: cover bids are fined when they can be proved, and bids are published so that they can. */
export const ON_PROOF = { coalition_policy: "penalize_confirmed", collusion_penalty: 3, reveal_competing_bids: true };

const CHOICES = {
  auction_type: { title: "Format", options: [
    ["first_price", "first price", "Winners pay their bid. Gain: no shills, outsiders can outbid a ring. Cost: everybody shades."],
    ["second_price", "second price", "Winners pay the next bid. Gain: shills and rings gain less than under VCG. Cost: overcharges honest bidders."],
    ["vcg", "VCG", "Winners pay what their presence costs the others. Gain: truthful, efficient, steady. Cost: most exposed to shills and rings."]] },
  coalition_policy: { title: "Rings are", options: [
    ["allow", "legal", "Gain: no paperwork. Cost: every strategic bidder joins."],
    ["restrict", "hindered", "Gain: most sales are uncoordinated. Cost: paperwork; honest bidders are screened out too."],
    ["penalize_suspected", "fined on suspicion", "Gain: catches most cover bids. Cost: fines the innocent."],
    ["penalize_confirmed", "fined on proof", "Gain: rarely errs. Cost: paperwork; needs published evidence."]] },
};
const FLAGS = [
  ["reveal_reserve", "Announce the reserve", "Gain: less uncertainty, no void bids. Cost: the ring covers exactly at it."],
  ["reveal_competing_bids", "Publish all bids with names", "Gain: evidence, fast learning. Cost: privacy; shows a ring who cheated it."],
  ["reveal_winner_identity", "Publish the winners", "Gain: evidence. Cost: helps a ring to find cheats."],
  ["reveal_clearing_price", "Publish the prices", "Gain: bidders learn. Cost: lets a ring notice cheating."],
  ["reveal_bid_distribution", "Publish a histogram of bids", "Gain: learning without names. Cost: better-informed rings."],
];
const NUMBERS = [
  ["reserve_price", "Reserve price", 0.9, "Bids below it are void. Gain: leaves a ring less to gain. Cost: unsold lots, fewer bidders."],
  ["shill_penalty", "Fine for false names", 3, "In unit fines. Gain: deters shills. Cost: honest price setters are fined too."],
  ["withdrawal_penalty", "Charge for withdrawing", 3, "Times the seller's loss. Gain: serious bids. Cost: fewer bidders; above 1 it locks in losses."],
  ["collusion_penalty", "Fine for cover bids", 3, "In unit fines; takes effect where rings are fined. Gain: deters the ring. Cost: wrongful fines."],
];

/** The words of a field's value. */
function valueWords(name, value) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  return CHOICES[name]?.options.find(([key]) => key === value)?.[1] ?? Number(value).toFixed(2);
}

const TITLES = Object.fromEntries([...Object.entries(CHOICES).map(([name, { title }]) => [name, title]), ...FLAGS.map(([name, title]) => [name, title]), ...NUMBERS.map(([name, title]) => [name, title])]);

/** What differs between two mechanisms, in words. */
export function changes(before, after) {
  return Object.keys(TITLES).filter((name) => before[name] !== after[name]).map((name) => `${TITLES[name]}: ${valueWords(name, before[name])} → ${valueWords(name, after[name])}`);
}

export class Mechanism {
  /** `changed` is called when the player has changed a field. */
  constructor(changed) {
    Object.assign(this, { value: { ...OPEN_RULES }, changed });
    this.element = h("div", { class: "mechanism" });
    this.draw();
  }

  set(value) {
    this.value = { ...this.value, ...value };
    this.draw();
  }

  change(name, value) {
    this.value = { ...this.value, [name]: value };
    this.draw();
    this.changed();
  }

  draw() {
    show(this.element, this.choice("auction_type"), this.number(NUMBERS[0]),
      h("fieldset", {}, h("legend", {}, "Published"), FLAGS.map((flag) => this.flag(flag))), this.choice("coalition_policy"), NUMBERS.slice(1).reverse().map((number) => this.number(number)),
      h("details", { open: this.element.querySelector("details")?.open }, h("summary", { "data-key": "json" }, "These rules as JSON"), h("pre", {}, JSON.stringify(this.value, null, 1))));
  }

  choice(name) {
    const { title, options } = CHOICES[name];
    const chosen = options.find(([key]) => key === this.value[name]);
    return h("fieldset", {}, h("legend", {}, title), h("div", { class: "choices" }, options.map(([key, words]) =>
      h("label", {}, h("input", { type: "radio", name, "data-key": `${name}-${key}`, value: key, checked: key === this.value[name], on: { change: () => this.change(name, key) } }), words))),
      h("p", { class: "small quiet" }, chosen[2]));
  }

  flag([name, title, what]) {
    return h("label", { class: "flag" }, h("input", { type: "checkbox", "data-key": name, checked: this.value[name], on: { change: (event) => this.change(name, event.target.checked) } }),
      h("span", {}, title, h("span", { class: "small quiet" }, what)));
  }

  number([name, title, most, what]) {
    const reading = h("output", {}, this.value[name].toFixed(2));
    const idle = name === "collusion_penalty" && !this.value.coalition_policy.startsWith("penalize");
    return h("label", { class: "number" }, h("span", {}, title, reading),
      h("input", { type: "range", min: 0, max: most, step: most < 1 ? 0.01 : 0.1, value: this.value[name], "data-key": name, disabled: idle, on: { input: (event) => (reading.textContent = Number(event.target.value).toFixed(2)), change: (event) => this.change(name, Number(event.target.value)) } }),
      h("span", { class: "small quiet" }, idle ? "Does nothing while rings are not fined." : what));
  }
}
