"""The yardsticks against brute force: blind plans, the oracle, best responses, and what may be believed about a partner."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bargaining_table import AGREE, POOL, begun_with, fixed, insist, propose, say
from edgeworth.agents.negotiators.exact import Bayes, Oracle
from edgeworth.config import BargainingConfig
from edgeworth.envs.negotiation import NegotiationEnv
from edgeworth.errors import InvalidContext, InvalidOption
from edgeworth.evaluation.episodes import play_episodes
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.best_response import best_response
from edgeworth.games.bargaining.blind_plan import bayes_plan
from edgeworth.games.bargaining.bounds import oracle_values
from edgeworth.games.bargaining.contexts import Context, lewis_table
from edgeworth.games.bargaining.frontier import all_shares
from edgeworth.games.bargaining.history import Move
from edgeworth.games.bargaining.prior import partner_types, posterior
from edgeworth.games.bargaining.vocabulary import AGENT, ONGOING, PARTNER, Act, Side

LEWIS = [Context.from_row(row) for row in lewis_table()[::265]]
SMALL = [
    Context((1, 1, 0), (3, 4, 0), (5, 2, 0)),
    Context((1, 1, 0), (1, 9, 9), (6, 5, 1)),
    Context((0, 1, 1), (2, 2, 2), (0, 3, 7)),
    Context((1, 0, 0), (5, 1, 1), (4, 0, 0)),
    Context((1, 1, 0), (0, 7, 0), (1, 1, 0)),
]
SIDES = [Side.AGENT, Side.PARTNER]


def opened(worlds: list[Context], opens: Side = Side.AGENT, two_player: bool = False, **options: Any) -> BargainingBatch:
    """A batch at the start of one episode in each world, begun by a given side."""
    config = BargainingConfig.from_options(opens=opens.name.lower(), **options)
    batch = BargainingBatch(config, len(worlds), two_player=two_player)
    batch.seed(0)
    batch.reset(np.array([context.row() for context in worlds], np.int16))
    return batch


def play_out(batch: BargainingBatch, negotiator: Any) -> NDArray[np.float64]:
    """What a negotiator earns from every episode of a batch."""
    rewards = np.zeros(batch.size)
    while (going := batch.state["outcome"] == ONGOING).any():
        acts, shares = negotiator.choose(batch)
        part = batch.selected(going)
        part.step(acts[going], shares[going])
        batch.write_back(part, going)
        rewards[going] += part.reports["reward"]
    return rewards


# Blind plans


PLAN_OPTIONS: list[dict[str, Any]] = [
    {},
    {"discount": 0.9},
    {"insist_price": 0.7},
    {"insist_price": 0.3, "discount": 0.8, "partner_options": {"counter": "keep_all"}},
    {"reservation": (0.4, 0.0)},
]


class BruteForce:
    """The value of every blind plan of one or two offers, written out from the rules in the docs."""

    def __init__(self, context: Context, batch: BargainingBatch, opener: int) -> None:
        self.config, self.opener = batch.config, opener
        counts, mine = np.array(context.counts), np.array(context.my_utilities)
        types = partner_types(context, batch)
        shares = all_shares(context.counts)
        left = (counts - shares) @ types.T
        whole = types @ counts
        self.accepted = np.concatenate([100 * left >= 55 * whole, 100 * left >= 50 * whole])
        self.price = np.repeat([0.0, self.config.insist_price], len(shares))
        self.worth = np.concatenate([shares, shares]) @ mine
        one_of_each = self.config.partner_options.get("counter") != "keep_all"
        self.counter = float((mine * (counts > 0)).sum()) if one_of_each else 0.0
        self.nothing = self.config.reservation[0] * context.my_maximum

    def paid(self, worth: Any, move: int) -> Any:
        return self.config.discount ** max(0, move - 2) * worth

    def last(self, offers: int) -> float:
        """What is left after all offers were refused: AGREE to the counter-offer, or nothing."""
        made = self.opener + 2 * offers
        return max(self.nothing, self.paid(self.counter, made + 1)) if 0 < made < self.config.max_turns else self.nothing

    def best(self, offers: int) -> float:
        after = np.full(self.accepted.shape, self.last(offers))
        first = self.paid(self.worth, self.opener + 2)[:, None]
        if offers == 0:
            return self.last(0)
        if offers == 1:
            return float((np.where(self.accepted, first, after).mean(axis=1) - self.price).max())
        second = np.where(self.accepted, self.paid(self.worth, self.opener + 4)[:, None], after) - self.price[:, None]
        taken = np.where(self.accepted, first, 0.0).sum(axis=1)[:, None]
        refused = (~self.accepted).astype(float) @ second.T
        return float(((taken + refused) / self.accepted.shape[1] - self.price[:, None]).max())


def plans_and_brute_force(offers: int, opens: Side, options: dict[str, Any]) -> NDArray[np.float64]:
    """The value of the plan that the search finds, and of the best there is, in every context."""
    batch = opened(LEWIS[:1], opens, contexts="lewis", **options)
    opener = int(opens)
    return np.array([(bayes_plan(c, batch, opener, offers).value, BruteForce(c, batch, opener).best(offers)) for c in LEWIS])


@pytest.mark.parametrize("opens", SIDES)
@pytest.mark.parametrize("options", PLAN_OPTIONS, ids=str)
@pytest.mark.parametrize("offers", [0, 1, 2])
def test_the_best_offers_are_found_exactly(offers: int, options: dict[str, Any], opens: Side) -> None:
    found, best = plans_and_brute_force(offers, opens, options).T
    np.testing.assert_allclose(found, best, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "options", [*PLAN_OPTIONS, {"partner": "walk_away"}, {"max_turns": 3}, {"normalize": True}, {"max_turns": 2}], ids=str
)
@pytest.mark.parametrize("opens", SIDES)
def test_a_plan_earns_its_value_when_it_is_played_against_every_possible_partner(options: dict[str, Any], opens: Side) -> None:
    for context in LEWIS[::4]:
        batch = opened([context], opens, contexts="lewis", **options)
        plan = bayes_plan(context, batch, int(opens))
        types = partner_types(context, batch)
        worlds = [Context(context.counts, context.my_utilities, tuple(t)) for t in types.tolist()]
        rewards = play_out(opened(worlds, opens, contexts="lewis", **options), Bayes())
        assert rewards.mean() == pytest.approx(plan.value, abs=1e-9)


def test_the_best_plan_is_the_best_of_all_lengths() -> None:
    batch = opened(LEWIS[:1], contexts="lewis", discount=0.9)
    for context in LEWIS[::4]:
        lengths = [bayes_plan(context, batch, 0, offers).value for offers in range(6)]
        assert bayes_plan(context, batch, 0).value == max(lengths)


def test_a_plan_that_does_not_fit_the_clock_is_refused() -> None:
    batch = opened(LEWIS[:1], contexts="lewis", max_turns=4)
    with pytest.raises(InvalidOption, match="A plan of 9 offers does not fit"):
        bayes_plan(LEWIS[0], batch, 0, offers=9)


@pytest.mark.parametrize("partner", ["boulware", "random", "tit_for_tat", "population"])
def test_a_plan_needs_a_partner_that_betrays_nothing(partner: str) -> None:
    with pytest.raises(InvalidOption, match="need"):
        bayes_plan(POOL, begun_with(POOL, partner=partner), 0)


def test_a_plan_does_not_read_the_partners_utilities() -> None:
    batch = begun_with(POOL)
    blind = Context(POOL.counts, POOL.my_utilities, (0, 0, 0))
    assert bayes_plan(POOL, batch, 0, 2) == bayes_plan(blind, batch, 0, 2)


@pytest.mark.parametrize("options", [{}, {"discount": 0.9, "insist_price": 0.2}, {"partner": "walk_away"}], ids=str)
def test_the_bayes_negotiator_earns_what_its_plans_promise(options: dict[str, Any]) -> None:
    config = BargainingConfig.from_options(contexts="lewis", **options)
    batch = BargainingBatch(config, 1_500)
    batch.seed(5)
    batch.reset()

    @cache
    def promised(opener: int, *half: int) -> float:
        return bayes_plan(Context(half[:3], half[3:], (0, 0, 0)), batch, opener).value  # type: ignore[arg-type]

    promises = [promised(int(s["opener"]), *s["counts"].tolist(), *s["utilities"][0].tolist()) for s in batch.state]
    surprise = play_episodes(config, Bayes(), 1_500, seed=5).reward - promises
    assert abs(surprise.mean()) < 3 * surprise.std() / np.sqrt(len(surprise))


# The oracle


ORACLE_OPTIONS: list[dict[str, Any]] = [
    {},
    {"discount": 0.9},
    {"sudden_end": 0.2, "insist_price": 0.4},
    {"reservation": (0.5, 0.6), "max_turns": 5},
    {"normalize": True, "max_turns": 3, "discount": 0.7},
    {"disagree": "passes"},
]


@pytest.mark.parametrize("partner", ["heuristic", "walk_away", "boulware", "linear", "conceder"])
@pytest.mark.parametrize("options", ORACLE_OPTIONS, ids=str)
def test_the_oracle_is_the_best_response(partner: str, options: dict[str, Any]) -> None:
    contexts = LEWIS[::2]
    for opens in SIDES:
        batch = opened(contexts, opens, partner=partner, **options)
        exact = [best_response(context, batch.config, opens).value for context in contexts]
        np.testing.assert_allclose(oracle_values(batch), exact, rtol=0, atol=1e-9)


@pytest.mark.parametrize("counter", ["keep_all", "utility_aware"])
@pytest.mark.parametrize("partner", ["heuristic", "walk_away"])
def test_the_oracle_is_the_best_response_to_every_counter_offer(partner: str, counter: str) -> None:
    batch = opened(LEWIS, partner=partner, partner_options={"counter": counter})
    exact = [best_response(context, batch.config).value for context in LEWIS]
    np.testing.assert_allclose(oracle_values(batch), exact, rtol=0, atol=1e-9)


@pytest.mark.parametrize("patience", [0, 2])
@pytest.mark.parametrize("disagree", ["ends", "passes"])
def test_the_oracle_is_the_best_response_to_every_patience(patience: int, disagree: str) -> None:
    for opens in SIDES:
        batch = opened(LEWIS, opens, partner="walk_away", partner_options={"patience": patience}, disagree=disagree)
        exact = [best_response(context, batch.config, opens).value for context in LEWIS]
        np.testing.assert_allclose(oracle_values(batch), exact, rtol=0, atol=1e-9)


@pytest.mark.parametrize("partner", ["heuristic", "walk_away", "boulware", "conceder", "tit_for_tat"])
@pytest.mark.parametrize("options", [{}, {"discount": 0.9, "insist_price": 0.5, "reservation": (0.1, 0.0)}], ids=str)
def test_the_oracle_earns_its_value_when_it_plays(partner: str, options: dict[str, Any]) -> None:
    for opens in SIDES:
        batch = opened(LEWIS, opens, partner=partner, **options)
        values = [best_response(context, batch.config, opens).value for context in LEWIS]
        np.testing.assert_allclose(play_out(batch, Oracle()), values, rtol=0, atol=1e-9)


def test_nobody_earns_more_than_the_oracle() -> None:
    batch = opened(LEWIS, partner="linear")
    best = oracle_values(batch)
    for seed in range(30):
        batch.seed(seed)
        batch.reset(np.array([context.row() for context in LEWIS], np.int16))
        earned = np.zeros(len(LEWIS))
        while (going := batch.state["outcome"] == ONGOING).any():
            part = batch.selected(going)
            part.step(*part.random_actions())
            batch.write_back(part, going)
            earned[going] += part.reports["reward"]
        assert (earned <= best + 1e-9).all()


# Best responses


def tree_value(state: Any, batch: BargainingBatch, shares: list[tuple[int, ...]]) -> float:
    """The most an agent can earn from here on, by trying every legal move through the rules."""
    best = -np.inf
    for act in Act:
        for share in shares if act in (Act.PROPOSE, Act.INSIST, Act.END) else [(0, 0, 0)]:
            if act == Act.AGREE and not state["offered"][0, PARTNER]:
                continue
            world = batch.over(state.copy())
            world.step(np.array([int(act)]), np.array([share]))
            earned = float(world.reports["reward"][0])
            if world.state["outcome"][0] == ONGOING:
                earned += tree_value(world.state, batch, shares)
            best = max(best, earned)
    return best


@pytest.mark.parametrize("partner", ["tit_for_tat", "walk_away", "linear"])
@pytest.mark.parametrize("opens", SIDES)
@pytest.mark.parametrize(
    "options",
    [{}, {"discount": 0.7, "insist_price": 0.2}, {"disagree": "passes", "reservation": (0.3, 0.1)}, {"normalize": True}],
    ids=str,
)
def test_the_best_response_is_what_searching_the_whole_tree_finds(partner: str, opens: Side, options: dict[str, Any]) -> None:
    for context in SMALL:
        batch = opened([context], opens, partner=partner, max_turns=4, **options)
        shares = [tuple(share) for share in all_shares(context.counts).tolist()]
        exact = tree_value(batch.state, batch, shares)
        assert best_response(context, batch.config, opens).value == pytest.approx(exact, abs=1e-9)


def test_a_best_response_is_a_list_of_moves_that_earns_its_value() -> None:
    for context in LEWIS[::3]:
        config = BargainingConfig(partner="tit_for_tat", opens="agent")
        response = best_response(context, config)
        env = NegotiationEnv(partner="tit_for_tat", opens="agent")
        env.reset(seed=0, options=fixed(context))
        earned = [env.step({"act_type": m.act, "oA": m.share or (0, 0, 0)})[1] for m in response.moves]
        assert sum(earned) == pytest.approx(response.value)


def test_a_sudden_end_is_averaged_over() -> None:
    config = BargainingConfig(partner="linear", opens="agent", sudden_end=0.15, reservation=(0.1, 0.0))
    response = best_response(LEWIS[3], config)
    worlds = opened([LEWIS[3]] * 20_000, partner="linear", sudden_end=0.15, reservation=(0.1, 0.0))
    rewards = play_out(worlds, Scripted(response.moves))
    assert abs(rewards.mean() - response.value) < 3 * rewards.std() / np.sqrt(len(rewards))


class Scripted:
    """Makes the same moves in every episode."""

    def __init__(self, moves: tuple[Move, ...]) -> None:
        self.moves = moves

    def choose(self, batch: BargainingBatch) -> Any:
        move = self.moves[int(batch.state["turn"].max()) // 2]
        return np.full(batch.size, move.act), np.tile(np.array(move.share or (0, 0, 0)), (batch.size, 1))


def test_a_population_has_no_best_response() -> None:
    with pytest.raises(InvalidOption, match="needs one partner"):
        best_response(POOL, BargainingConfig(partner="population"))


# The random partner


def asking_value(context: Context, turn: int, config: BargainingConfig) -> float:
    """What asking a random partner for everything is worth after this many moves, if its offers are taken when they beat asking again."""
    if turn + 1 >= config.max_turns:
        return 0.0
    worths = all_shares(context.counts) @ np.array(context.my_utilities)
    closed = config.discount ** max(0, turn) * context.my_maximum
    offered = 0.0
    if turn + 2 < config.max_turns:
        offered = float(np.maximum(config.discount ** (turn + 1) * worths, asking_value(context, turn + 2, config)).mean())
    return (closed + closed / len(worths) + 2 * offered) / 5  # AGREE, an END that happens to match, PROPOSE or INSIST; DISAGREE pays 0


class TakeOrAsk:
    """Asks for everything until an offer beats asking again."""

    def __init__(self, context: Context, config: BargainingConfig) -> None:
        self.context, self.config = context, config

    def choose(self, batch: BargainingBatch) -> Any:
        turn = int(batch.state["turn"].max())
        taken = self.config.discount ** max(0, turn - 1) * (batch.views[:, 9:12] @ np.array(self.context.my_utilities))
        agrees = (batch.masks[:, 2] == 1) & (taken >= asking_value(self.context, turn, self.config))
        return np.where(agrees, int(Act.AGREE), int(Act.PROPOSE)), np.tile(np.array(self.context.counts), (batch.size, 1))


@pytest.mark.parametrize("opens", SIDES)
@pytest.mark.parametrize("options", [{}, {"discount": 0.8}, {"max_turns": 3}], ids=str)
def test_the_response_to_a_random_partner_earns_its_value_on_average(options: dict[str, Any], opens: Side) -> None:
    worlds = opened([POOL] * 20_000, opens, partner="random", **options)
    value = best_response(POOL, worlds.config, opens).value
    rewards = play_out(worlds, TakeOrAsk(POOL, worlds.config))
    assert abs(rewards.mean() - value) < 3 * rewards.std() / np.sqrt(len(rewards))


def chance_value(state: Any, side: int, batch: BargainingBatch, shares: list[tuple[int, ...]]) -> float:
    """The value of a position against a random partner: the best of the agent's moves, the average of the partner's."""
    by_act: dict[int, list[float]] = {}
    for act in Act:
        if act == Act.AGREE and not state["offered"][0, 1 - side]:
            continue
        for share in shares if act in (Act.PROPOSE, Act.INSIST, Act.END) else [(0, 0, 0)]:
            world = batch.over(state.copy())
            charge = float(world.move(side, np.array([int(act)]), np.array([share]))[0])
            ended = world.state["outcome"][0] != ONGOING
            value = float(world.state["payoff"][0, AGENT]) if ended else chance_value(world.state, 1 - side, batch, shares)
            by_act.setdefault(int(act), []).append(value - (charge if side == AGENT else 0.0))
    if side == AGENT:
        return max(itertools.chain(*by_act.values()))
    return float(np.mean([np.mean(values) for values in by_act.values()]))


@pytest.mark.parametrize("options", [{}, {"discount": 0.6}, {"insist_price": 0.3, "reservation": (0.2, 0.0)}], ids=str)
def test_the_response_to_a_random_partner_is_what_searching_the_whole_tree_finds(options: dict[str, Any]) -> None:
    for context in (Context((1, 0, 0), (5, 0, 0), (1, 0, 0)), Context((0, 2, 0), (0, 3, 0), (0, 1, 0))):
        batch = opened([context], two_player=True, partner="random", max_turns=4, **options)
        shares = [tuple(share) for share in all_shares(context.counts).tolist()]
        exact = chance_value(batch.state, AGENT, batch, shares)
        assert best_response(context, batch.config).value == pytest.approx(exact, abs=1e-9)


# What may be believed


def talks_with(context: Context, batch: BargainingBatch, actions: list[dict[str, Any]]) -> tuple[Move, ...]:
    """The moves of an episode in which the agent makes these moves until the end."""
    world = BargainingBatch(batch.config, 1)
    world.seed(0)
    world.reset(np.array([context.row()], np.int16))
    for action in actions:
        if world.state["outcome"][0] == ONGOING:
            say(world, action)
    lines = world.state["history"][0][: world.state["turn"][0]].tolist()
    return tuple(Move(side, act, (a, b, c) if act in (Act.PROPOSE, Act.INSIST, Act.END) else None) for side, act, a, b, c in lines)


PARTNERS = ["heuristic", "walk_away", "boulware", "linear", "conceder", "tit_for_tat"]


@pytest.mark.parametrize("partner", PARTNERS)
@pytest.mark.parametrize("opens", SIDES)
def test_the_posterior_is_what_filtering_by_brute_force_leaves(partner: str, opens: Side) -> None:
    for context in LEWIS[::5]:
        batch = opened([context], opens, partner=partner, contexts="lewis")
        half = [int(n) for n in context.counts]
        asks = [propose(*half), insist(half[0], 0, half[2]), propose(0, half[1], 1), insist(1, 0, 0)]
        for length in range(len(asks) + 1):
            moves = talks_with(context, batch, asks[:length])
            believed = {tuple(t) for t in posterior(context, moves, batch).tolist()}
            worlds = {t: Context(context.counts, context.my_utilities, t) for t in map(tuple, partner_types(context, batch).tolist())}
            assert believed == {t for t, world in worlds.items() if talks_with(world, batch, asks[:length]) == moves}
            assert context.partner_utilities in believed


@pytest.mark.parametrize("partner", PARTNERS)
def test_the_truth_is_always_believed_possible_and_belief_only_shrinks(partner: str) -> None:
    env = NegotiationEnv(partner=partner)
    env.action_space.seed(0)
    for seed in range(6):
        env.reset(seed=seed)
        before, terminated = 1_331, False
        while not terminated:
            _, _, terminated, _, info = env.step(env.action_space.sample())
            believed = posterior(env.context, tuple(info["history"]), env.batch)
            assert (believed == env.context.partner_utilities).all(axis=1).any()
            assert len(believed) <= before
            before = len(believed)


def test_a_refusal_rules_out_everybody_who_would_have_accepted() -> None:
    batch = begun_with(POOL)
    types = partner_types(POOL, batch)
    moves = talks_with(POOL, batch, [propose(2, 1, 1)])
    left, whole = types @ np.array([0, 0, 2]), types @ np.array(POOL.counts)
    refused = types[100 * left < 55 * whole]
    assert 0 < len(refused) < len(types)
    np.testing.assert_array_equal(posterior(POOL, moves, batch), refused)


def test_nothing_is_known_before_the_talks_or_from_a_random_partner() -> None:
    assert len(posterior(POOL, (), begun_with(POOL))) == 1_331
    moves = talks_with(POOL, begun_with(POOL, partner="random"), [propose(2, 1, 3)])
    assert len(posterior(POOL, moves, begun_with(POOL, partner="random"))) == 1_331


def test_replies_that_nobody_gives_are_refused() -> None:
    odd = (Move(AGENT, 0, (2, 1, 3)), Move(PARTNER, 0, (0, 0, 0)))
    with pytest.raises(InvalidOption, match="No utilities explain these replies"):
        posterior(POOL, odd, begun_with(POOL))


def test_a_half_that_no_row_of_the_table_has_is_refused() -> None:
    with pytest.raises(InvalidContext, match="No context of source 'lewis'"):
        partner_types(Context((1, 1, 1), (1, 1, 1), (1, 1, 1)), opened(LEWIS[:1], contexts="lewis"))


def test_a_population_is_refused() -> None:
    with pytest.raises(InvalidOption, match="needs to know which partner"):
        posterior(POOL, (), begun_with(POOL, partner="population"))


def test_belief_works_in_a_normalised_game_where_a_type_is_missing() -> None:
    context = Context((1, 1, 0), (3, 4, 0), (5, 2, 0))
    batch = begun_with(context, normalize=True)
    believed = posterior(context, talks_with(context, batch, [propose(1, 1, 0), AGREE]), batch)
    assert (believed == context.partner_utilities).all(axis=1).any()


RANDOM_GAMES = [{}, {"reservation": (0.5, 0.0), "discount": 0.05}, {"discount": 0.8, "sudden_end": 0.1}, {"reservation": (0.3, 0.2)}]


@pytest.mark.parametrize("options", RANDOM_GAMES, ids=str)
def test_playing_the_best_response_to_the_random_partner_earns_its_value(options: dict[str, Any]) -> None:
    context = Context((2, 2, 2), (1, 2, 3), (3, 2, 1))
    config = BargainingConfig.from_options(partner="random", opens="agent", **options)
    batch = BargainingBatch(config, 6000)
    batch.seed(77)
    batch.reset(np.tile(np.array(context.row(), np.int16), (batch.size, 1)))
    rewards = np.zeros(batch.size)
    while (going := batch.state["outcome"] == 0).any():
        acts, shares = Oracle().choose(batch)
        part = batch.selected(going)
        part.step(acts[going], shares[going])
        batch.write_back(part, going)
        rewards[going] += part.reports["reward"]
    error = rewards.std() / np.sqrt(len(rewards))
    assert abs(rewards.mean() - best_response(context, config).value) < 3.5 * error
