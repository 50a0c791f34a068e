"""Bidders really adapt, a frozen market stands still, and a living ring shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from auction_house import BEST, Floats, Mechanism, Rows, mechanism, played, random_actions, standard_errors, stepped

SIGMAS = 5.0
EVERYTHING = ("learning", "ring", "entry")
TEACHING = mechanism(reserve_price=0.3, collusion_penalty=0.5, coalition_policy="penalize_confirmed")
RINGLESS = {"ring": {"first_bias": -1000.0, "frozen": True}, "enforcement": {"least_scruple": 2.0}}
"""The same bidders, but the ring always competes and nobody joins it."""


# Freezing


@pytest.mark.parametrize(("part", "stage"), [("learning", "1"), ("learning", "4"), ("ring", "3"), ("entry", "2"), ("entry", "4")])
def test_freezing_what_adapts_changes_the_outcome(part: str, stage: str) -> None:
    alive, frozen = (played(TEACHING, 400, stage=stage, freeze=freeze).mean(axis=1) for freeze in ((), (part,)))
    assert abs(standard_errors(alive - frozen)) > SIGMAS


def test_frozen_bidders_keep_their_shading_and_living_ones_learn() -> None:
    frozen = stepped(TEACHING, 100, stage=1, freeze=("learning",))["shading"].mean(axis=1)
    alive = stepped(TEACHING, 100, stage=1)["shading"].mean(axis=1)
    assert np.ptp(frozen) < 0.01 and alive[-1] - alive[0] > 0.1


def test_with_entry_frozen_everybody_comes() -> None:
    assert (stepped(TEACHING, 50, stage=2, freeze=("entry",))["participation_rate"] == 1.0).all()
    assert stepped(TEACHING, 50, stage=2)["participation_rate"].mean() < 0.95


def test_nothing_is_learnt_under_pay_as_bid_when_nothing_is_published() -> None:
    hidden = mechanism(
        auction_type="first_price",
        reveal_competing_bids=False,
        reveal_winner_identity=False,
        reveal_clearing_price=False,
        reveal_bid_distribution=False,
    )
    still = {"learning": {"tremble": 0.0}}
    assert np.ptp(stepped(hidden, 50, stage=1, model=still)["shading"], axis=0).max() < 1e-12
    assert np.ptp(stepped(mechanism(auction_type="first_price"), 50, stage=1, model=still)["shading"], axis=0).min() > 1e-3


def strays_by_step(scores: Floats) -> Floats:
    """How far each step's mean score lies from that of the other steps, in standard errors."""
    steps = scores.shape[1]
    others = (scores.sum(axis=1, keepdims=True) - scores) / (steps - 1)
    return np.array([standard_errors(scores[:, t] - others[:, t]) for t in range(steps)])


DIFFERENT = [
    mechanism(reserve_price=0.34),
    mechanism(auction_type="first_price", reserve_price=0.2, coalition_policy="restrict", collusion_penalty=1.0),
    mechanism(
        auction_type="second_price",
        reserve_price=0.3,
        reveal_reserve=False,
        reveal_competing_bids=False,
        shill_penalty=1.0,
        withdrawal_penalty=0.5,
        collusion_penalty=1.0,
        coalition_policy="penalize_suspected",
    ),
]


@pytest.mark.parametrize("fields", DIFFERENT, ids=["vcg", "first price", "second price"])
@pytest.mark.parametrize("stage", ["1", "3", "4"])
def test_in_a_frozen_market_the_mean_score_does_not_depend_on_the_step(stage: str, fields: Mechanism) -> None:
    scores = played(fields, 1_500, stage=stage, freeze=EVERYTHING)
    assert np.abs(strays_by_step(scores)).max() < 5.5  # ten steps: a market that stands still strays so far once in two million times
    slopes = (scores - scores.mean(axis=1, keepdims=True)) @ (np.arange(10) - 4.5)
    assert abs(standard_errors(slopes)) < SIGMAS


def test_the_first_step_has_no_past_and_is_as_stable_as_the_others_on_average() -> None:
    swings = -np.log(stepped(BEST["4"], 8_000, 4, stage="4", freeze=EVERYTHING)["stability_score"])
    assert abs(standard_errors(swings[0] - swings[1:].mean(axis=0))) < SIGMAS


@pytest.mark.parametrize("stage", ["1", "3", "4"])
def test_in_a_living_market_it_does(stage: str) -> None:
    assert np.abs(strays_by_step(played(TEACHING, 1_500, stage=stage))).max() > 10.0


# Detection


def signals(fields: Mechanism, stage: str, **options: Any) -> Rows:
    """Outcomes of some markets, step by step."""
    return stepped(fields, 150, stage=stage, **options)


@pytest.mark.parametrize(
    "fields",
    [
        *(
            mechanism(reserve_price=reserve, reveal_competing_bids=False, coalition_policy=policy, collusion_penalty=1.0)
            for reserve in (0.05, 0.3)
            for policy in ("allow", "penalize_suspected", "penalize_confirmed")
        ),
        mechanism(reserve_price=0.05, coalition_policy="restrict"),
        mechanism(reserve_price=0.3, reveal_reserve=False, coalition_policy="penalize_confirmed", collusion_penalty=1.0),
    ],
    ids=lambda fields: f"{fields['coalition_policy']} at {fields['reserve_price']}{'' if fields['reveal_reserve'] else ' secret'}",
)
@pytest.mark.parametrize("stage", ["3", "4"])
def test_a_living_ring_raises_the_collusion_signal(stage: str, fields: Mechanism) -> None:
    ring, ringless = signals(fields, stage), signals(fields, stage, model=RINGLESS)
    assert (ringless["ring_activity"] == 0.0).all() and ring["ring_activity"].mean() > 0.05
    for name in ("collusion_signal", "cover_share"):
        assert standard_errors((ring[name] - ringless[name]).mean(axis=0)) > SIGMAS, name


def test_honest_markets_raise_no_signal() -> None:
    lively = 0
    for action in random_actions(3, 40):
        honest = signals(action.model_dump(), "0")
        assert (honest["ring_activity"] == 0.0).all() and (honest["wars"] == 0.0).all()
        if honest["entrants"].mean() > 4.0:  # shares of very few bids say nothing
            lively += 1
            assert honest["collusion_signal"].mean() < 0.015
    assert lively > 10


def test_the_ring_of_the_model_does_not_touch_an_honest_market() -> None:
    for action in random_actions(4, 10):
        with_ring, without = (signals(action.model_dump(), "0", model=model) for model in ({}, RINGLESS))
        assert with_ring.tobytes() == without.tobytes()


def test_a_ring_is_told_from_honest_bidders_by_the_signal() -> None:
    fields = mechanism(reserve_price=0.05, reveal_competing_bids=False)
    ring, honest = (signals(fields, stage)["collusion_signal"].mean(axis=0) for stage in ("3", "0"))
    assert ring.min() > honest.max()
