"""The bundled policy designer: its size, its card, and what it is worth."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from edgeworth.agents.designers.designer import play
from edgeworth.agents.designers.fixed import BestConstant, Uniform
from edgeworth.agents.designers.policy import BUNDLED, Policy, bundled_player
from edgeworth.config import AuctionConfig
from edgeworth.evaluation.designer_scores import designer_scores
from edgeworth.evaluation.statistics import paired_difference
from edgeworth.games.auction.action import check_rows
from edgeworth.games.auction.batch import Rows
from edgeworth.games.auction.market_view import RECENT_STEPS, MarketView
from edgeworth.games.auction.state import PROXIES, SCORES
from edgeworth.games.auction.vocabulary import COALITION_POLICIES
from edgeworth.training.market_practice import FIRST_SEED, VALIDATION_SEED
from edgeworth.training.market_run import settings_of

FACTS = json.loads(BUNDLED.with_suffix(".json").read_text(encoding="utf-8"))
CARD = FACTS["card"]
EVALUATION = json.loads(Path("results/designers.json").read_text(encoding="utf-8"))


def test_the_checkpoint_is_small_and_its_card_says_how_it_came_about() -> None:
    assert BUNDLED.with_suffix(".safetensors").stat().st_size < 500_000
    assert {"what", "command", "seed", "minutes", "hardware", "steps", "curve", "scores"} <= CARD.keys()
    assert CARD["curve"][-1]["steps"] == FACTS["settings"]["num_train_steps"] and CARD["steps"] <= CARD["curve"][-1]["steps"]


def test_it_was_trained_on_no_population_and_no_seed_that_it_is_measured_on() -> None:
    trained_on = settings_of(FACTS["settings"]).markets.populations
    assert not any(name.startswith("held_out") for name in trained_on)
    assert int(CARD["scores"]["evaluation_seeds"].split()[-1]) < FIRST_SEED < VALIDATION_SEED


def test_on_its_card_it_is_not_below_those_it_has_to_beat() -> None:
    populations = CARD["scores"]["populations"]
    stages, held_out = populations["stages"], populations["held_out"]
    assert CARD["scores"]["episodes"] == 1_000 and CARD["scores"]["n_agents"] == 8
    assert stages["score"]["value"] >= stages["adaptive"]["value"]
    assert held_out["score"]["value"] >= held_out["best_constant"]["value"]


def test_the_bundled_network_is_the_one_in_the_evaluation_of_designers_and_meets_every_target_there() -> None:
    rows = {row["designer"]: row for row in EVALUATION["populations"]["stages, n = 8"]}
    assert rows["policy"]["score"]["value"] == pytest.approx(CARD["scores"]["populations"]["stages"]["score"]["value"], abs=1e-9)
    assert rows["policy"]["g"]["value"] >= 0.65
    assert [row["met"] for row in EVALUATION["targets"] if row["target"].startswith("policy")] == [True] * 3


def test_it_never_allows_coalitions() -> None:
    posted: list[Rows] = []
    play(Policy(), AuctionConfig(stage="stages"), 200, seed=0, stepped=lambda step, rows: posted.append(rows["coalition_policy"]))
    assert np.concatenate(posted).min() > COALITION_POLICIES.index("allow")


def test_it_beats_the_best_constant_on_the_mixture_of_the_stages() -> None:
    config = AuctionConfig(stage="stages")
    own, constant = (play(designer, config, 300, seed=0).mean(axis=1) for designer in (Policy(), BestConstant("stages")))
    assert paired_difference(own, constant).low > 0.0


@pytest.mark.slow
def test_the_scores_on_its_card_can_be_measured_again() -> None:
    found = designer_scores(Policy(), CARD["scores"]["episodes"], 0)["populations"]
    for name, row in CARD["scores"]["populations"].items():
        assert found[name]["score"]["value"] == pytest.approx(row["score"]["value"], abs=1e-6)


@pytest.mark.parametrize(("n_agents", "length"), [(2, 1), (3, 40), (16, 7)])
def test_it_beats_random_mechanisms_with_any_number_of_bidders_and_any_length(n_agents: int, length: int) -> None:
    config = AuctionConfig(stage="dirichlet", n_agents=n_agents, episode_length=length)
    own, random = (play(designer, config, 200, seed=1) for designer in (Policy(), Uniform()))
    assert own.shape == (200, length) and paired_difference(own.mean(axis=1), random.mean(axis=1)).low > 0.0


def test_whatever_it_sees_its_mechanisms_are_legal() -> None:
    rng, size = np.random.default_rng(0), 500
    shape = bundled_player().shape
    table = np.stack([rng.integers(0, count, (size, RECENT_STEPS)) for count in shape.counts], axis=2).astype(float)
    outcomes, proxies = (rng.uniform(0.0, 9.0, (size, RECENT_STEPS, len(names))) for names in (SCORES, PROXIES))
    check_rows(Policy().design(MarketView(7, 10, 8, outcomes, proxies, table)))


def test_a_step_that_is_not_told_in_full_is_left_out_and_said() -> None:
    designer, empty = Policy(), [np.zeros((1, RECENT_STEPS, width)) for width in (len(SCORES), len(PROXIES), 11)]
    first = designer.design(MarketView(3, 10, 8, *empty))
    assert designer.assumed == ("3 of the last 3 steps: not known in full, so it chose without them",)
    empty[0][0, -1] = 0.7  # scores without proxies tell it nothing
    assert designer.design(MarketView(3, 10, 8, *empty)) == first
