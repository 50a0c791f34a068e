"""Designers behind the server: who can be asked for a mechanism, and a desk before each.

Offered are those that need not know more than a client can show. `oracle` and `told_stage` would have to be told the truth, `fixed` and
`schedule` are what the client could post anyway. A designer answers for itself or fails: nobody stands in for it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from edgeworth import catalog
from edgeworth.agents.designers.adaptive import Adaptive
from edgeworth.agents.designers.designer import Designer
from edgeworth.agents.designers.language_model import Answer, LanguageModel
from edgeworth.agents.questions import LOCAL_CLIENTS, client_name
from edgeworth.config import AuctionConfig
from edgeworth.errors import ModelUnavailable
from edgeworth.games.auction.action import DaedalusAction, action_of
from edgeworth.games.auction.market_view import MarketView
from edgeworth.llm.client import Completion, Failure
from edgeworth.protocol import Rejection
from edgeworth.seeding import generator
from edgeworth.server.design_questions import DesignQuestion
from edgeworth.server.desk import Watcher, Worker
from edgeworth.server.desks import Desks
from edgeworth.server.model_process import Apart, ModelProcess
from edgeworth.server.refusals import Refused
from edgeworth.server.settings import DeskLimits

LEARNS, WRITES = "adaptive", "language_model"
OFFERED = (LEARNS, "best_constant", "informed_greedy", WRITES, "uniform")


class Designed(NamedTuple):
    """A mechanism and what is to be said of it."""

    mechanism: DaedalusAction
    assumed: tuple[str, ...] = ()
    """What the designer did not know, and what it went by instead."""
    confidence: float | None = None
    """The chance that the designer itself gives this very mechanism, where it has one."""
    model: str | None = None


class PlainWorker:
    """A designer that needs no model: it looks at what is known now, in microseconds."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.designer: Designer | None = None

    @property
    def loaded(self) -> bool:
        """Whether it can answer at once."""
        return self.designer is not None

    def load(self) -> None:
        """Read what it needs."""
        self.designer = catalog.resolve("designer", self.name)()

    def answer(self, questions: Sequence[DesignQuestion], stop_at: float) -> list[Designed | Exception]:
        """A mechanism for every market, each by itself."""
        answers: list[Designed | Exception] = []
        for question in questions:
            try:
                answers.append(self.designed(question))
            except Exception as error:
                answers.append(error)
        return answers

    def designed(self, question: DesignQuestion) -> Designed:
        """The mechanism for one market; chance is that of the market's seed and step."""
        assert self.designer is not None
        seed = int(generator(question.seed, question.round_number).integers(2**62))
        self.designer.begin(AuctionConfig(n_agents=question.bidders, episode_length=question.episode_length), 1, seed)
        return Designed(action_of(self.designer.design(question.view())[0]), self.designer.assumed)

    def close(self) -> None:
        """Nothing to let go of."""


class LearningWorker(PlainWorker):
    """The adaptive designer: looks at the first steps of an episode, in order, under the mechanisms that were really in force."""

    def designed(self, question: DesignQuestion) -> Designed:
        """What it would post now; where the steps are not known, what it would post without having learned anything."""
        designer = self.designer
        assert isinstance(designer, Adaptive)
        designer.prepare(question.bidders)
        trail = question.trail(1 + max(step for step, _ in designer.revisions))
        if trail is None:
            return self._unlearned(designer, question)
        designer.begin(AuctionConfig(n_agents=question.bidders, episode_length=question.episode_length), 1, question.seed)
        foreign = []
        for view in trail[1:]:
            place = self._place(designer, view)
            if place is None:
                foreign.append(view.round_number)
                continue
            designer.in_force = np.array([place])
            designer.design(view)
        chosen = int(designer.forecast[0].argmax()) if designer.forecast.any() else designer.probe
        said = [*designer.assumed, *([] if question.n_agents is not None else question.unknown()[:1])]
        if foreign:
            steps = ", ".join(map(str, foreign))
            said.append(f"step {steps}: played under mechanisms that are not in its library, so nothing was learned from them")
        return Designed(action_of(designer.library[chosen]), tuple(said))

    def _place(self, designer: Adaptive, view: MarketView) -> int | None:
        """Which mechanism of the library was in force, if it was one."""
        same = np.flatnonzero(designer.library == view.mechanisms[0])
        return int(same[0]) if same.size else None

    def _unlearned(self, designer: Adaptive, question: DesignQuestion) -> Designed:
        place = None if question.mechanism is None else self._place(designer, question.view())
        posts = "the mechanism in force stays" if place is not None else "it posts what does well in markets that it knows nothing of"
        said = f"earlier steps: not known, so it learned nothing from them and {posts}; with a session_id it sees them"
        return Designed(action_of(designer.library[designer.probe if place is None else place]), (said, *designer.assumed))


