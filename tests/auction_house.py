"""An auction house for tests: mechanisms by name, markets that have opened, and the books of many sales."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.bundled import bundled_mechanism
from edgeworth.config import AuctionConfig
from edgeworth.games.auction import entry, pricing, rules
from edgeworth.games.auction.action import DaedalusAction, action_of, mechanism_rows, random_mechanisms
from edgeworth.games.auction.batch import MarketBatch, constant_rows
from edgeworth.games.auction.model import MarketModel
from edgeworth.games.auction.sale_room import SaleRoom
from edgeworth.games.auction.state import LADDER, TALLY, TERMS
from edgeworth.games.auction.vocabulary import AUCTION_TYPES, MAX_LOTS, SALES_PER_STEP

Mechanism = dict[str, Any]
Floats = NDArray[np.float64]
Rows = NDArray[np.void]

STAGES = ("0", "1", "2", "3", "4")
POPULATIONS = (*STAGES, "mixed")
LONGEST = 10_000
"""Steps of the longest episode there is."""


# Mechanisms


def mechanism(**fields: Any) -> Mechanism:
    """A VCG sale without reserve that publishes everything and punishes nothing, changed where told."""
    return {
        "auction_type": "vcg",
        "reserve_price": 0.0,
        "reveal_reserve": True,
        "reveal_competing_bids": True,
        "reveal_winner_identity": True,
        "reveal_clearing_price": True,
        "reveal_bid_distribution": True,
        "shill_penalty": 0.0,
        "withdrawal_penalty": 0.0,
        "collusion_penalty": 0.0,
        "coalition_policy": "allow",
        **fields,
    }


BEST: dict[str, Mechanism] = {
    stage: bundled_mechanism("mixed" if stage == "mixed" else f"stage_{stage}").model_dump() for stage in POPULATIONS
}
"""The best constant mechanism known for each population of eight bidders."""


def row_of(fields: Mechanism) -> np.void:
    row: np.void = mechanism_rows([fields])[0]
    return row


def random_actions(seed: int, count: int) -> list[DaedalusAction]:
    return [action_of(row) for row in random_mechanisms(np.random.default_rng(seed), count)]


# Markets


def options_of(model: MarketModel) -> dict[str, Any]:
    """A model as the setting `model` of a configuration."""
    return dataclasses.asdict(model)


def opened(size: int, seed: int = 0, **options: Any) -> MarketBatch:
    """A batch at the start of its first episode."""
    batch = MarketBatch(AuctionConfig.from_options(**options), size)
    batch.seed(seed)
    batch.reset()
    return batch


def sale_room(seed: int = 0, **options: Any) -> SaleRoom:
    return SaleRoom(AuctionConfig.from_options(**options), seed)


def ring_of(members: int, n: int) -> dict[str, Any]:
    """The options of a market with a ring of that many among truthful bidders."""
    mix = {"colluder": members / n, "truthful": (n - members) / n} if members > 1 else {"truthful": 1.0}
    return {"n_agents": n, "mix": mix}


def played(fields: Mechanism, size: int, steps: int = 10, seed: int = 0, **options: Any) -> Floats:
    """The scores of markets that play whole episodes under one mechanism, shape (size, steps)."""
    batch = opened(size, seed, **options)
    return batch.play_constant(constant_rows(row_of(fields), size), steps)


def stepped(fields: Mechanism, size: int, steps: int = 10, seed: int = 0, **options: Any) -> Rows:
    """The outcomes of the same, shape (steps, size)."""
    batch = opened(size, seed, **options)
    rows = constant_rows(row_of(fields), size)
    return np.array([batch.step(rows).copy() for _ in range(steps)])


def played_in_turn(phases: list[tuple[Mechanism, int]], size: int, seed: int = 0, **options: Any) -> Floats:
    """The scores of markets that play so many steps under each mechanism in turn, shape (size, steps)."""
    batch = opened(size, seed, **options)
    return np.concatenate([batch.play_constant(constant_rows(row_of(fields), size), steps) for fields, steps in phases], axis=1)


def expected_and_earned(mechanisms: Rows, markets: int, stage: str, steps: int = 10) -> tuple[Floats, Floats, Floats]:
    """After so many steps under each mechanism: entrants of one more step, what they expected in sum, and what they earned."""
    size = len(mechanisms) * markets
    batch = MarketBatch(AuctionConfig.from_options(stage=stage, episode_length=steps + 1), size)
    batch.seed(5_000)
    batch.reset()
    rows = np.repeat(mechanisms, markets)
    batch.play_constant(rows, steps)
    sums = np.zeros((size, 3))
    model, workspace = batch.model[0], batch.workspace[0]
    for e in range(size):
        one = batch.markets[e]
        rules.open_step(one, rows[e], model, workspace)
        n = int(one["n"])
        hoped = np.array([entry.expected_gain(one, rows[e], model, workspace["terms"], i, 0.0) for i in range(n)])
        for _ in range(SALES_PER_STEP):
            rules.run_sale(one, rows[e], model, workspace)
            sale = workspace["sale"]
            came = sale["present"][:n].astype(bool)
            sums[e] += came.sum(), hoped[came].sum(), sale["surplus"][:n][came].sum()
    entrants, expected, earned = sums.reshape(len(mechanisms), markets, 3).sum(axis=1).T
    return entrants, expected, earned


@functools.cache
def _scores(fields: tuple[tuple[str, Any], ...], size: int, stage: str) -> Floats:
    means: Floats = played(dict(fields), size, stage=stage).mean(axis=1)
    return means


def mean_scores(fields: Mechanism, size: int, stage: str) -> Floats:
    """The mean score of each market's episode; the same markets for every mechanism."""
    return _scores(tuple(fields.items()), size, stage)


