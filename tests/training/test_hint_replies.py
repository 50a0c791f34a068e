"""Hints of a language model for a run: what is asked by default, and asking before the first move."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeworth.agents.hints.llm import LanguageModelHints
from edgeworth.agents.hints.plan_fill import different_sides, expected_hints, fill
from edgeworth.agents.hints.plan_tree import seen_points
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.blind_plan import Plan, acceptance_chances, bayes_plan
from edgeworth.games.bargaining.contexts import Context, triple_of
from edgeworth.llm.client import Messages
from edgeworth.training import hint_replies
from edgeworth.training.hint_replies import practical, prepare
from edgeworth.training.settings import TrainSettings, settings_of
from replies import said, told

ONE_UNIT = {"scenario": "one_shot", "max_count": 1}


def insists(messages: Messages) -> str:
    return said({"act_type": 1, "oA": [0, 0, 0], "confidence": 0.7})


def settings_with(folder: Path, steps: int = 2_000_000, **options: Any) -> TrainSettings:
    hints = {"mode": "llm", "options": {"client": "scripted", "client_options": {"replies": insists}, **options}}
    return settings_of({"hints": hints, "env": ONE_UNIT, "num_train_steps": steps, "logging": {"output_dir": str(folder)}})


def test_points_are_rounded_and_what_is_not_there_is_worth_nothing() -> None:
    counts, points = np.array([[1, 2, 0], [3, 1, 1]]), np.array([[1, 10, 7], [0, 3, 8]])
    assert seen_points(counts, points, 2.0).tolist() == [[2, 10, 0], [0, 4, 8]]


def test_own_sides_that_look_alike_share_their_plans(tmp_path: Path) -> None:
    asked: list[str] = []

    def note(messages: Messages) -> str:
        asked.append(told(messages, "My points per unit"))
        return insists(messages)

    provider = LanguageModelHints("scripted", as_plan=True, grain=2.0, client_options={"replies": note})
    batch = BargainingBatch(BargainingConfig.from_options("one_shot", opens="agent"), 3)
    batch.seed(0)
    batch.reset(np.array([[2, 1, 0, 4, 2, 9, 1, 1, 1], [1, 2, 0, 1, 4, 3, 1, 1, 1], [2, 1, 0, 5, 8, 0, 1, 1, 1]], np.int16))
    provider.give(batch, np.ones(3, np.bool_))
    assert asked == ["4,2,0", "8,4,0"]


def test_plans_that_are_shared_are_asked_for_once_in_advance(tmp_path: Path) -> None:
    config = BargainingConfig.from_options("one_shot", max_count=1)
    provider = LanguageModelHints("scripted", as_plan=True, grain=2.0, client_options={"replies": insists})
    assert len(different_sides(config, 2.0)) == 56 < len(different_sides(config)) == 286
    assert fill(provider, config, at_once=20).hints == expected_hints(config, 2.0)
    assert len(different_sides(BargainingConfig(), 2.0)) == 2_600 and expected_hints(BargainingConfig(), 2.0) == 26_000
    assert (expected_hints(BargainingConfig(), 3.0), expected_hints(BargainingConfig())) == (8_160, 151_800)  # as docs/hints.md says


def test_a_grain_without_plans_is_refused() -> None:
    with pytest.raises(InvalidOption, match="grain is 2, as_plan False"):
        LanguageModelHints("scripted", grain=2.0, client_options={"replies": []})


def test_a_run_asks_for_shared_plans_through_a_file_unless_told_otherwise(tmp_path: Path) -> None:
    options = practical(settings_with(tmp_path)).hints.options
    assert (options["as_plan"], options["grain"], options["cache"]) == (True, 3.0, f"{tmp_path}/hint_replies.sqlite")
    live = practical(settings_with(tmp_path, as_plan=False, cache="mine.sqlite")).hints.options
    assert "grain" not in live and (live["as_plan"], live["cache"]) == (False, "mine.sqlite")
    assert practical(settings_of({})) == settings_of({})


def test_a_long_run_has_its_hints_before_the_first_move_and_repeats_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hint_replies, "AT_ONCE", 8)
    heard: list[str] = []
    settings = practical(settings_with(tmp_path))
    prepare(settings, heard.append)
    prepare(settings, heard.append)
    assert f"up to {expected_hints(settings.game, 3.0):,} questions" in heard[0]
    assert " 0 were asked" in heard[-1] and " 0 were asked" not in heard[-3]
    assert sum("min for the rest" in line for line in heard) == 1


def test_the_estimate_leaves_out_what_the_file_holds_and_the_loading_of_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, loading = [0.0], [600.0]

    def slow(messages: Messages) -> str:
        """A model that is loaded for ten minutes, and then takes three to answer a question."""
        clock[0] += 180.0 + (loading.pop() if loading else 0.0)
        return insists(messages)

    heard: list[str] = []
    shown: list[tuple[str, int, int]] = []
    monkeypatch.setattr(hint_replies, "AT_ONCE", 4)
    monkeypatch.setattr(hint_replies, "perf_counter", lambda: clock[0])
    settings = practical(settings_with(tmp_path, client_options={"replies": slow}))
    provider = LanguageModelHints(**settings.hints.options)
    known = fill(provider, settings.game, 4, limit=6).calls
    loading.append(600.0)
    prepare(settings, heard.append, lambda *state: shown.append(state))
    total = expected_hints(settings.game, 3.0)
    (minutes,) = (int(line.split()[1]) for line in heard if "min for the rest" in line)
    assert 0 < known < total / 2 and 3 * (total - 12) <= minutes <= 3 * total
    assert shown[-1] == (f"{total:,} of {total:,} hints", total, total)


@pytest.mark.parametrize("change", [{"steps": 10}, {"as_plan": False}, {"replay": True}], ids=str)
def test_hints_are_not_asked_in_advance_where_the_run_will_not_need_them(tmp_path: Path, change: dict[str, Any]) -> None:
    heard: list[str] = []
    prepare(practical(settings_with(tmp_path, **change)), heard.append)
    assert not heard


def test_a_plan_for_rounded_points_is_worth_nearly_as_much() -> None:
    batch, rng = BargainingBatch(BargainingConfig(opens="agent"), 1), np.random.default_rng(0)
    best = rounded = 0.0
    for _ in range(60):
        counts, points = rng.integers(1, 5, 3), rng.integers(1, 11, 3)
        seen = seen_points(counts[None], points[None], 3.0)[0]
        context, alike = (Context(triple_of(counts), triple_of(own), (0, 0, 0)) for own in (points, seen))
        best += bayes_plan(context, batch, 0).value
        rounded += value_of_offers(bayes_plan(alike, batch, 0), context, batch)
    assert best * 0.98 < rounded <= best


def value_of_offers(plan: Plan, context: Context, batch: BargainingBatch) -> float:
    left, value = 1.0, 0.0
    for offer, chance in zip(plan.offers, acceptance_chances(plan, context, batch), strict=True):
        value += left * chance * float(np.dot(offer.share, context.my_utilities))
        left *= 1.0 - chance
    return value + (left * float(np.dot(np.minimum(context.counts, 1), context.my_utilities)) if plan.agrees else 0.0)
