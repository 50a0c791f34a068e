/**
 * The page's state in its address: `#/bargain?scenario=classic&seed=41&moves=P2.1.0~A`. A link reproduces the game to the last move. A market's
 * address has its mechanisms, each as two digits (format, ring policy), five bits (what is published) and four numbers: `1300110-0.2-1-1-3`.
 */

const LETTERS = "PIADE";

/** The screen that an address names, and its parameters. */
export function parseHash(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return { screen: path || "home", params: Object.fromEntries(new URLSearchParams(query)) };
}

/** The address of a screen; parameters that are empty are left out. */
export function hashOf(screen, params) {
  const given = Object.entries(params).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString().replaceAll("%7E", "~");
  return `#/${screen}${query ? `?${query}` : ""}`;
}

/** Moves of the agent as text: a letter for the act, and the share where it states one. */
export function movesText(moves) {
  return moves.map(({ act_type, oA }) => LETTERS[act_type] + ("AD".includes(LETTERS[act_type]) ? "" : oA.join("."))).join("~");
}

/** The moves behind such a text; what is not a move ends the list. */
export function movesOf(text) {
  const moves = [];
  for (const part of (text ?? "").split("~").filter(Boolean)) {
    const match = /^([PIADE])(?:(\d+)\.(\d+)\.(\d+))?$/.exec(part);
    const stated = match && match[2] !== undefined;
    if (!match || stated === "AD".includes(match[1])) break;
    moves.push({ act_type: LETTERS.indexOf(match[1]), oA: stated ? match.slice(2).map(Number) : [0, 0, 0] });
  }
  return moves;
}

const FORMATS = ["first_price", "second_price", "vcg"];
const POLICIES = ["allow", "restrict", "penalize_suspected", "penalize_confirmed"];
const FLAGS = ["reveal_reserve", "reveal_competing_bids", "reveal_winner_identity", "reveal_clearing_price", "reveal_bid_distribution"];
const NUMBERS = ["reserve_price", "shill_penalty", "withdrawal_penalty", "collusion_penalty"];

/** A mechanism whose numbers fit into an address. */
export function rounded(mechanism) {
  return { ...mechanism, ...Object.fromEntries(NUMBERS.map((name) => [name, Number(mechanism[name].toFixed(3))])) };
}

/** Mechanisms as text. */
export function mechanismsText(mechanisms) {
  return mechanisms.map((each) => [`${FORMATS.indexOf(each.auction_type)}${POLICIES.indexOf(each.coalition_policy)}${FLAGS.map((name) => (each[name] ? 1 : 0)).join("")}`, ...NUMBERS.map((name) => each[name])].join("-")).join("~");
}

/** The mechanisms behind such a text; what is not a mechanism ends the list. */
export function mechanismsOf(text) {
  const found = [];
  for (const part of (text ?? "").split("~").filter(Boolean)) {
    const match = /^([0-2])([0-3])([01]{5})-([\d.]+)-([\d.]+)-([\d.]+)-([\d.]+)$/.exec(part);
    const numbers = match ? match.slice(4).map(Number) : [NaN];
    if (numbers.some(Number.isNaN)) break;
    found.push({
      auction_type: FORMATS[match[1]], coalition_policy: POLICIES[match[2]], ...Object.fromEntries(FLAGS.map((name, place) => [name, match[3][place] === "1"])),
      ...Object.fromEntries(NUMBERS.map((name, place) => [name, numbers[place]])),
    });
  }
  return found;
}
