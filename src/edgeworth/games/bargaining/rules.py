"""The rules of the bargaining game, as compiled functions over batches of episodes.

Two sides divide a pool in turns. A step is the agent's move, the partner's reply, a report, and a new episode where one has ended.
`step_batch` makes it, for single environments, vector environments and stepwise learning; it can run in two halves, MOVES and CLOSE, for a
partner outside the rules, who replies between them. `move_batch` makes a move of either side in the two-player game.

References: Lewis et al. 2017 (arXiv 1706.05125) for the game, `docs/games/bargaining.md` for every rule in prose.
"""

from __future__ import annotations

import numpy as np

from edgeworth.compiled import Array, Int, Real, Record, compiled
from edgeworth.games.bargaining.legality import LEGAL, legality, random_legal_move, write_mask
from edgeworth.games.bargaining.moves import move
from edgeworth.games.bargaining.opening import begin_episode, open_negotiation, place_context
from edgeworth.games.bargaining.partners.program import OUTSIDE
from edgeworth.games.bargaining.partners.reply import partner_reply
from edgeworth.games.bargaining.state import BASE_FEATURES
from edgeworth.games.bargaining.views import recall_view, write_features, write_history, write_situation, write_view
from edgeworth.games.bargaining.vocabulary import AGENT, AGENT_ACT, AGENT_SHARE, INSIST, LOST_TURN, ONGOING, PARTNER

ALL_LEGAL = -1
NEVER, SAME_STEP, NEXT_STEP = range(3)
"""When an episode that has ended is followed by the next: Gymnasium's autoreset modes."""
WHOLE, MOVES, CLOSE = range(3)
"""The whole of a step, or the half before or after the reply of a partner outside the rules."""


@compiled
def charged_move(s: Record, r: Record, side: Int, act: Int, a: Int, b: Int, c: Int) -> Real:
    """A side's move and its immediate cost: the price of an INSIST, or the penalty of an illegal action, which also loses the turn."""
    price = r.insist_price  # looked up for every act, so that what follows is a choice and not a branch
    charge = price if act == INSIST else 0.0
    if r.penalty_on_illegal and legality(s, side, act, a, b, c) != LEGAL:
        act = LOST_TURN
        charge = r.illegal_penalty
    move(s, r, side, act, a, b, c)
    return charge


@compiled
def exchange(s: Record, r: Record, partners: Array, act: Int, a: Int, b: Int, c: Int) -> Real:
    """The agent's move and the reply of a partner of the rules; returns the cost of the move."""
    charge = charged_move(s, r, AGENT, act, a, b, c)
    if s.outcome == ONGOING:
        p = partners[np.uint64(s.partner)]
        if p.kind != OUTSIDE:
            reply, x, y, z = partner_reply(s, r, p)
            move(s, r, PARTNER, reply, x, y, z)
    return charge


@compiled
def write_report(s: Record, r: Record, charge: Real, report: Record) -> None:
    """The result of a step, with the agent's reward."""
    report.outcome = s.outcome
    report.turns = s.turn
    report.reward = s.payoff[AGENT] - charge
    report.charge = charge
    report.partner_reward = s.payoff[PARTNER]
    if s.outcome != ONGOING:
        report.partner_reward -= r.insist_price * s.insists[PARTNER]
    for k in range(3):
        report.deal[k] = s.deal[k]


@compiled
def step_episode(s: Record, r: Record, partners: Array, act: Int, a: Int, b: Int, c: Int, report: Record) -> None:
    """The agent's move and the partner's reply, with the agent's reward."""
    write_report(s, r, exchange(s, r, partners, act, a, b, c), report)


@compiled
def find_illegal(state: Array, rules: Array, side: Int, acts: Array, shares: Array, skip_ended: bool) -> Int:
    """Index of the first episode whose move may not be made, or ALL_LEGAL."""
    r = rules[0]
    for i in range(state.shape[0]):
        e = np.uint64(i)
        s = state[e]
        if s.outcome != ONGOING:
            if not skip_ended:
                return i
        elif not r.penalty_on_illegal and legality(s, side, acts[e], shares[e, 0], shares[e, 1], shares[e, 2]) != LEGAL:
            return i
    return ALL_LEGAL


@compiled
def step_batch(
    state: Array,
    rules: Array,
    partners: Array,
    table: Array,
    acts: Array,
    shares: Array,
    charges: Array,
    over: Array,
    reports: Array,
    rewards: Array,
    ended: Array,
    views: Array,
    masks: Array,
    final_views: Array,
    histories: Array,
    autoreset: Int,
    half: Int,
) -> Int:
    """One step of every episode, or one half of it, all or nothing: returns the index of an illegal action before anything has changed.

    `half` is WHOLE, or where a partner outside the rules replies in between, first MOVES and then CLOSE. `charges` and `over` carry the
    cost of each move, and the episodes that had already ended, from one half to the other.

    With autoreset SAME_STEP the next episode begins as soon as one has ended: `views` and `masks` show the new one, `final_views` the end
    of the old (zeros where none ended). NEXT_STEP begins it with the following step, whose action is not read. NEVER leaves it to the
    caller.
    """
    if half != CLOSE:
        illegal = find_illegal(state, rules, AGENT, acts, shares, autoreset == NEXT_STEP)
        if illegal != ALL_LEGAL:
            return illegal
    r = rules[0]
    for i in range(state.shape[0]):
        e = np.uint64(i)
        s = state[e]
        if half != CLOSE:
            over[e] = s.outcome != ONGOING
            if not over[e]:
                charges[e] = exchange(s, r, partners, acts[e], shares[e, 0], shares[e, 1], shares[e, 2])
        if half != MOVES:
            if over[e]:
                clear_report(reports[e])
            else:
                write_report(s, r, charges[e], reports[e])
            rewards[e] = reports[e].reward
            ended[e] = reports[e].outcome != ONGOING
            renewed = ended[e] and autoreset == SAME_STEP
            if renewed:
                write_view(s, r, AGENT, final_views[e])
            else:
                final_views[e, :] = 0
            if renewed or over[e]:
                begin_episode(s, r, partners, table)
            write_view(s, r, AGENT, views[e])
            write_mask(s, AGENT, masks[e])
            if histories.shape[0] > 0:
                write_history(s, histories[e])
    return ALL_LEGAL


