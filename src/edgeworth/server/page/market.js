/**
 * The auction floor: choose a population, set the rules, run a step and watch its sales; or let a designer choose the rules.
 */

import { newSeed } from "./acts.js";
import { get } from "./api.js";
import { button, h, problem, show } from "./dom.js";
import { Episode } from "./episode.js";
import { BEGUN, MARKET } from "./home.js";
import { hashOf, mechanismsOf, mechanismsText } from "./link.js";
import { Mechanism, ON_PROOF, changes } from "./mechanism.js";
import { Presets } from "./presets.js";
import { Race } from "./race.js";
import { Sales } from "./sales.js";
import { scoreTiles, sightPanel } from "./score.js";

const WIDE = matchMedia("(min-width: 60rem)");
const STAGES = [["0", "honest bidders"], ["1", "bidders who shade"], ["2", "bidders who stay away"], ["3", "a ring"], ["4", "everything at once"], ["mixed", "mixed at random"]];
const DESIGNER_TITLES = { policy: "trained network", language_model: "language model", informed_greedy: "informed greedy", best_constant: "best constant", adaptive: "adaptive", uniform: "random rules" };

/** The screen; its parameters are stage, bidders, length, seed, steps and reveal. */
export function marketScreen(main, params) {
  const episode = new Episode(() => changed());
  const mechanism = new Mechanism(() => showActions());
  const sales = new Sales(episode, reveal, look);
  const tiles = scoreTiles(episode);
  const sight = sightPanel(episode);
  const race = new Race(DESIGNER_TITLES, () => episode.settings);
  const setup = h("form", { class: "setup", "aria-label": "The market", on: { submit: (event) => event.preventDefault() } });
  const trouble = h("div", {});
  const actions = h("div", { class: "actions" });
  const presets = new Presets(mechanism, () => showActions());
  const sheet = h("section", { class: "panel sheet", "aria-label": "The rules", on: { keydown: (event) => event.key === "Escape" && fold(false) } });
  const handle = button("", () => fold(!sheet.classList.contains("open")), { class: "handle", "aria-expanded": "false" });
  let address = null;
  let designers = [];
  let advice = { designer: "policy", note: "", asking: null };
  let played = -1;

  function start(settings, mechanisms = []) {
    address = linkOf(settings, mechanisms);
    if (address !== location.hash) history.pushState(null, "", address);
    played = -1;
    race.stop();
    race.update();
    advice = { ...advice, note: "" };
    if (mechanisms.length) mechanism.set(mechanisms.at(-1));
    sales.begin(mechanisms.length, false);
    episode.open(settings, mechanisms);
  }

  function changed() {
    if (!episode.busy && played !== episode.mechanisms.length) {
      sales.begin(episode.mechanisms.length, played >= 0 && episode.mechanisms.length > 0);
      played = episode.mechanisms.length;
    }
    showSetup(setup, episode, start);
    show(trouble, episode.error ? problem(episode.error, episode.retry ? button("Try again", episode.retry, { class: "main", "data-key": "retry" }) : null) : null);
    showActions();
    for (const part of [sales, tiles, sight]) part.update();
    if (episode.busy || episode.error || !episode.observation) return;
    address = linkOf(episode.settings, episode.mechanisms);
    if (address !== location.hash) history.replaceState(null, "", address);
  }

  /** On narrow screens the rules are a sheet at the bottom, opened and closed. */
  function fold(open) {
    sheet.classList.toggle("open", open);
    handle.setAttribute("aria-expanded", String(open));
    handle.textContent = open ? "Close the rules" : "Change the rules";
  }

  function reveal(truth) {
    episode.settings = { ...episode.settings, reveal: truth ? 1 : "" };
    changed();
  }

  function look(step) {
    sales.begin(step, false);
    if (episode.steps[step - 1]) return sales.update();
    episode.work("Asking for the sales of this step …", (signal) => episode.read(step, signal), () => look(step));
  }

  function showActions() {
    const { settings, mechanisms, busy, done } = episode;
    const last = mechanisms.at(-1);
    const different = last ? changes(last, mechanism.value) : [];
    show(actions,
      h("p", { role: "status" }, busy || (done ? "The episode is over." : last ? (different.length ? `Changed: ${different.join("; ")}.` : "The rules of the last step.") : "The rules of the first step.")),
      h("div", { class: "row" },
        button(`Run step ${mechanisms.length + 1} of ${settings.length}`, () => (fold(false), episode.run(mechanism.value)), { class: "main", "data-key": "run", disabled: Boolean(busy) || done || !episode.observation }),
        button("Fine cover bids on proof", () => (mechanism.set(ON_PROOF), showActions()), { "data-key": "proof", disabled: done })),
      h("div", { class: "row folded" },
        button("Start over", () => start(settings), { "data-key": "over", disabled: !mechanisms.length }),
        button("New market", () => start({ ...settings, seed: newSeed() }), { "data-key": "new", class: done ? "main" : "" })),
      h("div", { class: "row folded" }, presets.field(settings),
        h("label", { class: "field" }, "Or ask a designer", h("select", { "data-key": "designer", on: { change: (event) => (advice.designer = event.target.value) } },
          designers.map((name) => h("option", { value: name, selected: name === advice.designer }, DESIGNER_TITLES[name] ?? name)))),
        advice.asking ? button("Cancel", forget, { "data-key": "ask" })
          : button("Ask for rules", ask, { "data-key": "ask", disabled: Boolean(busy) || done || !episode.observation || !designers.length })),
      advice.asking ? h("p", { class: "small quiet", role: "status" }, "Asking … a language model takes some seconds to load, the first time.") : null,
      advice.note ? h("p", { class: "small", role: "status" }, advice.note) : null);
  }

  async function ask() {
    const asking = (advice.asking = new AbortController());
    advice.note = "";
    showActions();
    try {
      const { mechanism: made, designer, model } = await episode.ask(advice.designer, asking.signal);
      const different = changes(mechanism.value, made);
      mechanism.set(made);
      advice.note = `${DESIGNER_TITLES[designer] ?? designer}${model ? ` (${model})` : ""}: ${different.length ? different.join("; ") : "would keep these rules"}.`;
    } catch (error) {
      if (asking.signal.aborted) return;
      advice.note = `${error.message} ${error.remedy ?? ""}`;
    }
    advice.asking = null;
    showActions();
  }

  function forget() {
    advice.asking?.abort();
    advice.asking = null;
    showActions();
  }

  function follow(given) {
    if (location.hash !== address) start(settingsOf(given), mechanismsOf(given.steps));
  }

  main.append(h("h1", { class: "unseen" }, "Auction floor"), setup, trouble, tiles.element,
    h("div", { class: "two floor" }, h("div", { class: "column" }, sales.element, sight.element), h("div", { class: "column" }, sheet, race.element)));
  sheet.append(h("h2", {}, "The rules"), handle, actions, mechanism.element);
  const place = () => (WIDE.matches ? trouble.before(setup) : actions.after(setup)); // all controls are in the sheet where there is one
  WIDE.addEventListener("change", place);
  place();
  fold(false);
  get("api/designers").then((found) => {
    designers = found.designers.map(({ name }) => name).sort((one, other) => (other === "language_model") - (one === "language_model") || (other === "policy") - (one === "policy"));
    race.names = designers;
    race.update();
    showActions();
  }, (error) => {
    advice.note = `The designers cannot be listed. ${error.message}`;
    showActions();
  });
  presets.load();
  const given = Object.keys(params).length ? params : { ...MARKET, steps: mechanismsText(BEGUN) }; // in mid-game rather than empty
  const settings = settingsOf(given);
  history.replaceState(null, "", linkOf(settings, mechanismsOf(given.steps)));
  start(settings, mechanismsOf(given.steps));
  return { follow, leave: () => (WIDE.removeEventListener("change", place), episode.close(), advice.asking?.abort(), sales.stop(), race.stop()) };
}

