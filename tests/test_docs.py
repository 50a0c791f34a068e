"""The pages say what the code and the results say."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from edgeworth.cli import app
from edgeworth.llm.huggingface import HuggingFace, Pocket
from edgeworth.training.pocket_folder import read_card

ROOT = Path(__file__).resolve().parents[1]


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_command_page_is_what_help_prints() -> None:
    written = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert written == script("write_cli").page(), "run `make docs`"


def test_the_tables_of_the_pages_are_those_of_the_results() -> None:
    tables = script("write_tables")
    for page, text in tables.pages().items():
        assert page.read_text(encoding="utf-8") == text, "run `make docs`"


def test_the_readme_claims_no_more_than_the_results_hold() -> None:
    claim = re.search(r"their row could be at most ([0-9.]+) higher", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert claim is not None
    table = json.loads((ROOT / "results" / "yardstick_bargaining.json").read_text(encoding="utf-8"))
    assert all(row["high"] == row["low"] for scenario in table["scenarios"] for row in scenario["rows"])
    notes = {scenario["scenario"]: " ".join(scenario["notes"]) for scenario in table["scenarios"] if scenario["notes"]}
    gap = re.search(r"at most ([0-9.]+) higher", notes["discounted"])
    assert list(notes) == ["discounted"] and gap is not None and float(gap[1]) <= float(claim[1])


def test_results_and_figures_are_files_of_less_than_a_megabyte() -> None:
    large = [path.name for folder in ("results", "docs") for path in (ROOT / folder).rglob("*.*") if path.stat().st_size >= 1_000_000]
    assert large == []


def intervals(found: Any, name: str) -> Iterator[dict[str, float]]:
    """All estimates of this name in a file of results."""
    if isinstance(found, dict):
        if isinstance(found.get(name), dict) and "low" in found[name]:
            yield found[name]
        for part in found.values():
            yield from intervals(part, name)
    elif isinstance(found, list):
        for part in found:
            yield from intervals(part, name)


def test_intervals_of_rates_in_the_results_lie_within_0_and_1() -> None:
    files = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "results").glob("*.json"))]
    rates = [rate for found in files for name in ("deal_rate", "pareto_rate") for rate in intervals(found, name)]
    assert len(rates) > 100 and all(0.0 <= rate["low"] <= rate["high"] <= 1.0 for rate in rates)


def test_every_relative_link_of_the_pages_leads_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def readme_examples(language: str) -> list[tuple[str, str]]:
    """The examples of README in a language, each with the output shown below it."""
    return re.findall(rf"```{language}\n([^`]*)```\n\n```text\n([^`]*)```", (ROOT / "README.md").read_text(encoding="utf-8"))


def trimmed(output: str) -> str:
    return "\n".join(line.rstrip() for line in output.strip("\n").splitlines()) + "\n"


def test_the_examples_of_the_readme_print_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    examples = readme_examples("python")
    assert len(examples) == 2
    for code, shown in examples:
        exec(code, {})  # the reader will do the same
        assert trimmed(capsys.readouterr().out) == shown


def test_the_command_of_the_readme_prints_what_it_shows() -> None:
    ((command, shown),) = readme_examples("sh")
    environment = {**os.environ, "COLUMNS": "80", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-m", *command.split()], capture_output=True, text=True, env=environment, timeout=600)
    assert trimmed(done.stdout) == shown


def test_the_readme_is_short_and_names_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 1000 and "make lab " in text and "make test " in text
    for link in ("CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff", "NOTICE", "docs/images/bargaining.png", "docs/images/market.png"):
        assert f"]({link})" in text


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "guides").glob("*.md")), ids=lambda page: page.stem)
def test_the_examples_of_a_guide_run_and_print_something(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    examples = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert examples
    for example in examples:
        exec(example, {"__name__": "example"})  # the reader will do the same
        assert capsys.readouterr().out.strip()


def test_the_list_of_examples_has_all_of_them() -> None:
    listed = set(re.findall(r"\(\.\./examples/(\w+)\.py\)", (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")))
    assert listed == {path.stem for path in (ROOT / "examples").glob("*.py")}


def test_the_examples_of_the_page_on_hints_run() -> None:
    text = (ROOT / "docs" / "hints.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(examples) == 3
    for example in examples:
        exec(example, {})  # the reader will do the same


def test_what_is_said_of_the_language_models_was_measured_on_the_bundled_ones() -> None:
    name = Pocket().name
    results = {
        file: json.loads((ROOT / "results" / f"{file}.json").read_text(encoding="utf-8"))
        for file in ("pocket", "bench_llm", "hints_measure")
    }
    asked = {row["model"] for row in results["hints_measure"]["measures"] if row["model"] is not None}
    assert results["pocket"]["model"] == results["bench_llm"]["model"] == name and asked == {name}
    assert read_card()["scores"]["targets"] == results["pocket"]["targets"]
    designer = HuggingFace("pocket_designer").name
    assert f'"{designer}"' in (ROOT / "results" / "yardstick_auction.json").read_text(encoding="utf-8")


def test_the_list_of_modules_is_what_their_docstrings_say() -> None:
    architecture = script("write_architecture")
    assert architecture.PAGE.read_text(encoding="utf-8") == architecture.page(), "run `make docs`"


def test_the_figure_of_the_packages_has_their_boxes_and_arrows() -> None:
    architecture = script("write_architecture")

    def named(svg: str) -> list[str]:
        return re.findall(r"<title>(.*?)</title>", svg) + re.findall(r'font-weight="bold"[^>]*>(.*?)<', svg)

    assert named(architecture.FIGURE.read_text(encoding="utf-8")) == named(architecture.drawn()), "run `make docs`"


def walks() -> list[list[tuple[str, str]]]:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    return [[tuple(line.split()) for line in walk.splitlines()] for walk in re.findall(r"```walk\n(.*?)\n```", page, re.DOTALL)]


def test_every_step_of_the_six_walks_exists_and_is_used_by_an_earlier_file_of_its_walk() -> None:
    assert len(walks()) == 6
    for walk in walks():
        earlier = ""
        for number, (file, name) in enumerate(walk):
            text = (ROOT / "src" / "edgeworth" / file).read_text(encoding="utf-8")
            for part in name.split("."):
                assert re.search(rf"(def|class) {part}\b", text), f"{name} is not in {file}"
            called = name.split(".")[-1]
            assert number == 0 or re.search(rf"\b{called}\b", earlier), f"no earlier file of the walk uses {name}"
            earlier += text


def commands_in_pages() -> list[tuple[str, str]]:
    """Every command in a block or between backticks, by page; not those with a part left out."""
    pages = [*ROOT.glob("docs/**/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    found = []
    for page in sorted(set(pages) - {ROOT / "docs" / "cli.md"}):
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        lines = [re.split(r" +# | && ", line)[0] for line in re.findall(r"^(?:\$ )?(edgeworth .*)$", text, re.M)]
        named = re.findall(r"`(edgeworth [^`]*)`", text)
        found += [(page.name, " ".join(line.split())) for line in (*lines, *named) if not {"…", "|", "–"} & set(line)]
    return found


def test_the_commands_of_the_pages_exist_with_their_options() -> None:
    read = 0
    for page, line in commands_in_pages():
        command: Any = typer.main.get_command(app)
        words, path = shlex.split(line)[1:], list[str]()
        while isinstance(command, TyperGroup) and words and not words[0].startswith("-"):
            with command.make_context("edgeworth", list(words), resilient_parsing=True) as context:
                name, command, words = command.resolve_command(context, [*context._protected_args, *context.args])
                path.append(str(name))
        assert path, f"{page}: {line}"
        if words and not isinstance(command, TyperGroup) and not (words[-1].startswith("--") and len(words) == 1):
            command.make_context(" ".join(path), words).close()  # an unknown option is an error
            read += 1
    assert read > 60
