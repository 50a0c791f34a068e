"""Randomness as a pure function of (seed, episode, step, what for).

Every draw is a hash of its address, so nothing depends on the order of draws, on the size of the batch, on threads or on other
episodes. An episode has a key, made from the seed and the episode's number; a draw hashes the key with the step, the purpose and
an index. The hash is the finaliser of SplitMix64 (Steele, Lea and Flood 2014), applied to the counter as that generator does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from edgeworth.compiled import Array, Bits, Int, Real, compiled
from edgeworth.errors import InvalidOption

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_A = np.uint64(0xBF58476D1CE4E5B9)
MIX_B = np.uint64(0x94D049BB133111EB)
EPISODE_SALT = np.uint64(0xD1B54A32D192ED03)

STEP_SHIFT = np.uint64(24)
PURPOSE_SHIFT = np.uint64(8)
THIRD_BITS = 21
THIRD_MASK = np.uint64((1 << THIRD_BITS) - 1)
QUARTER_BITS = 16
QUARTER_MASK = np.uint64((1 << QUARTER_BITS) - 1)
TWO_TO_MINUS_53 = 1.0 / 9007199254740992.0


@compiled
def mix(bits: Bits) -> Bits:
    """SplitMix64's finaliser: every input bit reaches every output bit."""
    bits = np.uint64(bits)
    bits = (bits ^ (bits >> np.uint64(30))) * MIX_A
    bits = (bits ^ (bits >> np.uint64(27))) * MIX_B
    return bits ^ (bits >> np.uint64(31))


@compiled
def seed_stream(seed: Bits) -> Bits:
    """The stream of keys that belongs to a seed."""
    return mix(np.uint64(seed) + GOLDEN)


@compiled
def stream_key(stream: Bits, episode: Bits) -> Bits:
    """The key of one episode of a stream."""
    return mix(np.uint64(stream) ^ (np.uint64(episode) * EPISODE_SALT + GOLDEN))


@compiled
def episode_key(seed: Bits, episode: Bits) -> Bits:
    """The key of one episode of one seed."""
    return stream_key(seed_stream(seed), episode)


@compiled
def seed_streams(seeds: Array, streams: Array) -> None:
    """The streams of many seeds."""
    for i in range(seeds.shape[0]):
        streams[i] = seed_stream(seeds[i])


@compiled
def hash_rows(rows: Array, salt: Bits, hashes: Array) -> None:
    """A hash of every row of whole numbers."""
    for i in range(rows.shape[0]):
        bits = salt
        for k in range(rows.shape[1]):
            bits = mix((bits + np.uint64(rows[i, k]) + np.uint64(1)) * GOLDEN)
        hashes[i] = bits


@compiled
def draw(key: Bits, step: Int, purpose: Int, index: Int) -> Bits:
    """64 random bits at the address (step, purpose, index) of an episode; purpose < 65,536 and index < 256."""
    address = (np.uint64(step) << STEP_SHIFT) | (np.uint64(purpose) << PURPOSE_SHIFT) | np.uint64(index)
    return mix(np.uint64(key) + (address + np.uint64(1)) * GOLDEN)


@compiled
def below(bits: Bits, bound: Int) -> Int:
    """A whole number in 0..bound-1 from 64 bits (bias under bound / 2**32)."""
    return np.int64(((bits >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@compiled
def third_below(bits: Bits, which: Int, bound: Int) -> Int:
    """A whole number in 0..bound-1 from one of three separate thirds of 64 bits (bias under bound / 2**21)."""
    word = (bits >> np.uint64(THIRD_BITS * which)) & THIRD_MASK
    return np.int64((word * np.uint64(bound)) >> np.uint64(THIRD_BITS))


@compiled
def quarter_below(bits: Bits, which: Int, bound: Int) -> Int:
    """A whole number in 0..bound-1 from one of four separate quarters of 64 bits (bias under bound / 2**16)."""
    word = (bits >> np.uint64(QUARTER_BITS * which)) & QUARTER_MASK
    return np.int64((word * np.uint64(bound)) >> np.uint64(QUARTER_BITS))


@compiled
def unit(bits: Bits) -> Real:
    """A float in [0, 1) from 64 bits."""
    return np.float64(bits >> np.uint64(11)) * TWO_TO_MINUS_53


def fresh_seed() -> int:
    """A seed from the operating system's entropy, for callers who named none."""
    return fresh_seeds(1)[0]


def fresh_seeds(size: int) -> list[int]:
    """Seeds from the operating system's entropy."""
    return [int(seed) >> 1 for seed in np.random.SeedSequence().generate_state(size, np.uint64)]


def generator(seed: int, *address: int) -> np.random.Generator:
    """NumPy's counter-based generator (Philox) for draws outside the rules, at an address such as (seed, episode)."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([checked_seed(seed), *address])))


def slot_seeds(
    seeds: int | Sequence[int | None] | NDArray[np.int64] | None, size: int, started: bool
) -> tuple[NDArray[np.uint64], NDArray[np.bool_]] | None:
    """Seeds for the slots of a batch, and which slots get one: a number is the first of consecutive seeds, a list names each.

    None keeps the seed that a slot has, or draws one where nothing has started yet; the answer is None where all slots keep theirs.
    """
    if seeds is None:
        if started:
            return None
        seeds = [None] * size
    if isinstance(seeds, int | np.integer):
        first = checked_seed(seeds)
        checked_seed(first + size - 1)
        return np.arange(size, dtype=np.uint64) + np.uint64(first), np.ones(size, np.bool_)
    if isinstance(seeds, str | bytes | dict) or not hasattr(seeds, "__len__"):
        raise InvalidOption(f"seed is {seeds!r}; expected a whole number from 0 to 2**63-1, or a list of them.")
    if len(seeds) != size:
        raise InvalidOption(f"{len(seeds)} seeds for {size} environments; expected one each.")
    if isinstance(seeds, np.ndarray) and seeds.dtype.kind in "iu" and (seeds >= 0).all() and (seeds < 2**63).all():
        return seeds.astype(np.uint64), np.ones(size, np.bool_)
    checked = [None if seed is None else checked_seed(seed) for seed in seeds]
    named = np.array([seed is not None for seed in checked])
    values = np.array([f if seed is None else seed for seed, f in zip(checked, fresh_seeds(size), strict=True)], np.uint64)
    return values, named | (not started)


def seed_records(
    records: NDArray[np.void],
    seeds: int | Sequence[int | None] | NDArray[np.int64] | None,
    started: bool,
    chosen: NDArray[np.bool_] | None = None,
) -> None:
    """Give the chosen episodes or markets of a batch their seeds (`slot_seeds`), from the first episode of each."""
    placed = slot_seeds(seeds, len(records), started)
    if placed is None:
        return
    values, where = placed
    where = where if chosen is None else where & chosen
    streams = np.empty_like(values)
    seed_streams(values, streams)
    records["seed"][where], records["stream"][where], records["episode"][where] = values[where], streams[where], 0


def checked_seed(seed: object) -> int:
    """The seed as a whole number in 0..2**63-1, or an error that says what arrived."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise InvalidOption(f"seed is {seed!r}; expected a whole number from 0 to 2**63-1.")
    if not 0 <= int(seed) < 2**63:
        raise InvalidOption(f"seed is {seed}; expected a whole number from 0 to 2**63-1.")
    return int(seed)
