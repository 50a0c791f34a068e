/**
 * The page's state in its address: `#/bargain?scenario=classic&seed=41&moves=P2.1.0~A`. A link reproduces the game to the last move.
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
