"""What each partner does, in cases worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bargaining_table import (
    AGREE,
    DISAGREE,
    POOL,
    begun,
    begun_with,
    end,
    insist,
    looks_like_chance,
    partner_lines,
    play,
    propose,
    say,
    sit_down,
)
from edgeworth.errors import InvalidOption, UnknownKey, UnknownName
from edgeworth.games.bargaining.contexts import Context
from edgeworth.games.bargaining.history import Move
from edgeworth.games.bargaining.partners.concession import Boulware, Conceder, Linear
from edgeworth.games.bargaining.vocabulary import ONGOING, PARTNER, Act

ALL = propose(2, 1, 3)
TWENTY = Context((1, 1, 1), (0, 0, 0), (10, 9, 1))
"""Worth 20 to the partner, so 0.55 is exactly 11 points and 0.50 exactly 10."""


def reply(env: Any, action: dict[str, Any]) -> Move:
    """The partner's answer to a move."""
    move: Move = play(env, action).info["history"][-1]
    assert move.side == PARTNER
    return move


def replies(env: Any, *actions: dict[str, Any]) -> list[tuple[int, int, int] | None]:
    """The shares the partner states in answer to these moves."""
    return [reply(env, action).share for action in actions]


# Heuristic


@pytest.mark.parametrize(
    ("action", "accepted"),
    [(propose(0, 1, 0), True), (propose(0, 1, 1), False), (insist(0, 1, 1), True), (insist(1, 0, 1), False)],
    ids=["11 of 20 proposed", "10 of 20 proposed", "10 of 20 insisted", "9 of 20 insisted"],
)
def test_the_thresholds_are_exact_shares_of_the_maximum(action: dict[str, Any], accepted: bool) -> None:
    assert (reply(sit_down(TWENTY), action).act == Act.AGREE) is accepted


@pytest.mark.parametrize("accept", [0.0, 0.1, 0.3, 0.35, 0.7, 0.9, 1.0])
def test_a_threshold_is_met_by_exactly_that_share_and_by_nothing_less(accept: float) -> None:
    hundred = Context((10, 0, 0), (0, 0, 0), (10, 0, 0))
    for kept in range(11):
        env = sit_down(hundred, max_count=10, partner_options={"accept": accept})
        assert (reply(env, propose(10 - kept, 0, 0)).act == Act.AGREE) is (10 * kept >= round(100 * accept))


def test_a_partner_that_values_nothing_accepts_anything() -> None:
    assert reply(sit_down(Context((2, 1, 3), (1, 1, 1), (0, 0, 0))), ALL).act == Act.AGREE


def test_only_the_latest_offer_counts_as_insisted() -> None:
    env = sit_down(TWENTY)
    play(env, insist(1, 1, 1))
    assert reply(env, propose(0, 1, 1)).act == Act.PROPOSE  # 10 of 20


@pytest.mark.parametrize(
    ("counter", "kept"),
    [
        ("leave_one", (1, 0, 2)),
        ("keep_all", (2, 1, 3)),
        # The agent wants the hat (5 of its 10 points); the partner needs 6 of its own: both books and two of the balls.
        ("utility_aware", (2, 0, 2)),
    ],
)
def test_each_counter_offer_is_its_own_split(counter: str, kept: tuple[int, int, int]) -> None:
    assert replies(sit_down(partner_options={"counter": counter}), ALL, ALL) == [kept, kept]


def test_leave_one_leaves_nothing_of_a_type_that_is_not_there() -> None:
    assert replies(sit_down(Context((0, 1, 4), (1, 1, 1), (1, 1, 1))), propose(0, 1, 4)) == [(0, 0, 3)]


@pytest.mark.parametrize(
    ("partner_utilities", "kept"),
    [((7, 6, 0), (1, 0, 0)), ((6, 7, 0), (0, 1, 0)), ((6, 6, 0), (0, 1, 0))],
    ids=["better for the partner", "better for the partner, the other way", "first in order"],
)
def test_utility_aware_breaks_ties_for_the_partner_and_then_by_order(
    partner_utilities: tuple[int, int, int], kept: tuple[int, int, int]
) -> None:
    context = Context((1, 1, 0), (5, 5, 0), partner_utilities)
    assert replies(sit_down(context, partner_options={"counter": "utility_aware", "accept": 0.4}), propose(1, 1, 0)) == [kept]


