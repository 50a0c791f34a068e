"""Whole populations: every negotiation that a game can draw, against playing them one by one and against theory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeworth.agents.negotiators.bundled import FOLDER
from edgeworth.agents.negotiators.exact import Bayes
from edgeworth.agents.negotiators.learned import Learned, negotiator_of
from edgeworth.agents.negotiators.scripted import RandomLegal
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.evaluation.episodes import maximum_rewards, play_out
from edgeworth.evaluation.exact import exact_ends, measured_exactly, oracle_share, plan_shares, random_share
from edgeworth.evaluation.whole_population import Population, play_population, play_sides
from edgeworth.executor.execution import Executor, Results
from edgeworth.executor.local import Local
from edgeworth.executor.tasks import Task
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.bounds import oracle_values
from edgeworth.games.bargaining.contexts import lewis_table
from edgeworth.progress import Progress, silent
from networks import write_network

OPENS = ("agent", "partner")


def lewis(**options: Any) -> BargainingConfig:
    return BargainingConfig.from_options("lewis", **options)


def every_episode(config: BargainingConfig, opens: Any) -> BargainingBatch:
    """All Lewis contexts, one episode each."""
    table = lewis_table()
    batch = BargainingBatch(replace(config, opens=opens), len(table))
    batch.seed(0)
    batch.reset(table)
    return batch


GAMES: list[dict[str, Any]] = [
    {},
    {"partner": "walk_away"},
    {"partner": "boulware"},
    {"partner": "tit_for_tat"},
    {"partner_options": {"counter": "utility_aware"}},
    {"discount": 0.9, "insist_price": 0.5, "reservation": (0.2, 0.1)},
    {"normalize": True, "disagree": "passes"},
]


@pytest.mark.parametrize("options", GAMES, ids=str)
@pytest.mark.parametrize("name", ["learned", "concession", "agree_first"])
def test_the_population_pays_what_its_episodes_pay_one_by_one(name: str, options: dict[str, Any]) -> None:
    config, negotiator = lewis(**options), negotiator_of(name)
    found = play_population(config, negotiator)
    mine = theirs = deals = turns = 0.0
    for opens in OPENS:
        batch = every_episode(config, opens)
        rewards, partner_rewards = play_out(batch, negotiator)
        mine, theirs = mine + rewards.mean() / 2, theirs + partner_rewards.mean() / 2
        outcome = batch.state["outcome"]
        deals += ((outcome >= 1) & (outcome <= 3)).mean() / 2
        turns += batch.state["turn"].mean() / 2
    assert (found.reward, found.partner_reward, found.deal_rate, found.length) == pytest.approx((mine, theirs, deals, turns))
    assert found.negotiations == 2 * len(lewis_table())


def test_a_population_of_partners_is_the_average_of_its_members() -> None:
    members = {"heuristic": 1.0, "boulware": 2.0, "tit_for_tat": 1.0}
    agent = negotiator_of("concession")
    alone = {name: play_population(lewis(partner=name), agent).reward for name in members}
    together = play_population(lewis(partner="population", partner_options={"members": members}), agent)
    assert together.reward == pytest.approx(sum(weight * alone[name] for name, weight in members.items()) / 4)


@pytest.mark.parametrize("partner", ["heuristic", "walk_away", "linear"])
def test_the_oracle_of_a_population_is_the_mean_of_its_contexts(partner: str) -> None:
    config = lewis(partner=partner)
    batches = [every_episode(config, opens) for opens in OPENS]
    values, most = (np.concatenate([compute(batch) for batch in batches]) for compute in (oracle_values, maximum_rewards))
    assert oracle_share(config).value == pytest.approx(values.sum() / most.sum())


@pytest.mark.parametrize(
    "options", [{}, {"partner": "walk_away"}, {"partner_options": {"counter": "keep_all"}}, {"discount": 0.9}], ids=str
)
def test_playing_the_blind_plan_earns_what_plans_are_worth(options: dict[str, Any]) -> None:
    config = BargainingConfig.from_options(**{"scenario": "lewis", **options})
    assert play_population(config, Bayes()).share_of_maximum == pytest.approx(plan_shares(config, None).best)


@pytest.mark.parametrize(
    "options", [{}, {"partner": "walk_away"}, {"max_turns": 3, "reservation": (0.3, 0.0)}, {"discount": 0.8, "normalize": True}], ids=str
)
def test_random_play_earns_what_the_recursion_says(options: dict[str, Any]) -> None:
    config = lewis(**options)
    shares = []
    for opens in OPENS:
        batch = BargainingBatch(replace(config, opens=opens), 40 * len(lewis_table()))
        batch.seed(0)
        batch.reset(np.tile(lewis_table(), (40, 1)))
        shares.append(play_out(batch, RandomLegal())[0] / maximum_rewards(batch))
    played = np.concatenate(shares)
    assert random_share(config) == pytest.approx(played.mean(), abs=4 * played.std() / len(played) ** 0.5)


def test_one_order_of_the_types_is_enough_where_only_the_pool_matters() -> None:
    config = BargainingConfig.from_options("one_shot", max_count=2)
    assert plan_shares(config, 1).best == pytest.approx(play_population(config, Bayes()).share_of_maximum)


def test_the_order_of_the_types_changes_nothing_for_a_network_that_reads_their_worth(tmp_path: Path) -> None:
    config = BargainingConfig.from_options("one_shot", min_count=3)
    agent = Learned(write_network(tmp_path / "agent", 18))
    whole = Population.of(config)
    assert play_population(config, agent).share_of_maximum == pytest.approx(whole.share(play_sides(whole, agent).reward))
    assert play_population(config, agent).negotiations == whole.negotiations


def test_a_bundled_expert_is_played_in_one_order_of_the_types() -> None:
    config, orders = BargainingConfig.from_options("classic", min_count=3), []

    class Watched(Executor):
        def __call__(self, tasks: Sequence[Task], progress: Progress = silent) -> Results:
            orders.extend(task.arguments[2] for task in tasks)
            return super().__call__(tasks, progress)

    assert play_population(config, negotiator_of("learned"), Watched(Local())) == play_population(config, Learned(FOLDER / "classic"))
    assert orders == [True]


def test_random_hints_are_drawn_for_every_own_side(tmp_path: Path) -> None:
    hints = {"mode": "random", "options": {}, "k": 1, "hold_last": False}
    agent = Learned(write_network(tmp_path / "agent", 28, hints=hints))
    shares = []
    for opens in OPENS:
        batch = BargainingBatch(replace(lewis(), opens=opens), 10 * len(lewis_table()))
        batch.seed(0)
        batch.reset(np.tile(lewis_table(), (10, 1)))
        shares.append(play_out(batch, agent)[0] / maximum_rewards(batch))
    played, found = np.concatenate(shares), play_population(lewis(), agent).share_of_maximum
    assert found == pytest.approx(played.mean(), abs=4 * played.std() / 5_000**0.5)
    assert found != pytest.approx(play_population(lewis(), Learned(agent.checkpoint, hint="none")).share_of_maximum, abs=0.01)


def test_blind_bayes_scores_one_and_regrets_nothing() -> None:
    config = lewis()
    found = measured_exactly("bayes", play_population(config, Bayes()), exact_ends(config))
    assert found.normalised_score is not None and found.regret is not None
    assert (found.normalised_score.value, found.regret.value) == pytest.approx((1.0, 0.0), abs=1e-12)


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("random", {}, "draws its moves"),
        ("oracle", {}, "knows its partner"),
        ("concession", {"partner": "random"}, "draw nothing"),
        ("concession", {"sudden_end": 0.1}, "sudden end"),
    ],
)
def test_what_cannot_be_enumerated_is_refused(name: str, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidOption, match=reason):
        play_population(lewis(**options), negotiator_of(name))
