"""Boulware partner: holds out until the deadline is near, then gives way.

The time-dependent partner of `time_dependent.py` with exponent 0.2 (Faratin, Sierra and Jennings 1998).
"""

from __future__ import annotations

from dataclasses import dataclass

from edgeworth.games.bargaining.partners.time_dependent import TimeDependent


@dataclass(frozen=True)
class Boulware(TimeDependent):
    """Aspiration falls with exponent 0.2."""

    exponent: float = 0.2
