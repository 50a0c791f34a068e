"""What hints are worth: seeded episodes in which the agent follows the hint at every move.

Where there is no hint, or it was rejected, the agent plays as `agree_first`: AGREE where it can, else ask for everything. All providers
play the same seeds. Three questions are answered for each:

- *Is it legal?* Hints given over hints requested, and why the others were not.
- *Is it what the plan says?* The Bayes plan is asked at the same moments: same act; same act and share; and `value_kept`, what the hinted
  moves are worth to an agent that keeps to the plan afterwards, over what the plan's own are (`plan_values.py`). Over the hints given.
- *What does following it earn?* Σ reward / Σ maximum, and Σ reward over that of the plan followed on the same episodes.

Rates and ratios are those of sums over episodes, with intervals from resampling episodes. The cost of a language model is counted by
replies: every different prompt of a batch once, with the tokens and seconds of its first answer, cached or not.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.hints.bayes import Bayes
from edgeworth.agents.hints.llm import Consultation, LanguageModelHints, laid_out
from edgeworth.agents.negotiators.negotiator import Moves
from edgeworth.agents.negotiators.scripted import AgreeFirst
from edgeworth.config import BargainingConfig
from edgeworth.errors import FallbackUsed, InvalidOption, UnknownName
from edgeworth.evaluation.episodes import Episodes, consecutive, play_seeds, seeds_with
from edgeworth.evaluation.plan_values import PlanValues
from edgeworth.evaluation.statistics import Estimate, ratio, ratio_or_none
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.blind_plan import check_silent_partner
from edgeworth.games.bargaining.contexts import triple_of
from edgeworth.games.bargaining.hints import HintProvider, Hints
from edgeworth.games.bargaining.vocabulary import ONGOING
from edgeworth.llm.client import QUANTILES, Completion, quantile
from edgeworth.progress import Progress, silent
from edgeworth.training.pocket_games import held_out

BATCH = 256
"""Episodes played side by side, whose prompts are asked in one call."""
CONTEXTS = ("all", "held_out")
QUANTITY = (
    "legality: hints given / requested; same_act, same_move, value_kept: over the hints given, against the Bayes plan at the same moment;"
    " share_of_maximum: sum of rewards / sum of the agent's maxima, the hint followed at every move; over_bayes: sum of rewards / that of"
    " the Bayes plan on the same episodes; 95 % bootstrap intervals over episodes"
)
WITHOUT_HINT = "agree_first: AGREE where possible, else ask for everything"

FREE_TEMPERATURE = 1.0
"""The temperature of a model that is asked without constraints."""


@dataclass(frozen=True)
class Adviser:
    """A provider under a name for tables."""

    name: str
    provider: HintProvider
    prompt: str | None = None
    """The file of its prompt, where it has one."""

    @property
    def model(self) -> str | None:
        """The language model that it asks, where it asks one."""
        return self.provider.asked.name if isinstance(self.provider, LanguageModelHints) else None


@dataclass(frozen=True)
class Cost:
    """What was asked of a language model."""

    replies: int = 0
    """Prompts that were asked, each different one of a batch once."""
    distinct_prompts: int = 0
    """Different prompts over all batches."""
    cached: int = 0
    prompt_tokens: float | None = None
    """Tokens per reply that came."""
    completion_tokens: float | None = None
    latency: dict[str, float] = field(default_factory=dict)
    """Seconds per reply that came, by quantile."""


@dataclass(frozen=True)
class HintMeasure:
    """One adviser on one scenario."""

    adviser: str
    model: str | None
    prompt: str | None
    episodes: int
    asked: int
    given: int
    without_hint: int
    """Moves that were made without a hint."""
    legality: Estimate
    same_act: Estimate | None
    same_move: Estimate | None
    value_kept: Estimate | None
    share_of_maximum: Estimate
    over_bayes: Estimate | None
    rejections: dict[str, int]
    cost: Cost
    notes: tuple[str, ...] = ()
    """Fallbacks that were used, and why something could not be measured."""


def choose_seeds(config: BargainingConfig, contexts: str, episodes: int, seed: int) -> NDArray[np.int64]:
    """The seeds to play: consecutive ones, or those whose context the pocket model never saw in training."""
    if contexts not in CONTEXTS:
        raise UnknownName("kind of contexts", contexts, CONTEXTS)
    if contexts == "held_out":
        return seeds_with(config, held_out, episodes, seed)
    return consecutive(seed, episodes)


def measure_hints(
    config: BargainingConfig, advisers: Sequence[Adviser], seeds: NDArray[np.int64], progress: Progress = silent
) -> list[HintMeasure]:
    """What the hints of every adviser are worth on these seeds."""
    plan, why_none = _plan_for(config)
    values = None if plan is None else PlanValues(config)
    by_plan = None if plan is None else _follow(config, Adviser("the plan", plan), None, None, seeds, progress).episodes
    notes = () if why_none is None else (why_none,)
    measures = []
    for adviser in advisers:
        with _noting_fallbacks() as fallbacks:
            adviser.provider.check(BargainingBatch(config, 1))
            followed = _follow(config, adviser, plan, values, seeds, progress)
        measures.append(_measured(adviser, followed, by_plan, (*fallbacks, *notes)))
    return measures


@contextmanager
def _noting_fallbacks() -> Iterator[list[str]]:
    """Collects the messages of fallbacks; other warnings are raised again at the end."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    for warning in caught:
        if issubclass(warning.category, FallbackUsed):
            notes.append(str(warning.message))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def _plan_for(config: BargainingConfig) -> tuple[Bayes | None, str | None]:
    """The plan that hints are compared with, or why there is none."""
    try:
        check_silent_partner(BargainingBatch(config, 1))
    except InvalidOption as error:
        return None, f"No comparison with the Bayes plan: {error}"
    return Bayes(), None


