"""What is told of a clone: guesses that do not look, likelihoods by talk, counts of what was learnt from; the talks here are invented."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from edgeworth.agents.network.player import NetworkPlayer
from edgeworth.agents.policy_layout import PolicyShape
from edgeworth.config import BargainingConfig
from edgeworth.dialogues.lines import Dialogue
from edgeworth.dialogues.moves import dialogue_moves
from edgeworth.evaluation.imitation import (
    Marginal,
    count_moves,
    log_likelihood,
    measure_imitation,
    measure_people,
    over_dialogues,
    uniform_guess,
)
from edgeworth.games.bargaining.contexts import Context
from edgeworth.games.bargaining.vocabulary import Act
from edgeworth.training.behaviour_cloning import Samples, replay
from synthetic_dialogues import synthetic_dialogues

LEWIS = BargainingConfig.from_options("lewis")
CONTEXT = Context((1, 2, 3), (4, 3, 0), (1, 0, 3))
TALK = Dialogue(
    CONTEXT, (("YOU", "i want the book and both hats"), ("THEM", "hm"), ("YOU", "ok?"), ("THEM", "deal")), "agreed", (1, 2, 0), (0, 0, 3), 1
)


@pytest.fixture(scope="module")
def samples() -> Samples:
    return replay([dialogue_moves(talk, 10) for talk in synthetic_dialogues(60, 0)], LEWIS)


def test_guesses_are_probabilities_of_what_is_legal(samples: Samples) -> None:
    for guess in (Marginal.of(samples, 4).guess(samples), uniform_guess(samples, 4)):
        np.testing.assert_allclose(np.exp(guess.acts).sum(1), 1.0)
        np.testing.assert_allclose(np.exp(guess.shares).sum(2), 1.0)
        assert (np.exp(guess.acts)[samples.legal == 0] == 0.0).all()
        assert (np.exp(guess.shares)[np.arange(5) > samples.pools[:, :, None]] == 0.0).all()


def test_the_frequencies_are_those_of_the_moves_with_one_made_up_case_each() -> None:
    moves = replay([dialogue_moves(TALK, 10)], LEWIS)  # PROPOSE 1,2,0; INSIST 1,2,0; AGREE
    marginal = Marginal.of(moves, 4)
    np.testing.assert_allclose(marginal.acts, np.array([2, 2, 2, 1, 1]) / 8)
    np.testing.assert_allclose(marginal.units[1], [1 / 4, 3 / 4, 0, 0, 0])
    np.testing.assert_allclose(marginal.units[3], [3 / 6, 1 / 6, 1 / 6, 1 / 6, 0])
    assert marginal.majority is Act.PROPOSE


def test_a_share_counts_where_the_act_states_one() -> None:
    moves = replay([dialogue_moves(TALK, 10)], LEWIS)
    of_act, of_share = log_likelihood(uniform_guess(moves, 4), moves)
    np.testing.assert_allclose(of_act, [-log(4), -log(4), -log(5)])
    np.testing.assert_allclose(of_share, [-log(24), -log(24), 0.0])


def test_an_estimate_is_over_moves_and_its_sample_is_of_talks() -> None:
    found = over_dialogues(np.array([0, 0, 2]), np.array([1.0, 2.0, 6.0]), np.ones(3), seed=0)
    assert found.value == 3.0 and found.n == 2


def test_an_undecided_network_is_no_better_than_uniform(samples: Samples) -> None:
    shape = PolicyShape(hidden=4)
    player = NetworkPlayer(np.zeros(shape.size, np.float32), shape)
    found = measure_imitation(player, Marginal.of(samples, 4), samples)
    assert found["over_uniform"]["value"] == pytest.approx(0.0, abs=1e-5) and found["over_marginal"]["value"] < 0.0
    assert found["talks"] == 60 and found["moves"] == len(samples.acts)
    by_act = {row["act"]: row for row in found["by_act"]}
    assert sum(row["made"] for row in found["by_act"]) == len(samples.acts)
    assert by_act["INSIST"]["found"] is None and by_act["AGREE"]["share_accuracy"] is None


def test_counts_say_what_became_of_every_utterance() -> None:
    found = count_moves([dialogue_moves(TALK, 10)])
    assert found["utterances"] == 4 and found["moves"] == 3 and found["left_out"]["no act was read"] == 1
    assert found["moves_by_act"]["INSIST"] == {"said": 1} and found["moves_after_ones_own"] == 1
    assert found["talks_without_moves"] == found["talks_cut_short"] == 0


def test_people_are_paid_for_their_deals() -> None:
    nothing = Dialogue(CONTEXT, (("YOU", "no"),), "no_agreement", None, None, 1)
    found = measure_people([TALK, nothing])
    assert found["reward"]["value"] == pytest.approx((10 + 9) / 2 / 2) and found["deal_rate"]["value"] == 0.5
    assert found["pareto_rate"]["value"] == 1.0
