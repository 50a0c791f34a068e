/**
 * The five acts as buttons, each with what it does now; an act that the rules do not allow says why.
 */

import { button, h, show } from "./dom.js";
import { counted, shareWords } from "./items.js";

/** The buttons; `share` gives the split on the table. */
export function actButtons(game, share) {
  const region = h("div", { class: "acts", role: "group", "aria-label": "Your move" });
  const update = () => {
    if (!game.observation || game.done) return show(region);
    const blocked = game.busy || (game.settings.watch ? "An agent plays your side." : "");
    show(region, choices(game, share()).map(({ act, words, what, why }) => {
      const reason = blocked || why;
      const press = () => game.play({ act_type: act, oA: act === 2 || act === 3 ? [0, 0, 0] : share() });
      return h("button", { type: "button", class: act === 0 ? "act main" : "act", disabled: Boolean(reason), "data-key": `act-${act}`, on: { click: press } },
        h("strong", {}, words), h("span", { class: "small" }, why || what));
    }));
  };
  return { element: region, update };
}

function choices(game, share) {
  const asked = `${shareWords(share)} for you`;
  const { offer } = game;
  const last = game.observation.turns_remaining <= 1;
  return [
    { act: 0, words: "Propose", what: `Offer this split: ${asked}. They accept it or answer with their own.` },
    { act: 1, words: "Insist", what: "Offer this split firmly. Some partners accept a little less when you insist." },
    { act: 2, words: offer ? `Agree: ${counted(game.worth(offer), "point")}` : "Agree", what: offer ? `Take their offer: ${shareWords(offer)} for you. The negotiation ends with this deal.` : "", why: offer ? "" : "They have made no offer yet." },
    { act: 4, words: "End", what: `Final selection: you name ${asked}; they name what they last asked for. If it does not add up, nobody gets anything.` },
    { act: 3, words: "Disagree", what: "Walk away: no deal, no points for either side." },
  ].map((choice) => (last && choice.act < 2 ? { ...choice, why: "This is the last move: they could not answer any more." } : choice));
}

/** What can be done with the whole game, whether it goes on or is over. */
export function gameButtons(game, start) {
  const region = h("div", { class: "row" });
  const update = () => show(region,
    button("New game", () => start({ seed: newSeed() }), { "data-key": "new", class: game.done ? "main" : "" }),
    button("Start over", () => game.takeBack(), { "data-key": "over", disabled: !game.moves.length }),
    button("Take back a move", () => game.takeBack(1), { "data-key": "back", disabled: !game.moves.length || Boolean(game.busy) }));
  return { element: region, update };
}

/** A seed that is short enough to say aloud. */
export function newSeed() {
  return crypto.getRandomValues(new Uint32Array(1))[0] % 1_000_000;
}