def books_of(batch: MarketBatch, rows: Rows, steps: int) -> Rows:
    """The tally of every further step of every market, shape (steps, size)."""
    kept = np.zeros((steps, batch.size), TALLY)
    for e in range(batch.size):
        one = slice(e, e + 1)
        for t in range(steps):
            rules.step_batch(batch.markets[one], rows[one], batch.model, batch.workspace, batch.outcomes[one])
            kept[t, e] = batch.workspace[0]["tally"]
    return kept


def books(fields: Mechanism, steps: int, model: MarketModel, seed: int = 0, **options: Any) -> Rows:
    """The tally of every step of one long episode under one mechanism."""
    batch = opened(1, seed, model=options_of(model), episode_length=LONGEST, **options)
    kept: Rows = books_of(batch, mechanism_rows([fields]), steps)[:, 0]
    return kept


def profit_per_sale(fields: Mechanism, steps: int, model: MarketModel, seed: int = 0, **options: Any) -> Floats:
    """The seller's mean profit per sale, step by step."""
    profit: Floats = books(fields, steps, model, seed, **options)["profit"] / SALES_PER_STEP
    return profit


# One clearing


def cleared(bids: Floats, auction_type: str, reserve: float, qualities: Floats) -> np.void:
    """The ladder of a sale with these bids and lots, by the market's own pricing."""
    terms, ladder = np.zeros(1, TERMS), np.zeros(1, LADDER)
    terms[0]["lots"] = len(qualities)
    terms[0]["quality"][: len(qualities)] = qualities
    pricing.clear(
        np.array(bids, np.float64), len(bids), len(qualities) + 1, AUCTION_TYPES.index(auction_type), reserve, terms[0], ladder[0]
    )
    settled: np.void = ladder[0]
    return settled


def payments_by_seat(ladder: np.void, seats: int) -> Floats:
    """What every bidder owes."""
    owed = np.zeros(seats)
    owed[ladder["seat"][: ladder["sold"]]] = ladder["payment"][: ladder["sold"]]
    return owed


def graded(lots: int, ratio: float = 0.75) -> Floats:
    """Qualities of that many lots, each a share of the one before."""
    assert lots <= MAX_LOTS
    qualities: Floats = np.power(ratio, np.arange(lots, dtype=np.float64))
    return qualities


# Statistics


def standard_errors(sample: Floats, expected: float = 0.0) -> float:
    """How many standard errors the mean of a sample lies above what was expected."""
    return float((sample.mean() - expected) / (sample.std(ddof=1) / np.sqrt(len(sample))))
