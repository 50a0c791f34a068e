"""The benchmark of steps while a language model writes: who is measured, and what is said where nobody can be."""

from __future__ import annotations

import functools
import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from benchmarks import responsiveness, sweep
from benchmarks.server import script
from stub_model import Stub

from edgeworth.server import routes_designers
from edgeworth.server.model_process import ModelProcess
from running_servers import MECHANISM, in_thread, settings_in

SCRIPTS = [script("ours", "http", f"s{k}", k) for k in range(2)]


def measured(folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> dict[str, Any]:
    """What is found at a server with a process without a model in the place of the language model."""
    monkeypatch.setattr(routes_designers, "designer_process", lambda pocket: pocket)
    monkeypatch.setattr(routes_designers, "pocket_process", lambda: ModelProcess("stub", functools.partial(Stub, **options)))
    with in_thread(settings_in(folder, port=0, log_requests=False)) as (_, port):
        return responsiveness.measure(port, SCRIPTS, 2, 0.4)


def tables() -> ModuleType:
    """docs/write_tables.py."""
    spec = importlib.util.spec_from_file_location("write_tables", Path(__file__).parents[2] / "docs" / "write_tables.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_steps_are_timed_while_the_model_is_idle_and_while_it_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "calls"
    found = measured(tmp_path, monkeypatch, text=json.dumps(MECHANISM), seconds=0.05, log=str(log))
    assert found["model"] == "stub" and found["sessions"] == 2 and found["problems"] == []
    assert 0 < found["questions_answered"] == sum(map(int, log.read_text(encoding="utf-8").split())) - 1
    for entry in found["turns"].values():
        assert entry["steps"] > 10 and 0.0 < entry["p50"]["median"] <= entry["p99"]["median"] and len(entry["p99"]["values"]) == 2
    ratios = [busy / idle for idle, busy in zip(*(found["turns"][name]["p99"]["values"] for name in responsiveness.TURNS), strict=True)]
    assert found["ratio"]["values"] == ratios
    (target,) = responsiveness.targets(found)
    assert target["target"] == 3.0 and target["relation"] == "<="
    assert "the model writes, 4 questions in flight" in tables().responsiveness_table({"responsiveness": found})


def test_without_a_model_the_result_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured(tmp_path, monkeypatch, missing=True)
    assert "There is no such model" in found["not_measured"] and responsiveness.targets(found) == []
    assert f"not measured: {found['not_measured']}" in tables().responsiveness_table({"responsiveness": found})


def test_steps_are_timed_while_sessions_expire_and_while_none_do() -> None:
    found = sweep.run(sessions=8, rounds=2, seed=0)
    assert found["sessions_expired"] == 8 and not found["problems"] and not found["server_failures"]
    for entry in found["turns"].values():
        assert entry["steps"] > 10 and 0.0 < entry["p50"]["median"] <= entry["p999"]["median"] <= entry["longest"]["median"]
    longest, quiet, difference = found["targets"]
    assert (longest["target"], quiet["target"], difference["target"]) == (50.0, None, None)
    assert longest["values"] == [max(found["turns"]["sweep"]["longest"]["values"])]
    assert "| sessions expire |" in tables().sweep_table(found)
