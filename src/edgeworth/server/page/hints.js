/**
 * Hints side by side: what a random player, the exact Bayes plan, a trained expert and a language model would do now, and why.
 */

import { button, h, show } from "./dom.js";
import { ACTS, counted, shareWords } from "./items.js";

const percent = (share) => `${Math.round(100 * share)} %`;

export const ADVISERS = [
  { name: "random", title: "Random player", why: () => "Drawn from the legal moves; the floor to beat." },
  { name: "bayes", title: "Bayes plan", why: ({ act, confidence }) => (act === "PROPOSE" || act === "INSIST" ? `The best plan without knowing what they want. They accept this with ${percent(confidence)} chance.` : "The best plan without knowing what they want: nothing better is to be expected.") },
  { name: "expert", title: "Trained expert", why: ({ confidence }) => `A network trained by playing; it plays this with probability ${percent(confidence)}.` },
  { name: "llm", title: "Language model", why: ({ confidence }) => `The bundled model read the negotiation so far; it says it is ${percent(confidence)} sure.` },
];

export class Hints {
  /** `use` is called with the action of a hint that the player takes up. */
  constructor(game, use) {
    Object.assign(this, { game, use, asked: null, answers: {}, asking: null });
    this.element = h("section", { class: "hints", "aria-label": "Hints" });
  }

  update() {
    const { game } = this;
    if (this.asked !== null && (this.asked !== game.moves || game.done)) this.drop();
    this.element.hidden = !game.observation || game.done || Boolean(game.settings.watch);
    if (this.asked === null) {
      return show(this.element, button("Ask for hints", () => this.ask(), { "data-key": "hints", disabled: Boolean(game.busy) }),
        h("span", { class: "small quiet" }, "What would others do here?"));
    }
    show(this.element, h("div", { class: "advisers" }, ADVISERS.map((adviser) => this.card(adviser))));
  }

  drop() {
    this.asking?.abort();
    Object.assign(this, { asked: null, answers: {} });
  }

  ask() {
    this.asked = this.game.moves;
    this.asking = new AbortController();
    const { signal } = this.asking;
    for (const { name } of ADVISERS) {
      this.game.hint(name, signal).catch((error) => ({ error })).then((answer) => {
        if (signal.aborted) return;
        this.answers[name] = answer;
        this.update();
      });
    }
    this.update();
  }

  card({ name, title, why }) {
    const answer = this.answers[name];
    const hint = answer?.hint;
    const body = !answer ? h("p", { class: "quiet", role: "status" }, name === "llm" ? "Asking … the first time takes some seconds." : "Asking …")
      : hint ? [h("p", { class: "move" }, h("strong", {}, ACTS[hint.act_type]), this.share(hint)), h("p", { class: "small quiet" }, why(hint)),
          button("Use", () => this.use(hint), { "data-key": `use-${name}`, "aria-label": `Use the hint of the ${title.toLowerCase()}` })]
        : h("p", { class: "small quiet" }, answer.error?.message ?? answer.rejection?.sentence ?? "No hint here.");
    return h("div", { class: "panel" }, h("h3", {}, title), body);
  }

  share({ act_type, oA }) {
    const share = act_type === 2 ? this.game.offer : act_type === 3 ? null : oA;
    return share ? ` ${shareWords(share)} (${counted(this.game.worth(share), "point")})` : "";
  }
}
