"""The rules of the auction game, as compiled functions over batches of markets.

`reset_batch` opens markets, `step_batch` runs one step of each, `play_batch` several steps under one mechanism per step. All randomness
depends on the market's own key, so batches can be cut, copied and threaded.
"""

from __future__ import annotations

from edgeworth.compiled import Array, Int, Record, compiled_apart
from edgeworth.games.auction.market import begin_market, run_step
from edgeworth.games.auction.population import draw_types
from edgeworth.seeding import stream_key


@compiled_apart
def begin_episode(market: Record, model: Record, populations: Array, n: Int) -> None:
    """The next episode of a market's seed: its bidders and their first state."""
    market.key = stream_key(market.stream, market.episode)
    market.episode += 1
    market.n = n
    market.step, market.sale = 0, 0
    draw_types(market, populations)
    begin_market(market, model)


@compiled_apart
def reset_batch(markets: Array, models: Array, populations: Array, n: Int, chosen: Array) -> None:
    """Begin the next episode of the chosen markets."""
    for e in range(markets.shape[0]):
        if chosen[e]:
            begin_episode(markets[e], models[0], populations, n)


@compiled_apart
def step_batch(markets: Array, mechanisms: Array, models: Array, workspaces: Array, outcomes: Array) -> None:
    """One step of every market; `models` and `workspaces` hold one record each."""
    for e in range(markets.shape[0]):
        run_step(markets[e], mechanisms[e], models[0], workspaces[0], outcomes[e])


@compiled_apart
def play_batch(markets: Array, schedules: Array, models: Array, workspaces: Array, outcomes: Array, scores: Array) -> None:
    """Several steps of every market, under one mechanism per step: the score of every step, with the last step's outcome."""
    for e in range(markets.shape[0]):
        for t in range(schedules.shape[1]):
            run_step(markets[e], schedules[e, t], models[0], workspaces[0], outcomes[e])
            scores[e, t] = outcomes[e].composite
