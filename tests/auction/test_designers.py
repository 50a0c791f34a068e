"""Designers against each other: the published baselines, no free lunch, what looking is worth, and no exploit."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from edgeworth.agents.designers.adaptive import Adaptive
from edgeworth.agents.designers.bundled import bundled_mechanism, mechanism_folder, mechanism_names
from edgeworth.agents.designers.designer import play
from edgeworth.agents.designers.fixed import BestConstant, Fixed, InformedGreedy, Uniform
from edgeworth.agents.designers.informed import ToldStage
from edgeworth.agents.designers.search import SearchBudget, changed_fields, distinct, mean_scores, search_mechanism
from edgeworth.config import AuctionConfig
from edgeworth.errors import DataError, InvalidOption, UnknownName
from edgeworth.evaluation.statistics import paired_difference
from edgeworth.games.auction.action import FIELDS, mechanism_rows, random_mechanisms, read_mechanism
from edgeworth.games.auction.batch import Rows
from edgeworth.games.auction.market_view import MarketView
from edgeworth.seeding import generator

STAGES = ("0", "1", "2", "3", "4")
FRESH = 9_000_000


@cache
def box() -> Rows:
    return mechanism_rows([bundled_mechanism(name) for name in mechanism_names()])


def stage_scores(mechanisms: Rows, stage: str, markets: int, seed: int = FRESH) -> NDArray[np.float64]:
    return mean_scores(mechanisms, AuctionConfig(stage=stage), markets, seed)


# The published baselines


def test_on_mixed_the_published_baselines_come_out() -> None:
    config = AuctionConfig(stage="mixed")
    uniform = play(Uniform(), config, 1500, FRESH).mean()
    greedy = play(InformedGreedy(), config, 1500, FRESH).mean()
    assert uniform == pytest.approx(0.326, abs=0.015) and greedy == pytest.approx(0.434, abs=0.015)


# No free lunch


@pytest.mark.parametrize("stage", STAGES)
def test_the_stage_s_own_mechanism_is_the_best_in_the_box(stage: str) -> None:
    scores = stage_scores(box(), stage, 400)
    own = scores[mechanism_names().index(f"stage_{stage}")]
    for other in scores:
        assert paired_difference(own, other).high >= 0.0


def test_no_mechanism_in_the_box_is_near_the_best_everywhere() -> None:
    falls_short = np.zeros(len(box()), bool)
    for stage in STAGES:
        scores = stage_scores(box(), stage, 400)
        gaps = scores[mechanism_names().index(f"stage_{stage}")] - scores
        falls_short |= gaps.mean(axis=1) > 2 * gaps.std(axis=1) / np.sqrt(gaps.shape[1]) + 1e-9
    assert falls_short.all()


@pytest.mark.slow
def test_even_a_search_for_a_mechanism_that_is_near_the_best_everywhere_finds_none() -> None:
    """Breeds for the smallest shortfall at the worst stage."""
    rng = generator(1)
    best = {stage: stage_scores(mechanism_rows([bundled_mechanism(f"stage_{stage}")]), stage, 200).mean() for stage in STAGES}

    def shortfall(designs: Rows, markets: int, seed: int) -> NDArray[np.float64]:
        return np.max([best[stage] - stage_scores(designs, stage, markets, seed).mean(axis=1) for stage in STAGES], axis=0)

    designs = np.concatenate([box(), random_mechanisms(rng, 3000)])
    designs = designs[np.argsort(shortfall(designs, 4, 1))[:200]]
    designs = designs[np.argsort(shortfall(designs, 32, 2))[:24]]
    for generation in range(8):
        designs = np.concatenate([designs, changed_fields(designs, rng, 1.0 - generation / 9)])
        designs = designs[np.argsort(shortfall(designs, 32, 1000 * (generation + 3)))[:24]]
    survivors = designs[:8]
    near_everywhere = np.ones(len(survivors), bool)
    for stage in STAGES:
        own = stage_scores(mechanism_rows([bundled_mechanism(f"stage_{stage}")]), stage, 2000)[0]
        gaps = own - stage_scores(survivors, stage, 2000)
        near_everywhere &= gaps.mean(axis=1) <= 2 * gaps.std(axis=1) / np.sqrt(gaps.shape[1])
    assert not near_everywhere.any()


# Looking pays


def test_an_adaptive_designer_beats_every_constant_on_the_mixture_of_the_stages() -> None:
    config, episodes = AuctionConfig(stage="stages"), 3000
    adaptive = play(Adaptive("stages"), config, episodes, FRESH).mean(axis=1)
    for constant in (BestConstant("stages"), BestConstant("mixed")):
        gain = paired_difference(adaptive, play(constant, config, episodes, FRESH).mean(axis=1))
        assert gain.value >= 0.02 and gain.low > 0.0


def test_knowing_the_stage_is_worth_more_than_looking() -> None:
    config, episodes = AuctionConfig(stage="stages"), 2000
    told = play(ToldStage(), config, episodes, FRESH).mean(axis=1)
    looked = play(Adaptive("stages"), config, episodes, FRESH).mean(axis=1)
    assert paired_difference(told, looked).low > 0.0


def test_the_adaptive_designer_is_not_told_the_stage() -> None:
    """The same observations lead to the same mechanisms, whatever the configuration calls the population."""
    runs = []
    for stage in ("3", "mixed"):
        designer = Adaptive("stages")
        posted = []
        config = AuctionConfig(stage=stage)
        designer.begin(config, 1, 0)
        for step in range(6):
            seen = np.random.default_rng(step)
            view = MarketView(step, 10, 8, seen.random((1, 5, 5)), seen.random((1, 5, 8)), np.ones((1, 5, 11)))
            posted.append(designer.design(view)[0])
        runs.append(posted)
    assert runs[0] == runs[1]


# No exploit


@pytest.mark.parametrize(
    ("what", "stage", "change", "most"),
    [
        ("zero trade", "0", {"reserve_price": 0.9, "reveal_reserve": True}, 0.2),
        ("zero trade, covertly", "mixed", {"reserve_price": 0.9, "reveal_reserve": False}, 0.35),
        ("full extraction", "0", {"auction_type": "first_price"}, 0.05),
        ("an empty market", "2", {"reserve_price": 0.9, "reveal_clearing_price": False, "reveal_bid_distribution": False}, 0.3),
        ("everybody fined", "0", {"shill_penalty": 3.0, "collusion_penalty": 3.0, "coalition_policy": "penalize_suspected"}, 0.7),
    ],
)
def test_gaming_a_component_scores_low(what: str, stage: str, change: dict[str, object], most: float) -> None:
    """As a share of what the best constant for that population scores."""
    gamed = {**bundled_mechanism("mixed").model_dump(), **change}
    best = bundled_mechanism(stage if stage == "mixed" else f"stage_{stage}")
    scores = stage_scores(mechanism_rows([gamed, best]), stage, 300).mean(axis=1)
    assert scores[0] < most * scores[1]


def beats_the_best_constant(stage: str, count: int, seed: int) -> NDArray[np.bool_]:
    """The best of many random mechanisms on one market each, tried again on more and more: does any beat the best constant?"""
    rng, designs = generator(seed), []
    for block in range(0, count, 20_000):
        rows = random_mechanisms(rng, min(20_000, count - block))
        designs.append(rows[np.argsort(-stage_scores(rows, stage, 1, seed + block)[:, 0])[:400]])
    finalists = np.concatenate(designs)
    for markets, keep in ((8, 400), (40, 60), (200, 10)):
        finalists = finalists[np.argsort(-stage_scores(finalists, stage, markets, seed + 50_000_000 + markets).mean(axis=1))[:keep]]
    best = mechanism_rows([bundled_mechanism("mixed" if stage == "mixed" else f"stage_{stage}")])
    gaps = stage_scores(finalists, stage, 2000) - stage_scores(best, stage, 2000)
    return np.asarray(gaps.mean(axis=1) > 4 * gaps.std(axis=1) / np.sqrt(gaps.shape[1]))


@pytest.mark.parametrize("stage", ["3", "mixed"])
def test_no_random_mechanism_quickly_beats_the_best_constant(stage: str) -> None:
    assert not beats_the_best_constant(stage, 4000, 1).any()


@pytest.mark.slow
@pytest.mark.parametrize("stage", [*STAGES, "mixed"])
def test_a_million_random_mechanisms_find_no_exploit(stage: str) -> None:
    assert not beats_the_best_constant(stage, 170_000, 2).any()


# The search and what is bundled

TINY = SearchBudget(
    restarts=1, candidates=60, first_markets=2, halvings=1, generations=2, parents=6, markets=4, finalists=3, final_markets=16
)


def test_the_search_is_reproducible_and_finds_more_than_chance() -> None:
    budget = SearchBudget(
        restarts=1, candidates=100, first_markets=4, halvings=2, generations=2, parents=6, markets=16, finalists=4, final_markets=80
    )
    config = AuctionConfig(stage="3")
    found, again = (search_mechanism(config, 5, budget) for _ in range(2))
    assert np.array_equal(found.mechanisms, again.mechanisms) and np.array_equal(found.scores, again.scores)
    assert found.scores[0].mean() > 0.55


def test_the_search_reports_the_best_of_each_format_on_the_same_fresh_markets() -> None:
    found = search_mechanism(AuctionConfig(stage="3"), 5, TINY)
    assert set(found.by_format()) == {"first_price", "second_price", "vcg"} and found.scores.shape == (3, 16)
    assert found.mechanism == found.mechanisms[0]
    own = next(iter(found.by_format().values()))
    assert np.array_equal(own, found.scores[0])


def test_a_search_keeps_a_good_design_that_it_starts_from() -> None:
    start = mechanism_rows([bundled_mechanism("stage_3")])
    budget = SearchBudget(
        restarts=1, candidates=8, first_markets=2, halvings=1, generations=1, parents=4, markets=40, finalists=3, final_markets=160
    )
    warm, cold = (search_mechanism(AuctionConfig(stage="3"), 5, budget, start=rows) for rows in (start, None))
    assert warm.scores[0].mean() > cold.scores[0].mean()


def test_twins_compete_once() -> None:
    rows = random_mechanisms(generator(1), 5)
    twice = np.concatenate([rows, rows[::-1], rows[:1]])
    assert np.array_equal(distinct(twice), rows)


def test_fixed_fields_stay_fixed_in_a_search() -> None:
    found = search_mechanism(AuctionConfig(stage="1"), 5, TINY, fixed={"auction_type": 0, "reserve_price": 0.25})
    assert len(found.mechanisms) == 1 and found.mechanism["auction_type"] == 0 and found.mechanism["reserve_price"] == 0.25


@pytest.mark.parametrize("path", sorted(mechanism_folder().glob("*.json")), ids=lambda path: path.stem)
def test_every_bundled_mechanism_is_legal_and_written_like_a_person_would(path: Path) -> None:
    assert read_mechanism(path) == bundled_mechanism(str(path))
    content = json.loads(path.read_text(encoding="utf-8"))
    assert tuple(content) == FIELDS and all(round(v, 2) == v for v in content.values() if isinstance(v, float))


def test_the_fixed_designer_takes_a_file_a_name_or_a_mechanism(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(bundled_mechanism("mixed").model_dump_json(), encoding="utf-8")
    assert Fixed(str(path)).mechanism == Fixed("mixed").mechanism == Fixed(bundled_mechanism("mixed")).mechanism


def test_bad_designers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'mixed'"):
        Fixed("mixd")
    with pytest.raises(InvalidOption, match="needs a mechanism"):
        Fixed()
    with pytest.raises(UnknownName, match="stages"):
        Adaptive("stage")
    with pytest.raises(UnknownName, match="mixed, stages"):
        BestConstant("3")
    broken = tmp_path / "broken.json"
    values = bundled_mechanism("mixed").model_dump()
    del values["reserve_price"]
    broken.write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(DataError, match="reserve_price is missing"):
        Fixed(str(broken))
    broken.write_text(json.dumps({**bundled_mechanism("mixed").model_dump(), "tax": 1}), encoding="utf-8")
    with pytest.raises(DataError, match="Unknown field 'tax'"):
        Fixed(str(broken))


# Permission and punishment


@pytest.mark.parametrize("stage", ["3", "4"])
def test_allowing_rings_costs_the_best_mechanism_dearly_where_there_is_one(stage: str) -> None:
    best = bundled_mechanism(f"stage_{stage}").model_dump()
    own, allowed = stage_scores(mechanism_rows([best, {**best, "coalition_policy": "allow"}]), stage, 600)
    assert paired_difference(own, allowed).low >= 0.05


@pytest.mark.parametrize("policy", ["restrict", "penalize_suspected", "penalize_confirmed"])
def test_policing_honest_bidders_only_costs(policy: str) -> None:
    best = bundled_mechanism("stage_0").model_dump()
    own, policed = stage_scores(mechanism_rows([best, {**best, "coalition_policy": policy, "collusion_penalty": 1.0}]), "0", 600)
    assert paired_difference(own, policed).low > 0.0
