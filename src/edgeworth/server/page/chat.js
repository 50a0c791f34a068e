/**
 * The negotiation as a conversation, and the line in which the player can type. A sentence is first shown as the act it was understood as,
 * or, where that is not sure, answered with a question; a second Enter plays it.
 */

import { button, h, problem, show } from "./dom.js";
import { counted, shareWords } from "./items.js";

const VERBS = {
  PROPOSE: ["propose", "proposes"], INSIST: ["insist", "insists"], AGREE: ["agree", "agrees"], DISAGREE: ["refuse", "refuses"], END: ["end with a final selection", "ends with a final selection"],
  "(lost turn)": ["lose the turn", "loses the turn"],
};
const ENDS = {
  AGENT_AGREED: "You accepted their offer.", PARTNER_AGREED: "They accepted your offer.", SELECTIONS_MATCHED: "The final selections matched.",
  SELECTIONS_CLASHED: "The final selections clashed: nobody gets anything.", AGENT_WALKED: "You walked away: no deal.",
  PARTNER_WALKED: "They walked away: no deal.", TIMED_OUT: "Time ran out: no deal.", BROKEN_OFF: "The negotiation broke off: no deal.",
};

export class Chat {
  /** `understood` is called with the share that a typed sentence asks for. */
  constructor(game, understood) {
    Object.assign(this, { game, understood, reading: null, asking: null });
    this.list = h("ol", { class: "chat", "aria-live": "polite", "aria-label": "What was said", tabindex: 0 });
    this.field = h("input", { id: "say", autocomplete: "off", maxlength: 500, placeholder: "I'll take the books and you keep the rest", on: { input: () => this.drop(), keydown: (event) => event.key === "Escape" && this.drop() } });
    this.read = h("div", { class: "reading", role: "status" });
    this.send = h("button", {}, "Say it");
    this.form = h("form", { class: "say", on: { submit: (event) => (event.preventDefault(), this.submit()) } },
      h("label", { class: "field" }, "Or say it in your own words", this.field), this.send);
    this.element = h("section", { class: "panel talk" }, h("h2", {}, "The negotiation"), this.list, this.form, this.read);
  }

  update() {
    const { game } = this;
    let mine = 0;
    const lines = game.transcript.map((move) => this.line(move, move.side === "agent" ? game.said[mine++] : null));
    const waiting = game.busy ? h("li", { class: "event" }, game.busy) : null;
    const empty = !lines.length && !game.busy ? h("li", { class: "event" }, "You open. Lay out a split and propose it, or say what you would like.") : null;
    const end = game.done ? h("li", { class: "event end" }, ENDS[game.info.outcome] ?? game.ending) : null;
    show(this.list, lines, empty, waiting, end);
    this.list.scrollTop = this.list.scrollHeight;
    this.form.hidden = this.read.hidden = game.done || Boolean(game.settings.watch);
    this.field.disabled = this.send.disabled = !game.observation;
    if (this.reading && this.reading.steps !== game.moves.length) this.drop();
  }

  line({ side, act, share, sentence }, typed) {
    const you = side === "agent";
    const points = share ? `: you get ${shareWords(share)} (${counted(this.game.worth(share), "point")})` : "";
    const who = you ? (this.game.settings.watch ? "your agent" : "you") : "they";
    const verb = VERBS[act][who === "your agent" ? 1 : 0];
    return h("li", { class: you ? "you" : "they" }, h("span", { class: "who" }, you ? who : `they (${this.game.settings.partner})`), h("p", {}, typed ?? sentence), h("p", { class: "small" }, `${who} ${verb}${points}`));
  }

  /** Forget how the sentence was understood. */
  drop() {
    this.asking?.abort();
    this.reading = null;
    this.send.textContent = "Say it";
    show(this.read);
  }

  async submit() {
    const text = this.field.value.trim();
    if (!text || this.game.busy) return;
    if (this.reading?.action ?? this.reading?.guess) return this.confirm(text);
    this.drop();
    const asking = (this.asking = new AbortController());
    try {
      this.reading = await this.game.parse(text, asking.signal);
    } catch (error) {
      if (!asking.signal.aborted) show(this.read, problem(error));
      return;
    }
    const { action, guess, words, share, confidence } = this.reading;
    if (!action && !guess) return show(this.read, h("p", {}, words));
    if (share) this.understood(share);
    this.send.textContent = "Confirm";
    const points = share ? `, ${counted(this.game.worth(share), "point")}` : "";
    if (guess) return show(this.read, h("p", {}, h("strong", {}, words), " ", h("kbd", {}, "Enter"), " says yes; or say it in other words."));
    show(this.read, h("p", {}, "Read as ", h("strong", {}, words), `${points}. `, h("span", { class: "quiet" }, `${Math.round(100 * confidence)} % sure. `), h("kbd", {}, "Enter"), " confirms, ", h("kbd", {}, "Esc"), " takes it back."));
  }

  async confirm(text) {
    const action = this.reading.action ?? this.reading.guess;
    this.drop();
    this.field.value = "";
    await this.game.play(action, text);
    if (!this.form.hidden) this.field.focus();
  }
}
