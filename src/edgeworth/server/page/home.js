/**
 * The first screen, and what this server offers besides the games.
 */

import { address } from "./api.js";
import { h } from "./dom.js";
import { mechanismsText } from "./link.js";
import { OPEN_RULES } from "./mechanism.js";

/** A second-price sale in which rings are legal, as addresses write it. */
const RIGGED = mechanismsText([OPEN_RULES]);

/** What the lab is, in one sentence, and where to begin. */
export function homeScreen(main) {
  main.append(
    h("h1", { class: "lead" }, "Bidders are rigging a market: change its rules. Then strike a deal with somebody who hides what they want."),
    h("div", { class: "two" },
      h("section", { class: "panel" },
        h("h2", {}, "Stop a ring"),
        h("p", {}, "Eight bidders come to five sales a day. Rings are legal here, so they agree beforehand who wins, and the seller gets a seventh of what competition would pay. Press “Fine cover bids on proof”, run a step, and see what becomes of the ring."),
        h("div", { class: "row" },
          h("a", { class: "button main", href: `#/market?stage=3&seed=8&reveal=1&steps=${RIGGED}~${RIGGED}` }, "See the ring at work"),
          h("a", { class: "button", href: "#/market?stage=4" }, "Design a market of your own"))),
      h("section", { class: "panel" },
        h("h2", {}, "Strike a deal"),
        h("p", {}, "Books, hats and balls are on the table, and your partner wants some of them. Offer, insist, agree or walk away, by clicking or in plain English. Afterwards you see what your partner wanted, and what was left on the table."),
        h("div", { class: "row" },
          h("a", { class: "button main", href: "#/bargain?scenario=lewis&partner=self_play&seed=11" }, "Bargain with the trained agent"),
          h("a", { class: "button", href: "#/bargain?scenario=lewis&partner=heuristic&seed=7&watch=bayes" }, "Watch an agent bargain")))));
  return {};
}

/** Links to everything else, and both games from a terminal. */
export function aboutScreen(main, params, catalog) {
  const link = (path, words) => h("li", {}, h("a", { href: address(path) }, words));
  main.append(
    h("h1", {}, "About this server"),
    h("p", {}, "Edgeworth is a laboratory for strategic agents: two people who divide a pool, and a referee who sets the rules of a market. This page uses the same public routes as every other client."),
    h("div", { class: "two" },
      h("section", { class: "panel" },
        h("h2", {}, "Elsewhere on it"),
        h("ul", { class: "plain" },
          link("blog.md", "What this lab is, and what has been found in it"), link("plots/", "Figures of finished runs"),
          link("api/designers", "Designers that can be asked for a mechanism"), link("openapi.json", "Every route, as an OpenAPI document"),
          link("health", "Health"), link("ready", "Readiness"), link("metrics", "Metrics")),
        h("p", { class: "small quiet" }, "With tokens, these links answer only to requests that carry one.")),
      h("section", { class: "panel" },
        h("h2", {}, "From a terminal"),
        h("p", {}, "A negotiation in two requests:"),
        h("pre", {}, `curl -s ${address("bargaining/reset")} -H 'content-type: application/json' \\\n  -d '{"session_id": "negotiation", "seed": 1}'\ncurl -s ${address("bargaining/step")} -H 'content-type: application/json' \\\n  -d '{"session_id": "negotiation", "action": {"act_type": 0, "oA": [1, 1, 1]}}'`),
        h("p", {}, "A market in three:"),
        h("pre", {}, `curl -s ${address("reset")} -H 'content-type: application/json' \\\n  -d '{"session_id": "demo", "n_agents": 8, "episode_length": 10}'\ncurl -s ${address("api/design")} -H 'content-type: application/json' \\\n  -d '{"session_id": "demo"}'\ncurl -s ${address("step")} -H 'content-type: application/json' \\\n  -d '{"session_id": "demo", "action": MECHANISM}'`))),
    h("h2", {}, "Partners"),
    h("table", {}, h("tbody", {}, catalog.partners.map(({ name, what }) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, what))))));
  return {};
}