function linkOf(settings, mechanisms) {
  return hashOf("market", { ...settings, steps: mechanismsText(mechanisms) });
}

/** The settings that an address names; what it does not name, or names wrongly, is the default. */
function settingsOf(params) {
  const whole = (text, least, most, otherwise) => (/^\d{1,15}$/.test(text ?? "") && Number(text) >= least && Number(text) <= most ? Number(text) : otherwise);
  const stage = STAGES.some(([name]) => name === params.stage) ? params.stage : "3";
  return { stage, bidders: whole(params.bidders, 2, 16, 8), length: whole(params.length, 1, 100, 10), seed: whole(params.seed, 0, 1e15, newSeed()), reveal: params.reveal ? 1 : "" };
}

function showSetup(region, episode, start) {
  const { settings } = episode;
  const change = (name, value) => start({ ...settings, [name]: value });
  const number = (name, title, least, most) => h("label", { class: "field" }, title, h("input", {
    type: "number", name, min: least, max: most, value: settings[name], "data-key": name, on: { change: (event) => (event.target.reportValidity() && event.target.value !== "" ? change(name, Number(event.target.value)) : undefined) },
  }));
  show(region,
    h("label", { class: "field" }, "Population", h("select", { name: "stage", "data-key": "stage", on: { change: (event) => change("stage", event.target.value) } },
      STAGES.map(([name, words]) => h("option", { value: name, selected: name === settings.stage }, `${name}: ${words}`)))),
    number("bidders", "Bidders", 2, 16), number("length", "Steps", 1, 100), number("seed", "Seed", 0, 1e15));
}
