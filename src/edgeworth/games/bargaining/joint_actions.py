"""Joint actions: act and share as one number, with a complete mask.

With caps 0..m per type there are S = (m + 1)³ shares, in lexicographic order. The actions are PROPOSE with each share, INSIST with each,
AGREE, DISAGREE, END with each: 3 S + 2 in all (377 for m = 4).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.compiled import Array, Int, compiled
from edgeworth.errors import IllegalAction
from edgeworth.games.bargaining.legality import within_pool
from edgeworth.games.bargaining.state import EPISODE
from edgeworth.games.bargaining.vocabulary import AGENT, AGREE, DISAGREE, END, INSIST, ONGOING, PARTNER, PROPOSE
from edgeworth.validation import array_of


def joint_action_count(max_count: int) -> int:
    """How many joint actions there are."""
    return 3 * int((max_count + 1) ** 3) + 2


@compiled
def encode_one(act: Int, a: Int, b: Int, c: Int, levels: Int) -> Int:
    """The number of a joint action; `levels` is the largest count plus one."""
    shares = levels * levels * levels
    if act == AGREE:
        return 2 * shares
    if act == DISAGREE:
        return 2 * shares + 1
    share = (a * levels + b) * levels + c
    if act == PROPOSE:
        return share
    if act == INSIST:
        return shares + share
    return 2 * shares + 2 + share


@compiled
def decode_one(action: Int, levels: Int) -> tuple[Int, Int, Int, Int]:
    """Act and share behind the number of a joint action."""
    shares = levels * levels * levels
    if action == 2 * shares:
        return AGREE, 0, 0, 0
    if action == 2 * shares + 1:
        return DISAGREE, 0, 0, 0
    if action < shares:
        act, share = PROPOSE, action
    elif action < 2 * shares:
        act, share = INSIST, action - shares
    else:
        act, share = END, action - 2 * shares - 2
    return act, share // (levels * levels), (share // levels) % levels, share % levels


@compiled
def decode_batch(actions: Array, levels: Int, acts: Array, shares: Array) -> None:
    """Acts and shares of a batch of joint actions."""
    for i in range(actions.shape[0]):
        e = np.uint64(i)
        acts[e], shares[e, 0], shares[e, 1], shares[e, 2] = decode_one(actions[e], levels)


@compiled
def joint_mask_batch(state: Array, side: Int, levels: Int, masks: Array) -> None:
    """Every joint action that is legal now, as 0 and 1."""
    shares = levels * levels * levels
    for i in range(state.shape[0]):
        e = np.uint64(i)
        s = state[e]
        ongoing = s.outcome == ONGOING
        for share in range(shares):
            a, b, c = share // (levels * levels), (share // levels) % levels, share % levels
            legal = 1 if ongoing and within_pool(s, a, b, c) else 0
            masks[e, share] = legal
            masks[e, shares + share] = legal
            masks[e, 2 * shares + 2 + share] = legal
        masks[e, 2 * shares] = 1 if ongoing and s.offered[1 - side] else 0
        masks[e, 2 * shares + 1] = 1 if ongoing else 0


def joint_masks(state: NDArray[np.void], side: int, max_count: int) -> NDArray[np.int8]:
    """The complete mask of every episode, in a fresh array."""
    masks = np.empty((len(state), joint_action_count(max_count)), np.int8)
    joint_mask_batch(state, side, max_count + 1, masks)
    return masks


def joint_mask(counts: NDArray[np.int16], max_count: int, can_agree: bool) -> NDArray[np.int8]:
    """The joint actions that a pool allows."""
    state = np.zeros(1, EPISODE)
    state["counts"], state["offered"][:, PARTNER] = counts, int(can_agree)
    mask: NDArray[np.int8] = joint_masks(state, AGENT, max_count)[0]
    return mask


def encode(act: int, share: tuple[int, int, int], max_count: int) -> int:
    """The number of a joint action."""
    return int(encode_one(act, *share, max_count + 1))


def read_actions(given: Any, size: int, max_count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Acts and shares of a batch of joint actions, or an error that names the first that does not exist."""
    actions, limit = np.atleast_1d(array_of(given)), joint_action_count(max_count)
    if actions.shape != (size,) or actions.dtype.kind not in "iu":
        wanted = "one whole number" if size == 1 else f"{size} whole numbers"
        found = f"shape {actions.shape} and dtype {actions.dtype}"
        raise IllegalAction(f"The action has {found}; expected {wanted} from 0 to {limit - 1}.", "action_shape")
    outside = np.flatnonzero((actions < 0) | (actions >= limit))
    if outside.size:
        slot = int(outside[0])
        raise IllegalAction(f"The action is {actions[slot]}; expected 0 to {limit - 1}.", "unknown_act", slot if size > 1 else None)
    return decode(np.require(actions, np.int64, ["C", "W"]), max_count)


def decode(actions: NDArray[np.int64], max_count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Acts and shares of a batch of joint actions."""
    acts, shares = np.empty(len(actions), np.int64), np.empty((len(actions), 3), np.int64)
    decode_batch(actions, max_count + 1, acts, shares)
    return acts, shares
