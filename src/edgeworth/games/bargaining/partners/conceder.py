"""Conceder partner: gives way quickly, then holds.

The time-dependent partner of `time_dependent.py` with exponent 5.0 (Faratin, Sierra and Jennings 1998).
"""

from __future__ import annotations

from dataclasses import dataclass

from edgeworth.games.bargaining.partners.time_dependent import TimeDependent


@dataclass(frozen=True)
class Conceder(TimeDependent):
    """Aspiration falls with exponent 5.0."""

    exponent: float = 5.0
