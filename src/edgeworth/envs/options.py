"""Options that the environments of both games share: render modes, autoreset modes, reset masks, and typos among reset options."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from edgeworth.errors import EpisodeOver, InvalidOption, UnknownKey, UnknownName, nearest
from edgeworth.validation import array_of

RENDER_MODES = ["ansi"]


def checked_render_mode(render_mode: str | None) -> str | None:
    """The render mode, or an error that names the known ones."""
    if render_mode is not None and render_mode not in RENDER_MODES:
        raise UnknownName("render mode", render_mode, RENDER_MODES)
    return render_mode


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
    array = array_of(mask)
    if array.shape != (size,) or array.dtype != np.bool_ or not array.any():
        raise InvalidOption(f"reset_mask is {mask!r}; expected {size} booleans, at least one of them true.")
    if not started:
        raise EpisodeOver("reset_mask needs a batch that is already playing; call reset() without it first.")
    return array


def refuse_mistyped(given: Iterable[str], known: Sequence[str]) -> None:
    """Refuse a reset option that looks like a typo of ours; wrappers have options of their own, so others are left alone."""
    for key in given:
        if key not in known and nearest(str(key), known) is not None:
            raise UnknownKey("reset option", key, known)
