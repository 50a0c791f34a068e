"""Negotiations as a plan describes them: the agent's moves as they were advised, and the item type that is worth most first.

A provider that is asked for a plan gives the same hint in all negotiations that agree in the own side, in the partner's moves and in the
number of moves. Such negotiations are one path through a tree: it begins with the own side, its item types in order of their worth, and
with the first move of a partner that opens; every own move, as it was advised, and the reply to it lead one step further. Advice to PROPOSE
or INSIST counts as it was given. Other advice would have ended the negotiation, and counts as the nearest offer: AGREE as proposing the
very deal that was to be accepted, END as proposing its share, DISAGREE as asking for everything, which no partner grants. Where there was
no advice, the agent's real move counts.

A hint is asked for once per place in the tree, all that are new to a batch in one call per own move; a hint that was not due when its
move was made is asked for when a later one needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.hints.advice import AdviceBook
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import Triple, rest_of, triple_of
from edgeworth.games.bargaining.hints import Hint
from edgeworth.games.bargaining.history import History
from edgeworth.games.bargaining.state import HISTORY_LINE
from edgeworth.games.bargaining.vocabulary import AGENT, AGREE, DISAGREE, INSIST, ITEM_TYPES, PARTNER, PROPOSE
from edgeworth.protocol import Reason, Rejection

UNKNOWN = -1
OFFERS = (PROPOSE, INSIST)


@dataclass(frozen=True)
class OwnSide:
    """What the agent knows before the first move, the most wanted item type first."""

    max_turns: int
    counts: Triple
    points: tuple[float, ...]
    """Per unit, as the prompt states them."""


@dataclass(slots=True, eq=False)
class Place:
    """A moment at which the agent is to move, in a negotiation as the plan describes it."""

    side: OwnSide
    played: bytes
    """The moves so far, as lines of the state's `history`."""
    number: int = UNKNOWN
    """Its hint in the book of advice."""
    own: bytes | None = None
    """The agent's move here as later places describe it; None where that is its real move."""
    steps: dict[bytes, Place] = field(default_factory=dict)
    """The next places, by the reply, or by the real move and the reply."""

    @property
    def history(self) -> History:
        """The moves so far."""
        return History(self.played)

    @property
    def offer(self) -> Triple | None:
        """What the partner's standing offer leaves the agent, if there is one."""
        for move in reversed(self.history):
            if move.side == PARTNER and move.act in OFFERS and move.share is not None:
                return rest_of(self.side.counts, move.share)
        return None

    @property
    def mask(self) -> tuple[int, ...]:
        """The acts that are legal: all, but AGREE only to an offer."""
        return (1, 1, int(self.offer is not None), 1, 1)

    def observed(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Observation and `info` of this moment, as far as a prompt uses them."""
        partner_acts = [move.act for move in self.history if move.side == PARTNER]
        observation = {
            "counts": self.side.counts,
            "my_utilities": self.side.points,
            "last_partner_act": partner_acts[-1] if partner_acts else 0,
            "last_partner_offer_for_me": self.offer or (0, 0, 0),
            "turns_remaining": self.side.max_turns - len(self.history),
        }
        return observation, {"partner_has_spoken": bool(partner_acts), "action_mask": self.mask, "history": self.history}

    def take(self, number: int, advice: Hint | Rejection) -> None:
        """Keep the hint for this place."""
        self.number = number
        if isinstance(advice, Hint):
            act = advice.act if advice.act in OFFERS else PROPOSE
            self.own = bytes((AGENT, act, *self._asked(advice)))

    def _asked(self, advice: Hint) -> Triple:
        """The share that comes nearest to the advice."""
        if advice.act == AGREE and self.offer is not None:
            return self.offer
        return self.side.counts if advice.act == DISAGREE else advice.share

    def next(self, own: bytes, reply: bytes) -> Place:
        """The place after the agent's real move and the reply to it."""
        step = own + reply if self.own is None else reply
        place = self.steps.get(step)
        if place is None:
            place = self.steps[step] = Place(self.side, self.played + (self.own or own) + reply)
        return place


Answers = Callable[[list[Place]], Sequence[Hint | Rejection]]


def wanted_order(counts: NDArray[Any], points: NDArray[Any]) -> NDArray[np.int64]:
    """The item types from the most to the least wanted: by points, then by how many there are, then as they stand; (N, 3)."""
    return np.asarray(np.lexsort((-counts, -points), axis=1), np.int64)


def seen_points(counts: NDArray[Any], points: NDArray[Any], grain: float) -> NDArray[np.float64]:
    """The agents' points as plans see them, (N, 3): multiples of `grain`, 0 only for what is worth nothing or is not there."""
    return np.where(counts > 0, np.maximum(np.round(points / grain), points > 0) * grain, 0.0)


class PlanTree:
    """All places that negotiations under one set of rules have come to, and the hints there."""

    def __init__(self, grain: float = 0.0) -> None:
        """Own sides whose points are the same multiples of `grain` share their places; with 0, points count as they are."""
        self.grain = grain
        self.advice = AdviceBook()
        self._roots: dict[bytes, Place] = {}

    def numbers(
        self, batch: BargainingBatch, due: NDArray[np.bool_], ask: Answers
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], list[Place]]:
        """The hints of the episodes that are due, as numbers in the book, with the order of their item types and their places."""
        roots, moves, orders = self._begun(batch, due)
        failed: dict[Place, int] = {}
        places, numbers = list(roots), [UNKNOWN] * len(roots)
        waiting = list(range(len(roots)))
        while waiting:
            for i in waiting:
                places[i], moves[i], numbers[i] = self._advance(places[i], moves[i], failed)
            waiting = [i for i in waiting if numbers[i] == UNKNOWN]
            self._learn(list(dict.fromkeys(places[i] for i in waiting)), ask, failed)
        return np.array(numbers, np.int64), orders, places

    def _begun(self, batch: BargainingBatch, due: NDArray[np.bool_]) -> tuple[list[Place], list[bytes], NDArray[np.int64]]:
        """Of the episodes that are due: the place where each began, its moves since then, and the order of its item types."""
        turns, longest = batch.state["turn"][due].tolist(), batch.config.max_turns
        halves = batch.views[due][:, : 2 * ITEM_TYPES]
        points = batch.own_points()[due]
        if self.grain:
            points = seen_points(halves[:, :3], points, self.grain)
            halves = np.concatenate([halves[:, :3], np.round(points / self.grain)], axis=1).astype(np.int64)
        orders = wanted_order(halves[:, :3], points)
        lines = batch.state["history"][due, :longest]
        lines[:, :, 2:] = np.take_along_axis(lines[:, :, 2:], orders[:, None, :], axis=2)
        keys = np.concatenate([np.take_along_axis(part, orders, axis=1) for part in (halves[:, :3], halves[:, 3:])], axis=1).astype(np.int8)
        written, sides, roots, moves = lines.tobytes(), keys.tobytes(), [], []
        for i, turn in enumerate(turns):
            begin, opened = i * longest * HISTORY_LINE, turn % 2 * HISTORY_LINE
            opening = written[begin : begin + opened]
            key = sides[2 * ITEM_TYPES * i : 2 * ITEM_TYPES * (i + 1)] + opening
            root = self._roots.get(key)
            if root is None:
                side = OwnSide(longest, triple_of(halves[i, :3][orders[i]]), tuple(points[i][orders[i]].tolist()))
                root = self._roots[key] = Place(side, opening)
            roots.append(root)
            moves.append(written[begin + opened : begin + turn * HISTORY_LINE])
        return roots, moves, orders

    def _advance(self, place: Place, moves: bytes, failed: dict[Place, int]) -> tuple[Place, bytes, int]:
        """Follow the moves as far as hints are known; returns the place, the moves that are left, and after the last the hint."""
        while True:
            number = place.number if place.number != UNKNOWN else failed.get(place, UNKNOWN)
            if number == UNKNOWN or not moves:
                return place, moves, number
            own, reply = moves[:HISTORY_LINE], moves[HISTORY_LINE : 2 * HISTORY_LINE]
            place, moves = place.next(own, reply), moves[2 * HISTORY_LINE :]

    def _learn(self, places: list[Place], ask: Answers, failed: dict[Place, int]) -> None:
        """Ask for the hints at these places; where no reply comes, the next batch asks again."""
        for place, advice in zip(places, ask(places) if places else (), strict=True):
            number = self.advice.add(advice)
            if isinstance(advice, Rejection) and advice.reason is Reason.NO_REPLY:
                failed[place] = number
            else:
                place.take(number, advice)
