"""Both games as OpenEnv environments: seeds, determinism, isolation, floor, headroom, canaries, and rubrics that equal the reward."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from designs import SANE
from edgeworth.agents.designers.bundled import bundled_mechanism
from edgeworth.errors import EpisodeOver, InvalidOption, UnknownName
from edgeworth.games.auction.action import action_of, random_mechanisms
from edgeworth.games.auction.state import DIAGNOSTICS
from edgeworth.games.auction.vocabulary import BIDDER_TYPES

pytest.importorskip("openenv")

from edgeworth.server.openenv_games import BargainingOpenEnv, DaedalusOpenEnv, MechanismAction, MoveAction, PartialMechanismAction

FLOOR, HEADROOM = 0.326, 0.2
"""The mean of random mechanisms on `mixed`, and what the best constant one has above it, at least."""
TALKS_FLOOR, TALKS_ORACLE = 0.156, 0.696
"""Share of the maximum: a random legal agent, and one that knows the partner."""


def random_action(rng: np.random.Generator) -> MechanismAction:
    return MechanismAction(**action_of(random_mechanisms(rng, 1)[0]).model_dump())


def random_move(rng: np.random.Generator, told: dict[str, Any]) -> MoveAction:
    act = int(rng.choice(np.flatnonzero(told["action_mask"])))
    return MoveAction(act_type=act, oA=[int(rng.integers(0, most + 1)) for most in told["oA_max"]])


def played(environment: Any, seed: int, choice: int, **options: Any) -> Iterator[Any]:
    """The observations of an episode; `choice` decides the actions."""
    rng = np.random.default_rng(choice)
    observation = environment.reset(seed=seed, episode_id="one", **options)
    yield observation
    while not observation.done:
        market = isinstance(environment, DaedalusOpenEnv)
        observation = environment.step(random_action(rng) if market else random_move(rng, observation.metadata))
        yield observation


def text(observations: Any) -> list[str]:
    return [observation.model_dump_json() for observation in observations]


GAMES = pytest.mark.parametrize("game", [DaedalusOpenEnv, BargainingOpenEnv])


@GAMES
def test_seed_control_a_seed_decides_everything_and_another_one_differs(game: Any) -> None:
    assert text(played(game(), 7, 0)) == text(played(game(), 7, 0))
    assert text(played(game(), 7, 0)) != text(played(game(), 8, 0))


@GAMES
def test_episode_determinism_a_used_environment_plays_as_a_fresh_one(game: Any) -> None:
    used = game()
    text(played(used, 3, 1))
    assert text(played(used, 7, 0)) == text(played(game(), 7, 0))


@GAMES
def test_episode_isolation_episodes_side_by_side_do_not_meet(game: Any) -> None:
    apart = [text(played(game(), seed, seed)) for seed in range(4)]
    side_by_side: list[list[str]] = [[] for _ in apart]
    for row in itertools.zip_longest(*(played(game(), seed, seed) for seed in range(4))):
        for k, observation in enumerate(row):
            side_by_side[k] += [] if observation is None else [observation.model_dump_json()]
    assert side_by_side == apart


def test_without_a_seed_episodes_differ() -> None:
    market = DaedalusOpenEnv()
    outcomes = set()
    for _ in range(4):
        market.reset()
        outcomes.add(market.step(MechanismAction(**SANE)).reward)
    assert len(outcomes) == 4


def test_reset_options_arrive() -> None:
    market = DaedalusOpenEnv()
    first = market.reset(seed=7, stage=3, n_agents=5, episode_length=2)
    assert (first.n_agents, first.episode_length) == (5, 2)
    assert market.state.options == {"stage": 3, "n_agents": 5, "episode_length": 2}
    assert [market.step(MechanismAction(**SANE)).done for _ in range(2)] == [False, True]
    talks = BargainingOpenEnv()
    fixed = {"counts": [1, 2, 3], "my_utilities": [1, 2, 3], "partner_utilities": [3, 2, 1]}
    opened = talks.reset(seed=7, scenario="one_shot", partner="conceder", **fixed)
    assert (opened.counts, opened.my_utilities, opened.turns_remaining) == ([1, 2, 3], [1.0, 2.0, 3.0], 3)


def test_stages_are_different_markets() -> None:
    market = DaedalusOpenEnv()
    scores = []
    for stage in range(5):
        market.reset(seed=7, stage=stage)
        scores.append(market.step(MechanismAction(**SANE)).reward)
    assert len(set(scores)) == 5


def test_what_cannot_be_played_is_refused_before_anything_changes() -> None:
    market = DaedalusOpenEnv()
    with pytest.raises(EpisodeOver):
        market.step(MechanismAction(**SANE))
    with pytest.raises(UnknownName, match="'stage'"):
        market.reset(stge=3)
    with pytest.raises(InvalidOption):
        market.reset(seed=-1)
    with pytest.raises(ValueError, match="reserve_price"):
        MechanismAction(**{**SANE, "reserve_price": 5.0})
    with pytest.raises(ValueError, match="colour"):
        MechanismAction(**SANE, colour="blue")
    assert market.state.step_count == 0


def test_the_rubric_of_a_market_is_the_product_of_four_scores_and_equals_the_reward() -> None:
    market = DaedalusOpenEnv()
    for seed in range(20):
        for observation in itertools.islice(played(market, seed, seed, stage=seed % 5), 1, None):
            scores = {name: rubric.last_score for name, rubric in market.rubric.named_rubrics()}
            assert scores == observation.metadata["components"] and len(scores) == 4
            assert market.rubric.last_score == observation.reward == pytest.approx(math.prod(scores.values()), abs=1e-12)


@pytest.mark.parametrize("scenario", ["classic", "discounted", "one_shot", "walkaway"])
def test_the_rubric_of_talks_equals_the_reward(scenario: str) -> None:
    talks, dear = BargainingOpenEnv(), {"insist_price": 0.5, "reservation": [0.1, 0.1], "normalize": True}
    for seed in range(40):
        options = dear if seed % 2 else {}
        for observation in itertools.islice(played(talks, seed, seed, scenario=scenario, **options), 1, None):
            assert talks.rubric.last_score == observation.reward
    names = [name for name, _ in talks.rubric.named_rubrics()]
    assert names == ["deal", "deal.agreed", "deal.worth", "deal.patience", "reservation", "charge"]


def test_rewards_are_numbers_within_their_range() -> None:
    for seed in range(20):
        for observation in itertools.islice(played(DaedalusOpenEnv(), seed, seed), 1, None):
            assert type(observation.reward) is float and 0.0 <= observation.reward <= 1.0


def mean_of(policy: Any, episodes: int) -> tuple[float, float]:
    """The mean reward of a step on `mixed`, and its standard error over episodes."""
    market, means = DaedalusOpenEnv(), []
    for seed in range(episodes):
        market.reset(seed=seed)
        means.append(np.mean([market.step(policy(seed, k)).reward for k in range(10)]))
    return float(np.mean(means)), float(np.std(means) / math.sqrt(episodes))


def test_floor_and_headroom_random_mechanisms_score_the_known_floor_and_a_sound_one_far_above() -> None:
    rng = np.random.default_rng(0)
    floor, error = mean_of(lambda *_: random_action(rng), 150)
    assert floor == pytest.approx(FLOOR, abs=4 * error + 0.005)
    best = MechanismAction(**bundled_mechanism("mixed").model_dump())
    high, error = mean_of(lambda *_: best, 60)
    assert high - 4 * error > floor + HEADROOM


def oracle_move(counts: list[int], mine: list[float], theirs: list[int]) -> MoveAction:
    """The best share that the heuristic partner accepts after an INSIST: it wants half of what the pool is worth to it."""
    whole = sum(u * n for u, n in zip(theirs, counts, strict=True))
    shares = list(itertools.product(*(range(n + 1) for n in counts)))
    accepted = [s for s in shares if 2 * sum(u * (n - k) for u, n, k in zip(theirs, counts, s, strict=True)) >= whole]
    best = max(accepted, key=lambda s: sum(u * k for u, k in zip(mine, s, strict=True)))
    return MoveAction(act_type=1, oA=list(best))


def test_floor_and_oracle_of_talks_are_the_known_ones() -> None:
    rng, talks = np.random.default_rng(0), BargainingOpenEnv()
    floor = oracle = most = 0.0
    for seed in range(600):
        counts = rng.integers(1, 5, 3).tolist()
        mine, theirs = rng.integers(0, 11, 3).tolist(), rng.integers(0, 11, 3).tolist()
        fixed = {"counts": counts, "my_utilities": mine, "partner_utilities": theirs}
        most += sum(u * n for u, n in zip(mine, counts, strict=True))
        floor += sum(observation.reward or 0.0 for observation in played(talks, seed, seed, **fixed))
        talks.reset(seed=seed, **fixed)
        oracle += talks.step(oracle_move(counts, mine, theirs)).reward
    assert floor / most == pytest.approx(TALKS_FLOOR, abs=0.04)
    assert oracle / most == pytest.approx(TALKS_ORACLE, abs=0.03)


def keys(value: Any) -> Iterator[str]:
    """All keys in a document, however deep."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def test_canary_nothing_hidden_is_in_what_a_designer_is_told() -> None:
    market = DaedalusOpenEnv()
    for observation in played(market, 7, 0, n_agents=16):
        told = json.loads(observation.model_dump_json())
        everything = json.dumps([told, market.state.model_dump(mode="json")])
        assert not {"truth", "types", "stage", "seed", *DIAGNOSTICS} & {*keys(told), *keys(market.state.model_dump())}
        assert not any(f'"{kind}"' in everything for kind in BIDDER_TYPES)


