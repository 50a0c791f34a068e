"""Self-play: both seats' moves as samples, the pool, what is refused, the same run again, and that it learns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeworth.agents.negotiators.bundled import TRAINED_BY, bundled_checkpoint
from edgeworth.agents.negotiators.scripted import RandomLegal
from edgeworth.agents.network.player import NetworkPlayer
from edgeworth.agents.policy_layout import PolicyShape
from edgeworth.config import BargainingConfig, config_folder
from edgeworth.errors import DataError, InvalidOption, RunStopped, UnknownKey
from edgeworth.evaluation.episodes import Player, play_pair
from edgeworth.games.bargaining.state import VIEW
from edgeworth.games.bargaining.vocabulary import AGENT, AGREE, ONGOING, PARTNER
from edgeworth.runlog import BEST, CHECKPOINTS, LAST, SUFFIX, read_checkpoint
from edgeworth.training.curriculum import make_learner, shape_for, stages_of
from edgeworth.training.fused.returns import estimate_both
from edgeworth.training.fused.rollout import RolloutBuffer
from edgeworth.training.fused.two_seats import ITSELF, Seats
from edgeworth.training.run import Run
from edgeworth.training.self_play import Pool, SelfPlay, read_members
from edgeworth.training.settings import SelfPlaySettings, TrainSettings, as_mapping, load_settings, settings_of
from networks import write_network

SMALL = {"num_envs": 16, "rollout": 24, "hidden": 16, "reading": "ordered"}
QUIET = {"tensorboard": False}


def settings(**given: Any) -> TrainSettings:
    changed = {"num_train_steps": 4_000, "ppo": SMALL, "logging": QUIET, **given}
    return settings_of({**changed, "self_play": {"snapshot_every": 1_000, **given.get("self_play", {})}})


def learner(**given: Any) -> SelfPlay:
    wanted = settings(**given)
    stages = stages_of(wanted)
    made = make_learner(wanted, stages, shape_for(wanted, stages), 0)
    assert isinstance(made, SelfPlay)
    return made


# Both sides


def test_the_moves_of_both_sides_are_samples_against_itself() -> None:
    made = learner(self_play={"past_selves": 0, "latest": 1.0})
    made.iterate()
    slots, steps = SMALL["num_envs"], SMALL["rollout"]
    before_last = slice(0, (steps - 1) * slots)
    assert made._buffer.played[before_last].all()
    assert not made._buffer.played[before_last.stop : steps * slots].any()
    assert made.steps == (steps - 1) * slots
    assert {int(side) for side in made._buffer.sides[before_last]} == {AGENT, PARTNER}


def test_against_a_member_only_its_own_moves_are_samples_from_either_seat() -> None:
    made = learner(self_play={"past_selves": 4, "latest": 0.0})
    seats = made._seats
    assert (seats.opponent >= 0).all() and {int(seat) for seat in seats.own} == {AGENT, PARTNER}
    own = seats.own.copy()
    made.iterate()
    first = slice(0, SMALL["num_envs"])  # nobody's first talks are over yet after one move
    np.testing.assert_array_equal(made._buffer.played[first], made._buffer.sides[first] == own)


def test_what_a_side_sees_is_what_it_may_know() -> None:
    made = learner(self_play={"past_selves": 0, "latest": 1.0}, ppo={**SMALL, "reading": "plain"})
    state = made.batch.state.copy()
    sides = (state["opener"] + state["turn"]) % 2
    made.iterate()
    seen = made._buffer.features[: made.batch.size, 3:6] * 10.0
    np.testing.assert_allclose(seen, state["utilities"][np.arange(len(state)), sides], atol=1e-5)


def judged(sides: list[int], ended: list[bool], rewards: list[float], other: list[float], values: list[float]) -> Any:
    """Advantages of one slot's rollout at γ = λ = 1; the last value is that of the situation after it."""
    steps = len(ended)
    buffer, seats = RolloutBuffer.of(steps, 1, 1), Seats.of(steps, 1)
    buffer.values[:], buffer.sides[:] = values, sides
    buffer.ended[:steps], buffer.rewards[:steps], seats.other_paid[:steps] = ended, rewards, other
    estimate_both(buffer, seats, 1, steps, 1.0, 1.0)
    return buffer.advantages[:steps]


