"""After the hammer: some winners' values collapse, and they may walk away for a charge.

The charge is a multiple of the seller's loss, price less expected resale, so multiplier 1 is expectation damages: a winner then withdraws
exactly when its lot is worth more elsewhere (efficient breach, as in FCC rule 13-7). At 0 winners over-withdraw and false names that win
walk away free; above 1 losses are locked in and entry is taxed. A lot that comes back is offered to the next bidder in line, if it can
be reached, at that bidder's own bid, which it takes if the lot is worth that to it. Charges go to the seller.
"""

from __future__ import annotations

from dataclasses import dataclass

from edgeworth.compiled import Int, Real, Record, compiled_apart
from edgeworth.games.auction.purposes import REAWARD, SHOCK, SHOCK_SIZE, chance


@dataclass(frozen=True)
class WithdrawalModel:
    """How often values collapse and lots find another taker. Calibrated."""

    shock_chance: float = 0.08
    """Chance that a winner's value falls to a uniform fraction of itself."""
    reaward_chance: float = 0.5
    """Chance that a returned lot can be sold to the next bidder in line."""


@compiled_apart
def settle_awards(market: Record, mechanism: Record, model: Record, terms: Record, sale: Record, tally: Record) -> None:
    """Every award is kept or withdrawn; what comes back is offered down the line."""
    next_in_line = sale.ladder.sold
    for k in range(sale.ladder.sold):
        seat = sale.ladder.seat[k]
        damages = mechanism.withdrawal_penalty * sellers_loss(mechanism, model, terms, sale, k, next_in_line)
        if seat >= market.n:
            sale.surplus[sale.owner[seat - market.n]] -= damages
            sale.defaults += damages
            sale.profit += damages
            kept = False
        else:
            kept = keep_or_withdraw(market, model, terms, sale, k, seat, damages)
        if not kept:
            tally.withdrawals += 1.0
            if not reaward(market, model, terms, sale, k, next_in_line):
                sale.welfare += terms.quality[k] * model.lots.seller_value
            next_in_line += 1


@compiled_apart
def sellers_loss(mechanism: Record, model: Record, terms: Record, sale: Record, k: Int, next_in_line: Int) -> Real:
    """Price of a lot less what it is expected to fetch if it comes back."""
    price = sale.ladder.payment[k] / terms.quality[k]
    resale = model.lots.seller_value
    if next_in_line < sale.ladder.ranked:
        again = min(sale.ladder.bid[next_in_line], price)
        resale = model.withdrawals.reaward_chance * again + (1.0 - model.withdrawals.reaward_chance) * resale
    return terms.quality[k] * max(0.0, price - resale)


@compiled_apart
def keep_or_withdraw(market: Record, model: Record, terms: Record, sale: Record, k: Int, seat: Int, damages: Real) -> bool:
    """A winner learns what its lot is worth now, and keeps it unless the charge is the smaller loss."""
    value = sale.value[seat]
    if chance(market, SHOCK, k) < model.withdrawals.shock_chance:
        value *= chance(market, SHOCK_SIZE, k)
    worth = terms.quality[k] * value
    if worth - sale.ladder.payment[k] < -damages:
        sale.surplus[seat] -= damages
        sale.profit += damages
        sale.withdrew[seat] = True
        return False
    hand_over(terms, model, sale, seat, k, worth, sale.ladder.payment[k])
    return True


@compiled_apart
def reaward(market: Record, model: Record, terms: Record, sale: Record, k: Int, next_in_line: Int) -> bool:
    """Offer a returned lot to the next in line; a false name, an unreachable bidder or one that has overbid does not take it."""
    if next_in_line >= sale.ladder.ranked:
        return False
    seat = sale.ladder.seat[next_in_line]
    if seat >= market.n or chance(market, REAWARD, k) >= model.withdrawals.reaward_chance:
        return False
    price = sale.ladder.bid[next_in_line]
    if price > sale.value[seat]:
        return False
    hand_over(terms, model, sale, seat, k, terms.quality[k] * sale.value[seat], terms.quality[k] * price)
    return True


@compiled_apart
def hand_over(terms: Record, model: Record, sale: Record, seat: Int, k: Int, worth: Real, payment: Real) -> None:
    """Lot k changes hands: who gains what."""
    sale.welfare += worth
    sale.surplus[seat] += worth - payment
    sale.profit += payment - terms.quality[k] * model.lots.seller_value
    sale.won[seat] += 1
    sale.served[seat] = True
