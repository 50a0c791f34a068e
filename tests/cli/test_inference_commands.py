"""`python inference.py`, which is `edgeworth designer inference`, and `edgeworth designer evaluate`, with untrained models of a second."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgeworth.agents.designers.designer import play
from edgeworth.agents.designers.fixed import InformedGreedy
from edgeworth.agents.designers.language_model import LanguageModel
from edgeworth.config import AuctionConfig
from edgeworth.games.auction.action import DaedalusAction
from edgeworth.llm.cache import ReplyStore
from edgeworth.llm.local.folders import ADAPTER
from tiny_model import tiny_qwen, write_tiny_adapter, write_tiny_model

Call = Callable[..., Any]
ROOT = Path(__file__).resolve().parents[2]
BRIEFLY = ("--episodes", "20", "--model-episodes", "3", "--free-episodes", "2", "--cell", "stages:8", "--json")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base, an adapter of it, and the base with a leftover of an adapter whose base is nowhere."""
    folder = tmp_path_factory.mktemp("models")
    write_tiny_model(folder / "base")
    write_tiny_adapter(folder / "adapter", folder / "base")
    shutil.copytree(folder / "base", folder / "published")
    facts = json.loads((folder / "adapter" / ADAPTER).read_text())
    (folder / "published" / ADAPTER).write_text(json.dumps({**facts, "base_model_name_or_path": "/kaggle/working/nowhere"}))
    return folder


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results go to a folder of the test."""
    monkeypatch.chdir(tmp_path)


def infer(called: Call, *words: str) -> Any:
    return called("designer", "inference", *words)


# One mechanism


def test_one_mechanism_is_shown_with_what_the_market_made_of_it(called: Call, models: Path, tmp_path: Path) -> None:
    run = infer(called, "--repo-id", str(models / "base"), "--json")
    found = json.loads(run.out)
    DaedalusAction(**found["mechanism"])
    account = found["account"]
    product = account["welfare_ratio"] * account["fairness_score"] * account["participation_rate"] * account["stability_score"]
    assert account["composite"] == pytest.approx(product) and set(found["baselines"]) == {"uniform", "informed_greedy"}
    assert found["verdict"] == {"posted": "reply"} and list(tmp_path.iterdir()) == []
    words = infer(called, "--repo-id", str(models / "base")).out
    assert '"auction_type": ' in words and "R = welfare" in words and "informed_greedy in the same market" in words


def test_a_free_reply_that_is_no_mechanism_is_said_to_be_none(called: Call, models: Path) -> None:
    run = infer(called, "--repo-id", str(models / "base"), "--free")
    assert run.status == 0 and "No legal mechanism (" in run.out and "So the market opens under:" in run.out


def test_other_designers_design_too(called: Call) -> None:
    run = infer(called, "--designer", "informed_greedy", "--stage", "3", "--seed", "5", "--json")
    alone = play(InformedGreedy(), AuctionConfig(stage="3"), 1, 5)[0, 0]
    assert json.loads(run.out)["account"]["composite"] == pytest.approx(alone, abs=1e-12)


# Episodes


def test_episodes_beside_the_baselines_are_written_and_drawn(called: Call, models: Path, tmp_path: Path) -> None:
    run = infer(called, "--n-episodes", "5", "--baseline", "--repo-id", str(models / "adapter"), "--stage", "3", "--seed", "4")
    assert run.status == 0 and "IQR" in run.out and "100.00% of the replies are legal mechanisms" in run.out
    found = json.loads((tmp_path / "inference_results.json").read_text())
    label = f"language_model ({models / 'adapter'})"
    assert list(found["designers"]) == [label, "uniform", "informed_greedy"] and found["seeds"] == "4 to 8"
    greedy = play(InformedGreedy(), AuctionConfig(stage="3"), 5, 4).mean(axis=1)
    assert found["designers"]["informed_greedy"]["scores"] == greedy.tolist()
    own = play(LanguageModel(model=str(models / "adapter")), AuctionConfig(stage="3"), 5, 4).mean(axis=1)
    assert found["over"]["informed_greedy"]["value"] == pytest.approx(float((own - greedy).mean()))
    assert (tmp_path / "inference_results.png").read_bytes().startswith(b"\x89PNG")


def test_episodes_without_baselines_are_written_and_not_drawn(called: Call, tmp_path: Path) -> None:
    run = infer(called, "--n-episodes", "3", "--designer", "adaptive", "--out", "mine.json")
    assert run.status == 0 and {path.name for path in tmp_path.iterdir()} == {"mine.json"}
    assert json.loads((tmp_path / "mine.json").read_text())["legal"] is None


def test_a_leftover_adapter_configuration_is_ignored_with_one_line(called: Call, models: Path) -> None:
    run = infer(called, "--repo-id", str(models / "published"))
    assert run.status == 0 and run.err.count("holds whole weights, so its leftover adapter_config.json is ignored.") == 1


def test_inference_py_is_the_same_command_and_works_with_the_bundled_model(tmp_path: Path) -> None:
    words = [sys.executable, str(ROOT / "inference.py"), "--json"]
    run = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=True)
    found = json.loads(run.stdout)
    assert found["command"] == "edgeworth designer inference --json" and found["designer"].startswith("huggingface/pocket")


def test_a_run_designs_a_market_in_the_terminal(called: Call, models: Path, tmp_path: Path) -> None:
    shutil.copytree(models / "adapter", tmp_path / "run" / "model")
    run = called("market", "--designer", "language_model", "--model", str(tmp_path / "run"), "--steps", "1", "--quiet")
    assert run.status == 0 and "huggingface/run@" in run.out and "every reply a legal mechanism" in run.out


def test_a_designer_says_what_it_had_to_assume(called: Call) -> None:
    run = infer(called, "--designer", "best_constant", "--n-agents", "4")
    assert run.status == 0 and "nothing is bundled for 4 bidders, so what was found for 3 is used" in run.err


# What cannot work


def test_a_model_without_a_chat_template_is_one_sentence(called: Call, tmp_path: Path) -> None:
    base = write_tiny_model(tmp_path / "base", change=lambda tokenizer: setattr(tokenizer, "chat_template", None))
    run = infer(called, "--repo-id", str(base))
    assert run.status == 1 and "has no chat template, so it does not know messages" in run.err and "Traceback" not in run.err


def test_an_adapter_of_another_base_is_one_sentence(called: Call, models: Path, tmp_path: Path) -> None:
    other = write_tiny_model(tmp_path / "other", make=tiny_qwen, hidden_size=32)
    shutil.copytree(models / "adapter", tmp_path / "adapter")
    facts = json.loads((tmp_path / "adapter" / ADAPTER).read_text())
    (tmp_path / "adapter" / ADAPTER).write_text(json.dumps({**facts, "base_model_name_or_path": str(other)}))
    run = infer(called, "--repo-id", str(tmp_path / "adapter"))
    assert run.status == 1 and "does not fit the model" in run.err and "Traceback" not in run.err


def test_a_dead_hub_is_one_sentence(called: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    run = infer(called, "--repo-id", "ada/designer")
    assert run.status == 1 and "The hub did not answer, and ada/designer was not downloaded before" in run.err


@pytest.mark.parametrize("words", [("--repo-id", "x"), ("--free",)])
def test_options_of_a_language_model_are_refused_for_other_designers(called: Call, words: tuple[str, ...]) -> None:
    run = infer(called, "--designer", "adaptive", *words)
    assert run.status == 2 and "--repo-id and --free are about a language model; the designer adaptive is none" in run.err


def test_an_unknown_population_is_refused_before_a_model_is_loaded(called: Call) -> None:
    run = infer(called, "--stage", "7")
    assert run.status == 2 and "Unknown" in run.err and "'7'" in run.err


# The evaluation


def test_models_before_and_after_are_evaluated_and_judged(called: Call, models: Path, tmp_path: Path) -> None:
    words = ("designer", "evaluate", "--before", str(models / "base"), "--after", str(models / "adapter"), *BRIEFLY)
    run = called(*words, "--out", "designers.json", "--figure", "designers.png", "--cache", "replies.sqlite")
    assert run.status == 0, run.err
    found = json.loads((tmp_path / "designers.json").read_text())
    rows = {row["designer"]: row for row in found["populations"]["stages, n = 8"]}
    before, after = (f"language model {stage} GRPO ({models / name})" for stage, name in (("before", "base"), ("after", "adapter")))
    assert {before, after, f"{after}, free", "told the stage", "informed_greedy"} <= rows.keys()
    assert rows[after]["legal"]["value"] == 1.0 and rows[after]["score"]["n"] == 3 and rows["told the stage"]["g"]["value"] == 1.0
    judged = {target["target"]: target["met"] for target in found["targets"]}
    assert judged[f"{after}: legal replies, constrained"] and not judged[f"{after}, free: legal replies"]
    assert f"{after}, stages, n = 8: over {before}" in judged and "minutes so far" in run.err
    assert (tmp_path / "designers.png").is_file()


def test_an_evaluation_continues_from_its_cache(called: Call, models: Path, tmp_path: Path) -> None:
    words = ("designer", "evaluate", "--before", str(models / "base"), *BRIEFLY, "--cache", "replies.sqlite")
    first = json.loads(called(*words).out)
    kept = len(ReplyStore(tmp_path / "replies.sqlite"))
    assert json.loads(called(*words).out) == first and len(ReplyStore(tmp_path / "replies.sqlite")) == kept > 0


def test_without_language_models_the_policy_is_measured_alone(called: Call) -> None:
    run = called("designer", "evaluate", "--episodes", "20", "--model-episodes", "0", "--cell", "held_out:8", "--json")
    found = json.loads(run.out)
    names = [row["designer"] for row in found["populations"]["held_out, n = 8"]]
    assert [name for name in names if "policy" in name] == ["policy"] and not [name for name in names if "language" in name]
    assert "left out, as --model-episodes 0 asks" in found["notes"][0]
    assert len(found["over_informed_greedy_by_population"]["policy"]) > 0


@pytest.mark.parametrize("cell", ["stages", "stages:1", "stages:x", "stage:8"])
def test_a_cell_that_does_not_exist_is_refused_at_once(called: Call, cell: str) -> None:
    run = called("designer", "evaluate", "--cell", cell)
    assert run.status == 2 and ("expected POPULATION:BIDDERS" in run.err or "Did you mean 'stages'" in run.err)
