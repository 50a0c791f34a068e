"""The border of the bargaining environments: spaces, the check of what comes in, and the options of `reset`.

Shared by the single and the vector environment, so that both refuse the same things in the same words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from edgeworth.config import BargainingConfig
from edgeworth.envs.legal_spaces import SafeActions
from edgeworth.envs.reset_options import refuse_mistyped
from edgeworth.errors import IllegalAction, InvalidContext
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import CONTEXT_KEYS, ContextTable, array_of
from edgeworth.games.bargaining.vocabulary import BUDGET, COUNT_LIMIT, ITEM_TYPES, UTILITY_LIMIT, Act

WHOLE = np.dtype(np.int64)


def observation_space(config: BargainingConfig, max_count: int) -> spaces.Dict:
    """What the agent sees; utilities are floats on the 10-point budget where contexts are normalised."""
    units = spaces.Box(0, max_count, (ITEM_TYPES,), np.int32)
    if config.normalize:
        points: spaces.Box[Any] = spaces.Box(0.0, float(BUDGET), (ITEM_TYPES,), np.float32)
    else:
        points = spaces.Box(0, UTILITY_LIMIT, (ITEM_TYPES,), np.int32)
    return spaces.Dict(
        {
            "counts": units,
            "my_utilities": points,
            "partner_utilities": points,
            "last_partner_act": spaces.Discrete(len(Act)),
            "last_partner_offer_for_me": units,
            "turns_remaining": spaces.Discrete(config.max_turns + 1),
        }
    )


def action_space(batch: BargainingBatch) -> SafeActions:
    """A dialogue act and the agent's own share."""
    shares = spaces.MultiDiscrete([batch.max_count + 1] * ITEM_TYPES)
    return SafeActions(spaces.Discrete(len(Act)), shares, batch.least_counts)


def batch_action_space(batch: BargainingBatch) -> SafeActions:
    """An act and a share for every episode of a batch."""
    acts = spaces.MultiDiscrete([len(Act)] * batch.size)
    shares = spaces.MultiDiscrete(np.full((batch.size, ITEM_TYPES), batch.max_count + 1))
    return SafeActions(acts, shares, batch.least_counts)


def normalised(counts: NDArray[np.int32], utilities: NDArray[np.int32], maximum: Any) -> NDArray[np.float32]:
    """Utilities on the budget of 10; a type that is not in the pool counts for nothing."""
    worth = np.maximum(maximum, 1)
    scaled = np.float32(BUDGET) * utilities.astype(np.float32) / np.asarray(worth, np.float32)
    return np.where(counts > 0, scaled, np.float32(0.0))


def observation_of(row: NDArray[np.int32], normalize: bool) -> dict[str, Any]:
    """One side's observation, from its view."""
    mine: NDArray[Any] = row[3:6]
    theirs: NDArray[Any] = row[6:9]
    if normalize:
        mine, theirs = normalised(row[0:3], mine, row[18]), normalised(row[0:3], theirs, row[19])
    return {
        "counts": row[0:3],
        "my_utilities": mine,
        "partner_utilities": theirs,
        "last_partner_act": row.item(15),
        "last_partner_offer_for_me": row[9:12],
        "turns_remaining": row.item(16),
    }


def checked_act(act: Any) -> int:
    """The act as a whole number; the rules decide whether it is legal."""
    if type(act) is int:
        return act
    if isinstance(act, np.integer) or (isinstance(act, np.ndarray) and act.shape == () and act.dtype.kind in "iu"):
        return int(act)
    if isinstance(act, Act):
        return int(act)
    raise IllegalAction(f"act_type is {act!r}; expected a whole number from 0 to 4.", "action_shape")


def checked_share(share: Any) -> list[int]:
    """The share as three whole numbers; the rules decide whether the pool allows it."""
    array = share if type(share) is np.ndarray else array_of(share)
    if array.shape != (ITEM_TYPES,) or array.dtype.kind not in "iu":
        raise IllegalAction(f"oA is {share!r}; expected three whole numbers, one per item type.", "action_shape")
    plain: list[int] = array.tolist()
    return plain


def checked_acts(acts: Any, size: int) -> NDArray[np.int64]:
    """A batch of acts as whole numbers."""
    return _whole_numbers("act_type", acts, (size,))


def checked_shares(shares: Any, size: int) -> NDArray[np.int64]:
    """A batch of shares as whole numbers."""
    return _whole_numbers("oA", shares, (size, ITEM_TYPES))


def _whole_numbers(name: str, values: Any, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Whole numbers in the one memory layout that the rules are compiled for."""
    if type(values) is np.ndarray and values.shape == shape and values.dtype is WHOLE and values.flags.carray:
        return values
    array = array_of(values)
    if array.shape != shape or array.dtype.kind not in "iu":
        raise IllegalAction(f"{name} has shape {array.shape} and dtype {array.dtype}; expected {shape} whole numbers.", "action_shape")
    return np.require(array, np.int64, ["C", "W"])


def fixed_contexts(options: dict[str, Any] | None, size: int, also_known: tuple[str, ...] = ()) -> ContextTable:
    """The contexts that `reset` was told to play, one row per episode; empty where they are to be drawn."""
    given = options or {}
    refuse_mistyped(given, (*CONTEXT_KEYS, *also_known))
    present = [key for key in CONTEXT_KEYS if key in given]
    if not present:
        return np.zeros((0, 3 * ITEM_TYPES), np.int16)
    if len(present) < len(CONTEXT_KEYS):
        missing = ", ".join(key for key in CONTEXT_KEYS if key not in given)
        raise InvalidContext(f"reset options give {', '.join(present)} but not {missing}; a fixed context needs all three.")
    return np.concatenate([_rows(key, given[key], size) for key in CONTEXT_KEYS], axis=1)


def _rows(key: str, values: Any, size: int) -> NDArray[np.int16]:
    array = array_of(values)
    limit = COUNT_LIMIT if key == "counts" else UTILITY_LIMIT
    if array.dtype.kind not in "iu" or array.shape not in ((ITEM_TYPES,), (size, ITEM_TYPES)):
        wanted = "three whole numbers" if size == 1 else f"three whole numbers, or {size} rows of three"
        raise InvalidContext(f"{key} is {values!r}; expected {wanted}.")
    if array.min() < 0 or array.max() > limit:
        raise InvalidContext(f"{key} is {array.tolist()}; expected numbers from 0 to {limit}.")
    return np.broadcast_to(array, (size, ITEM_TYPES)).astype(np.int16)
