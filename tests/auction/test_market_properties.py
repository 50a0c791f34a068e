"""What holds in every market: any population, any number of bidders, any mechanism, any bids."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auction_house import (
    POPULATIONS,
    Floats,
    Rows,
    cleared,
    graded,
    mechanism,
    opened,
    payments_by_seat,
    played,
    random_actions,
    sale_room,
    standard_errors,
)
from edgeworth.games.auction.action import DaedalusAction, random_mechanisms
from edgeworth.games.auction.state import OUTCOME, SCORES
from edgeworth.games.auction.vocabulary import ALLOW, AUCTION_TYPES, PENALIZE_CONFIRMED, PENALIZE_SUSPECTED, RESTRICT, SALES_PER_STEP

SEEDS = st.integers(0, 2**63 - 1)
PRICES = st.floats(0.0, 1.25, allow_nan=False, allow_subnormal=False)
BIDS = st.lists(PRICES, min_size=1, max_size=16).map(lambda bids: np.array(bids))
LOTS = st.integers(1, 6).map(graded)
KINDS = st.sampled_from(AUCTION_TYPES)
UNIT_SHARES = ("split", "equity", "cover_share", "winner_concentration", "unsold_share", "ring_activity", "wars", "gini", "jain")


# Scores


@given(stage=st.sampled_from([*POPULATIONS, "dirichlet"]), n=st.integers(2, 16), seed=SEEDS)
def test_every_score_lies_between_0_and_1(stage: str, n: int, seed: int) -> None:
    size = 16
    batch = opened(size, seed >> 1, stage=stage, n_agents=n)
    for step in range(3):
        outcomes = batch.step(random_mechanisms(np.random.default_rng([seed, step]), size))
        for name in (*SCORES, *UNIT_SHARES):
            assert (outcomes[name] >= 0.0).all() and (outcomes[name] <= 1.0 + 1e-12).all(), name
        product = np.prod([outcomes[name] for name in SCORES[:-1]], axis=0)
        np.testing.assert_allclose(outcomes["composite"], product, rtol=1e-12)
        for name in OUTCOME.names or ():
            assert np.isfinite(outcomes[name]).all(), name


def test_scores_are_not_saturated() -> None:
    batch = opened(3_000, stage="mixed")
    outcomes = batch.step(random_mechanisms(np.random.default_rng(0), 3_000))
    for name in SCORES:
        assert (outcomes[name] < 0.999).mean() > 0.5 and outcomes[name].std() > 0.05, name


@pytest.mark.parametrize(
    ("change", "most"),
    [
        ({"reserve_price": 0.9}, 0.15),  # hardly any trade
        ({"auction_type": "first_price"}, 0.05),  # the seller takes all there is
        ({"shill_penalty": 3.0, "withdrawal_penalty": 3.0, "collusion_penalty": 3.0, "coalition_policy": "penalize_suspected"}, 0.55),
    ],
    ids=["no trade", "full extraction", "honest people fined"],
)
def test_no_trade_full_extraction_and_harsh_rules_score_low_among_honest_bidders(change: dict[str, Any], most: float) -> None:
    good = mechanism(reserve_price=0.3, reveal_competing_bids=False)
    assert played(good, 200, stage=0).mean() > 0.65
    assert played({**good, **change}, 200, stage=0).mean() < most


# Clearing, on fixed bids


@given(bids=BIDS, qualities=LOTS, kind=KINDS, reserves=st.tuples(PRICES, PRICES).map(sorted))
def test_a_higher_reserve_never_sells_more(bids: Floats, qualities: Floats, kind: str, reserves: list[float]) -> None:
    low, high = (cleared(bids, kind, reserve, qualities)["sold"] for reserve in reserves)
    assert high <= low
    assert low == min(len(qualities), (bids[bids > 0.0] >= reserves[0]).sum())


@given(bids=BIDS, qualities=LOTS, kind=KINDS, reserve=PRICES, share=st.floats(0.0, 1.0), place=st.integers(0, 16))
def test_a_further_losing_bid_never_lowers_revenue(
    bids: Floats, qualities: Floats, kind: str, reserve: float, share: float, place: int
) -> None:
    before = cleared(bids, kind, reserve, qualities)
    lowest_winner = before["bid"][before["sold"] - 1] if before["sold"] == len(qualities) else reserve
    losing = share * lowest_winner * (1.0 - 1e-9)
    after = cleared(np.insert(bids, min(place, len(bids)), losing), kind, reserve, qualities)
    assert after["sold"] == before["sold"]
    assert after["revenue"] >= before["revenue"] - 1e-12
    if kind == "first_price":
        assert after["revenue"] == pytest.approx(before["revenue"], abs=1e-12)


@given(bids=st.lists(PRICES, min_size=1, max_size=16, unique=True).map(np.array), qualities=LOTS, kind=KINDS, reserve=PRICES, seed=SEEDS)
def test_permuting_the_bidders_permutes_the_awards_and_payments(
    bids: Floats, qualities: Floats, kind: str, reserve: float, seed: int
) -> None:
    order = np.random.default_rng(seed).permutation(len(bids))
    ladder, permuted = cleared(bids, kind, reserve, qualities), cleared(bids[order], kind, reserve, qualities)
    assert permuted["revenue"] == ladder["revenue"]
    ranked = ladder["ranked"]
    assert (order[permuted["seat"][:ranked]] == ladder["seat"][:ranked]).all()
    np.testing.assert_array_equal(payments_by_seat(permuted, len(bids)), payments_by_seat(ladder, len(bids))[order])


@given(bids=BIDS, qualities=LOTS, kind=KINDS, reserve=PRICES)
def test_winners_pay_between_the_reserve_and_their_bid(bids: Floats, qualities: Floats, kind: str, reserve: float) -> None:
    ladder = cleared(bids, kind, reserve, qualities)
    sold = ladder["sold"]
    paid, bid = ladder["payment"][:sold] / qualities[:sold], ladder["bid"][:sold]
    assert (paid <= bid + 1e-12).all() and (paid >= reserve - 1e-12).all()
    assert (np.diff(bid) <= 0.0).all() and len(set(ladder["seat"][:sold].tolist())) == sold


@given(bids=st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75]), min_size=2, max_size=16).map(np.array), qualities=LOTS, kind=KINDS)
def test_who_bids_nothing_wins_nothing_and_equal_bids_win_one_lot_each(bids: Floats, qualities: Floats, kind: str) -> None:
    ladder = cleared(bids, kind, 0.0, qualities)
    winners = ladder["seat"][: ladder["sold"]]
    assert (bids[winners] > 0.0).all() and len(set(winners.tolist())) == min((bids > 0.0).sum(), len(qualities))


# Values and the competitive benchmark do not depend on the mechanism


@pytest.mark.parametrize("stage", POPULATIONS)
def test_values_are_the_same_under_any_mechanism(stage: str) -> None:
    seen = []
    for choice in range(4):
        room = sale_room(21, stage=stage)
        drawn = []
        for action in random_actions(choice, 4):
            room.post(action)
            for _ in range(SALES_PER_STEP):
                sale = room.run_sale()
                drawn.append([sale["demand"], sale["first_best"], sale["competitive_profit"], *sale["value"][:8]])
        seen.append(np.array(drawn))
    assert len(np.unique(seen[0])) == seen[0].size
    for other in seen[1:]:
        assert other.tobytes() == seen[0].tobytes()


def test_values_are_uniform_up_to_the_demand_of_the_day() -> None:
    room = sale_room(4, stage=0, episode_length=600)
    shares, demands = [], []
    for _ in range(600):
        room.post(DaedalusAction(**mechanism()))
        for _ in range(SALES_PER_STEP):
            values = room.draw_values()
            shares.append(values / room.sale["demand"])
            demands.append(float(room.sale["demand"]))
            room.run_sale_with_bids(values)
    for sample, low, width in ((np.concatenate(shares), 0.0, 1.0), (np.array(demands), 0.75, 0.5)):
        counts = np.histogram((sample - low) / width, 10, (0.0, 1.0))[0]
        expected = len(sample) / 10
        assert counts.sum() == len(sample)
        assert ((counts - expected) ** 2 / expected).sum() < 50.0  # nine degrees of freedom: once in ten million


def test_the_sale_of_outside_bids_is_the_sale_of_the_model_when_the_bids_are_the_same() -> None:
    model = {"entry": {"frozen": True}}
    for kind in AUCTION_TYPES:
        action = DaedalusAction(**mechanism(auction_type=kind, reserve_price=0.2, reveal_reserve=False, shill_penalty=1.0))
        inside, outside = (sale_room(8, stage=0, model=model) for _ in range(2))
        for room in (inside, outside):
            room.post(action)
        for _ in range(SALES_PER_STEP):
            own = inside.run_sale()
            other = outside.run_sale_with_bids(outside.draw_values())
            for name in ("value", "bid", "ladder", "welfare", "profit", "fines", "surplus", "won"):
                assert own[name].tobytes() == other[name].tobytes(), name
        assert inside.outcome.tobytes() == outside.outcome.tobytes()


# Permission and punishment


def outcomes_of(mechanisms: list[Rows], **options: Any) -> Rows:
    """What markets show over an episode of changing mechanisms."""
    batch = opened(len(mechanisms[0]), 9, **options)
    return np.array([batch.step(rows).copy() for rows in mechanisms])


def episode_of(size: int, policy: int, penalty: float | None = None) -> list[Rows]:
    """An episode of random mechanisms under one coalition policy."""
    mechanisms = [random_mechanisms(np.random.default_rng([77, step]), size) for step in range(6)]
    for rows in mechanisms:
        rows["coalition_policy"] = policy
        if penalty is not None:
            rows["collusion_penalty"] = penalty
    return mechanisms


@pytest.mark.parametrize("stage", [*POPULATIONS, "dirichlet"])
def test_under_allow_the_collusion_penalty_changes_nothing(stage: str) -> None:
    shown = [outcomes_of(episode_of(60, ALLOW, penalty), stage=stage) for penalty in (0.0, 0.7, 3.0)]
    assert shown[0].tobytes() == shown[1].tobytes() == shown[2].tobytes()


@pytest.mark.parametrize("stage", [*POPULATIONS, "dirichlet"])
def test_suspicion_without_a_penalty_is_permission(stage: str) -> None:
    allowed, suspected = (outcomes_of(episode_of(60, policy, 0.0), stage=stage) for policy in (ALLOW, PENALIZE_SUSPECTED))
    assert allowed.tobytes() == suspected.tobytes()


@pytest.mark.parametrize("options", [{}, {"freeze": ("entry",)}], ids=["free", "all come"])
@pytest.mark.parametrize("stage", [*POPULATIONS, "dirichlet"])
def test_proof_without_a_penalty_is_permission_but_for_the_paperwork(stage: str, options: dict[str, Any]) -> None:
    free = {"model": {"entry": {"compliance_cost": 0.0}}, **options}
    allowed, confirmed = (outcomes_of(episode_of(60, policy, 0.0), stage=stage, **free) for policy in (ALLOW, PENALIZE_CONFIRMED))
    assert allowed.tobytes() == confirmed.tobytes()


def test_the_paperwork_of_proof_keeps_people_away() -> None:
    allowed, confirmed = (outcomes_of(episode_of(400, policy, 0.0), stage=2)["entrants"] for policy in (ALLOW, PENALIZE_CONFIRMED))
    assert standard_errors((confirmed - allowed).mean(axis=0)) < -5.0


@pytest.mark.parametrize("policy", [RESTRICT, PENALIZE_SUSPECTED, PENALIZE_CONFIRMED])
def test_a_punishing_policy_with_a_penalty_is_no_permission(policy: int) -> None:
    allowed, punished = (outcomes_of(episode_of(60, p, 1.0), stage=3) for p in (ALLOW, policy))
    assert (punished["ring_activity"].mean() < 0.9 * allowed["ring_activity"].mean()) and (
        punished["composite"] != allowed["composite"]
    ).any()
