/**
 * A sale as a drawing: every bidder keeps its column, bids climb to their height, winners are filled and carry their lot, prices are bars.
 *
 * Without `truth` only what the auctioneer sees is drawn; with it also types, values, cover bids, false names and the ring.
 */

import { svg } from "./dom.js";

const HEIGHT = 330;
const LEFT = 44;
const RIGHT = 78;
const FLOOR = 262;
const TOP = 14;
export const LETTERS = { truthful: "T", shader: "S", colluder: "C", dropout: "D", exploiter: "E" };

/** The drawing of a sale; `letters` stand for the types of the bidders. */
export function ladder(sale, truth, letters = true) {
  const width = matchMedia("(max-width: 40rem)").matches ? 380 : 600;
  const n = sale.types.length;
  const names = sale.bids.filter(({ role }) => role === "false name");
  const columns = n + names.length;
  const most = Math.max(1, ...sale.bids.map(({ amount }) => amount), ...(truth ? sale.bids.map(({ value }) => value) : [])) * 1.06;
  const x = (column) => LEFT + ((column + 0.5) * (width - LEFT - RIGHT)) / columns;
  const y = (price) => FLOOR - (price / most) * (FLOOR - TOP);
  const column = (bid) => (bid.role === "false name" ? n + names.findIndex((each) => same(each, bid)) : bid.seat);
  const lots = sale.awards.filter(({ winner }) => winner);
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, class: "ladder", role: "img", "aria-label": spoken(sale) },
    [0, 0.25, 0.5, 0.75, 1].map((price) => [svg("path", { class: "grid", d: `M${LEFT} ${y(price)}H${width - RIGHT}` }), svg("text", { x: LEFT - 6, y: y(price) + 4, "text-anchor": "end" }, price.toFixed(2))]),
    svg("path", { class: "reserve", d: `M${LEFT} ${y(sale.reserve)}H${width - RIGHT}` }), svg("text", { x: width - RIGHT + 4, y: y(sale.reserve) + 4 }, `reserve ${sale.reserve.toFixed(2).replace(/^0/, "")}`),
    truth ? ringLine(sale, x) : null,
    truth ? sale.bids.filter(({ role }) => role !== "false name").map((bid) => svg("path", { class: "value", d: `M${x(bid.seat) - 12} ${y(bid.value)}h24` }, svg("title", {}, `worth ${bid.value.toFixed(2)} to bidder ${bid.seat + 1}`))) : null,
    lots.map(({ winner, payment, quality }) => svg("path", { class: "price", d: `M${x(column(winner)) - 14} ${y(payment / quality)}h28` }, svg("title", {}, `pays ${(payment / quality).toFixed(2)} per unit`))),
    sale.bids.map((bid) => mark(bid, x(column(bid)), y(bid.amount), lots.find(({ winner }) => same(winner, bid)), truth)),
    sale.types.map((type, seat) => seatName(sale, type, seat, x(seat), truth, letters)),
    names.map((bid, place) => svg("text", { x: x(n + place), y: FLOOR + 20, "text-anchor": "middle", class: truth ? "rogue" : "" }, truth ? `${bid.seat + 1}′` : "new")));
  climb(drawing);
  return drawing;
}

function same(one, other) {
  return one.seat === other.seat && one.amount === other.amount && one.role === other.role;
}

function mark(bid, x, y, lot, truth) {
  const rogue = truth && bid.role !== "own";
  const tip = svg("title", {}, `bid ${bid.amount.toFixed(2)}${truth && bid.role !== "own" ? `, ${bid.role}` : ""}${bid.is_void ? ", void: below the reserve" : ""}`);
  if (lot) return svg("g", { class: `bid won${rogue ? " rogue" : ""}`, "data-drop": FLOOR - y }, svg("circle", { cx: x, cy: y, r: 10 }), svg("text", { x, y: y + 4, "text-anchor": "middle" }, String(lot.lot + 1)), tip);
  if (truth && bid.role === "cover") return svg("g", { class: "bid rogue", "data-drop": FLOOR - y }, svg("path", { d: `M${x - 6} ${y - 6}l12 12m0 -12l-12 12` }), tip);
  if (truth && bid.role === "false name") return svg("g", { class: "bid rogue", "data-drop": FLOOR - y }, svg("path", { d: `M${x} ${y - 8}l8 8l-8 8l-8 -8z` }), tip);
  return svg("g", { class: `bid${rogue ? " rogue" : ""}${bid.is_void ? " void" : ""}`, "data-drop": FLOOR - y }, svg("circle", { cx: x, cy: y, r: 6 }), tip);
}

function seatName(sale, type, seat, x, truth, letters) {
  const away = sale.stayed_away.includes(seat) ? "away" : sale.kept_out.includes(seat) ? "out" : truth && sale.ring.silent.includes(seat) ? "silent" : sale.bids.some((bid) => bid.seat === seat && bid.role !== "false name") ? "" : "no bid";
  return svg("g", { class: `seat${away ? " away" : ""}${truth && (sale.ring.members.includes(seat) || type === "exploiter") ? " rogue" : ""}` },
    svg("text", { x, y: FLOOR + 20, "text-anchor": "middle" }, String(seat + 1)), svg("text", { x, y: FLOOR + 36, "text-anchor": "middle", class: "type" }, letters ? (truth ? LETTERS[type] : "?") : ""),
    away ? svg("text", { x, y: FLOOR - 6, "text-anchor": "middle", class: "note" }, away) : null);
}

function ringLine({ ring }, x) {
  if (ring.members.length < 2) return null;
  const height = FLOOR + 46;
  const places = ring.members.map(x);
  return svg("g", { class: "ring" }, svg("path", { d: `M${places[0]} ${height}H${places.at(-1)}${places.map((place) => `M${place} ${height}v-6`).join("")}` }),
    svg("text", { x: (places[0] + places.at(-1)) / 2, y: height + 15, "text-anchor": "middle" }, `ring of ${ring.members.length}: ${ring.mood}`));
}

/** Let the bids climb from the floor to their height. */
function climb(drawing) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  for (const bid of drawing.querySelectorAll("[data-drop]")) {
    bid.animate([{ transform: `translateY(${bid.dataset.drop}px)`, opacity: 0 }, { transform: "none", opacity: 1 }], { duration: 280, easing: "ease-out" });
  }
}

function spoken(sale) {
  const lots = sale.awards.map(({ lot, winner, payment, quality }) => (winner ? `lot ${lot + 1} to bidder ${winner.seat + 1} for ${(payment / quality).toFixed(2)} per unit` : `lot ${lot + 1} unsold`));
  return `Sale ${sale.number}: ${sale.bids.length} bids above a reserve of ${sale.reserve.toFixed(2)}; ${lots.join("; ")}.`;
}
