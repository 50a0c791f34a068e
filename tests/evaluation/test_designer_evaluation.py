"""Trained designers beside those that they have to beat: measured on scripts whose worth is known."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeworth.agents.designers.bundled import bundled_mechanism
from edgeworth.agents.designers.design_prompt import mechanism_json
from edgeworth.agents.designers.designer import play
from edgeworth.agents.designers.fixed import BestConstant, InformedGreedy
from edgeworth.agents.designers.informed import ToldStage
from edgeworth.agents.designers.language_model import LanguageModel
from edgeworth.evaluation import designer_evaluation
from edgeworth.evaluation.designer_evaluation import CELLS, Cell, CellScores, Entrant, Played, evaluate, play_cell, references
from edgeworth.evaluation.designer_figures import draw_episodes, draw_evaluation, evaluation_finding
from edgeworth.evaluation.designer_targets import AFTER, BEFORE, FREE, POLICY, by_population, result_of, share_of_the_way, targets
from edgeworth.evaluation.yardstick import TOLD_STAGE
from edgeworth.llm.client import Counted, Messages
from edgeworth.llm.scripted import Scripted

EPISODES = 40
STAGES, HELD_OUT, FOUR, _ = CELLS
BEST = mechanism_json(bundled_mechanism("stages"))
GREEDY = mechanism_json(bundled_mechanism("informed_greedy"))
ILLEGAL = re.sub('"reserve_price": [0-9.]+', '"reserve_price": 4.3', BEST)


def model(reply: str | list[str]) -> LanguageModel:
    """A language model that always writes one mechanism, or several in turn."""
    if isinstance(reply, str):
        return LanguageModel(Counted(Scripted(lambda messages: reply)))
    return LanguageModel(Counted(Scripted(lambda messages: reply[_number(messages) % len(reply)])))


def _number(messages: Messages) -> int:
    return len(messages[-1].content)


def entrant(name: str, designer: Any, cells: tuple[Cell, ...] = (STAGES, HELD_OUT), slow: bool = True) -> Entrant:
    return Entrant(name, lambda: designer, EPISODES, cells, slow)


@pytest.fixture(scope="module")
def found() -> list[CellScores]:
    entrants = [
        entrant(POLICY, BestConstant("stages"), slow=False),
        entrant(f"{BEFORE} (script)", model(GREEDY)),
        entrant(f"{AFTER} (script)", model(BEST)),
        entrant(f"{AFTER} (script){FREE}", model(ILLEGAL), (STAGES,)),
    ]
    return evaluate(entrants, [STAGES, HELD_OUT], EPISODES, 3)


def row(result: dict[str, Any], cell: Cell, name: str) -> dict[str, Any]:
    return next(row for row in result["populations"][cell.name] if row["designer"] == name)


def target(found: list[CellScores], words: str) -> Any:
    return next(each for each in targets(found) if words in each.target)


def test_a_model_that_writes_a_mechanism_scores_as_that_mechanism_does(found: list[CellScores]) -> None:
    for scores in found:
        for name, designer in ((AFTER, BestConstant("stages")), (BEFORE, InformedGreedy())):
            alone = play(designer, scores.cell.config, EPISODES, 3).mean(axis=1)
            assert np.array_equal(scores.played[f"{name} (script)"].scores, alone)


def test_the_best_constant_has_gone_none_of_the_way_and_the_told_designer_all_of_it(found: list[CellScores]) -> None:
    stages = found[0]
    constant = stages.best("best constant")
    assert constant is not None and stages.played[constant].scores.mean() >= stages.played["best constant for the stages"].scores.mean()
    nothing, everything = share_of_the_way(stages, constant), share_of_the_way(stages, TOLD_STAGE)
    assert nothing is not None and nothing.value == nothing.high == 0.0
    assert everything is not None and everything.value == everything.low == 1.0
    told = play(ToldStage(), STAGES.config, EPISODES, 3).mean(axis=1)
    assert np.array_equal(stages.played[TOLD_STAGE].scores, told)


def test_targets_are_judged_by_paired_differences(found: list[CellScores]) -> None:
    met = {each.target: each.met for each in targets(found)}
    assert not target(found, "stages, n = 8: g").met and target(found, f"{AFTER} (script), stages, n = 8: over {BEFORE}").met
    assert target(found, f"{AFTER} (script): legal replies, constrained").met
    assert not target(found, f"{FREE}: legal replies").met and target(found, f"{FREE}: legal replies").found.value == 0.0
    assert not met[f"{POLICY}, stages, n = 8: g"]
    assert not any(name.startswith(BEFORE) for name in met)


def test_every_held_out_population_is_compared_with_informed_greedy(found: list[CellScores]) -> None:
    held_out = found[1]
    each = by_population(held_out, f"{AFTER} (script)", "informed_greedy")
    assert set(each) <= set(held_out.recipe_names) and sum(estimate.n for estimate in each.values()) <= EPISODES
    assert target(found, "in each of").found == min(each.values(), key=lambda estimate: estimate.value)
    itself = by_population(held_out, f"{BEFORE} (script)", "informed_greedy")
    assert all(estimate.value == 0.0 for estimate in itself.values())


def test_illegal_replies_are_counted_by_reason(found: list[CellScores]) -> None:
    rows = result_of(found)
    free = row(rows, STAGES, f"{AFTER} (script){FREE}")
    assert free["legal"]["value"] == 0.0 and free["reasons"] == {"out_of_range": 10 * EPISODES}
    assert row(rows, STAGES, f"{AFTER} (script)")["legal"]["value"] == 1.0 and row(rows, STAGES, POLICY)["legal"] is None


def test_permitted_coalitions_are_counted_in_markets_of_stage_four_alone() -> None:
    open_ended = re.sub('"coalition_policy": "[a-z_]+"', '"coalition_policy": "allow"', BEST)
    played = evaluate([entrant(f"{AFTER} (open)", model(open_ended))], [STAGES], EPISODES, 3)
    rule = target(played, "coalitions allowed on stage 4")
    assert not rule.met and rule.found.value == 1.0 and rule.found.n == int((played[0].recipes == 4).sum()) < EPISODES


def test_what_is_played_does_not_depend_on_the_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    whole = play_cell(model([BEST, GREEDY, ILLEGAL]), STAGES, 15, 0)
    monkeypatch.setattr(designer_evaluation, "SLICE", 4)
    sliced = play_cell(model([BEST, GREEDY, ILLEGAL]), STAGES, 15, 0, counted.append)
    assert np.array_equal(whole.scores, sliced.scores) and np.array_equal(whole.allows, sliced.allows)
    assert whole.legal is not None and sliced.legal is not None and np.array_equal(whole.legal, sliced.legal)
    assert 0.0 < whole.legal.mean() < 1.0 and whole.reasons == sliced.reasons
    assert sum(counted) == 150 and set(counted) == {4, 3}


def test_progress_counts_the_mechanisms_of_language_models() -> None:
    shown: list[tuple[int, int]] = []
    finished: list[str] = []
    evaluate(
        [entrant(POLICY, InformedGreedy(), slow=False), entrant(f"{AFTER} (script)", model(BEST))],
        [STAGES],
        EPISODES,
        0,
        lambda what, done, total: shown.append((done, total)),
        lambda cell, name, played: finished.append(name),
    )
    assert shown == [(EPISODES * step, EPISODES * 10) for step in range(1, 11)] and finished == [POLICY, f"{AFTER} (script)"]


def test_other_numbers_of_bidders_are_compared_with_the_constants_for_eight() -> None:
    names = references(FOUR)
    assert {"best constant for the stages, n = 8", "best constant for mixed, n = 8"} < set(names)
    played = evaluate([entrant(f"{AFTER} (script)", model(BEST), (FOUR,))], [FOUR], EPISODES, 0)
    same = played[0].played["best constant for the stages, n = 8"].scores
    assert np.array_equal(played[0].played[f"{AFTER} (script)"].scores, same)
    judged, legal = targets(played)
    assert legal.target.endswith("legal replies, constrained") and legal.found.n == EPISODES
    assert "stages, n = 4: over best constant for" in judged.target and judged.wanted == "not below 0"
    assert played[0].best("best constant") in ("best constant for the stages", "best constant for mixed")


def test_a_model_that_played_less_is_compared_on_what_both_played() -> None:
    def played(values: list[float]) -> Played:
        return Played(np.array(values), np.zeros(len(values)))

    both = {"best constant for mixed": played([0.5, 0.5, 0.9]), POLICY: played([0.6, 0.6])}
    result = result_of([CellScores(STAGES, both, np.zeros(3, np.int64))])
    over = row(result, STAGES, POLICY)["over_best_constant"]
    assert over["value"] == pytest.approx(0.1) and over["n"] == 2


def test_results_are_plain_json_and_can_be_drawn(found: list[CellScores], tmp_path: Path) -> None:
    result = json.loads(json.dumps({**result_of(found), "episodes": EPISODES}))
    draw_evaluation(result, tmp_path / "evaluation.png")
    (trained,) = [row["score"]["value"] for row in result["populations"]["stages, n = 8"] if row["designer"] == POLICY]
    constants = [row["score"]["value"] for row in result["populations"]["stages, n = 8"] if row["designer"].startswith("best constant")]
    assert f"{trained - max(constants):+.3f} (stages, n = 8)".replace("-", "−") in evaluation_finding(result)
    scores = {"mean": {"value": 0.6, "low": 0.5, "high": 0.7, "n": 3}, "scores": [0.5, 0.6, 0.7]}
    over = {"other": {"value": -0.1, "low": -0.2, "high": 0.0, "n": 3}}
    draw_episodes({"designers": {"own": scores, "other": scores}, "over": over, "n_episodes": 3, "stage": "4"}, tmp_path / "box.png")
    assert all((tmp_path / name).stat().st_size > 10_000 for name in ("evaluation.png", "box.png"))
