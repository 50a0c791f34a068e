"""The rules of the bargaining game, as compiled functions over batches of episodes.

Two sides divide a pool in turns. `moves.move` is the law of one move; here it becomes a game over a batch: `reset_batch` opens the talks,
`step_batch` is the agent's move, the partner's reply, a report, and a new episode where one has ended, `move_batch` a move of either side
in the two-player game. Where somebody outside the rules replies, `move_agents` and `close_step` are the two halves of a step. A single
environment is a batch of one; nothing about the game is written anywhere else.

References: Lewis et al. 2017 (arXiv 1706.05125) for the game, `docs/games/bargaining.md` for every rule in prose.
"""

from __future__ import annotations

import numpy as np

from edgeworth.compiled import Array, Int, Real, Record, compiled
from edgeworth.games.bargaining.legality import EPISODE_IS_OVER, LEGAL, legality, random_legal_move, write_mask
from edgeworth.games.bargaining.moves import move
from edgeworth.games.bargaining.opening import begin_episode, open_talks, place_context
from edgeworth.games.bargaining.partners.reply import partner_reply
from edgeworth.games.bargaining.payoffs import write_reward_parts
from edgeworth.games.bargaining.purposes import AGENT_ACT, AGENT_SHARE
from edgeworth.games.bargaining.views import recall_view, write_features, write_history, write_view
from edgeworth.games.bargaining.vocabulary import AGENT, INSIST, LOST_TURN, ONGOING, PARTNER, UNSAID

ALL_LEGAL = -1
NEVER, SAME_STEP, NEXT_STEP = range(3)
"""When an episode that has ended is followed by the next: Gymnasium's autoreset modes."""


@compiled
def charged_move(s: Record, r: Record, side: Int, act: Int, a: Int, b: Int, c: Int) -> Real:
    """A side's move and what it costs at once: the price of an INSIST, or the penalty of an illegal action, which also loses the turn."""
    price = r.insist_price  # looked up for every act, so that what follows is a choice and not a branch
    charge = price if act == INSIST else 0.0
    if r.penalty_on_illegal and legality(s, side, act, a, b, c) != LEGAL:
        act = LOST_TURN
        charge = r.illegal_penalty
    move(s, r, side, act, a, b, c)
    return charge


@compiled
def step_episode(s: Record, r: Record, partners: Array, act: Int, a: Int, b: Int, c: Int, report: Record) -> None:
    """The agent's move and the partner's reply, with the agent's reward."""
    charge = charged_move(s, r, AGENT, act, a, b, c)
    if s.outcome == ONGOING:
        reply, x, y, z = partner_reply(s, r, partners[np.uint64(s.partner)])
        move(s, r, PARTNER, reply, x, y, z)
    write_report(s, r, charge, report)


@compiled
def write_report(s: Record, r: Record, charge: Real, report: Record) -> None:
    """What a step came to, with the agent's reward."""
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
    reports: Array,
    rewards: Array,
    ended: Array,
    spoken: Array,
    views: Array,
    masks: Array,
    final_views: Array,
    histories: Array,
    autoreset: Int,
) -> Int:
    """One step of every episode, all or nothing: returns the index of an illegal action before anything has changed.

    `autoreset` SAME_STEP begins the next episode as soon as one has ended: `views` and `masks` then show the new one and
    `final_views` the end of the old (zeros where none ended). NEXT_STEP begins it with the following step, whose action is not
    read. NEVER leaves it to the caller. `histories` receives the talks so far; with no rows it is left alone.
    """
    illegal = find_illegal(state, rules, AGENT, acts, shares, autoreset == NEXT_STEP)
    if illegal != ALL_LEGAL:
        return illegal
    r = rules[0]
    for i in range(state.shape[0]):
        e = np.uint64(i)
        s = state[e]
        begun = s.outcome != ONGOING
        if not begun:
            step_episode(s, r, partners, acts[e], shares[e, 0], shares[e, 1], shares[e, 2], reports[e])
        over = s.outcome != ONGOING and not begun
        renewed = over and autoreset == SAME_STEP
        if renewed:
            write_view(s, r, AGENT, final_views[e])
        else:
            final_views[e, :] = 0
        if begun or renewed:
            begin_episode(s, r, partners, table)
        if begun:
            clear_report(s, reports[e])
        rewards[e] = reports[e].reward
        ended[e] = over
        spoken[e] = s.last_act[PARTNER] != UNSAID
        write_view(s, r, AGENT, views[e])
        write_mask(s, AGENT, masks[e])
        if histories.shape[0] > 0:
            write_history(s, histories[e])
    return ALL_LEGAL


@compiled
def move_agents(
    state: Array, rules: Array, partners: Array, table: Array, acts: Array, shares: Array, charges: Array, begun: Array, autoreset: Int
) -> Int:
    """The first half of `step_batch`, up to the partners' replies, all or nothing: what each move cost, and where an episode began."""
    illegal = find_illegal(state, rules, AGENT, acts, shares, autoreset == NEXT_STEP)
    if illegal != ALL_LEGAL:
        return illegal
    r = rules[0]
    for i in range(state.shape[0]):
        e = np.uint64(i)
        s = state[e]
        begun[e] = s.outcome != ONGOING
        charges[e] = 0.0
        if begun[e]:
            begin_episode(s, r, partners, table)
        else:
            charges[e] = charged_move(s, r, AGENT, acts[e], shares[e, 0], shares[e, 1], shares[e, 2])
    return ALL_LEGAL


