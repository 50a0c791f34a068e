"""A run on disk: its settings, its metrics over time, and its checkpoints.

A run folder holds

- `config.yaml`, the settings, and `run.json`: the command, the git revision where there is one, versions, the time it began;
- `metrics.csv`, `training_history.json` and TensorBoard's event file: the same metrics for three kinds of reader;
- `checkpoints/`: `last` to continue from and `best` to play, each a `.safetensors` file with all its facts in the header, and a `.json`
  file with the same facts for people.

Every file but the growing CSV and event files is written whole or not at all (`files.py`). The facts are in the header of the tensors' file
so that no two files have to agree. A digest shows whether a file is damaged. Nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import platform
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from edgeworth.config import load_yaml
from edgeworth.errors import DataError, InvalidOption, MissingExtra
from edgeworth.files import csv_text, write_json, write_whole, writing

CONFIG, FACTS, METRICS, HISTORY, CHECKPOINTS = "config.yaml", "run.json", "metrics.csv", "training_history.json", "checkpoints"
LAST, BEST = "last", "best"
SUFFIX = ".safetensors"
STEP = "steps"
"""The column that every line has: how many moves had been made when it was written."""

Line = dict[str, float | int | str]


# Optional packages


def _library(module: str, user: str, package: str) -> Any:
    """A module of an optional package."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(user, package, "train") from error


def _safetensors() -> Any:
    return _library("safetensors.numpy", "A checkpoint", "safetensors")


def _tensorboard() -> Any:
    return _library("torch.utils.tensorboard", "logging.tensorboard", "tensorboard")


# Checkpoints


@dataclass(frozen=True)
class Checkpoint:
    """Arrays by name, and what is known about them."""

    tensors: Mapping[str, NDArray[Any]]
    facts: Mapping[str, Any]


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write `path.safetensors`, which is the checkpoint, and `path.json`, its facts for people."""
    tensors = {name: np.asarray(array, order="C") for name, array in checkpoint.tensors.items()}
    facts = {**checkpoint.facts, "digest": _digest(tensors)}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(_with_suffix(path, SUFFIX), _safetensors().save(tensors, {"facts": json.dumps(facts)}))
    write_json(_with_suffix(path, ".json"), facts)


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint given by a file of it, by its name without suffix, or by the run folder (its best, else its last)."""
    file = find_checkpoint(path)
    try:
        content = file.read_bytes()
        tensors = _safetensors().load(content)
        length = int.from_bytes(content[:8], "little")
        facts = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["facts"])
    except OSError as error:
        raise DataError(file, f"cannot be read ({error.strerror}).") from error
    except MissingExtra:
        raise
    except Exception as error:  # the reader's own errors, a header that is no JSON, a header without facts
        raise _damaged(file, f"is no checkpoint of ours ({type(error).__name__}: {error})") from error
    if facts.get("digest") != _digest(tensors):
        raise _damaged(file, "is damaged: its numbers do not fit its digest")
    return Checkpoint(tensors, facts)


def find_checkpoint(path: Path) -> Path:
    """The file that is meant."""
    for folder in (path / CHECKPOINTS, path):
        for name in (BEST, LAST):
            if (folder / f"{name}{SUFFIX}").is_file():
                return folder / f"{name}{SUFFIX}"
    file = path.with_suffix(SUFFIX) if path.suffix == ".json" else path if path.suffix == SUFFIX else _with_suffix(path, SUFFIX)
    if not file.is_file():
        wanted = f"a run folder, or a file such as runs/NAME/{CHECKPOINTS}/{BEST}{SUFFIX}"
        raise DataError(path, f"there is no checkpoint here; expected {wanted}.")
    return file


def _damaged(file: Path, problem: str) -> DataError:
    others = sorted(other.name for other in file.parent.glob(f"*{SUFFIX}") if other != file)
    remedy = f"beside it there is {', '.join(others)}" if others else "no other checkpoint is beside it; train again"
    return DataError(file, f"{problem}; {remedy}.")


