"""The rules of the auction game: an episode, a step of five sales under one mechanism, and batches of markets.

A sale runs in this order: values are drawn, bidders decide whether to come, every entrant computes a competitive bid, the ring and the
exploiters change theirs, the lots are cleared and settled, losers are audited, and everybody learns from what is published. Each of these
is in a module beside this one. `run_step` is a whole step of the designer; `open_step`, `run_sale` and `close_step` are its parts, for
callers who look at every sale. `reset_batch`, `step_batch` and `play_batch` are what `batch.MarketBatch` calls.
"""

from __future__ import annotations

import math

from edgeworth.compiled import Array, Int, Record, compiled_apart
from edgeworth.games.auction.beliefs import begin_beliefs
from edgeworth.games.auction.bidders import write_competitive_bids
from edgeworth.games.auction.disclosure import write_disclosure_terms
from edgeworth.games.auction.draws import TIE_BREAK, chance
from edgeworth.games.auction.enforcement import audit_losers, draw_scruples, write_enforcement_terms
from edgeworth.games.auction.entry import decide_entry, draw_entry_costs, weigh_entry, write_entry_terms
from edgeworth.games.auction.learning import begin_learning, learn_from_sale
from edgeworth.games.auction.lots import draw_values, write_lots
from edgeworth.games.auction.population import draw_types
from edgeworth.games.auction.pricing import clear
from edgeworth.games.auction.ring import begin_ring, run_ring, write_ring_terms
from edgeworth.games.auction.ring_discipline import decide_cheating, remember_ring, write_discipline_terms
from edgeworth.games.auction.scoring import enter_sale, measure_first_best, open_tally, write_outcome
from edgeworth.games.auction.settlement import settle_awards, settle_unsold
from edgeworth.games.auction.shills import measure_uplift, place_shills, remember_shills, settle_shills
from edgeworth.games.auction.vocabulary import NEXT_IN_LINE, NOBODY, SALES_PER_STEP
from edgeworth.seeding import stream_key


@compiled_apart
def begin_episode(market: Record, model: Record, populations: Array, n: Int) -> None:
    """The next episode of a market's seed: its bidders and their first state."""
    market.key = stream_key(market.stream, market.episode)
    market.episode += 1
    market.n = n
    market.step, market.sale = 0, 0
    market.has_past, market.last_welfare, market.last_profit = False, 0.0, 0.0
    market.shill_gain = model.shills.first_gain
    draw_types(market, populations)
    draw_entry_costs(market, model)
    draw_scruples(market, model)
    begin_learning(market, model)
    begin_beliefs(market, model)
    begin_ring(market, model)


@compiled_apart
def write_terms(n: Int, mechanism: Record, model: Record, terms: Record) -> None:
    """Everything that follows from a mechanism alone."""
    write_lots(n, model, terms)
    write_disclosure_terms(mechanism, model, terms)
    write_enforcement_terms(mechanism, model, terms)
    write_ring_terms(mechanism, model, terms)
    write_discipline_terms(mechanism, model, terms)
    write_entry_terms(n, mechanism, model, terms)


@compiled_apart
def open_step(market: Record, mechanism: Record, model: Record, workspace: Record) -> None:
    """Begin a step under the mechanism that the designer has posted."""
    write_terms(market.n, mechanism, model, workspace.terms)
    weigh_entry(market, mechanism, model, workspace.terms)
    open_tally(market, workspace.tally)


@compiled_apart
def run_sale(market: Record, mechanism: Record, model: Record, workspace: Record) -> None:
    """One sale, from drawing values to learning."""
    terms, sale, tally = workspace.terms, workspace.sale, workspace.tally
    begin_sale(market, model, terms, sale, tally)
    decide_entry(market, mechanism, model, terms, sale)
    write_competitive_bids(market, mechanism, model, sale)
    run_ring(market, mechanism, model, terms, sale)
    decide_cheating(market, mechanism, model, terms, sale)
    place_shills(market, mechanism, model, terms, sale)
    settle_sale(market, mechanism, model, terms, sale, tally)
    remember_ring(market, mechanism, model, terms, sale)
    remember_shills(market, model, sale)
    learn_from_sale(market, mechanism, model, terms, sale)
    enter_sale(market, mechanism, model, terms, sale, tally)


