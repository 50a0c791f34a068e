"""A run: its folder, going on after a stop, and what it does when something breaks."""

from __future__ import annotations

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeworth import catalog, files
from edgeworth.agents.hints.baselines import RandomHints
from edgeworth.errors import DataError, InvalidOption, MissingExtra, RunStopped
from edgeworth.runlog import STEP, find_checkpoint, last_checkpoint, read_checkpoint, read_config, read_history
from edgeworth.training import run_loop
from edgeworth.training.run import Run
from edgeworth.training.settings import TrainSettings, settings_of

SMALL = {"num_envs": 8, "rollout": 16, "minibatch": 32, "hidden": 16}
QUIET = {"tensorboard": False, "save_every": 3}
EVERY_LEARNER = [(algo, backend) for algo in ("ppo", "reinforce") for backend in ("fused", "torch")]
every_learner = pytest.mark.parametrize(("algo", "backend"), EVERY_LEARNER)


def small(algo: str = "ppo", backend: str = "fused", iterations: int = 6, **changes: Any) -> TrainSettings:
    sections = {"ppo": SMALL, "reinforce": SMALL, "logging": QUIET}
    given = {"algo": algo, "backend": backend, "num_train_steps": iterations * 128, "device": "cpu", **sections, **changes}
    return settings_of(given)


def tensors(folder: Path, name: str = "last") -> dict[str, bytes]:
    return {key: array.tobytes() for key, array in read_checkpoint(folder / "checkpoints" / name).tensors.items()}


def numbers(folder: Path) -> list[dict[str, Any]]:
    """The history but for the clock."""
    clock = ("seconds", "cpu_seconds", "steps_per_second")
    return [{key: str(value) for key, value in line.items() if key not in clock} for line in read_history(folder)]


@pytest.mark.parametrize(("patience", "kept"), [(60.0, 0), (0.0, 128)])
def test_an_iteration_that_takes_long_is_kept_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patience: float, kept: int) -> None:
    monkeypatch.setattr(run_loop, "PATIENCE", patience)
    run = Run.begin(small(), tmp_path / "run", "edgeworth train …")
    run.iterate()
    run.close()
    assert last_checkpoint(tmp_path / "run").facts[STEP] == kept


