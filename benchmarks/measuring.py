"""How speed is measured: contenders take turns within one run, in CPU seconds of one core, and only ratios within a turn count."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import gymnasium
import numba
import numpy as np

import edgeworth

Measure = Callable[[float], float]
"""Steps per CPU second, measured for about so many seconds."""
Progress = Callable[[str, int, int], None]
"""Told what is being done, how much is done, and of how much."""


def measure_rates(
    table: dict[str, Measure], repeats: int, seconds: float, progress: Progress, labels: dict[str, str]
) -> dict[str, list[float]]:
    """Rounds in which everybody has a turn, after one short round that compiles and warms up."""
    rates: dict[str, list[float]] = {name: [] for name in table}
    turns = [(name, lap) for lap in range(repeats + 1) for name in table]
    for done, (name, lap) in enumerate(turns):
        progress(f"{labels[name]}, round {lap} of {repeats}", done, len(turns))
        rate = table[name](seconds if lap else 0.05)
        if lap:
            rates[name].append(rate)
    return rates


def repeated(play: Callable[[], int], clock: Callable[[], float] = time.process_time) -> Measure:
    """Play pieces until the time is up; each returns its number of steps. CPU time, unless another clock is named."""

    def measure(seconds: float) -> float:
        steps, begin = 0, clock()
        while (elapsed := clock() - begin) < seconds:
            steps += play()
        return steps / elapsed

    return measure


def machine_facts() -> dict[str, Any]:
    """What the numbers were measured on."""
    return {
        "processor": processor_name(),
        "cores": os.cpu_count(),
        "load_average": os.getloadavg() if hasattr(os, "getloadavg") else None,
        "system": platform.platform(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "gymnasium": gymnasium.__version__,
        "edgeworth": edgeworth.__version__,
    }


def summary(values: Iterable[float]) -> dict[str, Any]:
    """Median, quartiles and the values themselves."""
    numbers = list(values)
    low, middle, high = np.percentile(numbers, [25, 50, 75])
    return {"median": float(middle), "interquartile_range": [float(low), float(high)], "values": numbers}


def mark(name: str, numbers: Iterable[float], relation: str, wanted: float, unit: str) -> dict[str, Any]:
    """One demand, and whether the median meets it."""
    found = summary(numbers)
    met = found["median"] >= wanted if relation == ">=" else found["median"] <= wanted
    return {"name": name, "relation": relation, "mark": wanted, "unit": unit, "met": bool(met), **found}


def processor_name() -> str:
    """The processor's own name where the system tells it."""
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        for line in facts.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
