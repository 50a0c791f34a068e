"""The choice of a token: greedy, drawn, and drawn from the likeliest; always the same for the same seed and conversation."""

from __future__ import annotations

import math

import pytest
import torch

from edgeworth.llm.local.decoding import Sampler, choose, log_probabilities, nucleus

LOGITS = torch.log(torch.tensor([[0.5, 0.0, 0.3, 0.2]]))


def draws(samplers: Sampler, count: int = 2000) -> list[int]:
    return [choose(LOGITS, [samplers], [position])[0] for position in range(count)]


def test_greedy_takes_the_likeliest() -> None:
    assert set(draws(Sampler.of(0.0, None, 1, "a"), 20)) == {0}


def test_draws_follow_the_probabilities_and_never_what_is_forbidden() -> None:
    drawn = draws(Sampler.of(1.0, None, 1, "a"))
    assert [drawn.count(token) / len(drawn) for token in range(4)] == pytest.approx([0.5, 0.0, 0.3, 0.2], abs=0.04)


def test_temperature_flattens_and_sharpens() -> None:
    hot, cold = draws(Sampler.of(2.0, None, 1, "a")), draws(Sampler.of(0.2, None, 1, "a"))
    assert hot.count(3) > 450 and cold.count(3) < 40


def test_top_p_keeps_the_smallest_set_that_holds_so_much() -> None:
    assert set(draws(Sampler.of(1.0, 0.8, 1, "a"), 300)) == {0, 2}
    assert set(draws(Sampler.of(1.0, 0.01, 1, "a"), 50)) == {0}
    assert nucleus(torch.tensor([[0.5, 0.5, 0.0]]).double(), torch.tensor([0.5])).tolist() == [[0.5, 0.0, 0.0]]


def test_a_draw_is_a_function_of_seed_conversation_and_position() -> None:
    one = draws(Sampler.of(1.0, None, 1, "a"), 50)
    assert one == draws(Sampler.of(1.0, None, 1, "a"), 50)
    assert one != draws(Sampler.of(1.0, None, 2, "a"), 50) and one != draws(Sampler.of(1.0, None, 1, "b"), 50)


def test_without_a_seed_the_dice_fall_differently_every_time() -> None:
    assert draws(Sampler.of(1.0, None, None, "a"), 50) != draws(Sampler.of(1.0, None, None, "a"), 50)


def test_rows_choose_for_themselves() -> None:
    samplers = [Sampler.of(0.0, None, 1, "a"), Sampler.of(1.0, None, 1, "a"), Sampler.of(1.0, 0.5, 1, "a")]
    together = choose(LOGITS.repeat(3, 1), samplers, [5, 6, 7])
    alone = [choose(LOGITS, [sampler], [position])[0] for sampler, position in zip(samplers, (5, 6, 7), strict=True)]
    assert together == alone and choose(LOGITS.repeat(2, 1), samplers[1:], [6, 7]) == alone[1:]


def test_log_probabilities_are_those_of_what_was_allowed() -> None:
    assert log_probabilities(LOGITS + 3.0, [2]) == pytest.approx([math.log(0.3)])
    assert log_probabilities(torch.tensor([[-torch.inf, 2.0]]), [1]) == [0.0]
