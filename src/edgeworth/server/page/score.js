/**
 * The score of a step, R = welfare × fairness × participation × stability, with its history; and what the designer sees beside what is true.
 */

import { h, show, svg } from "./dom.js";
import { counted } from "./items.js";

/** The score and its four factors: name, title, meaning. */
export const PARTS = [
  ["composite", "R", "The step's score: the product of the four."],
  ["welfare_ratio", "welfare", "Realised gains from trade over the most that was possible on the same draws."],
  ["fairness_score", "fairness", "How the gains are split between seller and bidders, and among the bidders, against the competitive market."],
  ["participation_rate", "participation", "Bidders who came, against the competitive market."],
  ["stability_score", "stability", "How smooth welfare and prices are, also across a change of the rules."],
];
const SEEN = [
  ["bid_mean", "mean bid"], ["bid_variation", "variation of bids"], ["cover_share", "losing bids that look like cover bids, of all bids"], ["winner_gap", "gap between last winner and first loser"],
  ["withdrawal_rate", "withdrawals"], ["winner_concentration", "concentration of awards (Herfindahl)"], ["unsold_share", "unsold lots"], ["entrants", "bidders who came"],
];

/** A score with two decimals. */
export const number = (value) => (value === undefined || value === null ? "–" : value.toFixed(2));

/** A line of numbers between 0 and 1. */
export function curve(values, length, props = {}) {
  const x = (place) => 4 + (place * 112) / Math.max(1, length - 1);
  const y = (value) => 34 - 30 * value;
  const points = values.map((value, place) => `${x(place).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  return svg("g", props, svg("polyline", { points, class: "curve" }), values.map((value, place) => svg("circle", { cx: x(place), cy: y(value), r: 2 }, svg("title", {}, `step ${place + 1}: ${number(value)}`))));
}

/** The factor in which two outcomes differ most, as a ratio. */
export function widest(one, other) {
  const sizes = PARTS.slice(1).map(([name, title]) => ({ name, title, size: Math.abs(Math.log(Math.max(one[name], 0.01) / Math.max(other[name], 0.01))) }));
  return sizes.reduce((most, each) => (each.size > most.size ? each : most));
}

/** What the last step changed in the score, and which part of it did most. */
function difference([before, after]) {
  if (!after) return "";
  const most = widest(before, after);
  const rose = after.composite > before.composite ? "rose" : "fell";
  return `R ${rose} from ${number(before.composite)} to ${number(after.composite)}. What changed most: ${most.title}, from ${number(before[most.name])} to ${number(after[most.name])}.`;
}

export function scoreTiles(episode) {
  const region = h("div", { class: "tiles", role: "group", "aria-label": "The score of the last step; press a number for what it is" });
  const words = h("p", { class: "verdict-line", role: "status" });
  let asked = null;
  const ask = (name) => {
    asked = asked === name ? null : name;
    update();
  };
  const update = () => {
    const meaning = PARTS.find(([name]) => name === asked);
    show(words, meaning ? [h("strong", {}, `${meaning[1]}: `), meaning[2]] : difference(episode.outcomes.slice(-2)));
    show(region, PARTS.map(([name, title], place) => tile(episode, name, title, place, asked === name, () => ask(name))));
  };
  return { element: h("div", {}, region, words), update };
}

function tile(episode, name, title, place, pressed, ask) {
  const values = episode.outcomes.map((outcome) => outcome[name]);
  return [place === 0 ? null : h("span", { class: "sign", "aria-hidden": "true" }, place === 1 ? "=" : "×"),
    h("button", { type: "button", class: `tile${place ? "" : " whole"}`, "data-key": `tile-${name}`, "aria-pressed": String(pressed), on: { click: ask } }, h("span", { class: "small quiet" }, title), h("strong", {}, number(values.at(-1))),
      svg("svg", { viewBox: "0 0 120 38", "aria-hidden": "true" }, svg("path", { d: "M2 34H118", class: "grid" }), curve(values, episode.settings.length)))];
}

/** What the designer sees of the last step, beside what is true. */
export function sightPanel(episode) {
  const region = h("div", { class: "column" });
  const update = () => {
    const seen = episode.observation?.population_proxies;
    const held = episode.steps[episode.mechanisms.length - 1];
    if (!seen || !held) return show(region);
    show(region,
      h("section", { class: "panel" }, h("h2", {}, "What a designer sees"), table(SEEN.map(([name, words]) => [words, number(seen[name])]))),
      h("section", { class: "panel" }, h("h2", {}, "What is true"), episode.settings.reveal ? table(truths(held)) : h("p", { class: "quiet" }, "Hidden. Tick “Show what is true” under the sale."),
        h("details", {}, h("summary", {}, "What the scores are"), h("dl", {}, PARTS.map(([, title, what]) => [h("dt", {}, title), h("dd", {}, what)])))));
  };
  return { element: region, update };
}

function truths(held) {
  const types = held.sales[0].types;
  const mix = [...new Set(types)].map((type) => counted(types.filter((each) => each === type).length, type).replace("truthfuls", "truthful")).join(", ");
  const rigged = held.sales.filter(({ ring }) => ring.mood === "rigs").length;
  const fines = held.sales.flatMap((sale) => sale.fines);
  return [
    ["bidders", mix], ["sales rigged by the ring", `${rigged} of 5`], ["seller's profit, of the competitive one", `${Math.round((100 * held.profit) / held.competitive_profit)} %`],
    ["fines", `${fines.length}, ${fines.filter(({ deserved }) => !deserved).length} of them wrong`], ["false names", String(held.sales.reduce((sum, sale) => sum + sale.shills.length, 0))],
    ["withdrawals", String(held.sales.flatMap((sale) => sale.awards).filter(({ fate }) => fate === "withdrawn").length)],
  ];
}

function table(rows) {
  return h("table", {}, h("tbody", {}, rows.map(([name, value]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "number wrapped" }, value)))));
}
