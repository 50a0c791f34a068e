"""What a pocket model is worth, on contexts and markets that it was not trained on: free and constrained replies, hints and mechanisms.

*Free* replies have no schema and temperature 1; they show what was learnt. Constrained replies (`held` in the result) are greedy and follow
the schema, as the model is used. Hints are followed at every move of classic episodes with held-out contexts and compared with the Bayes
plan on the same episodes; constrained ones also in variants of the classic game (`pocket_games.VARIANTS`). Mechanisms are posted at every
step of markets from the equal mixture of the stages, at seeds that training does not use.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
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
from edgeworth.llm.client import Client
from edgeworth.progress import Progress, silent
from edgeworth.training.pocket_games import VARIANTS

TARGETS = {"hint_legality": 0.995, "mechanism_legality": 0.995, "hint_over_bayes": 0.97, "mechanism_score": 0.59}
VARIANT_TARGET = 0.93
"""Of constrained hints in a variant, over the Bayes plan."""
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
    variants: dict[str, HintMeasure]
    """Constrained hints by variant of the classic game."""
    mechanisms: dict[str, MechanismMeasure]

    def summary(self) -> dict[str, dict[str, str]]:
        """The main numbers in words, by the way of asking."""

        def row(of: dict[str, Any], name: str) -> dict[str, str]:
            return {way: str(getattr(measure, name)) for way, measure in of.items()}

        return {
            "hints_asked": row(self.hints, "asked"),
            "hint_legality": row(self.hints, "legality"),
            "hint_same_move_as_bayes": row(self.hints, "same_move"),
            "hint_over_bayes": row(self.hints, "over_bayes"),
            **{
                f"hint_over_bayes, {name}": {"held": f"{one.over_bayes} ({one.episodes} negotiations)"}
                for name, one in self.variants.items()
            },
            "mechanisms_asked": row(self.mechanisms, "asked"),
            "mechanism_legality": row(self.mechanisms, "legality"),
            "mechanism_score": row(self.mechanisms, "score"),
            "mechanism_over_best_constant": row(self.mechanisms, "over_best_constant"),
        }

    def targets(self) -> dict[str, dict[str, float | bool]]:
        """The targets of the bundled model, of its free replies and in variants of its constrained ones, and whether they are met."""
        found = {
            "hint_legality": self.hints["free"].legality,
            "mechanism_legality": self.mechanisms["free"].legality,
            "hint_over_bayes": self.hints["free"].over_bayes,
            "mechanism_score": self.mechanisms["free"].score,
            **{f"hint_over_bayes, {name}": measure.over_bayes for name, measure in self.variants.items()},
        }
        targets: dict[str, dict[str, float | bool]] = {}
        for name, estimate in found.items():
            wanted = TARGETS.get(name, VARIANT_TARGET)
            assert estimate is not None, "the classic game and its variants have a plan"
            targets[name] = {"found": estimate.value, "target": wanted, "met": estimate.value >= wanted}
        return targets


def pocket_scores(
    client: Client, negotiations: int, per_variant: int, markets: int, seed: int, progress: Progress = silent
) -> PocketScores:
    """Measure a model in both games, with free and with constrained replies."""
    free: dict[str, Any] = {"constrained": False, "temperature": FREE_TEMPERATURE, "seed": seed}
    advisers = [Adviser("free", LanguageModelHints(client, **free)), Adviser("held", LanguageModelHints(client))]
    hints = held_out_hints(BargainingConfig(), advisers, negotiations, seed, progress)
    variants = {
        name: held_out_hints(BargainingConfig.from_options(**options), [Adviser(name, advisers[1].provider)], per_variant, seed, progress)[
            name
        ]
        for name, options in (VARIANTS.items() if per_variant else ())
    }
    market = AuctionConfig(stage=POPULATION)
    constants = play(BestConstant(POPULATION), market, markets, seed).mean(axis=1)
    designers = {"free": LanguageModel(client, **free), "held": LanguageModel(client)}
    mechanisms = {
        name: mechanism_measure(designer, f"{name} mechanisms", market, constants, seed, progress) for name, designer in designers.items()
    }
    return PocketScores(hints, variants, mechanisms)


def held_out_hints(
    config: BargainingConfig, advisers: Sequence[Adviser], negotiations: int, seed: int, progress: Progress
) -> dict[str, HintMeasure]:
    """What the hints of every adviser are worth on held-out contexts of a game."""
    seeds = choose_seeds(config, "held_out", negotiations, seed)
    return {measure.adviser: measure for measure in measure_hints(config, advisers, seeds, progress)}


def mechanism_measure(
    designer: LanguageModel, name: str, market: AuctionConfig, constants: NDArray[np.float64], seed: int, progress: Progress
) -> MechanismMeasure:
    """Let the designer play, and count its legal replies step by step."""
    legal: list[list[bool]] = []
    reasons: Counter[str] = Counter()

    def count(step: int, _posted: object) -> None:
        legal.append([verdict.fault is None for verdict in designer.verdicts])
        reasons.update(verdict.reason for verdict in designer.verdicts if verdict.reason is not None)
        progress(name, step, market.episode_length)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackUsed)  # rejections are counted
        scores = play(designer, market, len(constants), seed, count).mean(axis=1)
    asked = np.array(legal, np.float64)
    legality = ratio(asked.sum(axis=0), np.full(len(constants), float(len(asked))))
    return MechanismMeasure(
        len(constants), asked.size, legality, mean(scores), paired_difference(scores, constants), dict(sorted(reasons.items()))
    )
