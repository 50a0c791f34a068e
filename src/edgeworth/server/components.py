"""The parts of a bargaining reward: what a deal was worth, what waiting for it cost, what no deal pays, and what was charged.

    reward = agreed · worth · patience + reservation - charge

The market has its four scores; these are their counterpart at the table, so that a trainer can see what a reward is made of.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgeworth.config import BargainingConfig
from edgeworth.games.bargaining.contexts import Context
from edgeworth.games.bargaining.vocabulary import AGENT, BUDGET, INSIST, LOST_TURN

TALK_PARTS = ("agreed", "worth", "patience", "reservation", "charge")


def talk_components(config: BargainingConfig, context: Context | None, info: Mapping[str, Any]) -> dict[str, float]:
    """The parts of the reward of the agent's last move, out of what the environment told of it; the context where talks are over."""
    history = info["history"]
    own = next((act for side, act, _ in reversed(history) if side == AGENT), None)
    charge = {INSIST: config.insist_price, LOST_TURN: config.illegal_penalty}.get(own, 0.0) if own is not None else 0.0
    parts = dict.fromkeys(TALK_PARTS, 0.0) | {"patience": 1.0, "charge": charge}
    if context is None:
        return parts
    if info["deal"] is None:
        parts["reservation"] = config.reservation[0] * _worth(config, context, context.counts)
    else:
        parts |= {"agreed": 1.0, "worth": _worth(config, context, info["deal"])}
        parts["patience"] = config.discount ** max(0, len(history) - 2)
    return parts


def _worth(config: BargainingConfig, context: Context, share: tuple[int, ...]) -> float:
    """What a share is worth to the agent, in the units of the reward."""
    points = sum(utility * units for utility, units in zip(context.my_utilities, share, strict=True))
    if not config.normalize:
        return float(points)
    whole = sum(utility * units for utility, units in zip(context.my_utilities, context.counts, strict=True))
    return BUDGET * points / whole if whole else 0.0
