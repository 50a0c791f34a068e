"""Designers behind the server: a market as a request describes it, and the workers that design for it.

A description may leave things out. What was not given stays unknown: it is not zero, and a designer that would have used it says in
`assumed` what it did without. Only designers that need no more than a client can show are offered: `oracle` and `told_stage` need the
truth, `fixed` and `schedule` are what the client could post anyway.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from edgeworth import catalog
from edgeworth.agents.designers.adaptive import Adaptive
from edgeworth.agents.designers.design_prompt import design_variables
from edgeworth.agents.designers.designer import Designer
from edgeworth.agents.designers.language_model import LanguageModel
from edgeworth.agents.questions import Answer
from edgeworth.config import AuctionConfig
from edgeworth.envs.daedalus_spaces import action_from
from edgeworth.errors import ModelUnavailable
from edgeworth.games.auction.action import FIELDS, DaedalusAction, action_of, row_values
from edgeworth.games.auction.market_view import RECENT_STEPS, MarketView
from edgeworth.games.auction.state import PROXIES, SCORES
from edgeworth.llm.client import Completion, Failure
from edgeworth.llm.prompt import NOTHING
from edgeworth.protocol import Rejection
from edgeworth.seeding import generator
from edgeworth.server.live import LiveAuction
from edgeworth.server.model_process import ModelProcess, ProcessClient
from edgeworth.server.model_queue import Worker
from edgeworth.server.refusals import Refused

ADAPTIVE, LANGUAGE_MODEL = "adaptive", "language_model"
OFFERED = (ADAPTIVE, "best_constant", "informed_greedy", LANGUAGE_MODEL, "uniform")
USUAL_BIDDERS = AuctionConfig().n_agents
Numbers = tuple[float, ...]


class Steps(NamedTuple):
    """What is known of consecutive steps of a market, oldest first; the three parts may differ in length and then end together."""

    outcomes: tuple[Numbers, ...] = ()
    proxies: tuple[Numbers, ...] = ()
    mechanisms: tuple[DaedalusAction, ...] = ()

    def part(self, steps: slice) -> Steps:
        """Some of the steps."""
        return Steps(self.outcomes[steps], self.proxies[steps], self.mechanisms[steps])

    def view(self, round_number: int, config: AuctionConfig) -> MarketView:
        """The market after these steps as designers see it; zeros where nothing is known."""
        recent = [np.zeros((1, RECENT_STEPS, len(names))) for names in (SCORES, PROXIES, FIELDS)]
        rows = self.outcomes, self.proxies, tuple(map(row_values, self.mechanisms))
        for shown, known in zip(recent, rows, strict=True):
            if known:
                shown[0, -len(known) :] = known
        return MarketView(round_number, config.episode_length, config.n_agents, *recent)


def steps_of(outcomes: Iterable[Any], proxies: Iterable[Any], mechanisms: Iterable[Any]) -> Steps:
    """Steps in plain JSON: outcomes and proxies by name or as rows in order, mechanisms in words or numbers."""
    scores, seen = (tuple(_row(values, names) for values in rows) for rows, names in ((outcomes, SCORES), (proxies, PROXIES)))
    return Steps(scores, seen, tuple(action_from(mechanism) for mechanism in mechanisms))


def _row(values: Any, names: tuple[str, ...]) -> Numbers:
    return tuple(values[name] for name in names) if isinstance(values, Mapping) else tuple(values)


@dataclass(frozen=True)
class KnownMarket:
    """A market before its next step, as far as it is known."""

    round_number: int
    episode_length: int
    n_agents: int | None
    recent: Steps
    """The last steps."""
    first: Steps
    """The first steps, where they are known without gaps."""
    seed: int
    """For designers that draw."""

    def config(self) -> AuctionConfig:
        """The market's options that a designer may know; the usual number of bidders where none is given."""
        n_agents = USUAL_BIDDERS if self.n_agents is None else self.n_agents
        return AuctionConfig(n_agents=n_agents, episode_length=self.episode_length)

    def unknown(self) -> list[str]:
        """What is missing of an observation, and what a designer assumes instead."""
        played = self.round_number > 0
        missing = {
            f"n_agents: not given, taken to be {USUAL_BIDDERS}": self.n_agents is None,
            "market_outcomes: not given for the last step, unknown to the designer": played and not self.recent.outcomes,
            "population_proxies: not given, unknown to the designer": played and not self.recent.proxies,
            "current_mechanism: not given, unknown to the designer": played and not self.recent.mechanisms,
        }
        return [name for name, is_missing in missing.items() if is_missing]

    def view(self) -> MarketView:
        """The market as designers see it."""
        return self.recent.view(self.round_number, self.config())

    def first_views(self, most: int) -> list[MarketView] | None:
        """The market after each of its first steps, at most so many; None where they are not known."""
        steps = min(self.round_number, most)
        if min(map(len, self.first)) < steps:
            return None
        return [self.first.part(slice(played)).view(played, self.config()) for played in range(1, steps + 1)]

    def variables(self) -> dict[str, str]:
        """The market as prompt variables; `none` where something is unknown."""
        outcomes, proxies, mechanisms = self.recent
        observation = {
            "round_number": self.round_number,
            "episode_length": self.episode_length,
            "n_agents": self.config().n_agents,
            "market_outcomes": outcomes or ((0.0,) * len(SCORES),),
            "population_proxies": proxies[-1] if proxies else (0.0,) * len(PROXIES),
            "current_mechanism": mechanisms[-1] if mechanisms else np.zeros(len(FIELDS)),
        }
        known = {"outcomes_csv": outcomes, "proxies_csv": proxies, "current_mechanism_json": mechanisms}
        return design_variables(observation) | {name: NOTHING for name, value in known.items() if not value}


