"""Arithmetic that compiled code shares, on a CPU and on a GPU."""

from __future__ import annotations

from edgeworth.compiled import Real, compiled


@compiled
def larger(a: Real, b: Real) -> Real:
    """The larger of two numbers: Python's `max`, which Numba cannot build for a GPU."""
    return a if a > b else b
