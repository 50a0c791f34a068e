"""Upper bounds on a blind agent against partners whose counter-offers reveal something: two relaxations of the belief problem.

*Told the partner*: the agent knows whom it faces. *Told the replies*: it knows in advance which counter-offers it will hear, where these
do not depend on its own offers, and nothing else; what remains are the partners that make them, and a list of offers (`docs/beliefs.md` has
the proof). The second bound is never above the first. Where time or INSIST costs something, and against tit-for-tat, whose counter-offers
depend on the agent's, the first is all there is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgeworth.compiled import Array, Int, compiled_bare
from edgeworth.games.bargaining.belief_tables import Tables
from edgeworth.games.bargaining.list_search import best_list
from edgeworth.games.bargaining.offer_lists import Offers
from edgeworth.games.bargaining.partners.program import TIME_DEPENDENT, TIT_FOR_TAT

BEGINNINGS = 1_000
"""Where the search for the best list of one kind of partner gives up; its bound holds anyway."""


@compiled_bare
def tell_members(t: Tables, opener: Int, values: Array) -> None:
    """What an agent gets at most from each member, if it knows that it faces it."""
    for m in range(len(t.types)):
        kind, row = t.types[m], t.rows[m]
        values[m] = t.nothing
        for turn in range(opener, t.max_turns, 2):
            if turn > 0 and t.kinds[row] != TIT_FOR_TAT:
                counter = t.counters[kind, t.needs[0, row, turn - 1, kind]] if t.kinds[row] == TIME_DEPENDENT else t.fixed[m]
                values[m] = max(values[m], t.discounts[turn + 1] * t.worths[counter])
            for offer in range(len(t.worths) if turn + 1 < t.max_turns else 0):
                left = t.left[offer, kind]
                if t.kinds[row] == TIT_FOR_TAT:  # it never closes below half of its maximum, by whichever move
                    taken = 2 * left >= t.maxima[kind] and left >= t.floors[row, kind]
                    paid = t.discounts[turn + 1] * t.worths[offer]
                else:
                    taken = left >= min(t.needs[0, row, turn + 1, kind], t.needs[1, row, turn + 1, kind])
                    paid = t.discounts[turn + 2] * t.worths[offer]
                if taken:
                    values[m] = max(values[m], paid)


def told_values(t: Tables, opener: int) -> NDArray[np.float64]:
    """What an agent gets at most from each member that it is told of."""
    values = np.empty(len(t.types))
    tell_members(t, opener, values)
    return values


def upper_bounds(t: Tables, opener: int) -> tuple[float, float]:
    """No blind agent gets more on average than this: if it is told the partner, and if it is told the replies."""
    told = told_values(t, opener)
    first = second = float((told * t.weights).sum())
    if t.price == 0.0 and (t.discounts == 1.0).all():
        second = 0.0
        for row in range(len(t.kinds)):
            of_row = np.flatnonzero(t.rows == row)
            if t.kinds[row] == TIT_FOR_TAT:
                second += float((told * t.weights)[of_row].sum())
            else:
                second += sum(_told_replies(t, group, counters, told, opener) for group, counters in _groups(t, of_row, opener))
    return first, second


def _groups(t: Tables, members: NDArray[np.int64], opener: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Members of one row that make the same counter-offers as far as the agent can hear them, and these."""
    kinds, row = t.types[members], int(t.rows[members[0]])
    heard = []
    for turn in range(1 - opener, t.max_turns - 1, 2):
        aspires = t.counters[kinds, t.needs[0, row, turn, kinds]]
        heard.append(aspires if t.kinds[row] == TIME_DEPENDENT else t.fixed[members])
    lines, group = np.unique(np.stack(heard, axis=1), axis=0, return_inverse=True)
    return [(members[group.ravel() == number], line) for number, line in enumerate(lines)]


def _told_replies(t: Tables, members: NDArray[np.int64], counters: NDArray[np.int64], told: NDArray[np.float64], opener: int) -> float:
    """At most what these members pay together, times their weights: by a list of offers that each accepts as readily as it ever does."""
    answers = np.arange(opener + 1, t.max_turns, 2)
    separate = float((told * t.weights)[members].sum())
    if len(members) <= len(answers):  # an offer for each
        return separate
    kinds, row = t.types[members], int(t.rows[members[0]])
    needs = t.needs[:, row][:, answers][:, :, kinds].min(axis=(0, 1))
    last = max(t.nothing, float(t.worths[counters].max()))
    accepted = t.left[:, kinds] >= needs
    useful = np.flatnonzero(accepted.any(axis=1) & (t.worths > last))
    useful = useful[np.argsort(-t.worths[useful], kind="stable")]
    _, first = np.unique(accepted[useful], axis=0, return_index=True)
    chosen = useful[np.sort(first)]
    if len(chosen) <= len(answers):
        return separate
    offer, taker = np.nonzero(accepted[chosen])
    gains = np.tile(t.worths[chosen], (len(answers), 1))
    offers = Offers(
        np.searchsorted(offer, np.arange(len(chosen) + 1)), taker.astype(np.int16), t.weights[members], gains, np.zeros_like(gains)
    )
    _, bound = best_list(offers, len(answers), last, True, 0.0, -np.inf, np.zeros(len(answers), np.int64), BEGINNINGS)
    return min(separate, float(bound))
