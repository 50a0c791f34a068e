"""A seed replays bit for bit: in any batch, on any number of threads, in any order of sessions, after a copy, compiled or not."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from auction_house import POPULATIONS, Rows, opened, sale_room
from bargaining_table import bits_of
from edgeworth.config import AuctionConfig
from edgeworth.games.auction.action import action_of, random_mechanisms
from edgeworth.games.auction.batch import MarketBatch, open_markets, step_markets
from edgeworth.games.auction.vocabulary import SALES_PER_STEP

STEPS = 4


def mechanisms_for(seeds: np.ndarray, step: int) -> Rows:
    """A random mechanism for each seed and step, whatever the batch it plays in."""
    menu = random_mechanisms(np.random.default_rng(step), 211)
    rows: Rows = menu[seeds % len(menu)]
    return rows


Bits = list[dict[str, bytes]]


def bits(batch: MarketBatch) -> Bits:
    return [bits_of(batch.markets), bits_of(batch.outcomes)]


def play(batch: MarketBatch, steps: range = range(STEPS)) -> list[Bits]:
    """The bits of a batch after every step, each market under mechanisms of its own."""
    trail = []
    for step in steps:
        batch.step(mechanisms_for(batch.markets["seed"], step))
        trail.append(bits(batch))
    return trail


@pytest.mark.parametrize("stage", [*POPULATIONS, "stages", "dirichlet", "held_out"])
def test_a_market_of_a_thousand_plays_what_it_plays_alone(stage: str) -> None:
    many = opened(1_000, 50, stage=stage)
    rows = [mechanisms_for(many.markets["seed"], step) for step in range(STEPS)]
    record = []
    for row in rows:
        many.step(row)
        record.append((many.markets.copy(), many.outcomes.copy()))
    for slot in range(0, 1_000, 97):
        one = opened(1, 50 + slot, stage=stage)
        for row, (markets, outcomes) in zip(rows, record, strict=True):
            one.step(row[slot : slot + 1])
            assert bits(one) == [bits_of(markets[slot : slot + 1]), bits_of(outcomes[slot : slot + 1])]


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_play_is_the_same_on_one_thread_and_on_several(threads: int) -> None:
    one, several = opened(201, 3, stage="mixed"), opened(201, 3, stage="mixed")
    rows = mechanisms_for(one.markets["seed"], 0)
    scores = one.play_constant(rows, threads=1), several.play_constant(rows, threads=threads)
    assert scores[0].tobytes() == scores[1].tobytes()
    assert bits(one) == bits(several)


def test_constant_play_is_the_same_game_as_steps() -> None:
    played, stepped = opened(40, 6, stage="stages"), opened(40, 6, stage="stages")
    rows = mechanisms_for(played.markets["seed"], 0)
    scores = played.play_constant(rows, STEPS)
    np.testing.assert_array_equal(np.array([stepped.step(rows)["composite"].copy() for _ in range(STEPS)]).T, scores)
    assert bits(played) == bits(stepped)


def test_sales_run_one_by_one_are_the_same_game_as_steps() -> None:
    for seed, stage in enumerate(POPULATIONS):
        batch, room = opened(1, seed, stage=stage), sale_room(seed, stage=stage)
        for step in range(STEPS):
            rows = mechanisms_for(batch.markets["seed"], step)
            batch.step(rows)
            room.post(action_of(rows[0]))
            for _ in range(SALES_PER_STEP):
                room.run_sale()
            assert bits(batch) == bits(room.batch)


def test_sessions_do_not_hear_each_other_in_any_interleaving() -> None:
    alone = [play(opened(3, 10 * k, stage=stage)) for k, stage in enumerate(POPULATIONS)]
    sessions = [opened(3, 10 * k, stage=stage) for k, stage in enumerate(POPULATIONS)]
    told: list[list[Bits]] = [[] for _ in sessions]
    for k in np.random.default_rng(0).permutation(np.repeat(np.arange(len(sessions)), STEPS)):
        told[k] += play(sessions[k], range(len(told[k]), len(told[k]) + 1))
    assert told == alone


def test_the_order_in_which_markets_are_reset_does_not_matter() -> None:
    together, apart = opened(10, 4, stage="mixed"), opened(10, 4, stage="mixed")
    for batch in (together, apart):
        play(batch, range(2))
    together.reset()
    odd = np.arange(10) % 2 == 1
    apart.reset(odd)
    apart.reset(~odd)
    assert bits(together) == bits(apart)


@pytest.mark.parametrize("copied", [MarketBatch.copy, lambda batch: pickle.loads(pickle.dumps(batch))], ids=["copy", "pickle"])
def test_a_copied_batch_plays_on_as_the_original_does_and_leaves_it_alone(copied: object) -> None:
    assert callable(copied)
    batch = opened(12, 8, stage="stages")
    play(batch, range(3))
    before, twin = bits(batch), copied(batch)
    ahead = play(twin, range(3, 6))
    assert bits(batch) == before
    assert play(batch, range(3, 6)) == ahead


def test_stepping_markets_as_a_function_leaves_them_alone_and_equals_the_batch() -> None:
    markets, model = open_markets(AuctionConfig.from_options(stage="3"), range(30, 42))
    batch = opened(12, 30, stage="3")
    assert bits_of(batch.markets) == bits_of(markets)
    for step in range(STEPS):
        before, rows = bits_of(markets), mechanisms_for(markets["seed"], step)
        after, outcomes = step_markets(markets, rows, model)
        assert bits_of(markets) == before
        assert bits_of(step_markets(markets, rows, model)[0]) == bits_of(after)
        batch.step(rows)
        assert bits(batch) == [bits_of(after), bits_of(outcomes)]
        markets = after


def test_seeds_and_episodes_are_markets_of_their_own() -> None:
    batch = opened(50, 0, stage="mixed")
    costs = [batch.markets["entry_cost"].copy()]
    for _ in range(3):
        batch.reset()
        costs.append(batch.markets["entry_cost"].copy())
    drawn = np.concatenate(costs)[:, :8]
    assert len(np.unique(drawn)) == drawn.size
    batch.seed(0)
    batch.reset()
    assert batch.markets["entry_cost"].tobytes() == costs[0].tobytes()


# Compiled and uncompiled


SAME_SOURCE = """
import sys
sys.path[:0] = sys.argv[1:]
from test_market_replay import digest_of_everything
print(digest_of_everything())
"""


def digest_of_everything() -> str:
    """Digest of two steps of every population under random mechanisms, with all bits of markets and outcomes."""
    digest = hashlib.sha256()
    for k, stage in enumerate([*POPULATIONS, "dirichlet"]):
        for n_agents in (8, 3 + 2 * k):
            batch = opened(1, 1_000 * k + n_agents, stage=stage, n_agents=min(n_agents, 16))
            for markets, outcomes in play(batch, range(2)):
                digest.update(b"".join([*markets.values(), *outcomes.values()]))
    room = sale_room(5, stage=4)
    room.post(action_of(mechanisms_for(room.batch.markets["seed"], 9)[0]))
    for _ in range(SALES_PER_STEP):
        sale = room.run_sale_with_bids(0.9 * room.draw_values())
        digest.update(sale["ladder"]["payment"].tobytes() + sale["surplus"].tobytes())
    digest.update(bits_of(room.batch.markets)["last_profit"] + room.batch.outcomes.tobytes())
    return digest.hexdigest()


def test_the_same_source_run_as_plain_python_gives_the_same_bits() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SAME_SOURCE, str(Path(__file__).parent), str(Path(__file__).parents[1])],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == digest_of_everything()
