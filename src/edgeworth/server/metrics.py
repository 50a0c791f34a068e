"""What Prometheus is told: requests, steps, refusals, sessions, and whatever others hang into `Gauges`.

Several workers write into one folder (`PROMETHEUS_MULTIPROC_DIR`, which `edgeworth serve` makes), and whichever of them is asked adds them
up; what a worker that died had counted stays counted, what it had in hand does not.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from edgeworth.server.live import GAMES

SHARED = "PROMETHEUS_MULTIPROC_DIR"
LATENCY = (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.125, 0.25, 0.5, 1.0, 4.0, 16.0)
"""Seconds."""


class Reading(NamedTuple):
    """A gauge and where its value comes from."""

    gauge: Gauge
    read: Callable[[], float]


class Metrics:
    """The counters of one worker."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "edgeworth_requests", "Requests by route and status.", ["route", "method", "status"], registry=self.registry
        )
        self.seconds = Histogram("edgeworth_request_seconds", "Seconds to an answer.", ["route"], buckets=LATENCY, registry=self.registry)
        self.steps = Counter("edgeworth_steps", "Steps made and stored, by game.", ["game"], registry=self.registry)
        self.refusals = Counter("edgeworth_refusals", "Requests not carried out, by code.", ["code"], registry=self.registry)
        self._stepped = {game: self.steps.labels(game) for game in GAMES}
        self._answered: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._readings: list[Reading] = []

    def watch(self, name: str, says: str, read: Callable[[], float], everywhere: bool = True) -> None:
        """Show a number that is read when metrics are asked for; `everywhere`: the same for all workers, otherwise they are added up."""
        mode = "livemostrecent" if everywhere else "livesum"
        gauge = Gauge(f"edgeworth_{name}", says, multiprocess_mode=mode, registry=self.registry)  # type: ignore[arg-type]
        self._readings.append(Reading(gauge, read))

    def stepped(self, game: str) -> None:
        """Count a step."""
        self._stepped[game].inc()

    def sample(self) -> None:
        """Read all gauges."""
        for reading in self._readings:
            reading.gauge.set(reading.read())

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request."""
        found = self._answered.get((route, method, status))
        if found is None:
            found = self._answered[route, method, status] = (self.requests.labels(route, method, status), self.seconds.labels(route))
        count, clock = found
        count.inc()
        clock.observe(seconds)

    def text(self) -> bytes:
        """Everything, as Prometheus reads it."""
        self.sample()
        folder = os.environ.get(SHARED)
        if folder is None:
            return generate_latest(self.registry)
        forget_the_dead(Path(folder))
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)


def forget_the_dead(folder: Path) -> None:
    """Drop the gauges of workers that are no more."""
    for pid in {int(path.stem.rpartition("_")[2]) for path in folder.glob("gauge_live*.db")}:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            mark_process_dead(pid, str(folder))  # type: ignore[no-untyped-call]
        except PermissionError:
            continue
