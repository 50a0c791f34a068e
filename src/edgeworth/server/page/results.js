/**
 * Results: designers by population and negotiators by scenario on the scale of their yardsticks, each with the command that reproduces it;
 * and the studies behind them.
 */

import { get } from "./api.js";
import { axisFigure } from "./axis.js";
import { button, h, problem, show } from "./dom.js";
import { hashOf } from "./link.js";
import { studyPage } from "./study.js";

const COLUMNS = {
  0: "stage 0: honest bidders", 1: "stage 1: bidders who shade", 2: "stage 2: bidders who stay away", 3: "stage 3: a ring", 4: "stage 4: everything at once",
  stages: "all stages alike", mixed: "mixed at random", dirichlet: "random mixes", held_out: "populations never trained on",
};
const columnWords = (name) => COLUMNS[name] ?? name.replaceAll("_", " ");
const three = (value) => value.toFixed(3).replace(/^0/, "");

/** The screen; its parameters are table and column, or study. */
export function resultsScreen(main, params) {
  const body = h("div", { class: "results" });
  let tables = null;
  let studies = [];
  let given = params;
  let gone = false;

  async function load() {
    show(body, h("p", { class: "waiting", role: "status" }, "Reading the results …"));
    try {
      const [results, pages] = await Promise.all([get("results"), get("studies")]);
      [tables, studies] = [results.tables, pages.studies];
    } catch (error) {
      if (!gone) show(body, problem(error, button("Try again", load, { class: "main" })));
      return;
    }
    if (!gone) update();
  }

  function update() {
    if (given.study) return show(body, h("p", {}, h("a", { href: "#/results" }, "All results")), studyPage(given.study, studies));
    const table = tables.find(({ name }) => name === given.table) ?? tables[0];
    show(body, h("h1", {}, "Results"),
      table ? [tabs(tables, table), tablePanel(table, given.column)] : nothing(),
      h("section", { class: "panel studies" }, h("h2", {}, "Read more"), h("ul", { class: "plain" }, studies.map(({ name, title }) => h("li", {}, h("a", { href: hashOf("results", { study: name }) }, title))))));
  }

  main.append(body);
  load();
  return { follow: (next) => ((given = next), tables && update()), leave: () => (gone = true) };
}

function nothing() {
  return h("div", { class: "panel" }, h("p", {}, "This server has no results to show. They are files in the folder that it was told to show, and an installed package has none. Compute the first, and say where they are:"),
    h("pre", {}, "edgeworth yardstick --seed 0 --out results/yardstick_bargaining.json\nedgeworth serve --results results"));
}

function tabs(tables, chosen) {
  return h("nav", { class: "tabs", "aria-label": "Tables" }, tables.map(({ name, title }) => h("a", { href: hashOf("results", { table: name }), "aria-current": name === chosen.name ? "true" : null, "data-key": `table-${name}` }, title)));
}

function tablePanel(table, wanted) {
  const place = Math.max(0, table.columns.includes(wanted) ? table.columns.indexOf(wanted) : table.columns.indexOf("stages"));
  const rows = table.rows.map((row) => ({ ...row, score: row.cells[place] }));
  const choose = (event) => (location.hash = hashOf("results", { table: table.name, column: event.target.value }));
  return [h("section", { class: "panel" },
    h("div", { class: "row" }, h("label", { class: "field" }, "Show", h("select", { "data-key": "column", on: { change: choose } },
      table.columns.map((name, number) => h("option", { value: name, selected: number === place }, columnWords(name)))))),
    h("p", { class: "verdict" }, finding(rows)), table.rows.length ? axisFigure(rows, columnWords(table.columns[place])) : null,
    h("p", { class: "small quiet" }, "Dots: agents, with 95 % intervals. Lines: yardsticks, what chance, simple rules and complete knowledge get in the same games."),
    h("details", {}, h("summary", {}, "What the scores are, and how to compute them again"), sources(table))),
  h("section", { class: "panel" }, h("h2", {}, table.title), numbers(table, place))];
}

/** How far the best agent gets between the ends of the scale, in a sentence. */
function finding(rows) {
  const known = rows.filter(({ score }) => score);
  const ends = known.filter(({ on_axis }) => on_axis).sort((one, other) => one.score.value - other.score.value);
  const best = known.filter(({ yardstick }) => !yardstick).sort((one, other) => other.score.value - one.score.value)[0];
  if (!best) return "";
  const first = `${best.title.replaceAll("_", " ")} gets the most: ${three(best.score.value)}`;
  if (ends.length < 2) return `${first}.`;
  const [low, high] = [ends[0], ends.at(-1)];
  const share = Math.round((100 * (best.score.value - low.score.value)) / (high.score.value - low.score.value));
  return `${first}, ${share} % of the way from ${low.title} (${three(low.score.value)}) to ${high.title} (${three(high.score.value)}).`.replaceAll("_", " ");
}

function sources({ sources: files, notes }) {
  return [files.map(({ file, command, quantity, seeds }) => [h("p", { class: "small" }, h("strong", {}, file), quantity ? `: ${quantity}` : "", seeds ? `; seeds ${seeds}` : "", "."), command ? h("pre", {}, command) : null]),
    notes.length ? h("ul", { class: "plain small quiet" }, notes.map((note) => h("li", {}, note))) : null];
}

function numbers({ columns, rows }, place) {
  const best = columns.map((_, column) => Math.max(...rows.filter(({ yardstick }) => !yardstick).map(({ cells }) => cells[column]?.value ?? -1)));
  const cell = (score, row, column) => h("td", { class: `number${column === place ? " chosen" : ""}` }, score ? [!row.yardstick && score.value === best[column] ? h("strong", {}, three(score.value)) : three(score.value), interval(score)] : "–");
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "All scores" }, h("table", { class: "numbers" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "agent"), columns.map((name) => h("th", { scope: "col", class: "number" }, columnWords(name).replace(/:.*/, ""))))),
    h("tbody", {}, [false, true].map((yardstick) => rows.filter((row) => row.yardstick === yardstick).map((row) => h("tr", { class: yardstick ? "quiet" : "" }, h("th", { scope: "row" }, row.title.replaceAll("_", " ")), row.cells.map((score, column) => cell(score, row, column))))))));
}

function interval({ low, high }) {
  if (low === null || high === null) return "";
  return h("span", { class: "small quiet" }, ` ±${three((high - low) / 2)}`);
}
