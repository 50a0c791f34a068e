"""The tournament: pairs that can be checked by hand, seats that do not matter, blindness, seeds, absences, scores and ranks."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bargaining_table import bits_of
from edgeworth import catalog
from edgeworth.agents.negotiators.learned import Learned, negotiator_of
from edgeworth.agents.negotiators.scripted import Greedy
from edgeworth.agents.negotiators.seat import OF_BUILT_IN_PARTNER, Seat, mirrored_config, mirrored_contexts, mirrored_states
from edgeworth.config import BargainingConfig, scenario_names
from edgeworth.errors import CannotPlay, DataError, InvalidOption, UnknownName
from edgeworth.evaluation.bargaining_figures import draw_tournament
from edgeworth.evaluation.episodes import Episodes, Player, opened, play_out_pair, play_pair
from edgeworth.evaluation.pairings import player_of
from edgeworth.evaluation.ranking import add_training_seeds
from edgeworth.evaluation.statistics import Estimate, mean, over_seeds, ratio, resampled_sums
from edgeworth.evaluation.tournament import Score, cross_table, ranked, run_tournament, shown_ranks
from edgeworth.executor.execution import executor
from edgeworth.games.bargaining.vocabulary import AGENT, PARTNER, Outcome
from networks import write_network

NAMES = sorted(catalog.NEGOTIATORS)
EVERY_PAIR = list(itertools.combinations_with_replacement(NAMES, 2))
LEWIS = BargainingConfig.from_options("lewis")
SMALL = 40


def pair(agent: str, partner: str, episodes: int = 300, config: BargainingConfig = LEWIS, seed: int = 0) -> Episodes:
    return play_pair(config, player_of(agent), player_of(partner), np.arange(seed, seed + episodes))


def talks_in_both_seats(config: BargainingConfig, one: Player, other: Player, episodes: int = SMALL) -> tuple[Any, Any]:
    """The same talks twice, the second time with seats and utilities exchanged; both as seen from the first seat."""
    seeds = np.arange(episodes)
    first, second = opened(config, seeds, two_player=True), opened(mirrored_config(config), seeds, two_player=True)
    contexts = np.concatenate([first.state["counts"], first.state["utilities"].reshape(-1, 6)], axis=1).astype(np.int16)
    first.reset(contexts)
    second.reset(mirrored_contexts(contexts))
    second.state["opener"] = 1 - first.state["opener"]
    charges, mirrored_charges = play_out_pair(first, one, other), play_out_pair(second, other, one)
    np.testing.assert_array_equal(charges, mirrored_charges[::-1])
    for name in OF_BUILT_IN_PARTNER:
        first.state[name] = 0
    return first.state, mirrored_states(second.state)


# By hand


def test_greedy_takes_everything_from_one_that_always_agrees() -> None:
    opens = BargainingConfig(opens="agent")
    episodes = pair("greedy", "agree_first", config=opens)
    assert (episodes.outcome == Outcome.PARTNER_AGREED).all() and (episodes.turns == 2).all()
    np.testing.assert_array_equal(episodes.deal, episodes.contexts[:, :3])
    assert (episodes.reward == episodes.maximum).all() and not episodes.partner_reward.any()


def test_one_that_always_agrees_and_opens_gives_away_what_greedy_asks_for_next() -> None:
    episodes = pair("agree_first", "greedy", config=BargainingConfig(opens="agent"))
    assert (episodes.outcome == Outcome.AGENT_AGREED).all() and (episodes.turns == 3).all()
    assert not episodes.reward.any() and (episodes.partner_reward > 0).any()


def test_two_greedy_ones_talk_until_time_is_up() -> None:
    episodes = pair("greedy", "greedy")
    assert (episodes.outcome == Outcome.TIMED_OUT).all() and (episodes.turns == 10).all()


def test_insisting_has_its_price_in_both_seats() -> None:
    config = BargainingConfig(insist_price=0.5, max_turns=4)
    episodes = pair("concession", "greedy", config=config, episodes=50)
    other = pair("greedy", "concession", config=config, episodes=50)
    assert (episodes.outcome == Outcome.TIMED_OUT).all() and (episodes.reward == -1.0).all() and not episodes.partner_reward.any()
    assert (other.partner_reward == -1.0).all() and not other.reward.any()


def test_two_random_ones_get_the_same_but_for_chance() -> None:
    episodes = pair("random", "random", episodes=4000)
    difference = mean(episodes.reward - episodes.partner_reward)
    assert difference.low < 0.0 < difference.high and difference.high - difference.low < 0.3


def test_without_its_partner_walkaway_is_classic_but_for_those_who_prepared_for_it() -> None:
    classic, walkaway = (BargainingConfig.from_options(name) for name in ("classic", "walkaway"))
    rewards = {
        name: [pair(name, "concession", 100, config).reward for config in (classic, walkaway)] for name in ("greedy", "random", "bayes")
    }
    same = {name: bool((one == other).all()) for name, (one, other) in rewards.items()}
    assert same == {"greedy": True, "random": True, "bayes": False}


# The two seats


@pytest.mark.parametrize(("one", "other"), EVERY_PAIR)
@pytest.mark.parametrize("scenario", ["classic", "one_shot"])
def test_exchanged_seats_give_the_same_talks_mirrored(one: str, other: str, scenario: str) -> None:
    seen, mirrored = talks_in_both_seats(BargainingConfig.from_options(scenario), player_of(one), player_of(other))
    assert bits_of(seen) == bits_of(mirrored)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "options", [{"scenario": "lewis"}, {"reservation": (0.1, 0.3), "discount": 0.95, "insist_price": 0.2, "sudden_end": 0.1}]
)
def test_seats_do_not_matter_in_uneven_games_either(name: str, options: dict[str, Any]) -> None:
    seen, mirrored = talks_in_both_seats(BargainingConfig.from_options(**options), player_of(name), player_of("random"), 25)
    assert bits_of(seen) == bits_of(mirrored)


@pytest.mark.parametrize("side", [AGENT, PARTNER])
def test_a_network_that_holds_on_to_hints_keeps_them_in_both_seats(tmp_path: Path, side: int) -> None:
    hints = {"mode": "random", "options": {}, "k": 2, "hold_last": True}
    negotiator = Learned(write_network(tmp_path / "hinted", features=29, hints=hints))
    table = opened(BargainingConfig(opens="agent" if side == AGENT else "partner"), np.arange(SMALL), two_player=True)
    seat, shown = Seat("hinted", negotiator, table, side), []
    for _ in range(2):
        waiting = table.state["outcome"] == Outcome.ONGOING
        seat.move(waiting)
        shown.append(np.where(waiting[:, None], negotiator._feeds[0].features[:, :10], 0.0))
        Seat("greedy", Greedy(), table, 1 - side).move(table.state["outcome"] == Outcome.ONGOING)
    assert np.count_nonzero(waiting) > 5 and shown[0].any(axis=1).all()
    np.testing.assert_array_equal(shown[1][waiting], shown[0][waiting])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("side", [AGENT, PARTNER])
def test_only_one_that_knows_the_other_side_is_moved_by_its_utilities(name: str, side: int) -> None:
    negotiator = negotiator_of(name)
    heard = []
    for shift in (0, 1):
        table = opened(BargainingConfig(opens="agent" if side == AGENT else "partner"), np.arange(SMALL), two_player=True)
        theirs = table.state["utilities"][:, 1 - side]
        table.state["utilities"][:, 1 - side] = np.roll(theirs, shift, axis=0)
        seat = Seat(name, negotiator, table, side)
        seat.move(np.ones(SMALL, np.bool_))
        heard.append(table.state["history"][:, 0].tolist())
        shown = seat.view.state["utilities"][:, PARTNER], seat.view.state["maximum"][:, PARTNER], seat.view.views[:, 6:9]
        assert negotiator.knows_partner or not any(numbers.any() for numbers in shown)
    assert (heard[0] == heard[1]) is not negotiator.knows_partner


def test_a_game_that_reveals_utilities_reveals_them_in_both_seats() -> None:
    table = opened(BargainingConfig(reveal_partner_utilities=True, opens="partner"), np.arange(SMALL), two_player=True)
    seat = Seat("greedy", negotiator_of("greedy"), table, PARTNER)
    seat.move(np.ones(SMALL, np.bool_))
    np.testing.assert_array_equal(seat.view.views[:, 6:9], table.state["utilities"][:, AGENT])


# The whole


def small_tournament(**changes: Any) -> dict[str, Any]:
    scenarios = {name: BargainingConfig.from_options(name) for name in ("lewis", "one_shot")}
    given = {"scenarios": scenarios, "names": ["agree_first", "concession", "greedy", "random"], "episodes": SMALL, "seed": 3, **changes}
    return run_tournament(**given)


def test_every_ordered_pair_is_played_and_seeds_replay_it() -> None:
    result = small_tournament()
    for table in result["scenarios"]:
        assert {(p["agent"], p["partner"]) for p in table["pairs"]} == set(itertools.product(result["negotiators"], repeat=2))
        assert [row["agent"] for row in table["with_own_partner"]] == result["negotiators"] and table["absent"] == {}
    assert result["seeds"] == "3 to 42" and small_tournament() == result and small_tournament(seed=4) != result
    assert json.loads(json.dumps(result)) == result


@pytest.mark.parametrize("engine", ["local", pytest.param("ray", marks=pytest.mark.slow)])
def test_a_tournament_is_the_same_to_the_last_bit_on_two_workers(engine: str) -> None:
    with executor(engine, 2) as run:
        assert small_tournament(run=run, names=["bayes", "greedy", "random"]) == small_tournament(names=["bayes", "greedy", "random"])


def test_a_score_is_the_mean_over_the_others_and_both_seats() -> None:
    table = small_tournament()["scenarios"][0]
    for row in table["scores"]:
        mine = [p["agent_share"]["value"] for p in table["pairs"] if p["agent"] == row["name"] != p["partner"]]
        mine += [p["partner_share"]["value"] for p in table["pairs"] if p["partner"] == row["name"] != p["agent"]]
        assert len(mine) == 6 and row["score"]["value"] == pytest.approx(np.mean(mine))
        assert row["score"]["value"] == pytest.approx((row["as_agent"]["value"] + row["as_partner"]["value"]) / 2)
        deals = [p["deal_rate"]["value"] for p in table["pairs"] if (p["agent"] == row["name"]) != (p["partner"] == row["name"])]
        assert len(deals) == 6 and row["deal_rate"]["value"] == pytest.approx(np.mean(deals))
        assert row["score"]["low"] <= row["score"]["value"] <= row["score"]["high"] and row["score"]["n"] == SMALL
    cells = cross_table(table)
    first = table["scores"][0]["name"]
    others = [value for name, value in cells[first].items() if name != first]
    assert np.mean(others) == pytest.approx(table["scores"][0]["score"]["value"])


def test_a_pairs_measures_are_those_of_its_episodes() -> None:
    found = next(p for p in small_tournament()["scenarios"][0]["pairs"] if (p["agent"], p["partner"]) == ("concession", "random"))
    episodes = pair("concession", "random", SMALL, seed=3)
    share, deals = ratio(episodes.reward, episodes.maximum), mean(episodes.agreed.astype(np.float64))
    for estimate, name in ((share, "agent_share"), (deals, "deal_rate")):
        assert found[name] == pytest.approx(estimate.as_dict())
    assert found["pareto_rate"]["n"] == episodes.agreed.sum() and 0.0 < found["nash_ratio"]["value"] < 1.0
    assert found["partner_share"]["value"] == pytest.approx(episodes.partner_reward.sum() / (10 * SMALL))


def test_the_overall_score_is_the_mean_of_the_scenarios() -> None:
    result = small_tournament()
    for row in result["overall"]:
        scores = [other["score"]["value"] for table in result["scenarios"] for other in table["scores"] if other["name"] == row["name"]]
        assert row["score"]["value"] == pytest.approx(np.mean(scores)) and len(scores) == 2


def test_ranks_are_ranges_where_scores_are_not_separated() -> None:
    noise = np.random.default_rng(0).normal(0.0, 0.1, 1000)
    own = np.random.default_rng(1).normal(0.0, 0.001, (2, 1000))

    def score(name: str, value: float, samples: Any) -> Score:
        return Score(name, Estimate(value, float(samples.min()), float(samples.max()), 10), samples)

    close = [score("a", 0.5, 0.5 + noise), score("b", 0.45, 0.45 + noise + own[0]), score("c", 0.4499, 0.4499 + noise + own[1])]
    assert [(row["name"], row["ranks"]) for row in ranked(close)] == [("a", [1, 1]), ("b", [2, 3]), ("c", [2, 3])]
    apart = [score("a", 0.5, 0.5 + noise), score("b", 0.45, 0.45 - noise)]
    assert [row["ranks"] for row in ranked(apart)] == [[1, 2], [1, 2]]
    assert (shown_ranks([2, 2]), shown_ranks([2, 3])) == ("2", "2–3")


def test_many_quantities_are_resampled_as_one_is() -> None:
    values = np.random.default_rng(0).random((50, 2))
    sums = resampled_sums(values)
    low, high = np.quantile(sums[:, 0] / sums[:, 1], [0.025, 0.975])
    found = ratio(values[:, 0], values[:, 1])
    assert (low, high) == (pytest.approx(found.low), pytest.approx(found.high))


# Further training seeds


def test_networks_of_further_training_seeds_play_in_the_places_of_the_bundled_ones(tmp_path: Path) -> None:
    own = {seed: str(write_network(tmp_path / f"self_play/seed{seed}/checkpoints/last", seed=seed)) for seed in (1, 2)}
    lewis = str(write_network(tmp_path / "learned_lewis/seed1/checkpoints/last", seed=7))
    names = ["greedy", "learned", "self_play"]
    result = small_tournament(names=names, trained=tmp_path)
    assert [(other["training_seed"], other["networks"]) for other in result["again"]] == [(1, ["learned", "self_play"]), (2, ["self_play"])]
    assert {**result, "again": []} == small_tournament(names=names)
    for other, players in zip(result["again"], (["greedy", lewis, own[1]], ["greedy", "learned", own[2]]), strict=True):
        (as_named, _), (by_path, _) = other["scenarios"], small_tournament(names=players)["scenarios"]
        assert [p["agent_share"] for p in as_named["pairs"]] == [p["agent_share"] for p in by_path["pairs"]]
        assert {p["agent"] for p in as_named["pairs"]} == set(names)
    ranking, others = (
        [{"name": "a", "score": 0.5, "place": 1}],
        [[{"name": "a", "score": 0.3, "place": 2}], [{"name": "a", "score": 0.4, "place": 1}]],
    )
    add_training_seeds(ranking, others)
    over = ranking[0]["over_training_seeds"]
    assert over == {"score": pytest.approx(over_seeds([0.5, 0.3, 0.4]).as_dict()), "places": [1, 2]}
    with pytest.raises(InvalidOption, match="holds no runs of a study"):
        small_tournament(trained=tmp_path / "nothing")


# Who cannot play


def test_one_that_cannot_play_is_absent_with_the_reason_and_the_others_play_on() -> None:
    result = run_tournament({"large": BargainingConfig(max_count=7)}, ["learned", "greedy", "random"], SMALL, 0)
    table = result["scenarios"][0]
    assert list(table["absent"]) == ["learned"] and "No bundled expert knows pools" in table["absent"]["learned"]
    assert {row["name"] for row in table["scores"]} == {"greedy", "random"} and len(table["pairs"]) == 4


def test_one_that_is_stuck_in_the_middle_of_the_talks_is_absent_too() -> None:
    passes = BargainingConfig(disagree="passes", max_turns=6)
    table = run_tournament({"passes": passes}, ["random", "bayes", "greedy"], 200, 0)["scenarios"][0]
    assert list(table["absent"]) == ["bayes"] and "AGREE needs an offer" in table["absent"]["bayes"]
    assert all("bayes" not in (p["agent"], p["partner"]) for p in table["pairs"]) and len(table["pairs"]) == 4


def test_a_network_for_smaller_pools_says_why_it_cannot_sit_down(tmp_path: Path) -> None:
    path = str(write_network(tmp_path / "small", units=3))
    with pytest.raises(CannotPlay, match=f"{path} cannot play this game: .*up to 3 units of a type, and this game has up to 4") as error:
        pair("greedy", path)
    assert error.value.who == path


def test_names_are_checked_before_anything_is_played(tmp_path: Path) -> None:
    for names in (["greedy"], ["greedy", "greedy"]):
        with pytest.raises(InvalidOption, match="two or more different negotiators; given: greedy"):
            small_tournament(names=names)
    with pytest.raises(UnknownName, match="Did you mean 'greedy'"):
        small_tournament(names=["random", "gredy"])
    with pytest.raises(DataError):
        small_tournament(names=["random", str(tmp_path / "nothing")])


def test_a_tournament_is_drawn(tmp_path: Path) -> None:
    result = small_tournament(names=["agree_first", "greedy"])
    draw_tournament(result, tmp_path / "all.png")
    only = {**result["scenarios"][0], "absent": {"bayes": "no plan"}}
    draw_tournament({**result, "scenarios": [only], "overall": []}, tmp_path / "one.png")
    assert all((tmp_path / name).stat().st_size > 10_000 for name in ("all.png", "one.png"))


def test_every_named_scenario_can_be_played_by_every_negotiator() -> None:
    for scenario in scenario_names():
        for name in NAMES:
            pair(name, "random", 5, BargainingConfig.from_options(scenario))
