/**
 * Runs: what was trained on this machine, with its curves, which grow while a run trains; several runs in one figure.
 */

import { get } from "./api.js";
import { button, h, problem, show, svg } from "./dom.js";
import { hashOf } from "./link.js";
import { TrainingPanel } from "./training.js";

const LOOK_MS = 4_000;
const LOOK_TRAINING_MS = 1_000;
const MOST = 4;
const STEP = "steps";
/** What a reader looks at first; bookkeeping is not drawn. */
const FIRST = ["reward", "share_of_maximum", "composite", "deal_rate", "approx_kl", "kl", "entropy", "episode_length"];
const FIRST_FIGURES = 8;
const UNDRAWN = new Set([STEP, "iteration", "epochs", "updates", "seconds", "cpu_seconds"]);
/** The column that yardsticks are known for, and those that are drawn: row of the results, and words. */
const SHARE = "share_of_maximum";
const MARKS = [["random", "random"], ["bayes", "best blind plan"]];
const WIDTH = 360;
const HEIGHT = 170;
const LEFT = 48;
const FLOOR = 138;

/** The screen; its parameter `show` names the runs in the figures, separated by commas. */
export function runsScreen(main, params, catalog) {
  const list = h("div", { class: "run-list", tabindex: 0, role: "region", "aria-label": "All runs" });
  const figures = h("div", { class: "run-figures" });
  let chosen = names(params);
  let runs = null;
  let histories = {};
  let timer = null;
  let gone = false;
  let yardsticks = null;
  const training = new TrainingPanel(catalog, begun, (name) => histories[name]);

  /** Show a run that was started here beside those that are shown. */
  function begun(name) {
    choose(name, true);
  }

  async function look() {
    clearTimeout(timer);
    try {
      await training.look();
      runs = (await get("runs")).runs;
      if (!chosen.length && runs.length) chosen = [runs[0].name];
      const wanted = runs.filter(({ name, changed }) => chosen.includes(name) && histories[name]?.changed !== changed);
      for (const { name } of wanted) histories[name] = await get("runs/history", { name });
    } catch (error) {
      if (!gone) show(list, problem(error, button("Try again", look, { class: "main" })));
      return;
    }
    if (gone) return;
    update();
    timer = setTimeout(look, training.running ? LOOK_TRAINING_MS : LOOK_MS);
  }

  function choose(name, on) {
    chosen = on ? [...chosen, name].slice(-MOST) : chosen.filter((each) => each !== name);
    history.replaceState(null, "", hashOf("runs", { show: chosen.join(",") }));
    look();
  }

  function update() {
    training.update();
    if (!runs.length) return show(list, h("p", {}, "No runs yet. Train one, and its curves appear here while it trains:"), h("pre", {}, "edgeworth train --algo ppo --config configs/ppo_fast.yaml --seed 1 --out runs/mine"));
    show(list, h("table", {}, h("thead", {}, h("tr", {}, ["Run", "Began", "Checkpoints", "Command"].map((words) => h("th", { scope: "col" }, words)))),
      h("tbody", {}, runs.map(({ name, began, checkpoints, command }) => h("tr", {},
        h("th", { scope: "row" }, h("label", { class: "flag" }, h("input", { type: "checkbox", "data-key": `run-${name}`, checked: chosen.includes(name), on: { change: (event) => choose(name, event.target.checked) } }), name)),
        h("td", {}, began?.slice(0, 16).replace("T", " ") ?? "–"), h("td", {}, checkpoints.join(", ") || "none yet"), h("td", {}, h("code", {}, command ?? "–")))))));
    const shown = chosen.map((name) => histories[name]).filter(Boolean);
    const columns = [...new Set(shown.flatMap(({ lines }) => lines.flatMap((line) => Object.keys(line).filter((key) => !UNDRAWN.has(key) && typeof line[key] === "number"))))];
    const rank = (column) => (FIRST.includes(column) ? FIRST.indexOf(column) : FIRST.length);
    columns.sort((one, other) => rank(one) - rank(other));
    const open = new Set([...figures.querySelectorAll("details[open] > summary")].map((summary) => summary.dataset.key));
    const folded = (key, title, ...inside) => h("details", { open: open.has(key) }, h("summary", { "data-key": key }, title), inside);
    const drawn = (some) => h("div", { class: "grid-figures" }, some.map((column) => figure(column, shown, column === SHARE ? marks(shown, yardsticks) : [])));
    show(figures, shown.length ? h("p", { class: "small" }, shown.map(({ name, total }, place) => h("span", { class: `key lane-${place}` }, `${"●■▲◆"[place]} ${name}: ${total} line${total === 1 ? "" : "s"} `))) : null,
      drawn(columns.slice(0, FIRST_FIGURES)), columns.length > FIRST_FIGURES ? folded("more", "All other metrics", drawn(columns.slice(FIRST_FIGURES))) : null,
      shown.map(({ name, settings }) => folded(`settings-${name}`, `Settings of ${name}`, h("pre", {}, JSON.stringify(settings, null, 1)))));
  }

  main.append(h("h1", {}, "Runs"), h("p", { class: "quiet" }, `What was trained on this machine; up to ${MOST} runs side by side. Curves grow while a run trains.`), training.element, list, figures);
  show(list, h("p", { class: "waiting", role: "status" }, "Looking for runs …"));
  look();
  get("results").then(({ tables }) => (yardsticks = tables.find(({ name }) => name === "negotiators")), () => {}); // curves are drawn without them too
  return { follow: (given) => ((chosen = names(given)), look()), leave: () => ((gone = true), clearTimeout(timer)) };
}

