"""Tasks: functions with their arguments that any process can carry out, what becomes of them, and how their values are written down.

A task calls a function of a module by its arguments; both are sent to another process, so the function is one that can be imported. It
returns a value for JSON, which may hold NumPy arrays anywhere. Every value is written down as bytes where it was computed and read back
where it is wanted, so that it is the same to the last bit whether it comes from this process, another machine or the disk.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import io
import json
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from edgeworth.errors import EdgeworthError, InvalidContext, InvalidOption

ARRAY, TEXT = "$array", "text"
"""How the text of a value names an array, and the entry of the text itself."""
PACKAGE = Path(__file__).resolve().parents[1]

Made = TypeVar("Made")


@dataclass(frozen=True)
class Task:
    """One computation; its name is unique among those that are run together."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    reads: str = ""
    """What else its value depends on, such as the time at which a file was written."""
    keep: bool = True
    """Whether its value is kept until the command has ended; a task that writes files of its own knows by them what is finished."""
    asks: bool = False
    """Whether it asks a language model, which a worker loads once for many tasks (`at_hand`)."""
    gpus: float = 0.0
    """GPUs that the model needs."""

    @property
    def fingerprint(self) -> str:
        """What identifies its value: the function, the arguments, and the source of the package."""
        text = f"{self.function.__module__}:{self.function.__qualname__}{described(self.arguments)} {self.reads} {source_digest()}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Outcome:
    """What became of a task: its packed value, or why there is none."""

    packed: bytes | None = None
    reason: str = ""
    log: str = ""
    """The traceback of an error, or what is known of a lost process."""
    refused: bool = False
    """Whether the error is about what the user asked for."""


_AT_HAND: dict[str, Any] = {}


def at_hand(make: Callable[..., Made], options: Mapping[str, Any]) -> Made:
    """An object that a process makes once for the same options and keeps for later tasks, such as a loaded model; it can be closed."""
    key = f"{make.__module__}:{make.__qualname__}{described(options)}"
    if key not in _AT_HAND:
        _AT_HAND[key] = make(**options)
    made: Made = _AT_HAND[key]
    return made


def put_away() -> None:
    """Close and forget what is at hand."""
    for made in _AT_HAND.values():
        made.close()
    _AT_HAND.clear()


def perform(task: Task) -> Outcome:
    """Carry out a task; an error becomes an outcome, since not every error can be sent between processes."""
    try:
        return Outcome(packed(task.function(*task.arguments)))
    except Exception as error:
        reason = str(error) if isinstance(error, EdgeworthError) else f"{type(error).__name__}: {error}"
        return Outcome(None, reason, traceback.format_exc(), isinstance(error, InvalidOption | InvalidContext))


# Values as bytes


def packed(value: Any) -> bytes:
    """A value as bytes: its text as JSON, and its arrays."""
    arrays: list[NDArray[Any]] = []
    text = json.dumps(_without_arrays(value, arrays)).encode()
    content = io.BytesIO()
    numbered = {str(number): array for number, array in enumerate(arrays)}
    np.savez(content, allow_pickle=False, **{TEXT: np.frombuffer(text, np.uint8), **numbered})
    return content.getvalue()


def unpacked(content: bytes) -> Any:
    """The value that `packed` wrote."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return _with_arrays(json.loads(arrays[TEXT].tobytes()), arrays)


def _without_arrays(value: Any, arrays: list[NDArray[Any]]) -> Any:
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {ARRAY: str(len(arrays) - 1)}
    if isinstance(value, Mapping):
        return {_key(key): _without_arrays(part, arrays) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_arrays(part, arrays) for part in value]
    return value.item() if isinstance(value, np.generic) else value


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"A task returned a mapping with the key {key!r}; expected a string, since JSON has no others.")
    return key


def _with_arrays(value: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    if isinstance(value, dict):
        return arrays[value[ARRAY]] if ARRAY in value else {key: _with_arrays(part, arrays) for key, part in value.items()}
    return [_with_arrays(part, arrays) for part in value] if isinstance(value, list) else value


# Fingerprints


def described(value: Any) -> str:
    """A text that is the same for the same arguments, in any process."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.repr}
        return f"{type(value).__qualname__}{described(fields)}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype.descr}{value.shape}{hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {described(part)}" for key, part in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return "[" + ", ".join(map(described, value)) + "]"
    return str(value) if isinstance(value, Path) else repr(value)


@functools.cache
def source_digest() -> str:
    """A digest of the package's source, so that no value of other code is taken for one of this."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
