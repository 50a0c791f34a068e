"""Designers behind the server: the workers that design for a market as far as it is known.

A designer that would have used something unknown says in `assumed` what it did without. Only designers that need no more than a client can
show are offered: `oracle` and `told_stage` need the truth, `fixed` and `schedule` are what the client could post anyway.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth import catalog
from edgeworth.agents.designers.adaptive import Adaptive
from edgeworth.agents.designers.designer import Designer
from edgeworth.agents.designers.language_model import LanguageModel
from edgeworth.agents.questions import Answer
from edgeworth.envs.daedalus_features import scales
from edgeworth.errors import ModelUnavailable
from edgeworth.games.auction.action import DaedalusAction, action_of, row_values
from edgeworth.games.auction.batch import Rows
from edgeworth.games.auction.market_view import RECENT_STEPS, MarketView, mechanism_table
from edgeworth.games.auction.state import PROXIES, SCORES
from edgeworth.llm.client import Completion, Failure
from edgeworth.protocol import Rejection
from edgeworth.seeding import generator
from edgeworth.server.known_markets import KnownMarket, Steps
from edgeworth.server.model_process import ModelProcess, ProcessClient
from edgeworth.server.model_queue import Worker
from edgeworth.server.refusals import Refused

ADAPTIVE, LANGUAGE_MODEL, POLICY = "adaptive", "language_model", "policy"
PARTICIPATION, ENTRANTS = SCORES.index("participation_rate"), PROXIES.index("entrants")
REPLAYED_STEPS = 50
"""As many known steps the policy goes back to find out which mechanisms it posted itself."""
OFFERED = (ADAPTIVE, "best_constant", "informed_greedy", LANGUAGE_MODEL, POLICY, "uniform")


class Design(NamedTuple):
    """A designer's answer."""

    mechanism: DaedalusAction
    assumed: tuple[str, ...] = ()
    """What the designer did not know, and what it assumed instead."""
    confidence: float | None = None
    """The probability that a language model gives to this mechanism."""
    model: str | None = None


class DesignerWorker(Worker[KnownMarket, Design]):
    """A designer without a model: it looks at what is known now, in microseconds."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.designer: Designer | None = None

    @property
    def loaded(self) -> bool:
        return self.designer is not None

    def load(self) -> None:
        self.designer = catalog.resolve("designer", self.name)()

    def answer(self, batch: Sequence[KnownMarket], stop_at: float) -> list[Design | Exception]:
        answers: list[Design | Exception] = []
        for market in batch:
            try:
                answers.append(self.design(market))
            except Exception as error:
                answers.append(error)
        return answers

    def design(self, market: KnownMarket) -> Design:
        """The mechanism for one market; random draws depend on the market's seed and step alone."""
        assert self.designer is not None
        seed = int(generator(market.seed, market.round_number).integers(2**62))
        self.designer.begin(market.config(), 1, seed)
        return Design(action_of(self.designer.design(market.view())[0]), self.designer.assumed)


class AdaptiveWorker(DesignerWorker):
    """The adaptive designer: learns from the first steps of an episode, under the mechanisms that were in force."""

    def design(self, market: KnownMarket) -> Design:
        """Its next mechanism; where the first steps are unknown, the one it would post without having learned anything."""
        designer = self.designer
        assert isinstance(designer, Adaptive)
        designer.begin(market.config(), 1, market.seed)
        views = market.first_views(1 + max(step for step, _ in designer.revisions))
        if views is None:
            return self._unlearned(designer, market)
        foreign = []
        for view in views:
            place = self._place(designer, view)
            if place is None:
                foreign.append(view.round_number)
                continue
            designer.in_force = np.array([place])
            designer.design(view)
        chosen = int(designer.forecast[0].argmax()) if designer.forecast.any() else designer.probe
        assumed = [*designer.assumed, *([] if market.n_agents is not None else market.unknown()[:1])]
        if foreign:
            steps = ", ".join(map(str, foreign))
            assumed.append(f"step {steps}: played under mechanisms that are not in its library, so nothing was learned from them")
        return Design(action_of(designer.library[chosen]), tuple(assumed))

    def _place(self, designer: Adaptive, view: MarketView) -> int | None:
        """The place in the library of the mechanism that was in force."""
        same = np.flatnonzero(designer.library == view.mechanisms[0])
        return int(same[0]) if same.size else None

    def _unlearned(self, designer: Adaptive, market: KnownMarket) -> Design:
        place = self._place(designer, market.view()) if market.recent.mechanisms else None
        posts = "the mechanism in force stays" if place is not None else "it posts what does well in markets that it knows nothing of"
        assumed = f"earlier steps: not known, so it learned nothing from them and {posts}; with a session_id it sees them"
        return Design(action_of(designer.library[designer.probe if place is None else place]), (assumed, *designer.assumed))


