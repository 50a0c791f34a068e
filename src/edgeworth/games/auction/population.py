"""Populations: which types of bidders are in a market, by stage, mix or held-out mix.

A population is a recipe for the types of n bidders. A *stage* rounds its shares to whole bidders at random and then may swap one, so that
knowing the stage never reveals the composition; an *independent* mix draws every bidder by itself; a *Dirichlet* population draws the
shares first. A table of several recipes, each with its weight, is a population too: the episode draws its row. A ring needs two, so a
lone colluder is a shader.

| stage | truthful | shader | colluder | dropout | exploiter | its lesson |
|---|---|---|---|---|---|---|
| 0 | 8 | | | | | price fairly, do not police |
| 1 | 3 | 5 | | | | teach shaders, and leave them no legal ring to join |
| 2 | 2 | 2 | | 4 | | keep entry: show much, charge little |
| 3 | | 3 | 5 | | | punish the ring, whichever the format |
| 4 | 1 | ½ | 3½ | 1 | 2 | everything at once |
| mixed | ¼ | ¼ | ¼ | ⅛ | ⅛ | infer |
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from edgeworth.compiled import Array, Int, Record, compiled_apart
from edgeworth.errors import InvalidOption, UnknownKey, UnknownName
from edgeworth.games.auction.draws import POPULATION_ROW, POPULATION_SHARES, ROUNDING, SEATING, SWAP, chance
from edgeworth.games.auction.state import record
from edgeworth.games.auction.vocabulary import BIDDER_TYPES, COLLUDER, SHADER
from edgeworth.seeding import generator

TYPES = len(BIDDER_TYPES)
ROUNDED, INDEPENDENT, DIRICHLET = range(3)
SWAP_CHANCE = 0.5
SHARE_TOLERANCE = 1e-6
WHOLE = 1e-9

STAGE_SHARES = (
    (1.0, 0.0, 0.0, 0.0, 0.0),
    (0.375, 0.625, 0.0, 0.0, 0.0),
    (0.25, 0.25, 0.0, 0.5, 0.0),
    (0.0, 0.375, 0.625, 0.0, 0.0),
    (0.125, 0.0625, 0.4375, 0.125, 0.25),
)
Recipe: TypeAlias = tuple[tuple[float, ...], int, float]
"""Shares, how they become bidders, and the chance of a swap."""

STAGES = len(STAGE_SHARES)
MIXED_SHARES = (0.25, 0.25, 0.25, 0.125, 0.125)

HELD_OUT = 20
HELD_OUT_SEED = 20_260_801
"""Seed of the twenty held-out mixes; they are evaluated on, never trained on."""
FAMILIES = {"stages": tuple(str(k) for k in range(STAGES)), "held_out": tuple(f"held_out_{k}" for k in range(HELD_OUT))}
"""Populations that draw one of several recipes for each episode."""

POPULATION = record(
    [
        ("cumulative", np.float64),  # upper end of this row's slice of [0, 1)
        ("shares", np.float64, (TYPES,)),
        ("kind", np.int64),
        ("swap", np.float64),  # chance that one bidder swaps type
    ]
)


def population_names() -> list[str]:
    """Every population that can be asked for by name."""
    return [*FAMILIES["stages"], "mixed", "stages", "dirichlet", "held_out", *FAMILIES["held_out"]]


def recipe_names(stage: str, mix: Mapping[str, float] | None = None) -> tuple[str, ...]:
    """What the rows of a population table are called."""
    return ("mix",) if mix is not None else FAMILIES.get(stage, (stage,))


@functools.cache
def recipes() -> dict[str, Recipe]:
    """Every recipe that has a name."""
    named: dict[str, Recipe] = {"mixed": (MIXED_SHARES, INDEPENDENT, 0.0), "dirichlet": ((1.0,) * TYPES, DIRICHLET, 0.0)}
    for name, shares in zip(FAMILIES["stages"], STAGE_SHARES, strict=True):
        named[name] = (shares, ROUNDED, SWAP_CHANCE)
    for name, mix in zip(FAMILIES["held_out"], held_out_shares(), strict=True):
        named[name] = (mix, INDEPENDENT, 0.0)
    return named


def population_table(stage: int | str, mix: Mapping[str, float] | None = None) -> NDArray[np.void]:
    """The recipe rows of a named population, or of a user's own mix, whose shares are rounded to whole bidders."""
    if mix is not None:
        return table_of([(mix_shares(mix), ROUNDED, 0.0)])
    name = str(stage) if not isinstance(stage, bool) else repr(stage)
    if name not in population_names():
        known = [name for name in population_names() if name not in FAMILIES["held_out"]]
        raise UnknownName("stage", stage, known, also=f"one of {FAMILIES['held_out'][0]} to {FAMILIES['held_out'][-1]}")
    return table_of([recipes()[row] for row in recipe_names(name)])


def mixture_table(weights: Mapping[str, float]) -> NDArray[np.void]:
    """The recipe rows of several named populations, each episode drawn from one of them as often as its weight says."""
    rows = [(name, row) for name in weights for row in recipe_names(name)]
    return table_of([recipes()[row] for _, row in rows], [weights[name] / len(recipe_names(name)) for name, _ in rows])


def table_of(rows: list[Recipe], weights: list[float] | None = None) -> NDArray[np.void]:
    """Rows, of equal weight unless others are given, as the records that compiled code reads."""
    table = np.zeros(len(rows), POPULATION)
    upper = np.cumsum([1.0] * len(rows) if weights is None else weights)
    for k, (shares, kind, swap) in enumerate(rows):
        table[k] = (upper[k] / upper[-1], shares, kind, swap)
    return table