def market_in(live: LiveAuction, seed: int) -> KnownMarket:
    """The market of a session, about which everything is known."""
    first = steps_of(*zip(*live.first, strict=True)) if live.first else Steps()
    recent = steps_of(*zip(*live.recent, strict=True)) if live.recent else Steps()
    return KnownMarket(live.steps, live.markets.config.episode_length, live.markets.config.n_agents, recent, first, seed)


def market_described(observation: Mapping[str, Any], seed: int) -> KnownMarket:
    """The market that a client describes by parts of an observation; what contradicts itself is refused."""
    round_number, length = observation["round_number"], observation["episode_length"]
    if round_number >= length:
        message = f"round_number is {round_number} of {length}; expected a step that is still to come, 0 to {length - 1}."
        raise Refused(409, "episode_over", message, "Open the next episode with POST /reset.", "round_number")
    names = ("market_outcomes", "recent_proxies", "recent_mechanisms")
    known = steps_of(*(observation.get(name) or () for name in names))
    for name, steps in zip(names, known, strict=True):
        if len(steps) > round_number:
            message = f"{name} has {len(steps)} steps, but round_number says that {round_number} have been played."
            raise Refused(409, "contradiction", message, "Send both as the last observation has them.", name)
    proxies, mechanism = observation.get("population_proxies"), observation.get("current_mechanism")
    last = steps_of((), () if proxies is None else (proxies,), () if mechanism is None else (mechanism,))
    if round_number:  # before the first step both are checked too, but belong to no step
        known = Steps(
            known.outcomes,
            _ending_in(last.proxies, known.proxies, "population_proxies", "recent_proxies"),
            _ending_in(last.mechanisms, known.mechanisms, "current_mechanism", "recent_mechanisms"),
        )
    recent = known.part(slice(-RECENT_STEPS, None))
    first = recent if min(map(len, recent)) == round_number else Steps()
    return KnownMarket(round_number, length, observation.get("n_agents"), recent, first, seed)


def _ending_in(last: tuple[Any, ...], steps: tuple[Any, ...], name: str, recent_name: str) -> tuple[Any, ...]:
    """The known steps, whose last one may also, or only, be given by itself."""
    if last and steps and steps[-1:] != last:
        message = f"{name} is not the last of {recent_name}, which tell of the same step."
        raise Refused(409, "contradiction", message, "Send both as the last observation has them, or one of them.", name)
    return steps or last


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
    return workers | {ADAPTIVE: AdaptiveWorker(ADAPTIVE), LANGUAGE_MODEL: ModelWorker(process)}
