"""Contexts and dialogues of Deal or No Dialog, the human negotiations of Lewis et al. (2017, arXiv 1706.05125).

Every human perspective is one context (12,234 in all; 10,095 train, 1,087 val, 1,052 test); self-play has 4,086 scenarios. They are read
from a folder of the released files (`data.txt`, `train.txt`, `val.txt`, `test.txt`, `selfplay.txt`), from one such file, from a `.jsonl`
file of one's own, or from the Hugging Face hub. The released data are CC BY-NC 4.0 and are not part of this package.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from edgeworth.dialogues.lines import (
    TAGS,
    Dialogue,
    Line,
    SideInput,
    json_context,
    quoted,
    shared_context,
    side_input,
    tagged_dialogue,
    three_numbers,
    untagged_dialogue,
)
from edgeworth.errors import DataError, InvalidOption, MissingExtra, UnknownName
from edgeworth.games.bargaining.contexts import Context, ContextTable

__all__ = ["DatasetContexts", "Dialogue", "read_dialogue", "read_dialogues", "read_json_contexts", "read_self_play"]

PARTS = ("dialogues", "self_play")
SPLITS = ("all", "train", "val", "test")
WHOLE_CORPUS = "data.txt"
SPLIT_FILES = {"train": "train.txt", "val": "val.txt", "test": "test.txt"}
SELF_PLAY = "selfplay.txt"
HUB_NAME = "deal_or_no_dialog"
HUB_SPLITS = {"train": "train", "val": "validation", "test": "test"}
HUB_EXPORT = "refs/convert/parquet"
"""Where the hub keeps a copy without the loading script, which `datasets` 4 and later refuse to run."""


@dataclass(frozen=True)
class DatasetContexts:
    """The contexts that people negotiated over, or one's own, equally likely."""

    path: str | None = None
    """A folder of the released files, one of them, or a `.jsonl` file; the Hugging Face hub where none is given."""
    part: str = "dialogues"
    """`dialogues`: a row per human perspective; `self_play`: a row per scenario. A `.jsonl` file has rows only."""
    split: str = "all"
    """all, train, val or test; a single file is always read whole, and self-play is all train."""

    def __post_init__(self) -> None:
        _check_choice("part", self.part, PARTS)
        _check_choice("split", self.split, SPLITS)
        if self.part == "self_play" and self.split not in ("all", "train"):
            raise InvalidOption(f"split is {self.split!r}; expected 'all', since self_play has no held-out scenarios.")

    def table(self) -> ContextTable:
        if self.path is None:
            return _hub_table(self.part, self.split).copy()
        path = Path(self.path).expanduser()
        return _file_table(path, self.part, self.split, _stamps(path)).copy()


def read_dialogues(path: str | Path, split: str = "all", broken: list[DataError] | None = None) -> list[Dialogue]:
    """The dialogues of a folder of the released files, or of one tagged or untagged file.

    A broken line is an error, unless a list is given for them: then they are left out and their errors collected there.
    """
    _check_choice("split", split, SPLITS)
    path = Path(path).expanduser()
    if not path.is_dir():
        _check_whole_file(path, split)
        lines = _lines(path, broken)
        parse = _line_format(lines[0]) if broken is None else lambda line: _line_format(line)(line)
        return _parsed(lines, parse, broken)
    if split == "all":
        return _whole_corpus(path, broken)
    if split == "train" and not (path / SPLIT_FILES["train"]).is_file():
        return _remaining_corpus(path, broken)
    return _split_dialogues(path, split, broken)


def read_dialogue(path: str | Path, number: int) -> Dialogue:
    """The dialogue on one line of a tagged or untagged file; the other lines may be what they like."""
    path = Path(path).expanduser()
    lines = {line.number: line for line in _lines(path, [])}
    last = max(lines, default=0)
    if not 1 <= number <= last:
        raise DataError(path, f"expected a line from 1 to {last}; found {number}.")
    if number not in lines:
        raise Line(path, number, "").error("one record per line", "an empty line")
    return _line_format(lines[number])(lines[number])


def read_self_play(path: str | Path) -> list[Context]:
    """The scenarios of a self-play file, or of the one in a folder: two lines each, seen from the first."""
    path = Path(path).expanduser()
    lines = _lines(_required(path, SELF_PLAY) if path.is_dir() else path)
    return _paired([(line, side_input(line, line.text)) for line in lines])