class Tally:
    """What happened in a batch of episodes, by episode."""

    def __init__(self, size: int) -> None:
        self.asked, self.given, self.compared = np.zeros(size), np.zeros(size), np.zeros(size)
        self.same_act, self.same_move = np.zeros(size), np.zeros(size)
        self.hint_value, self.plan_value = np.zeros(size), np.zeros(size)
        self.rejections: Counter[str] = Counter()
        self.consultations: list[Consultation] = []


class Follower:
    """A negotiator that follows the hints and keeps a tally."""

    knows_partner: ClassVar[bool] = False

    def __init__(self, provider: HintProvider, plan: Bayes | None, values: PlanValues | None, size: int) -> None:
        self.provider, self.plan, self.values = provider, plan, values
        self.tally = Tally(size)

    def choose(self, batch: BargainingBatch) -> Moves:
        due = batch.state["outcome"] == ONGOING
        hints = self._hints(batch, due)
        tally = self.tally
        tally.asked += due
        tally.given += hints.given
        tally.rejections.update(rejection.reason.value for rejection in hints.rejections.values())
        if self.plan is not None:
            self._compare(batch, hints, self.plan.give(batch, due))
        acts, shares = AgreeFirst().choose(batch)
        return np.where(hints.given, hints.acts, acts), np.where(hints.given[:, None], hints.shares, shares)

    def _hints(self, batch: BargainingBatch, due: NDArray[np.bool_]) -> Hints:
        if not isinstance(self.provider, LanguageModelHints):
            return self.provider.give(batch, due)
        consulted = self.provider.consult(batch, due)
        self.tally.consultations += {id(each): each for each in consulted}.values()
        return laid_out(batch, due, consulted)

    def _compare(self, batch: BargainingBatch, hints: Hints, planned: Hints) -> None:
        """Compare every hint with the plan's move at the same moment."""
        tally, both = self.tally, hints.given & planned.given
        same_act = both & (hints.acts == planned.acts)
        tally.compared += both
        tally.same_act += same_act
        tally.same_move += same_act & (hints.shares == planned.shares).all(axis=1)
        if self.values is not None:
            for sums, source in ((tally.hint_value, hints), (tally.plan_value, planned)):
                acts, shares = source.acts, source.shares
                for slot in np.flatnonzero(both).tolist():
                    sums[slot] += self.values.value(batch, slot, (int(acts[slot]), triple_of(shares[slot])))


@dataclass(frozen=True)
class Followed:
    """Episodes that were played by hints, and the tallies of their batches."""

    episodes: Episodes
    tallies: tuple[Tally, ...]

    def by_episode(self, name: str) -> NDArray[np.float64]:
        """One of the tallies' columns over all episodes."""
        return np.concatenate([getattr(tally, name) for tally in self.tallies])


def _follow(
    config: BargainingConfig,
    adviser: Adviser,
    plan: Bayes | None,
    values: PlanValues | None,
    seeds: NDArray[np.int64],
    progress: Progress,
) -> Followed:
    """Play these seeds by an adviser's hints."""
    played, tallies = [], []
    for begin in range(0, len(seeds), BATCH):
        progress(adviser.name, begin, len(seeds))
        some = seeds[begin : begin + BATCH]
        follower = Follower(adviser.provider, plan, values, len(some))
        played.append(play_seeds(config, follower, some))
        tallies.append(follower.tally)
    progress(adviser.name, len(seeds), len(seeds))
    return Followed(Episodes.joined(played), tuple(tallies))


def _measured(adviser: Adviser, followed: Followed, by_plan: Episodes | None, notes: tuple[str, ...]) -> HintMeasure:
    episodes, column = followed.episodes, followed.by_episode
    asked, given = column("asked"), column("given")
    return HintMeasure(
        adviser=adviser.name,
        model=adviser.model,
        prompt=adviser.prompt,
        episodes=len(asked),
        asked=int(asked.sum()),
        given=int(given.sum()),
        without_hint=int((asked - given).sum()),
        legality=ratio(given, asked),
        same_act=_rate(column("same_act"), column("compared")),
        same_move=_rate(column("same_move"), column("compared")),
        value_kept=_rate(column("hint_value"), column("plan_value")),
        share_of_maximum=ratio(episodes.reward, episodes.maximum),
        over_bayes=None if by_plan is None else ratio_or_none(episodes.reward, by_plan.reward),
        rejections=dict(sorted(sum((tally.rejections for tally in followed.tallies), Counter[str]()).items())),
        cost=_cost([each for tally in followed.tallies for each in tally.consultations]),
        notes=notes,
    )


def _rate(parts: NDArray[np.float64], wholes: NDArray[np.float64]) -> Estimate | None:
    """Σ part / Σ whole over the episodes that have a whole; None where none has."""
    there = wholes > 0.0
    return ratio_or_none(parts[there], wholes[there])


def _cost(consultations: Sequence[Consultation]) -> Cost:
    if not consultations:
        return Cost()
    came: list[Completion] = [each.reply for each in consultations if isinstance(each.reply, Completion)]
    seconds = sorted(reply.seconds for reply in came)
    return Cost(
        replies=len(consultations),
        distinct_prompts=len({tuple(message.content for message in each.messages) for each in consultations}),
        cached=sum(reply.cached for reply in came),
        prompt_tokens=float(np.mean([reply.prompt_tokens for reply in came])) if came else None,
        completion_tokens=float(np.mean([reply.completion_tokens for reply in came])) if came else None,
        latency={name: quantile(seconds, share) for name, share in QUANTILES.items()} if came else {},
    )
