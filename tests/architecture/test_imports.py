"""The shape of the package: who may import whom, what an import loads, and what every module says of itself."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import edgeworth

PACKAGE = Path(edgeworth.__file__).resolve().parent
MODULES = {
    ".".join(("edgeworth", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
LAYERS = ("games", "dialogues", "envs", "agents", "training", "evaluation", "server", "cli")
LEAVES = {
    *("arithmetic", "errors", "files", "config", "validation", "seeding", "runlog", "protocol", "llm", "catalog", "compiled", "client"),
    *("executor", "progress"),
}
HEAVY = {"torch", "fastapi", "uvicorn", "transformers", "openai", "datasets", "matplotlib", "ray", "numba", "pettingzoo", "typer", "rich"}


def tree(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def part(module: str) -> str:
    """The layer or leaf a module belongs to; the package itself is its front door."""
    return module.split(".")[1] if "." in module else "edgeworth"


def imported(module: str) -> set[str]:
    """The modules of ours that a module imports, lazily or for types included."""
    found = set()
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {full if (full := f"{node.module}.{alias.name}") in MODULES else node.module for alias in node.names}
    return {name for name in found if name.split(".")[0] == "edgeworth"}


@pytest.mark.parametrize("module", [m for m in MODULES if part(m) in LAYERS])
def test_a_layer_imports_only_leftwards_and_from_the_leaves(module: str) -> None:
    allowed = {*LAYERS[: LAYERS.index(part(module)) + 1], *LEAVES}
    if part(module) in ("server", "cli"):
        allowed.add("edgeworth")  # the outermost layers may ask the package for its version
    assert {part(other) for other in imported(module)} <= allowed


@pytest.mark.parametrize("module", [m for m in MODULES if part(m) in LEAVES])
def test_a_leaf_imports_only_leaves(module: str) -> None:
    assert {part(other) for other in imported(module)} <= LEAVES


def test_every_module_has_its_place() -> None:
    assert {part(module) for module in MODULES} <= {*LAYERS, *LEAVES, "edgeworth", "__main__"}


def test_nothing_is_imported_by_relative_paths() -> None:
    relative = [m for m in MODULES for node in ast.walk(tree(m)) if isinstance(node, ast.ImportFrom) and node.level]
    assert relative == []


@pytest.mark.parametrize("module", [m for m, path in MODULES.items() if len(path.read_text(encoding="utf-8").splitlines()) > 20])
def test_a_module_of_more_than_twenty_lines_has_a_header(module: str) -> None:
    header = ast.get_docstring(tree(module))
    assert header and len(header.splitlines()[0]) <= 140


@pytest.mark.parametrize("module", [m for m in MODULES if part(m) != "cli"])
def test_print_belongs_to_the_command_line(module: str) -> None:
    calls = [n.lineno for n in ast.walk(tree(module)) if isinstance(n, ast.Call) and getattr(n.func, "id", None) == "print"]
    assert calls == []


@pytest.mark.parametrize("module", list(MODULES))
def test_randomness_comes_from_seeding_alone(module: str) -> None:
    text = MODULES[module].read_text(encoding="utf-8")
    if part(module) not in ("seeding", "evaluation", "cli"):
        assert "np.random" not in text.replace("np.random.Generator", "") and "import random\n" not in text


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, edgeworth; print(' '.join(sorted({name.partition('.')[0] for name in sys.modules})))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "edgeworth" in loaded and "gymnasium" in loaded
    assert HEAVY.isdisjoint(loaded)


def test_importing_the_package_registers_the_environments() -> None:
    code = "import gymnasium, edgeworth; [gymnasium.spec(name) for name in edgeworth.catalog.ENVIRONMENTS]"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Negotiation'"):
        edgeworth.Negotiation  # noqa: B018


def test_test_files_have_names_of_their_own() -> None:
    """Pytest imports them by name, so that of two alike one is not collected."""
    names = [path.name for path in Path(__file__).resolve().parents[1].rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