class PolicyWorker(DesignerWorker):
    """The trained network, which sees the last steps whole; what is not known of them is filled in.

    Scores and proxies are those of an average market, where the network reads 0. A client that describes a market has usually posted what
    it was told here, so mechanisms that are not given are those that the network itself posts, from the first known step on.
    """

    def design(self, market: KnownMarket) -> Design:
        """Its mechanism after the steps that are known."""
        assert self.designer is not None
        known, config, designer = market.known.part(slice(-REPLAYED_STEPS, None)), market.config(), self.designer
        steps = max(*map(len, known), min(market.round_number, RECENT_STEPS))
        scores, proxies = np.split(np.tile(scales()[0], (RECENT_STEPS + steps, 1)), [len(SCORES)], axis=1)
        _end_with(scores, known.outcomes)
        proxies[:, ENTRANTS] = scores[:, PARTICIPATION] * config.n_agents
        _end_with(proxies, known.proxies)
        opening = mechanism_table(designer.design(Steps().view(0, config)))
        mechanisms = np.tile(opening, (RECENT_STEPS + steps, 1))
        _end_with(mechanisms, [row_values(mechanism) for mechanism in known.mechanisms])

        def posted(step: int) -> Rows:
            lines = (part[None, step : step + RECENT_STEPS] for part in (scores, proxies, mechanisms))
            return designer.design(MarketView(market.round_number - steps + step, config.episode_length, config.n_agents, *lines))

        for step in range(steps - len(known.mechanisms)):
            mechanisms[RECENT_STEPS + step] = mechanism_table(posted(step))[0]
        mechanism = action_of(posted(steps)[0])
        return Design(mechanism, (*self._filled_in(market), *designer.assumed))

    def _filled_in(self, market: KnownMarket) -> list[str]:
        played, (outcomes, proxies, mechanisms) = min(market.round_number, RECENT_STEPS), market.recent
        instead = {
            "market_outcomes": (outcomes, "average ones"),
            "recent_proxies": (proxies, "average ones, with entrants by the participation rate,"),
            "recent_mechanisms": (mechanisms, "its own"),
        }
        said = [
            f"{name}: given for {len(given)} of {played} recent steps; {others} are assumed for the rest"
            for name, (given, others) in instead.items()
            if len(given) < played
        ]
        return [*([] if market.n_agents is not None else market.unknown()[:1]), *said]


def _end_with(rows: NDArray[np.float64], known: Sequence[Sequence[float]]) -> None:
    """Write the known rows over the last ones."""
    if known:
        rows[-len(known) :] = known


class ModelWorker(Worker[KnownMarket, Design]):
    """The language model designer: a batch of requests is one batch of prompts."""

    gathers = True

    def __init__(self, process: ModelProcess) -> None:
        self.client = ProcessClient(process)
        self.designer = LanguageModel(client=self.client)
        self.designer.sampling = dataclasses.replace(self.designer.sampling, logprobs=True)

    @property
    def loaded(self) -> bool:
        return self.client.process.loaded

    def load(self) -> None:
        self.client.check()

    def answer(self, batch: Sequence[KnownMarket], stop_at: float) -> list[Design | Exception]:
        self.client.stop_at = stop_at
        answers = self.designer.ask([market.variables() for market in batch])
        return [self._judged(market, answer) for market, answer in zip(batch, answers, strict=True)]

    def _judged(self, market: KnownMarket, answer: Answer[DaedalusAction]) -> Design | Exception:
        if isinstance(answer.reply, Failure):
            return ModelUnavailable(answer.reply.reason, answer.reply.message)
        if isinstance(answer.verdict, Rejection):
            reason, sentence = answer.verdict.reason.value, answer.verdict.sentence
            message = f"The model wrote no legal mechanism ({reason}): {sentence}"
            return Refused(502, "no_mechanism", message, "Ask again, or ask another designer.", who=LANGUAGE_MODEL, reason=reason)
        assumed = (*market.unknown(), *self.designer.outside_training(market.config()))
        return Design(answer.verdict, assumed, confidence(answer.reply), answer.reply.model or None)


def confidence(reply: Completion) -> float | None:
    """The probability that the model gives to its reply among all that it was allowed to write, where it reports any."""
    return None if reply.logprobs is None else math.exp(sum(token.logprob for token in reply.logprobs))


def designer_workers(process: ModelProcess) -> dict[str, Worker[KnownMarket, Design]]:
    """A worker for every designer on offer; `process` runs the language model."""
    workers: dict[str, Worker[KnownMarket, Design]] = {name: DesignerWorker(name) for name in OFFERED}
    return workers | {ADAPTIVE: AdaptiveWorker(ADAPTIVE), LANGUAGE_MODEL: ModelWorker(process), POLICY: PolicyWorker(POLICY)}
