"""What holds in every episode: any context, any options, any legal play."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bargaining_table import POOL, all_bits, begun_with, propose, say
from edgeworth import catalog
from edgeworth.config import BargainingConfig
from edgeworth.errors import IllegalAction
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import Context
from edgeworth.games.bargaining.vocabulary import AGENT, ONGOING, PARTNER, Act, Outcome

SEEDS = st.integers(0, 2**63 - 1)
SHARES_OF_ONE = st.floats(0.0, 1.0, allow_nan=False)
STATED = (Act.PROPOSE, Act.INSIST, Act.END)


@st.composite
def contexts(draw: st.DrawFn, largest: int = 4) -> Context:
    """Any pool of at least one item, any utilities that a normalised game could also play."""
    counts = draw(st.tuples(*[st.integers(0, largest)] * 3).filter(any))
    utilities = st.tuples(*[st.integers(0, 10)] * 3).filter(lambda u: np.dot(u, counts) > 0)
    return Context(counts, draw(utilities), draw(utilities))


@st.composite
def configs(draw: st.DrawFn) -> BargainingConfig:
    """Any combination of options."""
    return BargainingConfig.from_options(
        partner=draw(st.sampled_from(sorted(catalog.PARTNERS))),
        max_turns=draw(st.integers(2, 14)),
        opens=draw(st.sampled_from(["random", "agent", "partner"])),
        disagree=draw(st.sampled_from(["ends", "passes"])),
        on_illegal=draw(st.sampled_from(["error", "penalty"])),
        discount=draw(SHARES_OF_ONE),
        sudden_end=draw(st.sampled_from([0.0, 0.1, 0.5])),
        reservation=draw(st.tuples(SHARES_OF_ONE, SHARES_OF_ONE)),
        insist_price=draw(st.sampled_from([0.0, 0.25])),
        normalize=draw(st.booleans()),
        reveal_partner_utilities=draw(st.booleans()),
    )


def open_table(config: BargainingConfig, context: Context, seed: int) -> BargainingBatch:
    batch = BargainingBatch(config, 1)
    batch.seed(seed)
    batch.reset(np.array([context.row()], np.int16))
    return batch


def play_out(batch: BargainingBatch) -> list[float]:
    """Random legal play to the end; the rewards of the steps."""
    rewards = []
    while batch.state["outcome"][0] == ONGOING:
        batch.step(*batch.random_actions())
        rewards.append(float(batch.reports["reward"][0]))
    return rewards


def worth(config: BargainingConfig, utilities: Any, counts: Any, share: Any) -> float:
    points = float(np.dot(utilities, share))
    return 10 * points / float(np.dot(utilities, counts)) if config.normalize else points


@given(configs(), contexts(), SEEDS)
def test_a_deal_divides_the_whole_pool_and_pays_both_sides_its_discounted_worth(
    config: BargainingConfig, context: Context, seed: int
) -> None:
    batch = open_table(config, context, seed)
    play_out(batch)
    state = batch.state[0]
    if not Outcome(int(state["outcome"])).is_deal:
        return
    mine, theirs = state["deal"], np.array(context.counts) - state["deal"]
    assert (mine >= 0).all() and (theirs >= 0).all()
    factor = config.discount ** max(0, int(state["turn"]) - 2)
    assert state["payoff"][AGENT] == pytest.approx(factor * worth(config, context.my_utilities, context.counts, mine), rel=1e-14)
    assert state["payoff"][PARTNER] == pytest.approx(factor * worth(config, context.partner_utilities, context.counts, theirs), rel=1e-14)


@given(configs(), contexts(), SEEDS)
def test_the_deal_is_the_standing_offer_of_the_other_side(config: BargainingConfig, context: Context, seed: int) -> None:
    batch = open_table(config, context, seed)
    play_out(batch)
    state = batch.state[0]
    offers = {AGENT: state["offer"][AGENT], PARTNER: np.array(context.counts) - state["offer"][PARTNER]}
    speaker = {Outcome.PARTNER_AGREED: AGENT, Outcome.AGENT_AGREED: PARTNER}.get(Outcome(int(state["outcome"])))
    if speaker is not None:
        assert state["deal"].tolist() == offers[speaker].tolist()


@given(configs(), contexts(), SEEDS)
def test_no_deal_pays_the_reservation_values(config: BargainingConfig, context: Context, seed: int) -> None:
    batch = open_table(config, context, seed)
    play_out(batch)
    state = batch.state[0]
    if Outcome(int(state["outcome"])).is_deal:
        return
    for side, utilities in enumerate((context.my_utilities, context.partner_utilities)):
        whole = worth(config, utilities, context.counts, context.counts)
        assert state["payoff"][side] == pytest.approx(config.reservation[side] * whole, rel=1e-14)
    assert not state["deal"].any()


@given(configs(), contexts(), SEEDS)
def test_the_agent_is_paid_the_payoff_less_the_price_of_its_insisting(config: BargainingConfig, context: Context, seed: int) -> None:
    batch = open_table(config, context, seed)
    rewards = play_out(batch)
    state = batch.state[0]
    assert sum(rewards) == pytest.approx(state["payoff"][AGENT] - config.insist_price * int(state["insists"][AGENT]))


@given(configs(), contexts(), SEEDS)
def test_the_talks_end_within_max_turns_and_the_sides_take_turns(config: BargainingConfig, context: Context, seed: int) -> None:
    batch = open_table(config, context, seed)
    play_out(batch)
    state = batch.state[0]
    turns = int(state["turn"])
    assert 1 <= turns <= config.max_turns
    assert state["history"][:turns, 0].tolist() == [(int(state["opener"]) + n) % 2 for n in range(turns)]


@given(configs(), contexts(), SEEDS)
def test_a_seed_replays_an_episode_bit_for_bit(config: BargainingConfig, context: Context, seed: int) -> None:
    first, second = open_table(config, context, seed), open_table(config, context, seed)
    assert play_out(first) == play_out(second)
    assert all_bits(first) == all_bits(second)


@given(configs(), contexts(), SEEDS)
def test_every_view_and_feature_lies_within_its_space(config: BargainingConfig, context: Context, seed: int) -> None:
    batch = open_table(config, context, seed)
    while batch.state["outcome"][0] == ONGOING:
        features = batch.features()
        assert ((features >= 0.0) & (features <= 1.0)).all()
        batch.step(*batch.random_actions())


@given(contexts(), SEEDS, st.integers(0, 4), st.integers(-2, 7), st.tuples(*[st.integers(-2, 6)] * 3))
@settings(max_examples=200)
def test_an_action_is_refused_exactly_when_it_is_illegal_and_then_changes_nothing(
    context: Context, seed: int, steps: int, act: int, share: tuple[int, int, int]
) -> None:
    batch = open_table(BargainingConfig(partner="random", disagree="passes"), context, seed)
    for _ in range(steps):
        if batch.state["outcome"][0] == ONGOING:
            batch.step(*batch.random_actions())
    if batch.state["outcome"][0] != ONGOING:
        return
    fits = all(0 <= s <= n for s, n in zip(share, context.counts, strict=True))
    legal = 0 <= act <= 4 and bool(batch.masks[0, act]) and (fits or act not in STATED)
    before = all_bits(batch)
    if legal:
        batch.step(np.array([act]), np.array([share]))
        assert all_bits(batch) != before
        return
    with pytest.raises(IllegalAction):
        batch.step(np.array([act]), np.array([share]))
    assert all_bits(batch) == before


@pytest.mark.parametrize("moves", [0, 1, 2])
def test_the_mask_agrees_with_the_rules_on_every_act_and_share_of_a_small_pool(moves: int) -> None:
    context = Context((1, 2, 0), (1, 1, 1), (1, 1, 1))
    batch = begun_with(context, partner="boulware")
    for _ in range(moves):
        say(batch, propose(1, 2, 0))
    for act, a, b, c in itertools.product(range(-1, 6), range(-1, 3), range(-1, 4), range(-1, 2)):
        fits = 0 <= a <= 1 and 0 <= b <= 2 and c == 0
        legal = 0 <= act <= 4 and bool(batch.masks[0, act]) and (fits or act not in STATED)
        copy = batch.over(batch.state.copy())
        try:
            copy.step(np.array([act]), np.array([[a, b, c]]))
        except IllegalAction:
            assert not legal
        else:
            assert legal


@given(configs(), SEEDS)
def test_drawn_episodes_can_be_played_to_the_end_and_again(config: BargainingConfig, seed: int) -> None:
    batch = BargainingBatch(config, 5)
    batch.seed(seed % 2**62)
    batch.reset()
    totals = batch.random_rollout(steps=20)
    assert (totals[:, 3] == 20).all() and (totals[:, 0] >= 1).all()


def test_an_offer_stays_where_it_is_until_its_maker_moves_it() -> None:
    batch = begun_with(POOL, disagree="passes", partner="random")
    say(batch, propose(1, 0, 2))
    assert batch.state["offer"][0, AGENT].tolist() == [1, 0, 2]
