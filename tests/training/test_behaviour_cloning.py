"""Behaviour cloning: samples from the right seat, the loss of a hand case, learning, determinism, errors; the talks here are invented."""

from __future__ import annotations

import json
from math import log
from pathlib import Path

import numpy as np
import pytest
import torch

import edgeworth
from edgeworth.agents.negotiators.learned import Learned
from edgeworth.agents.network.player import NetworkPlayer
from edgeworth.agents.policy import Policy
from edgeworth.agents.policy_layout import PolicyShape
from edgeworth.agents.trained_network import read_network
from edgeworth.config import BargainingConfig, config_folder
from edgeworth.dialogues.deal_or_no_dialog import read_dialogues
from edgeworth.dialogues.lines import Dialogue
from edgeworth.dialogues.moves import dialogue_moves
from edgeworth.errors import InvalidOption, UnknownName
from edgeworth.evaluation.episodes import play_episodes
from edgeworth.evaluation.imitation import Marginal, clone_guess, log_likelihood
from edgeworth.evaluation.parsing import distinct
from edgeworth.games.bargaining.contexts import Context
from edgeworth.games.bargaining.vocabulary import AGREE, END, PROPOSE
from edgeworth.runlog import write_checkpoint
from edgeworth.training.behaviour_cloning import (
    CloningSettings,
    Samples,
    clone,
    cloning_loss,
    lesson_of,
    load_cloning_settings,
    log_likelihoods,
    replay,
)
from synthetic_dialogues import synthetic_dialogues

ROOT = Path(__file__).resolve().parents[2]
BUNDLED = Path(edgeworth.__file__).resolve().parent / "checkpoints" / "human_clone"
RELEASED = ROOT.parent / "shared" / "data" / "deal_or_no_dialog"
LEWIS = BargainingConfig.from_options("lewis")
CONTEXT = Context((1, 2, 3), (4, 3, 0), (1, 0, 3))
TALK = Dialogue(
    CONTEXT,
    (("YOU", "i want the book and one hat"), ("THEM", "i want the book and the balls"), ("YOU", "deal")),
    "agreed",
    (0, 2, 0),
    (1, 0, 3),
    1,
)
SMALL = CloningSettings(hidden=16, epochs=30, learning_rate=0.01, minibatch=64)


def samples_of(talks: list[Dialogue]) -> Samples:
    return replay([dialogue_moves(talk, LEWIS.max_turns) for talk in talks], LEWIS)


@pytest.fixture(scope="module")
def parts() -> tuple[Samples, Samples]:
    return samples_of(synthetic_dialogues(300, 0)), samples_of(synthetic_dialogues(100, 1))


def test_a_move_is_written_down_from_its_speakers_seat() -> None:
    samples = samples_of([TALK])
    assert samples.acts.tolist() == [PROPOSE, PROPOSE, AGREE] and samples.dialogues.tolist() == [0, 0, 0]
    assert samples.shares.tolist() == [[1, 1, 0], [1, 0, 3], [0, 0, 0]]
    points, offers = samples.features[:, 3:6] * 10, samples.features[:, 14:17] * 4
    np.testing.assert_allclose(points, [[4, 3, 0], [1, 0, 3], [4, 3, 0]], rtol=1e-6)
    np.testing.assert_allclose(offers, [[0, 0, 0], [0, 1, 3], [0, 2, 0]], rtol=1e-6)
    np.testing.assert_allclose(samples.features[:, 17], [1.0, 0.9, 0.8], rtol=1e-6)
    assert samples.legal[:, AGREE].tolist() == [0, 1, 1] and (samples.pools == [1, 2, 3]).all()


def test_talks_are_written_down_one_after_the_other() -> None:
    samples = samples_of([TALK, *synthetic_dialogues(5, 3), TALK])
    assert (np.diff(samples.dialogues) >= 0).all()
    for name in ("features", "acts", "shares", "legal"):
        array = getattr(samples, name)
        np.testing.assert_array_equal(array[samples.dialogues == 0], array[samples.dialogues == 6])


def test_a_lesson_has_the_share_in_the_order_in_which_the_network_reads() -> None:
    lesson = lesson_of(PolicyShape(reading="ordered"), samples_of([TALK]))
    assert lesson.shares.tolist() == [[1, 1, 0], [3, 1, 0], [0, 0, 0]]  # the partner wants balls most, then books
    assert lesson.caps.tolist() == [[1, 2, 3], [3, 1, 2], [1, 2, 3]]


