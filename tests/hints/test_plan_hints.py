"""Hints asked for as a plan: how talks are told, that talks which agree share a reply, and that a cache can be filled beforehand."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bargaining_table import POOL, begun, begun_with
from edgeworth.agents.hints.advice import AdviceBook
from edgeworth.agents.hints.llm import LanguageModelHints
from edgeworth.agents.hints.plan_fill import different_sides, fill
from edgeworth.agents.hints.plan_tree import wanted_order
from edgeworth.config import BargainingConfig
from edgeworth.dialogues.hint_prompt import hint_variables, load_hint_prompt, rules_words
from edgeworth.errors import InvalidOption, NotRecorded
from edgeworth.games.bargaining import rules
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import Context
from edgeworth.games.bargaining.hints import Hint
from edgeworth.games.bargaining.history import Move, history_of
from edgeworth.games.bargaining.vocabulary import AGENT, PARTNER, Act
from edgeworth.llm.client import Failure, Messages
from edgeworth.llm.scripted import Scripted
from edgeworth.protocol import Reason, Rejection
from replies import said, told

LAST_MOVES = 4


def everybody(batch: BargainingBatch) -> Any:
    return np.ones(batch.size, np.bool_)


def adviser(messages: Messages) -> str:
    """Says what follows from the whole prompt: INSIST on one unit less with every move, AGREE near the end, at times DISAGREE or END."""
    pool = [int(n) for n in told(messages, "Pool (books, hats, balls)").split(",")]
    left, offer = int(told(messages, "Moves left")), told(messages, "Its standing offer leaves me")
    chance = sum(messages[-1].content.encode()) % 10
    if left <= LAST_MOVES and offer != "none":
        return said({"act_type": 2, "oA": [0, 0, 0], "confidence": 0.9})
    if chance == 0:
        return said({"act_type": 3, "oA": [0, 0, 0], "confidence": 0.1})
    if chance == 1:
        return said({"act_type": 4, "oA": pool, "confidence": 0.2})
    if chance == 2:
        return "no hint"
    return said({"act_type": chance % 2, "oA": [max(0, pool[0] - chance % 3), *pool[1:]], "confidence": chance / 10})


def verdict_of(text: str) -> dict[str, Any] | None:
    return json.loads(text) if text.startswith("{") else None


def told_by_hand(batch: BargainingBatch, slot: int) -> tuple[str, list[int]]:
    """The user's message at an episode's moment, and its order of types, written out move by move."""
    view, moves = batch.views[slot].tolist(), list(history_of(batch.state["history"][slot], int(batch.state["turn"][slot])))
    counts, points = view[0:3], view[3:6]
    order = sorted(range(3), key=lambda k: (-points[k], -counts[k], k))

    def turned(share: Any) -> Any:
        return None if share is None else tuple(share[k] for k in order)

    pool, worth = turned(counts), turned(points)
    shown: list[Move] = []
    for move in [*moves, None]:
        if move is not None and move.side == PARTNER:
            shown.append(Move(PARTNER, move.act, turned(move.share)))
            continue
        offers = [m.share for m in shown if m.side == PARTNER and m.share is not None]
        offer = None if not offers else tuple(n - s for n, s in zip(pool, offers[-1], strict=True))
        heard = [m.act for m in shown if m.side == PARTNER]
        observation = {
            "counts": pool,
            "my_utilities": worth,
            "last_partner_act": heard[-1] if heard else 0,
            "last_partner_offer_for_me": offer or (0, 0, 0),
            "turns_remaining": batch.config.max_turns - len(shown),
        }
        info = {"partner_has_spoken": bool(heard), "action_mask": (1, 1, offer is not None, 1, 1), "history": shown}
        messages = load_hint_prompt().messages(hint_variables(observation, info, rules=rules_words(batch.config)))
        if move is None:
            return messages[-1].content, order
        advice = verdict_of(adviser(messages))
        if advice is not None and advice["act_type"] in (0, 1):
            shown.append(Move(AGENT, advice["act_type"], tuple(advice["oA"])))
        elif advice is not None:
            nearest = {2: offer, 3: pool, 4: tuple(advice["oA"])}
            shown.append(Move(AGENT, 0, nearest[advice["act_type"]]))
        else:
            shown.append(Move(AGENT, move.act, turned(move.share)))
    raise AssertionError("unreachable")


@pytest.mark.parametrize("options", [{}, {"scenario": "lewis"}, {"max_turns": 5, "partner": "boulware"}, {"disagree": "passes"}], ids=str)
@pytest.mark.parametrize("k", [1, 3])
def test_talks_are_told_as_a_plan_written_out_by_hand(options: dict[str, Any], k: int) -> None:
    batch, client = begun(40, seed=2, **options), Scripted(adviser)
    provider = LanguageModelHints(client, as_plan=True)
    for step in range(6):
        if step % k == 0:
            hints = provider.give(batch, everybody(batch))
            asked = {messages[-1].content: adviser(messages) for messages in client.asked}
            for slot in range(batch.size):
                content, order = told_by_hand(batch, slot)
                advice, hint = verdict_of(asked[content]), hints.at(slot)
                assert (advice is None) == (hint is None)
                if advice is not None and hint is not None:
                    share = tuple(hint.share[k] for k in order) if advice["act_type"] not in (2, 3) else tuple(advice["oA"])
                    assert (hint.act, share, hint.confidence) == (
                        advice["act_type"],
                        tuple(advice["oA"]),
                        pytest.approx(advice["confidence"]),
                    )
        batch.step(*batch.random_actions(), rules.SAME_STEP)
    assert len(client.asked) == len({messages[-1].content for messages in client.asked}), "nothing is asked twice"


def test_six_names_of_one_pool_are_one_question_and_its_share_is_put_back() -> None:
    client = Scripted([said({"act_type": 1, "oA": [1, 2, 0], "confidence": 0.5})])
    provider = LanguageModelHints(client, as_plan=True)
    counts, points = (1, 2, 3), (9, 4, 4)
    for order in itertools.permutations(range(3)):
        batch = begun_with(Context(tuple(counts[k] for k in order), tuple(points[k] for k in order), (1, 1, 1)))  # type: ignore[arg-type]
        hint = provider.give(batch, everybody(batch)).at(0)
        assert hint is not None
        by_type = {(points[k], counts[k]): hint.share[place] for place, k in enumerate(order)}
        assert by_type == {(9, 1): 1, (4, 3): 2, (4, 2): 0}, "the type of three units stands before that of two"
    assert len(client.asked) == 1 and told(client.asked[0], "Pool (books, hats, balls)") == "1,3,2"


def test_the_order_is_that_in_which_networks_read() -> None:
    counts, points = np.array([[1, 2, 3], [2, 2, 1]]), np.array([[4, 9, 4], [5, 5, 5]])
    assert wanted_order(counts, points).tolist() == [[1, 2, 0], [0, 1, 2]]


def test_what_i_did_instead_of_following_changes_nothing() -> None:
    client = Scripted(lambda messages: said({"act_type": 0, "oA": [0, 0, 0], "confidence": 0.5}))
    provider, batch = LanguageModelHints(client, as_plan=True), begun_with(POOL, size=3)
    provider.give(batch, everybody(batch))
    batch.step(np.array([0, 1, 0]), np.array([[2, 1, 3], [2, 1, 2], [1, 1, 3]]))
    provider.give(batch, everybody(batch))
    assert len(client.asked) == 2 and "me PROPOSE 0,0,0" in client.asked[1][-1].content and "2,1" not in client.asked[1][-1].content


@pytest.mark.parametrize(("act", "told_as"), [(3, "me PROPOSE 1,3,2"), (4, "me PROPOSE 0,1,1")], ids=["DISAGREE", "END"])
def test_advice_that_would_have_ended_the_talks_is_told_as_the_nearest_offer(act: int, told_as: str) -> None:
    client = Scripted(lambda messages: said({"act_type": act, "oA": [0, 1, 1], "confidence": 0.5}))
    provider, batch = LanguageModelHints(client, as_plan=True), begun_with(POOL, size=2)
    provider.give(batch, everybody(batch))
    batch.step(np.array([0, 0]), np.array([[2, 1, 2], [2, 1, 1]]))
    provider.give(batch, everybody(batch))
    assert len(client.asked) == 2 and told_as in client.asked[1][-1].content


def test_after_a_reply_that_was_no_hint_the_real_move_is_told() -> None:
    client = Scripted(lambda messages: "no hint")
    provider, batch = LanguageModelHints(client, as_plan=True), begun_with(POOL, size=2)
    provider.give(batch, everybody(batch))
    batch.step(np.array([0, 1]), np.array([[2, 1, 3], [2, 1, 2]]))
    provider.give(batch, everybody(batch))
    assert "me PROPOSE 1,3,2" in client.asked[1][-1].content and "me INSIST 1,2,2" in client.asked[2][-1].content


def test_hints_that_were_not_due_are_asked_for_when_a_later_one_needs_them() -> None:
    every, third = Scripted(adviser), Scripted(adviser)
    batch = begun(30, seed=7)
    always, seldom = LanguageModelHints(every, as_plan=True), LanguageModelHints(third, as_plan=True)
    for _ in range(3):
        always.give(batch, everybody(batch))
        batch.step(*batch.random_actions(), rules.SAME_STEP)
    one, other = always.give(batch, everybody(batch)), seldom.give(batch, everybody(batch))
    assert one.features.tobytes() == other.features.tobytes()
    assert {m[-1].content for m in third.asked} <= {m[-1].content for m in every.asked}


def test_a_reply_that_never_came_is_asked_for_again_and_a_bad_one_is_not() -> None:
    replies: list[Any] = [Failure("timeout", "Late."), "no hint"]
    client = Scripted(lambda messages: replies.pop(0))
    provider, batch = LanguageModelHints(client, as_plan=True), begun_with(POOL, size=2)
    with pytest.warns(UserWarning, match="Late"):
        first = provider.give(batch, everybody(batch))
    later = [provider.give(batch, everybody(batch)) for _ in range(2)]
    assert {r.reason for r in first.rejections.values()} == {Reason.NO_REPLY}
    assert {r.reason for hints in later for r in hints.rejections.values()} == {Reason.NO_JSON} and not replies


def test_a_consultation_of_a_plan_shows_what_was_asked_and_means_the_episodes_types() -> None:
    provider, batch = LanguageModelHints(Scripted(adviser), as_plan=True), begun(20, seed=4)
    hints = provider.give(batch, everybody(batch))
    for slot, consulted in enumerate(provider.consult(batch, everybody(batch))):
        verdict = consulted.verdict
        assert consulted.messages[-1].content == told_by_hand(batch, slot)[0]
        hint = hints.at(slot)
        assert isinstance(verdict, Rejection) if hint is None else verdict[:2] == hint[:2]


def test_a_book_of_advice_gives_back_what_was_written_down() -> None:
    book, reason = AdviceBook(), Rejection(Reason.NO_JSON, "No.")
    numbers = [book.add(Hint(Act.INSIST, (n % 3, 1, 0), 0.5)) for n in range(3000)]
    assert book.add(reason) == book.add(reason) == 3000 == len(book) - 1 and book[3000] == reason
    assert numbers == list(range(3000)) and book[2999] == Hint(Act.INSIST, (2, 1, 0), 0.5)
    hints = book.lay_out(begun_with(POOL, size=3), np.array([True, False, True]), np.array([3000, 1]), np.array([[0, 1, 2], [2, 1, 0]]))
    assert hints.given.tolist() == [False, False, True] and hints.rejections == {0: reason}
    assert hints.at(2) == Hint(Act.INSIST, (0, 1, 1), 0.5)


# Filling


def offers_only(messages: Messages) -> str:
    """Offers, and AGREE near the end: a plan as a good adviser gives it."""
    if int(told(messages, "Moves left")) <= LAST_MOVES and told(messages, "Its standing offer leaves me") != "none":
        return said({"act_type": 2, "oA": [0, 0, 0], "confidence": 0.9})
    return said({"act_type": 1, "oA": [1, 0, 0], "confidence": 0.7})


def test_every_own_side_is_asked_about_once_whatever_its_names() -> None:
    assert len(different_sides(BargainingConfig())) == 15_180 and len(different_sides(BargainingConfig.from_options("lewis"))) == 80
    small = BargainingConfig.from_options(max_count=1)
    assert len(different_sides(small)) == 286  # three of eleven utilities, in any order
    with pytest.raises(InvalidOption, match="reveal nothing"):
        different_sides(BargainingConfig.from_options(partner="boulware"))


@pytest.mark.parametrize("scenario", ["lewis", "one_shot"])
def test_what_was_filled_answers_all_that_talks_ask_offline(tmp_path: Path, scenario: str) -> None:
    config, path = BargainingConfig.from_options(scenario, max_count=None if scenario == "lewis" else 1), tmp_path / "replies.sqlite"
    options = {"client": "scripted", "cache": path, "as_plan": True}
    provider = LanguageModelHints(**options, client_options={"replies": offers_only})
    found = fill(provider, config, at_once=50)
    provider.close()
    assert found.prompts == found.hints == found.calls and (found.rejected, found.beyond) == (0, 0)
    again = LanguageModelHints(**options, client_options={"replies": []})
    assert fill(again, config, at_once=7).calls == 0
    offline = LanguageModelHints(**options, replay=True, client_options={"replies": []})
    batch = BargainingBatch(config, 100)
    batch.seed(3)
    batch.reset()
    for _ in range(12):
        assert offline.give(batch, everybody(batch)).given.all()
        batch.step(*batch.random_actions(), rules.SAME_STEP)


def test_a_limit_asks_about_some_and_what_is_missing_is_told(tmp_path: Path) -> None:
    config, path = BargainingConfig.from_options("lewis"), tmp_path / "replies.sqlite"
    provider = LanguageModelHints("scripted", cache=path, as_plan=True, client_options={"replies": offers_only})
    assert fill(provider, config, at_once=4, limit=8).own_sides == 8
    provider.close()
    offline = LanguageModelHints("scripted", cache=path, replay=True, as_plan=True, client_options={"replies": []})
    with pytest.raises(NotRecorded, match="Run once without replay"):
        offline.give(begun(200, contexts="lewis"), np.ones(200, np.bool_))
    with pytest.raises(InvalidOption, match="as_plan"):
        fill(LanguageModelHints(Scripted(offers_only)), config, at_once=4)


def test_the_pocket_models_plans_are_replayed_without_loading_it(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    provider = LanguageModelHints(cache=path, as_plan=True)
    found = fill(provider, BargainingConfig.from_options("lewis", max_turns=3, opens="agent"), at_once=2, limit=2)
    provider.close()
    assert found.calls == found.hints == 4 and found.rejected == 0
    code = (
        "import sys; from edgeworth.agents.hints.llm import LanguageModelHints; from edgeworth.agents.hints.plan_fill import fill;"
        "from edgeworth.config import BargainingConfig;"
        f"p = LanguageModelHints(cache={str(path)!r}, replay=True, as_plan=True);"
        "f = fill(p, BargainingConfig.from_options('lewis', max_turns=3, opens='agent'), 2, 2);"
        "assert f.calls == 0 and f.prompts == 4; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
