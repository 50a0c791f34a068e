"""The markets that a designer practises on: their mixture, their seeds, and taking them up again."""

from __future__ import annotations

import numpy as np
import pytest

from edgeworth.agents.designers.policy_layout import DesignerShape
from edgeworth.config import AuctionConfig
from edgeworth.envs.daedalus_features import features_of, view_features
from edgeworth.envs.designed_markets import DesignedMarkets
from edgeworth.errors import InvalidOption, UnknownName
from edgeworth.games.auction.action import FIELDS
from edgeworth.games.auction.population import mixture_table, population_table
from edgeworth.training.designer.states import TRAINING_SEEDS
from edgeworth.training.market_practice import MarketMix, MarketPractice

SHAPE = DesignerShape(hidden=8, layers=1)


def levels(practice: MarketPractice, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, SHAPE.counts, (practice.size, len(FIELDS)))


def practised(steps: int, size: int = 40) -> MarketPractice:
    practice = MarketPractice(MarketMix(), size, 0, SHAPE)
    for step in range(steps):
        practice.step(levels(practice, step))
    return practice


@pytest.mark.parametrize("name", ["held_out", "held_out_3"])
def test_held_out_populations_are_refused_for_training(name: str) -> None:
    with pytest.raises(InvalidOption, match="never for training"):
        MarketMix(populations={"stages": 1.0, name: 1.0})


def test_unknown_populations_are_refused() -> None:
    with pytest.raises(UnknownName, match="stages"):
        MarketMix(populations={"stage": 1.0})


def test_a_mixture_of_one_population_is_that_population() -> None:
    mixture, stages = mixture_table({"stages": 3.0}), population_table("stages")
    np.testing.assert_allclose(mixture["cumulative"], stages["cumulative"], rtol=1e-15)
    assert all(np.array_equal(mixture[name], stages[name]) for name in ("shares", "kind", "swap"))


def test_markets_are_drawn_by_the_weights_of_their_populations() -> None:
    practice = MarketPractice(MarketMix(populations={"stages": 2.0, "mixed": 6.0}, varied=0.0), 4_000, 0, SHAPE)
    drawn = practice.families[practice.groups[0].batch.markets["stage"]]
    assert np.mean(drawn == "mixed") == pytest.approx(0.75, abs=0.025)


def test_seeds_lie_in_the_range_for_training_and_runs_share_none() -> None:
    seeds = [
        np.concatenate([group.batch.markets["seed"] for group in MarketPractice(MarketMix(), 512, seed, SHAPE).groups]) for seed in (0, 1)
    ]
    assert min(part.min() for part in seeds) >= TRAINING_SEEDS and len(np.unique(np.concatenate(seeds))) == 1_024


def test_most_markets_are_of_the_usual_kind_and_the_others_vary() -> None:
    practice = MarketPractice(MarketMix(), 400, 0, SHAPE)
    kinds = set()
    for step in range(60):
        kinds |= {(group.batch.config.n_agents, group.batch.config.episode_length) for group in practice.groups[1:]}
        assert practice.groups[0].batch.config == AuctionConfig()
        practice.step(levels(practice, step))
    assert [group.batch.size for group in practice.groups] == [300, 25, 25, 25, 25]
    assert len(kinds) > 8 and {length for _, length in kinds} == {5, 10, 20} and all(2 <= number <= 16 for number, _ in kinds)


def test_scores_are_reported_when_episodes_end() -> None:
    practice = practised(9)
    practice.report()
    _, ended = practice.step(levels(practice, 9))
    told = practice.report()
    assert ended[:30].all() and 0.0 < told["score"] < 1.0 and told["episodes"] == ended.sum()
    assert practice.report()["episodes"] == 0 and np.isnan(practice.report()["score_stages"])


def test_markets_taken_up_in_the_middle_go_on_as_if_nothing_had_happened() -> None:
    straight = practised(13)
    straight.report()
    saved = straight.state()
    again = MarketPractice(MarketMix(), 40, 0, SHAPE)
    again.load_state(saved)
    for step in range(13, 30):
        assert np.array_equal(straight.features(), again.features()) and np.array_equal(straight.uniforms(), again.uniforms())
        for found, expected in zip(again.step(levels(again, step)), straight.step(levels(straight, step)), strict=True):
            assert np.array_equal(found, expected)
    assert again.report() == straight.report()


def test_a_designer_reads_the_features_that_the_environments_show() -> None:
    markets = DesignedMarkets(AuctionConfig(stage="stages", n_agents=11, episode_length=7), 9)
    markets.batch.seed(0)
    markets.begin()
    for step in range(7):
        assert np.array_equal(view_features(markets.history.view()), features_of(markets))
        markets.step(SHAPE.mechanisms(np.random.default_rng(step).integers(0, SHAPE.counts, (9, len(FIELDS)))))
