"""Which conclusions about mechanisms survive when the constants of the market model are wrong by a factor of two.

First every numeric constant is halved and doubled, and ranked by how much that moves R for a fixed set of mechanisms over the stages. The
constants are read from the model's dataclasses. A number between one half and one is taken for a share: its distance to one is halved and
doubled, since twice a share means nothing.

Then the most influential ones are halved and doubled again, one at a time, and in each such world the conclusions of the calibrated market
are drawn anew: which auction format is best at which stage (the best constant of each format, searched again from the calibrated one),
what each field does to the best mechanism, and what allowing rings costs. A conclusion survives in a world where its effect has the
same sign, clearly (the 95 % interval excludes zero); it is reversed where the other sign is clear.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.bundled import bundled_file, bundled_mechanism, bundled_name, format_folder, mechanism_names
from edgeworth.agents.designers.search import SearchBudget, mean_scores, search_mechanism
from edgeworth.config import AuctionConfig
from edgeworth.errors import EdgeworthError
from edgeworth.evaluation.statistics import Estimate, paired_difference
from edgeworth.games.auction.action import CHOICES, FLAGS, NUMBERS, DaedalusAction, action_of, mechanism_rows, read_mechanisms
from edgeworth.games.auction.batch import Rows
from edgeworth.games.auction.model import MarketModel
from edgeworth.games.auction.vocabulary import AUCTION_TYPES
from edgeworth.progress import Progress, silent

STAGES = ("0", "1", "2", "3", "4")
RING_STAGES = ("3", "4")
FACTORS = (0.5, 2.0)
LEVELS = {"reserve_price": (0.0, 0.3, 0.6)}
PENALTY_LEVELS = (0.0, 1.0, 3.0)
"""Levels of a number: none, some, much. Its effects are those of the two steps up."""


SMALL_SEARCH = SearchBudget(
    restarts=1, candidates=24, first_markets=8, halvings=1, generations=7, parents=4, markets=40, finalists=3, final_markets=400
)


@dataclass(frozen=True)
class RobustnessBudget:
    """How hard to look; the defaults take about twenty minutes on one core."""

    constants: int = 16
    """The most influential constants that are moved."""
    influence_markets: int = 40
    """Markets per mechanism and stage in the ranking of constants."""
    search: SearchBudget = SMALL_SEARCH
    """The search for the best constant of each format in every world, from the calibrated one."""
    markets: int = 500
    """Markets on which every effect is measured."""


QUICK = RobustnessBudget(
    constants=2,
    influence_markets=2,
    search=SearchBudget(
        restarts=1, candidates=4, first_markets=2, halvings=1, generations=1, parents=2, markets=4, finalists=2, final_markets=8
    ),
    markets=20,
)
"""For trying the command out: a minute, and numbers that mean nothing."""


# Worlds

Options = dict[str, Any]


@dataclass(frozen=True)
class Constant:
    """A number of the market model by its place, such as `ring.overbid` or `bidders.dropout.entry_cost`."""

    path: str
    value: float | int | tuple[float, ...]

    def moved(self, factor: float) -> Options | None:
        """The model's options in which it is scaled; None where that changes nothing or is refused."""
        value = _scaled(self.value, factor)
        options: Any = value
        for name in reversed(self.path.split(".")):
            options = {name: options}
        try:
            changed = MarketModel.from_options(options)
        except EdgeworthError:
            return None
        return dict(options) if changed != MarketModel() else None


def _scaled(value: Any, factor: float) -> Any:
    if isinstance(value, tuple):
        return tuple(_scaled(entry, factor) for entry in value)
    scaled = 1.0 - (1.0 - value) * factor if 0.5 < value < 1.0 else value * factor
    return round(scaled) if isinstance(value, int) else scaled


def constants_of(settings: Any, path: str = "") -> Iterator[Constant]:
    """Every number of a settings dataclass that scaling can change, groups within groups."""
    for field in dataclasses.fields(settings):
        value, place = getattr(settings, field.name), f"{path}{field.name}"
        if dataclasses.is_dataclass(value):
            yield from constants_of(value, f"{place}.")
        elif is_number(value) or (isinstance(value, tuple) and any(map(is_number, value))):
            yield Constant(place, value)