def test_no_partner_accepts_less_than_its_reservation_value() -> None:
    env = sit_down(reservation=(0.0, 0.8))
    assert reply(env, propose(0, 1, 0)).act == Act.PROPOSE  # 7 of 10
    assert reply(env, propose(1, 0, 0)).act == Act.AGREE  # 8 of 10


def test_a_reservation_value_raises_the_floor_of_every_aspiration() -> None:
    for partner in ("conceder", "tit_for_tat"):
        env = sit_down(partner=partner, reservation=(0.0, 0.8), partner_options={"floor": 0.1})
        shares = [s for s in replies(env, ALL, propose(2, 0, 3), propose(1, 0, 3)) if s is not None]
        assert all(2 * a + 3 * b + c >= 8 for a, b, c in shares)


# Time-dependent


@pytest.mark.parametrize(
    ("partner", "turn", "aspiration"),
    [
        (Linear(), 0, 1.0),
        (Linear(), 5, 0.7),
        (Linear(), 10, 0.4),
        (Linear(floor=0.0), 4, 0.6),
        (Boulware(), 5, 1.0 - 0.6 / 32),
        (Boulware(), 10, 0.4),
        (Conceder(), 0, 1.0),
        (Conceder(exponent=2.0), 1, 1.0 - 0.6 * 0.1**0.5),
        (Conceder(), 10, 0.4),
    ],
    ids=str,
)
def test_the_aspiration_falls_from_everything_to_the_floor(partner: Any, turn: int, aspiration: float) -> None:
    assert partner.aspiration(turn, max_turns=11) == pytest.approx(aspiration)


def test_boulware_holds_out_longer_than_linear_and_linear_longer_than_conceder() -> None:
    for turn in range(1, 9):
        late, even, early = (p.aspiration(turn, 10) for p in (Boulware(), Linear(), Conceder()))
        assert late > even > early


def test_a_linear_partner_offers_the_split_worth_just_what_it_aspires_to() -> None:
    # Aspirations 0.94, 0.82, 0.70, 0.58, 0.46 of 10 points: it needs 10, 9, 7, 6, 5, and keeps the fewest units that give it that.
    env = sit_down(partner="linear", max_turns=11)
    assert replies(env, ALL, ALL, ALL, ALL, ALL) == [(2, 1, 3), (2, 1, 2), (2, 1, 0), (1, 1, 1), (1, 1, 0)]


@pytest.mark.parametrize(("share", "accepted"), [((0, 0, 3), True), ((1, 0, 2), False)], ids=["7 of 10", "6 of 10"])
def test_a_linear_partner_accepts_what_meets_its_aspiration(share: tuple[int, int, int], accepted: bool) -> None:
    env = sit_down(partner="linear", max_turns=11)
    play(env, ALL, ALL)
    assert (reply(env, propose(*share)).act == Act.AGREE) is accepted


def test_a_time_dependent_partner_hears_no_difference_between_propose_and_insist() -> None:
    proposed, insisted = (replies(sit_down(partner="linear"), *[act(2, 0, 2)] * 3) for act in (propose, insist))
    assert proposed == insisted


def test_a_time_dependent_partner_opens_by_asking_for_everything_it_values() -> None:
    env = sit_down(Context((2, 1, 3), (1, 1, 1), (5, 0, 0)), partner="boulware", opens="partner")
    _, info = env.reset(options={"counts": (2, 1, 3), "my_utilities": (1, 1, 1), "partner_utilities": (5, 0, 0)})
    assert info["history"][0].share == (2, 0, 0)


def test_ties_between_splits_go_to_the_first_in_order() -> None:
    env = sit_down(Context((1, 1, 2), (1, 1, 1), (1, 1, 1)), partner="linear", max_turns=3, partner_options={"floor": 0.0})
    assert replies(env, propose(1, 1, 2)) == [(0, 0, 2)]  # two of four points


# Tit-for-tat


def test_tit_for_tat_gives_back_every_point_it_is_given() -> None:
    # The agent offers 0, 3 (the hat), then 4 of 10 points (hat and a ball); the partner asks for 10, 7, 6.
    env = sit_down(partner="tit_for_tat")
    assert replies(env, ALL, propose(2, 0, 3), propose(2, 0, 2)) == [(2, 1, 3), (2, 1, 0), (1, 1, 1)]


def test_tit_for_tat_does_not_take_a_concession_back_when_the_agent_does() -> None:
    assert replies(sit_down(partner="tit_for_tat"), ALL, propose(2, 0, 3), ALL)[1:] == [(2, 1, 0), (2, 1, 0)]


