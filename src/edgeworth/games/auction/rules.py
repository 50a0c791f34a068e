"""The rules of the auction game, as compiled functions over batches of markets.

`reset_batch` opens markets, `step_batch` runs one step of each, `play_constant` whole episodes under one mechanism each, `play_schedule`
under one mechanism per step. All randomness hangs on the market's own key, so batches can be cut, copied and threaded at will.
"""

from __future__ import annotations

from edgeworth.compiled import Array, Int, Record, compiled_apart
from edgeworth.games.auction.market import begin_market, begin_sale, close_step, open_step, run_sale, run_sale_with_bids, run_step
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
def step_batch(markets: Array, mechanisms: Array, models: Array, desks: Array, outcomes: Array) -> None:
    """One step of every market; `desks` is a working space of one."""
    for e in range(markets.shape[0]):
        run_step(markets[e], mechanisms[e], models[0], desks[0], outcomes[e])


@compiled_apart
def play_constant(markets: Array, mechanisms: Array, models: Array, desks: Array, outcomes: Array, steps: Int, scores: Array) -> None:
    """Whole episodes under one mechanism each: the score of every step, with the last step's outcome."""
    for e in range(markets.shape[0]):
        for t in range(steps):
            run_step(markets[e], mechanisms[e], models[0], desks[0], outcomes[e])
            scores[e, t] = outcomes[e].composite


@compiled_apart
def play_schedule(markets: Array, schedules: Array, models: Array, desks: Array, outcomes: Array, steps: Int, scores: Array) -> None:
    """Whole episodes under a mechanism per step: the score of every step, with the last step's outcome."""
    for e in range(markets.shape[0]):
        for t in range(steps):
            run_step(markets[e], schedules[e, t], models[0], desks[0], outcomes[e])
            scores[e, t] = outcomes[e].composite


@compiled_apart
def open_step_of(markets: Array, mechanisms: Array, models: Array, desks: Array) -> None:
    """Post a mechanism in the first market, to run its sales one by one."""
    open_step(markets[0], mechanisms[0], models[0], desks[0])


@compiled_apart
def run_sale_of(markets: Array, mechanisms: Array, models: Array, desks: Array) -> None:
    """One sale with the bidders of the model."""
    run_sale(markets[0], mechanisms[0], models[0], desks[0])


@compiled_apart
def begin_sale_of(markets: Array, models: Array, desks: Array) -> None:
    """Draw the values of a sale whose bids come from outside."""
    begin_sale(markets[0], models[0], desks[0].terms, desks[0].sale, desks[0].tally)


@compiled_apart
def run_sale_with_bids_of(markets: Array, mechanisms: Array, models: Array, desks: Array, bids: Array) -> None:
    """Run the begun sale with those bids."""
    run_sale_with_bids(markets[0], mechanisms[0], models[0], desks[0], bids)


@compiled_apart
def close_step_of(markets: Array, models: Array, desks: Array, outcomes: Array) -> None:
    """Score the step."""
    close_step(markets[0], models[0], desks[0], outcomes[0])
