"""The reference table of the auction game: every designer on every population, on the same markets.

R is the mean score per step over whole episodes, averaged over seeds. All designers play the same seeds, so differences are paired, market
by market. The ends of the scale: `uniform` draws mechanisms at random, the `oracle` knows the composition of the market. Between them stand
designers that know the stage only, adaptive designers, the best fixed sequence of mechanisms (a schedule), and the best constants. A
language model is slow, so it plays the first of these seeds only; its row says how many, and its difference is to the best constant on
the same ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.adaptive import Adaptive
from edgeworth.agents.designers.bundled import POPULATIONS as BUNDLED
from edgeworth.agents.designers.bundled import bundled_file, bundled_name, schedule_folder
from edgeworth.agents.designers.designer import Designer, play
from edgeworth.agents.designers.fixed import BestConstant, Fixed, InformedGreedy, Schedule, Uniform
from edgeworth.agents.designers.informed import Oracle, ToldStage
from edgeworth.agents.designers.language_model import LanguageModel
from edgeworth.agents.designers.search import QUICK, SearchBudget
from edgeworth.config import AuctionConfig
from edgeworth.evaluation.statistics import mean, paired_difference
from edgeworth.progress import Progress

POPULATIONS = ("0", "1", "2", "3", "4", "stages", "mixed", "dirichlet", "held_out")
ORACLE, TOLD_STAGE, SCHEDULE = "oracle (told the composition)", "told the stage", "best schedule"


def makers(config: AuctionConfig, budget: SearchBudget) -> dict[str, Callable[[], Designer] | str]:
    """The designers on the scale of a population, by the name of the row, best informed first; or why a row is missing.

    `budget` is for the designer that knows the stage, where no mechanism is bundled: a held-out mix, or a mix of one's own.
    """
    rows: dict[str, Callable[[], Designer] | str] = {
        ORACLE: Oracle,
        TOLD_STAGE: lambda: ToldStage(budget),
        "adaptive (prior: stages)": lambda: Adaptive("stages"),
        "adaptive (prior: mixed)": lambda: Adaptive("mixed"),
        SCHEDULE: lambda: Schedule(config.stage),
        "best constant for the stages": lambda: BestConstant("stages"),
        "best constant for mixed": lambda: BestConstant("mixed"),
        "informed_greedy": InformedGreedy,
        "uniform": Uniform,
    }
    if config.mix is None and config.stage == "dirichlet":
        rows[TOLD_STAGE] = "every episode draws shares of its own, so there is no stage to be told."
    if config.mix is not None or bundled_file(schedule_folder(), bundled_name(config.stage), config.n_agents) is None:
        rows[SCHEDULE] = "no schedule is bundled for this population; `edgeworth designers search --schedule` finds one."
    return rows


@dataclass(frozen=True)
class PlacedModel:
    """A language model that is placed on the scale."""

    label: str
    designer: LanguageModel
    episodes: int
    """Episodes that it plays on every population."""


Row = dict[str, Any]
"""One designer on one population: its mean score and the paired difference to the better of the two constants, on the same markets.

Of a language model also whose mechanisms were posted; of a schedule also the difference to the best constant of the very population."""


def _row(designer: str, values: NDArray[np.float64], best: NDArray[np.float64], **more: Any) -> Row:
    return {"designer": designer, "score": mean(values).as_dict(), "over_best_constant": paired_difference(values, best).as_dict(), **more}


class Scale(NamedTuple):
    """The rows of one population, and notes about them."""

    rows: list[Row]
    notes: list[str]


def auction_yardstick(
    config: AuctionConfig,
    episodes: int,
    seed: int,
    progress: Progress,
    placed: PlacedModel | None = None,
    budget: SearchBudget = QUICK,
) -> Scale:
    """Every designer on one population, and a language model where one is given."""
    wanted = makers(config, budget)
    notes = [f"A row is missing: {name}: {made}" for name, made in wanted.items() if isinstance(made, str)]
    present = {name: made for name, made in wanted.items() if not isinstance(made, str)}
    total, scores = len(present) + (placed is not None), {}
    for done, (name, make) in enumerate(present.items()):
        progress(name, done, total)
        designer = make()
        scores[name] = play(designer, config, episodes, seed).mean(axis=1)
        notes += [f"{name}: {note}." for note in designer.assumed]
    best = max((scores[name] for name in present if name.startswith("best constant")), key=lambda values: float(values.mean()))
    rows = [_row(name, values, best, **(_over_own(config, values, seed) if name == SCHEDULE else {})) for name, values in scores.items()]
    if placed is not None:
        rows.append(_model_row(placed, config, seed, best[: placed.episodes], progress, total))
    progress("done", total, total)
    return Scale(rows, notes)


def _over_own(config: AuctionConfig, values: NDArray[np.float64], seed: int) -> Row:
    """What a schedule gains over the best constant of its population, on the same markets, where one is bundled."""
    if config.stage not in BUNDLED:
        return {}
    own = play(Fixed(bundled_name(config.stage)), config, len(values), seed).mean(axis=1)
    return {"over_own_constant": paired_difference(values, own).as_dict()}


def _model_row(placed: PlacedModel, config: AuctionConfig, seed: int, best: NDArray[np.float64], progress: Progress, total: int) -> Row:
    """The language model on the first of the seeds, all its episodes in one call per step."""
    steps, before = config.episode_length, placed.designer.counters["posted"]

    def stepped(step: int) -> None:
        progress(f"{placed.label}, step {min(step + 1, steps)} of {steps}", (total - 1) * steps + step, total * steps)

    stepped(0)
    values = play(placed.designer, config, placed.episodes, seed, stepped).mean(axis=1)
    posted = {whose: number - before[whose] for whose, number in placed.designer.counters["posted"].items()}
    return _row(placed.label, values, best, posted=posted)