def is_number(value: object) -> bool:
    """Whether scaling changes it: a number that is no flag and not zero."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value != 0


@dataclass(frozen=True)
class World:
    """A market with one constant moved; the calibrated one has none."""

    name: str
    options: Options

    def config(self, stage: str) -> AuctionConfig:
        """A stage of this world."""
        return AuctionConfig(stage=stage, model=self.options)


CALIBRATED = World("calibrated", {})


def rank_constants(markets: int, seed: int, progress: Progress = silent) -> list[tuple[Constant, float]]:
    """Every constant with its influence: the mean change of R, over mechanisms and stages, when it is halved or doubled; most first."""
    mechanisms = mechanism_rows([bundled_mechanism(name) for name in mechanism_names()])

    def table(options: Options) -> NDArray[np.float64]:
        return np.stack([mean_scores(mechanisms, World("", options).config(stage), markets, seed).mean(axis=1) for stage in STAGES])

    base, constants, found = table({}), list(constants_of(MarketModel())), []
    for place, constant in enumerate(constants):
        moves = [options for factor in FACTORS if (options := constant.moved(factor)) is not None]
        influence = max((float(np.abs(table(options) - base).mean()) for options in moves), default=0.0)
        found.append((constant, influence))
        progress(constant.path, place + 1, len(constants))
    return sorted(found, key=lambda entry: -entry[1])


def worlds_of(constants: list[Constant]) -> list[World]:
    """Two worlds for every constant, where the model allows them."""
    found = []
    for constant, factor in itertools.product(constants, FACTORS):
        options = constant.moved(factor)
        if options is not None:
            found.append(World(f"{constant.path} {_change_text(constant.value, factor)}", options))
    return found


def _change_text(value: Any, factor: float) -> str:
    return f"× {factor:g}" if isinstance(value, tuple) else f"{value:g} → {_scaled(value, factor):g}"


# Effects


def start_of(stage: str) -> Rows:
    """The calibrated best of each format, where that is bundled, else the stage's best."""
    kept = bundled_file(format_folder(), bundled_name(stage))
    return mechanism_rows([bundled_mechanism(bundled_name(stage))] if kept is None else read_mechanisms(kept.path))


def field_moves(base: DaedalusAction) -> dict[str, tuple[DaedalusAction, DaedalusAction]]:
    """What each field does from the base: by name of the effect, the mechanism with it and the one without."""

    def moved(field: str, value: Any) -> DaedalusAction:
        return base.model_copy(update={field: value})

    pairs = {f"{flag}: yes over no": (moved(flag, True), moved(flag, False)) for flag in FLAGS}
    for field in NUMBERS:
        levels = LEVELS.get(field, PENALTY_LEVELS)
        for low, high in itertools.pairwise(levels):
            pairs[f"{field}: {high:g} over {low:g}"] = moved(field, high), moved(field, low)
    for policy in CHOICES["coalition_policy"][1:]:
        pairs[f"coalition_policy: {policy} over allow"] = moved("coalition_policy", policy), moved("coalition_policy", "allow")
    return pairs


def effects_at(world: World, stage: str, budget: RobustnessBudget, seed: int) -> tuple[dict[str, Estimate], dict[str, float]]:
    """Every effect at a stage of a world, by its name, and the score of each format's best."""
    config = world.config(stage)
    found = search_mechanism(config, seed, budget.search, start=start_of(stage))
    scores = dict(zip((AUCTION_TYPES[int(row["auction_type"])] for row in found.mechanisms), found.mechanisms, strict=True))
    formats = mean_scores(mechanism_rows([action_of(scores[name]) for name in AUCTION_TYPES]), config, budget.markets, seed)
    effects = {}
    for one, other in ((1, 0), (2, 0), (2, 1)):
        effects[f"format: {AUCTION_TYPES[one]} over {AUCTION_TYPES[other]}"] = paired_difference(formats[one], formats[other])
    best = action_of(found.mechanism)
    pairs = field_moves(best)
    if stage in RING_STAGES:
        pairs["allow: what it costs the best mechanism"] = best, best.model_copy(update={"coalition_policy": "allow"})
    distinct = list(dict.fromkeys(mechanism for pair in pairs.values() for mechanism in pair))
    played = dict(zip(distinct, mean_scores(mechanism_rows(distinct), config, budget.markets, seed), strict=True))
    effects |= {name: paired_difference(played[with_it], played[without]) for name, (with_it, without) in pairs.items()}
    return effects, {name: float(formats[place].mean()) for place, name in enumerate(AUCTION_TYPES)}


