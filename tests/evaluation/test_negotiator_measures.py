"""How negotiators are measured: deals against the theory of one context, ends of the scale, pairs, curves over seeds."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeworth.agents.negotiators.exact import Bayes
from edgeworth.agents.negotiators.scripted import AgreeFirst, RandomLegal
from edgeworth.config import BargainingConfig
from edgeworth.errors import DataError, InvalidOption
from edgeworth.evaluation.bargaining_figures import draw_scores
from edgeworth.evaluation.episodes import play_episodes
from edgeworth.evaluation.learning_curves import learning_curves
from edgeworth.evaluation.negotiators import compared, deal_quality, measured, play_ends
from edgeworth.evaluation.training_figures import curves_finding, draw_learning_curves
from edgeworth.games.bargaining.contexts import Context, triple_of
from edgeworth.games.bargaining.frontier import is_pareto, nash_product, solutions, valued

LEWIS = BargainingConfig.from_options("lewis")
EPISODES, SEED = 200, 11


def context_of_row(row: Any) -> Context:
    return Context(triple_of(row[:3]), triple_of(row[3:6]), triple_of(row[6:9]))


@pytest.mark.parametrize("reservation", [(0.0, 0.0), (0.3, 0.1)])
def test_deals_of_many_contexts_are_judged_as_those_of_one(reservation: tuple[float, float]) -> None:
    episodes = play_episodes(BargainingConfig(reservation=reservation), RandomLegal(), 150, SEED)
    quality = deal_quality(episodes.contexts, episodes.deal, episodes.agreed, reservation)
    assert 20 < episodes.agreed.sum() < 130
    for slot in range(150):
        context = context_of_row(episodes.contexts[slot])
        floors = reservation[0] * context.my_maximum, reservation[1] * context.partner_maximum
        best = nash_product(solutions(context, floors).nash, floors)
        assert quality.best_nash[slot] == pytest.approx(best)
        if episodes.agreed[slot]:
            share = triple_of(episodes.deal[slot])
            assert quality.pareto[slot] == is_pareto(context, share)
            assert quality.nash[slot] == pytest.approx(nash_product(valued(context, share), floors))
        else:
            assert not quality.pareto[slot] and quality.nash[slot] == 0.0


def test_random_play_is_nought_on_the_scale_and_blind_bayes_one() -> None:
    ends = play_ends(LEWIS, EPISODES, SEED)
    random, bayes = (measured("x", LEWIS, play_episodes(LEWIS, who, EPISODES, SEED), ends) for who in (RandomLegal(), Bayes()))
    assert random.normalised_score is not None and bayes.normalised_score is not None and bayes.regret is not None
    assert (random.normalised_score.value, bayes.normalised_score.value, bayes.regret.value) == (0.0, 1.0, 0.0)
    assert random.regret is not None and random.regret.low > 0.0


def test_every_measure_lies_in_its_interval_and_means_what_it_says() -> None:
    ends = play_ends(LEWIS, 100, SEED)
    episodes = play_episodes(LEWIS, AgreeFirst(), EPISODES, SEED)
    found = measured("agree_first", LEWIS, episodes, ends)
    assert (found.episodes, found.yardstick_episodes) == (EPISODES, 100)
    assert found.share_of_maximum.value == pytest.approx(episodes.reward.sum() / episodes.maximum.sum())
    assert found.deal_rate.value == 1.0 and found.advantage.value == pytest.approx((episodes.reward - episodes.partner_reward).mean())
    for name, entry in asdict(found).items():
        if isinstance(entry, dict):
            assert entry["low"] <= entry["value"] <= entry["high"], name


def test_where_replies_betray_something_there_is_no_score_and_a_note_says_so() -> None:
    config = BargainingConfig(partner="tit_for_tat")
    ends = play_ends(config, 50, SEED)
    found = measured("x", config, play_episodes(config, AgreeFirst(), 50, SEED), ends)
    assert found.normalised_score is None and found.regret is None and ends.note is not None and "blind Bayes" in ends.note


def test_a_comparison_is_paired() -> None:
    ends = play_ends(LEWIS, 50, SEED)
    one, other = (play_episodes(LEWIS, who, EPISODES, SEED) for who in (Bayes(), AgreeFirst()))
    first, second = measured("bayes", LEWIS, one, ends), measured("agree_first", LEWIS, other, ends)
    found = compared(first, second, one, other)
    assert found.reward.value == pytest.approx(first.reward.value - second.reward.value)
    assert found.reward.high - found.reward.low < (first.reward.high - first.reward.low) + (second.reward.high - second.reward.low)
    assert found.better > found.worse
    same = compared(first, first, one, one)
    assert (same.reward.low, same.reward.high, same.better) == (0.0, 0.0, 0.0)


# Curves


def a_run(folder: Path, seed: int, shares: list[float], **settings: Any) -> Path:
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "checkpoints" / "last.safetensors").write_bytes(b"")
    (folder / "config.yaml").write_text(json.dumps({"algo": "ppo", "seed": seed, **settings}))
    lines = [
        {"steps": 100 * (i + 1), "share_of_maximum": share, "reward": 10 * share, "deal_rate": 1.0, "seconds": float(i)}
        for i, share in enumerate(shares)
    ]
    (folder / "training_history.json").write_text(json.dumps(lines))
    return folder


def test_runs_that_differ_only_in_the_seed_make_one_curve(tmp_path: Path) -> None:
    one, two = a_run(tmp_path / "a_seed0", 0, [0.1, 0.3]), a_run(tmp_path / "a_seed1", 1, [0.3, 0.5])
    other = a_run(tmp_path / "b", 0, [0.2, 0.2], ppo={"clip": 0.1})
    first, second = learning_curves([one, other, two])
    assert (first.name, first.seeds, second.seeds) == ("a", (0, 1), (0,))
    curve = first.as_dict()["share_of_maximum"]
    assert (curve["mean"][0], curve["low"][0], curve["high"][-1]) == (0.2, 0.1, 0.5)


def test_more_names_than_curves_are_refused(tmp_path: Path) -> None:
    runs = [a_run(tmp_path / f"a_seed{seed}", seed, [0.1, 0.3]) for seed in range(2)]
    assert [curve.name for curve in learning_curves(runs, ["mine"])] == ["mine"]
    with pytest.raises(InvalidOption, match=r"2 names were given, and the runs make 1 curve, .* give a name for each curve"):
        learning_curves(runs, ["mine", "yours"])


def test_a_run_without_a_history_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a: has fewer than two lines"):
        learning_curves([a_run(tmp_path / "a", 0, [0.1])])


def test_a_curve_of_one_seed_has_no_band(tmp_path: Path) -> None:
    (curve,) = learning_curves([a_run(tmp_path / "a_seed0", 0, [0.1, 0.3])])
    assert curves_finding({"curves": [curve.as_dict()]}) == "a ends at 0.300 after 1.0 s."


def test_curves_and_scores_are_drawn(tmp_path: Path) -> None:
    curves = learning_curves([a_run(tmp_path / f"a_seed{seed}", seed, [0.1, 0.3 + seed / 10]) for seed in range(2)])
    draw_learning_curves(
        {"curves": [curve.as_dict() for curve in curves], "yardsticks": {"random": 0.15, "bayes": 0.66}}, tmp_path / "curves.png"
    )
    estimate = {"value": 0.6, "low": 0.58, "high": 0.62, "n": 10}
    agents = [{"agent": "mine", "share_of_maximum": estimate}]
    result = {
        "scenario": "classic",
        "episodes": 10,
        "partner": "heuristic",
        "agents": agents,
        "yardsticks": {"random": 0.15, "bayes": None},
    }
    draw_scores(result, tmp_path / "scores.png")
    assert all((tmp_path / name).stat().st_size > 5_000 for name in ("curves.png", "scores.png"))


def test_the_shape_of_an_evaluation_is_plain_json() -> None:
    ends = play_ends(LEWIS, 50, SEED)
    found = measured("x", LEWIS, play_episodes(LEWIS, AgreeFirst(), 50, SEED), ends)
    assert json.loads(json.dumps(asdict(found)))["reward"]["n"] == 50
    assert np.isfinite(found.length.value)
