"""Negotiations as text for the pocket model: every state a prompt, the Bayes plan's move the reply.

Negotiations are played in every scenario and with every partner. Three times in four the agent follows the plan, otherwise it makes some
offer, so that the model also sees negotiations that went another way. Where the partner's counter-offers betray something, no blind plan is
best; there the plan for the heuristic partner is taught, and AGREE to whatever leaves the agent at least what the plan would ask for.

A half-context is what one side knows: the pool and its own utilities. Its standard order sorts the item types, whose names mean nothing:
15,180 plans stand for the 85,184 half-contexts of the classic game. One half-context in ten is held out, in all its orders, so that the
model is never tested on a context that it knows by another name.
"""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth import catalog
from edgeworth.agents.hints.bayes import planned_hints
from edgeworth.config import BargainingConfig
from edgeworth.dialogues.hint_prompt import batch_variables, load_hint_prompt
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining import rules
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.blind_plan import check_silent_partner
from edgeworth.games.bargaining.contexts import Triple, own_sides
from edgeworth.games.bargaining.history import ACTS_WITH_SHARE
from edgeworth.games.bargaining.state import VIEW
from edgeworth.games.bargaining.vocabulary import AGREE, INSIST, ONGOING, UTILITY_LIMIT
from edgeworth.protocol import Rejection
from edgeworth.seeding import generator, hash_rows
from edgeworth.training.practice import step_chosen

HELD_OUT_ONE_IN = 10
SPLIT_SALT = np.uint64(0x0ED6E0A7)
BASE = 16
"""More than any count or utility, so that a type is one two-digit number."""
CHUNK = 500
TYPE_CODES = 5 * BASE
"""Types of at most four units; the code of a type is `count * BASE + utility`."""
PLAN = np.dtype([("acts", np.int8, (7,)), ("shares", np.int8, (7, 3)), ("confidences", np.float32, (7,)), ("moves", np.int8)])
"""The hints of a plan in turn, AGREE or DISAGREE included, for at most ten moves of both sides."""
FOLLOWS = 0.75
"""How often the agent does what the plan says."""
ANY_REPLY = "Any legal reply will do."
"""The mark of a prompt whose reply is legal and otherwise random."""


# Half-contexts


