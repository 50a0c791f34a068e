"""Mechanisms to post in tests, and the state of markets to the last bit."""

from __future__ import annotations

from typing import Any

from bargaining_table import bits_of
from edgeworth.envs.designed_markets import DesignedMarkets

SANE: dict[str, Any] = {
    "auction_type": "vcg",
    "reserve_price": 0.1,
    "reveal_reserve": True,
    "reveal_competing_bids": False,
    "reveal_winner_identity": False,
    "reveal_clearing_price": True,
    "reveal_bid_distribution": True,
    "shill_penalty": 0.5,
    "withdrawal_penalty": 1.0,
    "collusion_penalty": 0.25,
    "coalition_policy": "penalize_confirmed",
}
SANE_LEVELS = [2, 2, 1, 0, 0, 1, 1, 2, 4, 1, 3]
SILLY: dict[str, Any] = {**SANE, "auction_type": "first_price", "reserve_price": 0.9, "coalition_policy": "allow"}


def with_fields(**changes: Any) -> dict[str, Any]:
    """The sane mechanism, changed."""
    return {**SANE, **changes}


def all_bits(markets: DesignedMarkets) -> list[Any]:
    """Everything that a step or a reset may change."""
    batch, curriculum = markets.batch, markets.curriculum
    climbed = None if curriculum is None else (curriculum.stage, list(curriculum.scores))
    arrays = [markets.lines.tobytes(), markets.returns.tobytes(), markets.stages.tobytes(), batch.populations.tobytes()]
    return [bits_of(batch.markets), bits_of(batch.outcomes), *arrays, batch.config, climbed]
