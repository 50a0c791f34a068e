"""`edgeworth hint` and `edgeworth hints`: one hint taken apart, and what hints are worth."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bargaining_table import POOL, play, propose, sit_down
from edgeworth.cli.situation import read_history
from edgeworth.dialogues.hint_prompt import move_words
from edgeworth.games.bargaining.history import Move
from edgeworth.games.bargaining.vocabulary import AGENT, PARTNER, Act
from replies import HINT, said

Called = Callable[..., Any]
CONTEXT = ("--counts", "2,1,3", "--mine", "1,5,1")
TALKS = "me PROPOSE 2,1,3; partner PROPOSE 1,1,1"


def page(run: Any) -> str:
    """What was printed, without the frames around it."""
    assert run.status == 0, run.err
    return " ".join(run.out.replace("│", " ").split())


def told(run: Any) -> dict[str, Any]:
    assert run.status == 0, run.err
    found: dict[str, Any] = json.loads(run.out)
    return found


# One hint


def test_a_reply_is_judged_without_asking_anybody(called: Called) -> None:
    shown = page(called("hint", *CONTEXT, "--reply", said(HINT)))
    for words in ("Prompt: system", "Prompt: user", "Pool (books, hats, balls): 2,1,3", '"confidence": 0.75}', "oA_books_over_pool"):
        assert words in shown
    assert "Accepted: PROPOSE 2 books, 1 ball for me, worth 3 of 10 points to me; confidence 0.75" in shown
    assert "The Bayes plan" in shown and "INSIST" in shown


@pytest.mark.parametrize(
    ("reply", "reason", "field"),
    [
        (said(HINT, act_type=2), "masked_act", "act_type"),
        (said(HINT, oA=[3, 0, 0]), "over_cap", "oA"),
        ("Take the [bold]hat[/] and run!", "no_json", None),
        ('{"act_type": 1,', "bad_json", None),
        ("", "no_json", None),
    ],
)
def test_a_rejected_reply_is_explained_and_its_features_are_neutral(called: Called, reply: str, reason: str, field: str | None) -> None:
    found = told(called("hint", *CONTEXT, "--reply", reply, "--json"))
    verdict = found["verdict"]
    assert (verdict["accepted"], verdict["reason"], verdict["field"]) == (False, reason, field)
    assert not any(found["features"].values()) and len(found["features"]) == 10
    shown = page(called("hint", *CONTEXT, "--reply", reply))
    assert f"Rejected ({reason}" in shown and "The features are neutral." in shown
    assert " ".join(reply.split()) in shown, "the raw reply, markup and all"


def test_the_object_holds_the_prompt_the_reply_and_the_plan(called: Called) -> None:
    found = told(called("hint", *CONTEXT, "--reply", said(HINT), "--json"))
    assert [message["role"] for message in found["messages"]] == ["system", "user"]
    assert found["reply"]["text"] == said(HINT) and found["model"] == "the reply given"
    assert found["context"] == {"counts": [2, 1, 3], "my_utilities": [1, 5, 1]}
    assert found["verdict"] == {"accepted": True, "act": "PROPOSE", "act_type": 0, "oA": [2, 0, 1], "confidence": 0.75}
    assert list(found["features"].values()) == [1, 0, 0, 0, 0, 1, 0, pytest.approx(1 / 3, abs=1e-5), 0.75, 1]
    assert found["bayes"]["act"] == "INSIST" and found["legal_acts"] == ["PROPOSE", "INSIST", "DISAGREE", "END"]


def test_the_moves_so_far_may_be_given(called: Called) -> None:
    found = told(called("hint", *CONTEXT, "--history", TALKS, "--reply", said(HINT, act_type=2), "--json"))
    assert found["history"] == TALKS.split("; ") and found["verdict"]["act"] == "AGREE"
    assert "Its standing offer leaves me: 1,1,1\nMoves left: 8" in found["messages"][1]["content"]


def test_given_moves_lead_to_the_same_state_as_played_ones(called: Called) -> None:
    env = sit_down(POOL)
    history = play(env, propose(2, 1, 3)).info["history"]
    words = "; ".join(move_words(move, POOL.counts) for move in history)
    assert words == TALKS
    played = told(called("hint", *CONTEXT, "--moves", "1", "--player", "greedy", "--set", "opens=agent", "--provider", "bayes", "--json"))
    as_told = told(called("hint", *CONTEXT, "--history", words, "--provider", "bayes", "--json"))
    assert played == as_told


def test_a_history_reads_what_prompts_show() -> None:
    moves = [Move(AGENT, Act.INSIST, (2, 0, 1)), Move(PARTNER, Act.PROPOSE, (1, 1, 1)), Move(AGENT, Act.DISAGREE, None)]
    assert read_history("\n".join(move_words(move, POOL.counts) for move in moves), POOL.counts) == moves


def test_the_partner_may_open_a_given_history(called: Called) -> None:
    found = told(called("hint", *CONTEXT, "--history", "partner PROPOSE 1,1,1", "--provider", "bayes", "--json"))
    assert found["history"] == ["partner PROPOSE 1,1,1"] and "AGREE" in found["legal_acts"]


def test_house_rules_stay_in_force_after_a_given_history(called: Called) -> None:
    words = ("hint", *CONTEXT, "--history", TALKS, "--set", "sudden_end=0.4", "--reply", "?", "--json")
    assert "the negotiation may break off, chance 0.4" in told(called(*words))["messages"][1]["content"]


@pytest.mark.parametrize("provider", ["bayes", "random", "none"])
def test_a_provider_that_asks_no_model_has_no_prompt(called: Called, provider: str) -> None:
    assert "asks no language model: there is no prompt and no reply" in page(called("hint", "--provider", provider, "--seed", "3"))
    assert told(called("hint", "--provider", provider, "--json"))["messages"] is None


def test_where_an_expert_is_missing_the_warning_says_how_to_train_one(called: Called) -> None:
    run = called("hint", "--provider", "expert", "--set", "max_count=7")
    assert run.status == 0 and "train one with `edgeworth train --config configs/ppo_expert.yaml`" in run.err
    assert "greedy rule" in run.err and "PROPOSE" in run.out


def test_a_partner_without_a_plan_leaves_the_hint_without_comparison(called: Called) -> None:
    assert "No plan to compare with" in page(called("hint", "--partner", "human_clone", "--reply", said(HINT)))


def test_a_replay_without_a_recording_names_the_file(called: Called, tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("{counts_csv} {my_utils_csv} {last_offer_csv} {turns}", encoding="utf-8")
    words = ("hint", "--client", "ollama", "--model", "m", "--prompt", str(prompt), "--cache", str(tmp_path / "none.sqlite"), "--replay")
    run = called(*words)
    assert run.status == 1 and "none.sqlite" in run.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--provider", "lm"], "Did you mean 'llm'?"),
        (["--client", "grok", "--model", "m"], "Did you mean 'groq'?"),
        (["--client-option", "timeout"], "expected NAME=VALUE"),
        (["--provider", "bayes", "--model", "m"], "--model belongs to the provider llm; bayes asks no model"),
        (["--reply", "x", "--provider", "bayes"], "--reply is judged as it stands"),
        (["--reply", "x", "--model", "m"], "--reply is judged as it stands"),
        (["--reply", "x", "--counts", "1,2,3"], "--counts and --mine together"),
        (["--reply", "x", "--counts", "1,2,x", "--mine", "1,2,3"], "--counts is '1,2,x'; expected three whole numbers"),
        (["--reply", "x", "--history", TALKS, "--moves", "1"], "--history and --moves exclude each other"),
        (["--reply", "x", *CONTEXT, "--history", "me PROPSE 1,1,1"], "Did you mean 'PROPOSE'?"),
        (["--reply", "x", *CONTEXT, "--history", "you PROPOSE 1,1,1"], "expected me or partner"),
        (["--reply", "x", *CONTEXT, "--history", "me PROPOSE 1,1"], "expected three whole numbers"),
        (["--reply", "x", *CONTEXT, "--history", "me PROPOSE 3,1,1"], "more than the pool 2,1,3"),
        (["--reply", "x", *CONTEXT, "--history", "partner PROPOSE 1,1,1; me AGREE 1,1,1"], "AGREE has none"),
        (["--reply", "x", *CONTEXT, "--history", "me PROPOSE 1,1,1"], "the next is the partner's"),
        (["--reply", "x", *CONTEXT, "--history", "me PROPOSE 1,1,1; me PROPOSE 1,1,1"], "Move 2 of --history is again one of mine"),
        (["--reply", "x", *CONTEXT, "--history", "me AGREE"], "Move 1 of --history is not legal: AGREE needs an offer"),
        (["--reply", "x", *CONTEXT, "--history", "me PROPOSE 1,1,1; partner AGREE"], "The negotiation is over with move 2"),
        (["--reply", "x", *CONTEXT, "--history", TALKS, "--set", "opens=partner"], "here the partner opens"),
        (["--reply", "x", "--moves", "9", "--player", "agree_first"], "The negotiation is over after move"),
        (["--reply", "x", "--player", "gredy"], "Did you mean 'greedy'?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_call_gets_one_sentence_and_status_2(called: Called, words: list[str], sentence: str) -> None:
    run = called("hint", *words)
    assert run.status == 2 and sentence in run.err and run.out == ""


def test_the_pocket_model_is_asked_by_default(called: Called) -> None:
    found = told(called("hint", *CONTEXT, "--history", TALKS, "--json"))
    assert found["model"].startswith("pocket@") and found["verdict"]["accepted"] and found["reply"]["completion_tokens"] > 0


# What hints are worth


def test_the_measures_are_printed_written_and_drawn(called: Called, tmp_path: Path) -> None:
    out, picture = tmp_path / "measures.json", tmp_path / "measures.png"
    words = ("hints", "measure", "--providers", "random,bayes", "--episodes", "12", "--scenario", "lewis")
    printed = told(called(*words, "--out", str(out), "--figure", str(picture), "--json"))
    assert json.loads(out.read_text(encoding="utf-8")) == printed and picture.read_bytes().startswith(b"\x89PNG")
    assert (printed["seeds"], printed["scenario"], printed["contexts"]) == ("0 to 11", "lewis", "all")
    bayes = printed["measures"][1]
    assert bayes["adviser"] == "bayes" and bayes["same_move"]["value"] == bayes["over_bayes"]["value"] == 1.0
    table = called(*words).out
    assert "lewis, all contexts: what hints are worth" in table and "±0.000" in table


def test_held_out_contexts_can_be_measured_alone(called: Called) -> None:
    words = ("hints", "measure", "--providers", "random", "--episodes", "10", "--contexts", "held_out", "--scenario", "one_shot", "--json")
    assert told(called(*words))["seeds"].startswith("10 seeds from 10 to ")


def test_the_providers_are_listed(called: Called) -> None:
    assert {"bayes", "expert", "llm", "none", "random"} == told(called("hints", "list", "--json"))["providers"].keys()
    assert "Asks a language model" in called("hints", "list").out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--providers", "random,baies"], "Did you mean 'bayes'?"),
        (["--providers", ","], "expected names with commas between"),
        (["--providers", "random", "--free"], "belong to the provider llm; add it to --providers"),
        (["--providers", "random", "--client", "groq"], "belong to the provider llm; add it to --providers"),
        (["--providers", "random", "--contexts", "heldout"], "Did you mean 'held_out'?"),
        (["--providers", "llm", "--replay"], "replay needs the path of a cache"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_call_of_measure_gets_one_sentence_and_status_2(called: Called, words: list[str], sentence: str) -> None:
    run = called("hints", "measure", *words)
    assert run.status == 2 and sentence in run.err and run.out == ""


def test_a_prompt_that_cannot_be_read_fails_with_its_name(called: Called) -> None:
    run = called("hints", "measure", "--providers", "llm", "--prompt", "/nowhere/a.txt")
    assert run.status == 1 and "/nowhere/a.txt: cannot be read" in run.err


def test_the_pocket_model_is_measured_by_default(called: Called) -> None:
    printed = told(called("hints", "measure", "--providers", "llm", "--episodes", "10", "--contexts", "held_out", "--json"))
    (row,) = printed["measures"]
    assert row["adviser"] == "llm (pocket)" and row["legality"]["value"] == 1.0 and row["cost"]["completion_tokens"] > 0


def test_a_seed_decides_what_is_drawn_above_temperature_zero(called: Called) -> None:
    replies = {told(called("hint", "--seed", "5", "--temperature", "2", "--json"))["reply"]["text"] for _ in range(2)}
    assert len(replies) == 1
