"""What hints are worth: numbers that are known beforehand, and that everybody plays the same episodes."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeworth import catalog
from edgeworth.agents.hints.llm import LanguageModelHints
from edgeworth.agents.negotiators.scripted import AgreeFirst
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption, UnknownName
from edgeworth.evaluation import hint_measures
from edgeworth.evaluation.episodes import opened, play_episodes, seeds_with
from edgeworth.evaluation.hint_figures import draw_hint_measures, hint_finding
from edgeworth.evaluation.hint_measures import Adviser, HintMeasure, choose_seeds, measure_hints
from edgeworth.evaluation.statistics import Estimate
from edgeworth.llm.client import Completion, Failure, Messages
from edgeworth.llm.scripted import Scripted
from edgeworth.training.pocket_games import held_out
from replies import HINT, asks_for_everything, said, told

CLASSIC = BargainingConfig.from_options("classic")
SEEDS = np.arange(40, dtype=np.int64)
FEW = SEEDS[:10]


def named(name: str) -> Adviser:
    return Adviser(name, catalog.resolve("hint provider", name)())


def model(reply: Any, **options: Any) -> Adviser:
    return Adviser("llm", LanguageModelHints(Scripted(reply), **options))


def measured(*advisers: Adviser, config: BargainingConfig = CLASSIC, seeds: Any = SEEDS) -> list[HintMeasure]:
    return measure_hints(config, advisers, seeds)


def exactly(value: float, n: int) -> Estimate:
    return Estimate(value, value, value, n)


def test_the_plan_agrees_with_itself_and_keeps_all_its_value() -> None:
    (bayes,) = measured(named("bayes"))
    for estimate in (bayes.legality, bayes.same_act, bayes.same_move, bayes.over_bayes):
        assert estimate == exactly(1.0, 40)
    assert bayes.value_kept is not None and bayes.value_kept.value == 1.0
    assert (bayes.asked, bayes.without_hint, bayes.rejections, bayes.cost.replies) == (bayes.given, 0, {}, 0)


def test_without_hints_the_agent_plays_the_named_default() -> None:
    (none,) = measured(named("none"))
    played = play_episodes(CLASSIC, AgreeFirst(), 40, 0)
    assert none.share_of_maximum.value == played.reward.sum() / played.maximum.sum()
    assert none.legality.value == 0.0 and none.without_hint == none.asked > 0
    assert none.same_act is none.same_move is none.value_kept is None


def test_asking_for_everything_earns_nothing_and_is_never_what_the_plan_says() -> None:
    (with_model,) = measured(model(asks_for_everything), seeds=FEW)
    assert with_model.share_of_maximum == exactly(0.0, 10)
    assert with_model.asked == 10 * 5 and with_model.same_move == exactly(0.0, 10)
    assert with_model.notes == ()


def test_a_model_that_writes_nonsense_is_counted_by_reason_and_earns_the_default() -> None:
    none, nonsense = measured(named("none"), model(lambda messages: "Hm."))
    assert nonsense.rejections == {"no_json": nonsense.asked} and nonsense.legality.value == 0.0
    assert nonsense.share_of_maximum == none.share_of_maximum


def test_legality_is_hints_given_over_hints_asked_for() -> None:
    def shy(messages: Messages) -> str:
        return "Hm." if told(messages, "Its standing offer leaves me") == "none" else said(HINT, act_type=2)

    (half,) = measured(model(shy))
    agent_opens = int((opened(CLASSIC, SEEDS).state["opener"] == 0).sum())
    assert half.asked == 40 + agent_opens and half.given == 40
    assert half.legality.value == 40 / (40 + agent_opens) and half.rejections == {"no_json": agent_opens}


def test_a_share_that_is_another_is_the_same_act_but_not_the_same_move() -> None:
    """In one shot the plan's first word is INSIST; a model that INSISTs on everything agrees on the act alone."""
    config = BargainingConfig.from_options("one_shot")
    (firm,) = measured(
        model(lambda messages: said(HINT, act_type=1, oA=[int(n) for n in told(messages, "Pool (books, hats, balls)").split(",")])),
        config=config,
    )
    assert firm.same_act is not None and firm.same_move is not None and firm.value_kept is not None
    assert firm.asked == 80 and firm.same_act.value == 0.5 and firm.same_move.value < 0.1
    assert 0.0 < firm.value_kept.value < 1.0


