"""Negotiations as text for the pocket model: every state a prompt, the Bayes plan's move the reply.

A job plays one game (`pocket_games.py`) with a few half-contexts. Each is planned once and then played several times, with its item types
in any order and a partner of any utilities. Three times in four the agent follows the plan, otherwise it makes some offer, so that the
model also sees negotiations that went another way. Where the partner's counter-offers reveal something, no blind plan is best; there the
plan for the heuristic partner is taught, and AGREE to whatever leaves the agent at least what the plan would ask for.

Part of the prompts have the lines of the user's message in another order, the moves last, so that the model reads the labels.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.hints.bayes import planned_hints
from edgeworth.config import BargainingConfig
from edgeworth.dialogues.hint_prompt import batch_variables, load_hint_prompt
from edgeworth.games.bargaining import rules
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import Context, triple_of
from edgeworth.games.bargaining.history import ACTS_WITH_SHARE
from edgeworth.games.bargaining.prior import partner_types
from edgeworth.games.bargaining.state import VIEW
from edgeworth.games.bargaining.vocabulary import AGREE, INSIST, ONGOING
from edgeworth.llm.prompt import Section
from edgeworth.protocol import Rejection
from edgeworth.seeding import generator
from edgeworth.training.pocket_games import TURNS, Negotiations, draw_halves, planned_game
from edgeworth.training.practice import step_chosen

MOST_HINTS = TURNS[1] // 2 + 1
PLAN = np.dtype(
    [("acts", np.int8, (MOST_HINTS,)), ("shares", np.int8, (MOST_HINTS, 3)), ("confidences", np.float32, (MOST_HINTS,)), ("moves", np.int8)]
)
"""The hints of a plan in turn, AGREE or DISAGREE included."""
BEGINNINGS = 300
"""Beginnings of lists that the search for a plan examines: a long game in which time costs gets a good plan, perhaps not the best."""
FOLLOWS = 0.75
"""How often the agent does what the plan says."""
REORDERED = 0.15
"""How many prompts have their lines in another order."""
ANY_REPLY = "Any legal reply will do."
"""The mark of a prompt whose reply is legal and otherwise random."""


class Example(NamedTuple):
    """One lesson: the user's message and the reply; the system message is the game's."""

    user: str
    reply: str


# Plans


@dataclass(frozen=True)
class Planned:
    """Negotiations that are about to begin, and a plan for each."""

    contexts: NDArray[np.int16]
    plans: NDArray[np.void]
    """One for each negotiation, its item types in standard order."""
    orders: NDArray[np.int64]
    """Which type of the standard order stands first, second and third in each negotiation."""

    def hints(self, made: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """The plan's next move in every negotiation, given how many moves its side has made: acts, shares, confidences."""
        each = np.arange(len(made)), np.minimum(made, self.plans["moves"] - 1)
        shares = np.take_along_axis(self.plans["shares"][each].astype(np.int64), self.orders, axis=1)
        return self.plans["acts"][each].astype(np.int64), shares, self.plans["confidences"][each]


def plan_for(batch: BargainingBatch, half: NDArray[np.int64]) -> NDArray[np.void]:
    """The plan for a half-context of a game in which one side opens."""
    opener = ("agent", "partner").index(batch.config.opens)
    hints = planned_hints((opener, triple_of(half[:3]), triple_of(half[3:])), batch, None, BEGINNINGS)
    assert not isinstance(hints, Rejection), "half-contexts belong to the game"
    row = np.zeros((), PLAN)
    row["moves"] = len(hints)
    for at, hint in enumerate(hints):
        row["acts"][at], row["shares"][at], row["confidences"][at] = hint.act, hint.share, hint.confidence
    return row


