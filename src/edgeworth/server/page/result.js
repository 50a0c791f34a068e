/**
 * A finished negotiation against everything that was possible: one sentence, the frontier, and the score beside what others get.
 */

import { h, show } from "./dom.js";
import { frontierFigure } from "./frontier.js";
import { counted, shareWords, shown } from "./items.js";

const MEANINGS = [
  ["points", "What a share is worth: units times utility, summed over books, hats and balls. Discounts and charges of the scenario count."],
  ["frontier", "The divisions that cannot be improved for one side without hurting the other."],
  ["Nash point", "The division with the largest product of both sides' points; Nash's (1950) solution of the bargaining problem."],
  ["random player", "The mean of 1,000 games of legal moves drawn at random, in this context, against this partner."],
  ["best blind plan", "The plan of offers with the largest expectation for somebody who does not know what the partner wants, exact over all partners that are possible; shown is what it gets from this one."],
  ["who knows the partner", "The best response to this partner by somebody who knows its utilities."],
];

export function resultPanel(game) {
  const region = h("section", { class: "panel result", "aria-label": "What was possible" });
  const update = () => {
    region.hidden = !game.done;
    if (!game.done) return show(region);
    if (!game.analysis) return show(region, h("p", { class: "waiting", role: "status" }, "Computing what was possible …"));
    show(region, h("h2", {}, "What was possible"), h("p", { class: "verdict" }, verdict(game)), left(game.analysis), frontierFigure(game.analysis), scale(game), meanings(game.analysis.could_get.plan));
  };
  return { element: region, update };
}

function verdict({ reward, maximum, settings, analysis: { could_get: got } }) {
  const parts = [`${settings.watch ? "Your agent" : "You"} got ${shown(reward)} of ${counted(maximum, "point")}`];
  if (got.oracle !== undefined) parts.push(`someone who knew what they want would have got ${shown(got.oracle)}`);
  if (got.plan !== undefined) parts.push(`the best plan without that knowledge gets ${shown(got.plan.here)}`);
  return `${parts.join("; ")}.`;
}

function left({ deal, improvement }) {
  if (!improvement) return h("p", {}, "The deal is efficient: no division was better for you without hurting them.");
  const words = deal ? `Left on the table: with ${shareWords(improvement.share)} you would have had ${counted(improvement.mine - deal.mine, "point")} more, and they no fewer.`
    : `Left on the table: everything. A division with ${improvement.mine} points for you was possible.`;
  return h("p", {}, words);
}

function scale({ reward, maximum, analysis: { could_get: got } }) {
  const rows = [["random player", got.random], ["you", reward], ["best blind plan", got.plan?.here, got.plan_note], ["who knows the partner", got.oracle, got.oracle_note]];
  return h("table", { class: "scale" }, h("caption", { class: "unseen" }, "Points here, beside what others get"),
    h("tbody", {}, rows.map(([name, value, note]) => h("tr", { class: name === "you" ? "you" : "" },
      h("th", { scope: "row" }, name), h("td", { class: "number" }, value === undefined ? "–" : shown(value)),
      h("td", { class: "wide" }, value === undefined ? h("span", { class: "small quiet" }, note)
        : h("div", { class: "bar", "aria-hidden": "true" }, h("div", { style: { width: `${Math.max(0, Math.min(100, (100 * value) / Math.max(1, maximum)))}%` } })))))));
}

function meanings(plan) {
  const average = plan ? [h("dd", {}, `Before the partner is known, it is worth ${shown(plan.value)} points on average.`)] : [];
  return h("details", {}, h("summary", {}, "What these numbers are"), h("dl", {}, MEANINGS.map(([term, what]) => [h("dt", {}, term), h("dd", {}, what), term === "best blind plan" ? average : null])));
}
