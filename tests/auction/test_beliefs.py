"""Bidders believe what they have evidence for, and no mechanism or sequence of mechanisms makes them believe otherwise."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from auction_house import (
    STAGES,
    Floats,
    Mechanism,
    expected_and_earned,
    mechanism,
    opened,
    played,
    played_in_turn,
    row_of,
    sale_room,
    standard_errors,
    stepped,
)
from edgeworth.evaluation.statistics import mean
from edgeworth.games.auction.action import DaedalusAction, random_mechanisms
from edgeworth.games.auction.batch import constant_rows
from edgeworth.games.auction.beliefs import expected_rank

DARK = {"reveal_competing_bids": False, "reveal_clearing_price": False, "reveal_bid_distribution": False}
POLICED = mechanism(reserve_price=0.12, withdrawal_penalty=1.0, collusion_penalty=1.0, coalition_policy="penalize_confirmed")
"""Publishes all bids, so that shaders soon bid their values: a reserve also lifts the bids of those who bid too little, to their good."""
SIGMAS = 4.0


# Entry


@pytest.mark.parametrize("n", [3, 8, 16])
@pytest.mark.parametrize("stage", STAGES)
def test_a_higher_announced_reserve_brings_nobody_in(stage: str, n: int) -> None:
    came = [
        stepped({**POLICED, "reserve_price": reserve}, 300, stage=stage, n_agents=n)["participation_rate"].mean(axis=0)
        for reserve in (0.12, 0.24, 0.36, 0.48, 0.60)
    ]
    for lower, higher in itertools.pairwise(came):
        assert higher.mean() <= mean(lower).high
    assert standard_errors(came[-1] - came[0]) < -SIGMAS


@pytest.mark.parametrize("stage", STAGES)
def test_entrants_get_what_they_expect(stage: str) -> None:
    """After ten steps under each of 200 random mechanisms with reserves up to 0.55, per entrant and sale."""
    rows = random_mechanisms(np.random.default_rng(3), 200)
    rows["reserve_price"] *= 0.55 / 0.9
    entrants, expected, earned = expected_and_earned(rows, 30, stage)
    assert abs(expected.sum() - earned.sum()) / entrants.sum() < 0.003
    visited = entrants > 200  # a handful of entrants says nothing about a mechanism
    assert visited.mean() > 0.6
    hope = (expected - earned)[visited] / entrants[visited]
    assert (hope > 0.01).mean() <= 0.1 and hope.max() < 0.02


# Evidence


def ladder_beliefs(room: Any) -> Floats:
    """Everybody's belief about the three highest rival bids."""
    return np.array(room.market["belief"][:8, :3])


def test_a_void_bid_is_a_bid() -> None:
    room = sale_room(1, stage=0, model={"demand": {"half_width": 0.0}}, freeze=("entry",))
    room.post(DaedalusAction(**mechanism(reserve_price=0.9, reveal_reserve=False)))
    for _ in range(5):
        sale = room.run_sale()
    assert sale["ladder"]["ranked"] < 3  # nearly every bid was void
    assert ladder_beliefs(room).min() > 0.4


def test_a_silent_rival_is_below_the_reserve_and_not_at_0() -> None:
    batch = opened(50, 0, stage=0, freeze=("entry",))
    batch.play_constant(constant_rows(row_of(mechanism(reserve_price=0.7)), 50), 10)
    lowest = batch.markets["belief"][:, :8, 2]
    assert lowest.mean() == pytest.approx(0.65, abs=0.1) and lowest.min() > 0.3


def test_a_rival_who_stays_away_bids_nothing() -> None:
    batch = opened(50, 0, stage=0)
    batch.play_constant(constant_rows(row_of(mechanism(auction_type="first_price")), 50), 10)  # truthful bidders have nothing to gain
    assert (batch.outcomes["entrants"] < 3).all()
    assert batch.markets["belief"][:, :8, 2].max() < 0.05


@pytest.mark.parametrize("disclosure", [{}, DARK], ids=["public", "dark"])
@pytest.mark.parametrize("wrong", [0.0, 0.99])
def test_a_belief_recovers_from_any_value(wrong: float, disclosure: Mechanism) -> None:
    rows = constant_rows(row_of(mechanism(reserve_price=0.12, **disclosure)), 100)
    sound, fooled = (opened(100, 0, stage=0, freeze=("entry",), episode_length=20) for _ in range(2))
    fooled.markets["belief"][:] = wrong
    for batch in (sound, fooled):
        batch.play_constant(rows, 10)
    apart = np.abs(sound.markets["belief"] - fooled.markets["belief"])[:, :8, :3]
    assert apart.mean() < 0.03


@pytest.mark.parametrize(("secret", "disclosure"), [(0.1, {}), (0.5, {}), (0.5, DARK)])
def test_a_secret_reserve_is_found_out(secret: float, disclosure: Mechanism) -> None:
    batch = opened(100, 0, stage=0)
    batch.play_constant(constant_rows(row_of(mechanism(reserve_price=secret, reveal_reserve=False, **disclosure)), 100), 10)
    assert batch.markets["reserve_belief"].mean() == pytest.approx(secret, abs=0.08)


def test_without_disclosure_who_loses_too_often_takes_the_rivals_to_bid_higher() -> None:
    nobody_learns_to_bid = mechanism(auction_type="first_price", collusion_penalty=3.0, coalition_policy="penalize_confirmed", **DARK)
    rows = constant_rows(row_of(nobody_learns_to_bid), 100)
    batches = {}
    for kind in ("truthful", "shader"):
        batches[kind] = opened(100, 0, mix={kind: 1.0}, freeze=("entry",))
        batches[kind].play_constant(rows, 10)
    levels = {kind: batch.markets["rival_level"][:, :8].mean() for kind, batch in batches.items()}
    assert levels["truthful"] == pytest.approx(1.0, abs=0.06) and levels["shader"] == pytest.approx(0.62, abs=0.06)


