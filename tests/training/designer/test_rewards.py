"""Completions are judged by the market of their state, and rejected ones are paid by their reason."""

from __future__ import annotations

import numpy as np
import pytest

from edgeworth.agents.designers.adaptive import library_rows
from edgeworth.agents.designers.design_prompt import mechanism_json
from edgeworth.errors import InvalidOption, UnknownName
from edgeworth.training.designer import rewards
from edgeworth.training.designer.rewards import Judge, reward_functions
from edgeworth.training.designer.settings import RewardSettings
from edgeworth.training.designer.states import States

GOOD = [mechanism_json(row) for row in library_rows()]
SETTINGS = RewardSettings(draws=4, horizon=2, continued_by="best_constant")


def test_a_legal_mechanism_is_paid_what_the_market_makes_of_it(states: States) -> None:
    judged = Judge(states, SETTINGS).judge(GOOD[:3], [0, 0, 5])
    assert judged.reasons == (None, None, None) and (judged.rewards["format"] == 1.0).all()
    assert (judged.rewards["composite"] > 0.2).all() and judged.rewards["composite"][0] != judged.rewards["composite"][1]
    assert (judged.rewards["welfare"] > judged.rewards["composite"]).all()


@pytest.mark.parametrize(
    ("text", "paid"),
    [
        ("I would rather not.", 0.0),
        (GOOD[0] + GOOD[1], 0.1),
        (GOOD[0].replace('"auction_type": ', '"auction_typ": '), 0.3),
        (
            GOOD[0].replace('"reveal_reserve": true', '"reveal_reserve": "yes"').replace('"reveal_reserve": false', '"reveal_reserve": 3'),
            0.3,
        ),
    ],
)
def test_a_rejected_completion_is_paid_by_its_reason(states: States, text: str, paid: float) -> None:
    judged = Judge(states, SETTINGS).judge([text, GOOD[0]], [1, 1])
    assert judged.reasons[0] is not None and judged.rewards["format"][0] == paid
    assert all(judged.rewards[name][0] == 0.0 for name in ("welfare", "fairness", "composite")) and judged.rewards["composite"][1] > 0


def test_the_four_functions_ask_the_market_once_and_log_what_is_theirs(states: States, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, logged = [], {}
    tried = rewards.try_mechanisms
    monkeypatch.setattr(rewards, "try_mechanisms", lambda *args: calls.append(1) or tried(*args))
    functions = reward_functions(Judge(states, SETTINGS), generations=2)
    given = {"completions": [[{"role": "assistant", "content": text}] for text in (*GOOD[:3], "no")], "state": [0, 0, 9, 9]}
    found = {function.__name__: function(**given, log_metric=logged.__setitem__) for function in functions}
    assert list(found) == ["format", "welfare", "fairness", "composite"] and len(calls) == 1
    assert logged["invalid"] == 0.25 and 0.0 <= logged["mechanism_share"] <= 1.0
    assert np.isfinite(found["composite"]).all()


def test_unknown_rewards_and_designers_with_hindsight_are_refused(states: States) -> None:
    with pytest.raises(UnknownName, match=r"Did you mean 'welfare'\?"):
        RewardSettings(weights={"welfar": 1.0})
    with pytest.raises(InvalidOption, match="only sees the market"):
        Judge(states, RewardSettings(continued_by="told_stage"))


def test_only_what_was_not_judged_just_before_is_tried(states: States, monkeypatch: pytest.MonkeyPatch) -> None:
    judge, tried = Judge(states, RewardSettings(draws=2, horizon=1)), list[int]()
    real = rewards.try_mechanisms
    monkeypatch.setattr(rewards, "try_mechanisms", lambda some, *rest: tried.append(len(some)) or real(some, *rest))
    one, other = GOOD[:2]
    first = judge.judge([one, one, other, "no"], [0, 0, 0, 1])
    again = judge.judge([other, one, one], [0, 0, 1])
    assert tried == [2, 1], "a repeated mechanism is tried once, and so is one that is known"
    assert first.rewards["composite"][0] == first.rewards["composite"][1] == again.rewards["composite"][1]
    assert first.rewards["composite"][2] == again.rewards["composite"][0] and first.rewards["format"].tolist() == [1.0, 1.0, 1.0, 0.0]
