"""What each hint provider is worth, and what it says about itself; the contract tests hold for all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bargaining_table import begun, begun_with, looks_like_chance
from edgeworth.agents.hints import bayes
from edgeworth.agents.hints.advice import hints_of
from edgeworth.agents.hints.baselines import Expert, NoHints, RandomHints
from edgeworth.agents.hints.bayes import Bayes
from edgeworth.agents.negotiators.bundled import Bundled
from edgeworth.agents.negotiators.exact import Bayes as BayesNegotiator
from edgeworth.agents.negotiators.negotiator import Moves
from edgeworth.agents.questions import ask_once
from edgeworth.config import BargainingConfig
from edgeworth.errors import EdgeworthError, FallbackUsed
from edgeworth.evaluation.episodes import play_episodes
from edgeworth.games.bargaining import rules
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.blind_plan import Offer, Plan, acceptance_chances, bayes_plan
from edgeworth.games.bargaining.contexts import Context
from edgeworth.games.bargaining.hints import Hint, hints_of_moves
from edgeworth.games.bargaining.prior import partner_types
from edgeworth.games.bargaining.vocabulary import Act
from edgeworth.protocol import Reason, Rejection


def everybody(batch: BargainingBatch) -> Any:
    return np.ones(batch.size, np.bool_)


class Follower:
    """A negotiator that does what the hints say."""

    knows_partner = False

    def __init__(self, provider: Any) -> None:
        self.provider = provider

    def choose(self, batch: BargainingBatch) -> Moves:
        hints = self.provider.give(batch, batch.masks.any(axis=1))
        return hints.acts, hints.shares


# Asking and laying out


def test_every_different_question_is_put_once_and_all_in_one_call() -> None:
    calls: list[list[str]] = []

    def answer(questions: list[str]) -> list[str]:
        calls.append(questions)
        return [question.upper() for question in questions]

    assert ask_once(["a", "b", "a", "a", "b"], answer) == ["A", "B", "A", "A", "B"]
    assert calls == [["a", "b"]]


def test_where_nobody_asks_nobody_is_asked() -> None:
    assert ask_once([], lambda questions: pytest.fail("asked")) == []


def test_answers_are_laid_out_in_the_order_of_those_who_are_due() -> None:
    batch = begun_with(Context((2, 1, 3), (1, 5, 1), (2, 3, 1)), size=4)
    refused = Rejection(Reason.NO_REPLY, "Nobody answered.")
    hints = hints_of(batch, np.array([False, True, True, True]), [Hint(Act.INSIST, (1, 1, 0), 0.5), refused, Hint(Act.END, (2, 1, 3), 1.0)])
    assert hints.given.tolist() == [False, True, False, True]
    assert hints.rejections == {2: refused}
    assert (hints.at(1), hints.at(2), hints.at(3)) == (Hint(Act.INSIST, (1, 1, 0), 0.5), None, Hint(Act.END, (2, 1, 3), 1.0))


@pytest.mark.parametrize(
    ("hint", "reason"),
    [
        (Hint(Act.AGREE, (0, 0, 0), 0.5), Reason.MASKED_ACT),
        (Hint(Act.PROPOSE, (3, 0, 0), 0.5), Reason.OVER_CAP),
        (Hint(Act.PROPOSE, (0, -1, 0), 0.5), Reason.OVER_CAP),
        (Hint(Act.PROPOSE, (0, 0, 0), 1.5), Reason.OUT_OF_RANGE),
        (Hint(Act.PROPOSE, (0, 0, 0), float("nan")), Reason.OUT_OF_RANGE),
        (Hint(7, (0, 0, 0), 0.5), Reason.OUT_OF_RANGE),  # type: ignore[arg-type]
        (Hint(-1, (0, 0, 0), 0.5), Reason.OUT_OF_RANGE),  # type: ignore[arg-type]
    ],
    ids=str,
)
def test_a_hint_that_the_moment_forbids_becomes_a_rejection(hint: Hint, reason: Reason) -> None:
    batch = begun_with(Context((2, 1, 3), (1, 5, 1), (2, 3, 1)), size=2)
    hints = hints_of(batch, everybody(batch), [Hint(Act.PROPOSE, (2, 1, 3), 1.0), hint])
    assert hints.given.tolist() == [True, False]
    assert not hints.features[1].any() and hints.rejections[1].reason is reason


def test_a_hint_for_talks_that_are_over_becomes_a_rejection() -> None:
    batch = begun_with(Context((2, 1, 3), (1, 5, 1), (2, 3, 1)))
    batch.step(np.array([3]), np.zeros((1, 3), np.int64))
    hints = hints_of_moves(batch, everybody(batch), np.zeros(1, np.int64), np.zeros((1, 3), np.int64), np.ones(1, np.float32))
    assert hints.rejections[0].reason is Reason.MASKED_ACT and "the negotiation is over" in hints.rejections[0].sentence


# None, random, expert


def test_no_hints_are_no_hints() -> None:
    batch = begun(5)
    hints = NoHints().give(batch, everybody(batch))
    assert not hints.given.any() and not hints.features.any() and not hints.rejections


def test_random_hints_are_uniform_over_the_legal_acts_and_over_the_shares() -> None:
    batch = begun_with(Context((2, 1, 3), (1, 5, 1), (2, 3, 1)), size=20_000, opens="partner")
    batch.seed(11)
    batch.reset(np.tile(np.array((2, 1, 3, 1, 5, 1, 2, 3, 1), np.int16), (batch.size, 1)))
    hints = RandomHints().give(batch, everybody(batch))
    acts, shares = hints.acts, hints.shares
    assert looks_like_chance(np.bincount(acts, minlength=5))
    stated = np.isin(acts, (0, 1, 4))
    assert not shares[~stated].any() and (hints.confidences == 0.5).all()
    joint = shares[stated] @ np.array([8, 4, 1])  # every share of the 24 has a number of its own
    assert looks_like_chance(np.bincount(joint, minlength=24)) and len(np.unique(joint)) == 24


def test_without_an_offer_random_hints_are_uniform_over_four_acts() -> None:
    batch = begun(20_000, seed=12, opens="agent")
    counts = np.bincount(RandomHints().give(batch, everybody(batch)).acts, minlength=5)
    assert counts[2] == 0 and looks_like_chance(np.delete(counts, 2))


def test_random_hints_have_nothing_to_do_with_random_actions() -> None:
    batch = begun(20_000, seed=13, opens="partner")
    hinted, played = RandomHints().give(batch, everybody(batch)).acts, batch.random_actions()[0]
    assert looks_like_chance(np.bincount(hinted * 5 + played, minlength=25))


def test_random_hints_differ_from_step_to_step_and_come_back_with_the_seed() -> None:
    batch, again = begun(200, seed=14), begun(200, seed=14)
    seen = []
    for _ in range(3):
        seen.append(RandomHints().give(batch, everybody(batch)).features.tobytes())
        assert RandomHints().give(again, everybody(again)).features.tobytes() == seen[-1]
        actions = batch.random_actions()
        batch.step(*actions, rules.SAME_STEP)
        again.step(*actions, rules.SAME_STEP)
    assert len(set(seen)) == 3


def test_an_expert_without_a_checkpoint_is_the_one_in_the_box() -> None:
    batch, expert = begun(40), Expert()
    expert.check(batch)
    hints = expert.give(batch, everybody(batch))
    acts, shares = Bundled().choose(batch)
    assert hints.acts.tolist() == acts.tolist() and (hints.shares == shares).all() and expert.counters == {"expert": "bundled: classic"}


def test_where_no_expert_knows_the_game_the_greedy_rule_stands_in_and_says_so() -> None:
    batch, expert = begun(5, max_count=7), Expert()
    with pytest.warns(FallbackUsed, match="No bundled expert knows pools with up to 7 units.*greedy rule, to ask for everything"):
        expert.check(batch)
    hints = expert.give(batch, everybody(batch))
    assert hints.acts.tolist() == [Act.PROPOSE] * 5 and (hints.shares == batch.views[:, 0:3]).all()
    assert expert.counters == {"expert": "greedy rule"}


def test_an_expert_that_was_named_and_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EdgeworthError, match="nowhere"):
        Expert(str(tmp_path / "nowhere")).check(begun(1))


def test_following_the_expert_earns_nearly_what_the_plan_does() -> None:
    by_expert, by_bayes = (play_episodes(BargainingConfig(), Follower(provider), 400, seed=1) for provider in (Expert(), Bayes()))
    assert by_expert.reward.mean() > 0.95 * by_bayes.reward.mean()


# Bayes


@pytest.mark.parametrize("options", [{}, {"contexts": "lewis"}, {"max_turns": 4, "opens": "agent"}, {"partner": "walk_away"}], ids=str)
def test_following_bayes_hints_earns_what_the_bayes_negotiator_earns(options: dict[str, Any]) -> None:
    config = BargainingConfig.from_options(**options)
    followed, own = (play_episodes(config, player, 60, seed=1) for player in (Follower(Bayes()), BayesNegotiator()))
    np.testing.assert_array_equal(followed.reward, own.reward)


def test_following_random_hints_earns_less() -> None:
    config = BargainingConfig()
    by_bayes, by_chance = (play_episodes(config, Follower(provider), 100, seed=1) for provider in (Bayes(), RandomHints()))
    assert by_bayes.reward.mean() > 2 * by_chance.reward.mean()


def test_the_confidence_of_an_offer_is_the_chance_that_it_is_taken() -> None:
    pool = Context((2, 1, 3), (1, 5, 1), (0, 0, 0))
    batch = begun_with(pool)
    plan = bayes_plan(pool, batch, opener=0)
    chances = acceptance_chances(plan, pool, batch)
    types, counts = partner_types(pool, batch), np.array(pool.counts)
    for offer, chance in zip(plan.offers, chances, strict=True):
        threshold = 5_000 if offer.act == Act.INSIST else 5_500
        taken = 10_000 * (types @ (counts - np.array(offer.share))) >= threshold * (types @ counts)
        assert chance == pytest.approx(taken.mean())
        types = types[~taken]
    hints = Bayes().give(batch, everybody(batch))
    assert hints.at(0) == Hint(plan.offers[0].act, plan.offers[0].share, pytest.approx(chances[0]))


def test_where_everybody_would_have_agreed_before_the_chance_is_that_of_all() -> None:
    pool = Context((1, 1, 1), (1, 1, 1), (0, 0, 0))
    nothing = Offer(Act.INSIST, (0, 0, 0))
    assert acceptance_chances(Plan((nothing, nothing), True, 0.0), pool, begun_with(pool)) == (1.0, 1.0)


def test_the_last_word_of_a_plan_is_certain() -> None:
    batch = begun_with(Context((2, 1, 3), (1, 5, 1), (10, 10, 10)), max_turns=4)
    provider = Bayes(offers=1)
    batch.step(np.zeros(1, np.int64), batch.views[:, :3].astype(np.int64))
    assert provider.give(batch, everybody(batch)).at(0) == Hint(Act.AGREE, (0, 0, 0), 1.0)


def test_a_situation_is_planned_once_however_many_are_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[Any] = []
    plan = bayes.planned_hints
    monkeypatch.setattr(bayes, "BOOKS", {})
    monkeypatch.setattr(
        bayes, "planned_hints", lambda situation, batch, offers: planned.append(situation) or plan(situation, batch, offers)
    )
    batch = begun_with(Context((2, 1, 3), (1, 5, 1), (2, 3, 1)), size=50)
    for _ in range(3):
        Bayes().give(batch, everybody(batch))
    assert planned == [(0, (2, 1, 3), (1, 5, 1))]


def test_plans_are_kept_for_whoever_asks_next_under_the_same_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = begun(60, seed=3)
    first = Bayes().give(batch, everybody(batch))
    monkeypatch.setattr(bayes, "planned_hints", lambda *asked: pytest.fail("planned again"))
    assert Bayes().give(batch, everybody(batch)).features.tobytes() == first.features.tobytes()
    with pytest.raises(pytest.fail.Exception, match="planned again"):
        Bayes().give(begun(60, seed=3, discount=0.9), everybody(batch))


@pytest.mark.parametrize("options", [{}, {"scenario": "lewis"}, {"scenario": "discounted"}, {"insist_price": 0.5, "min_count": 0}], ids=str)
def test_a_hint_looked_up_is_the_plan_of_its_own_episode(options: dict[str, Any]) -> None:
    batch, provider = begun(25, seed=9, **options), Bayes()
    for _ in range(4):
        hints = provider.give(batch, everybody(batch))
        for slot, view in enumerate(batch.views.tolist()):
            made, opener = divmod(batch.config.max_turns - view[16], 2)
            plan = bayes.planned_hints((opener, tuple(view[:3]), tuple(view[3:6])), batch, None)
            act, share, confidence = plan[min(made, len(plan) - 1)]
            assert hints.at(slot) == (act, share, pytest.approx(confidence))
        batch.step(*batch.random_actions(), rules.SAME_STEP)


def test_a_context_that_the_source_never_draws_has_no_plan() -> None:
    batch = begun_with(Context((1, 1, 1), (9, 1, 1), (9, 1, 1)), contexts="lewis")
    hints = Bayes().give(batch, everybody(batch))
    assert (
        hints.rejections[0].reason is Reason.NO_REPLY and "There is no plan: No context of source 'lewis'" in hints.rejections[0].sentence
    )
