/**
 * Books, hats and balls: their pictures, and shares of them in words.
 */

import { svg } from "./dom.js";

export const ITEMS = ["book", "hat", "ball"];
export const ACTS = ["PROPOSE", "INSIST", "AGREE", "DISAGREE", "END"];

const DRAWINGS = [
  [["path", { d: "M7 5h15a3 3 0 0 1 3 3v19H10a3 3 0 0 1-3-3z" }], ["path", { d: "M7 24a3 3 0 0 1 3-3h15" }], ["path", { d: "M12 10h8M12 14h8" }]],
  [["path", { d: "M10 21V9c0-2 3-3 6-3s6 1 6 3v12" }], ["path", { d: "M4 21c4 4 20 4 24 0" }], ["path", { d: "M10 17c4 2 8 2 12 0" }], ["path", { d: "M4 21c2-1.500 4-1 6 0M28 21c-2-1.500-4-1-6 0" }]],
  [["circle", { cx: 16, cy: 16, r: 11 }], ["path", { d: "M16 10l5.700 4.100-2.200 6.700h-7l-2.200-6.700z" }], ["path", { d: "M16 10V5M21.700 14.100l5-2M19.500 20.800l3 4.300M12.500 20.800l-3 4.300M10.300 14.100l-5-2" }]],
];

/** The picture of an item. */
export function picture(item) {
  return svg("svg", { viewBox: "0 0 32 32", "aria-hidden": "true", class: "picture" }, DRAWINGS[item].map(([tag, props]) => svg(tag, props)));
}

/** A number with its noun: `1 point`, `2 points`. */
export function counted(number, noun) {
  return `${shown(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** A number as people write it: whole, or with so many decimals. */
export function shown(number, decimals = 1) {
  return Number.isInteger(number) ? String(number) : number.toFixed(decimals);
}

/** A share in words: `2 books, 1 ball`. */
export function shareWords(share) {
  const parts = ITEMS.map((name, item) => (share[item] ? counted(share[item], name) : "")).filter(Boolean);
  return parts.join(", ") || "nothing";
}