def test_a_run_leaves_its_settings_numbers_and_checkpoints(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run = Run.begin(small(logging={**QUIET, "tensorboard": True}), folder, "edgeworth train …")
    line = run.train()
    run.log.close()
    assert {path.name for path in folder.iterdir() if "tfevents" not in path.name} == {
        "config.yaml",
        "run.json",
        "metrics.csv",
        "training_history.json",
        "checkpoints",
    }
    assert len(list(folder.glob("events.out.tfevents.*"))) == 1
    facts = json.loads((folder / "run.json").read_text())
    assert facts["command"] == "edgeworth train …" and all(facts[package] for package in ("edgeworth", "numba", "numpy", "scipy"))
    rows = list(csv.DictReader((folder / "metrics.csv").open()))
    assert [int(row["iteration"]) for row in rows] == list(range(1, len(rows) + 1)) and int(rows[-1]["steps"]) == line["steps"]
    assert {"reward", "share_of_maximum", "deal_rate", "approx_kl", "clip_fraction", "entropy_act", "entropy_share"} <= rows[0].keys()
    assert {"explained_variance", "gradient_norm", "learning_rate", "value_loss", "policy_loss", "updates"} <= rows[0].keys()
    assert len(read_history(folder)) == len(rows)
    names = {path.name for path in (folder / "checkpoints").iterdir()}
    assert names == {"best.json", "best.safetensors", "last.json", "last.safetensors"}
    assert not any(name.startswith("learner.") for name in tensors(folder, "best"))


@every_learner
def test_a_run_that_was_stopped_and_continued_is_the_run_that_never_stopped(tmp_path: Path, algo: str, backend: str) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    Run.begin(small(algo, backend), whole, "").train()
    run = Run.begin(small(algo, backend), parts, "")
    for _ in range(2):
        run.iterate()
    run.save("last")
    del run
    for iterations in (4, 6):
        Run.resume(small(algo, backend, iterations), parts).train()
    assert tensors(parts) == tensors(whole)
    assert numbers(parts) == numbers(whole)
    assert (parts / "metrics.csv").read_text().count("\n") == (whole / "metrics.csv").read_text().count("\n")


@pytest.mark.parametrize("backend", ["fused", "torch"])
def test_hints_that_are_held_over_a_stop_are_held_all_the_same(tmp_path: Path, backend: str) -> None:
    hints = {"mode": "random", "k": 3, "hold_last": True, "age": True}
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    Run.begin(small(backend=backend, hints=hints, iterations=4), whole, "").train()
    Run.begin(small(backend=backend, hints=hints, iterations=1), parts, "").train()
    Run.resume(small(backend=backend, hints=hints, iterations=4), parts).train()
    assert tensors(parts) == tensors(whole)


def test_a_folder_that_holds_something_is_refused_and_left_alone(tmp_path: Path) -> None:
    Run.begin(small(iterations=1), tmp_path / "run", "").train()
    before = tensors(tmp_path / "run")
    with pytest.raises(InvalidOption, match="exists already; continue that run with --resume"):
        Run.begin(small(), tmp_path / "run", "")
    assert tensors(tmp_path / "run") == before


@pytest.mark.parametrize("what", ["nothing", "an empty folder"])
def test_what_holds_no_run_cannot_be_continued(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "run"
    if what == "an empty folder":
        folder.mkdir()
    with pytest.raises(InvalidOption, match="holds no run that could be continued"):
        Run.resume(small(), folder)


@pytest.mark.parametrize(("package", "needed"), [("torch.utils.tensorboard", "tensorboard"), ("safetensors.numpy", "safetensors")])
def test_a_run_that_could_not_be_written_down_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, needed: str
) -> None:
    settings = small(iterations=1, logging={**QUIET, "tensorboard": True})
    with monkeypatch.context() as without:
        without.setitem(sys.modules, package, None)
        with pytest.raises(MissingExtra, match=f"needs {needed}"):
            Run.begin(settings, tmp_path / "run", "")
    assert not (tmp_path / "run").exists()
    Run.begin(settings, tmp_path / "run", "").close()


def test_a_run_that_is_extended_remembers_how_far(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    Run.begin(small(iterations=2), folder, "").train()
    assert Run.resume(small(iterations=2), folder).over
    run = Run.resume(small(iterations=4), folder)
    run.iterate()
    assert read_config(folder)["num_train_steps"] == 4 * 128 and not run.over
    assert Run.resume(small(iterations=1), folder).over and read_config(folder)["num_train_steps"] == 4 * 128


class Holder(RandomHints):
    """Random hints by somebody who holds something."""

    closed = 0

    def close(self) -> None:
        type(self).closed += 1


@every_learner
def test_a_run_lets_go_of_what_its_hints_giver_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, algo: str, backend: str) -> None:
    monkeypatch.setitem(catalog.HINTS, "holder", f"{__name__}:Holder")
    monkeypatch.setattr(Holder, "closed", 0)
    stages = [{"from": 200, "env": {"max_turns": 4}}]
    run = Run.begin(small(algo, backend, iterations=3, hints={"mode": "holder"}, curriculum=stages), tmp_path / "run", "")
    run.train()
    assert Holder.closed == 1  # that of the first stage
    run.close()
    assert Holder.closed == 2


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@every_learner
def test_a_loss_that_is_no_number_stops_the_run_and_says_where(tmp_path: Path, algo: str, backend: str) -> None:
    boundless = {**SMALL, "reward_scale": 1e38}
    run = Run.begin(small(algo, backend, ppo=boundless, reinforce=boundless), tmp_path / "run", "")
    before = tensors(tmp_path / "run")
    with pytest.raises(RunStopped, match=r"update 1 \(iteration 1\) is not finite.*diverged.safetensors; the last regular"):
        run.train()
    assert tensors(tmp_path / "run") == before
    kept = read_checkpoint(tmp_path / "run" / "checkpoints" / "diverged")
    assert all(np.isfinite(array).all() for name, array in kept.tensors.items() if not name.startswith("learner."))
    assert not any(name.startswith("learner.") for name in kept.tensors)


# Disks


def no_space(path: Path, content: bytes) -> None:
    path.write_bytes(content[: len(content) // 2])
    raise OSError(28, "No space left on device")


def test_a_full_disk_stops_the_run_with_the_old_checkpoint_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    run = Run.begin(small(), folder, "")
    for _ in range(3):
        run.iterate()
    before = tensors(folder)
    monkeypatch.setattr(files, "_write_forced", no_space)
    with pytest.raises(RunStopped, match=r"cannot be written \(No space left on device\); what was there before is untouched.*--resume"):
        for _ in range(3):
            run.iterate()
    monkeypatch.undo()
    assert tensors(folder) == before and not list(folder.rglob("*.new"))
    Run.resume(small(), folder).train()
    whole = tmp_path / "whole"
    Run.begin(small(), whole, "").train()
    assert tensors(folder) == tensors(whole)


@pytest.mark.parametrize("damage", ["cut", "a bit", "empty", "not ours"])
def test_a_damaged_checkpoint_is_refused_and_the_others_named(tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "run"
    Run.begin(small(iterations=3), folder, "").train()
    file = folder / "checkpoints" / "last.safetensors"
    content = bytearray(file.read_bytes())
    if damage == "a bit":
        content[-5] ^= 1
    file.write_bytes({"cut": content[: len(content) // 2], "a bit": content, "empty": b"", "not ours": b"PK\x03\x04" * 50}[damage])
    with pytest.raises(DataError, match=r"last.safetensors: is .*; beside it there is best.safetensors"):
        Run.resume(small(), folder)
    assert find_checkpoint(folder).name == "best.safetensors" and read_checkpoint(folder).tensors


def test_a_checkpoint_of_another_network_is_refused(tmp_path: Path) -> None:
    Run.begin(small(iterations=1), tmp_path / "run", "").train()
    with pytest.raises(DataError, match=r"another network: trunk.0.weight is \(16, 18\); expected \(24, 18\)"):
        Run.resume(small(ppo={**SMALL, "hidden": 24}), tmp_path / "run")


# Signals

SCRIPT = """
import sys
from pathlib import Path
from edgeworth.training.run import Run
from edgeworth.training.settings import settings_of
learner = {"num_envs": 8, "rollout": 16, "minibatch": 32, "hidden": 16}
settings = settings_of({"num_train_steps": int(sys.argv[2]), "ppo": learner, "logging": {"tensorboard": False, "save_every": 1}})
folder = Path(sys.argv[1])
run = Run.resume(settings, folder) if (folder / "checkpoints" / "last.safetensors").exists() else Run.begin(settings, folder, "")
print("training", flush=True)
run.train()
"""


def started(folder: Path, steps: int) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(folder), str(steps)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "training\n"
    return process


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, -signal.SIGINT)])
def test_a_run_that_is_asked_to_stop_saves_first(tmp_path: Path, number: int, status: int) -> None:
    process = started(tmp_path / "run", 10**9)
    time.sleep(0.3)
    process.send_signal(number)
    try:
        assert process.wait(120) == status
    finally:
        process.kill()
    kept = read_checkpoint(tmp_path / "run" / "checkpoints" / "last")
    assert kept.facts["iteration"] >= 1 and kept.facts["steps"] == read_history(tmp_path / "run")[-1]["steps"]


def test_a_run_that_is_killed_at_any_moment_can_be_continued(tmp_path: Path) -> None:
    folder, chance = tmp_path / "run", random.Random(5)
    reached = -1
    for _ in range(4):
        process = started(folder, 10**9)
        time.sleep(chance.uniform(0.0, 0.25))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        kept = read_checkpoint(folder / "checkpoints" / "last")
        assert kept.facts["iteration"] >= reached
        reached = kept.facts["iteration"]
    settings = {"num_train_steps": (reached + 2) * 128, "ppo": SMALL, "logging": {"tensorboard": False, "save_every": 1}}
    Run.resume(settings_of(settings), folder).train()
    Run.begin(settings_of(settings), tmp_path / "whole", "").train()
    assert tensors(folder) == tensors(tmp_path / "whole") and numbers(folder) == numbers(tmp_path / "whole")
