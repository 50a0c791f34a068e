"""A language model as designer on the command line: `edgeworth market --designer language_model` and its row in the yardstick."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeworth import catalog
from edgeworth.agents.designers.designer import play
from edgeworth.agents.designers.fixed import Fixed
from edgeworth.agents.designers.language_model import TRAINED, LanguageModel
from edgeworth.cli.yardstick import model_label
from edgeworth.config import AuctionConfig
from edgeworth.errors import MissingExtra
from edgeworth.evaluation.auction_figures import draw_designers
from edgeworth.games.auction.vocabulary import RULES
from edgeworth.llm.client import Completion, Failure, Messages, Reply
from edgeworth.llm.local.folders import BUNDLED
from edgeworth.llm.scripted import Scripted
from edgeworth.training.pocket_folder import market_rules, read_card, write_card
from replies import MECHANISM, said

Call = Callable[..., Any]
"""The fixture `called`: runs a command and gives its status, output and messages."""
MARKET = ("market", "--designer", "language_model", "--steps", "3", "--seed", "6")
POCKET = model_label("pocket", None)
SCALE = ("yardstick", "--game", "auction", "--stage", "0", "--episodes", "100")


def by_length(messages: Messages) -> Reply:
    return Completion(said(MECHANISM, reserve_price=len(messages[-1].content) % 90 / 100), "stop", 1_000, 130, seconds=0.25)


def faulty(messages: Messages) -> str | Reply:
    """Out of range, then a mechanism, then silence."""
    if "Steps played: 2 of" in messages[-1].content:
        return Failure("refused", "It would rather not.")
    return said(MECHANISM, reserve_price=7 if "Steps played: 0 of" in messages[-1].content else 0.2)


class Obliging(Scripted):
    def __init__(self, model: str = "obliging") -> None:
        super().__init__(by_length, model)


class Moody(Scripted):
    def __init__(self) -> None:
        super().__init__(faulty, "moody")


class Uninstalled(Scripted):
    def __init__(self) -> None:
        super().__init__([], "uninstalled")

    def check(self) -> None:
        raise MissingExtra("A local language model", "the `torch` package", "llm")


@pytest.fixture
def pocket(monkeypatch: pytest.MonkeyPatch) -> Callable[[type[Scripted]], None]:
    """Puts another client in the place of the models in the package."""

    def put(client: type[Scripted]) -> None:
        monkeypatch.setitem(BUNDLED, TRAINED, Path("nowhere"))
        monkeypatch.setitem(catalog.LLM_CLIENTS, "pocket", f"{client.__module__}:{client.__name__}")

    return put


@pytest.fixture
def told(called: Call, pocket: Call) -> Callable[..., dict[str, Any]]:
    """The one object that a command prints with --json, where the model is this one."""

    def tell(client: type[Scripted], *words: str) -> dict[str, Any]:
        pocket(client)
        run = called(*words, "--json")
        assert run.status == 0, run.err
        found: dict[str, Any] = json.loads(run.out)
        return found

    return tell


# market


def test_a_language_model_designs_the_market_and_earns_what_it_earns_elsewhere(told: Call) -> None:
    found = told(Obliging, *MARKET, "--stage", "3")
    elsewhere = play(LanguageModel(Scripted(by_length)), AuctionConfig(stage="3"), episodes=1, seed=6)
    assert [step["composite"] for step in found["steps"]] == pytest.approx(elsewhere[0, :3].tolist())
    assert [step["verdict"] for step in found["steps"]] == [{"posted": "reply"}] * 3
    assert found["language_model"]["model"] == "obliging"
    assert (found["language_model"]["prompts"], found["language_model"]["completion_tokens"]) == (3, 390)
    assert found["language_model"]["latency"]["p50"] == 0.25


def test_tokens_and_seconds_are_reported_at_the_end(called: Call, pocket: Call) -> None:
    pocket(Obliging)
    run = called(*MARKET, "--quiet")
    assert (
        "obliging: 3 prompts, 3,000 + 390 tokens read and written, 0.25 s a reply (p90 0.25 s), every reply a legal mechanism." in run.out
    )
    assert "obliging: 1 prompt, 1,000 + 130 tokens" in called(*MARKET, "--steps", "1", "--quiet").out


@pytest.mark.parametrize("quiet", [True, False])
def test_replies_that_were_not_used_are_shown_with_what_was_posted_instead(called: Call, pocket: Call, quiet: bool) -> None:
    pocket(Moody)
    run = called(*MARKET, *(["--quiet"] if quiet else []))
    for words in (
        "Step 1: no mechanism from the model (out_of_range), so the market opens under informed_greedy.",
        "reserve_price is 7; expected a number from 0 to 0.9.",
        "Step 3: no mechanism from the model (refused), so the mechanism in force stays. It would rather not.",
        "2 of 3 replies not used.",
    ):
        assert words in run.out
    assert "Step 2: no mechanism" not in run.out and "FallbackUsed" not in run.err


def test_rejections_are_counted_for_scripts(told: Call) -> None:
    found = told(Moody, *MARKET)
    assert [step["verdict"]["posted"] for step in found["steps"]] == ["opening", "reply", "kept"]
    assert found["language_model"]["rejections"] == {"out_of_range": 1} and found["language_model"]["failures"] == {"refused": 1}
    assert found["language_model"]["posted"] == {"reply": 1, "kept": 1, "opening": 1}


def test_a_market_is_recorded_and_replayed_without_a_model(told: Call, called: Call, tmp_path: Path) -> None:
    keeps = ("--cache", str(tmp_path / "replies.sqlite"))
    first, again = told(Obliging, *MARKET, *keeps), told(Obliging, *MARKET, *keeps, "--replay")
    assert [step["mechanism"] for step in first["steps"]] == [step["mechanism"] for step in again["steps"]]
    assert again["language_model"]["cache_hits"] == 3 and again["language_model"]["calls"] == 0
    assert "3 prompts, 3 from the cache, every reply a legal mechanism." in called(*MARKET, *keeps, "--replay", "--quiet").out
    lost = called(*MARKET, *keeps, "--replay", "--quiet", "--seed", "99")
    assert lost.status == 1 and "Run once without replay" in lost.err


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (["--client", "pockt"], 2, "Did you mean 'pocket'?"),
        (["--client", "vllm"], 2, "The client vllm needs the option 'model'."),
        (["--temperature", "3"], 2, "should be less than or equal to 2"),
        (["--prompt", "nowhere.txt"], 1, "nowhere.txt: cannot be read"),
        (["--replay"], 2, "replay needs the path of a cache"),
        (["--designer", "uniform", "--model", "Qwen"], 2, "--model is about a language model; add --designer language_model."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_client_that_cannot_be_opened_is_a_one_sentence_error(
    called: Call, pocket: Call, words: list[str], status: int, sentence: str
) -> None:
    pocket(Obliging)
    run = called(*MARKET, *words)
    assert run.status == status and sentence in run.err and run.out == ""


def test_options_of_a_model_without_a_designer_are_refused(called: Call) -> None:
    run = called("market", "--cache", "replies.sqlite")
    assert run.status == 2 and "--cache is about a language model; add --designer language_model." in run.err


def test_a_model_that_is_not_installed_says_how_to_install_it(called: Call, pocket: Call) -> None:
    pocket(Uninstalled)
    run = called(*MARKET)
    assert run.status == 1 and "install it with: pip install '" in run.err and "torch==" in run.err and run.out == ""


# yardstick


def test_the_language_model_has_a_row_with_episodes_of_its_own(told: Call) -> None:
    found = told(Obliging, *SCALE, "--model-episodes", "20")
    *others, row = found["populations"]["0"]
    assert row["designer"] == POCKET and (row["score"]["n"], others[0]["score"]["n"]) == (20, 100)
    assert row["posted"] == {"reply": 200, "kept": 0, "opening": 0} and found["notes"] == []
    assert found["model"]["name"] == "obliging" and "latency" not in found["model"]
    assert found["seeds"] == "0 to 99 (language_model: to 19)"
    elsewhere = play(LanguageModel(Scripted(by_length)), AuctionConfig(stage="0"), 20, seed=0)
    constant = max((play(Fixed(name), AuctionConfig(stage="0"), 100, seed=0) for name in ("stages", "mixed")), key=np.mean)
    gain = elsewhere.mean() - constant[:20].mean()
    assert row["over_best_constant"]["value"] == pytest.approx(gain)
    assert row["score"]["value"] == pytest.approx(constant.mean() + gain)  # beside scores on all 100, whose markets differ from its own


def test_a_model_that_was_trained_on_other_rules_says_so_in_its_row(tmp_path: Path) -> None:
    assert ("trained on rules" in POCKET) == (market_rules(read_card()) != RULES)
    write_card(tmp_path, {"rules": {"auction": RULES}})
    assert model_label("pocket", str(tmp_path)) == f"language_model ({tmp_path})"
    write_card(tmp_path, {"what": "A card from before rules had numbers."})
    assert model_label("pocket", str(tmp_path)) == f"language_model ({tmp_path}, trained on rules 1)"
    assert model_label("groq", "llama") == "language_model (llama)"


def test_the_row_of_a_named_model_has_its_name(told: Call) -> None:
    found = told(Obliging, *SCALE, "--client", "pocket", "--model", "mine", "--model-episodes", "5")
    assert found["populations"]["0"][-1]["designer"] == "language_model (mine)" and found["model"]["name"] == "mine"


def test_replies_that_were_not_used_are_stated_beside_the_table(called: Call, pocket: Call) -> None:
    pocket(Moody)
    run = called(*SCALE, "--model-episodes", "10")
    assert POCKET in run.out
    assert "population 0: 20 of 100 mechanisms are not its own (10 kept, 10 opened with informed_greedy)." in run.err


def test_without_the_packages_of_a_local_model_the_row_is_left_out_and_says_so(told: Call, called: Call) -> None:
    found = told(Uninstalled, *SCALE)
    assert not any(row["designer"].startswith("language_model") for row in found["populations"]["0"])
    assert found["model"] is None and f"A row is missing: {POCKET}: A local language model needs" in found["notes"][0]
    assert f"A row is missing: {POCKET}" in called(*SCALE).err
    named = called(*SCALE, "--client", "pocket")
    assert named.status == 1 and "pip install" in named.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--game", "auction", "--episodes", "100", "--model-episodes", "200"], "expected at most the 100 of --episodes"),
        (["--scenario", "lewis", "--model-episodes", "200"], "--model-episodes belongs to the auction"),
        (["--scenario", "lewis", "--model", "mine"], "--model belongs to the auction"),
    ],
    ids=" ".join,
)
def test_a_row_that_cannot_be_is_refused(called: Call, words: list[str], sentence: str) -> None:
    run = called("yardstick", *words)
    assert run.status == 2 and sentence in run.err


def test_the_model_is_drawn_in_the_figure_too(told: Call, tmp_path: Path) -> None:
    found = told(Obliging, *SCALE, "--model-episodes", "5")
    draw_designers(found, tmp_path / "scale.png")
    assert (tmp_path / "scale.png").read_bytes().startswith(b"\x89PNG")
