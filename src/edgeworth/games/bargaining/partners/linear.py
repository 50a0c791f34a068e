"""Linear partner: gives way by the same amount every turn.

The time-dependent partner of `time_dependent.py` with exponent 1.0 (Faratin, Sierra and Jennings 1998).
"""

from __future__ import annotations

from dataclasses import dataclass

from edgeworth.games.bargaining.partners.time_dependent import TimeDependent


@dataclass(frozen=True)
class Linear(TimeDependent):
    """Aspiration falls with exponent 1.0."""

    exponent: float = 1.0
