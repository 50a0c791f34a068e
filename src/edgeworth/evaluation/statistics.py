"""Numbers over episodes: an estimate, its interval and the sample size, always together.

Intervals are percentile bootstraps over episodes, with a fixed seed, so that a table regenerates to the digit; those of rates are Wilson's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1000
CONFIDENCE = 0.95
NORMAL_QUANTILE = 1.959963984540054
"""The normal distribution lies within so many standard deviations with that probability."""
BLOCK = 4_000_000
"""Most draws held in memory at once."""


@dataclass(frozen=True)
class Estimate:
    """A quantity with its 95 % interval."""

    value: float
    low: float
    high: float
    n: int

    def __format__(self, spec: str) -> str:
        """`0.712 [0.701, 0.722]`, or with all three numbers in another format: `f"{estimate:+.2f}"`."""
        value, low, high = (format(number, spec or ".3f") for number in (self.value, self.low, self.high))
        return f"{value} [{low}, {high}]"

    def __str__(self) -> str:
        return format(self)

    @property
    def half_width(self) -> float:
        """The distance from the value to the farther end of its interval."""
        return max(self.high - self.value, self.value - self.low)

    def as_dict(self) -> dict[str, Any]:
        """For JSON; an unknown end of the interval becomes null."""
        return {name: None if value != value else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Estimate:
        """The estimate that `as_dict` wrote."""
        low, high = (math.nan if stored[end] is None else stored[end] for end in ("low", "high"))
        return cls(stored["value"], low, high, stored["n"])


def as_json(estimate: Estimate | None) -> dict[str, Any] | None:
    """An estimate for JSON, or null where there is none."""
    return None if estimate is None else estimate.as_dict()


def counted(number: int, noun: str) -> str:
    """A number of things in words: `1 seed`, `3 seeds`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def exactly(value: float, n: int) -> Estimate:
    """A quantity that was computed for all `n` cases there are; its interval has no width."""
    return Estimate(value, value, value, n)


def rate(happened: NDArray[np.bool_]) -> Estimate:
    """How often something happened, with Wilson's interval, which lies within 0 and 1 and has a width even at the ends."""
    n, share = len(happened), float(np.mean(happened))
    square = NORMAL_QUANTILE**2 / n
    middle = (share + square / 2) / (1 + square)
    half = NORMAL_QUANTILE * math.sqrt(share * (1 - share) / n + square / (4 * n)) / (1 + square)
    return Estimate(share, max(0.0, middle - half), min(1.0, middle + half), n)


def ratio(numerators: NDArray[np.float64], denominators: NDArray[np.float64], seed: int = 0) -> Estimate:
    """Σ numerator / Σ denominator over episodes, such as reward over maximum."""
    n = len(numerators)
    samples = _resampled_ratios(numerators, denominators, np.random.default_rng(seed))
    low, high = np.quantile(samples, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Estimate(float(numerators.sum() / denominators.sum()), float(low), float(high), n)


def ratio_or_none(numerators: NDArray[np.float64], denominators: NDArray[np.float64], seed: int = 0) -> Estimate | None:
    """Σ numerator / Σ denominator, or None where there is nothing to divide by."""
    return ratio(numerators, denominators, seed) if denominators.sum() > 0.0 else None


def mean(values: NDArray[np.float64], seed: int = 0) -> Estimate:
    """The mean over episodes."""
    return ratio(values, np.ones(len(values)), seed)


def paired_difference(values: NDArray[np.float64], others: NDArray[np.float64], seed: int = 0) -> Estimate:
    """The mean of value less other, episode by episode, for two plays of the same seeds."""
    return mean(values - others, seed)


def over_seeds(values: Sequence[float]) -> Estimate:
    """The mean over training seeds with a t interval, since there are few; with one seed the interval is unknown."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    n, middle = len(values), float(np.mean(values))
    if n < 2:
        return Estimate(middle, float("nan"), float("nan"), n)
    half = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2)) * float(np.std(values, ddof=1)) / n**0.5
    return Estimate(middle, middle - half, middle + half, n)


def within_one(share: Estimate) -> Estimate:
    """A rate whose interval is cut to what a rate can be; an unknown one stays unknown."""
    low, high = np.clip((share.low, share.high), 0.0, 1.0)
    return Estimate(share.value, float(low), float(high), share.n)


def resampled_sums(values: NDArray[np.float64], seed: int = 0) -> NDArray[np.float64]:
    """Sums over episodes of many quantities (n, m) in every resample, (RESAMPLES, m); the resamples are those of `ratio`."""
    n = len(values)
    blocks = []
    for rows in _resamples(n, np.random.default_rng(seed)):
        drawn = np.stack([np.bincount(row, minlength=n) for row in rows])
        blocks.append(drawn.astype(np.float64) @ values)
    return np.concatenate(blocks)


def from_resamples(value: float, samples: NDArray[np.float64], n: int) -> Estimate:
    """A quantity with the interval of its values in the resamples; resamples without a value are left out."""
    known = samples[~np.isnan(samples)]
    if not known.size:
        return Estimate(value, float("nan"), float("nan"), n)
    low, high = np.quantile(known, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Estimate(float(value), float(low), float(high), n)


def _resampled_ratios(numerators: NDArray[np.float64], denominators: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    blocks = [numerators[rows].sum(axis=1) / denominators[rows].sum(axis=1) for rows in _resamples(len(numerators), rng)]
    return np.concatenate(blocks)


def _resamples(n: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """The episodes of every resample, some resamples at a time."""
    per_block = max(1, BLOCK // n)
    for begin in range(0, RESAMPLES, per_block):
        yield rng.integers(0, n, (min(per_block, RESAMPLES - begin), n))
