"""Beliefs about partners whose counter-offers tell something, against the rules themselves and against every strategy there is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from edgeworth.agents.hints.bayes import Bayes as BayesHints
from edgeworth.agents.negotiators.bundled import FOLDER
from edgeworth.agents.negotiators.exact import Bayes
from edgeworth.agents.negotiators.learned import negotiator_of
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.evaluation.partner_yardstick import partner_yardstick
from edgeworth.evaluation.whole_population import Population, play_population, play_sides
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.belief_bounds import told_values, upper_bounds
from edgeworth.games.bargaining.belief_play import BeliefBook, history_lines, share_number
from edgeworth.games.bargaining.belief_tables import ACCEPTS, LEAVES, NO_OFFER, hears, tables_of
from edgeworth.games.bargaining.best_response import best_response
from edgeworth.games.bargaining.branches import Branches, begun
from edgeworth.games.bargaining.contexts import Context, triple_of
from edgeworth.games.bargaining.frontier import all_shares
from edgeworth.games.bargaining.history import history_of
from edgeworth.games.bargaining.partners.program import TIT_FOR_TAT
from edgeworth.games.bargaining.prior import partner_types, posterior
from edgeworth.games.bargaining.vocabulary import AGENT, AGREE, DISAGREE, INSIST, ONGOING, PARTNER, PROPOSE, Side

LEAKING = ("boulware", "linear", "conceder", "tit_for_tat", "population")
HALF = Context((2, 1, 2), (3, 8, 5), (0, 0, 0))


def game(partner: str, **options: Any) -> BargainingBatch:
    return BargainingBatch(BargainingConfig.from_options(partner=partner, **options), 1)


def start(batch: BargainingBatch, half: Context, opener: int) -> Branches:
    side = np.array([[*half.counts, *half.my_utilities]])
    return begun(batch, side, [partner_types(half, batch)], opener)


# The tables


@pytest.mark.parametrize("partner", [*LEAKING, "heuristic", "walk_away"])
@pytest.mark.parametrize("opener", [0, 1])
def test_members_reply_as_the_rules_say(partner: str, opener: int) -> None:
    batch, draws = game(partner, max_turns=8), np.random.default_rng(0)
    t, shares = tables_of(HALF, batch), all_shares(HALF.counts)
    config = BargainingConfig.from_options(partner=partner, max_turns=8, opens=("agent", "partner")[opener])
    episodes = BargainingBatch(config, len(t.types))
    episodes.seed(0)
    contexts = np.concatenate([np.tile((*HALF.counts, *HALF.my_utilities), (len(t.types), 1)), partner_types(HALF, batch)[t.types]], axis=1)
    episodes.rules["two_player"] = True  # the test makes all moves, each member by its own row
    episodes.reset(contexts.astype(np.int16))
    episodes.state["partner"] = t.rows
    tit_for_tat = t.kinds[t.rows] == TIT_FOR_TAT
    episodes.state["memory"] = np.where(tit_for_tat, -1, 0)[:, None] * [1, 0]
    rows = BargainingBatch(config, 1).partners
    fixed = HALF.counts - shares[t.fixed]
    episodes.state["counter"] = np.where(np.isin(rows["kind"][t.rows], (0, 3))[:, None], fixed, 0)
    memory, offer, act = np.where(tit_for_tat, -1, 0)[None] * [[1], [0]], NO_OFFER, PROPOSE
    going = np.ones(len(t.types), np.bool_)
    for turn, side in enumerate([PARTNER, AGENT] * 4 if opener else [AGENT, PARTNER] * 4):
        if side == AGENT:
            offer, act = int(draws.integers(len(shares))), int(draws.choice([PROPOSE, INSIST]))
            part = episodes.selected(going)
            part.move(AGENT, np.full(part.size, act), np.tile(shares[offer], (part.size, 1)))
        else:
            part = episodes.selected(going)
            acts, asked = part.replies()
            part.move(PARTNER, acts, asked)
            for m, said, share in zip(np.flatnonzero(going), acts, asked, strict=True):
                reply, *after = hears(t, m, *memory[:, m], offer, int(act == INSIST), turn)
                memory[:, m] = after
                expected = {AGREE: ACCEPTS, DISAGREE: LEAVES}.get(int(said), share_number(HALF.counts, triple_of(HALF.counts - share)))
                assert reply == expected, (m, turn)
        episodes.write_back(part, going)
        going &= episodes.state["outcome"] == ONGOING
        if not going.any():
            break


@pytest.mark.parametrize("partner", LEAKING[:4])
def test_the_belief_is_what_the_rules_leave_possible(partner: str) -> None:
    config = BargainingConfig.from_options(partner=partner, opens="partner")
    env, agent = BargainingBatch(config, 1), Bayes()
    book = BeliefBook(env)
    for seed in range(5):
        env.seed(seed)
        env.reset()
        half = Context(triple_of(env.state["counts"][0]), triple_of(env.state["utilities"][0, AGENT]), (0, 0, 0))
        while env.state["outcome"][0] == ONGOING:
            moves = history_of(env.state["history"][0], int(env.state["turn"][0]))
            assert book.belief(half, history_lines(env, 0)).possible == len(posterior(half, moves, env))
            env.step(*agent.choose(env))


def test_a_reply_that_no_partner_would_give_drops_nobody() -> None:
    batch = game("boulware")
    book = BeliefBook(batch)
    strange = bytes((1, PROPOSE, 1, 0, 0))  # at first everybody asks for all that they value
    assert book.belief(HALF, strange).possible == book.belief(HALF, b"").possible
    assert book.advised(HALF, strange).value > 0.0


# The best strategy there is


def best_value(branches: Branches, shares: Any) -> float:
    """The most that any strategy earns from here, by trying every move in every branch."""
    total = 0.0
    for place in range(branches.batch.size):
        one = branches.chosen(np.arange(branches.batch.size) == place)
        moves = [(act, share) for act in (PROPOSE, INSIST) for share in shares] + [(DISAGREE, (0, 0, 0))]
        if one.batch.state["offered"][0, PARTNER]:
            moves.append((AGREE, (0, 0, 0)))
        values = []
        for act, share in moves:
            ended, going, charges = one.after(np.array([act]), np.array([share]))
            values.append(ended.paid()[0].sum() - float((charges * one.weights).sum()) + best_value(going, shares))
        total += max(values)
    return total


@pytest.mark.parametrize("partner", LEAKING)
@pytest.mark.parametrize(("max_turns", "opener"), [(2, 0), (3, 0), (3, 1)])
def test_with_one_offer_left_no_strategy_earns_more(partner: str, max_turns: int, opener: int) -> None:
    batch = game(partner, max_turns=max_turns, reservation=(0.1, 0.0), opens=("agent", "partner")[opener])
    for half in (HALF, Context((1, 2, 1), (10, 1, 4), (0, 0, 0))):
        population = Population(batch, np.array([[*half.counts, *half.my_utilities]]), np.ones(1))
        played = play_sides(population, Bayes()).reward[0]
        assert played == pytest.approx(best_value(start(batch, half, opener), all_shares(half.counts).tolist()))


@pytest.mark.parametrize(("scenario", "optimal"), [("one_shot", True), ("lewis", False)])
def test_the_scale_says_where_the_belief_agent_is_the_best_there_is(scenario: str, optimal: bool) -> None:
    found = partner_yardstick(scenario, BargainingConfig.from_options(scenario, partner="conceder"), 4, seed=0)
    label = next(row["label"] for row in found["rows"] if row["agent"] == "bayes")
    assert found.get("optimal", False) is optimal and ("the best there is" in label) is optimal


@pytest.mark.parametrize("partner", LEAKING)
@pytest.mark.parametrize("opener", [0, 1])
def test_the_best_strategy_lies_between_the_bounds(partner: str, opener: int) -> None:
    batch = game(partner, max_turns=4 + opener, opens=("agent", "partner")[opener])
    half = Context((1, 1, 1), (3, 8, 5), (0, 0, 0))
    population = Population(batch, np.array([[*half.counts, *half.my_utilities]]), np.ones(1))
    played, best = play_sides(population, Bayes()).reward[0], best_value(start(batch, half, opener), all_shares(half.counts).tolist())
    told_partner, told_replies = upper_bounds(tables_of(half, batch), opener)
    assert played <= best + 1e-9 and best <= told_replies + 1e-9 and told_replies <= told_partner + 1e-9


@pytest.mark.parametrize("partner", LEAKING[:4])
@pytest.mark.parametrize("opener", [0, 1])
def test_nobody_who_is_told_the_partner_exceeds_the_bound(partner: str, opener: int) -> None:
    batch = game(partner)
    types, told = partner_types(HALF, batch), told_values(tables_of(HALF, batch), opener)
    for number in range(0, len(types), 211):
        context = Context(HALF.counts, HALF.my_utilities, triple_of(types[number]))
        exact = best_response(context, batch.config, Side(opener)).value
        assert told[number] >= exact - 1e-9 if partner == "tit_for_tat" else told[number] == pytest.approx(exact)


# The agent and its hints


@pytest.mark.parametrize(("partner", "least"), [("boulware", 0.69), ("linear", 0.80), ("conceder", 0.80), ("tit_for_tat", 0.76)])
def test_the_belief_agent_earns_more_than_the_expert_that_remembers(partner: str, least: float) -> None:
    config = BargainingConfig.from_options("lewis", partner=partner)
    agents = Bayes(), negotiator_of("learned"), negotiator_of(str(FOLDER / "lewis"))
    earned, expert, without_memory = (play_population(config, agent).share_of_maximum for agent in agents)
    assert earned >= least and earned > expert + 0.04 and earned > without_memory + 0.1


def test_hints_are_the_moves_of_the_belief_agent() -> None:
    batch = BargainingBatch(BargainingConfig.from_options("lewis", partner="population"), 40)
    batch.seed(0)
    batch.reset()
    hints = BayesHints()
    hints.check(batch)
    for _ in range(3):
        due = batch.state["outcome"] == ONGOING
        given, (acts, shares) = hints.give(batch, due), Bayes().choose(batch)
        assert (given.acts[due] == acts[due]).all() and (given.shares[due] == shares[due]).all() and given.given[due].all()
        part = batch.selected(due)
        part.step(acts[due], shares[due])
        batch.write_back(part, due)


def test_a_number_of_offers_or_a_partner_that_draws_is_refused() -> None:
    with pytest.raises(InvalidOption, match="reveal nothing"):
        BayesHints(offers=2).check(game("boulware"))
    with pytest.raises(InvalidOption, match="draw nothing"):
        BayesHints().check(game("random"))
