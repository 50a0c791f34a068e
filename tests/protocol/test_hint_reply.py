"""A hint from a reply: judged against the mask and the pool of its moment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from edgeworth.dialogues.hint_prompt import hint_schema, legal_json_schema
from edgeworth.games.bargaining.hints import Hint
from edgeworth.games.bargaining.vocabulary import Act
from edgeworth.protocol import Accepted, Reason, Rejection, parse_reply
from replies import CAPS, EVERY_ACT, HINT, NO_OFFER_YET, said

NOTHING_LEGAL = np.zeros(5, np.int8)


def verdict(mask: Any = EVERY_ACT, caps: Any = CAPS, **changes: Any) -> Accepted[Hint] | Rejection:
    return parse_reply(said(HINT, **changes), hint_schema(mask, caps))


def reason(mask: Any = EVERY_ACT, caps: Any = CAPS, **changes: Any) -> Reason | None:
    found = verdict(mask, caps, **changes)
    return found.reason if isinstance(found, Rejection) else None


def test_a_good_hint_is_an_act_a_share_and_a_confidence() -> None:
    assert verdict() == Accepted(Hint(Act.PROPOSE, (2, 0, 1), 0.75))


def test_agree_is_masked_until_the_partner_has_offered() -> None:
    assert reason(NO_OFFER_YET, act_type=2) is Reason.MASKED_ACT
    assert reason(EVERY_ACT, act_type=2) is None


def test_a_masked_act_is_answered_with_the_acts_that_are_legal() -> None:
    found = verdict(NO_OFFER_YET, act_type=2)
    assert isinstance(found, Rejection) and found.field == "act_type"
    assert found.sentence == "act_type is 2 (AGREE), which is masked; legal now: 0 (PROPOSE), 1 (INSIST), 3 (DISAGREE), 4 (END)."


@pytest.mark.parametrize("act", Act)
def test_after_the_end_every_act_is_masked(act: Act) -> None:
    assert reason(NOTHING_LEGAL, act_type=int(act)) is Reason.MASKED_ACT


@pytest.mark.parametrize("act", [Act.PROPOSE, Act.INSIST, Act.END])
@pytest.mark.parametrize("share", [[3, 0, 0], [0, 2, 0], [0, 0, 4], [2, 1, 10**400 - 1]])
def test_a_share_that_is_stated_lies_within_the_pool(act: Act, share: list[int]) -> None:
    assert reason(act_type=int(act), oA=share) is Reason.OVER_CAP
    assert reason(act_type=int(act), oA=CAPS.tolist()) is None


@pytest.mark.parametrize("act", [Act.AGREE, Act.DISAGREE])
def test_beside_agree_and_disagree_the_share_is_not_judged_but_must_be_one(act: Act) -> None:
    assert verdict(act_type=int(act), oA=[9, 9, 9]) == Accepted(Hint(act, (0, 0, 0), 0.75))
    assert reason(act_type=int(act), oA=[-1, 0, 0]) is Reason.OUT_OF_RANGE
    assert reason(act_type=int(act), oA=...) is Reason.MISSING_KEY
    assert reason(act_type=int(act), oA=[]) is Reason.BAD_TYPE


def test_the_json_schema_of_a_moment_holds_its_mask_and_its_pool() -> None:
    written = legal_json_schema(NO_OFFER_YET, CAPS)["properties"]
    assert written["act_type"]["enum"] == [0, 1, 3, 4]
    assert [item["maximum"] for item in written["oA"]["prefixItems"]] == CAPS.tolist()
    assert list(written) == ["act_type", "oA", "confidence"]