def test_everybody_plays_the_same_episodes_alone_or_in_company(monkeypatch: pytest.MonkeyPatch) -> None:
    together = measured(named("random"), model(asks_for_everything), named("bayes"), seeds=FEW)
    monkeypatch.setattr(hint_measures, "BATCH", 4)
    alone = [measured(adviser, seeds=FEW)[0] for adviser in (named("random"), model(asks_for_everything), named("bayes"))]
    for one, other in zip(together, alone, strict=True):
        assert (one.share_of_maximum, one.same_act, one.over_bayes) == (other.share_of_maximum, other.same_act, other.over_bayes)


def test_replies_are_counted_with_their_tokens_and_seconds_cached_or_not(tmp_path: Path) -> None:
    def answer(messages: Messages) -> Completion:
        return Completion(asks_for_everything(messages), prompt_tokens=300, completion_tokens=20, seconds=0.5)

    def once() -> HintMeasure:
        provider = LanguageModelHints("scripted", cache=tmp_path / "replies.sqlite", client_options={"replies": answer})
        return measured(Adviser("llm", provider), seeds=FEW)[0]

    first, again = once(), once()
    assert (first.cost.prompt_tokens, first.cost.completion_tokens, first.cost.latency["p50"]) == (300.0, 20.0, 0.5)
    assert first.cost.replies == first.cost.distinct_prompts <= first.asked and first.cost.cached == 0
    assert again.cost.cached == again.cost.replies and again.cost.latency == first.cost.latency and again.model == "scripted"


def test_a_dead_model_is_noted_once_and_the_agent_plays_the_default() -> None:
    none, dead = measured(named("none"), model(lambda messages: Failure("unreachable", "No server answers.")))
    assert dead.rejections == {"no_reply": dead.asked} and dead.share_of_maximum == none.share_of_maximum
    assert len(dead.notes) == 1 and "No server answers." in dead.notes[0] and dead.cost.prompt_tokens is None


def test_where_there_is_no_plan_nothing_is_compared_and_the_reason_is_noted() -> None:
    (random,) = measured(named("random"), config=BargainingConfig.from_options(partner="boulware"))
    assert random.same_move is random.value_kept is random.over_bayes is None
    assert "No comparison with the Bayes plan: The blind plan needs one partner" in random.notes[0]


# Which episodes


def test_held_out_contexts_are_those_that_the_pocket_model_never_saw() -> None:
    seeds = choose_seeds(CLASSIC, "held_out", 30, 100)
    state = opened(CLASSIC, seeds).state
    assert len(seeds) == 30 and (np.diff(seeds) > 0).all() and seeds[0] >= 100
    assert held_out(state["counts"].astype(np.int64), state["utilities"][:, 0].astype(np.int64)).all()
    every = choose_seeds(CLASSIC, "all", int(seeds[-1]) - 99, 100)
    rows = opened(CLASSIC, every).state
    kept = held_out(rows["counts"].astype(np.int64), rows["utilities"][:, 0].astype(np.int64))
    assert every[kept].tolist() == seeds.tolist(), "none is left out"


def test_contexts_that_do_not_exist_are_refused() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'held_out'"):
        choose_seeds(CLASSIC, "heldout", 10, 0)
    with pytest.raises(InvalidOption, match=r"Among 12,288 contexts of this game 0 are of the kind that is wanted; 10 were asked for"):
        seeds_with(CLASSIC, lambda counts, utilities: np.zeros(len(counts), np.bool_), 10, 0)


# As a figure


def test_the_figure_states_its_finding(tmp_path: Path) -> None:
    rows = measured(named("none"), named("bayes"), model(asks_for_everything), seeds=FEW)
    result = {"scenario": "classic", "contexts": "all", "measures": json.loads(json.dumps([asdict(row) for row in rows]))}
    draw_hint_measures(result, tmp_path / "new" / "hints.png")
    assert (tmp_path / "new" / "hints.png").read_bytes().startswith(b"\x89PNG")
    assert hint_finding(result).startswith("Following llm earns 0.000 [0.000, 0.000] of the agent's maximum, 0.000")
    assert "10 episodes); 100.0 % of its hints are legal." in hint_finding(result)
