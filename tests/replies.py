"""Replies that models write, good ones to start from: a hint and a mechanism, with the schema of each."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from edgeworth.agents.designers.design_prompt import MECHANISM_SCHEMA
from edgeworth.dialogues.hint_prompt import hint_schema
from edgeworth.llm.client import Messages
from edgeworth.protocol import Schema

EVERY_ACT = np.ones(5, np.int8)
NO_OFFER_YET = np.array([1, 1, 0, 1, 1], np.int8)
CAPS = np.array([2, 1, 3], np.int32)

HINT: dict[str, Any] = {"act_type": 0, "oA": [2, 0, 1], "confidence": 0.75}
MECHANISM: dict[str, Any] = {
    "auction_type": "second_price",
    "reserve_price": 0.15,
    "reveal_reserve": True,
    "reveal_competing_bids": False,
    "reveal_winner_identity": False,
    "reveal_clearing_price": True,
    "reveal_bid_distribution": True,
    "shill_penalty": 1.2,
    "withdrawal_penalty": 1,
    "collusion_penalty": 1.5,
    "coalition_policy": "penalize_confirmed",
}

HINT_SCHEMA = hint_schema(EVERY_ACT, CAPS)
CASES: dict[str, tuple[Schema[Any], dict[str, Any]]] = {
    "hint": (HINT_SCHEMA, HINT),
    "mechanism": (MECHANISM_SCHEMA, MECHANISM),
}


def asks_for_everything(messages: Messages) -> str:
    """What a greedy model would write to our prompt for hints: PROPOSE the whole pool."""
    return said(HINT, oA=[int(n) for n in told(messages, "Pool (books, hats, balls)").split(",")])


def told(messages: Messages, line: str) -> str:
    """What the user's message says on one of its lines."""
    return next(text for name, _, text in (row.partition(": ") for row in messages[-1].content.splitlines()) if name == line)


def said(values: Any, **changes: Any) -> str:
    """Values as a model would write them, some changed; a change to ... leaves the key out."""
    changed = {**values, **changes}
    return json.dumps({key: value for key, value in changed.items() if value is not ...})


PROVIDER_OPTIONS: dict[str, dict[str, Any]] = {"llm": {"client": "scripted", "client_options": {"replies": asks_for_everything}}}
"""What a hint provider of the catalog needs to be made in a test."""
