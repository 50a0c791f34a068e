/**
 * What this server offers besides the games, and both games from a terminal.
 */

import { address } from "./api.js";
import { h } from "./dom.js";
import { hashOf } from "./link.js";

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
          h("li", {}, h("a", { href: hashOf("results", { study: "blog" }) }, "What this lab is, and what has been found in it")), link("plots/", "Figures of finished runs"),
          link("api/designers", "Designers that can be asked for a mechanism"), link("openapi.json", "Every route, as an OpenAPI document"),
          link("health", "Health"), link("ready", "Readiness"), link("metrics", "Metrics")),
        h("p", { class: "small quiet" }, "With tokens, all but the first of these links answer only to requests that carry one.")),
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