def read_json_contexts(path: str | Path) -> list[Context]:
    """The contexts of a `.jsonl` file, one object per line."""
    return [json_context(line) for line in _lines(Path(path).expanduser())]


def _parsed(lines: Iterable[Line], parse: Callable[[Line], Dialogue], broken: list[DataError] | None = None) -> list[Dialogue]:
    """The dialogues of lines; those that are broken go onto the list, if there is one."""
    dialogues = []
    for line in lines:
        try:
            dialogues.append(parse(line))
        except DataError as error:
            if broken is None:
                raise
            broken.append(error)
    return dialogues


def _whole_corpus(folder: Path, broken: list[DataError] | None = None) -> list[Dialogue]:
    if (folder / WHOLE_CORPUS).is_file():
        return _parsed(_lines(folder / WHOLE_CORPUS, broken), untagged_dialogue, broken)
    if not all((folder / name).is_file() for name in SPLIT_FILES.values()):
        raise _missing(folder, f"{WHOLE_CORPUS}, or {', '.join(SPLIT_FILES.values())}")
    return [dialogue for split in SPLIT_FILES for dialogue in _split_dialogues(folder, split, broken)]


def _split_dialogues(folder: Path, split: str, broken: list[DataError] | None = None) -> list[Dialogue]:
    return _parsed(_lines(_required(folder, SPLIT_FILES[split]), broken), tagged_dialogue, broken)


def _remaining_corpus(folder: Path, broken: list[DataError] | None = None) -> list[Dialogue]:
    """The training dialogues: the whole corpus less the held-out ones, each taken out as often as it was held out.

    A held-out dialogue whose line is broken in the held-out file cannot be told from the others, and counts as one for training.
    """
    sources = (WHOLE_CORPUS, SPLIT_FILES["val"], SPLIT_FILES["test"])
    if not all((folder / name).is_file() for name in sources):
        raise _missing(folder, f"{SPLIT_FILES['train']}, or {', '.join(sources)}")
    held_out = Counter((d.context, d.utterances) for split in ("val", "test") for d in _split_dialogues(folder, split, broken))
    remaining: list[Dialogue] = []
    broken_before = len(broken or [])
    for dialogue in _whole_corpus(folder, broken):
        key = (dialogue.context, dialogue.utterances)
        if held_out[key]:
            held_out[key] -= 1
        else:
            remaining.append(dialogue)
    if held_out.total() > len(broken or []) - broken_before:  # a broken line may have been one of those held out
        problem = f"expected every dialogue of {sources[1]} and {sources[2]}; found all but {held_out.total()}. Give the whole corpus."
        raise DataError(folder / WHOLE_CORPUS, problem)
    if not remaining:
        raise DataError(folder / WHOLE_CORPUS, f"expected training dialogues; found only those of {sources[1]} and {sources[2]}.")
    return remaining


def _line_format(first: Line) -> Callable[[Line], Dialogue]:
    """How to read a file of unknown name, by its first line."""
    if any(f"<{tag}>" in first.text for tag in TAGS):
        return tagged_dialogue
    words = first.text.split()
    if all(word.isdigit() for word in words):
        raise first.error("dialogues (for a self-play file, set part to 'self_play')", quoted(first.text))
    if not words[0].isdigit():
        raise first.error("'<input> …' or six whole numbers, then a dialogue (JSON lines belong in a .jsonl file)", quoted(first.text))
    return untagged_dialogue


def _paired(sides: list[tuple[Line, SideInput]]) -> list[Context]:
    """Contexts from sides that follow each other in twos."""
    if len(sides) % 2:
        raise sides[-1][0].error("two lines per scenario, one for each side", f"an odd number of lines, {len(sides)}")
    return [shared_context(line, mine, theirs) for (_, mine), (line, theirs) in zip(sides[::2], sides[1::2], strict=True)]


def _lines(path: Path, broken: list[DataError] | None = None) -> list[Line]:
    """The lines of a file; only the end of the file may be blank, unless there is a list for the errors of blank lines."""
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise DataError(path, "no such file or folder; expected the released folder, one file of it, or a .jsonl file.") from error
    except OSError as error:
        raise DataError(path, f"cannot be read ({error.strerror}).") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(path, "expected UTF-8 text; found other bytes.", content.count(b"\n", 0, error.start) + 1) from error
    if not text.strip():
        raise DataError(path, "expected one record per line; found an empty file.")
    lines = [Line(path, number, line.strip()) for number, line in enumerate(text.rstrip().split("\n"), start=1)]
    blank = [line.error("one record per line", "an empty line") for line in lines if not line.text]
    if blank and broken is None:
        raise blank[0]
    if broken is not None:
        broken.extend(blank)
    return [line for line in lines if line.text]


