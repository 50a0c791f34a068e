"""What every vector environment is asked in the same words: how episodes follow each other, and which ones to begin."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from edgeworth.errors import EpisodeOver, InvalidOption, UnknownName


def checked_autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    """The mode by member or by name."""
    try:
        return AutoresetMode(mode)
    except ValueError as error:
        raise UnknownName("autoreset mode", mode, [m.value for m in AutoresetMode]) from error


def checked_reset_mask(mask: Any, size: int, started: bool) -> NDArray[np.bool_] | None:
    """The episodes that `options["reset_mask"]` names; None for all of them."""
    if mask is None:
        return None
    try:
        array = np.asarray(mask)
    except (ValueError, TypeError):
        array = np.empty((), object)
    if array.shape != (size,) or array.dtype != np.bool_ or not array.any():
        raise InvalidOption(f"reset_mask is {mask!r}; expected {size} booleans, at least one of them true.")
    if not started:
        raise EpisodeOver("reset_mask needs a batch that is already playing; call reset() without it first.")
    return array
