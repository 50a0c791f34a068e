/**
 * The first screen: a market in the middle of its game, stopped at a sale that a ring has rigged, and one button that changes the rules.
 */

import { button, h, problem, show } from "./dom.js";
import { Episode } from "./episode.js";
import { ladder } from "./ladder.js";
import { hashOf, mechanismsText } from "./link.js";
import { ON_PROOF, OPEN_RULES } from "./mechanism.js";

/** Eight bidders whom the rules let form a ring; two steps have been played. On seeds 0 to 39 the seller earns more after the fine, in every market. */
export const MARKET = { stage: "3", bidders: 8, length: 10, seed: 13, reveal: 1 };
export const BEGUN = [OPEN_RULES, OPEN_RULES];
const percent = (share) => `${Math.round(100 * share)} %`;

export function homeScreen(main) {
  const episode = new Episode(() => changed());
  const picture = h("section", { class: "panel", "aria-label": "A sale" });
  const words = h("section", { class: "panel first", "aria-label": "What happens" });

  function changed() {
    const { steps, mechanisms, busy, error, retry } = episode;
    const before = steps[BEGUN.length - 1];
    const after = steps[BEGUN.length];
    const shown = after ?? before;
    if (error) return show(words, problem(error, button("Try again", retry, { class: "main", "data-key": "retry" })));
    if (!before) return show(words, h("p", { class: "waiting", role: "status" }, busy));
    const place = cheapest(before.sales);
    show(picture, h("h2", {}, after ? "A sale of the next step, with fines on proof" : "A sale"), ladder(shown.sales[place], true, false), key(shown.sales[place]));
    show(words, after ? afterwards(before, after, place) : beforehand(before, place), profits(before, after),
      h("div", { class: "row" }, after
        ? [h("a", { class: "button main", href: hashOf("market", { ...MARKET, steps: mechanismsText(mechanisms) }) }, "Change the rules yourself"), button("Again from the start", () => episode.open(MARKET, BEGUN), { "data-key": "fine" })]
        : button(busy || "Fine cover bids on proof", () => episode.run({ ...OPEN_RULES, ...ON_PROOF }), { class: "main", "data-key": "fine", disabled: Boolean(busy) })));
  }

  main.append(h("h1", { class: "lead" }, "Bidders are rigging this market. Change its rules."),
    h("div", { class: "two floor" }, picture, h("div", { class: "column" }, words, bargainCard())));
  episode.open(MARKET, BEGUN);
  return { leave: () => episode.close() };
}

function bargainCard() {
  return h("section", { class: "panel" }, h("h2", {}, "Now bargain"),
    h("p", {}, "Books, hats and balls are on the table, and your partner hides what they are worth to them. Strike a deal, and see what was left on the table."),
    h("div", { class: "row" },
      h("a", { class: "button", href: "#/bargain?scenario=lewis&partner=self_play&seed=11" }, "Bargain with a trained agent"),
      h("a", { class: "button", href: "#/bargain?scenario=lewis&partner=heuristic&seed=7&watch=bayes" }, "Watch one bargain")));
}

/** The sale in which the ring pays least, measured by competition. */
function cheapest(sales) {
  const share = ({ profit, competitive_profit }) => profit / competitive_profit;
  return sales.reduce((least, sale, place) => (share(sale) < share(sales[least]) ? place : least), 0);
}

const points = (value) => value.toFixed(2).replace(/^0/, "");

/** The prices of a sale's lots, in words. */
function prices({ awards }) {
  const paid = awards.filter(({ winner }) => winner).map(({ payment, quality }) => points(payment / quality));
  return new Set(paid).size === 1 ? `all ${paid.length} lots go for ${paid[0]}` : `the lots go for ${paid.slice(0, -1).join(", ")} and ${paid.at(-1)}`;
}

function beforehand({ sales }, place) {
  const sale = sales[place];
  const { members, advantage } = sale.ring;
  const low = sale.bids.filter(({ amount }) => amount < 1.1 * sale.reserve);
  return [h("h2", {}, "A ring at work"),
    h("p", {}, `${members.length === sale.types.length ? `All ${members.length}` : `${members.length} of ${sale.types.length}`} bidders have agreed beforehand who wins. ${low.length} of them bid just above the reserve, though the lots are worth up to ${points(Math.max(...low.map(({ value }) => value)))} to them (lines). So ${prices(sale)} (bars).`),
    h("p", {}, `The rules allow it, and by its own estimate the ring gains ${points(advantage)} on this sale. What if a cover bid (×) cost a fine, and all bids were published as proof?`)];
}

function afterwards(before, after, place) {
  const [once, now] = [before.sales[place], after.sales[place]];
  const { members, advantage } = now.ring;
  const costs = advantage < 0 ? `By its own estimate, rigging now costs the ring ${points(-advantage)} instead of bringing ${points(once.ring.advantage)}, because of the fines.` : "";
  return [h("h2", {}, "The ring breaks up"),
    h("p", {}, `${once.ring.members.length - members.length} of ${once.ring.members.length} members have left and bid for real (blue), so ${prices(now)}. ${costs}`)];
}

function profits(before, after) {
  const share = ({ profit, competitive_profit }) => profit / competitive_profit;
  const rows = [["if nobody rigged bids", 1, ""], ["while the ring was legal", share(before), "they"], ...(after ? [["now that proof is fined", share(after), "you"]] : [])];
  return h("table", { class: "profits" }, h("caption", {}, "What the seller earns"), h("tbody", {}, rows.map(([name, value, side]) => h("tr", {},
    h("th", { scope: "row" }, name), h("td", { class: "number" }, percent(value)), h("td", { class: "wide" }, h("div", { class: `bar ${side}`, "aria-hidden": "true" }, h("div", { style: { width: `${100 * value}%` } })))))));
}

function key({ ring: { members } }) {
  return h("p", { class: "small quiet legend-line" }, "A column is a bidder, its mark a bid; a number is the lot that it won. Bar: the price paid. Line: what a lot is worth to the bidder. ×: a cover bid, made to lose.", members.length > 1 ? " Those joined below are in the ring." : "");
}
