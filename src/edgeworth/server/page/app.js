/**
 * The lab page: finds the screen that the address names, and asks for a token where the server wants one.
 *
 * A screen is a function `(main, params, catalog)` that shows itself and returns `{follow(params), leave()}`: the first is called when the
 * address changes within the screen, the second before another one takes its place.
 */

import { aboutScreen } from "./about.js";
import { get, hasToken, setToken } from "./api.js";
import { bargainScreen } from "./bargain.js";
import { button, h, problem, show } from "./dom.js";
import { homeScreen } from "./home.js";
import { parseHash } from "./link.js";
import { marketScreen } from "./market.js";
import { resultsScreen } from "./results.js";
import { runsScreen } from "./runs.js";

const SCREENS = { home: homeScreen, bargain: bargainScreen, market: marketScreen, runs: runsScreen, results: resultsScreen, about: aboutScreen };
const main = document.getElementById("main");
let catalog = null;
let current = { name: null, screen: null };

async function start() {
  show(main, h("p", { class: "waiting", role: "status" }, "Asking the server what it offers …"));
  try {
    catalog = await get("catalog");
  } catch (error) {
    if (error.code === "unauthorized") return askToken(hasToken() ? error : null);
    return show(main, problem(error, button("Try again", start)));
  }
  const rules = Object.entries(catalog.rules).map(([game, version]) => `${game} rules ${version}`).join(", ");
  show(document.getElementById("foot"),
    h("span", { id: "version" }, `Edgeworth ${catalog.version}`), h("span", {}, rules),
    hasToken() ? h("a", { href: "#/", on: { click: forget } }, "Forget the token") : null);
  follow();
}

function forget() {
  setToken("");
  location.reload();
}

function askToken(error) {
  const field = h("input", { id: "token", type: "password", autocomplete: "off", required: true, "aria-describedby": "token-note" });
  const enter = (event) => {
    event.preventDefault();
    setToken(field.value.trim());
    start();
  };
  show(main, h("h1", {}, "This server asks for a token"), error && problem(error),
    h("form", { class: "row", on: { submit: enter } }, h("label", { class: "field" }, "Your token", field), h("button", { class: "main" }, "Enter")),
    h("p", { class: "small quiet", id: "token-note" }, "Whoever runs the server gave it to you. It is kept in this tab only."));
  field.focus();
}

function follow() {
  if (catalog === null) return;
  const { screen, params } = parseHash(location.hash);
  const name = screen in SCREENS ? screen : "home";
  for (const link of document.querySelectorAll(".top nav a")) {
    link.getAttribute("href") === `#/${name}` ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  }
  if (current.name === name) return current.screen?.follow?.(params);
  current.screen?.leave?.();
  main.replaceChildren();
  document.title = name === "home" ? "Edgeworth" : `Edgeworth: ${name}`;
  const moved = current.name !== null;
  current = { name, screen: SCREENS[name](main, params, catalog) };
  if (moved) main.focus();
}

window.addEventListener("hashchange", follow);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
start();
