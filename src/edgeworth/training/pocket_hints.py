"""Talks as text for the pocket model: every state a prompt, the Bayes plan's move the reply.

Talks are played in every scenario and with every partner. Three times in four the agent follows the plan, otherwise it makes some offer,
so that the model also sees talks that went another way. Where the partner's counter-offers betray something, no blind plan is best; there
the plan for the heuristic partner is taught, and AGREE to whatever leaves the agent at least what the plan would ask for.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth import catalog
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.blind_plan import check_silent_partner
from edgeworth.games.bargaining.hint_prompt import batch_variables, load_hint_prompt
from edgeworth.games.bargaining.state import VIEW
from edgeworth.games.bargaining.talks import ACTS_WITH_SHARE
from edgeworth.games.bargaining.vocabulary import AGREE, INSIST, ONGOING, UTILITY_LIMIT
from edgeworth.seeding import generator
from edgeworth.training.pocket_plans import PlanTable
from edgeworth.training.pocket_split import held_out

FOLLOWS = 0.75
"""How often the agent does what the plan says."""
ANY_REPLY = "Any legal reply will do."
"""The mark of a prompt whose reply is legal and otherwise random."""


class Example(NamedTuple):
    """One lesson: the user's message and the reply; the system message is the game's."""

    user: str
    reply: str


@dataclass(frozen=True)
class Talks:
    """A kind of talks to learn from, and its share of all."""

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


def lessons() -> list[Talks]:
    """The scenarios, shorter classic talks, and classic talks with each of the other partners."""
    others = [name for name in sorted(catalog.PARTNERS) if name not in ("heuristic", "walk_away")]
    return [
        Talks(0.50),
        Talks(0.08, "one_shot"),
        Talks(0.08, "discounted"),
        Talks(0.08, "walkaway"),
        Talks(0.06, "lewis"),
        Talks(0.04, "lewis_keep_all"),
        *(Talks(0.02, options={"max_turns": turns}) for turns in (4, 6)),
        *(Talks(0.12 / len(others), options={"partner": name}) for name in others),
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


def talk_examples(
    talks: Talks, table: PlanTable, size: int, seed: int, random_share: float = 0.0, kept_back: bool = False
) -> Iterator[Example]:
    """The examples of `size` talks; a `random_share` of them is marked, and has random legal replies."""
    prompt, rng = load_hint_prompt(), generator(seed)
    config = talks.config()
    advises_agree = config != talks.planned()
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
        step_talks(batch, going, *wandering(batch, acts, shares, due & (rng.random(size) < FOLLOWS), rng))


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


def step_talks(batch: BargainingBatch, going: NDArray[np.bool_], acts: NDArray[np.int64], shares: NDArray[np.int64]) -> None:
    """One step of the episodes that still go on."""
    part = batch.selected(going)
    part.step(acts[going], shares[going])
    batch.write_back(part, going)