# Conclusions

SIGNS = {"survives": 1, "unclear": 0, "reversed": -1}
"""The sign of an effect in another world relative to that in the calibrated one, by what it means for the conclusion."""


def sign_of(effect: Estimate) -> int:
    """1 or −1 where the interval excludes zero, else 0."""
    return int(effect.low > 0.0) - int(effect.high < 0.0)


Effects = Mapping[str, Mapping[str, Mapping[str, Estimate]]]
"""By world, stage and name."""
Scores = Mapping[str, Mapping[str, Mapping[str, float]]]
"""R of each format's best, by world and stage."""


def conclusions(effects: Effects) -> list[dict[str, Any]]:
    """Every clear effect of the calibrated market, and in how many of the other worlds it is the same, not clear, or reversed."""
    others, drawn = {name: found for name, found in effects.items() if name != CALIBRATED.name}, []
    for stage, calibrated in effects[CALIBRATED.name].items():
        for what, effect in calibrated.items():
            if sign := sign_of(effect):
                signs = {name: sign * sign_of(found[stage][what]) for name, found in others.items()}
                counts = {name: list(signs.values()).count(wanted) for name, wanted in SIGNS.items()}
                reversed_in = [name for name, one in signs.items() if one == SIGNS["reversed"]]
                drawn.append({"stage": stage, "what": what, "calibrated": effect.as_dict(), **counts, "reversed_in": reversed_in})
    return drawn


def best_formats(formats: Scores) -> dict[str, dict[str, int]]:
    """By stage, in how many worlds each format's best has the highest mean; the calibrated one is not counted."""
    worlds = [found for name, found in formats.items() if name != CALIBRATED.name]
    winners = {stage: [max(found[stage], key=lambda kind: found[stage][kind]) for found in worlds] for stage in STAGES}
    return {stage: {kind: names.count(kind) for kind in AUCTION_TYPES} for stage, names in winners.items()}


def summary(influence: list[tuple[Constant, float]], effects: Effects, formats: Scores) -> dict[str, Any]:
    """The whole study, for JSON."""
    return {
        "worlds": len(effects) - 1,
        "influence": [{"constant": c.path, "value": c.value, "mean_change_of_R": value} for c, value in influence],
        "conclusions": conclusions(effects),
        "best_formats": best_formats(formats),
        "formats": formats,
        "effects": {
            world: {stage: {name: effect.as_dict() for name, effect in found.items()} for stage, found in stages.items()}
            for world, stages in effects.items()
        },
    }


def robustness(budget: RobustnessBudget, seed: int, rank: Progress = silent, progress: Progress = silent) -> dict[str, Any]:
    """Rank the constants, then draw the conclusions in the calibrated market and in every world; a dictionary for JSON."""
    influence = rank_constants(budget.influence_markets, seed, rank)
    worlds = [CALIBRATED, *worlds_of([constant for constant, _ in influence[: budget.constants]])]
    effects, formats = {}, {}
    for place, world in enumerate(worlds):
        progress(world.name, place, len(worlds))
        found = {stage: effects_at(world, stage, budget, seed) for stage in STAGES}
        effects[world.name] = {stage: effect for stage, (effect, _) in found.items()}
        formats[world.name] = {stage: scores for stage, (_, scores) in found.items()}
    return summary(influence, effects, formats)