def canonical(counts: NDArray[np.int64], utilities: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every half-context with its item types in the standard order, and the order itself: `types[i] = original[order[i]]`."""
    pairs = counts.astype(np.int64) * BASE + utilities.astype(np.int64)
    order = np.argsort(pairs, axis=1, kind="stable")
    return np.take_along_axis(pairs, order, axis=1), order


def held_out(counts: NDArray[np.int64], utilities: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which half-contexts are kept back; both arguments have shape (n, 3)."""
    types, _ = canonical(counts, utilities)
    bits = np.empty(len(types), np.uint64)
    hash_rows(types, SPLIT_SALT, bits)
    kept: NDArray[np.bool_] = bits % np.uint64(HELD_OUT_ONE_IN) == 0
    return kept


# Plans


@dataclass(frozen=True)
class PlanTable:
    """The plans of one set of rules."""

    plans: NDArray[np.void]
    index: NDArray[np.int32]
    """Row of a plan by opener and the codes of the three types in standard order; -1 where there is none."""

    def knows(self, counts: NDArray[np.int64], utilities: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which half-contexts it has a plan for."""
        types, _ = canonical(counts, utilities)
        known: NDArray[np.bool_] = self.index[:, types[:, 0], types[:, 1], types[:, 2]].max(axis=0) >= 0
        return known

    def hints(
        self, counts: NDArray[np.int64], utilities: NDArray[np.int64], openers: NDArray[np.int64], made: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """The plan's next move for every half-context, given how many moves its side has made: acts, shares, confidences."""
        types, order = canonical(counts, utilities)
        rows = self.plans[self.index[openers, types[:, 0], types[:, 1], types[:, 2]]]
        at = np.minimum(made, rows["moves"] - 1)
        each = np.arange(len(at))
        shares = np.empty((len(at), 3), np.int64)
        np.put_along_axis(shares, order, rows["shares"][each, at].astype(np.int64), axis=1)
        return rows["acts"][each, at].astype(np.int64), shares, rows["confidences"][each, at]


def standard_halves(config: BargainingConfig) -> list[tuple[Triple, Triple]]:
    """Every half-context of a game in standard order: pools of one to four units of each type, or those of its table."""
    batch = BargainingBatch(config, 1)
    halves = own_sides(config, batch.table if batch.rules[0]["from_table"] else None)
    codes = np.unique(canonical(halves[:, :3], halves[:, 3:])[0], axis=0)
    counts, utilities = np.divmod(codes, BASE)
    return [((a, b, c), (x, y, z)) for (a, b, c), (x, y, z) in zip(counts.tolist(), utilities.tolist(), strict=True)]


def make_table(config: BargainingConfig, most: int | None = None, workers: int = 1) -> PlanTable:
    """Plan for every half-context of a game and both openers, or for about `most` of them, evenly spread."""
    halves = standard_halves(config)
    halves = halves if most is None else halves[:: max(1, len(halves) // most)]
    openers = {"agent": (0,), "partner": (1,), "random": (0, 1)}[config.opens]
    jobs = [(config, opener, halves[begin : begin + CHUNK]) for opener in openers for begin in range(0, len(halves), CHUNK)]
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        parts = pool.map(_planned, jobs, chunksize=1)
    index = np.full((2, TYPE_CODES, TYPE_CODES, TYPE_CODES), -1, np.int32)
    codes = np.array([[n * BASE + u for n, u in zip(*half, strict=True)] for half in halves])
    for number, opener in enumerate(openers):
        index[opener, codes[:, 0], codes[:, 1], codes[:, 2]] = number * len(halves) + np.arange(len(halves))
    return PlanTable(np.concatenate(parts), index)


def _planned(job: tuple[BargainingConfig, int, list[tuple[Triple, Triple]]]) -> NDArray[np.void]:
    """The plans of some half-contexts, for one opener."""
    config, opener, halves = job
    batch = BargainingBatch(config, 1)
    rows = np.zeros(len(halves), PLAN)
    for row, (counts, utilities) in zip(rows, halves, strict=True):
        hints = planned_hints((opener, counts, utilities), batch, None)
        assert not isinstance(hints, Rejection), "standard half-contexts belong to the game"
        row["moves"] = len(hints)
        for at, hint in enumerate(hints):
            row["acts"][at], row["shares"][at], row["confidences"][at] = hint.act, hint.share, hint.confidence
    return rows


# Examples


class Example(NamedTuple):
    """One lesson: the user's message and the reply; the system message is the game's."""

    user: str
    reply: str


@dataclass(frozen=True)
class Negotiations:
    """A kind of negotiations to learn from, and its share of all."""

    share: float
    scenario: str = "classic"
    options: Mapping[str, Any] = field(default_factory=dict)

    def config(self) -> BargainingConfig:
        """The game that is played."""
        return BargainingConfig.from_options(self.scenario, **self.options)

    def planned(self) -> BargainingConfig:
        """The game that is planned for: the same, or where no blind plan is best, the same with the heuristic partner."""
        config = self.config()
        try:
            check_silent_partner(BargainingBatch(config, 1))
        except InvalidOption:
            return dataclasses.replace(config, partner="heuristic", partner_options={})
        return config


def lessons() -> list[Negotiations]:
    """The scenarios, shorter classic negotiations, and classic ones with each of the other partners."""
    others = [name for name in sorted(catalog.PARTNERS) if name not in ("heuristic", "walk_away")]
    return [
        Negotiations(0.50),
        Negotiations(0.08, "one_shot"),
        Negotiations(0.08, "discounted"),
        Negotiations(0.08, "walkaway"),
        Negotiations(0.06, "lewis"),
        Negotiations(0.04, "lewis_keep_all"),
        *(Negotiations(0.02, options={"max_turns": turns}) for turns in (4, 6)),
        *(Negotiations(0.12 / len(others), options={"partner": name}) for name in others),
    ]


def draw_contexts(batch: BargainingBatch, table: PlanTable, rng: np.random.Generator, kept_back: bool) -> NDArray[np.int16]:
    """Contexts of a game for every slot, of those with a plan: the held-out ones, or only the others."""
    found: list[NDArray[np.int16]] = []
    while sum(map(len, found)) < batch.size:
        tries = batch.size + 10_000
        if batch.rules[0]["from_table"]:
            rows = batch.table[rng.integers(len(batch.table), size=tries)]
        else:
            counts = rng.integers(1, 5, (tries, 3))
            rows = np.concatenate([counts, rng.integers(0, UTILITY_LIMIT + 1, (tries, 6))], axis=1).astype(np.int16)
        half = rows[:, :3].astype(np.int64), rows[:, 3:6].astype(np.int64)
        found.append(rows[(held_out(*half) == kept_back) & table.knows(*half)])
    return np.concatenate(found)[: batch.size]


def negotiation_examples(
    kind: Negotiations, table: PlanTable, size: int, seed: int, random_share: float = 0.0, kept_back: bool = False
) -> Iterator[Example]:
    """The examples of `size` negotiations; a `random_share` of them is marked, and has random legal replies."""
    prompt, rng = load_hint_prompt(), generator(seed)
    config = kind.config()
    advises_agree = config != kind.planned()
    batch = BargainingBatch(config, size)
    batch.seed(seed)
    batch.reset(draw_contexts(batch, table, rng, kept_back))
    while (going := batch.state["outcome"] == ONGOING).any():
        acts, shares, confidences = planned_moves(batch, table, advises_agree)
        due = going & (batch.masks[np.arange(size), acts] == 1)
        marked = rng.random(size) < random_share
        taught = np.where(marked[:, None], random_replies(batch, rng), np.column_stack([acts, shares, confidences]))
        for slot, values in zip(np.flatnonzero(due).tolist(), batch_variables(batch, due), strict=True):
            user = prompt.messages(values)[-1].content
            yield Example(f"{user}\n{ANY_REPLY}" if marked[slot] else user, hint_text(taught[slot]))
        made = wandering(batch, acts, shares, due & (rng.random(size) < FOLLOWS), rng)
        step_chosen(batch, *made, going, rules.NEVER)


def planned_moves(
    batch: BargainingBatch, table: PlanTable, advises_agree: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """The teacher's move in every episode."""
    views = batch.views.astype(np.int64)
    counts, utilities, elapsed = views[:, 0:3], views[:, 3:6], batch.config.max_turns - views[:, 16]
    acts, shares, confidences = table.hints(counts, utilities, elapsed % 2, elapsed // 2)
    if advises_agree:
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