@compiled_apart
def run_sale_with_bids(market: Record, mechanism: Record, model: Record, workspace: Record, bids: Array) -> None:
    """The rest of a sale that has begun, with bids from outside; a bid of 0 is staying away. No bidder of the model learns."""
    terms, sale, tally = workspace.terms, workspace.sale, workspace.tally
    sale.entrants, sale.members, sale.kept, sale.cheats, sale.shills = 0, 0, 0, 0, 0
    sale.at_war, sale.costs = False, 0.0
    for i in range(market.n):
        sale.bid[i], sale.genuine[i], sale.competitive[i] = bids[i], min(bids[i], sale.value[i]), bids[i]
        sale.shading[i], sale.covering[i], sale.cheated[i], sale.member[i] = 1.0, 0, 0, 0
        sale.present[i] = bids[i] > 0.0
        if sale.present[i]:
            sale.entrants += 1
            sale.costs += market.entry_cost[i] * terms.scale + terms.rules_cost
    sale.bids = market.n
    settle_sale(market, mechanism, model, terms, sale, tally)
    enter_sale(market, mechanism, model, terms, sale, tally)


@compiled_apart
def begin_sale(market: Record, model: Record, terms: Record, sale: Record, tally: Record) -> None:
    """Begin a sale: values, their first best, and empty accounts."""
    market.sale += 1
    draw_values(market, model, sale)
    first_seat = math.floor(chance(market, TIE_BREAK, 0) * market.n)
    sale.ladder.first_seat, sale.trial.first_seat, sale.honest.first_seat = first_seat, first_seat, first_seat
    measure_first_best(market, model, terms, sale, tally)
    sale.welfare, sale.profit, sale.fines, sale.defaults = 0.0, 0.0, 0.0, 0.0
    sale.took_turns, sale.uncoordinated, sale.mistaken_shill = False, False, NOBODY
    for i in range(market.n):
        sale.surplus[i], sale.won[i], sale.served[i], sale.withdrew[i] = 0.0, 0, False, False
        sale.fined_as_shill[i], sale.fined_as_cover[i] = False, False
    for k in range(terms.lots):
        sale.withdrawn[k], sale.shock[k], sale.charge[k], sale.taker[k], sale.paid[k] = False, 1.0, 0.0, NOBODY, 0.0


@compiled_apart
def settle_sale(market: Record, mechanism: Record, model: Record, terms: Record, sale: Record, tally: Record) -> None:
    """From bids to money: clearing, withdrawals, unsold lots, kickbacks and fines."""
    clear(sale.bid, sale.bids, terms.lots + NEXT_IN_LINE, mechanism.auction_type, mechanism.reserve_price, terms, sale.ladder)
    measure_uplift(market, mechanism, terms, sale)
    settle_awards(market, mechanism, model, terms, sale, tally)
    settle_unsold(market, model, terms, sale)
    settle_shills(market, mechanism, model, terms, sale)
    audit_losers(market, mechanism, model, terms, sale, tally)


@compiled_apart
def close_step(market: Record, model: Record, workspace: Record, outcome: Record) -> None:
    """Score the step that is over."""
    write_outcome(market, model, workspace.terms, workspace.tally, outcome)
    market.step += 1


@compiled_apart
def run_step(market: Record, mechanism: Record, model: Record, workspace: Record, outcome: Record) -> None:
    """One step of the designer: a mechanism, five sales, a score."""
    open_step(market, mechanism, model, workspace)
    for _ in range(SALES_PER_STEP):
        run_sale(market, mechanism, model, workspace)
    close_step(market, model, workspace, outcome)


# Batches: all randomness depends on a market's own key, so batches can be cut, copied and threaded


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
