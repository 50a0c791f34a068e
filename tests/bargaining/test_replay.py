"""A seed replays bit for bit: in any batch, on any number of threads, in any order of sessions, and after a copy."""

from __future__ import annotations

import copy
import itertools
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from bargaining_table import all_bits, begun, bits_of, looks_like_chance
from edgeworth.envs.flat_action import FlatActionEnv, FlatActionVectorEnv
from edgeworth.envs.negotiation import NegotiationEnv
from edgeworth.envs.negotiation_vector import NegotiationVectorEnv
from edgeworth.games.bargaining import rules
from edgeworth.games.bargaining.contexts import Context
from edgeworth.games.bargaining.joint_actions import encode
from edgeworth.games.bargaining.vocabulary import Outcome
from edgeworth.seeding import below, draw, episode_key, unit

BUSY: dict[str, Any] = {"partner": "population", "partner_options": {"members": {"random": 2.0, "heuristic": 1.0}}, "sudden_end": 0.1}
"""Options that draw for everything there is to draw for."""
STEPS = 25


def random_action(env: NegotiationEnv) -> dict[str, Any]:
    acts, shares = env.batch.random_actions()
    return {"act_type": acts[0], "oA": shares[0]}


def episodes(env: NegotiationEnv, seed: int, steps: int = STEPS) -> list[Any]:
    """Everything a single environment says over several episodes of random play."""
    said: list[Any] = [env.reset(seed=seed)]
    for _ in range(steps):
        said.append(env.step(random_action(env)))
        if said[-1][2]:
            said.append(env.reset())
    return said


def same(one: Any, other: Any) -> bool:
    """Equal to the last bit, types included."""
    return pickle.dumps(plain(one)) == pickle.dumps(plain(other))


def plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, dict):
        return {key: plain(v) for key, v in sorted(value.items())}
    return tuple(plain(v) for v in value) if isinstance(value, list | tuple) else value


# Batches, threads, interleavings


def test_a_slot_of_ten_thousand_plays_what_a_batch_of_one_plays() -> None:
    seed = 77
    many = begun(10_000, seed=seed, **BUSY)
    looked_at = np.arange(0, 10_000, 37)
    record = []
    for _ in range(STEPS):
        many.step(*many.random_actions(), rules.SAME_STEP)
        record.append([array[looked_at] for array in (many.state, many.reports, many.views, many.masks)])
    for place, slot in enumerate(looked_at.tolist()):
        one = begun(1, seed=seed + slot, **BUSY)
        for state, reports, views, masks in record:
            one.step(*one.random_actions(), rules.SAME_STEP)
            together = [bits_of(state[[place]]), bits_of(reports[[place]]), views[place].tobytes(), masks[place].tobytes()]
            assert all_bits(one) == together


@pytest.mark.parametrize("partner", ["heuristic", "random"])
def test_a_rollout_is_the_same_on_one_thread_and_on_two(partner: str) -> None:
    one, two = begun(1_001, seed=3, partner=partner), begun(1_001, seed=3, partner=partner)
    halves = [two.over(two.state[part]) for part in (slice(500), slice(500, None))]
    with ThreadPoolExecutor(2) as threads:
        totals = np.concatenate(list(threads.map(lambda half: half.random_rollout(200), halves)))
    assert one.random_rollout(200).tobytes() == totals.tobytes()
    assert bits_of(one.state) == bits_of(two.state)


def test_a_rollout_is_the_same_game_as_steps() -> None:
    rolled, stepped = begun(50, seed=9, **BUSY), begun(50, seed=9, **BUSY)
    totals = rolled.random_rollout(STEPS)
    rewards = np.zeros(50)
    for _ in range(STEPS):
        stepped.step(*stepped.random_actions(), rules.SAME_STEP)
        rewards += stepped.reports["reward"]
    assert bits_of(rolled.state) == bits_of(stepped.state)
    assert totals[:, 1].tobytes() == rewards.tobytes()


def test_sessions_do_not_hear_each_other_in_any_interleaving() -> None:
    alone = [episodes(NegotiationEnv(**BUSY), seed) for seed in range(6)]
    envs = [NegotiationEnv(**BUSY) for _ in range(6)]
    told: list[list[Any]] = [[env.reset(seed=seed)] for seed, env in enumerate(envs)]
    turns = np.random.default_rng(0).permutation(np.repeat(np.arange(6), STEPS))
    for i in turns:
        told[i].append(envs[i].step(random_action(envs[i])))
        if told[i][-1][2]:
            told[i].append(envs[i].reset())
    assert all(same(together, by_itself) for together, by_itself in zip(told, alone, strict=True))


def test_reset_with_a_seed_forgets_everything_before_it() -> None:
    used = NegotiationEnv(**BUSY)
    episodes(used, seed=1)
    assert same(episodes(used, seed=5), episodes(NegotiationEnv(**BUSY), seed=5))