def test_tit_for_tat_measures_concessions_from_the_first_offer() -> None:
    env = sit_down(partner="tit_for_tat")
    assert reply(env, propose(0, 1, 1)) == Move(PARTNER, Act.PROPOSE, (2, 1, 3))  # 6 points at once are no concession


def test_tit_for_tat_accepts_what_meets_its_aspiration() -> None:
    env = sit_down(partner="tit_for_tat")
    assert reply(env, ALL).act == Act.PROPOSE
    assert reply(env, propose(1, 1, 0)).act == Act.AGREE  # 5 points conceded, 5 asked for


def test_tit_for_tat_never_asks_for_less_than_its_floor() -> None:
    env = sit_down(partner="tit_for_tat", partner_options={"floor": 0.9})
    assert replies(env, ALL, propose(0, 1, 0)) == [(2, 1, 3), (2, 1, 2)]  # 7 conceded, but 9 is the floor


def test_tit_for_tat_does_not_count_a_pass_as_an_offer() -> None:
    env = sit_down(partner="tit_for_tat", disagree="passes")
    assert replies(env, DISAGREE, ALL, propose(2, 0, 3)) == [(2, 1, 3), (2, 1, 3), (2, 1, 0)]


# Walk-away


@pytest.mark.parametrize("patience", [0, 1, 2, 3])
def test_the_partner_leaves_when_its_refusals_exceed_its_patience(patience: int) -> None:
    env = sit_down(partner="walk_away", partner_options={"patience": patience})
    steps = [play(env, ALL) for _ in range(patience + 1)]
    assert [step.terminated for step in steps] == [False] * patience + [True]
    assert steps[-1].info["outcome"] == "PARTNER_WALKED"


def test_an_impatient_partner_still_accepts_a_good_offer() -> None:
    env = sit_down(partner="walk_away")
    assert play(env, ALL, propose(0, 1, 1)).info["outcome"] == "PARTNER_AGREED"
    assert reply(sit_down(TWENTY, partner="walk_away"), insist(0, 1, 1)).act == Act.AGREE


def test_opening_the_talks_costs_no_patience() -> None:
    env = sit_down(partner="walk_away", opens="partner")
    assert not play(env, ALL).terminated
    assert play(env, ALL).terminated


def test_a_pass_costs_patience_too() -> None:
    env = sit_down(partner="walk_away", disagree="passes")
    assert not play(env, DISAGREE).terminated
    assert play(env, DISAGREE).terminated


def test_where_disagree_passes_the_partner_leaves_by_its_final_selection() -> None:
    env = sit_down(partner="walk_away", partner_options={"patience": 0}, disagree="passes")
    assert reply(env, ALL) == Move(PARTNER, Act.END, (1, 0, 2))


def test_a_final_selection_that_fits_the_agents_last_offer_closes_the_deal() -> None:
    env = sit_down(partner="walk_away", partner_options={"patience": 0}, disagree="passes")
    last = play(env, propose(1, 1, 1))  # refused, since it leaves 4 of 10 points, but it is the counter-offer's complement
    assert (last.info["outcome"], last.reward) == ("SELECTIONS_MATCHED", 7.0)


# Random


def test_a_random_partner_answers_an_offer_with_each_act_equally_often() -> None:
    batch = begun_with(POOL, 20_000, partner="random")
    say(batch, propose(2, 0, 0))
    acts = np.array([line[0] for line in partner_lines(batch)])
    assert looks_like_chance(np.bincount(acts, minlength=5))


def test_a_random_partner_agrees_only_to_an_offer() -> None:
    batch = begun_with(POOL, 20_000, partner="random", disagree="passes")
    say(batch, DISAGREE)
    counts = np.bincount([line[0] for line in partner_lines(batch)], minlength=5)
    assert counts[Act.AGREE] == 0
    assert looks_like_chance(np.delete(counts, Act.AGREE))


def test_a_random_partner_states_each_share_equally_often() -> None:
    batch = begun_with(POOL, 20_000, partner="random")
    say(batch, propose(0, 0, 0))
    lines = np.array([line for line in partner_lines(batch) if line[0] in (Act.PROPOSE, Act.INSIST, Act.END)])
    code = (lines[:, 1] * 2 + lines[:, 2]) * 4 + lines[:, 3]
    assert looks_like_chance(np.bincount(code, minlength=24))


def test_a_random_partner_opens_with_a_proposal() -> None:
    batch = begun(2_000, partner="random", opens="partner")
    assert {line[0] for line in partner_lines(batch)} == {Act.PROPOSE}
    assert (batch.state["outcome"] == ONGOING).all()