def _digest(tensors: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        array = tensors[name]
        digest.update(f"{name} {array.dtype.name} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _with_suffix(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


# The run folder


def git_revision() -> str | None:
    """The commit that this code is, with `+` where it has been changed since; None where it is no checkout."""
    package = Path(__file__).resolve().parent

    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", str(package), *words], capture_output=True, text=True, check=True, timeout=10).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "errors.py")
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def run_facts(command: str) -> dict[str, Any]:
    """Where a run comes from."""
    return {
        "command": command,
        "revision": git_revision(),
        "began": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "torch": getattr(sys.modules.get("torch"), "__version__", None),
        **{package: _version(package) for package in ("edgeworth", "numba", "scipy")},
        "machine": platform.machine(),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


class RunLog:
    """The folder of one run, begun or taken up again."""

    def __init__(
        self, folder: Path, with_csv: bool, with_tensorboard: bool, lines: Sequence[Line] = (), resumed_at: int | None = None
    ) -> None:
        self.folder, self.lines, self._with_csv = folder, list(lines), with_csv
        self._columns: list[str] = list(dict.fromkeys(key for line in lines for key in line))
        self._events: Any = None
        if with_csv:
            write_whole(folder / METRICS, csv_text(self.lines, self._columns).encode() if lines else b"")
        if with_tensorboard:
            with writing(folder):
                self._events = _tensorboard().SummaryWriter(str(folder), purge_step=resumed_at)

    @classmethod
    def begin(cls, folder: Path, config: Mapping[str, Any], command: str, with_csv: bool = True, with_tensorboard: bool = True) -> RunLog:
        """A new folder; one that exists already is refused, and so is a run that could not be written down."""
        refuse_existing(folder)
        _check_writers(with_tensorboard)
        with writing(folder):
            (folder / CHECKPOINTS).mkdir(parents=True, exist_ok=True)
        write_config(folder, config)
        write_json(folder / FACTS, run_facts(command))
        return cls(folder, with_csv, with_tensorboard)

    @classmethod
    def reopen(cls, folder: Path, step: int, with_csv: bool = True, with_tensorboard: bool = True) -> RunLog:
        """A run to be continued from a step; lines that were written after it are dropped, since they will be written again."""
        _check_writers(with_tensorboard)
        lines = [line for line in read_history(folder) if int(line[STEP]) <= step]
        return cls(folder, with_csv, with_tensorboard, lines, resumed_at=step + 1)

    def add(self, line: Line) -> None:
        """Write a line of metrics."""
        if self._with_csv:
            self._add_to_csv(line)
        if self._events is not None:
            with writing(self.folder):
                for key, value in line.items():
                    if not isinstance(value, str) and key != STEP:
                        self._events.add_scalar(key, value, int(line[STEP]))
        self.lines.append(line)

    def _add_to_csv(self, line: Line) -> None:
        """Append a line to the CSV file; a line with a new column writes the file anew."""
        path, new = self.folder / METRICS, [key for key in line if key not in self._columns]
        self._columns += new
        if new:
            write_whole(path, csv_text([*self.lines, line], self._columns).encode())
            return
        with writing(path), path.open("a", encoding="utf-8", newline="") as file:
            file.write(csv_text([line], self._columns, header=False))

    def save(self, name: str, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint; before the one to continue from, the history that led to it."""
        if name == LAST:
            self.write_history()
        write_checkpoint(self.folder / CHECKPOINTS / name, checkpoint)

    def write_history(self) -> None:
        """Write all lines so far as `training_history.json`."""
        write_whole(self.folder / HISTORY, json.dumps([_json_line(line) for line in self.lines], indent=1).encode())
        if self._events is not None:
            with writing(self.folder):
                self._events.flush()

    def close(self) -> None:
        """Close the files."""
        if self._events is not None:
            with writing(self.folder):
                self._events.close()


def _check_writers(with_tensorboard: bool) -> None:
    """Refuse a run whose checkpoints or events could not be written, before it begins."""
    _ = _safetensors(), with_tensorboard and _tensorboard()


def refuse_existing(folder: Path) -> None:
    """Refuse a folder that something is in already."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidOption(f"{folder} exists already; continue that run with --resume, or name another folder with --out.")


def checked_run(folder: Path) -> Path:
    """The folder, if a run was begun in it and got as far as a checkpoint."""
    if not (folder / CONFIG).is_file():
        raise InvalidOption(f"{folder} holds no run that could be continued; begin one without --resume.")
    if not (folder / CHECKPOINTS / f"{LAST}{SUFFIX}").is_file():
        raise InvalidOption(f"{folder} was left before its first checkpoint, so there is nothing to continue; remove it and begin again.")
    return folder


def last_checkpoint(folder: Path) -> Checkpoint:
    """The checkpoint that a run is continued from."""
    return read_checkpoint(checked_run(folder) / CHECKPOINTS / LAST)


def write_config(folder: Path, config: Mapping[str, Any]) -> None:
    """Write down the settings of a run."""
    write_whole(folder / CONFIG, yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True).encode())


def read_config(folder: Path) -> Mapping[str, Any]:
    """The settings of a run."""
    if not (folder / CONFIG).is_file():
        raise InvalidOption(f"{folder} holds no run; expected a folder that `edgeworth train` has written.")
    return load_yaml(folder / CONFIG)


def read_history(folder: Path) -> list[Line]:
    """The lines of a run, as its `training_history.json` has them."""
    path = folder / HISTORY
    try:
        lines = json.loads(path.read_text(encoding="utf-8"))
        return [{key: math.nan if value is None else value for key, value in line.items()} for line in lines]
    except OSError as error:
        raise DataError(path, f"cannot be read ({error.strerror}).") from error
    except (ValueError, AttributeError) as error:
        raise DataError(path, "is no history of a run; expected a list of lines, as `edgeworth train` writes it.") from error


def _json_line(line: Line) -> dict[str, float | int | str | None]:
    """A line for JSON, which has no word for what is not a number."""
    return {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in line.items()}