def context_after(env: NegotiationEnv, **reset: Any) -> Context:
    env.reset(**reset)
    return env.context


def test_further_resets_play_further_episodes() -> None:
    env = NegotiationEnv()
    contexts = [context_after(env, seed=4), *(context_after(env) for _ in range(9))]
    assert len(set(contexts)) == 10
    assert [context_after(env, seed=4), *(context_after(env) for _ in range(9))] == contexts


def test_environments_without_a_seed_differ() -> None:
    assert len({context_after(NegotiationEnv()) for _ in range(5)}) == 5


# Copies


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"])
@pytest.mark.parametrize("make", [NegotiationEnv, FlatActionEnv])
def test_a_copied_environment_plays_on_as_the_original_does(make: Any, copied: Any) -> None:
    env = make(partner="linear", disagree="passes")
    env.reset(seed=8)
    for _ in range(2):
        env.step(everything(env))
    twin = copied(env)
    for _ in range(STEPS):
        action = everything(env)
        ours, theirs = env.step(action), twin.step(action)
        assert same(ours, theirs)
        if ours[2]:
            assert same(env.reset(), twin.reset())


def test_a_copied_environment_leaves_the_original_alone() -> None:
    env = NegotiationEnv(opens="agent")
    env.reset(seed=0)
    twin = pickle.loads(pickle.dumps(env))
    twin.step(random_action(twin))
    assert env.batch.state["turn"][0] == 0
    assert twin.action_space.sample().keys() == env.action_space.sample().keys()


def test_a_copied_vector_environment_plays_on_as_the_original_does() -> None:
    env = NegotiationVectorEnv(8, **BUSY)
    env.reset(seed=2)
    twin = pickle.loads(pickle.dumps(env))
    for _ in range(STEPS):
        actions = env.random_actions()
        assert same(env.step(actions), twin.step(actions))


def everything(env: Any) -> Any:
    """An offer of the whole pool to oneself, in the form of the environment's actions."""
    if isinstance(env, FlatActionEnv):
        return encode(0, tuple(env.batch.state["counts"][0].tolist()), env.max_count)
    return {"act_type": 0, "oA": env.batch.state["counts"][0]}


# The vector environment


SHOWN = ("action_mask", "oA_max", "partner_has_spoken", "my_last_offer")


def assert_same_row(i: int, batched: tuple[Any, Any], single: tuple[Any, Any]) -> None:
    """Row *i* of batched observations and infos is what a single environment says."""
    for key, value in single[0].items():
        np.testing.assert_array_equal(batched[0][key][i], value)
    for key in SHOWN:
        np.testing.assert_array_equal(batched[1][key][i], single[1][key])
    lines = [(m.side, m.act, *(m.share or (0, 0, 0))) for m in single[1]["history"]]
    assert [tuple(line) for line in batched[1]["history"][i][: len(lines)].tolist()] == lines


def assert_same_ending(i: int, endings: dict[str, Any], single: dict[str, Any]) -> None:
    assert endings["_outcome"][i]
    assert Outcome(int(endings["outcome"][i])).name == single["outcome"]
    assert endings["partner_reward"][i] == single["partner_reward"]
    assert tuple(endings["deal"][i].tolist()) == (single["deal"] or (0, 0, 0))


@pytest.mark.parametrize(
    "options", [BUSY, {"normalize": True, "reveal_partner_utilities": True, "contexts": "lewis"}], ids=["busy", "normal"]
)
def test_same_step_autoreset_equals_single_environments(options: dict[str, Any]) -> None:
    vector, singles = NegotiationVectorEnv(12, **options), [NegotiationEnv(**options) for _ in range(12)]
    batched = vector.reset(seed=30)
    for i, env in enumerate(singles):
        assert_same_row(i, batched, env.reset(seed=30 + i))
    for _ in range(40):
        actions = vector.random_actions()
        observations, rewards, terminated, truncated, infos = vector.step(actions)
        assert not truncated.any()
        for i, env in enumerate(singles):
            observation, reward, ended, _, info = env.step({"act_type": actions["act_type"][i], "oA": actions["oA"][i]})
            assert (rewards[i], terminated[i]) == (reward, ended)
            if ended:
                for key, value in observation.items():
                    np.testing.assert_array_equal(infos["final_obs"][key][i], value)
                assert_same_ending(i, infos["final_info"], info)
                observation, info = env.reset()
            assert_same_row(i, (observations, infos), (observation, info))


