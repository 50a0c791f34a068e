"""Pricing: who wins and what winners pay in three auctions for graded lots and unit demand.

Bids are per unit of quality. The best bid takes the best lot, and so on down. With bids b_1 >= b_2 >= … and c_j = max(b_j, r):

* `first_price`:  p_k = q_k b_k, the generalised first price;
* `second_price`: p_k = q_k c_(k+1), the generalised second price (Edelman, Ostrovsky and Schwarz 2007; Varian 2007);
* `vcg`:          p_k = Σ_(j>=k) (q_j - q_(j+1)) c_(j+1), what the winner's presence costs the others (Vickrey, Clarke, Groves).

With one lot the last two are the same; for the same bids VCG <= GSP <= GFP lot by lot. Bids below the reserve are void. Equal bids are
ranked in the order of seats, beginning with a seat that is drawn for each sale.
"""

from __future__ import annotations

from edgeworth.compiled import Array, Int, Real, Record, compiled_apart
from edgeworth.games.auction.vocabulary import FIRST_PRICE, SECOND_PRICE


@compiled_apart
def rank_bids(bids: Array, count: Int, reserve: Real, depth: Int, ladder: Record) -> None:
    """Write the highest `depth` bids into the ladder, best first, with the seats they came from; void ones stand below the valid."""
    ranked, listed = 0, 0
    for turn in range(count):
        i = turn + ladder.first_seat
        if i >= count:
            i -= count
        bid = bids[i]
        if bid <= 0.0:
            continue
        if bid >= reserve and ranked < depth:
            ranked += 1
        if listed < depth:
            place = listed
            listed += 1
        elif bid > ladder.bid[depth - 1]:
            place = depth - 1
        else:
            continue
        while place > 0 and ladder.bid[place - 1] < bid:
            ladder.bid[place] = ladder.bid[place - 1]
            ladder.seat[place] = ladder.seat[place - 1]
            place -= 1
        ladder.bid[place] = bid
        ladder.seat[place] = i
    ladder.ranked, ladder.listed = ranked, listed


@compiled_apart
def charge(ladder: Record, terms: Record, auction_type: Int, reserve: Real) -> None:
    """What each ranked winner owes in total, how many lots are sold, and the revenue."""
    sold = min(ladder.ranked, terms.lots)
    externality, revenue = 0.0, 0.0
    for k in range(sold - 1, -1, -1):
        following = max(ladder.bid[k + 1], reserve) if k + 1 < ladder.ranked else reserve
        next_quality = terms.quality[k + 1] if k + 1 < sold else 0.0
        externality += (terms.quality[k] - next_quality) * following
        if auction_type == FIRST_PRICE:
            payment = terms.quality[k] * ladder.bid[k]
        elif auction_type == SECOND_PRICE:
            payment = terms.quality[k] * following
        else:
            payment = externality
        ladder.payment[k] = payment
        revenue += payment
    ladder.sold = sold
    ladder.revenue = revenue


@compiled_apart
def clear(bids: Array, count: Int, depth: Int, auction_type: Int, reserve: Real, terms: Record, ladder: Record) -> None:
    """Rank the bids and charge the winners."""
    rank_bids(bids, count, reserve, depth, ladder)
    charge(ladder, terms, auction_type, reserve)
