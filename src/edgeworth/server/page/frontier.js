/**
 * The frontier as a drawing: every possible division as a dot, your points to the right and theirs upwards, with the path of the offers.
 */

import { h, svg } from "./dom.js";
import { shareWords } from "./items.js";

const WIDTH = 480;
const HEIGHT = 380;
const LEFT = 48;
const BOTTOM = 44;
const EDGE = 16;

function ticks(most) {
  const step = [1, 2, 5, 10, 20, 50].find((size) => most / size <= 6) ?? 100;
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, number) => number * step);
}

/** The drawing of an analysis, with its legend. */
export function frontierFigure({ context, allocations, frontier, points, path, deal, could_get: { plan } }) {
  const x = (mine) => LEFT + (mine / Math.max(1, context.my_maximum)) * (WIDTH - LEFT - EDGE);
  const y = (theirs) => HEIGHT - BOTTOM - (theirs / Math.max(1, context.partner_maximum)) * (HEIGHT - BOTTOM - EDGE);
  const at = ({ mine, theirs }) => `${x(mine).toFixed(1)},${y(theirs).toFixed(1)}`;
  const tip = (division, words) => svg("title", {}, `${words}: you ${division.mine}, they ${division.theirs} (you get ${shareWords(division.share)})`);
  const square = ({ mine, theirs }, size) => `M${x(mine) - size} ${y(theirs) - size}h${2 * size}v${2 * size}h${-2 * size}z`;
  const diamond = ({ mine, theirs }, size) => `M${x(mine)} ${y(theirs) - size}l${size} ${size}l${-size} ${size}l${-size} ${-size}z`;
  const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "frontier", role: "img", "aria-label": spoken(deal, points.nash, plan?.deal, context) },
    ticks(context.my_maximum).map((n) => [svg("path", { class: "grid", d: `M${x(n)} ${EDGE}V${HEIGHT - BOTTOM}` }), svg("text", { x: x(n), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" }, String(n))]),
    ticks(context.partner_maximum).map((n) => [svg("path", { class: "grid", d: `M${LEFT} ${y(n)}H${WIDTH - EDGE}` }), svg("text", { x: LEFT - 8, y: y(n) + 4, "text-anchor": "end" }, String(n))]),
    svg("text", { x: (LEFT + WIDTH - EDGE) / 2, y: HEIGHT - 8, "text-anchor": "middle", class: "you" }, "your points"),
    svg("text", { x: -(HEIGHT - BOTTOM + EDGE) / 2, y: 13, "text-anchor": "middle", transform: "rotate(-90)", class: "they" }, "their points"),
    allocations.map((division) => svg("circle", { cx: x(division.mine), cy: y(division.theirs), r: 2.5, class: "possible" }, tip(division, "Possible"))),
    svg("polyline", { points: frontier.map(at).join(" "), class: "edge" }),
    frontier.map((division) => svg("circle", { cx: x(division.mine), cy: y(division.theirs), r: 3, class: "efficient" }, tip(division, "On the frontier"))),
    svg("polyline", { points: path.map(at).join(" "), class: "path" }),
    path.map((offer, number) => svg("g", { class: offer.side === 0 ? "you" : "they" }, svg("circle", { cx: x(offer.mine), cy: y(offer.theirs), r: 7.5, class: "offer" }),
      svg("text", { x: x(offer.mine), y: y(offer.theirs) + 3.5, "text-anchor": "middle", class: "number" }, String(number + 1)), tip(offer, `${offer.side === 0 ? "Your" : "Their"} offer, number ${number + 1}`))),
    svg("path", { d: diamond(points.nash, 7), class: "nash" }, tip(points.nash, "Nash point")),
    plan?.deal ? svg("path", { d: square(plan.deal, 9), class: "nash" }, tip(plan.deal, "The best blind plan's deal")) : null,
    deal ? svg("circle", { cx: x(deal.mine), cy: y(deal.theirs), r: 11, class: "deal" }, tip(deal, "The deal")) : null);
  return h("figure", {}, drawing, legend(Boolean(deal), Boolean(plan?.deal)));
}

function spoken(deal, nash, planned, context) {
  const got = deal ? `The deal gives you ${deal.mine} and them ${deal.theirs} points` : "There was no deal";
  return `All divisions of the pool, your points against theirs. ${got};${planned ? ` the best blind plan gives you ${planned.mine} and them ${planned.theirs};` : ""} the Nash point gives you ${nash.mine} and them ${nash.theirs}; at most ${context.my_maximum} and ${context.partner_maximum}.`;
}

function legend(dealt, planned) {
  const key = (drawing, words) => h("span", {}, svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, drawing), words);
  return h("figcaption", { class: "legend small" },
    key(svg("circle", { cx: 12, cy: 12, r: 3, class: "possible" }), "a possible division"),
    key([svg("path", { d: "M2 5L22 19", class: "edge" }), svg("circle", { cx: 12, cy: 12, r: 3, class: "efficient" })], "the frontier"),
    key(svg("g", { class: "you" }, svg("circle", { cx: 12, cy: 12, r: 7.5, class: "offer" })), "your offers"),
    key(svg("g", { class: "they" }, svg("circle", { cx: 12, cy: 12, r: 7.5, class: "offer" })), "their offers, in order"),
    key(svg("path", { d: "M12 5l7 7l-7 7l-7 -7z", class: "nash" }), "Nash point"),
    planned ? key(svg("path", { d: "M4 4h16v16h-16z", class: "nash" }), "best blind plan") : null,
    dealt ? key(svg("circle", { cx: 12, cy: 12, r: 10, class: "deal" }), "the deal") : null);
}