@compiled
def close_step(
    state: Array,
    rules: Array,
    partners: Array,
    table: Array,
    charges: Array,
    begun: Array,
    reports: Array,
    rewards: Array,
    ended: Array,
    spoken: Array,
    views: Array,
    masks: Array,
    final_views: Array,
    histories: Array,
    autoreset: Int,
) -> None:
    """The second half of `step_batch`, after the partners' replies; SAME_STEP leaves their openings of new episodes to be made.

    Its lines are those of `step_batch`, which is a quarter slower where they are functions that both call.
    """
    r = rules[0]
    for i in range(state.shape[0]):
        e = np.uint64(i)
        s = state[e]
        final_views[e, :] = 0
        if begun[e]:
            clear_report(s, reports[e])
        else:
            write_report(s, r, charges[e], reports[e])
        rewards[e] = reports[e].reward
        ended[e] = s.outcome != ONGOING
        if ended[e] and autoreset == SAME_STEP:
            write_view(s, r, AGENT, final_views[e])
            begin_episode(s, r, partners, table)
    show_batch(state, rules, spoken, views, masks, histories)


@compiled
def show_batch(state: Array, rules: Array, spoken: Array, views: Array, masks: Array, histories: Array) -> None:
    """Show every agent what it may know now."""
    for i in range(state.shape[0]):
        e = np.uint64(i)
        s = state[e]
        spoken[e] = s.last_act[PARTNER] != UNSAID
        write_view(s, rules[0], AGENT, views[e])
        write_mask(s, AGENT, masks[e])
        if histories.shape[0] > 0:
            write_history(s, histories[e])


@compiled
def step_single(solo: Array, partners: Array, act: Int, a: Int, b: Int, c: Int) -> Int:
    """One step of a batch of one, all or nothing; returns the rule that the action would break, or LEGAL."""
    one = solo[0]
    broken = legality(one.episode, AGENT, act, a, b, c)
    if broken == EPISODE_IS_OVER or (broken != LEGAL and not one.rules.penalty_on_illegal):
        return broken
    step_episode(one.episode, one.rules, partners, act, a, b, c, one.report)
    write_view(one.episode, one.rules, AGENT, one.seen)
    write_mask(one.episode, AGENT, one.mask)
    return LEGAL


@compiled
def single_reward_parts(solo: Array, parts: Array) -> None:
    """The parts of the last reward in a batch of one."""
    one = solo[0]
    write_reward_parts(one.episode, one.rules, one.report.charge, parts)


@compiled
def clear_report(s: Record, report: Record) -> None:
    """The report of a step that only began an episode."""
    report.reward = 0.0
    report.charge = 0.0
    report.partner_reward = 0.0
    report.outcome = ONGOING
    report.turns = s.turn
    for k in range(3):
        report.deal[k] = 0


@compiled
def reset_batch(
    state: Array,
    rules: Array,
    partners: Array,
    table: Array,
    contexts: Array,
    chosen: Array,
    views: Array,
    masks: Array,
    histories: Array,
) -> None:
    """Begin the next episode of the chosen ones; `contexts` has a row for each, or none where contexts are drawn."""
    r = rules[0]
    for i in range(state.shape[0]):
        e = np.uint64(i)
        s = state[e]
        if chosen[e]:
            begin_episode(s, r, partners, table)
            if contexts.shape[0] > 0:
                place_context(s, contexts[e])
                open_talks(s, r, partners)
        write_view(s, r, AGENT, views[e])
        write_mask(s, AGENT, masks[e])
        if histories.shape[0] > 0:
            write_history(s, histories[e])


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
    """What each episode's partner says now, written to `acts` and `shares`; of the state, only its memory changes."""
    r = rules[0]
    for i in range(state.shape[0]):
        e = np.uint64(i)
        s = state[e]
        acts[e], shares[e, 0], shares[e, 1], shares[e, 2] = partner_reply(s, r, partners[np.uint64(s.partner)])


@compiled
def view_batch(state: Array, rules: Array, side: Int, views: Array, masks: Array) -> None:
    """What one side may know of every episode, and the acts it may choose."""
    r = rules[0]
    for i in range(state.shape[0]):
        e = np.uint64(i)
        write_view(state[e], r, side, views[e])
        write_mask(state[e], side, masks[e])


@compiled
def features_batch(state: Array, rules: Array, side: Int, features: Array) -> None:
    """The base features of every episode."""
    r = rules[0]
    for i in range(state.shape[0]):
        e = np.uint64(i)
        write_features(state[e], r, side, features[e])


@compiled
def recalled_features(views: Array, rules: Array, scratch: Array, features: Array) -> None:
    """The agent's base features behind views, such as the last ones of episodes that are gone; `scratch` is one record."""
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
