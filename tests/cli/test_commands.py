"""The commands as a person or a script calls them: what they print, where, and with which exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def edgeworth(*words: str, typed: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, 100 columns wide."""
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, "-m", "edgeworth", *words], input=typed, capture_output=True, text=True, env=environment, timeout=120, check=False
    )


def told(*words: str, typed: str | None = None) -> dict[str, Any]:
    """The one object that a command prints with --json."""
    run = edgeworth(*words, "--json", typed=typed)
    assert run.returncode == 0, run.stderr
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def test_demo_plays_an_episode_and_says_what_was_left() -> None:
    run = edgeworth("demo")
    assert run.returncode == 0
    for words in ("1,331 different sets of utilities", "INSIST", "AGREE", "The Pareto frontier", "← the deal", "edgeworth play"):
        assert words in run.stdout


def test_demo_replays_a_seed_and_the_json_holds_the_episode() -> None:
    first, again = told("demo", "--scenario", "lewis", "--seed", "4"), told("demo", "--scenario", "lewis", "--seed", "4")
    assert first == again
    assert first["moves"][-1]["act"] in ("AGREE", "DISAGREE")
    if first["deal"] is not None:
        mine = sum(n * u for n, u in zip(first["deal"], first["context"]["my_utilities"], strict=True))
        assert first["reward"] == mine


def test_demo_counts_a_single_offer_as_one() -> None:
    assert "the best blind plan: 1 offer, worth 10.0 of 10 points" in edgeworth("demo", "--scenario", "lewis", "--seed", "4").stdout


def test_a_person_can_play_to_a_deal_and_sees_the_frontier() -> None:
    run = edgeworth("play", "--seed", "4", "--scenario", "lewis", typed="propose 3 2 2\nagree\n")
    assert run.returncode == 0, run.stderr
    assert "Legal moves: propose" in run.stdout and "| disagree | end" in run.stdout and "| help | quit" in run.stdout
    assert "The end: you accepted" in run.stdout
    assert "The Pareto frontier" in run.stdout
    assert "Someone who knew the partner's utilities would have got" in run.stdout


def test_a_mistyped_move_is_explained_and_asked_again() -> None:
    run = edgeworth("play", "--seed", "4", "--set", "opens=agent", typed="propse 1 1 1\npropose 9 9 9\npropose 1\nagree\ndisagree\n")
    assert "Did you mean 'propose'?" in run.stdout
    assert "expected 0 up to the pool" in run.stdout
    assert "needs your share as three whole numbers" in run.stdout
    assert "AGREE needs an offer of the partner" in run.stdout
    assert "you walked away" in run.stdout


def test_the_example_of_end_is_what_the_partner_offers() -> None:
    run = edgeworth("play", "--seed", "5", typed="end 1 1 1\n")
    assert "| end 1 1 1 | help" in run.stdout and "the final selections matched; you get 18 points" in run.stdout


def test_leaving_the_game_says_how_to_take_it_up_again() -> None:
    run = edgeworth("play", "--seed", "4", "--partner", "boulware", typed="quit\n")
    assert run.returncode == 0
    assert "edgeworth play --scenario classic --partner boulware --seed 4" in run.stdout


def test_playing_with_json_prints_one_object_and_the_moves_on_standard_error() -> None:
    run = edgeworth("play", "--seed", "4", "--json", typed="disagree\n")
    assert json.loads(run.stdout) == {"seed": 4, "reward": 0.0, "partner_reward": 0.0, "outcome": "AGENT_WALKED", "deal": None}
    assert "Legal moves" in run.stderr


def test_analyse_knows_a_hand_computed_context() -> None:
    """Pool 1,1,0 at utilities 2,1 against 1,2: each side keeps what it likes better, 2 points each, and every solution is that point."""
    found = told("analyse", "--counts", "1,1,0", "--mine", "2,1,0", "--theirs", "1,2,0")
    assert {name: (p["mine"], p["theirs"]) for name, p in found["points"].items()} == dict.fromkeys(found["points"], (2, 2))
    assert [(a["mine"], a["theirs"]) for a in found["frontier"]] == [(3, 0), (2, 2), (0, 3)]
    assert found["bounds"]["agent"]["oracle"] == 3.0  # the heuristic partner leaves one of each, which is all there is


def test_analyse_draws_the_frontier(tmp_path: Path) -> None:
    picture = tmp_path / "new folder" / "frontier.png"
    run = edgeworth("analyse", "--seed", "3", "--figure", str(picture))
    assert run.returncode == 0, run.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "Pareto frontier" in run.stdout and "INSIST 4 hats → DISAGREE; worth" in " ".join(run.stdout.split())


