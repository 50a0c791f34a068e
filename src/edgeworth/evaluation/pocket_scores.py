"""What a pocket model is worth, on contexts and markets that it was not trained on: free and constrained replies, hints and mechanisms.

*Free* replies have no schema and temperature 1; they show what was learnt. *Held* replies are greedy and follow the schema, as the model is
used. Hints are followed at every move of classic episodes with held-out contexts and compared with the Bayes plan on the same episodes;
mechanisms are posted at every step of markets from the equal mixture of the stages, at seeds that training does not use.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.designer import play
from edgeworth.agents.designers.fixed import BestConstant
from edgeworth.agents.designers.language_model import LanguageModel
from edgeworth.agents.hints.llm import LanguageModelHints
from edgeworth.config import AuctionConfig, BargainingConfig
from edgeworth.errors import FallbackUsed
from edgeworth.evaluation.hint_measures import FREE_TEMPERATURE, Adviser, HintMeasure, choose_seeds, measure_hints
from edgeworth.evaluation.statistics import Estimate, mean, paired_difference, ratio
from edgeworth.games.auction.batch import Rows
from edgeworth.games.auction.market_view import MarketView
from edgeworth.llm.client import Client
from edgeworth.progress import Progress, silent

TARGETS = {"hint_legality": 0.995, "mechanism_legality": 0.995, "hint_over_bayes": 0.97, "mechanism_score": 0.59}
POPULATION = "stages"


@dataclass(frozen=True)
class MechanismMeasure:
    """One way of asking for mechanisms."""

    markets: int
    asked: int
    legality: Estimate
    """Replies that hold a legal mechanism."""
    score: Estimate
    """Mean score of a step."""
    over_best_constant: Estimate
    """The score less that of the best constant mechanism for the mixture of the stages, on the same markets."""
    rejections: dict[str, int]


@dataclass(frozen=True)
class PocketScores:
    """Everything that was measured."""

    hints: dict[str, HintMeasure]
    mechanisms: dict[str, MechanismMeasure]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    def summary(self) -> dict[str, dict[str, str]]:
        """The main numbers in words, by the way of asking."""

        def row(of: dict[str, Any], name: str) -> dict[str, str]:
            return {way: str(getattr(measure, name)) for way, measure in of.items()}

        return {
            "hints_asked": row(self.hints, "asked"),
            "hint_legality": row(self.hints, "legality"),
            "hint_same_move_as_bayes": row(self.hints, "same_move"),
            "hint_over_bayes": row(self.hints, "over_bayes"),
            "mechanisms_asked": row(self.mechanisms, "asked"),
            "mechanism_legality": row(self.mechanisms, "legality"),
            "mechanism_score": row(self.mechanisms, "score"),
            "mechanism_over_best_constant": row(self.mechanisms, "over_best_constant"),
        }

    def marks(self) -> dict[str, dict[str, float | bool]]:
        """The targets of the bundled model's free replies, and whether they are met."""
        over_bayes = self.hints["free"].over_bayes
        assert over_bayes is not None, "the classic game has a plan"
        found = {
            "hint_legality": self.hints["free"].legality.value,
            "mechanism_legality": self.mechanisms["free"].legality.value,
            "hint_over_bayes": over_bayes.value,
            "mechanism_score": self.mechanisms["free"].score.value,
        }
        return {name: {"found": found[name], "mark": wanted, "met": found[name] >= wanted} for name, wanted in TARGETS.items()}


class CountingDesigner(LanguageModel):
    """The language-model designer, which also records which replies were legal, step by step."""

    def design(self, view: MarketView) -> Rows:
        rows = super().design(view)
        self.legal.append([verdict.fault is None for verdict in self.verdicts])
        for verdict in self.verdicts:
            if verdict.reason is not None:
                self.reasons[verdict.reason] = self.reasons.get(verdict.reason, 0) + 1
        self.on_step(view.round_number + 1, view.episode_length)
        return rows

    def counting(self, on_step: Callable[[int, int], None]) -> CountingDesigner:
        """Start counting anew."""
        self.legal: list[list[bool]] = []
        self.reasons: dict[str, int] = {}
        self.on_step = on_step
        return self


def pocket_scores(client: Client, talks: int, markets: int, seed: int, progress: Progress = silent) -> PocketScores:
    """Measure a model in both games, free and held."""

    def steps_of(what: str) -> Callable[[int, int], None]:
        return lambda done, total: progress(what, done, total)

    config = BargainingConfig()
    seeds = choose_seeds(config, "held_out", talks, seed)
    free = LanguageModelHints(client, constrained=False, temperature=FREE_TEMPERATURE, seed=seed)
    advisers = [Adviser("free", free), Adviser("held", LanguageModelHints(client))]
    measured = measure_hints(config, advisers, seeds, progress)
    hints = {measure.adviser: measure for measure in measured}
    market, constant = AuctionConfig(stage=POPULATION), BestConstant(POPULATION)
    constants = play(constant, market, markets, seed).mean(axis=1)
    designers = {
        "free": CountingDesigner(client, constrained=False, temperature=FREE_TEMPERATURE, seed=seed),
        "held": CountingDesigner(client),
    }
    mechanisms = {
        name: mechanism_measure(designer.counting(steps_of(f"{name} mechanisms")), market, constants, seed)
        for name, designer in designers.items()
    }
    return PocketScores(hints, mechanisms)


def mechanism_measure(designer: CountingDesigner, market: AuctionConfig, constants: NDArray[np.float64], seed: int) -> MechanismMeasure:
    """Let the designer play, and count."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackUsed)  # rejections are counted
        scores = play(designer, market, len(constants), seed).mean(axis=1)
    legal = np.array(designer.legal, np.float64)
    legality = ratio(legal.sum(axis=0), np.full(len(constants), float(len(legal))))
    return MechanismMeasure(
        len(constants), legal.size, legality, mean(scores), paired_difference(scores, constants), dict(sorted(designer.reasons.items()))
    )
