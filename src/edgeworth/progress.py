"""Progress of a long computation: the function that it calls now and then, and that a command shows as a bar."""

from __future__ import annotations

import logging
import time
from bisect import bisect_right
from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


def silent(what: str, done: int, total: int) -> None:
    """Progress that nobody watches; the default."""


class Pace:
    """How long something will take at the pace of the second half of its time so far.

    What goes quickly at the beginning, such as parts that a cache holds, soon counts no more; and long parts that end together, as those
    of several workers do, are not taken for quick ones.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._times: list[float] = []
        self._shares: list[float] = []

    def note(self, share: float) -> None:
        """Note which share is done now; where it is less than before, something else has begun."""
        if self._shares and share < self._shares[-1]:
            self._times, self._shares = [], []
        if not self._shares or share > self._shares[-1]:
            self._times.append(self.clock())
            self._shares.append(share)

    def left(self) -> float | None:
        """Seconds that are left; None before there is a pace, and where it has taken longer than that."""
        if len(self._times) < 2 or self._times[0] == self._times[-1]:
            return None
        last, done = self._times[-1], self._shares[-1]
        first = bisect_right(self._times, (self._times[0] + last) / 2) - 1
        left = (1.0 - done) * (last - self._times[first]) / (done - self._shares[first]) - (self.clock() - last)
        return left if left > 0.0 else 0.0 if done >= 1.0 else None


COMPILING = "Compiling the rules that this needs: up to two minutes the first time; later calls load them from a cache."


def _log_compiling() -> None:
    """Log a warning, which Python shows unless a program sets up its logging otherwise."""
    logging.getLogger("edgeworth").warning(COMPILING)


ON_COMPILING: list[Callable[[], object]] = [_log_compiling]
"""Called once, when something is compiled that no cache holds: the first use takes a while, and somebody should say so."""
