"""The executor on the local engine: the same values however many workers, and what a kill, an error or a full disk costs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from errands import broken, carried_out, killed_always, killed_once, refused, square, squares

from edgeworth.errors import FallbackUsed, InvalidOption, RunStopped, UnknownName
from edgeworth.executor.execution import HERE, Executor, executor
from edgeworth.executor.local import Local
from edgeworth.executor.tasks import Task, packed, unpacked
from running_servers import wait_for


def started(engine: str, folder: Path, seconds: float = 0.4) -> subprocess.Popen[bytes]:
    """A driver in a process and a process group of its own, with twelve tasks of so many seconds."""
    words = [sys.executable, str(Path(__file__).with_name("errands.py")), engine, str(folder), str(seconds)]
    return subprocess.Popen(words, start_new_session=True)


def killed_half_way(engine: str, folder: Path) -> None:
    """Kill a driver when some of its values are kept."""
    driver = started(engine, folder)
    try:
        until = time.monotonic() + 120.0
        while len(list((folder / "kept").glob("*.npz"))) < 3:
            assert driver.poll() is None and time.monotonic() < until
            time.sleep(0.02)
    finally:
        os.kill(driver.pid, signal.SIGKILL)
        driver.wait()


def check_going_on(engine: str, folder: Path) -> None:
    """Call the command again: what was kept is not repeated, and at the end nothing is kept."""
    kept = len(list((folder / "kept").glob("*.npz")))
    time.sleep(1.0)  # the orphaned workers end in the meantime
    before = len(carried_out(folder))
    assert started(engine, folder).wait(timeout=120) == 0
    assert len(carried_out(folder)) == before + 12 - kept
    assert set(carried_out(folder)) == set(range(12)) and not (folder / "kept").exists()


def test_values_are_the_same_to_the_last_bit_for_any_number_of_workers(tmp_path: Path) -> None:
    here = HERE(squares(tmp_path, 6)).whole()
    with executor(workers=3) as run:
        apart = run(squares(tmp_path, 6)).whole()
    assert [packed(value) for value in apart] == [packed(value) for value in here]
    assert here[2]["third"] == 2 / 3 and here[5]["squares"].tolist() == [0.0, 1.0, 4.0, 9.0, 16.0]


def test_structured_arrays_and_numbers_that_are_none_survive_packing() -> None:
    rows = np.zeros(2, dtype=[("kind", np.int8), ("price", np.float64)])
    value = unpacked(packed({"rows": rows, "nan": float("nan"), "count": np.int64(3), "pair": (1, None)}))
    assert value["rows"].dtype == rows.dtype and value["nan"] != value["nan"] and (value["count"], value["pair"]) == (3, [1, None])
    with pytest.raises(TypeError, match="expected a string"):
        packed({1: "one"})


def test_a_killed_worker_costs_its_own_task_alone(tmp_path: Path) -> None:
    tasks = [Task("dies", killed_once, (tmp_path, 100)), *squares(tmp_path, 6)]
    with executor(workers=2, folder=tmp_path / "kept") as run:
        assert run(tasks).whole()[0] == 100
    assert carried_out(tmp_path) == [0, 1, 2, 3, 4, 5, 100, 100]


def test_a_task_that_kills_every_worker_is_given_up_and_the_rest_goes_on(tmp_path: Path) -> None:
    with executor(workers=2) as run:
        found = run([Task("deadly", killed_always, (tmp_path,)), *squares(tmp_path, 3)])
    assert list(found.values) == ["square 0", "square 1", "square 2"] and "died 3 times" in found.failures[0].reason
    with pytest.raises(RunStopped, match=r"1 of 4 tasks failed. deadly: The worker died 3 times"):
        found.whole()


def test_a_failure_has_its_reason_and_its_log_and_only_it_is_tried_again(tmp_path: Path) -> None:
    tasks = [*squares(tmp_path, 3), Task("broken", broken)]
    for _ in range(2):
        with executor(folder=tmp_path / "kept") as run:
            found = run(tasks)
        assert found.failures[0].reason == "ZeroDivisionError: nothing to divide by" and found.failures[0].log is not None
        assert "in broken" in Path(found.failures[0].log).read_text(encoding="utf-8")
    assert carried_out(tmp_path) == [0, 1, 2]


def test_what_the_user_asked_for_wrongly_is_refused_in_the_words_of_the_task() -> None:
    with pytest.raises(InvalidOption, match=r"There is no such game."):
        HERE([Task("wrong", refused)]).whole()


def test_a_killed_driver_costs_only_the_tasks_under_way(tmp_path: Path) -> None:
    killed_half_way("local", tmp_path)
    check_going_on("local", tmp_path)


def test_workers_end_with_their_driver(tmp_path: Path) -> None:
    killed_half_way("local", tmp_path)
    time.sleep(1.0)
    before = carried_out(tmp_path)
    time.sleep(1.0)
    assert carried_out(tmp_path) == before


@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["to the driver", "to its group"])
def test_ctrl_c_interrupts_the_tasks_under_way_once(tmp_path: Path, send: Callable[[int, int], None]) -> None:
    driver = started("local", tmp_path, seconds=300.0)
    try:
        wait_for(lambda: len(list(tmp_path.glob("began_*"))) == 2, seconds=60.0)
        send(driver.pid, signal.SIGINT)
        assert driver.wait(timeout=60.0) != 0
    finally:
        driver.kill()
    assert {file.name for file in tmp_path.glob("interrupted_*")} == {"interrupted_0", "interrupted_1"}


def test_other_arguments_or_other_files_are_another_value(tmp_path: Path) -> None:
    one, other = Task("a", square, (tmp_path, 1)), Task("b", square, (tmp_path, 2))
    assert one.fingerprint == Task("renamed", square, (tmp_path, 1)).fingerprint != other.fingerprint
    assert one.fingerprint != Task("a", square, (tmp_path, 1), reads="changed at noon").fingerprint
    assert Task("a", square, (np.zeros(3),)).fingerprint != Task("a", square, (np.ones(3),)).fingerprint


def test_progress_counts_what_is_done_running_and_failed(tmp_path: Path) -> None:
    shown: list[tuple[str, int, int]] = []
    HERE([*squares(tmp_path, 1), Task("broken", broken)], lambda *state: shown.append(state))
    assert shown[0] == ("0 of 2 done, 1 running", 0, 2) and shown[-1] == ("1 of 2 done, 1 failed", 2, 2)


def test_a_folder_that_cannot_be_written_costs_only_the_keeping(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.warns(FallbackUsed, match="begins anew"):
        assert len(Executor(Local(), tmp_path / "file" / "kept")(squares(tmp_path, 2)).whole()) == 2


def test_names_are_unique_and_engines_known(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="each needs its own"):
        HERE([*squares(tmp_path, 2), *squares(tmp_path, 1)])
    with pytest.raises(UnknownName, match="Did you mean 'local'"), executor("locale"):
        pass
    with pytest.raises(InvalidOption, match="--address is for --engine ray"), executor("local", address="auto"):
        pass