def plan_negotiations(config: BargainingConfig, size: int, repeats: int, rng: np.random.Generator, kept_back: bool = False) -> Planned:
    """Contexts of a game with a plan for each; every half-context serves about `repeats` negotiations."""
    batch = BargainingBatch(planned_game(config), 1)
    halves = draw_halves(batch, -(-size // repeats), rng, kept_back)
    plans = np.stack([plan_for(batch, half) for half in halves])
    chosen = np.arange(size) % len(halves)
    orders = rng.permuted(np.tile(np.arange(3), (size, 1)), axis=1)
    types = [partner_types(Context(triple_of(half[:3]), triple_of(half[3:]), (0, 0, 0)), batch) for half in halves]
    theirs = np.stack([types[number][rng.integers(len(types[number]))] for number in chosen])
    parts = halves[chosen, :3], halves[chosen, 3:], theirs
    contexts = np.concatenate([np.take_along_axis(part, orders, axis=1) for part in parts], axis=1)
    return Planned(contexts.astype(np.int16), plans[chosen], orders)


# Examples


def negotiation_examples(
    kind: Negotiations, size: int, repeats: int, seed: int, random_share: float = 0.0, kept_back: bool = False
) -> Iterator[Example]:
    """The examples of `size` negotiations; a `random_share` of them is marked, and has random legal replies."""
    section, rng = load_hint_prompt().sections[-1], generator(seed)
    config = kind.game(rng)
    advises_agree = config != planned_game(config)
    planned = plan_negotiations(config, size, repeats, rng, kept_back)
    batch = BargainingBatch(config, size)
    batch.seed(seed)
    batch.reset(planned.contexts)
    while (going := batch.state["outcome"] == ONGOING).any():
        acts, shares, confidences = planned_moves(batch, planned, advises_agree)
        due = going & (batch.masks[np.arange(size), acts] == 1)
        marked = rng.random(size) < random_share
        taught = np.where(marked[:, None], random_replies(batch, rng), np.column_stack([acts, shares, confidences]))
        for slot, values in zip(np.flatnonzero(due).tolist(), batch_variables(batch, due), strict=True):
            user = (reordered(section, rng) if rng.random() < REORDERED else section).filled(values).content
            yield Example(f"{user}\n{ANY_REPLY}" if marked[slot] else user, hint_text(taught[slot]))
        made = wandering(batch, acts, shares, due & (rng.random(size) < FOLLOWS), rng)
        step_chosen(batch, *made, going, rules.NEVER)


def reordered(section: Section, rng: np.random.Generator) -> Section:
    """The user's message with its lines in another order; the moves, under their title, stay last."""
    *lines, title, moves = section.text.split("\n")
    return dataclasses.replace(section, text="\n".join([*(lines[place] for place in rng.permutation(len(lines))), title, moves]))


def planned_moves(
    batch: BargainingBatch, planned: Planned, advises_agree: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """The teacher's move in every episode."""
    views = batch.views.astype(np.int64)
    acts, shares, confidences = planned.hints((batch.config.max_turns - views[:, VIEW["turns_remaining"]]) // 2)
    if advises_agree:
        utilities = views[:, VIEW["my_utilities"]]
        offered = (views[:, VIEW["last_partner_offer_for_me"]] * utilities).sum(axis=1)
        better = (batch.masks[:, AGREE] == 1) & (offered > 0) & (offered >= (shares * utilities).sum(axis=1)) & (acts <= INSIST)
        acts, shares, confidences = np.where(better, AGREE, acts), shares * ~better[:, None], np.where(better, 1.0, confidences)
    return acts, shares, confidences.astype(np.float32)


def random_replies(batch: BargainingBatch, rng: np.random.Generator) -> NDArray[np.float64]:
    """Legal replies that mean nothing: act, share and confidence, uniform over what is allowed."""
    acts = (rng.random(batch.masks.shape) * batch.masks).argmax(axis=1)
    shares = rng.integers(0, batch.views[:, 0:3] + 1) * np.isin(acts, list(ACTS_WITH_SHARE))[:, None]
    return np.column_stack([acts, shares, rng.random(batch.size)])


def hint_text(move: NDArray[np.float64]) -> str:
    """A hint as a model writes it; the confidence with one digit."""
    act, a, b, c = (int(number) for number in move[:4])
    return json.dumps({"act_type": act, "oA": [a, b, c], "confidence": round(float(move[4]), 1)})


def wandering(
    batch: BargainingBatch, acts: NDArray[np.int64], shares: NDArray[np.int64], follows: NDArray[np.bool_], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The moves that are made: the plan's, or else some offer."""
    offers = rng.integers(0, batch.views[:, 0:3] + 1)
    return np.where(follows, acts, rng.integers(0, 2, batch.size)), np.where(follows[:, None], shares, offers)