def mix_shares(mix: Mapping[str, float]) -> tuple[float, ...]:
    """A user's mix as five shares, or an error that says what is wrong with it."""
    if not isinstance(mix, Mapping) or not mix:
        raise InvalidOption(f"mix is {mix!r}; expected shares by bidder type, for example {{truthful: 0.5, shader: 0.5}}.")
    for name, share in mix.items():
        if name not in BIDDER_TYPES:
            raise UnknownKey("bidder type", name, BIDDER_TYPES)
        if isinstance(share, bool) or not isinstance(share, int | float | np.number) or not 0.0 <= share <= 1.0:
            raise InvalidOption(f"The share of {name} is {share!r}; expected a number from 0 to 1.")
    total = math.fsum(float(share) for share in mix.values())
    if abs(total - 1.0) > SHARE_TOLERANCE:
        raise InvalidOption(f"The shares of the mix add up to {total:g}; expected 1.")
    return tuple(float(mix.get(name, 0.0)) / total for name in BIDDER_TYPES)


@functools.cache
def held_out_shares() -> list[tuple[float, ...]]:
    """Twenty mixes drawn once from a flat Dirichlet, for evaluation only."""
    drawn = generator(HELD_OUT_SEED).dirichlet(np.ones(TYPES), HELD_OUT)
    return [tuple(float(share) for share in row) for row in drawn.round(4) / drawn.round(4).sum(axis=1, keepdims=True)]


@compiled_apart
def draw_types(market: Record, populations: Array) -> None:
    """The types of an episode's bidders, in a random order of seats."""
    point, row = chance(market, POPULATION_ROW, 0), 0
    while row < populations.shape[0] - 1 and point >= populations[row].cumulative:
        row += 1
    market.stage = row
    recipe = populations[row]
    if recipe.kind == ROUNDED:
        draw_rounded(market, recipe)
    else:
        draw_independent(market, recipe)
    colluders = 0
    for i in range(market.n):
        if market.type[i] == COLLUDER:
            colluders += 1
    if colluders == 1:
        for i in range(market.n):
            if market.type[i] == COLLUDER:
                market.type[i] = SHADER
    for t in range(TYPES):
        market.count[t] = 0
    for i in range(market.n):
        market.count[market.type[i]] += 1


@compiled_apart
def draw_independent(market: Record, recipe: Record) -> None:
    """Every bidder by itself; a Dirichlet population draws the shares first, as normalised exponentials."""
    total = 0.0
    for t in range(TYPES):
        market.share[t] = recipe.shares[t]
        if recipe.kind == DIRICHLET:
            market.share[t] = -math.log(1.0 - chance(market, POPULATION_SHARES, t))
        total += market.share[t]
    for i in range(market.n):
        point, kind = chance(market, SEATING, i) * total, 0
        while kind < TYPES - 1 and point >= market.share[kind]:
            point -= market.share[kind]
            kind += 1
        market.type[i] = kind


@compiled_apart
def draw_rounded(market: Record, recipe: Record) -> None:
    """Whole numbers around n times the shares: the rest is drawn among the types with a fraction left, then one may swap."""
    n, seated = market.n, 0
    for t in range(TYPES):
        market.share[t] = recipe.shares[t] * n
        market.count[t] = math.floor(market.share[t] + WHOLE)
        seated += market.count[t]
    extra = 0
    while seated < n:
        market.count[fraction_drawn(market, extra)] += 1
        seated += 1
        extra += 1
    if chance(market, SWAP, 0) < recipe.swap:
        swap_one(market, recipe)
    seat_by_count(market)


@compiled_apart
def fraction_drawn(market: Record, draw: Int) -> Int:
    """A type, with the chance of its fraction that is not yet seated."""
    total = 0.0
    for t in range(TYPES):
        total += max(market.share[t] - market.count[t], 0.0)
    point, last = chance(market, ROUNDING, draw) * total, 0
    for t in range(TYPES):
        left = max(market.share[t] - market.count[t], 0.0)
        if left > 0.0:
            last = t
            if point < left:
                return t
            point -= left
    return last


@compiled_apart
def swap_one(market: Record, recipe: Record) -> None:
    """One bidder of a type of the recipe turns into another type of the recipe, if the first keeps a member."""
    live = 0
    for t in range(TYPES):
        if recipe.shares[t] > 0.0:
            live += 1
    if live < 2:
        return
    giver = math.floor(chance(market, SWAP, 1) * live)
    taker = math.floor(chance(market, SWAP, 2) * (live - 1))
    if taker >= giver:
        taker += 1
    giver, taker = nth_live(recipe, giver), nth_live(recipe, taker)
    if market.count[giver] > 1:
        market.count[giver] -= 1
        market.count[taker] += 1


@compiled_apart
def nth_live(recipe: Record, wanted: Int) -> Int:
    """The n-th type that the recipe contains."""
    live = 0
    for t in range(TYPES):
        if recipe.shares[t] > 0.0:
            if live == wanted:
                return t
            live += 1
    return 0


@compiled_apart
def seat_by_count(market: Record) -> None:
    """Seat the counted types in random order (Fisher and Yates)."""
    i = 0
    for t in range(TYPES):
        for _ in range(market.count[t]):
            market.type[i] = t
            i += 1
    for last in range(market.n - 1, 0, -1):
        other = math.floor(chance(market, SEATING, last) * (last + 1))
        kind = market.type[last]
        market.type[last] = market.type[other]
        market.type[other] = kind
