"""Hints behind the server: moments of a negotiation, and the workers that suggest the agent's next move.

A moment is that of a session, or one that a client describes. Moments under the same rules that arrive together are one batch for the
provider. A hint is legal at its moment; where a provider has no legal hint, `rejection` says why.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from edgeworth import catalog
from edgeworth.agents.hints.bayes import BOOKS
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption, ModelUnavailable
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.belief_play import BOOKS as BELIEFS
from edgeworth.games.bargaining.contexts import Context, triple_of
from edgeworth.games.bargaining.hints import Hint, HintProvider
from edgeworth.games.bargaining.history import Move
from edgeworth.games.bargaining.replay import replayed_negotiation
from edgeworth.protocol import Reason, Rejection
from edgeworth.server.model_process import ModelProcess, ProcessClient
from edgeworth.server.model_queue import Worker
from edgeworth.server.models_designers import SituationGiven
from edgeworth.server.openings import opening_of

LANGUAGE_MODEL = "llm"
MOST_GAMES = 256
"""How many different games' plans a provider keeps; clients can name any number of games."""
ANY_UTILITIES = (1, 1, 1)
"""Stand-in for the partner's utilities where they are neither known nor shown."""
Moment = Callable[[], BargainingBatch]
"""Makes a batch of one at the moment in question; called in the worker's thread, since it may compile rules."""


def situation_batch(given: SituationGiven) -> BargainingBatch:
    """The moment that a client describes as a batch of one, under the rules that its options name."""
    options = dict(opening_of("bargaining", given.options, 0).options)
    config = BargainingConfig.from_options(options.pop("scenario", None), **options)
    if config.reveal_partner_utilities and given.partner_utilities is None:
        raise InvalidOption("reveal_partner_utilities shows what the situation does not tell; add partner_utilities.")
    context = Context(triple_of(given.counts), triple_of(given.my_utilities), triple_of(given.partner_utilities or ANY_UTILITIES))
    largest = max(*context.counts, BargainingBatch(config, 1).max_count)
    moves = [Move(move.side, move.act, None if move.share is None else triple_of(move.share)) for move in given.history]
    return replayed_negotiation(dataclasses.replace(config, max_count=largest), context, moves)


class Hinted(NamedTuple):
    """A provider's answer."""

    hint: Hint | None
    rejection: Rejection | None = None
    """Why there is no hint, where one was tried."""
    model: str | None = None


class HintWorker(Worker[Moment, Hinted]):
    """A hint provider behind its queue; a language model is asked through its client."""

    def __init__(self, name: str, client: ProcessClient | None = None) -> None:
        self.name, self.client, self.gathers = name, client, client is not None
        self.provider: HintProvider | None = None
        self._games: set[str] = set()

    @property
    def loaded(self) -> bool:
        return self.provider is not None and (self.client is None or self.client.process.loaded)

    def load(self) -> None:
        if self.provider is None:
            options = {} if self.client is None else {"client": self.client}
            self.provider = catalog.resolve("hint provider", self.name)(**options)
        if self.client is not None:
            self.client.check()

    def answer(self, batch: Sequence[Moment], stop_at: float) -> list[Hinted | Exception]:
        """A hint, or why there is none, for every moment; those under the same rules are one batch for the provider."""
        if self.client is not None:
            self.client.stop_at = stop_at
        answers: list[Hinted | Exception] = [ModelUnavailable("dropped", "Not asked.")] * len(batch)
        groups: dict[tuple[str, bytes], list[tuple[int, BargainingBatch]]] = {}
        for place, moment in enumerate(batch):
            try:
                single = moment()
            except Exception as error:
                answers[place] = error
            else:
                groups.setdefault((repr(single.config), single.rules.tobytes()), []).append((place, single))
        self._limit_plans({game for game, _ in groups})
        for group in groups.values():
            for (place, _), answer in zip(group, self._hints([single for _, single in group]), strict=True):
                answers[place] = answer
        return answers

    def _limit_plans(self, games: set[str]) -> None:
        """Forget all plans when they are those of too many games."""
        self._games |= games
        if len(self._games) > MOST_GAMES and self.client is None:
            self._games, self.provider = set(games), None
            BOOKS.clear()
            BELIEFS.clear()
            self.load()

    def _hints(self, singles: Sequence[BargainingBatch]) -> Sequence[Hinted | Exception]:
        assert self.provider is not None
        batch = together(singles)
        try:
            self.provider.check(batch)
            hints = self.provider.give(batch, batch.everybody)
        except Exception as error:
            return [error] * len(singles)
        return [self._hinted(hints.at(slot), hints.rejections.get(slot)) for slot in range(len(singles))]

    def _hinted(self, hint: Hint | None, rejection: Rejection | None) -> Hinted | Exception:
        if self.client is None:
            return Hinted(hint, rejection)
        if rejection is not None and rejection.reason is Reason.NO_REPLY:
            return ModelUnavailable("dropped", rejection.sentence)
        return Hinted(hint, rejection, self.client.name)


def together(singles: Sequence[BargainingBatch]) -> BargainingBatch:
    """Copies of moments under the same rules as one batch."""
    batch = singles[0].over(np.concatenate([single.state for single in singles]))
    batch.views[:] = np.concatenate([single.views for single in singles])
    batch.masks[:] = np.concatenate([single.masks for single in singles])
    return batch


def hint_workers(process: ModelProcess) -> dict[str, HintWorker]:
    """A worker for every hint provider; `process` runs the language model."""
    names = catalog.names("hint provider")
    return {name: HintWorker(name, ProcessClient(process) if name == LANGUAGE_MODEL else None) for name in names}