def test_each_side_is_paid_with_its_own_last_move() -> None:
    # Side 0 offers, side 1 accepts: 0.7 for the one that offered, 0.4 for the other. Then side 0 opens again, and is cut off.
    found = judged([0, 1, 0, 1], [False, True, False], [0.0, 0.4, 0.0], [0.0, 0.7, 0.0], [0.5, 0.1, 0.25, 0.0])
    np.testing.assert_allclose(found, [0.7 - 0.5, 0.4 - 0.1, 0.0], atol=1e-6)


def test_a_side_that_never_spoke_is_not_paid_for_an_earlier_episode() -> None:
    # Side 1 ends one episode that side 0 opened; in the next, side 0 walks away at once, and side 1's payment there is nobody's.
    found = judged([0, 1, 0, 1, 1], [False, True, True, False], [0.0, 0.4, 0.0, 0.0], [0.0, 0.7, 9.0, 0.0], [0.0] * 5)
    np.testing.assert_allclose(found, [0.7, 0.4, 0.0, 0.0], atol=1e-6)


def test_a_move_is_judged_by_the_value_of_its_makers_own_next_situation() -> None:
    found = judged([0, 1, 0, 1, 0], [False] * 4, [0.0] * 4, [0.0] * 4, [0.5, 0.1, 0.25, 0.3, 0.8])
    # 0: V at its next move, then what followed that one; 1: V where the rollout was cut; the last step's own is not known.
    np.testing.assert_allclose(found, [0.8 - 0.5, 0.3 - 0.1, 0.8 - 0.25, 0.0], atol=1e-6)


# The pool


def test_a_past_self_is_kept_every_so_many_moves_and_the_oldest_leaves() -> None:
    made = learner(self_play={"past_selves": 3, "snapshot_every": 700})
    kept = [made.parameters.copy()]
    for _ in range(14):
        before = made.steps
        made.iterate()
        if made.steps // 700 > before // 700:
            kept.append(made.parameters.copy())
    assert len(kept) > 4 and made.pool.members == 3
    assert {bytes(row) for row in made.pool.parameters} == {bytes(row) for row in kept[-3:]}


def test_opponents_are_drawn_in_the_shares_that_are_set() -> None:
    made = learner(ppo={**SMALL, "num_envs": 4_000, "rollout": 2}, self_play={"past_selves": 4, "latest": 0.25, "snapshot_every": 1})
    for _ in range(3):
        made.pool.keep(made.parameters)
    met = []
    for _ in range(6):
        made.iterate()
        met.append(made._seats.opponent.copy())
    counts = np.bincount(np.concatenate(met[3:]) + 1, minlength=5) / (3 * 4_000)
    assert counts[0] == pytest.approx(0.25, abs=0.03)
    np.testing.assert_allclose(counts[1:], 0.75 / 4, atol=0.03)


def test_members_move_as_their_networks_would() -> None:
    made = learner(self_play={"past_selves": 1, "latest": 0.0, "snapshot_every": 10**9, "likeliest": True})
    made.pool.parameters[0] *= 3.0  # another network than the present one
    state = made.batch.over(made.batch.state.copy())
    waiting = (state.state["opener"] + state.state["turn"]) % 2 != made._seats.own
    made.iterate()
    player = NetworkPlayer(made.pool.parameters[0], made.shape)
    for side in (AGENT, PARTNER):
        views, masks = state.look(side)
        acts, _ = player.choose_from(state.features(side), masks, views[:, VIEW["counts"]])
        here = waiting & (made._buffer.sides[: state.size] == side)
        assert here.any()
        np.testing.assert_array_equal(made._buffer.moves[: state.size][here, 0], acts[here])