def _required(folder: Path, name: str) -> Path:
    if not (folder / name).is_file():
        raise _missing(folder, name)
    return folder / name


def _missing(folder: Path, expected: str) -> DataError:
    found = ", ".join(sorted(file.name for file in folder.iterdir() if file.suffix in (".txt", ".jsonl"))) or "none of them"
    return DataError(folder, f"expected the file {expected}; found {found}.")


def _check_choice(option: str, value: str, choices: Iterable[str]) -> None:
    if value not in choices:
        raise UnknownName(option, value, choices)


def _check_whole_file(path: Path, split: str) -> None:
    if split != "all":
        raise InvalidOption(f"split is {split!r}, but {path} is a single file; expected 'all', or the folder with the split files.")


def _stamps(path: Path) -> tuple[tuple[str, int, int], ...]:
    """Name, time and size of the files that a table may come from, so that a changed file is read again."""
    files = [path / name for name in (WHOLE_CORPUS, *SPLIT_FILES.values(), SELF_PLAY)] if path.is_dir() else [path]
    stats = [(file.name, file.stat()) for file in files if file.is_file()]
    return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in stats)


@lru_cache(maxsize=8)
def _file_table(path: Path, part: str, split: str, stamps: tuple[tuple[str, int, int], ...]) -> ContextTable:
    """The table of a path; `stamps` only tells a changed file from the one read before."""
    if path.suffix == ".jsonl" and not path.is_dir():
        _check_whole_file(path, split)
        return _rows(read_json_contexts(path))
    if part == "self_play":
        return _rows(read_self_play(path))
    return _rows(dialogue.context for dialogue in read_dialogues(path, split))


def _rows(contexts: Iterable[Context]) -> ContextTable:
    return np.array([context.row() for context in contexts], np.int16)


@lru_cache(maxsize=8)
def _hub_table(part: str, split: str) -> ContextTable:
    """The table of a part on the Hugging Face hub."""
    splits = ["train"] if part == "self_play" else [HUB_SPLITS[s] for s in HUB_SPLITS if split in (s, "all")]
    rows: list[tuple[Line, Mapping[str, Any]]] = []
    for name in splits:
        source = f"Hugging Face dataset {HUB_NAME} ({part}, {name})"
        rows += [(Line(source, number, str(row)), row) for number, row in enumerate(_hub_rows(source, part, name), start=1)]
    if part == "self_play":
        return _rows(_paired([(line, _hub_side(line, row, "input")) for line, row in rows]))
    return _rows(shared_context(line, _hub_side(line, row, "input"), _hub_side(line, row, "partner_input")) for line, row in rows)


def _hub_rows(source: str, part: str, split: str) -> list[Mapping[str, Any]]:
    try:
        import datasets
    except ImportError as error:
        raise MissingExtra("Deal or No Dialog from the Hugging Face hub (no `path` is given)", "datasets", "llm") from error
    try:
        try:
            rows = list(datasets.load_dataset(HUB_NAME, part, split=split))
        except RuntimeError:
            rows = list(datasets.load_dataset(HUB_NAME, data_dir=part, split=split, revision=HUB_EXPORT))
    except Exception as error:  # the hub's client raises its own errors, those of its HTTP library and plain ones
        reason = f"{type(error).__name__}: {error}".split("\n")[0]
        raise DataError(source, f"expected an answer from the hub; found {reason}. Give `path`, a folder of the released files.") from error
    if not rows:
        raise DataError(source, "expected rows; found none. Give `path`, a folder of the released files.")
    return rows


def _hub_side(line: Line, row: Mapping[str, Any], key: str) -> SideInput:
    content = row.get(key)
    if not isinstance(content, Mapping) or not {"count", "value"} <= content.keys():
        raise line.error(f"{key} with count and value", quoted(str(content)))
    return three_numbers(line, f"{key} count", content["count"]), three_numbers(line, f"{key} value", content["value"])
