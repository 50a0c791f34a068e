"""What Prometheus is told of the desks: how questions end, how long they wait, how many are answered together, how many wait now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from prometheus_client import Counter, Histogram

from edgeworth.server.desk import Desk, Ending
from edgeworth.server.metrics import Metrics

WAITED = (0.001, 0.005, 0.02, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds."""
TOGETHER = (1, 2, 4, 8, 16, 32, 64)


class DeskMetrics:
    """Counts for all desks of a worker."""

    def __init__(self, metrics: Metrics) -> None:
        registry = metrics.registry
        self._metrics = metrics
        self._endings = Counter("edgeworth_desk_questions", "Questions by desk and how they ended.", ["desk", "ending"], registry=registry)
        self._waits = Histogram("edgeworth_desk_wait_seconds", "Seconds in the queue.", ["desk"], buckets=WAITED, registry=registry)
        self._sizes = Histogram("edgeworth_desk_batch", "Questions answered together.", ["desk"], buckets=TOGETHER, registry=registry)

    def ended(self, desk: str, ending: Ending) -> None:
        """Count a question."""
        self._endings.labels(desk, ending).inc()

    def took(self, desk: str, waited: Sequence[float]) -> None:
        """Count a batch."""
        self._sizes.labels(desk).observe(len(waited))
        for seconds in waited:
            self._waits.labels(desk).observe(seconds)

    def watch(self, desks: Iterable[Desk[Any, Any]]) -> None:
        """Show how many questions wait and are in hand, over all these desks."""
        known = list(desks)
        self._metrics.watch("desk_waiting", "Questions in the queues.", lambda: sum(desk.waiting for desk in known), everywhere=False)
        self._metrics.watch("desk_in_hand", "Questions being answered.", lambda: sum(desk.in_hand for desk in known), everywhere=False)