class ModelWorker:
    """The language model designer: all questions that came together are one batch."""

    def __init__(self, client: Apart | None, options: Mapping[str, Any]) -> None:
        """`client` is a model in a process of its own; without one, `options` name a model elsewhere."""
        self.client, self.options = client, dict(options)
        self.designer: LanguageModel | None = None
        self._is_checked = False

    @property
    def loaded(self) -> bool:
        """Whether it can answer at once."""
        return self._is_checked if self.client is None else self.designer is not None and self.client.process.loaded

    def load(self) -> None:
        """Load the model, or see that it can be asked."""
        if self.designer is None:
            designer = LanguageModel(**({"client": self.client} if self.client is not None else self.options))
            designer.sampling = dataclasses.replace(designer.sampling, logprobs=self.client is not None)
            self.designer = designer
        self.designer.client.check()
        self._is_checked = True

    def answer(self, questions: Sequence[DesignQuestion], stop_at: float) -> list[Designed | Exception]:
        """What the model writes for every market, judged."""
        assert self.designer is not None
        if self.client is not None:
            self.client.stop_at = stop_at
        answers = self.designer.ask([question.variables() for question in questions])
        return [self._judged(question, answer) for question, answer in zip(questions, answers, strict=True)]

    def _judged(self, question: DesignQuestion, answer: Answer) -> Designed | Exception:
        if isinstance(answer.reply, Failure):
            return ModelUnavailable(answer.reply.reason, answer.reply.message)
        if isinstance(answer.judgement, Rejection):
            reason, sentence = answer.judgement.reason.value, answer.judgement.sentence
            message = f"The model wrote no legal mechanism ({reason}): {sentence}"
            return Refused(502, "no_mechanism", message, "Ask again, or ask another designer.", who=WRITES, reason=reason)
        return Designed(answer.judgement.value, tuple(question.unknown()), confidence(answer.reply), answer.reply.model or None)

    def close(self) -> None:
        """Let go of connections; a process is let go of by whoever started it."""
        if self.designer is not None:
            self.designer.close()


def confidence(reply: Completion) -> float | None:
    """The chance that the model gives to its whole reply among all that it was allowed to write, where it was told."""
    return None if reply.logprobs is None else math.exp(sum(token.logprob for token in reply.logprobs))


def own_process(options: Mapping[str, Any]) -> ModelProcess | None:
    """A process for the model that these options name, where it is one that would run here."""
    name = client_name(options.get("client"), options.get("model"))
    if name not in LOCAL_CLIENTS:
        return None
    return ModelProcess(name, {key: value for key, value in options.items() if key != "client"})


class DesignerDesks(Desks[DesignQuestion, Designed]):
    """A desk for every designer on offer."""

    def __init__(
        self,
        default: str = LEARNS,
        limits: DeskLimits | None = None,
        watcher: Watcher | None = None,
        process: ModelProcess | None = None,
        model_options: Mapping[str, Any] | None = None,
    ) -> None:
        """`process` runs the language model; without one, `model_options` name a model elsewhere."""
        workers: dict[str, Worker[DesignQuestion, Designed]] = {name: PlainWorker(name) for name in OFFERED}
        workers[LEARNS] = LearningWorker(LEARNS)
        workers[WRITES] = ModelWorker(None if process is None else Apart(process), model_options or {})
        super().__init__("designer", workers, WRITES, limits, watcher)
        self.default = self.checked(default)