def test_the_loss_of_an_undecided_network_is_that_of_uniform_guesses() -> None:
    shape = PolicyShape(hidden=8, reading="fine")
    policy = Policy(shape, np.zeros(shape.size, np.float32))
    of_share = log(2) + log(3) + log(4)
    expected = ((log(4) + of_share) + (log(5) + of_share) + log(5)) / 3  # AGREE states no share, and is illegal at first
    assert cloning_loss(policy, lesson_of(shape, samples_of([TALK]))).item() == pytest.approx(expected, rel=1e-6)


def test_cloning_beats_the_frequencies_of_the_talks_it_learnt_from(parts: tuple[Samples, Samples]) -> None:
    found = clone(SMALL, *parts)
    guesses = (clone_guess(NetworkPlayer(found.parameters, found.shape), parts[1]), Marginal.of(parts[0], 4).guess(parts[1]))
    cloned, marginal = (sum(part.mean() for part in log_likelihood(guess, parts[1])) for guess in guesses)
    assert cloned > marginal + 1.0
    assert cloned == pytest.approx(found.best["held_out_log_likelihood"], abs=1e-4)


def test_the_network_of_the_best_pass_is_kept(parts: tuple[Samples, Samples]) -> None:
    found = clone(SMALL, *parts)
    assert found.best["held_out_log_likelihood"] == max(line["held_out_log_likelihood"] for line in found.lines)
    with torch.no_grad():
        likelihoods, _ = log_likelihoods(Policy(found.shape, found.parameters), lesson_of(found.shape, parts[1]))
    assert float(likelihoods.double().mean()) == found.best["held_out_log_likelihood"]


def test_learning_stops_when_held_out_talks_become_no_likelier(parts: tuple[Samples, Samples]) -> None:
    found = clone(CloningSettings(hidden=8, epochs=50, patience=2, learning_rate=0.1), parts[0], parts[1])
    assert len(found.lines) < 50 and len(found.lines) == int(found.best["iteration"]) + 2


def test_a_seed_decides_the_network_to_the_last_bit(parts: tuple[Samples, Samples]) -> None:
    one, again, other = (clone(CloningSettings(hidden=8, epochs=3, seed=seed), *parts).parameters for seed in (5, 5, 6))
    assert (one == again).all() and not (one == other).all()


def test_a_clone_plays_from_its_checkpoint(parts: tuple[Samples, Samples], tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "clone", clone(SMALL, *parts).checkpoint())
    played = play_episodes(LEWIS, Learned(tmp_path / "clone", sampled=True), 50, 0)
    assert played.agreed.mean() > 0.2


def test_talks_without_a_move_cannot_be_learnt_from() -> None:
    silent = Dialogue(CONTEXT, (("YOU", "hello"),), "disagreed", None, None, 1)
    with pytest.raises(InvalidOption, match="no move in the 1 dialogues"):
        samples_of([silent])


def test_settings_come_from_the_file_and_are_checked() -> None:
    assert load_cloning_settings(config_folder() / "behaviour_cloning.yaml", {"seed": 3}) == CloningSettings(seed=3)
    with pytest.raises(UnknownName, match="weight_decay"):
        load_cloning_settings(None, {"weight_decai": 0.1})
    with pytest.raises(InvalidOption, match="patience is 0"):
        CloningSettings(patience=0)
    with pytest.raises(InvalidOption, match="weight_decay is -1"):
        CloningSettings(weight_decay=-1.0)


def test_the_clone_in_the_box_is_the_one_that_was_measured() -> None:
    network = read_network(BUNDLED)
    result = json.loads((ROOT / "results" / "behaviour_cloning.json").read_text(encoding="utf-8"))
    card = network.facts["card"]
    assert (
        card["command"] == result["command"]
        and card["play"] == result["play"]
        and card["moves"]["train"] == result["parts"]["train"]["moves"]
    )
    assert "NonCommercial" in card["licence"] and "shared" not in json.dumps(network.facts)
    assert BUNDLED.with_suffix(".safetensors").stat().st_size < 200_000
    played = play_episodes(LEWIS, Learned(BUNDLED), 2_000, 0)
    assert played.reward.mean() == pytest.approx(result["play"]["agents"]["likeliest"]["reward"]["value"], abs=0.02)


@pytest.mark.skipif(not RELEASED.is_dir(), reason="the released dialogues are not part of this repository")
def test_the_released_talks_can_be_played_again() -> None:
    talks = [dialogue_moves(dialogue, LEWIS.max_turns) for dialogue in distinct(read_dialogues(RELEASED, "val"))[:200]]
    samples = replay(talks, LEWIS)
    assert len(samples.acts) == sum(len(talk.moves) for talk in talks)
    assert 0.5 < (samples.acts == PROPOSE).mean() < 0.75 and (samples.acts == END).mean() < 0.05
