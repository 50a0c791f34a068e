"""One test per rule of `docs/games/bargaining.md`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bargaining_table import (
    AGREE,
    DISAGREE,
    POOL,
    all_bits,
    begun,
    begun_with,
    end,
    insist,
    looks_like_chance,
    play,
    propose,
    say,
    sit_down,
    talk,
)
from edgeworth.errors import EpisodeOver, IllegalAction
from edgeworth.games.bargaining.contexts import Context
from edgeworth.games.bargaining.vocabulary import AGENT, LOST_TURN, ONGOING, PARTNER, Outcome

# POOL: counts 2,1,3, the agent's points 1,5,1, the partner's 2,3,1. The partner's counter-offer keeps 1,0,2 and leaves 1,1,1.
ALL = (2, 1, 3)
COUNTER = (1, 1, 1)


# Deals


def test_an_offer_the_partner_accepts_is_paid_to_both_sides() -> None:
    last = play(sit_down(), propose(0, 1, 1))
    assert (last.reward, last.terminated) == (6.0, True)
    assert last.info["outcome"] == "PARTNER_AGREED"
    assert (last.info["deal"], last.info["partner_reward"]) == ((0, 1, 1), 6.0)


def test_an_offer_the_agent_accepts_is_paid_to_both_sides() -> None:
    last = play(sit_down(), propose(*ALL), AGREE)
    assert (last.reward, last.terminated) == (7.0, True)
    assert last.info["outcome"] == "AGENT_AGREED"
    assert (last.info["deal"], last.info["partner_reward"]) == (COUNTER, 4.0)


def test_a_step_that_closes_nothing_pays_nothing() -> None:
    step = play(sit_down(), propose(*ALL))
    assert (step.reward, step.terminated) == (0.0, False)
    assert "outcome" not in step.info


def test_every_end_is_a_termination_and_never_a_truncation() -> None:
    for last in (play(sit_down(), DISAGREE), play(sit_down(max_turns=2), propose(*ALL)), play(sit_down(), propose(0, 1, 1))):
        assert (last.terminated, last.truncated) == (True, False)


# What is legal


def test_agree_is_masked_until_the_partner_has_offered() -> None:
    env = sit_down()
    assert env.batch.masks[0].tolist() == [1, 1, 0, 1, 1]
    assert play(env, propose(*ALL)).info["action_mask"].tolist() == [1, 1, 1, 1, 1]


def test_nothing_is_legal_after_the_end() -> None:
    assert play(sit_down(), DISAGREE).info["action_mask"].tolist() == [0, 0, 0, 0, 0]


def test_the_caps_of_a_share_are_the_pool() -> None:
    assert play(sit_down(), propose(*ALL)).info["oA_max"].tolist() == list(ALL)


@pytest.mark.parametrize("action", [propose(3, 0, 0), insist(0, 2, 0), end(0, 0, 4), propose(-1, 0, 0)], ids=str)
def test_a_share_outside_the_pool_is_illegal(action: dict[str, Any]) -> None:
    with pytest.raises(IllegalAction, match="expected 0 up to the pool 2,1,3") as refused:
        sit_down().step(action)
    assert refused.value.rule == "share_within_pool"


def test_agreeing_to_nothing_is_illegal() -> None:
    with pytest.raises(IllegalAction, match="it has made none") as refused:
        sit_down().step(AGREE)
    assert refused.value.rule == "agree_needs_an_offer"


@pytest.mark.parametrize("act", [-1, 5, 1_000])
def test_an_unknown_act_is_illegal(act: int) -> None:
    with pytest.raises(IllegalAction, match="expected 0 to 4") as refused:
        sit_down().step({"act_type": act, "oA": (0, 0, 0)})
    assert refused.value.rule == "unknown_act"


@pytest.mark.parametrize("act", [2, 3])
def test_agree_and_disagree_do_not_read_the_share(act: int) -> None:
    last = play(sit_down(), propose(*ALL), {"act_type": act, "oA": (99, -5, 7)})
    assert last.terminated
    assert last.info["history"][-1].share is None


@pytest.mark.parametrize("action", [AGREE, propose(3, 0, 0), insist(0, 0, -1), end(9, 9, 9), {"act_type": 7, "oA": (0, 0, 0)}], ids=str)
def test_an_illegal_action_leaves_every_byte_of_the_state_as_it_was(action: dict[str, Any]) -> None:
    batch = begun_with(POOL, 3)
    before = all_bits(batch)
    acts, shares = np.full(3, 0), np.zeros((3, 3), np.int64)
    acts[1], shares[1] = action["act_type"], action["oA"]
    with pytest.raises(IllegalAction) as refused:
        batch.step(acts, shares)
    assert refused.value.env_index == 1
    assert all_bits(batch) == before


@pytest.mark.parametrize("action", [AGREE, propose(3, 0, 0), {"act_type": -2, "oA": (0, 0, 0)}], ids=str)
def test_with_a_penalty_an_illegal_action_costs_points_and_the_turn(action: dict[str, Any]) -> None:
    step = play(sit_down(on_illegal="penalty", illegal_penalty=2.5), action)
    assert (step.reward, step.terminated) == (-2.5, False)
    lost, reply = step.info["history"]
    assert (lost.side, lost.act, lost.share) == (AGENT, LOST_TURN, None)
    assert (reply.side, step.observation["turns_remaining"]) == (PARTNER, 8)


def test_a_lost_turn_leaves_the_agents_offer_standing() -> None:
    batch = begun_with(POOL, on_illegal="penalty")
    say(batch, propose(2, 1, 2))
    say(batch, {"act_type": 9, "oA": (0, 0, 0)})
    assert batch.state["offer"][0, AGENT].tolist() == [2, 1, 2]


def test_a_penalty_does_not_excuse_stepping_after_the_end() -> None:
    env = sit_down(on_illegal="penalty")
    play(env, DISAGREE)
    with pytest.raises(EpisodeOver, match=r"call reset\(\)"):
        env.step(DISAGREE)


# END


def test_final_selections_that_add_up_close_the_deal() -> None:
    last = play(sit_down(), propose(*ALL), end(*COUNTER))
    assert (last.info["outcome"], last.info["deal"], last.reward, last.info["partner_reward"]) == ("SELECTIONS_MATCHED", COUNTER, 7.0, 4.0)


@pytest.mark.parametrize("share", [(1, 1, 0), (1, 1, 2)])
def test_final_selections_that_ask_for_too_much_or_too_little_clash(share: tuple[int, int, int]) -> None:
    last = play(sit_down(), propose(*ALL), end(*share))
    assert (last.info["outcome"], last.info["deal"], last.reward, last.info["partner_reward"]) == ("SELECTIONS_CLASHED", None, 0.0, 0.0)


def test_a_partner_that_never_offered_selects_everything() -> None:
    nothing = play(sit_down(), end(0, 0, 0))
    assert (nothing.info["outcome"], nothing.info["deal"], nothing.info["partner_reward"]) == ("SELECTIONS_MATCHED", (0, 0, 0), 10.0)
    assert play(sit_down(), end(1, 0, 0)).info["outcome"] == "SELECTIONS_CLASHED"


def test_when_the_partner_ends_the_agents_selection_is_its_last_offer() -> None:
    matched = begun_with(POOL, two_player=True)
    talk(matched, propose(*COUNTER), end(1, 0, 2))
    assert (matched.state["outcome"][0], matched.state["deal"][0].tolist()) == (Outcome.SELECTIONS_MATCHED, [1, 1, 1])
    clashed = begun_with(POOL, two_player=True)
    talk(clashed, propose(*ALL), end(1, 0, 2))
    assert (clashed.state["outcome"][0], clashed.state["deal"][0].tolist()) == (Outcome.SELECTIONS_CLASHED, [0, 0, 0])


def test_an_agent_that_never_offered_selects_everything() -> None:
    batch = begun_with(POOL, two_player=True, disagree="passes")
    talk(batch, DISAGREE, end(0, 0, 0))
    assert (batch.state["outcome"][0], batch.state["deal"][0].tolist()) == (Outcome.SELECTIONS_MATCHED, list(ALL))
    assert batch.state["payoff"][0].tolist() == [10.0, 0.0]


# DISAGREE and standing offers


def test_disagree_walks_away() -> None:
    last = play(sit_down(), DISAGREE)
    assert (last.info["outcome"], last.reward, last.info["partner_reward"], last.info["deal"]) == ("AGENT_WALKED", 0.0, 0.0, None)


def test_a_partner_may_walk_away_too() -> None:
    last = play(sit_down(partner="walk_away", partner_options={"patience": 0}), propose(*ALL))
    assert (last.info["outcome"], last.reward, last.info["partner_reward"]) == ("PARTNER_WALKED", 0.0, 0.0)


def test_disagree_may_only_pass_the_turn() -> None:
    step = play(sit_down(disagree="passes"), DISAGREE)
    assert not step.terminated
    assert [move.side for move in step.info["history"]] == [AGENT, PARTNER]


def test_a_pass_leaves_both_offers_standing() -> None:
    agents = begun_with(POOL, two_player=True, disagree="passes")
    talk(agents, propose(0, 1, 1), DISAGREE, DISAGREE, AGREE)
    assert (agents.state["outcome"][0], agents.state["deal"][0].tolist()) == (Outcome.PARTNER_AGREED, [0, 1, 1])
    partners = begun_with(POOL, two_player=True, disagree="passes")
    talk(partners, DISAGREE, propose(1, 0, 2), DISAGREE, DISAGREE, AGREE)
    assert (partners.state["outcome"][0], partners.state["deal"][0].tolist()) == (Outcome.AGENT_AGREED, [1, 1, 1])


def test_a_new_offer_replaces_the_old_one_of_its_maker() -> None:
    batch = begun_with(POOL, two_player=True)
    talk(batch, propose(2, 1, 0), propose(2, 1, 3), insist(0, 1, 1), AGREE)
    assert batch.state["deal"][0].tolist() == [0, 1, 1]


# The clock, and who opens


def test_the_clock_counts_the_moves_of_both_sides() -> None:
    env = sit_down(max_turns=6)
    assert [play(env, propose(*ALL)).observation["turns_remaining"] for _ in range(3)] == [4, 2, 0]


def test_the_last_move_without_a_deal_ends_the_talks() -> None:
    last = play(sit_down(max_turns=4), propose(*ALL), propose(*ALL))
    assert (last.terminated, last.info["outcome"], last.reward, len(last.info["history"])) == (True, "TIMED_OUT", 0.0, 4)


def test_an_offer_made_on_the_last_move_cannot_be_answered() -> None:
    last = play(sit_down(max_turns=3), propose(*ALL), propose(0, 0, 0))
    assert (last.info["outcome"], last.reward, len(last.info["history"])) == ("TIMED_OUT", 0.0, 3)


def test_an_offer_can_be_accepted_on_the_last_move() -> None:
    assert play(sit_down(max_turns=2), propose(0, 1, 1)).info["outcome"] == "PARTNER_AGREED"
    assert play(sit_down(max_turns=3), propose(*ALL), AGREE).info["outcome"] == "AGENT_AGREED"


def test_a_partner_that_opens_has_offered_by_the_end_of_reset() -> None:
    env = sit_down(opens="partner")
    observation, info = env.reset()
    (opening,) = info["history"]
    assert (opening.side, observation["last_partner_act"], observation["turns_remaining"]) == (PARTNER, 0, 9)
    assert info["partner_has_spoken"] and info["action_mask"].tolist() == [1] * 5


def test_an_agent_that_opens_finds_an_empty_table() -> None:
    observation, info = sit_down(opens="agent").reset()
    assert (len(info["history"]), observation["last_partner_act"], observation["turns_remaining"]) == (0, 3, 10)
    assert not info["partner_has_spoken"] and not observation["last_partner_offer_for_me"].any()


def test_the_seed_draws_who_opens_with_equal_chances() -> None:
    batch = begun(10_000, seed=1)
    assert looks_like_chance(np.bincount(batch.state["opener"], minlength=2))
    assert (batch.state["turn"] == batch.state["opener"]).all()


# Rewards


@pytest.mark.parametrize("moves", range(2, 11))
def test_a_deal_closed_by_move_t_pays_discount_to_the_t_minus_two(moves: int) -> None:
    batch = begun_with(POOL, two_player=True, discount=0.9)
    talk(batch, *[propose(1, 1, 1) if n % 2 == 0 else propose(1, 0, 2) for n in range(moves - 1)], AGREE)
    assert batch.state["payoff"][0].tolist() == pytest.approx([7 * 0.9 ** (moves - 2), 4 * 0.9 ** (moves - 2)], rel=1e-15)


def test_a_deal_closed_by_the_first_move_is_paid_in_full() -> None:
    assert play(sit_down(discount=0.5), end(0, 0, 0)).info["partner_reward"] == 10.0


def test_talks_never_break_off_after_the_first_move() -> None:
    batch = begun(5_000, sudden_end=1.0, partner_options={"counter": "keep_all"})
    assert (batch.state["outcome"] == ONGOING).all()
    batch.step(np.zeros(batch.size, np.int64), batch.state["counts"].astype(np.int64))
    ended = batch.state["outcome"] == Outcome.BROKEN_OFF
    assert (ended | (batch.state["outcome"] == Outcome.PARTNER_AGREED)).all()
    assert (batch.state["turn"][ended] == 2).all()


def test_talks_break_off_as_often_as_sudden_end_says() -> None:
    batch = begun_with(POOL, 20_000, sudden_end=0.3)
    batch.seed(5)
    batch.reset(np.tile(np.array(POOL.row(), np.int16), (batch.size, 1)))
    say(batch, propose(*ALL))
    broken = int((batch.state["outcome"] == Outcome.BROKEN_OFF).sum())
    assert looks_like_chance(np.array([broken, batch.size - broken]), np.array([0.3, 0.7]))


def test_the_last_move_times_out_before_it_can_break_off() -> None:
    assert play(sit_down(max_turns=2, sudden_end=1.0), propose(*ALL)).info["outcome"] == "TIMED_OUT"


def test_a_closed_deal_cannot_break_off() -> None:
    assert play(sit_down(sudden_end=1.0), propose(0, 1, 1)).info["outcome"] == "PARTNER_AGREED"


@pytest.mark.parametrize(
    ("outcome", "options", "actions"),
    [
        ("AGENT_WALKED", {}, [propose(*ALL), DISAGREE]),
        ("PARTNER_WALKED", {"partner": "walk_away"}, [propose(*ALL), propose(*ALL)]),
        ("SELECTIONS_CLASHED", {}, [propose(*ALL), end(*ALL)]),
        ("TIMED_OUT", {"max_turns": 4}, [propose(*ALL), propose(*ALL)]),
        ("BROKEN_OFF", {"sudden_end": 1.0}, [propose(*ALL)]),
    ],
)
def test_no_deal_pays_each_side_its_reservation_undiscounted(outcome: str, options: dict[str, Any], actions: list[dict[str, Any]]) -> None:
    last = play(sit_down(reservation=(0.2, 0.3), discount=0.5, **options), *actions)
    assert (last.info["outcome"], last.reward, last.info["partner_reward"]) == (outcome, 2.0, 3.0)


def test_insisting_costs_the_agent_its_price_at_once() -> None:
    env = sit_down(insist_price=0.25)
    assert play(env, insist(*ALL)).reward == -0.25
    assert play(env, propose(*ALL)).reward == 0.0
    assert play(env, insist(0, 1, 1)).reward == 6.0 - 0.25


def test_the_partners_insisting_is_taken_from_its_reward_at_the_end() -> None:
    batch = begun(2_000, partner="random", insist_price=0.5)
    going = np.ones(batch.size, np.bool_)
    while going.any():
        part = batch.selected(going)
        part.step(*part.random_actions())
        batch.write_back(part, going)
        batch.reports[going] = part.reports
        going = batch.state["outcome"] == ONGOING
    lines = batch.state["history"][:, :10]
    made = np.arange(10) < batch.state["turn"][:, None]
    insisted = (made & (lines[:, :, 0] == PARTNER) & (lines[:, :, 1] == 1)).sum(axis=1)
    assert (batch.reports["partner_reward"] == batch.state["payoff"][:, PARTNER] - 0.5 * insisted).all()
    assert insisted.max() > 1


@pytest.mark.parametrize("utilities", [(1, 0, 0), (0, 0, 1), (1, 1, 1), (1, 2, 3), (7, 3, 10), (10, 10, 10)])
def test_a_normalised_pool_is_worth_exactly_ten_to_each_side(utilities: tuple[int, int, int]) -> None:
    context = Context((1, 2, 3), utilities, utilities)
    mine = play(sit_down(context, normalize=True, partner_options={"accept": 0.0}), propose(1, 2, 3))
    theirs = play(sit_down(context, normalize=True), propose(0, 0, 0))
    assert (mine.reward, theirs.info["partner_reward"]) == (10.0, 10.0)


def test_a_normalised_share_pays_its_part_of_ten() -> None:
    context = Context((2, 1, 0), (3, 1, 0), (1, 1, 0))
    assert play(sit_down(context, normalize=True), propose(1, 0, 0)).reward == 10 * 3 / 7


# What is shown


def test_the_partners_utilities_are_zeros_unless_revealed() -> None:
    hidden, _ = sit_down().reset(options={"counts": (2, 1, 3), "my_utilities": (1, 5, 1), "partner_utilities": (2, 3, 1)})
    shown = play(sit_down(reveal_partner_utilities=True), propose(*ALL)).observation
    assert hidden["partner_utilities"].tolist() == [0, 0, 0]
    assert shown["partner_utilities"].tolist() == [2, 3, 1]


def test_the_observation_shows_what_the_partners_offer_leaves_the_agent() -> None:
    step = play(sit_down(), propose(2, 1, 2))
    assert step.observation["last_partner_offer_for_me"].tolist() == list(COUNTER)
    assert step.info["my_last_offer"].tolist() == [2, 1, 2]
