"""Prompts from files: text with named variables in braces, checked when it is loaded.

`{counts_csv}` is a variable; a literal brace is written twice, as in Python's `str.format`, so that an example of JSON in a prompt reads
`{{"act_type": 0}}`. A line of exactly `---` parts the system message from the user message; without one, all is the user's. What stands
the same in every prompt belongs first: servers and local models compute a shared beginning once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgeworth.errors import DataError, InvalidOption, suggestion
from edgeworth.llm.client import Message, Role

PARTING = re.compile(r"^---[ \t]*$", re.MULTILINE)
MARK = re.compile(r"\{\{|\}\}|\{(?P<name>[^{}\n]*)\}|[{}]")
"""A literal brace, a variable, or a brace that is neither."""
LITERAL = ("{{", "}}")
NOTHING = "none"


@dataclass(frozen=True)
class Section:
    """One message of a prompt, in the notation of `str.format`, and the variables in it."""

    role: Role
    text: str
    names: tuple[str, ...]

    def filled(self, values: Mapping[str, str]) -> Message:
        """The message with its variables in place."""
        return Message(self.role, self.text.format_map(values))


@dataclass(frozen=True)
class Prompt:
    """A prompt that is ready to be filled."""

    sections: tuple[Section, ...]

    @property
    def names(self) -> frozenset[str]:
        """The variables that it uses."""
        return frozenset(name for section in self.sections for name in section.names)

    def messages(self, values: Mapping[str, str]) -> tuple[Message, ...]:
        """The conversation for these values; values that the prompt does not use are left aside."""
        for name in sorted(self.names):
            if name not in values:
                raise InvalidOption(f"The prompt needs a value for {name!r}. Given: {', '.join(values)}.{suggestion(name, values)}")
        return tuple(section.filled(values) for section in self.sections)


def load_prompt(path: Path | str, known: Sequence[str], required: Sequence[str] = ()) -> Prompt:
    """The prompt in a file; it may use the known variables only, and must use the required ones."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(path, f"cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise DataError(path, "is not a text file; expected a prompt.") from error
    return parse_prompt(text, known, required, path)


def load_prompt_or_own(ours: Path, own: Path | str | None, known: Sequence[str], required: Sequence[str] = ()) -> Prompt:
    """Our prompt, or a user's own; one without a system message gets ours, which says what a reply must be."""
    prompt = load_prompt(ours, known, required)
    if own is None:
        return prompt
    given = load_prompt(own, known, required)
    return given if given.sections[0].role == "system" else Prompt((prompt.sections[0], *given.sections))


def parse_prompt(text: str, known: Sequence[str], required: Sequence[str] = (), path: Path | str = "the prompt") -> Prompt:
    """A prompt from its text; `path` is what errors call it."""
    partings = list(PARTING.finditer(text))
    if len(partings) > 1:
        raise DataError(path, "a second line of ---; one parts the system message from the user message.", _line(text, partings[1].start()))
    system = [_section("system", text, 0, parting.start(), known, path) for parting in partings]
    user = _section("user", text, partings[0].end() if partings else 0, len(text), known, path)
    prompt = Prompt((*system, user))
    for name in required:
        if name not in prompt.names:
            raise DataError(path, f"the variable {{{name}}} is missing; without it the model cannot know the state. Put it into the text.")
    if not any(section.text for section in prompt.sections):
        raise DataError(path, "the prompt is empty.")
    return prompt


def _section(role: Role, text: str, start: int, end: int, known: Sequence[str], path: Path | str) -> Section:
    marks = [mark for mark in MARK.finditer(text, start, end) if mark.group() not in LITERAL]
    names = tuple(_checked_name(mark, text, known, path) for mark in marks)
    return Section(role, text[start:end].lstrip("\n").rstrip(), names)


def _checked_name(mark: re.Match[str], text: str, known: Sequence[str], path: Path | str) -> str:
    name, line = mark.group("name"), _line(text, mark.start())
    if name is None or not name.isidentifier():
        raise DataError(path, f"{mark.group()!r} is no variable; write {{{{ and }}}} for braces that are meant literally.", line)
    if name not in known:
        raise DataError(path, f"unknown variable {name!r}. Known: {', '.join(known)}.{suggestion(name, known)}", line)
    return name


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def capped(lines: Sequence[str], most_lines: int, most_chars: int) -> str:
    """The newest lines that fit, oldest first, after a word on how many were left out."""
    for start in range(max(0, len(lines) - most_lines), len(lines) + 1):
        note = [f"({start} earlier left out)"] if start else []
        text = "\n".join([*note, *lines[start:]])
        if len(text) <= most_chars:
            break
    return text or NOTHING


def numbers_csv(values: Iterable[float], digits: int = 2) -> str:
    """Numbers with commas between them, no longer than they need to be."""
    return ",".join(f"{round(float(value), digits):g}" for value in values)