def test_networks_from_outside_stay_in_the_pool(tmp_path: Path) -> None:
    folder = tmp_path / "guests"
    for seed in (4, 5):
        write_network(folder / f"guest{seed}", seed=seed)
    pool = Pool(SelfPlaySettings(past_selves=1, members=(str(folder),)), PolicyShape(18, 4, 16, 2, "ordered"))
    guests = pool.parameters[:2].copy()
    for number in range(3):
        pool.keep(np.full(pool.parameters.shape[1], number, np.float32))
    assert pool.members == 3 and guests.any()
    np.testing.assert_array_equal(pool.parameters[:2], guests)
    np.testing.assert_array_equal(pool.parameters[2], 2.0)


# Refusals


def test_an_empty_pool_is_refused() -> None:
    with pytest.raises(InvalidOption, match=r"The pool is empty: latest is 0\.5, so that 50% .* latest to 1 for naive"):
        SelfPlaySettings(past_selves=0, latest=0.5)


def test_a_folder_without_checkpoints_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no checkpoint, so the pool would be empty"):
        read_members((str(tmp_path),), PolicyShape())


def test_a_member_of_another_shape_is_refused_with_both_shapes(tmp_path: Path) -> None:
    guest = write_network(tmp_path / "guest", units=6)
    with pytest.raises(InvalidOption, match=r"has units 6, hidden 16, .*; the learner has units 4, hidden 64"):
        read_members((str(guest),), PolicyShape(18, 4, 64, 2, "fine"))


@pytest.mark.parametrize(
    "given",
    [{"algo": "reinforce"}, {"backend": "torch"}, {"hints": {"mode": "random"}}, {"curriculum": [{"from": 9}]}, {"ppo": {"rollout": 1}}],
    ids=str,
)
def test_what_self_play_cannot_do_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match="Self-play needs algo ppo, backend fused, no hints"):
        settings_of({**given, "self_play": {}})


@pytest.mark.parametrize("name", TRAINED_BY)
def test_a_network_that_is_not_in_the_box_is_named_with_the_command_that_trains_it(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=rf"the network '{name}' is not bundled here; `edgeworth (clone|self-play) .*{name}` trains it"):
        bundled_checkpoint(name, tmp_path)


def test_a_partner_that_would_not_be_met_is_refused() -> None:
    with pytest.raises(InvalidOption, match=r"partner is 'conceder', and in self-play the opponents are the learner and its pool"):
        settings(env={"partner": "conceder"})


def test_a_mistyped_key_is_answered_with_its_neighbour() -> None:
    with pytest.raises(UnknownKey, match=r"past_selfs.*past_selves"):
        settings(self_play={"past_selfs": 3})


@pytest.mark.parametrize("wrong", [{"latest": 1.5}, {"past_selves": -1}, {"snapshot_every": 0}], ids=str)
def test_numbers_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match=f"{next(iter(wrong))} .*expected"):
        settings(self_play=wrong)


def test_settings_survive_their_file_and_others_do_not_change() -> None:
    wanted = settings(self_play={"members": ["a", "b"]})
    assert settings_of(as_mapping(wanted)) == wanted
    assert "self_play" not in as_mapping(TrainSettings())
    assert load_settings(config_folder() / "self_play.yaml").self_play is not None


# The same run again


def test_a_run_that_was_stopped_goes_on_to_the_last_bit(tmp_path: Path) -> None:
    wanted = settings(self_play={"past_selves": 2, "latest": 0.5, "snapshot_every": 500}, num_train_steps=3_000)
    whole, parts = Run.begin(wanted, tmp_path / "whole", ""), Run.begin(wanted, tmp_path / "parts", "")
    whole.train()
    for _ in range(3):
        parts.iterate()
    parts.save(LAST)
    parts.close()
    parts = Run.resume(wanted, tmp_path / "parts")
    parts.train()
    one, other = whole.learner.state(), parts.learner.state()
    assert one.keys() == other.keys() and int(one["pool_kept"]) > 2
    for name, array in one.items():
        assert array.tobytes() == other[name].tobytes(), name
    whole.close()
    parts.close()


