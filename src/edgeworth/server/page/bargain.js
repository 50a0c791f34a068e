/**
 * The bargaining table: choose a scenario, a partner and a seed; divide the pool by clicks or in words; see what was possible.
 */

import { actButtons, gameButtons, newSeed } from "./acts.js";
import { Chat } from "./chat.js";
import { button, h, problem, show } from "./dom.js";
import { Game } from "./game.js";
import { ADVISERS, Hints } from "./hints.js";
import { hashOf, movesOf, movesText } from "./link.js";
import { Pool } from "./pool.js";
import { resultPanel } from "./result.js";
import { Watch } from "./watch.js";

const WIDE = matchMedia("(min-width: 60rem)");
const PARTNER_TITLES = {
  heuristic: "simple rule", boulware: "Boulware (holds out)", conceder: "conceder (gives way)", linear: "linear", tit_for_tat: "tit for tat", walk_away: "impatient",
  random: "random player", expert: "trained expert", human_clone: "cloned from people", self_play: "self-play agent", population: "population",
};

/** The screen; its parameters are scenario, partner, seed, moves and watch. */
export function bargainScreen(main, params, catalog) {
  const game = new Game(() => changed());
  const pool = new Pool(game, () => acts.update());
  const acts = actButtons(game, () => [...pool.share]);
  const chat = new Chat(game, (share) => (pool.set(share), acts.update()));
  const watch = new Watch(game);
  const result = resultPanel(game);
  const hints = new Hints(game, (hint) => useHint(game, pool, acts, hint));
  const controls = gameButtons(game, (settings) => start({ ...game.settings, ...settings }));
  const setup = h("form", { class: "setup", "aria-label": "The game", on: { submit: (event) => event.preventDefault() } });
  const gameSide = h("div", { class: "column" });
  const meaningSide = h("div", { class: "column" });
  const trouble = h("div", {});
  const clock = h("p", { class: "clock", role: "status" });
  const latest = h("p", { class: "latest" });
  let address = null;

  function start(settings, moves = []) {
    address = hashOf("bargain", { ...settings, moves: movesText(moves) });
    if (address !== location.hash) history.pushState(null, "", address);
    game.open(settings, moves);
  }

  function changed() {
    showSetup(setup, catalog, game, start);
    show(trouble, game.error ? problem(game.error, game.retry ? button("Try again", game.retry, { class: "main", "data-key": "retry" }) : null) : null);
    show(clock, ...clockWords(game));
    show(latest, ...latestWords(game));
    const beside = game.done && WIDE.matches ? gameSide : meaningSide; // the result takes the place of the conversation
    if (chat.element.parentElement !== beside) beside.append(chat.element);
    for (const part of [pool, acts, watch, chat, hints, result, controls]) part.update();
    if (game.busy || game.error || !game.observation) return;
    address = hashOf("bargain", { ...game.settings, moves: movesText(game.moves) });
    if (address !== location.hash) history.replaceState(null, "", address);
  }

  function follow(given) {
    if (location.hash === address) return;
    start(settingsOf(given, catalog), movesOf(given.moves));
  }

  gameSide.append(clock, latest, pool.element, acts.element, watch.element, controls.element);
  meaningSide.append(result.element, chat.element);
  main.append(h("h1", { class: "unseen" }, "Bargaining table"), setup, trouble,
    h("div", { class: "two" }, gameSide, meaningSide),
    hints.element);
  const settings = settingsOf(params, catalog);
  history.replaceState(null, "", hashOf("bargain", { ...settings, moves: params.moves }));
  start(settings, movesOf(params.moves));
  return { follow, leave: () => (game.close(), watch.stop(), hints.drop()) };
}

/** The settings that an address names; what it does not name, or names wrongly, is the default. */
function settingsOf(params, catalog) {
  const scenario = catalog.scenarios.find(({ name }) => name === params.scenario) ?? catalog.scenarios[0];
  const partner = catalog.partners.some(({ name }) => name === params.partner) ? params.partner : scenario.partner;
  const seed = /^\d{1,15}$/.test(params.seed ?? "") ? Number(params.seed) : newSeed();
  const watch = ADVISERS.some(({ name }) => name === params.watch) ? params.watch : "";
  return { scenario: scenario.name, partner, seed, watch };
}

function useHint(game, pool, acts, { act_type, oA }) {
  if (act_type !== 2 && act_type !== 3) pool.set(oA);
  acts.update();
  acts.element.querySelector(`[data-key="act-${act_type}"]`)?.focus();
}

function showSetup(region, catalog, game, start) {
  const { settings } = game;
  const scenario = catalog.scenarios.find(({ name }) => name === settings.scenario);
  const change = (name) => (event) => {
    const value = name === "seed" ? Number(event.target.value) : event.target.value;
    if (name === "seed" && !(Number.isInteger(value) && value >= 0 && value < 1e15)) return event.target.reportValidity();
    const next = { ...settings, [name]: value };
    if (name === "scenario" && settings.partner === scenario.partner) next.partner = catalog.scenarios.find((each) => each.name === value).partner;
    start(next);
  };
  const choose = (name, options) => h("select", { "data-key": name, name, on: { change: change(name) } }, options.map(([value, words]) => h("option", { value, selected: value === settings[name] }, words)));
  const partner = catalog.partners.find(({ name }) => name === settings.partner);
  show(region,
    h("label", { class: "field" }, "Scenario", choose("scenario", catalog.scenarios.map(({ name }) => [name, name.replaceAll("_", " ")]))),
    h("label", { class: "field" }, "Against", choose("partner", catalog.partners.map(({ name }) => [name, PARTNER_TITLES[name] ?? name]))),
    h("label", { class: "field" }, "Your side", choose("watch", [["", "you play"], ...ADVISERS.map(({ name, title }) => [name, `watch: ${title.toLowerCase()}`])])),
    h("label", { class: "field seed" }, "Seed", h("input", { "data-key": "seed", name: "seed", inputmode: "numeric", pattern: "[0-9]{1,15}", value: settings.seed, on: { change: change("seed") } })),
    h("p", { class: "small quiet" }, `${scenario?.what ?? ""} Your partner: ${partner?.what ?? ""}`));
}

/** What the partner said last, for narrow screens, where the conversation is far below the pool. */
function latestWords({ transcript, done }) {
  const last = transcript.at(-1);
  return last?.side === "partner" && !done ? [h("strong", { class: "they" }, "They: "), last.sentence] : [];
}

function clockWords({ observation, done, transcript }) {
  if (!observation) return [];
  const remaining = done ? 0 : observation.turns_remaining;
  const used = transcript.length;
  if (done) return [`Over after ${used} move${used === 1 ? "" : "s"}.`];
  const dots = h("span", { class: "dots", "aria-hidden": "true" }, Array.from({ length: used + remaining }, (_, place) => h("i", { class: place < used ? "used" : "" })));
  return [`${remaining} move${remaining === 1 ? "" : "s"} left, theirs included`, dots];
}
