"""Curricula: one game after another, one network for all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeworth.errors import InvalidOption, UnknownName
from edgeworth.runlog import read_checkpoint, read_history
from edgeworth.training.curriculum import shape_for, stage_at, stages_of
from edgeworth.training.run import Run
from edgeworth.training.settings import TrainSettings, settings_of

SMALL = {"num_envs": 8, "rollout": 16, "minibatch": 32, "hidden": 16}


def course(*stages: dict[str, Any], backend: str = "torch", iterations: int = 6, **changes: Any) -> TrainSettings:
    logging = {"tensorboard": False, "save_every": 1}
    given = {"backend": backend, "device": "cpu", "num_train_steps": iterations * 128, "ppo": SMALL, "logging": logging}
    return settings_of({**given, "curriculum": list(stages), **changes})


def test_without_a_curriculum_there_is_one_stage() -> None:
    assert [stage.begins for stage in stages_of(TrainSettings())] == [0]


def test_stages_change_the_run_and_not_each_other() -> None:
    settings = course(
        {"from": 0, "env": {"max_turns": 4}},
        {"from": 300, "env": {"scenario": "lewis", "partner": "population"}, "hints": {"mode": "random", "k": 2}},
        {"from": 500, "env": {"discount": 0.5}},
        env={"disagree": "passes"},
    )
    first, second, third = stages_of(settings)
    assert (first.game.max_turns, first.game.disagree, first.hints.mode) == (4, "passes", "none")
    assert (second.game.contexts, second.game.partner, second.hints.mode, second.hints.k) == ("lewis", "population", "random", 2)
    assert (third.game.max_turns, third.game.disagree, third.game.discount, third.hints.mode) == (10, "passes", 0.5, "none")
    assert [stage_at((first, second, third), step) for step in (0, 299, 300, 499, 500, 10**9)] == [0, 0, 1, 1, 2, 2]


def test_a_network_has_inputs_for_hints_throughout_if_any_stage_has_them() -> None:
    settings = course({"from": 300, "hints": {"mode": "random", "age": True}})
    assert shape_for(settings, stages_of(settings)).features == 29
    assert shape_for(TrainSettings(), stages_of(TrainSettings())).features == 18


BAD: list[tuple[list[dict[str, Any]], type[Exception], str]] = [
    ([{"env": {}}], InvalidOption, "Stage 1 of the curriculum does not say when it begins; give it `from:`"),
    ([{"from": 5, "evn": {}}], UnknownName, "Did you mean 'env'"),
    ([{"from": 5, "env": {"max_turn": 3}}], UnknownName, "Did you mean 'max_turns'"),
    ([{"from": 5, "hints": {"mode": "lm"}}], UnknownName, "Did you mean 'llm'"),
    ([{"from": "soon"}], InvalidOption, "begins is 'soon'; expected a whole number"),
    ([{"from": -1}], InvalidOption, "is from -1; expected 0 or more"),
    ([{"from": 50}, {"from": 50}], InvalidOption, "Stage 2 of the curriculum is from 50; expected more than 50"),
]


@pytest.mark.parametrize(("stages", "kind", "message"), BAD, ids=[str(stages) for stages, _, _ in BAD])
def test_a_mistake_in_a_stage_is_answered(stages: list[dict[str, Any]], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        stages_of(course(*stages))


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ([{"from": 300, "env": {"max_count": 6}}], "up to 6 units of a type and the first one up to 4.*give all stages the same max_count"),
        (
            [{"from": 0, "hints": {"mode": "random"}}, {"from": 300, "hints": {"mode": "random", "age": True}}],
            "have the option `age` and others not",
        ),
        ([{"from": 300, "env": {"partner": "human_clone"}, "hints": {"mode": "bayes"}}], "partners of the rules"),
    ],
)
def test_stages_that_cannot_be_trained_are_refused_before_anything_is_written(
    tmp_path: Path, stages: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(InvalidOption, match=message):
        Run.begin(course(*stages), tmp_path / "run", "")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("backend", ["fused", "torch"])
def test_the_network_and_its_optimizer_go_on_into_the_next_stage(tmp_path: Path, backend: str) -> None:
    settings = course({"from": 256, "env": {"scenario": "one_shot"}}, backend=backend, iterations=3)
    run = Run.begin(settings, tmp_path / "run", "")
    run.iterate(), run.iterate()
    before = run.learner.state()
    run._enter_stage()
    after = run.learner.state()
    assert run.number == 1
    for name in ("parameters", "first_moment", "second_moment", "updates", "iteration", "steps"):
        np.testing.assert_array_equal(after[name], before[name])
    assert after["episodes"].tobytes() != before["episodes"].tobytes()
    assert run.iterate()["stage"] == 1


@pytest.mark.parametrize("backend", ["fused", "torch"])
def test_a_curriculum_continued_in_its_second_stage_is_the_one_that_never_stopped(tmp_path: Path, backend: str) -> None:
    stages = ({"from": 0, "env": {"max_turns": 4}}, {"from": 300, "env": {"max_turns": 8, "partner": "linear"}})
    Run.begin(course(*stages, backend=backend), tmp_path / "whole", "").train()
    Run.begin(course(*stages, backend=backend, iterations=4), tmp_path / "parts", "").train()
    Run.resume(course(*stages, backend=backend), tmp_path / "parts").train()
    one, other = (read_checkpoint(tmp_path / name / "checkpoints" / "last") for name in ("whole", "parts"))
    assert {k: v.tobytes() for k, v in one.tensors.items()} == {k: v.tobytes() for k, v in other.tensors.items()}
    assert [line["stage"] for line in read_history(tmp_path / "parts")] == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("backend", ["fused", "torch"])
def test_hints_come_and_go_and_their_counts_add_up(tmp_path: Path, backend: str) -> None:
    stages = ({"from": 0, "hints": {"mode": "random"}}, {"from": 200}, {"from": 400, "hints": {"mode": "bayes"}})
    run = Run.begin(course(*stages, backend=backend, env={"scenario": "one_shot"}), tmp_path / "run", "")
    run.train()
    asked = [line.get("hint_asked", 0) for line in read_history(tmp_path / "run")]
    assert asked == sorted(asked) and asked[1] == asked[2] < asked[-1]
