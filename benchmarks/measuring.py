"""How speed is measured: contenders take turns within one run, in CPU seconds of one core, and only ratios within a turn count."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numba
import numpy as np

import edgeworth
from edgeworth.progress import Progress

Measure = Callable[[float], float]
"""Measures for about the given number of seconds; returns steps per CPU second."""
Rates = dict[str, list[float]]
"""The rates of every contender, one per round."""


def measure_rates(table: Mapping[str, Measure], repeats: int, seconds: float, progress: Progress, labels: Mapping[str, str]) -> Rates:
    """Rounds in which every contender has a turn, after one short round that compiles and warms up."""
    rates: Rates = {name: [] for name in table}
    turns = [(name, lap) for lap in range(repeats + 1) for name in table]
    for done, (name, lap) in enumerate(turns):
        progress(f"{labels[name]}, round {lap} of {repeats}", done, len(turns))
        rate = table[name](seconds if lap else 0.05)
        if lap:
            rates[name].append(rate)
    return rates


def repeated(play: Callable[[], int], clock: Callable[[], float] = time.process_time) -> Measure:
    """Call `play`, which returns its number of steps, until the time is up; CPU time, unless another clock is given."""

    def measure(seconds: float) -> float:
        steps, begin = 0, clock()
        while (elapsed := clock() - begin) < seconds:
            steps += play()
        return steps / elapsed

    return measure


def ratios(rates: Rates, one: str, other: str) -> list[float]:
    """The ratio of two contenders, round by round."""
    return [a / b for a, b in zip(rates[one], rates[other], strict=True)]


# Results


def entries(rates: Rates, labels: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Every contender's rates for the result."""
    return {name: {"label": labels[name], **summary(values)} for name, values in rates.items()}


def summary(values: Iterable[float]) -> dict[str, Any]:
    """Median, quartiles and the values themselves."""
    numbers = list(values)
    low, middle, high = np.percentile(numbers, [25, 50, 75])
    return {"median": float(middle), "interquartile_range": [float(low), float(high)], "values": numbers}


def target(name: str, numbers: Iterable[float], relation: str, wanted: float | None, unit: str) -> dict[str, Any]:
    """One row of a result's targets: whether the median meets what is wanted; without that, the numbers are only reported."""
    found = summary(numbers)
    met = None if wanted is None else bool(found["median"] >= wanted if relation == ">=" else found["median"] <= wanted)
    return {"name": name, "relation": relation, "target": wanted, "unit": unit, "met": met, **found}


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


def processor_name() -> str:
    """The processor's own name where the system knows it."""
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        for line in facts.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
