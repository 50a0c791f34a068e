"""Every field of the mechanism matters, in the documented direction, and none is simply good.

One field leaves a good mechanism and everything else stays, on the same markets: the change of the mean score is measured in standard
errors of the paired differences.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from auction_house import BEST, Mechanism, mean_scores, mechanism, standard_errors
from edgeworth.games.auction.action import FIELDS, FLAGS

MARKETS = 1_000
SIGMAS = 5.0

LEGAL_RING = mechanism(reserve_price=0.36, reveal_reserve=False, reveal_competing_bids=False, reveal_winner_identity=False)
"""A legal ring that has to guess a secret reserve."""
WATCHED_RING = mechanism(
    reserve_price=0.06,
    reveal_reserve=False,
    reveal_competing_bids=False,
    reveal_winner_identity=False,
    collusion_penalty=1.7,
    coalition_policy="penalize_confirmed",
)
"""A ring that sees prices without names, so it cannot tell who cheated."""
DISCREET = mechanism(
    auction_type="first_price", reserve_price=0.2, reveal_competing_bids=False, reveal_clearing_price=False, reveal_bid_distribution=False
)
"""Pay-as-bid with nothing published but names: nobody learns how far to shade."""
BLIND = mechanism(
    auction_type="second_price",
    reserve_price=0.15,
    reveal_reserve=False,
    reveal_competing_bids=False,
    reveal_winner_identity=False,
    reveal_bid_distribution=False,
    collusion_penalty=1.0,
    coalition_policy="penalize_confirmed",
)
"""Publishes prices and nothing else."""


class Change(NamedTuple):
    """One field that leaves a mechanism, to its harm."""

    field: str
    stage: str
    value: Any
    why: str
    base: Mechanism | None = None


CHANGES = [
    Change("auction_type", "0", "first_price", "pay-as-bid leaves naive bidders nothing"),
    Change("auction_type", "0", "second_price", "the generalised second price over-charges honest bidders"),
    Change("auction_type", "3", "first_price", "learners shade, and the ring cuts its bids"),
    Change("auction_type", "4", "first_price", "pay-as-bid drives people out"),
    Change("auction_type", "3", "vcg", "vcg is the most exposed to a legal ring", {**LEGAL_RING, "auction_type": "first_price"}),
    Change("reserve_price", "3", 0.0, "no reserve feeds the ring"),
    Change("reserve_price", "2", 0.0, "no reserve gives the seller's share away"),
    Change("reserve_price", "0", 0.6, "lots stay unsold"),
    Change("reserve_price", "3", 0.8, "lots stay unsold"),
    Change("reveal_reserve", "2", False, "dropouts fear a secret reserve"),
    Change("reveal_reserve", "3", True, "a legal ring covers exactly at an announced reserve", LEGAL_RING),
    Change("reveal_competing_bids", "0", True, "nobody likes to see its bids published"),
    Change("reveal_competing_bids", "3", True, "published bids name the cheat for the ring"),
    Change("reveal_competing_bids", "1", False, "shaders learn fastest from all bids"),
    Change("reveal_winner_identity", "4", False, "names are evidence against shills and rings"),
    Change("reveal_winner_identity", "3", True, "names let the ring expel its cheats", WATCHED_RING),
    Change("reveal_clearing_price", "2", False, "entrants fear what they cannot see"),
    Change("reveal_clearing_price", "mixed", False, "entrants fear what they cannot see"),
    Change("reveal_clearing_price", "1", False, "without any prices nothing is learnt", BLIND),
    Change("reveal_clearing_price", "4", True, "prices teach how far to shade", DISCREET),
    Change("reveal_bid_distribution", "2", False, "the histogram teaches and reassures"),
    Change("reveal_bid_distribution", "3", False, "the histogram teaches and is evidence"),
    Change("reveal_bid_distribution", "mixed", False, "the histogram teaches and reassures"),
    Change("reveal_bid_distribution", "4", True, "the histogram teaches how far to shade", DISCREET),
    Change("shill_penalty", "4", 0.0, "shills go free"),
    Change("shill_penalty", "4", 3.0, "honest price setters are fined by mistake"),
    Change("shill_penalty", "0", 1.2, "honest price setters are fined by mistake"),
    Change("withdrawal_penalty", "4", 0.0, "overbidding and walking away are free"),
    Change("withdrawal_penalty", "4", 0.5, "overbidding and walking away are cheap"),
    Change("withdrawal_penalty", "4", 3.0, "losses are locked in and entry is taxed"),
    Change("withdrawal_penalty", "0", 1.0, "among honest bidders the charge only taxes entry"),
    Change("collusion_penalty", "1", 0.0, "a prohibition without a penalty is a permission"),
    Change("collusion_penalty", "1", 3.0, "suspicion fines honest bidders"),
    Change("collusion_penalty", "3", 0.0, "the ring goes free"),
    Change("collusion_penalty", "4", 0.0, "the ring goes free"),
    Change("coalition_policy", "0", "restrict", "screening keeps honest bidders out"),
    Change("coalition_policy", "0", "penalize_confirmed", "paperwork keeps honest bidders out"),
    Change("coalition_policy", "1", "allow", "shaders join a legal ring"),
    Change("coalition_policy", "3", "allow", "the ring is legal"),
    Change("coalition_policy", "4", "penalize_suspected", "suspicion fines the wrong people"),
    Change("coalition_policy", "4", "allow", "the ring is legal"),
]


def differences(change: Change) -> np.ndarray:
    base = BEST[change.stage] if change.base is None else change.base
    assert base[change.field] != change.value
    return mean_scores({**base, change.field: change.value}, MARKETS, change.stage) - mean_scores(base, MARKETS, change.stage)


def test_the_table_of_changes_has_every_field_and_every_flag_both_ways() -> None:
    assert {change.field for change in CHANGES} == set(FIELDS)
    assert {(change.field, change.value) for change in CHANGES} >= {(flag, value) for flag in FLAGS for value in (True, False)}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: f"{change.field}={change.value} at stage {change.stage}")
def test_one_field_that_leaves_a_mechanism_lowers_the_score_where_the_documents_say_so(change: Change) -> None:
    assert standard_errors(differences(change)) < -SIGMAS, change.why


# Permission and punishment


@pytest.mark.parametrize("penalty", [0.25, 1.0, 3.0])
@pytest.mark.parametrize("policy", ["restrict", "penalize_suspected", "penalize_confirmed"])
def test_among_honest_bidders_policing_only_costs(policy: str, penalty: float) -> None:
    policed = {**BEST["0"], "coalition_policy": policy, "collusion_penalty": penalty}
    assert standard_errors(mean_scores(policed, MARKETS, "0") - mean_scores(BEST["0"], MARKETS, "0")) < -SIGMAS


@pytest.mark.parametrize("stage", ["3", "4"])
def test_against_a_ring_permission_costs_at_least_a_tenth(stage: str) -> None:
    loss = mean_scores(BEST[stage], MARKETS, stage) - mean_scores({**BEST[stage], "coalition_policy": "allow"}, MARKETS, stage)
    assert standard_errors(loss, 0.10) > SIGMAS
