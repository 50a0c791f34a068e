"""The bundled language model that was trained to design: what its card says, and how it plays."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from edgeworth import catalog
from edgeworth.agents.designers.designer import play
from edgeworth.agents.designers.language_model import TRAINED, LanguageModel
from edgeworth.cli.designer_evaluation import bundled_models
from edgeworth.config import AuctionConfig
from edgeworth.games.auction.vocabulary import RULES
from edgeworth.llm.huggingface import HuggingFace
from edgeworth.llm.local.folders import BUNDLED
from edgeworth.training.pocket_folder import read_card, write_card


def test_the_bundled_designer_is_small_and_was_trained_on_the_rules_in_force() -> None:
    card = read_card(BUNDLED[TRAINED])
    assert card["rules"] == {"auction": RULES}
    assert [training["settings"]["trainer"] for training in card["stages"]] == ["sft", "grpo", "grpo"]
    populations = {name for training in card["stages"] for name in training["settings"]["markets"]["populations"]}
    assert populations == {"stages", "mixed", "dirichlet"}
    assert (BUNDLED[TRAINED] / "model.safetensors").stat().st_size <= 16_000_000


def test_it_is_the_one_in_the_evaluation_of_designers_and_meets_there_what_is_asked_of_a_trained_language_model() -> None:
    found, row = json.loads(Path("results/designers.json").read_text(encoding="utf-8")), f"language model after GRPO ({TRAINED})"
    assert found["models"][row] == HuggingFace(TRAINED).name
    cells = {name: {line["designer"]: line for line in rows} for name, rows in found["populations"].items()}
    stages, held_out = cells["stages, n = 8"][row], cells["held_out, n = 8"][row]
    assert stages["g"]["low"] >= 0.5 and stages["allow_on_stage_4"]["value"] < 0.01
    assert held_out["over_best_constant"]["low"] >= -0.01
    assert stages["legal"]["value"] == held_out["legal"]["value"] == 1.0
    for name in ("stages, n = 4", "stages, n = 16"):
        for_eight = [line["score"]["value"] for designer, line in cells[name].items() if designer.endswith("n = 8")]
        assert cells[name][row]["score"]["value"] > max(for_eight)
    assert [target["target"] for target in found["targets"] if not target["met"]] == []
    asked = [target["target"] for target in found["targets"] if target["target"].startswith(row)]
    assert len(asked) == 10 and sum("over language model before GRPO" in target for target in asked) == 2


def test_it_is_asked_where_no_model_is_named_and_beats_the_published_baseline() -> None:
    designer, market = LanguageModel(), AuctionConfig(stage="stages", episode_length=5)
    own = play(designer, market, episodes=6, seed=0)
    assert TRAINED in designer.client.name and designer.counters["posted"] == {"reply": 30, "kept": 0, "opening": 0}
    published = play(catalog.resolve("designer", "informed_greedy")(), market, episodes=6, seed=0)
    assert own.mean() > published.mean() + 0.1


@pytest.mark.parametrize(("trainer", "found"), [("sft", (TRAINED, None)), ("grpo", (None, TRAINED))])
def test_an_evaluation_takes_a_designer_without_grpo_for_one_before_it(
    trainer: str, found: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(BUNDLED[TRAINED], tmp_path / TRAINED)
    write_card(tmp_path / TRAINED, {"settings": {"trainer": trainer, "model": "pocket"}})
    monkeypatch.setitem(BUNDLED, TRAINED, tmp_path / TRAINED)
    assert bundled_models() == found
