"""What newcomers type first: versions, settings by name from any folder, and sentences for what was left out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console

from edgeworth import __version__
from edgeworth.cli import FIRST, LAST, LazyCommand, app, console, main
from edgeworth.config import config_folder, found_config, load_yaml
from edgeworth.errors import DataError, FallbackUsed

Called = Callable[..., Any]
ROOT = Path(__file__).parents[2]


def test_the_version_is_shown(called: Called) -> None:
    assert called("--version").out.strip() == f"edgeworth {__version__}"


@pytest.mark.parametrize("name", ["ppo_fast", "ppo_fast.yaml", "configs/ppo_fast.yaml"])
def test_settings_that_come_with_the_package_are_found_by_name_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_yaml(Path(name)) == load_yaml(config_folder() / "ppo_fast.yaml")


def test_a_file_of_ones_own_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ppo_fast.yaml").write_text("seed: 3")
    assert load_yaml(Path("ppo_fast.yaml")) == {"seed": 3} and found_config(tmp_path / "other.yaml") == tmp_path / "other.yaml"


def test_settings_that_are_not_there_are_answered_with_those_that_are() -> None:
    with pytest.raises(DataError, match=r"cannot be read.*By name there are .*ppo_fast"):
        load_yaml(Path("nowhere.yaml"))


@pytest.mark.parametrize("scenario", ["configs/scenarios/one_shot.yaml", "one_shot"])
def test_a_scenario_is_no_training(called: Called, scenario: str) -> None:
    run = called("train", "--config", scenario)
    assert run.status == 2 and f"name it with --scenario {scenario} instead" in " ".join(run.err.split())


@pytest.mark.parametrize(("script", "command"), [("train.py", "train"), ("inference.py", "designer inference")])
def test_the_scripts_of_the_checkout_name_the_command_that_they_are(script: str, command: str) -> None:
    run = subprocess.run([sys.executable, str(ROOT / script), "--help"], capture_output=True, text=True, check=True)
    assert f"Usage: edgeworth {command} [OPTIONS]" in run.stdout


def test_an_unknown_mechanism_is_answered_with_names_and_the_way_to_a_file(called: Called) -> None:
    assert "or the path of a JSON file. Did you mean 'mixed'?" in called("market", "--mechanism", "mixd").err


def test_a_pool_that_was_left_out_is_called_missing(called: Called) -> None:
    assert "--pool is missing; expected three whole numbers" in called("parse", "--say", "YOU: deal").err


@pytest.mark.parametrize("words", [[], ["market"], ["designer"], ["designer", "list"]])
def test_flags_have_no_type_in_the_help(called: Called, words: list[str]) -> None:
    assert "<bool>" not in called(*words, "--help").out


def test_the_first_compilation_is_announced_once(tmp_path: Path) -> None:
    code = """
import numpy as np
from edgeworth.progress import ON_COMPILING
from edgeworth.seeding import hash_rows
ON_COMPILING.append(lambda: print("compiling"))
for kind in (np.int64, np.int32):
    hash_rows(np.ones((2, 2), kind), np.uint64(1), np.empty(2, np.uint64))
"""
    runs = [
        subprocess.run([sys.executable, "-c", code], env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}, capture_output=True, text=True)
        for _ in range(2)
    ]
    assert [run.stdout.split() for run in runs] == [["compiling"], []]


def test_every_command_says_a_fallback_once_and_without_the_line_of_code(capsys: pytest.CaptureFixture[str]) -> None:
    def command() -> None:
        for _ in range(2):
            warnings.warn("The greedy rule stands in.", FallbackUsed, stacklevel=1)

    for _ in range(2):
        main(command)
        assert capsys.readouterr().err == "The greedy rule stands in.\n"


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with the words that call it."""
    loaded = command.load() if isinstance(command, LazyCommand) else command
    if not getattr(loaded, "commands", None):
        yield path, loaded
    for name, inner in getattr(loaded, "commands", {}).items():
        yield from commands(inner, (*path, name))


def test_help_lists_what_is_played_and_by_whom_then_how_much_and_where_the_result_goes() -> None:
    found, seen = list(commands(typer.main.get_command(app))), Counter[str]()
    assert len(found) > 30
    for path, command in found:
        with command.make_context(" ".join(path), [], resilient_parsing=True) as context:
            listed = [name for option in command.get_params(context) for name in option.opts if name.startswith("--")]
        first, last = ([name for name in listed if name in order] for order in (FIRST, LAST))
        assert first == sorted(first, key=FIRST.index) and last == sorted(last, key=LAST.index), path
        assert listed[: len(first)] == first and listed[-len(last) :] == last and listed[-1] == "--help", path
        seen.update(listed)
    assert seen.keys() >= {*FIRST, *LAST}  # no name that no command has
    nowhere = {name for name, commands_with in seen.items() if commands_with > 2} - {*FIRST, *LAST}
    assert not nowhere, "options of three commands or more have a place in one of the lists"


def test_the_paragraphs_of_help_are_broken_by_the_terminal_alone() -> None:
    for path, command in commands(typer.main.get_command(app)):
        paragraphs = command.help.split("\n\n")
        assert len(paragraphs) > 1 and not [text for text in paragraphs if "\n" in text or "  " in text], path


AT_80 = [
    "demo --partner boulware --scenario lewis --seed 3",
    "analyse --seed 3",
    "analyse --counts 4,4,4 --mine 1,1,1 --theirs 1,1,1",
    "market --stage 4 --steps 1",
    "sensitivity --stage 3 --episodes 20",
    "robustness --quick",
    "evaluate --agent learned --agent bayes --agent agree_first --episodes 20 --yardstick-episodes 10",
    "compare learned agree_first --episodes 20 --yardstick-episodes 10",
    "tournament --scenario lewis -n greedy -n agree_first -n concession --episodes 10",
    "yardstick --scenario one_shot --contexts 100 --plan-contexts 10",
    "designer search --stage 1 --effort 0.001",
    "designer list",
    "hints list",
    "pocket card",
]


@pytest.mark.parametrize("command", AT_80)
def test_a_terminal_of_80_columns_cuts_no_line_and_no_word(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setattr(console, "err", Console(stderr=True, force_terminal=False))
    monkeypatch.setattr(sys, "argv", ["edgeworth", *command.split()])
    pages = []
    for columns in (80, 400):
        monkeypatch.setattr(console.out, "width", columns)
        with pytest.raises(SystemExit):
            main()
        pages.append(capsys.readouterr().out)
    words = [set(re.findall(r"\w+", page)) for page in pages]
    assert max(len(line.rstrip()) for line in pages[0].splitlines()) <= 80 and "…" not in pages[0]
    assert words[0] == words[1] != set()