def test_there_is_no_best_checkpoint_and_the_last_holds_the_pool(tmp_path: Path) -> None:
    run = Run.begin(settings(num_train_steps=1_000), tmp_path / "run", "")
    run.train()
    run.close()
    assert not (tmp_path / "run" / CHECKPOINTS / f"{BEST}{SUFFIX}").exists()
    assert read_checkpoint(tmp_path / "run").tensors["learner.pool"].shape[0] == SelfPlaySettings.past_selves


def test_a_pool_of_another_size_cannot_be_taken_up() -> None:
    one, other = learner(self_play={"past_selves": 2}), learner(self_play={"past_selves": 3})
    with pytest.raises(DataError, match="pool has shape"):
        other.load_state(one.state())


def test_a_loss_that_is_not_finite_stops_the_run() -> None:
    made = learner()
    made.parameters[:] = np.nan
    with pytest.raises(RunStopped):
        made.iterate()


# Learning


class _Present:
    """The network of a learner as a negotiator."""

    knows_partner = False

    def __init__(self, made: SelfPlay) -> None:
        self.player = NetworkPlayer(made.parameters.copy(), made.shape)

    def choose(self, batch: Any) -> Any:
        return self.player.choose_from(batch.features(), batch.masks, batch.views[:, VIEW["counts"]])


def test_it_learns_to_close_deals_with_itself_and_beats_random_play() -> None:
    game, seeds = BargainingConfig(max_turns=4), np.arange(2_000)
    fast = {"num_envs": 64, "rollout": 32, "learning_rate": 3e-3, "entropy": 0.05, "gamma": 1.0, "minibatch": 256}
    made = learner(ppo=fast, env={"max_turns": 4}, num_train_steps=400_000, self_play={"snapshot_every": 50_000})
    random = Player("random", dict.fromkeys((AGENT, PARTNER), RandomLegal()))
    floor = play_pair(game, random, random, seeds)
    while made.steps < 400_000:
        made.iterate()
    learnt = Player("learnt", dict.fromkeys((AGENT, PARTNER), _Present(made)))
    itself, against = play_pair(game, learnt, learnt, seeds), play_pair(game, learnt, random, seeds)
    assert floor.agreed.mean() < 0.45
    assert itself.agreed.mean() > 0.85
    assert against.reward.sum() > 1.5 * against.partner_reward.sum()


def test_at_the_last_move_it_accepts_what_is_worth_something() -> None:
    # Talks of two moves are an ultimatum: whoever answers can do nothing better than to accept, so self-play must find that out.
    fast = {"num_envs": 64, "rollout": 32, "learning_rate": 3e-3, "entropy": 0.05, "gamma": 1.0, "minibatch": 256}
    made = learner(ppo=fast, env={"max_turns": 2}, num_train_steps=200_000, self_play={"snapshot_every": 50_000})
    while made.steps < 200_000:
        made.iterate()
    batch = made.batch
    batch.seed(5)
    batch.reset()
    waiting = batch.selected(batch.state["opener"] == AGENT)
    offers = waiting.state["counts"].astype(np.int64) // 2
    waiting.move(AGENT, np.zeros(waiting.size, np.int64), offers)
    views, masks = waiting.look(PARTNER)
    worth = ((waiting.state["counts"] - offers) * waiting.state["utilities"][:, PARTNER]).sum(1)
    acts, _ = NetworkPlayer(made.parameters, made.shape).choose_from(waiting.features(PARTNER), masks, views[:, VIEW["counts"]])
    assert (waiting.state["outcome"] == ONGOING).all() and (worth > 5).sum() > 10
    assert (acts[worth > 5] == AGREE).all()
    assert made._seats.opponent.min() == ITSELF
