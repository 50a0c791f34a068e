"""After the hammer: winners may withdraw for a charge, and lots without a buyer may be bargained over.

Some winners' values collapse. The charge for withdrawing is a multiple of the seller's loss, price less expected resale, so multiplier 1 is
expectation damages: a winner then withdraws exactly when its lot is worth more elsewhere (efficient breach, as in FCC rule 13-7). At 0
winners withdraw too often and false names that win pay nothing; above 1 losses are locked in and entry is taxed. A lot that comes back is
offered to the next bidder in line, if it can be reached, at that bidder's own bid, which it takes if the lot is worth that to it. Charges
go to the seller.

A seller cannot always commit to withholding what found no buyer (Skreta 2006): with some probability an unsold lot is bargained over with
the best unserved entrant, who pays part of the way from the seller's own value to its genuine bid. How often and at what price sets
how harmful a reserve is that is too high.
"""

from __future__ import annotations

from dataclasses import dataclass

from edgeworth.compiled import Int, Real, Record, compiled_apart
from edgeworth.games.auction.draws import REAWARD, SHOCK, SHOCK_SIZE, UNSOLD_BARGAIN, chance
from edgeworth.games.auction.vocabulary import NOBODY


@dataclass(frozen=True)
class WithdrawalModel:
    """How often values collapse and lots find another taker. Calibrated."""

    shock_chance: float = 0.08
    """Chance that a winner's value falls to a uniform fraction of itself."""
    reaward_chance: float = 0.5
    """Chance that a returned lot can be sold to the next bidder in line."""


@dataclass(frozen=True)
class UnsoldModel:
    """What happens to passed-in lots. Calibrated."""

    bargain_chance: float = 0.46
    """Chance that a passed-in lot is bargained over."""
    seller_share: float = 0.7
    """The seller's share of what the buyer's genuine bid exceeds the seller's own value by."""


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
            sale.withdrawn[k], sale.charge[k] = True, damages
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
    """Whether a winner keeps its lot once its value is settled: it withdraws where the charge is the smaller loss."""
    if chance(market, SHOCK, k) < model.withdrawals.shock_chance:
        sale.shock[k] = chance(market, SHOCK_SIZE, k)
    worth = terms.quality[k] * (sale.value[seat] * sale.shock[k])
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
    """Lot k goes to a bidder: enter its worth and payment into the accounts."""
    sale.welfare += worth
    sale.surplus[seat] += worth - payment
    sale.profit += payment - terms.quality[k] * model.lots.seller_value
    sale.won[seat] += 1
    sale.served[seat] = True
    sale.taker[k], sale.paid[k] = seat, payment


@compiled_apart
def settle_unsold(market: Record, model: Record, terms: Record, sale: Record) -> None:
    """Unsold lots are bargained over or stay with the seller."""
    own = model.lots.seller_value
    for k in range(sale.ladder.sold, terms.lots):
        buyer = best_unserved(market, sale, own) if chance(market, UNSOLD_BARGAIN, k) < model.unsold.bargain_chance else NOBODY
        if buyer == NOBODY:
            sale.welfare += terms.quality[k] * own
        else:
            price = bargained_price(sale.genuine[buyer], model)
            hand_over(terms, model, sale, buyer, k, terms.quality[k] * sale.value[buyer], terms.quality[k] * price)


@compiled_apart
def bargained_price(genuine: Real, model: Record) -> Real:
    """What a bidder with this genuine bid pays for a lot that was passed in, per unit of quality."""
    return model.lots.seller_value + model.unsold.seller_share * (genuine - model.lots.seller_value)


@compiled_apart
def best_unserved(market: Record, sale: Record, least: Real) -> Int:
    """The entrant without a lot (and who gave none back) whose genuine bid is highest and above the seller's own value, or NOBODY."""
    best, who = least, NOBODY
    for i in range(market.n):
        if sale.present[i] and not sale.served[i] and not sale.withdrew[i] and sale.genuine[i] > best:
            best, who = sale.genuine[i], i
    return who
