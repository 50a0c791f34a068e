/**
 * Scores on an axis: every agent a dot with its interval, the yardsticks as lines across, named below.
 */

import { h, svg } from "./dom.js";

const ROW = 36;
const TOP = 8;
const LEVEL = 15;
const LETTER = 6.4;

/** The drawing of some rows, `{title, yardstick, on_axis, score}`; rows without a score are left out. */
export function axisFigure(rows, words) {
  const width = matchMedia("(max-width: 40rem)").matches ? 360 : 720;
  const known = rows.filter(({ score }) => score);
  const agents = known.filter(({ yardstick }) => !yardstick).sort((one, other) => other.score.value - one.score.value);
  const ends = known.filter(({ on_axis }) => on_axis).sort((one, other) => one.score.value - other.score.value);
  const most = Math.min(1, Math.ceil(10 * Math.max(0.1, ...known.map(({ score }) => score.high ?? score.value))) / 10);
  const x = (value) => 8 + (value / most) * (width - 64);
  const floor = TOP + Math.max(1, agents.length) * ROW;
  const places = labelled(ends, x, width);
  const height = floor + 26 + LEVEL * (1 + Math.max(0, ...places.map(({ level }) => level)));
  return h("figure", {}, svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "axis", role: "img", "aria-label": spoken(agents, ends, words) },
    Array.from({ length: Math.round(most * 10) + 1 }, (_, tenth) => tenth / 10).filter((value) => most <= 0.5 || Math.round(value * 10) % 2 === 0).map((value) => [
      svg("path", { class: "grid", d: `M${x(value)} ${TOP}V${floor}` }), svg("text", { x: x(value), y: floor + 14, "text-anchor": "middle" }, value.toFixed(1))]),
    places.map(({ row, middle, level }) => svg("g", { class: "yardstick" }, svg("path", { d: `M${x(row.score.value)} ${TOP}V${floor + 20 + LEVEL * level}` }),
      svg("text", { x: middle, y: floor + 32 + LEVEL * level, "text-anchor": "middle" }, label(row)))),
    agents.map((row, place) => agent(row, x, TOP + place * ROW, width)),
    agents.length ? null : svg("text", { x: 8, y: TOP + 20 }, "No agent was measured here; the lines are the yardsticks.")));
}

/** What the axis says of a yardstick. */
function label({ title, score }) {
  return `${title.replace(/ \(.*| ?:.*/, "").replaceAll("_", " ")} ${score.value.toFixed(3).replace(/^0/, "")}`;
}

/** Where the names of the yardsticks go: on the first level on which they do not touch another. */
function labelled(ends, x, width) {
  const taken = [];
  return ends.map((row) => {
    const half = (label(row).length * LETTER) / 2;
    const middle = Math.min(Math.max(x(row.score.value), half), width - half);
    let level = taken.findIndex((right) => middle - half > right + 8);
    if (level < 0) level = taken.length;
    taken[level] = middle + half;
    return { row, middle, level };
  });
}

function agent({ title, score }, x, top, width) {
  const middle = top + 25;
  const [low, high] = [score.low ?? score.value, score.high ?? score.value];
  return svg("g", { class: "agent" }, svg("text", { x: 8, y: top + 13 }, title.replaceAll("_", " ")),
    svg("path", { class: "lane", d: `M${x(low)} ${middle}H${x(high)}M${x(low)} ${middle - 4}v8M${x(high)} ${middle - 4}v8` }),
    svg("circle", { cx: x(score.value), cy: middle, r: 4.5 }), svg("text", { class: "score", x: width - 4, y: middle + 4, "text-anchor": "end" }, score.value.toFixed(3).replace(/^0/, "")));
}

function spoken(agents, ends, words) {
  const told = ({ title, score }) => `${title} ${score.value.toFixed(3)}`;
  return `${words}: ${agents.map(told).join(", ") || "no agents"}. Yardsticks: ${ends.map(told).join(", ")}.`;
}