# Population


def test_members_are_drawn_by_weight() -> None:
    members = {"heuristic": 1.0, "linear": 3, "random": {"weight": 0.5}}
    batch = begun(20_000, partner="population", partner_options={"members": members, "held_out": {}})
    assert looks_like_chance(np.bincount(batch.state["partner"], minlength=3), np.array([1.0, 3.0, 0.5]))


def test_the_partner_is_drawn_anew_every_episode() -> None:
    batch = begun(1, partner="population")
    drawn = []
    for _ in range(60):
        drawn.append(int(batch.state["partner"][0]))
        batch.reset()
    assert set(drawn) == {0, 1, 2, 3}


def test_held_out_partners_are_met_only_on_their_split() -> None:
    train, test = (begun(1, partner="population", partner_options={"split": split}) for split in ("train", "held_out"))
    kinds = [set(batch.partners["kind"].tolist()) for batch in (train, test)]
    alone = [begun(1, partner=name).partners for name in ("linear", "walk_away")]
    assert len(train.partners) == 4 and kinds[1] == {int(p["kind"][0]) for p in alone}
    np.testing.assert_array_equal(test.partners["accept"], np.concatenate([p["accept"] for p in alone]))


def test_one_kind_can_appear_twice_under_labels() -> None:
    members = {"hard": {"partner": "linear", "floor": 0.9}, "soft": {"partner": "linear", "floor": 0.1, "weight": 2.0}}
    batch = begun(1, partner="population", partner_options={"members": members})
    assert (batch.partners["floor"].tolist(), batch.partners["cumulative"].tolist()) == ([9000, 1000], [1 / 3, 1.0])


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"members": {"linear": 1.0}, "held_out": {"linear": 1.0}}, InvalidOption, "linear cannot be both a member and held out"),
        ({"members": {"heuristic": 0.0}}, InvalidOption, "the weight of heuristic is 0.0; expected a number above 0"),
        ({"members": {"heuristic": True}}, InvalidOption, "the weight of heuristic is True"),
        ({"members": {"heuristic": float("nan")}}, InvalidOption, "the weight of heuristic is nan"),
        ({"members": {"population": 1.0}}, InvalidOption, "cannot hold a population"),
        ({"members": {}}, InvalidOption, "nobody to draw for split 'train'"),
        ({"members": {"heuristik": 1.0}}, UnknownName, "Did you mean 'heuristic'"),
        ({"members": {"boulware": {"flor": 0.1}}}, UnknownKey, "Did you mean 'floor'"),
        ({"split": "heldout"}, UnknownName, "Did you mean 'held_out'"),
        ({"members": ["heuristic"]}, InvalidOption, "members"),
    ],
    ids=str,
)
def test_a_population_that_makes_no_sense_is_refused(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        begun(1, partner="population", partner_options=options)


# Options


@pytest.mark.parametrize(
    ("partner", "options", "words"),
    [
        ("heuristic", {"accept": 1.01}, "accept is 1.01; expected a share of its maximum, from 0 to 1"),
        ("heuristic", {"accept": "half"}, "accept is 'half'; expected a number"),
        ("heuristic", {"accept_insist": -0.1}, "accept_insist is -0.1"),
        ("heuristic", {"counter": "leave_ones"}, "Did you mean 'leave_one'"),
        ("boulware", {"floor": 2}, "floor is 2"),
        ("linear", {"exponent": 0}, "exponent is 0"),
        ("tit_for_tat", {"floor": -1}, "floor is -1"),
        ("walk_away", {"patience": -1}, "patience is -1; expected a whole number"),
        ("walk_away", {"patience": 1.5}, "patience is 1.5; expected a whole number"),
        ("walk_away", {"patience": True}, "patience is True; expected a whole number"),
    ],
    ids=str,
)
def test_a_partner_refuses_options_out_of_range(partner: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidOption, match=words):
        begun(1, partner=partner, partner_options=options)


def test_agreeing_with_any_partner_pays_what_it_left() -> None:
    for partner in ("heuristic", "boulware", "linear", "conceder", "tit_for_tat", "walk_away"):
        env = sit_down(partner=partner, max_turns=6)
        left = play(env, ALL).observation["last_partner_offer_for_me"]
        assert play(env, AGREE).reward == float(left @ np.array(POOL.my_utilities))
        again = sit_down(partner=partner, max_turns=6)
        assert play(again, ALL, end(*left)).reward == float(left @ np.array(POOL.my_utilities))
