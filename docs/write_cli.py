"""Writes docs/cli.md from the commands' own --help, so that the page cannot lag behind; `make docs` runs it, a test compares."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

os.environ.update(COLUMNS="100", TERMINAL_WIDTH="100", NO_COLOR="1", TERM="dumb")

PAGE = Path(__file__).parent / "cli.md"


def page() -> str:
    """The whole page."""
    from edgeworth.cli import app

    runner = CliRunner()
    commands = [[], *_commands(typer.main.get_command(app), [])]
    parts = ["# Commands\n\nWritten by `make docs` from `--help`; do not edit by hand.\n"]
    for words in commands:
        result = runner.invoke(app, [*words, "--help"], prog_name="edgeworth", terminal_width=100)
        title = " ".join(["edgeworth", *words])
        body = "\n".join(line.rstrip() for line in result.output.strip("\n").splitlines())
        parts.append(f"## {title}\n\n```text\n{body}\n```\n")
    return "\n".join(parts)


def _commands(command: Any, path: list[str]) -> list[list[str]]:
    from edgeworth.cli import LazyCommand

    found = []
    for name, sub in getattr(command, "commands", {}).items():
        words = [*path, name]
        found += [words, *_commands(sub.load() if isinstance(sub, LazyCommand) else sub, words)]
    return found


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
