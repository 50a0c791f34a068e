"""Files written whole or not at all: bytes, JSON, NumPy arrays; and the one way in which CSV is written.

A file is written under another name, forced to the disk and then renamed, so that after a kill, a full disk or a power cut there is either
the old file or the new one.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.errors import RunStopped


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all: under another name, forced to the disk, renamed."""
    fresh = path.with_name(path.name + ".new")
    try:
        with writing(path):
            _write_forced(fresh, content)
            os.replace(fresh, path)
            _force_folder(path.parent)
    except RunStopped:
        with contextlib.suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file whole or not at all."""
    write_whole(path, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a compressed file of NumPy arrays whole or not at all."""
    content = io.BytesIO()
    np.savez_compressed(content, allow_pickle=False, **arrays)
    write_whole(path, content.getvalue())


def csv_text(lines: Sequence[Mapping[str, Any]], columns: Sequence[str], header: bool = True) -> str:
    """Lines as CSV; a line without one of the columns leaves it empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    if header:
        writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def _write_forced(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _force_folder(folder: Path) -> None:
    """Force the renaming itself to the disk, where the system lets a folder be opened."""
    if hasattr(os, "O_DIRECTORY"):
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """While inside, an error of the disk becomes one that says what to do."""
    try:
        yield
    except OSError as error:
        raise RunStopped(
            f"{path} cannot be written ({error.strerror or error}); what was there before is untouched."
            " Make room or choose another folder; a run continues from its last checkpoint with --resume."
        ) from error
