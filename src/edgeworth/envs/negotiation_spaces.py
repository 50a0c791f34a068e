"""What the bargaining environments share: spaces, checks of actions, the options of `reset`, and tables of text.

Which actions are legal depends on the pool and on the moves so far, and an illegal one is an error by default. A plain `sample()` of a
space knows neither, so it draws from the actions that no state forbids: any act but AGREE, with a share no larger than the smallest pool
of the context source (a still smaller pool fixed by `reset` options needs the mask). The spaces still contain every action; to draw from
all that are legal now, pass the mask (`info["action_mask"]`, in the flat view complete) or use `random_actions()`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from edgeworth.config import BargainingConfig
from edgeworth.dialogues.wording import negotiation_table
from edgeworth.envs.options import refuse_mistyped
from edgeworth.errors import EpisodeOver, IllegalAction, InvalidContext, shown
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import CONTEXT_KEYS, ContextTable, context_of
from edgeworth.games.bargaining.history import history_of
from edgeworth.games.bargaining.joint_actions import joint_action_count, joint_mask
from edgeworth.games.bargaining.state import VIEW
from edgeworth.games.bargaining.vocabulary import AGREE, BUDGET, COUNT_LIMIT, ITEM_TYPES, UTILITY_LIMIT, Act, Outcome
from edgeworth.validation import array_of

WHOLE = np.dtype(np.int64)
OBSERVED = {
    name: VIEW[name]
    for name in ("counts", "my_utilities", "partner_utilities", "last_partner_act", "last_partner_offer_for_me", "turns_remaining")
}
"""The columns of a view that make up an observation."""
MAXIMUM_OF = {"my_utilities": "my_maximum", "partner_utilities": "partner_maximum"}
"""The column that holds the worth of the whole pool under these utilities."""
SAFE_ACTS = np.array([act for act in Act if act != AGREE])


class SafeActions(spaces.Dict):
    """Acts and shares of one episode, or of a batch."""

    def __init__(self, act_type: spaces.Space[Any], share: spaces.Space[Any], least_counts: NDArray[np.int16]) -> None:
        super().__init__({"act_type": act_type, "oA": share})
        self._least_counts = least_counts

    def sample(self, mask: Any = None, probability: Any = None) -> dict[str, Any]:
        """An action that is legal in every state, or any action that a mask allows."""
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        acts, shares = self["act_type"], self["oA"]
        chosen = SAFE_ACTS[acts.np_random.integers(len(SAFE_ACTS), size=acts.shape)]
        return {"act_type": chosen, "oA": shares.np_random.integers(0, self._least_counts + 1, size=shares.shape)}


class SafeDiscrete(spaces.Discrete):
    """Joint actions of one episode."""

    def __init__(self, max_count: int, least_counts: NDArray[np.int16]) -> None:
        super().__init__(joint_action_count(max_count))
        self._safe = joint_mask(least_counts, max_count, can_agree=False)

    def sample(self, mask: Any = None, probability: Any = None) -> np.int64:
        """An action that is legal in every state, or any action that a mask allows."""
        return super().sample(self._safe if mask is None and probability is None else mask, probability)


class SafeMultiDiscrete(spaces.MultiDiscrete):
    """Joint actions of a batch of episodes."""

    def __init__(self, size: int, max_count: int, least_counts: NDArray[np.int16]) -> None:
        super().__init__([joint_action_count(max_count)] * size)
        self._safe = np.flatnonzero(joint_mask(least_counts, max_count, can_agree=False))

    def sample(self, mask: Any = None, probability: Any = None) -> NDArray[np.int64]:
        """Actions that are legal in every state, or any that the masks (one row each) allow."""
        if isinstance(mask, np.ndarray) and mask.ndim == 2 and probability is None:
            return np.asarray((self.np_random.random(mask.shape) * (mask > 0)).argmax(axis=1), np.int64)
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        return self._safe[self.np_random.integers(len(self._safe), size=self.shape)]


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


def observation_of(views: NDArray[np.int32], normalize: bool) -> dict[str, Any]:
    """The observation in a view, or in a batch of views; where contexts are normalised, utilities are on the budget of 10."""
    observation: dict[str, Any] = {name: views[..., column] for name, column in OBSERVED.items()}
    if normalize:
        for name, maximum in MAXIMUM_OF.items():
            observation[name] = normalised(observation["counts"], observation[name], views[..., VIEW[maximum], None])
    if views.ndim == 1:
        for name in ("last_partner_act", "turns_remaining"):
            observation[name] = int(observation[name])
    return observation


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
        raise IllegalAction(f"oA is {shown(share)}; expected three whole numbers, one per item type.", "action_shape")
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


def begin_episodes(
    batch: BargainingBatch,
    seed: int | Sequence[int | None] | None,
    options: dict[str, Any] | None,
    chosen: NDArray[np.bool_] | None = None,
    also_known: tuple[str, ...] = (),
) -> None:
    """Begin the first episodes of the seeds, or without a seed the next ones, with the contexts that the options of `reset` fix.

    What cannot be played is an error before anything has changed.
    """
    contexts = fixed_contexts(options, batch.size, also_known)
    if len(contexts):
        batch.check_contexts(contexts)
    batch.seed(seed, chosen)
    batch.reset(contexts, chosen)


def table_of(batch: BargainingBatch, slot: int = 0, reveal_partner: bool = False) -> str:
    """One negotiation as a table of text; the partner's utilities are shown where the agent knows them, and after the end."""
    if not batch.started:
        raise EpisodeOver("There is nothing to show yet; call reset() before render().")
    episode = batch.state[slot]
    outcome, moves = Outcome(episode["outcome"]), history_of(episode["history"], episode["turn"])
    revealed = reveal_partner or batch.config.reveal_partner_utilities or outcome != Outcome.ONGOING
    return negotiation_table(context_of(episode), moves, revealed, outcome)


def fixed_contexts(options: dict[str, Any] | None, size: int, also_known: tuple[str, ...] = ()) -> ContextTable:
    """The contexts that the options of `reset` fix, one row per episode; empty where they are to be drawn."""
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
        raise InvalidContext(f"{key} is {shown(values)}; expected {wanted}.")
    if array.min() < 0 or array.max() > limit:
        raise InvalidContext(f"{key} is {array.tolist()}; expected numbers from 0 to {limit}.")
    return np.broadcast_to(array, (size, ITEM_TYPES)).astype(np.int16)