def test_canary_nothing_hidden_is_in_what_a_negotiator_is_told() -> None:
    for seed in range(50):
        talks = BargainingOpenEnv()
        for observation in played(talks, seed, seed):
            told = json.loads(observation.model_dump_json())
            assert told["partner_utilities"] == [0.0, 0.0, 0.0]
            assert not {"truth", "seed"} & {*keys(told), *keys(talks.state.model_dump())}
            assert observation.done or not {"partner_reward", "deal", "outcome"} & {*keys(told)}


def test_tasks_are_episodes_that_can_be_opened() -> None:
    for environment in (DaedalusOpenEnv(), BargainingOpenEnv()):
        for split in environment.list_splits():
            tasks = environment.get_task_range(split)
            assert len(tasks) == environment.num_tasks(split) and tasks[0] == environment.get_task(split, 0)
            for task in tasks:
                environment.reset(seed=7, **task["options"])
            with pytest.raises(IndexError):
                environment.get_task(split, len(tasks))
        with pytest.raises(UnknownName):
            environment.list_tasks("exam")


def test_a_partial_mechanism_keeps_what_is_in_force() -> None:
    market = DaedalusOpenEnv()
    market.reset(seed=1)
    market.step(MechanismAction(**SANE))
    seen = market.step(PartialMechanismAction(reserve_price=0.4))
    assert seen.current_mechanism is not None and seen.current_mechanism.model_dump() == {**SANE, "reserve_price": 0.4}
    assert "auction_type" in seen.metadata["filled"]