function names(params) {
  return (params.show ?? "").split(",").filter(Boolean).slice(0, MOST);
}

/** The yardsticks of the scenario that all these runs play; none where they play different ones. */
function marks(shown, table) {
  const scenarios = new Set(shown.map(({ settings }) => settings.env?.scenario));
  const place = table && scenarios.size === 1 ? table.columns.indexOf([...scenarios][0]) : -1;
  return MARKS.map(([name, words]) => ({ words, value: table?.rows.find((row) => row.name === name)?.cells[place]?.value })).filter(({ value }) => value !== undefined);
}

function figure(column, shown, yardsticks) {
  const points = shown.map(({ lines }) => lines.filter((line) => typeof line[column] === "number").map((line) => [line[STEP] ?? 0, line[column]]));
  const all = points.flat();
  const values = [...all.map(([, value]) => value), ...yardsticks.map(({ value }) => value)];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const last = Math.max(1, ...all.map(([step]) => step));
  const x = (step) => LEFT + (step / last) * (WIDTH - LEFT - 10);
  const y = (value) => FLOOR - ((value - low) / (high - low || 1)) * (FLOOR - 12);
  const words = (value) => (Math.abs(value) >= 1e4 || (value && Math.abs(value) < 1e-2) ? value.toExponential(1) : String(Number(value.toPrecision(3))));
  return h("figure", {}, h("figcaption", { class: "small" }, h("strong", {}, column.replaceAll("_", " "))),
    svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "lanes", role: "img", "aria-label": `${column}: ${points.map((line, place) => `${shown[place].name} ends at ${line.length ? words(line.at(-1)[1]) : "nothing"}`).join("; ")}` },
      [low, high].map((value) => [svg("path", { class: "grid", d: `M${LEFT} ${y(value)}H${WIDTH - 10}` }), svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, words(value))]),
      yardsticks.map(({ words: name, value }) => svg("g", { class: "yardstick" }, svg("path", { d: `M${LEFT} ${y(value)}H${WIDTH - 10}` }), svg("text", { x: WIDTH - 10, y: y(value) + (y(value) < FLOOR / 2 ? 28 : -5), "text-anchor": "end" }, `${name} ${words(value)}`))),
      svg("text", { x: LEFT, y: FLOOR + 18 }, "0"), svg("text", { x: WIDTH - 10, y: FLOOR + 18, "text-anchor": "end" }, `${last.toLocaleString("en")} steps`),
      points.map((line, place) => svg("g", { class: `lane-${place}` }, svg("polyline", { class: "lane", points: line.map(([step, value]) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`).join(" ") })))));
}
