"""What a move is worth if the plan is followed afterwards, against sums that can be done by hand."""

from __future__ import annotations

import numpy as np
import pytest

from bargaining_table import POOL, begun, begun_with, insist, say
from edgeworth.agents.hints.bayes import Bayes
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.evaluation.plan_values import PlanValues
from edgeworth.games.bargaining.blind_plan import bayes_plan
from edgeworth.games.bargaining.contexts import context_of, triple_of
from edgeworth.games.bargaining.frontier import all_shares
from edgeworth.games.bargaining.prior import partner_types
from edgeworth.games.bargaining.vocabulary import Act

NOTHING = (0, 0, 0)


@pytest.mark.parametrize("scenario", ["classic", "one_shot", "discounted", "walkaway", "lewis_keep_all"])
def test_the_plans_own_first_move_is_worth_what_the_plan_is(scenario: str) -> None:
    batch = begun(6, seed=2, scenario=scenario)
    values, hints = PlanValues(batch.config), Bayes().give(batch, np.ones(6, np.bool_))
    for slot in range(6):
        hint, state = hints.at(slot), batch.state[slot]
        plan = bayes_plan(context_of(state).half(), batch, int(state["opener"]))
        assert values.value(batch, slot, (hint.act, hint.share)) == pytest.approx(plan.value, abs=1e-9)


def test_the_last_words_are_worth_what_they_pay() -> None:
    batch = begun_with(POOL)
    say(batch, insist(2, 1, 3))
    values = PlanValues(batch.config)
    assert values.value(batch, 0, (Act.AGREE, NOTHING)) == 7.0  # the partner leaves one of each: 1 + 5 + 1
    assert values.value(batch, 0, (Act.END, (1, 1, 1))) == 7.0
    assert values.value(batch, 0, (Act.END, (1, 1, 0))) == values.value(batch, 0, (Act.DISAGREE, NOTHING)) == 0.0


def test_an_offer_in_one_shot_is_worth_its_chance_and_what_is_left_otherwise() -> None:
    batch = begun_with(POOL, scenario="one_shot")
    types = partner_types(POOL, batch)
    share = (0, 1, 3)
    left = types @ (np.array(POOL.counts) - share)
    accepted = left * 10_000 >= 5_000 * (types @ np.array(POOL.counts))
    by_hand = np.where(accepted, 8.0, 7.0).mean()  # refused, the agent takes the counter-offer of one each
    assert PlanValues(batch.config).value(batch, 0, (Act.INSIST, share)) == pytest.approx(by_hand)


def test_in_one_shot_no_offer_is_worth_more_than_the_plans() -> None:
    batch = begun_with(POOL, scenario="one_shot")
    values, best = PlanValues(batch.config), bayes_plan(POOL.half(), batch, 0).value
    offers = [values.value(batch, 0, (act, triple_of(share))) for act in (Act.PROPOSE, Act.INSIST) for share in all_shares(POOL.counts)]
    assert max(offers) == pytest.approx(best) and max(offers) <= best + 1e-9


def test_partners_that_would_have_accepted_before_are_no_longer_expected() -> None:
    batch = begun_with(POOL, max_turns=4)
    values = PlanValues(batch.config)
    fresh = values.value(batch, 0, (Act.INSIST, (0, 1, 2)))
    say(batch, insist(1, 1, 2))  # worth 8; whoever refuses it wants more
    assert batch.masks[0].any() and values.value(batch, 0, (Act.INSIST, (0, 1, 2))) != fresh


def test_talks_that_may_break_off_are_worth_less() -> None:
    calm, nervous = (begun_with(POOL, sudden_end=chance) for chance in (0.0, 0.5))
    move = (Act.INSIST, (2, 1, 2))
    assert PlanValues(nervous.config).value(nervous, 0, move) < PlanValues(calm.config).value(calm, 0, move)


def test_a_partner_that_betrays_itself_is_refused() -> None:
    with pytest.raises(InvalidOption, match="reveal nothing"):
        PlanValues(BargainingConfig.from_options(partner="boulware"))
