"""Commands are loaded when they are called; their line in `edgeworth --help` is the first line of their own help."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from edgeworth.cli import COMMANDS, LazyCommand, app

HEAVY = ("numba", "torch", "matplotlib", "fastapi")


@pytest.mark.parametrize("words", [(), ("play",), ("serve",)], ids=["all", "play", "serve"])
def test_help_loads_nothing_heavy(words: tuple[str, ...]) -> None:
    code = f"""
import atexit, sys
sys.argv = {["edgeworth", *words, "--help"]!r}
atexit.register(lambda: print("loaded:", [name for name in {HEAVY!r} if name in sys.modules]))
from edgeworth.cli import main
main()
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60.0, check=True).stdout
    assert "Usage: edgeworth" in told and told.strip().endswith("loaded: []")


@pytest.mark.parametrize("name", list(COMMANDS))
def test_the_line_of_a_command_is_the_first_of_its_help(name: str) -> None:
    _, says = COMMANDS[name]
    command = LazyCommand(name).load()
    assert command.name == name and " ".join(command.help.split("\n\n")[0].split()) == says


def test_a_group_brings_all_of_its_commands() -> None:
    assert list(typer.main.get_command(app).commands) == list(COMMANDS)  # type: ignore[attr-defined]
    assert {"list", "measure", "fill"} <= set(LazyCommand("hints").load().commands)


def test_a_mistyped_command_gets_a_suggestion() -> None:
    result = CliRunner().invoke(app, ["ply"])
    assert result.exit_code == 2 and "Did you mean 'play'" in result.output