def test_the_expected_rank_is_the_mean_of_a_cut_off_binomial() -> None:
    rng = np.random.default_rng(0)
    for share, rivals, lots in ((0.3, 7, 3), (0.8, 7, 3), (0.5, 2, 3), (0.9, 15, 6), (1.2, 5, 2), (0.4, 0, 1)):
        above = (rng.random((200_000, max(rivals, 1))) > share)[:, :rivals].sum(axis=1)
        assert expected_rank(share, rivals, lots) == pytest.approx(np.minimum(above, lots).mean(), abs=0.01)


# Sequences that fooled the first rules (the market of rules 1)


VOID_THEN_DARK = [
    (mechanism(reserve_price=0.69, reveal_reserve=False), 1),
    (mechanism(reserve_price=0.12, **DARK), 9),
]
"""One step voids every bid in public, then nothing but names is shown: bidders believed in an empty room."""
VOID_THEN_SHOWN = [
    (mechanism(reserve_price=0.69, reveal_reserve=False), 1),
    (mechanism(reserve_price=0.12, reveal_competing_bids=False), 9),
]
SHOWN_THEN_DARK = [(mechanism(reserve_price=0.12), 1), (mechanism(reserve_price=0.12, **DARK), 9)]
LOW_THEN_SECRETLY_HIGH = [
    (mechanism(reserve_price=0.05, reveal_competing_bids=False), 5),
    (mechanism(reserve_price=0.5, reveal_competing_bids=False, reveal_reserve=False), 5),
]


@pytest.mark.parametrize("phases", [VOID_THEN_DARK, VOID_THEN_SHOWN, SHOWN_THEN_DARK, LOW_THEN_SECRETLY_HIGH])
def test_a_trick_on_beliefs_costs_more_than_it_brings(phases: list[tuple[Mechanism, int]]) -> None:
    honest = played(mechanism(reserve_price=0.12, reveal_competing_bids=False), 400, stage=0).mean(axis=1)
    assert standard_errors(played_in_turn(phases, 400, stage=0).mean(axis=1) - honest) < -SIGMAS


# Continuity


NUMBERS = {
    "reserve_price": (0.05, 0.1, 0.12, 0.2, 0.3, 0.4, 0.5, 0.6, 0.625, 0.7, 0.75, 0.8),
    "shill_penalty": (0.5, 1.0, 2.0),
    "withdrawal_penalty": (0.5, 1.0, 2.0),
    "collusion_penalty": (0.25, 0.5, 1.0, 2.0),
}
ANYTHING = mechanism(
    reserve_price=0.3, shill_penalty=0.5, withdrawal_penalty=0.5, collusion_penalty=0.7, coalition_policy="penalize_confirmed"
)


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize("format_", ["first_price", "second_price", "vcg"])
@pytest.mark.parametrize("stage", ["0", "1", "3", "4"])
def test_the_score_is_continuous_in_every_number(stage: str, format_: str, announced: bool) -> None:
    base = {**ANYTHING, "auction_type": format_, "reveal_competing_bids": False, "reveal_reserve": announced}
    for field, values in NUMBERS.items():
        for value in values:
            below, above = (played({**base, field: value + side}, 40, stage=stage) for side in (-1e-9, 1e-9))
            assert np.abs(above - below).max() < 1e-4, (field, value)


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize("field", ["reserve_price", "shill_penalty", "withdrawal_penalty", "collusion_penalty"])
def test_almost_nothing_is_as_good_as_nothing(field: str, announced: bool) -> None:
    base = {**ANYTHING, "reveal_reserve": announced}
    none, almost = (played({**base, field: value}, 40, stage="4") for value in (0.0, 1e-9))
    assert np.abs(none - almost).max() < 1e-4


def test_on_a_fine_grid_of_reserves_the_mean_score_has_no_cliffs() -> None:
    grid = np.arange(0.30, 0.501, 0.01)
    base = mechanism(reveal_competing_bids=False, withdrawal_penalty=1.0)
    scores = np.array([played({**base, "reserve_price": float(r)}, 600, stage="1").mean() for r in grid])
    bends = np.abs(np.diff(scores, 2))
    assert bends.max() < 0.004


# The ring


def first_sales(collusion_penalty: float, policy: str) -> tuple[float, float]:
    """The share of first sales that a ring of five rigs, and that of all sales rigged at a loss by its own books."""
    rigged, bad, sales = 0, 0, 0
    for seed in range(60):
        room = sale_room(seed, mix={"colluder": 0.625, "truthful": 0.375}, freeze=("entry",))
        fields = mechanism(reserve_price=0.1, reveal_competing_bids=False, collusion_penalty=collusion_penalty, coalition_policy=policy)
        room.post(DaedalusAction(**fields))
        for number in range(5):
            sale = room.run_sale()
            rigged += number == 0 and sale["kept"] > 0
            bad += sale["plan_profit"][sale["plan"]] < sale["plan_profit"][0] - 0.1
            sales += 1
    return rigged / 60, bad / sales


def test_a_ring_rigs_its_first_sale_where_that_pays_and_not_where_fines_eat_it_up() -> None:
    legal, punished = first_sales(0.0, "allow"), first_sales(3.0, "penalize_suspected")
    assert legal[0] > 0.85 and punished[0] < 0.15
    assert legal[1] < 0.1 and punished[1] < 0.1
