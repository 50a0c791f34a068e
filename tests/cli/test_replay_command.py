"""`edgeworth replay`: an exported session, played again here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from edgeworth.cli import app
from edgeworth.errors import DataError
from edgeworth.games.auction.vocabulary import RULES
from running_servers import MECHANISM, OFFER, client_of, settings_in

runner = CliRunner()


def exported(tmp_path: Path, prefix: str, action: dict[str, Any], steps: int) -> tuple[Path, list[float]]:
    with client_of(settings_in(tmp_path)) as client:
        client.post(f"{prefix}/reset", json={"session_id": "s", "seed": 11})
        rewards = [client.post(f"{prefix}/step", json={"session_id": "s", "action": action}).json()["reward"] for _ in range(steps)]
        file = tmp_path / "session.json"
        file.write_bytes(client.get("/sessions/s/export").content)
    return file, rewards


@pytest.mark.parametrize(("prefix", "action"), [("", MECHANISM), ("/bargaining", OFFER)])
def test_a_replay_earns_what_the_session_earned(tmp_path: Path, prefix: str, action: dict[str, Any]) -> None:
    file, rewards = exported(tmp_path, prefix, action, 2)
    told = json.loads(runner.invoke(app, ["replay", str(file), "--json"]).stdout)
    assert [step["reward"] for step in told["steps"]] == rewards and told["seed"] == 11


def test_a_replay_is_shown_step_by_step(tmp_path: Path) -> None:
    file, rewards = exported(tmp_path, "", MECHANISM, 3)
    told = runner.invoke(app, ["replay", str(file)]).stdout
    assert f"{rewards[1]:.6f}" in told and f"total reward {sum(rewards):.6f}" in told and "goes on" in told


@pytest.mark.parametrize("rules", [None, 1, RULES + 1])
def test_a_session_of_other_rules_is_refused_and_not_played(tmp_path: Path, rules: int | None) -> None:
    file, _ = exported(tmp_path, "", MECHANISM, 1)
    content = json.loads(file.read_text())
    assert content.pop("rules") == RULES
    file.write_text(json.dumps(content if rules is None else {**content, "rules": rules, "options": {"an_option_of_then": 1}}))
    result = runner.invoke(app, ["replay", str(file)])
    assert isinstance(result.exception, DataError) and not result.stdout
    said = f"session.json: The session was opened under rules {rules or 1} of the auction game; rules {RULES} are in force here"
    assert said in str(result.exception) and "Open a new session" in str(result.exception)


def test_a_negotiation_exported_before_rules_had_numbers_is_replayed(tmp_path: Path) -> None:
    file, rewards = exported(tmp_path, "/bargaining", OFFER, 2)
    content = json.loads(file.read_text())
    assert content.pop("rules") == 1
    file.write_text(json.dumps(content))
    told = json.loads(runner.invoke(app, ["replay", str(file), "--json"]).stdout)
    assert [step["reward"] for step in told["steps"]] == rewards


MISFITS = {
    "not JSON": ("{", "not JSON"),
    "another file": ("[1, 2]", "exported session"),
    "no seed": ('{"game": "auction", "options": {}, "actions": []}', "lacks seed"),
    "an unknown game": ('{"game": "chess", "seed": 1, "options": {}, "actions": []}', "chess"),
    "an unknown option": (f'{{"game": "auction", "rules": {RULES}, "seed": 1, "options": {{"bidders": 3}}, "actions": []}}', "bidders"),
    "an impossible action": (f'{{"game": "auction", "rules": {RULES}, "seed": 1, "options": {{}}, "actions": [{{}}]}}', "action 1"),
}


@pytest.mark.parametrize("kind", MISFITS)
def test_a_file_that_does_not_fit_is_named_with_the_reason(tmp_path: Path, kind: str) -> None:
    text, word = MISFITS[kind]
    file = tmp_path / "session.json"
    file.write_text(text, encoding="utf-8")
    result = runner.invoke(app, ["replay", str(file)])
    assert isinstance(result.exception, DataError) and word in str(result.exception) and "session.json" in str(result.exception)


def test_a_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    assert isinstance(runner.invoke(app, ["replay", str(tmp_path / "none.json")]).exception, DataError)
