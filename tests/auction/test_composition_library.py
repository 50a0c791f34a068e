"""The library of mechanisms by composition, and the oracle that chooses from it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgeworth.agents.designers.bundled import bundled_mechanism
from edgeworth.agents.designers.composition_library import (
    build_library,
    cluster_centres,
    compositions_of,
    drawn_compositions,
    load_library,
    population_of,
    save_library,
    searched_candidates,
    shrunken,
)
from edgeworth.agents.designers.designer import play
from edgeworth.agents.designers.fixed import BestConstant
from edgeworth.agents.designers.informed import Oracle
from edgeworth.agents.designers.search import SearchBudget
from edgeworth.config import AuctionConfig
from edgeworth.errors import DataError
from edgeworth.evaluation.statistics import paired_difference
from edgeworth.games.auction.action import mechanism_rows
from edgeworth.games.auction.batch import MarketBatch
from edgeworth.games.auction.population import TYPES
from edgeworth.games.auction.vocabulary import COLLUDER

TINY = SearchBudget(
    restarts=1, candidates=20, first_markets=2, halvings=1, generations=1, parents=4, markets=4, finalists=2, final_markets=16
)


def test_every_composition_that_can_be_drawn_is_there() -> None:
    everything = compositions_of(8)
    assert len(everything) == 375 and (everything.sum(axis=1) == 8).all() and not (everything[:, COLLUDER] == 1).any()
    known = {tuple(row) for row in everything.tolist()}
    assert {tuple(row) for row in drawn_compositions(8, 0).tolist()} <= known
    assert len(compositions_of(16)) == 500, "a random part of those of many bidders"


def test_a_composition_as_a_population_is_exactly_that() -> None:
    wanted = np.array([1, 2, 3, 0, 2])
    batch = MarketBatch(population_of(wanted, 8), 20)
    batch.seed(0)
    batch.reset()
    assert (batch.markets["count"] == wanted).all()


def test_clusters_are_reproducible_and_far_apart() -> None:
    drawn = drawn_compositions(8, 0)
    centres = cluster_centres(drawn, 6, 0)
    assert np.array_equal(centres, cluster_centres(drawn, 6, 0)) and centres.shape[1] == TYPES and 4 <= len(centres) <= 6
    assert centres[:, 0].max() >= 7, "stage 0 has a cluster to itself"


def test_a_lucky_mean_is_shrunk_and_a_precise_one_is_kept() -> None:
    shares = compositions_of(4) / 4
    truth = np.stack([shares[:, 1], 0.5 * shares[:, 2]], axis=1)
    lucky = truth.copy()
    lucky[7, 0] += 0.3
    noisy = shrunken(lucky, np.full(lucky.shape, 0.05), shares)
    precise = shrunken(lucky, np.full(lucky.shape, 1e-9), shares)
    assert noisy[7, 0] < truth[7, 0] + 0.15 and precise[7, 0] == pytest.approx(lucky[7, 0], abs=1e-3)


def test_the_library_is_built_saved_and_asked_by_nearest_shares(tmp_path: Path) -> None:
    bundled = mechanism_rows([bundled_mechanism("stage_0"), bundled_mechanism("stage_3")])
    candidates = searched_candidates(bundled, np.array([[0, 0, 2, 0, 2]]), TINY, 3)
    assert len(candidates) == 3
    library = build_library(candidates, np.array([[4, 0, 0, 0, 0], [2, 2, 0, 0, 0], [0, 2, 2, 0, 0], [0, 0, 4, 0, 0]]), 8, 5)
    save_library(tmp_path / "library.npz", library)
    again = load_library(tmp_path / "library.npz")
    asked = np.array([[8, 0, 0, 0, 0], [0, 0, 8, 0, 0], [8, 0, 0, 0, 0]])
    found = again.mechanisms_for(asked)
    assert np.array_equal(found, library.mechanisms_for(asked)) and found[0] == found[2]
    (tmp_path / "bad.npz").write_text("nothing", encoding="utf-8")
    with pytest.raises(DataError, match="designer library"):
        load_library(tmp_path / "bad.npz")


def test_the_oracle_is_told_the_composition_and_gains_from_it() -> None:
    config, episodes = AuctionConfig(stage="stages"), 400
    told = play(Oracle(), config, episodes, 77).mean(axis=1)
    constant = play(BestConstant("stages"), config, episodes, 77).mean(axis=1)
    assert paired_difference(told, constant).low > 0.0


def test_the_oracle_says_where_its_library_does_not_fit() -> None:
    oracle = Oracle()
    play(oracle, AuctionConfig(n_agents=5, model={"lots": {"seller_value": 0.2}}, episode_length=1), 3, 0)
    assert any("5 bidders" in note for note in oracle.assumed) and any("calibrated" in note for note in oracle.assumed)
