"""The clock of sessions: seconds since 1970, which do not jump when somebody sets the machine's clock.

It is set when the server starts, and workers that replace others later go by it too: to one that read the machine's clock, a day that it
was set forward would be a day in which nobody played.
"""

from __future__ import annotations

import os
import time

VARIABLE = "EDGEWORTH_CLOCK"
"""Where a supervisor leaves `BOOT` for its workers."""
BOOT = float(os.environ.get(VARIABLE) or time.time() - time.monotonic())
"""When the monotonic clock was 0."""


def now() -> float:
    """The time."""
    return BOOT + time.monotonic()
