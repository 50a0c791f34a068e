"""Hints behind the server: who can be asked what to do at a moment of the talks, and a desk before each.

A moment is that of a session, or one that a client describes. Moments under the same rules that came together are one batch for the
provider. What a provider whispers has been held against the rules of that very moment; where it has nothing legal to say, that is said.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from edgeworth import catalog
from edgeworth.agents.hints.bayes import BOOKS
from edgeworth.agents.hints.llm import LanguageModelHints
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption, ModelUnavailable
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import Context, Triple
from edgeworth.games.bargaining.hints import Hint, HintProvider
from edgeworth.games.bargaining.talks import Move
from edgeworth.games.bargaining.told_talks import told_talks
from edgeworth.protocol import Reason, Rejection
from edgeworth.server.desk import Watcher
from edgeworth.server.desks import Desks
from edgeworth.server.live import LiveBargaining, opening_of
from edgeworth.server.model_process import Apart, ModelProcess
from edgeworth.server.settings import DeskLimits

WRITES = "llm"
MOST_GAMES = 256
"""Sets of rules whose plans are remembered; clients can name any number of them."""
SOMEBODY = (1, 1, 1)
"""Utilities of a partner that nobody looks at: a batch cannot be without any."""


@dataclass(frozen=True)
class Situation:
    """A moment as a client tells it; the next move is the agent's."""

    counts: Triple
    my_utilities: Triple
    history: tuple[Move, ...]
    partner_utilities: Triple | None
    options: Mapping[str, Any]

    def batch(self) -> BargainingBatch:
        """The moment as a batch of one, by the rules of the game that the options name."""
        options = dict(opening_of("bargaining", self.options, 0).options)
        config = BargainingConfig.from_options(options.pop("scenario", None), **options)
        if config.reveal_partner_utilities and self.partner_utilities is None:
            raise InvalidOption("reveal_partner_utilities shows what the situation does not tell; add partner_utilities.")
        context = Context(self.counts, self.my_utilities, self.partner_utilities or SOMEBODY)
        largest = max(*context.counts, BargainingBatch(config, 1).max_count)
        return told_talks(dataclasses.replace(config, max_count=largest), context, self.history)


def moment_of(live: LiveBargaining) -> BargainingBatch:
    """A copy of where the talks of a session stand."""
    return live.env.batch.selected(live.env.batch.everybody)


class HintQuestion(NamedTuple):
    """A moment: one that is there already, or one that is still to be built."""

    moment: BargainingBatch | Situation

    def batch(self) -> BargainingBatch:
        """The moment as a batch of one."""
        return self.moment.batch() if isinstance(self.moment, Situation) else self.moment


class Hinted(NamedTuple):
    """What a provider said of a moment."""

    hint: Hint | None
    rejection: Rejection | None = None
    """Why there is no hint, where one was tried."""
    model: str | None = None


def together(batches: Sequence[BargainingBatch]) -> BargainingBatch:
    """Copies of moments under the same rules, side by side."""
    whole = batches[0].over(np.concatenate([batch.state for batch in batches]))
    whole.views[:] = np.concatenate([batch.views for batch in batches])
    whole.masks[:] = np.concatenate([batch.masks for batch in batches])
    return whole


class HintWorker:
    """A provider at its desk."""

    def __init__(self, name: str, client: Apart | None = None, options: Mapping[str, Any] | None = None) -> None:
        """For a language model: `client` is one in a process of its own, or `options` name one elsewhere."""
        self.name, self.client, self.options = name, client, dict(options or {})
        self.provider: HintProvider | None = None
        self._games: set[str] = set()

    @property
    def loaded(self) -> bool:
        """Whether it can answer at once."""
        return self.provider is not None and (self.client is None or self.client.process.loaded)

    def load(self) -> None:
        """Open the provider, and load its model where it has one."""
        if self.provider is None:
            given = {"client": self.client} if self.client is not None else self.options
            self.provider = catalog.resolve("hint provider", self.name)(**given)
        if isinstance(self.provider, LanguageModelHints):
            self.provider.asked.check()

    def answer(self, questions: Sequence[HintQuestion], stop_at: float) -> list[Hinted | Exception]:
        """A hint, or why there is none, for every moment; those under the same rules are one batch."""
        if self.client is not None:
            self.client.stop_at = stop_at
        answers: list[Hinted | Exception] = [ModelUnavailable("dropped", "Not asked.")] * len(questions)
        groups: dict[tuple[str, bytes], list[tuple[int, BargainingBatch]]] = {}
        for place, question in enumerate(questions):
            try:
                batch = question.batch()
            except Exception as error:
                answers[place] = error
            else:
                groups.setdefault((repr(batch.config), batch.rules.tobytes()), []).append((place, batch))
        self._remember({game for game, _ in groups})
        for group in groups.values():
            for (place, _), answer in zip(group, self._given([batch for _, batch in group]), strict=True):
                answers[place] = answer
        return answers

    def _remember(self, games: set[str]) -> None:
        """Forget all plans when there are those of too many games."""
        self._games |= games
        if len(self._games) > MOST_GAMES and self.client is None:
            self._games, self.provider = set(games), None
            BOOKS.clear()
            self.load()

    def _given(self, batches: Sequence[BargainingBatch]) -> Sequence[Hinted | Exception]:
        assert self.provider is not None
        whole = together(batches)
        try:
            self.provider.check(whole)
            hints = self.provider.give(whole, whole.everybody)
        except Exception as error:
            return [error] * len(batches)
        model = self.provider.asked.name if isinstance(self.provider, LanguageModelHints) else None
        return [self._said(hints.at(slot), hints.rejections.get(slot), model) for slot in range(len(batches))]

    def _said(self, hint: Hint | None, rejection: Rejection | None, model: str | None) -> Hinted | Exception:
        if rejection is not None and rejection.reason is Reason.NO_REPLY and model is not None:
            return ModelUnavailable("dropped", rejection.sentence)
        return Hinted(hint, rejection, model)

    def close(self) -> None:
        """Let go of connections; a process is let go of by whoever started it."""
        if isinstance(self.provider, LanguageModelHints):
            self.provider.close()


class HintDesks(Desks[HintQuestion, Hinted]):
    """A desk for every hint provider."""

    def __init__(
        self,
        limits: DeskLimits | None = None,
        watcher: Watcher | None = None,
        process: ModelProcess | None = None,
        model_options: Mapping[str, Any] | None = None,
    ) -> None:
        """As those of designers; the process may be the same."""
        workers = {name: HintWorker(name) for name in catalog.names("hint provider")}
        workers[WRITES] = HintWorker(WRITES, None if process is None else Apart(process), model_options)
        super().__init__("hint provider", workers, WRITES, limits, watcher, "hints ")