def test_analyse_says_why_there_is_no_plan_for_a_partner_whose_offers_reveal_its_utilities() -> None:
    run = edgeworth("analyse", "--partner", "boulware")
    assert run.returncode == 0
    assert "counter-offers reveal nothing" in " ".join(run.stdout.split())


def test_yardstick_writes_its_table_with_command_and_intervals(tmp_path: Path) -> None:
    out = tmp_path / "table.json"
    words = ["yardstick", "--scenario", "lewis", "--contexts", "400", "--plan-contexts", "30", "--seed", "5", "--out", str(out)]
    printed = told(*words)
    assert json.loads(out.read_text()) == printed
    assert printed["command"].startswith("edgeworth yardstick --scenario lewis")
    rows = {row["agent"]: row for row in printed["scenarios"][0]["rows"]}
    assert rows["greedy"]["value"] <= rows["random"]["value"] <= rows["bayes"]["value"] <= 1.0
    assert all(row["low"] <= row["value"] <= row["high"] for row in rows.values())


def test_only_what_was_computed_for_all_contexts_is_called_exact() -> None:
    few = edgeworth("yardstick", "--scenario", "one_shot", "--contexts", "100", "--plan-contexts", "10").stdout
    assert "0.000 – 0.000" in few and "exact" not in few
    assert "exact" in edgeworth("yardstick", "--scenario", "lewis", "--partner", "linear").stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["play", "--partner", "boulwar"], "Did you mean 'boulware'?"),
        (["evaluate", "--agent", "bayes", "--exact", "--episodes", "50"], "--episodes cannot be combined with --exact"),
        (["yardstick", "--exact", "--contexts", "200", "--seed", "3"], "--contexts and --seed cannot be combined with --exact"),
        (["demo", "--scenario", "clasic"], "Did you mean 'classic'?"),
        (["analyse", "--set", "discont=0.9"], "Did you mean 'discount'?"),
        (["analyse", "--set", "discount"], "expected NAME=VALUE"),
        (["analyse", "--set", "discount=[1"], "cannot be read"),
        (["analyse", "--set", "discount=0.9", "--set", "discount.x=1"], "expected NAME=VALUE"),
        (["analyse", "--set", "discount=1.5"], "expected 0.0 to 1.0"),
        (["analyse", "--counts", "1,2,3"], "--counts, --mine and --theirs together"),
        (["analyse", "--counts", "1,2", "--mine", "1,1,1", "--theirs", "1,1,1"], "expected three whole numbers"),
        (["analyse", "--counts", "0,0,0", "--mine", "1,1,1", "--theirs", "1,1,1"], "at least one item"),
        (["analyse", "--figure", "frontier.xyz"], "expected a name that ends in .png"),
        (["nonsense"], "No such command"),
    ],
    ids=" ".join,
)
def test_a_wrong_call_gets_one_sentence_and_status_2(words: list[str], sentence: str) -> None:
    run = edgeworth(*words)
    assert run.returncode == 2
    assert sentence in " ".join(run.stderr.split())
    assert "Traceback" not in run.stderr
    assert run.stdout == ""


def test_a_data_file_that_is_missing_fails_with_status_1(tmp_path: Path) -> None:
    run = edgeworth("analyse", "--set", "contexts=dataset", "--set", f"context_options.path={tmp_path / 'none.txt'}")
    assert run.returncode == 1
    assert "none.txt" in run.stderr and "Traceback" not in run.stderr


def test_every_command_shows_an_example() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for section in page.split("\n## ")[1:]:
        title = section.splitlines()[0]
        if "COMMAND [ARGS]..." not in section:  # a group has commands, and they have examples
            assert "Example: " in section, title


def test_a_yardstick_leaves_out_what_cannot_be_computed_and_says_why() -> None:
    words = ("yardstick", "--scenario", "classic", "--set", "partner=tit_for_tat", "--contexts", "200", "--plan-contexts", "10")
    table = told(*words)["scenarios"][0]
    assert {row["agent"] for row in table["rows"]} == {"concession", "agree_first", "random", "greedy"}
    assert "partner with acceptance thresholds" in table["notes"][0]


def test_what_insisting_cost_is_part_of_what_a_player_gets() -> None:
    words = ("play", "--seed", "4", "--scenario", "lewis", "--set", "insist_price=0.5", "--set", "opens=agent")
    assert told(*words, typed="insist 3 2 2\ndisagree\n")["reward"] == -0.5


def test_a_game_that_is_left_is_one_object_too() -> None:
    assert told("play", "--seed", "4", typed="quit\n")["outcome"] is None


def test_the_most_a_random_partner_gives_is_reported_as_an_average() -> None:
    run = edgeworth("play", "--partner", "random", "--seed", "4", typed="disagree\n")
    assert "points on average" in run.stdout
