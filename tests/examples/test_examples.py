"""Every example runs as it is, as a script and as a notebook, and prints what it is about."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
QUICK = {
    "own_partner": r"learned +0\.\d+ \[",
    "own_bidder": r"1\.00 +0\.\d+\* ",
    "mechanism_against_a_ring": r"suspects punished +0\.[56789]",
    "server_client": r"R 0\.\d+\n\ntaken up by name after 1 step.*\nagent_agreed: \d+ points",
}
LONG = {
    "negotiator_in_a_minute": r"this run +0\.6",
    "openenv_client": r"ended: agent_agreed with \d+\.0 points\n\nR 0\.\d+ ",
    "own_language_model_grpo": r"step 4: reward 0\.\d+",
    "own_policy_sb3": r"MaskablePPO +0\.[3456]",
}


SHOWN = dict(
    re.findall(r"```text\n\$ python examples/(\w+)\.py\n(.*?)```", (ROOT / "docs" / "examples.md").read_text(encoding="utf-8"), re.DOTALL)
)
"""What the page of examples shows of their output, by name."""


def printed_by(name: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    words = [sys.executable, f"{name}.py"]
    done = subprocess.run(words, cwd=EXAMPLES, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_tried() -> None:
    assert {"own_bidder", "mechanism_against_a_ring"} <= SHOWN.keys()
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*QUICK, *LONG}


@pytest.mark.parametrize("name", QUICK)
def test_a_quick_example_prints_what_it_is_about(name: str) -> None:
    printed = printed_by(name)
    assert re.search(QUICK[name], printed)
    assert SHOWN.get(name, "") in "".join(f"{line.rstrip()}\n" for line in printed.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_a_longer_example_prints_what_it_is_about(name: str) -> None:
    assert re.search(LONG[name], printed_by(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*QUICK, *LONG])
def test_an_example_runs_as_a_notebook(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    jupytext, nbclient = pytest.importorskip("jupytext"), pytest.importorskip("nbclient")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    notebook = jupytext.read(EXAMPLES / f"{name}.py")
    assert notebook.cells[0].cell_type == "markdown" and notebook.cells[0].source.startswith("# ")
    nbclient.NotebookClient(notebook, timeout=900, kernel_name="python3", resources={"metadata": {"path": str(EXAMPLES)}}).execute()
    said = [output.text for cell in notebook.cells for output in cell.get("outputs", ()) if output.get("name") == "stdout"]
    assert re.search({**QUICK, **LONG}[name], "".join(said))