def test_next_step_autoreset_equals_single_environments() -> None:
    vector, singles = NegotiationVectorEnv(12, autoreset_mode="NextStep", **BUSY), [NegotiationEnv(**BUSY) for _ in range(12)]
    vector.reset(seed=30)
    for i, env in enumerate(singles):
        env.reset(seed=30 + i)
    over = [False] * 12
    for _ in range(40):
        actions = vector.random_actions()
        observations, rewards, terminated, _, infos = vector.step(actions)
        for i, env in enumerate(singles):
            if over[i]:
                observation, info = env.reset()
                reward, over[i] = 0.0, False
            else:
                observation, reward, over[i], _, info = env.step({"act_type": actions["act_type"][i], "oA": actions["oA"][i]})
            assert (rewards[i], terminated[i]) == (reward, over[i])
            assert_same_row(i, (observations, infos), (observation, info))
            if over[i]:
                assert_same_ending(i, infos, info)


def test_without_autoreset_a_reset_mask_equals_single_environments() -> None:
    vector, singles = NegotiationVectorEnv(12, autoreset_mode=AutoresetMode.DISABLED, **BUSY), [NegotiationEnv(**BUSY) for _ in range(12)]
    vector.reset(seed=30)
    for i, env in enumerate(singles):
        env.reset(seed=30 + i)
    for _ in range(40):
        actions = vector.random_actions()
        observations, rewards, terminated, _, infos = vector.step(actions)
        shown = (observations, infos)
        answers = [env.step({"act_type": actions["act_type"][i], "oA": actions["oA"][i]}) for i, env in enumerate(singles)]
        for i, (observation, reward, ended, _, info) in enumerate(answers):
            assert (rewards[i], terminated[i]) == (reward, ended)
            assert_same_row(i, shown, (observation, info))
            if ended:
                assert_same_ending(i, infos, info)
        if terminated.any():
            fresh = vector.reset(options={"reset_mask": terminated})
            for i in np.flatnonzero(terminated):
                assert_same_row(i, fresh, singles[i].reset())


def test_the_flat_vector_environment_equals_flat_single_environments() -> None:
    vector, singles = FlatActionVectorEnv(6, **BUSY), [FlatActionEnv(**BUSY) for _ in range(6)]
    features, infos = vector.reset(seed=11)
    alone = [env.reset(seed=11 + i) for i, env in enumerate(singles)]
    for step in range(30):
        actions = np.array([np.flatnonzero(mask)[step % mask.sum()] for mask in infos["action_mask"]])
        for i in range(6):
            assert features[i].tobytes() == alone[i][0].tobytes()
            assert infos["action_mask"][i].tobytes() == alone[i][1]["action_mask"].tobytes()
        features, rewards, terminated, _, infos = vector.step(actions)
        for i, env in enumerate(singles):
            observation, reward, ended, _, info = env.step(actions[i])
            assert (reward, ended) == (rewards[i], terminated[i])
            alone[i] = env.reset() if ended else (observation, info)


# The draws themselves


def draws(seeds: range, step: int, purpose: int, index: int, episode: int = 0) -> Any:
    keys = [np.uint64(episode_key(np.uint64(seed), np.uint64(episode))) for seed in seeds]
    return np.array([draw(key, step, purpose, index) for key in keys], np.uint64)


def eighths(bits: Any) -> Any:
    """Which eighth of the range each draw falls into."""
    return (bits >> np.uint64(61)).astype(np.int64)


def test_draws_for_different_ends_look_independent() -> None:
    addresses = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0), (1, 8, 2), (0, 0, 0, 1)]
    streams = [eighths(draws(range(4_000), *address)) for address in addresses]
    for one, other in itertools.combinations(streams, 2):
        assert looks_like_chance(np.bincount(one * 8 + other, minlength=64))


def test_neighbouring_seeds_and_episodes_look_independent() -> None:
    by_seed = eighths(draws(range(8_001), 0, 0, 0))
    by_episode = np.concatenate([eighths(draws(range(1), 0, 0, 0, episode)) for episode in range(8_001)])
    for stream in (by_seed, by_episode):
        assert looks_like_chance(np.bincount(stream[1:] * 8 + stream[:-1], minlength=64))


def test_seeds_and_episodes_have_keys_of_their_own() -> None:
    keys = {int(episode_key(np.uint64(seed), np.uint64(episode))) for seed in range(200) for episode in range(200)}
    assert len(keys) == 200 * 200


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 11, 5295])
def test_below_stays_below_its_bound_and_is_uniform(bound: int) -> None:
    values = np.array([below(bits, bound) for bits in draws(range(3_000), 0, 3, 0)])
    assert values.min() >= 0 and values.max() < bound
    assert below(np.uint64(2**64 - 1), bound) == bound - 1 and below(np.uint64(0), bound) == 0
    if 1 < bound < 100:
        assert looks_like_chance(np.bincount(values, minlength=bound))


def test_unit_lies_in_the_half_open_interval_and_is_uniform() -> None:
    values = np.array([unit(bits) for bits in draws(range(3_000), 0, 4, 0)])
    assert looks_like_chance(np.histogram(values, 10, (0.0, 1.0))[0])
    assert (unit(np.uint64(0)), unit(np.uint64(2**64 - 1))) == (0.0, 1.0 - 2.0**-53)
