"""The run folder's files, one by one."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from edgeworth.errors import DataError, RunStopped
from edgeworth.files import write_whole
from edgeworth.runlog import Checkpoint, RunLog, find_checkpoint, git_revision, read_checkpoint, read_history, write_checkpoint

ARRAYS = {
    "a": np.arange(6, dtype=np.float32).reshape(2, 3),
    "count": np.array(7),
    "bits": np.array([True, False]),
    "bytes": np.zeros((0, 3), np.uint8),
}


def log(folder: Path, **options: bool) -> RunLog:
    return RunLog.begin(folder, {"seed": 1}, "a command", **{"with_tensorboard": False, **options})


def test_a_checkpoint_comes_back_with_every_type_and_shape(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "one", Checkpoint(ARRAYS, {"steps": 3}))
    back = read_checkpoint(tmp_path / "one")
    assert {name: (array.dtype, array.shape, array.tobytes()) for name, array in back.tensors.items()} == {
        name: (array.dtype, array.shape, array.tobytes()) for name, array in ARRAYS.items()
    }
    assert back.facts["steps"] == 3


@pytest.mark.parametrize(
    "given", ["run", "run/checkpoints", "run/checkpoints/best", "run/checkpoints/best.json", "run/checkpoints/best.safetensors"]
)
def test_a_checkpoint_is_found_by_its_run_its_name_or_its_files(tmp_path: Path, given: str) -> None:
    for name in ("best", "last"):
        write_checkpoint(tmp_path / "run" / "checkpoints" / name, Checkpoint(ARRAYS, {}))
    assert find_checkpoint(tmp_path / given) == tmp_path / "run" / "checkpoints" / "best.safetensors"


def test_a_checkpoint_that_is_not_there_is_answered_with_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no checkpoint here; expected a run folder, or a file such as"):
        read_checkpoint(tmp_path / "nowhere")


def test_a_new_column_makes_the_file_anew_with_the_old_lines(tmp_path: Path) -> None:
    made = log(tmp_path / "run")
    made.add({"steps": 1, "reward": 0.5})
    made.add({"steps": 2, "reward": 0.6, "hint_model": "pocket"})
    made.add({"steps": 3, "reward": 0.7, "hint_model": "pocket"})
    rows = list(csv.DictReader((tmp_path / "run" / "metrics.csv").open()))
    assert [row["hint_model"] for row in rows] == ["", "pocket", "pocket"] and [row["steps"] for row in rows] == ["1", "2", "3"]


def test_what_is_not_a_number_survives_the_history(tmp_path: Path) -> None:
    made = log(tmp_path / "run")
    made.add({"steps": 1, "reward": float("nan")})
    made.save("last", Checkpoint(ARRAYS, {"steps": 1}))
    assert "null" in (tmp_path / "run" / "training_history.json").read_text()
    assert np.isnan(read_history(tmp_path / "run")[0]["reward"])


def test_lines_after_the_last_checkpoint_are_dropped_when_a_run_is_continued(tmp_path: Path) -> None:
    made = log(tmp_path / "run")
    for step in (1, 2):
        made.add({"steps": step, "reward": 0.5})
    made.save("last", Checkpoint(ARRAYS, {"steps": 1}))
    again = RunLog.reopen(tmp_path / "run", 1, with_tensorboard=False)
    assert [line["steps"] for line in again.lines] == [1] and (tmp_path / "run" / "metrics.csv").read_text().count("\n") == 2


def test_tensorboard_sees_every_step_once_even_after_a_run_was_continued(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    made = log(tmp_path / "run", with_tensorboard=True)
    for step in (1, 2, 3):
        made.add({"steps": step, "reward": float(step), "hint_model": "a word"})
    made.save("last", Checkpoint(ARRAYS, {"steps": 2}))
    made.close()
    again = RunLog.reopen(tmp_path / "run", 2)
    again.add({"steps": 3, "reward": 30.0})
    again.close()
    found = EventAccumulator(str(tmp_path / "run"))
    found.Reload()
    assert [(event.step, event.value) for event in found.Scalars("reward")] == [(1, 1.0), (2, 2.0), (3, 30.0)]


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_whole(path, b"old")
    (tmp_path / "file.new").mkdir()
    with pytest.raises(RunStopped, match="file cannot be written"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"


def test_a_history_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "training_history.json").write_text("[1, 2]")
    with pytest.raises(DataError, match="is no history of a run"):
        read_history(tmp_path)


def test_the_revision_is_a_commit_or_nothing() -> None:
    revision = git_revision()
    assert revision is None or len(revision.rstrip("+")) == 40
