/**
 * The pool on the table: every item is on one side. A click, a drag or an arrow key moves it to the other.
 */

import { button, h, show } from "./dom.js";
import { ITEMS, counted, picture, shown } from "./items.js";

const SIDES = ["you", "they"];

/** Let an element slide from where it was to where it is. */
function slide(element, from) {
  const to = element.getBoundingClientRect();
  const milliseconds = parseFloat(getComputedStyle(element).getPropertyValue("--move"));
  if (!milliseconds || !(from.x - to.x || from.y - to.y)) return;
  element.animate([{ transform: `translate(${from.x - to.x}px, ${from.y - to.y}px)` }, { transform: "none" }], { duration: milliseconds, easing: "ease-out" });
}

export class Pool {
  /** `changed` is called when the player has moved an item. */
  constructor(game, changed) {
    Object.assign(this, { game, changed, share: [0, 0, 0], tokens: [], cells: [], dealt: null });
    this.rows = h("div", { class: "pool", role: "group", "aria-label": "The pool: every item is on one side" });
    this.worth = h("div", { class: "worth", role: "status" });
    this.element = h("section", { class: "panel" }, this.rows, this.worth);
  }

  /** Show the game; a new one is dealt first. */
  update() {
    const { observation, done } = this.game;
    if (!observation) return;
    if (this.dealt !== this.game.settings) this.deal(observation.counts);
    if (done && this.game.info.deal) this.set(this.game.info.deal);
    this.locked = done || Boolean(this.game.busy) || Boolean(this.game.settings.watch);
    for (const token of this.tokens.flat()) token.disabled = this.locked;
    this.summary();
  }

  deal(counts) {
    this.dealt = this.game.settings;
    this.share = counts.map((units) => Math.ceil(units / 2));
    this.cells = ITEMS.map((name, item) => SIDES.map((side) => this.cell(side, item)));
    this.tokens = counts.map((units, item) => Array.from({ length: units }, () => this.token(item)));
    this.labels = ITEMS.map(() => h("div", { class: "kind" }));
    show(this.rows, h("h2", { class: "you" }, "You get"), h("span"), h("h2", { class: "they" }, "They get"),
      ITEMS.map((name, item) => [this.cells[item][0], this.labels[item], this.cells[item][1]]));
    this.place();
  }

  cell(side, item) {
    const over = (event) => {
      if (!this.locked && this.dragged === item) event.preventDefault();
    };
    const drop = (event) => {
      event.preventDefault();
      this.move(item, side === "you" ? this.share[item] + 1 : this.share[item] - 1);
    };
    return h("div", { class: `cell ${side}`, on: { dragover: over, drop } });
  }

  token(item) {
    const press = (event) => this.move(item, this.share[item] + (this.side(event.currentTarget) === "you" ? -1 : 1));
    const key = (event) => {
      const wanted = { ArrowLeft: "you", ArrowRight: "they" }[event.key];
      if (!wanted) return;
      event.preventDefault();
      if (wanted !== this.side(event.currentTarget)) press(event);
    };
    return h("button", { type: "button", class: "token", draggable: "true", on: { click: press, keydown: key, dragstart: () => (this.dragged = item) } }, picture(item));
  }

  side(token) {
    return token.parentElement.classList.contains("you") ? "you" : "they";
  }

  move(item, units) {
    if (this.locked || units < 0 || units > this.tokens[item].length) return;
    this.share = this.share.map((before, place) => (place === item ? units : before));
    this.place();
    this.summary();
    this.changed();
  }

  /** Lay the items out as a share says. */
  set(share) {
    this.share = [...share];
    this.place();
    this.summary();
  }

  place() {
    const focused = document.activeElement;
    this.tokens.forEach((tokens, item) => tokens.forEach((token, number) => {
      const mine = number < this.share[item];
      const cell = this.cells[item][mine ? 0 : 1];
      token.setAttribute("aria-label", `${ITEMS[item]}, ${mine ? "yours: give it to them" : "theirs: take it"}`);
      if (token.parentElement === cell) return;
      const from = token.isConnected ? token.getBoundingClientRect() : null;
      mine ? cell.append(token) : cell.prepend(token);
      if (from) slide(token, from);
    }));
    if (focused?.classList?.contains("token")) focused.focus();
  }

  summary() {
    const { game } = this;
    const theirs = game.analysis?.context.partner_utilities;
    ITEMS.forEach((name, item) => show(this.labels[item],
      h("strong", {}, name), h("span", { class: "you" }, counted(game.observation.my_utilities[item], "pt"), h("span", { class: "unseen" }, " to you")),
      theirs ? h("span", { class: "they" }, counted(theirs[item], "pt"), h("span", { class: "unseen" }, " to them")) : h("span", { class: "they hidden" }, "hidden")));
    const worth = game.worth(this.share);
    const what = game.done ? (game.info.deal ? "The deal is" : "This split would have been") : "This split is";
    show(this.worth, h("p", {}, `${what} worth `, h("strong", { class: "you" }, `${shown(worth)} of ${shown(game.maximum)} points`), " to you; to them ",
      theirs ? h("strong", { class: "they" }, counted(this.theirWorth(theirs), "point")) : h("span", { class: "they" }, "hidden until the end"), "."),
      h("div", { class: "bar", "aria-hidden": "true" }, h("div", { style: { width: `${game.maximum ? (100 * worth) / game.maximum : 0}%` } })),
      !this.locked && game.offer ? button("Lay out their offer", () => (this.set(game.offer), this.changed()), { "data-key": "their-offer", class: "small" }) : null);
  }

  theirWorth(theirs) {
    return this.share.reduce((sum, units, item) => sum + (this.game.observation.counts[item] - units) * theirs[item], 0);
  }
}
