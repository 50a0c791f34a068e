"""Arrays that begin at a cache line, so that no vector of the processor lies across two."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

LINE = 64
"""Bytes of a cache line."""


def aligned_zeros(shape: int | tuple[int, ...], dtype: Any = np.float32) -> NDArray[Any]:
    """Zeros that begin at a cache line."""
    dimensions = (shape,) if isinstance(shape, int) else shape
    size = prod(dimensions) * np.dtype(dtype).itemsize
    room = np.zeros(size + LINE, np.uint8)
    begin = -room.ctypes.data % LINE
    zeros: NDArray[Any] = room[begin : begin + size].view(dtype).reshape(dimensions)
    return zeros