@compiled
def clear_report(report: Record) -> None:
    """The report of a step that only began an episode."""
    report.reward = 0.0
    report.charge = 0.0
    report.partner_reward = 0.0
    report.outcome = ONGOING
    report.turns = 0
    for k in range(3):
        report.deal[k] = 0


@compiled
def reset_batch(state: Array, rules: Array, partners: Array, table: Array, contexts: Array, chosen: Array) -> None:
    """Begin the next episode of the chosen ones; `contexts` has a row for each, or none where contexts are drawn."""
    r = rules[0]
    for i in range(state.shape[0]):
        e = np.uint64(i)
        s = state[e]
        if chosen[e]:
            begin_episode(s, r, partners, table)
            if contexts.shape[0] > 0:
                place_context(s, contexts[e])
                open_negotiation(s, r, partners)


@compiled
def move_batch(state: Array, rules: Array, side: Int, acts: Array, shares: Array, charges: Array) -> Int:
    """One move of one side in every episode, all or nothing; the two-player game without a built-in partner."""
    illegal = find_illegal(state, rules, side, acts, shares, False)
    if illegal != ALL_LEGAL:
        return illegal
    r = rules[0]
    for i in range(state.shape[0]):
        e = np.uint64(i)
        charges[e] = charged_move(state[e], r, side, acts[e], shares[e, 0], shares[e, 1], shares[e, 2])
    return ALL_LEGAL


@compiled
def reply_batch(state: Array, rules: Array, partners: Array, acts: Array, shares: Array) -> None:
    """What each episode's partner would reply now, written to `acts` and `shares`; of the state, only its memory changes."""
    r = rules[0]
    for i in range(state.shape[0]):
        e = np.uint64(i)
        s = state[e]
        acts[e], shares[e, 0], shares[e, 1], shares[e, 2] = partner_reply(s, r, partners[np.uint64(s.partner)])


@compiled
def view_batch(state: Array, rules: Array, side: Int, views: Array, masks: Array, histories: Array) -> None:
    """What one side may know of every episode, the acts it may choose, and where it has rows, the moves so far."""
    r = rules[0]
    for i in range(state.shape[0]):
        e = np.uint64(i)
        write_view(state[e], r, side, views[e])
        write_mask(state[e], side, masks[e])
        if histories.shape[0] > 0:
            write_history(state[e], histories[e])


@compiled
def features_batch(state: Array, rules: Array, side: Int, features: Array) -> None:
    """The base features of every episode; with more columns, also those of the negotiation so far."""
    r = rules[0]
    for i in range(state.shape[0]):
        e = np.uint64(i)
        write_situation(state[e], r, side, features.shape[1] > BASE_FEATURES, features[e])


@compiled
def recalled_features(views: Array, rules: Array, scratch: Array, features: Array) -> None:
    """The agent's base features from views, such as the last ones of episodes that are gone; `scratch` is one record."""
    for i in range(views.shape[0]):
        e = np.uint64(i)
        recall_view(views[e], rules[0], scratch[0])
        write_features(scratch[0], rules[0], AGENT, features[e])


@compiled
def random_actions(state: Array, acts: Array, shares: Array) -> None:
    """A legal action for every episode, drawn from the episode's own randomness."""
    for i in range(state.shape[0]):
        e = np.uint64(i)
        acts[e], shares[e, 0], shares[e, 1], shares[e, 2] = random_legal_move(state[e], AGENT, AGENT_ACT, AGENT_SHARE)


@compiled
def random_rollout(
    state: Array,
    rules: Array,
    partners: Array,
    table: Array,
    reports: Array,
    features: Array,
    masks: Array,
    steps: Int,
    totals: Array,
) -> None:
    """Random legal play with the loop inside: features and masks are written every step.

    `totals` gathers, per episode slot: finished episodes, their reward, their maximum, and the steps they took.
    """
    r = rules[0]
    for _ in range(steps):
        for i in range(state.shape[0]):
            e = np.uint64(i)
            s = state[e]
            act, a, b, c = random_legal_move(s, AGENT, AGENT_ACT, AGENT_SHARE)
            step_episode(s, r, partners, act, a, b, c, reports[e])
            totals[e, 1] += reports[e].reward
            totals[e, 3] += 1.0
            if s.outcome != ONGOING:
                totals[e, 0] += 1.0
                totals[e, 2] += s.maximum[AGENT]
                begin_episode(s, r, partners, table)
            write_features(s, r, AGENT, features[e])
            write_mask(s, AGENT, masks[e])
