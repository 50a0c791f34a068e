"""Halved and doubled constants: which are found, which worlds they make, and which conclusions are counted as surviving."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from edgeworth.cli.market import WELL_MEANT
from edgeworth.evaluation.auction_figures import draw_robustness, robustness_finding
from edgeworth.evaluation.robustness import (
    CALIBRATED,
    QUICK,
    constants_of,
    effects_at,
    field_moves,
    rank_constants,
    robustness,
    summary,
    worlds_of,
)
from edgeworth.evaluation.statistics import Estimate
from edgeworth.games.auction.action import FIELDS
from edgeworth.games.auction.model import MarketModel


@dataclass(frozen=True)
class Inner:
    frozen: bool = False
    rate: float = 0.2
    nothing: float = 0.0


@dataclass(frozen=True)
class Outer:
    inner: Inner = field(default_factory=Inner)
    sales: float = 6.0
    sight: tuple[float, ...] = (0.0, 0.5)


def test_every_number_of_nested_settings_is_found_but_flags_and_zeros() -> None:
    assert [constant.path for constant in constants_of(Outer())] == ["inner.rate", "sales", "sight"]
    paths = {constant.path for constant in constants_of(MarketModel())}
    assert len(paths) > 50 and any(path.startswith("bidders.dropout.") for path in paths)


def test_every_constant_of_the_model_makes_a_world_or_is_refused_by_it() -> None:
    worlds = worlds_of(list(constants_of(MarketModel())))
    assert len(worlds) > 100 and len({world.name for world in worlds}) == len(worlds)
    assert all(MarketModel.from_options(world.options) != MarketModel() for world in worlds)


def test_a_share_is_moved_by_its_distance_to_one() -> None:
    plain = (constant for constant in constants_of(MarketModel()) if isinstance(constant.value, float) and constant.path.count(".") == 1)
    share = next(constant for constant in plain if 0.5 < float(constant.value) < 1.0)
    (group, name), rest = share.path.split("."), 1.0 - share.value
    halved, doubled = (share.moved(factor) for factor in (0.5, 2.0))
    assert halved == {group: {name: 1.0 - rest / 2}} and doubled == {group: {name: 1.0 - rest * 2}}


def test_the_ranking_holds_every_constant_and_begins_with_what_matters() -> None:
    ranked = rank_constants(2, 0)
    assert len(ranked) == len(list(constants_of(MarketModel())))
    influences = [influence for _, influence in ranked]
    assert influences == sorted(influences, reverse=True) and influences[0] > 0.01


def test_every_field_but_the_format_is_moved() -> None:
    moved = {name.split(":")[0] for name in field_moves(WELL_MEANT)}
    assert moved == set(FIELDS) - {"auction_type"}


def test_a_stage_with_a_ring_tells_the_cost_of_allowing_it() -> None:
    effects, formats = effects_at(CALIBRATED, "3", QUICK, 0)
    assert effects["allow: what it costs the best mechanism"].value > 0.0
    assert set(formats) == {"first_price", "second_price", "vcg"}
    assert "format: vcg over first_price" in effects


def made(signs: dict[str, float]) -> dict[str, Any]:
    """A study of one effect at every stage, with this value in each world."""
    stages = ("0", "1", "2", "3", "4")
    effects = {world: {stage: {"e": Estimate(v, v - 0.1, v + 0.1, 9)} for stage in stages} for world, v in signs.items()}
    formats = {world: {stage: {"first_price": 0.1, "second_price": 0.2, "vcg": v} for stage in stages} for world, v in signs.items()}
    return summary([], effects, formats)


def test_worlds_are_counted_as_same_unclear_or_reversed() -> None:
    study = made({"calibrated": 0.5, "a": 0.4, "b": 0.05, "c": -0.5})
    first = study["conclusions"][0]
    assert (first["survives"], first["unclear"], first["reversed_in"]) == (1, 1, ["c"])
    assert study["best_formats"]["0"] == {"first_price": 0, "second_price": 2, "vcg": 1}
    assert made({"calibrated": 0.05, "a": 0.4})["conclusions"] == [], "what is not clear is no conclusion"


def test_the_figure_says_what_it_shows(tmp_path: Path) -> None:
    result = made({"calibrated": 0.5, "a": 0.4, "b": 0.05, "c": -0.5})
    assert robustness_finding(result).startswith("Of 5 clear effects, 0 keep their sign in all 3 markets")
    draw_robustness(result, tmp_path / "worlds.png")
    assert (tmp_path / "worlds.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_whole_study_is_reproducible() -> None:
    one, other = (json.dumps(robustness(QUICK, 3)) for _ in range(2))
    assert one == other
