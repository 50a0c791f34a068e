"""How well an agent that knows its partner can do: the oracle, exact and compiled, for partners with acceptance thresholds.

Whether a heuristic, walk-away or time-dependent partner accepts an offer depends only on its utilities, the turn, and PROPOSE or INSIST. An
oracle therefore picks, over all its turns, the best accepted offer or counter-offer. `best_response.py` answers the same question for
every partner by search, and tests compare the two; `blind_plan.py` asks what an agent can do that does *not* know its partner.

Values are in points, in the units the environment pays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgeworth.compiled import Array, Flag, Int, Real, Record, compiled, compiled_bare
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.branches import Branches, place_member
from edgeworth.games.bargaining.moves import in_reward_units, meets, points_needed, worth
from edgeworth.games.bargaining.partners.concession import least_above
from edgeworth.games.bargaining.partners.heuristic import prepare_counter
from edgeworth.games.bargaining.partners.program import HEURISTIC, TIME_DEPENDENT, WALK_AWAY
from edgeworth.games.bargaining.vocabulary import AGENT, PARTNER

THRESHOLD_KINDS = (HEURISTIC, WALK_AWAY, TIME_DEPENDENT)


@compiled
def survival(r: Record, moves: Int) -> Real:
    """Probability that the negotiation is still open after this many moves without a deal."""
    return (1.0 - r.sudden_end) ** max(0, moves - 1)


@compiled
def still_there(p: Record, refused: Int) -> Flag:
    """Whether a partner that has refused this many moves is still at the table."""
    return p.kind != WALK_AWAY or refused <= p.patience


@compiled
def best_accepted(s: Record, r: Record, threshold: Int) -> Real:
    """The most the agent can ask of a partner with this threshold, in reward units."""
    best = -1
    for a in range(s.counts[0] + 1):
        for b in range(s.counts[1] + 1):
            for c in range(s.counts[2] + 1):
                left = worth(s, PARTNER, s.counts[0] - a, s.counts[1] - b, s.counts[2] - c)
                if meets(left, s.maximum[PARTNER], threshold):
                    best = max(best, worth(s, AGENT, a, b, c))
    return in_reward_units(s, r, AGENT, best)


@compiled
def counter_worth(s: Record, r: Record, p: Record, turn: Int) -> Real:
    """What the counter-offer that the partner makes at this turn is worth to the agent."""
    if p.kind == TIME_DEPENDENT:
        x, y, z = least_above(s, points_needed(s.maximum[PARTNER], p.accept[turn]))
    else:
        x, y, z = s.counter[0], s.counter[1], s.counter[2]
    return in_reward_units(s, r, AGENT, worth(s, AGENT, s.counts[0] - x, s.counts[1] - y, s.counts[2] - z))


@compiled
def oracle_value(s: Record, r: Record, p: Record, opener: Int) -> Real:
    """The most an agent that knows a threshold partner's utilities can expect when this side opens."""
    if p.kind != TIME_DEPENDENT:
        prepare_counter(s, p)
    nothing = r.reservation[AGENT] * in_reward_units(s, r, AGENT, s.maximum[AGENT])
    best = nothing
    plain, firm = -1, -1  # the last thresholds, and what can be asked at them
    most_plain, most_firm = 0.0, 0.0
    for turn in range(opener, r.max_turns, 2):
        if not still_there(p, turn // 2):
            break
        alive = survival(r, turn)
        if turn > 0:
            agreed = r.discount_at[turn + 1] * counter_worth(s, r, p, turn - 1)
            best = max(best, alive * agreed + (1.0 - alive) * nothing)
        if turn + 1 < r.max_turns:
            heard = survival(r, turn + 1)
            if p.accept[turn + 1] != plain:
                plain = p.accept[turn + 1]
                most_plain = best_accepted(s, r, plain)
            if p.accept_insist[turn + 1] != firm:
                firm = p.accept_insist[turn + 1]
                most_firm = best_accepted(s, r, firm)
            asked, insisted = r.discount_at[turn + 2] * most_plain, r.discount_at[turn + 2] * most_firm
            best = max(best, heard * asked + (1.0 - heard) * nothing)
            best = max(best, heard * insisted + (1.0 - heard) * nothing - alive * r.insist_price)
            if r.disagree_passes and p.kind == WALK_AWAY and turn // 2 == p.patience:
                # it leaves by END, and an offer that mirrors its selection is matched
                mirrored = r.discount_at[turn + 2] * counter_worth(s, r, p, turn)
                best = max(best, heard * mirrored + (1.0 - heard) * nothing)
    return best


@compiled
def oracle_batch(state: Array, rules: Array, partners: Array, values: Array) -> None:
    """The oracle's value of every episode from its start, for the side that opens it."""
    r = rules[0]
    for i in range(state.shape[0]):
        e = np.uint64(i)
        s = state[e]
        values[e] = oracle_value(s, r, partners[np.uint64(s.partner)], s.opener)


def oracle_values(batch: BargainingBatch) -> NDArray[np.float64]:
    """What an agent that knows its partner's utilities gets from each episode of a batch that has just begun."""
    check_threshold_partners(batch)
    values = np.empty(batch.size)
    oracle_batch(batch.state, batch.rules, batch.partners, values)
    return values


@compiled_bare
def value_members(state: Array, rules: Array, partners: Array, members: Array, starts: Array, values: Array) -> None:
    """The oracle's value of every branch of a negotiation that has just begun, by the weights of its members."""
    for branch in range(state.shape[0]):
        s = state[np.uint64(branch)]
        for number in range(starts[branch], starts[branch + 1]):
            member = members[np.uint64(number)]
            place_member(s, member)
            values[branch] += member.weight * oracle_value(s, rules[0], partners[np.uint64(member.partner)], s.opener)


def oracle_members(branches: Branches) -> NDArray[np.float64]:
    """What an agent that knows its partner gets from each branch of a negotiation that has just begun, times the branch's weight."""
    batch, values = branches.batch, np.zeros(branches.batch.size)
    check_threshold_partners(batch)
    value_members(batch.state, batch.rules, batch.partners, branches.members, branches.starts, values)
    return values


def check_threshold_partners(batch: BargainingBatch) -> None:
    """Refuse partners whose acceptance is not a threshold on the offer."""
    if not np.isin(batch.partners["kind"], THRESHOLD_KINDS).all():
        raise InvalidOption(
            f"The exact bounds need a partner with acceptance thresholds (heuristic, walk_away, boulware, linear, conceder),"
            f" not {batch.config.partner!r}."
        )
