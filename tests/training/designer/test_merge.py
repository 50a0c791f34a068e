"""Merging, describing and publishing a trained designer."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from edgeworth.errors import FallbackUsed, InvalidOption, ModelUnavailable, RunStopped
from edgeworth.evaluation.designer_card import model_card, write_model_card
from edgeworth.llm.local.folders import ADAPTER, Found, find
from edgeworth.llm.local.hub import upload
from edgeworth.training.designer.merge import CURVE_POINTS, curve, merge, merged_card
from hub_stand_in import Hub, stand_in
from tiny_model import tiny_qwen, write_tiny_adapter, write_tiny_model

COMMAND = "edgeworth designer merge runs/grpo --out merged"
EPSILON = 2.0**-8
"""Half a unit in the last place of bf16, relative."""


def training(trainer: str, model: str) -> dict[str, Any]:
    """The card of a training; SFT is on markets of three bidders too."""
    return {
        "what": f"A language model designer of auction markets, trained by {trainer.upper()} from {model}.",
        "command": f"edgeworth designer {trainer} --model {model}",
        "rules": {"auction": 2},
        "trained_on": {"mechanism": {"rules": [2, 2], "n_agents": [3 if trainer == "sft" else 4, 16], "episode_length": [5, 20]}},
        "parameters": 100_000,
        "trainable": 5_000,
        "settings": {"trainer": trainer, "model": model, "seed": 3, "markets": {"populations": ["stages", "stages", "mixed"]}},
        "steps": 40,
        "hardware": "CPU",
        "training_seconds": 90.0,
    }


def write_run(folder: Path, trainer: str, model: str, history: list[dict[str, Any]]) -> Path:
    (folder / "model").mkdir(parents=True, exist_ok=True)
    (folder / "model" / "card.json").write_text(json.dumps(training(trainer, model)))
    (folder / "training_history.json").write_text(json.dumps(history))
    return folder


@pytest.fixture(scope="module", params=["Llama", "Qwen"])
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base, a run of SFT that trained it whole, and a run of GRPO that trained an adapter on top."""
    folder = tmp_path_factory.mktemp("runs")
    write_tiny_model(folder / "sft" / "model", **({"make": tiny_qwen} if request.param == "Qwen" else {}))
    losses = [{"steps": step, "seconds": 1.0, "loss": 1.0 / step} for step in range(10, 50, 10)]
    write_run(folder / "sft", "sft", "pocket", [*losses, {"steps": 40, "seconds": 1.0, "eval_loss": 0.5}])
    write_tiny_adapter(folder / "grpo" / "model", folder / "sft" / "model")
    write_run(folder / "grpo", "grpo", str(folder / "sft"), [{"steps": 10, "reward": 0.6, "kl": None}, {"steps": 40, "reward": 0.7}])
    return folder


@pytest.fixture(scope="module")
def merged(runs: Path) -> Path:
    write_model_card(runs / "merged", merge([find(str(runs / "grpo"))], runs / "merged", COMMAND), None)
    return runs / "merged"


def test_a_merged_folder_has_no_adapter_leftovers_and_plain_transformers_loads_it(merged: Path) -> None:
    names = {path.name for path in merged.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "card.json", "README.md"} <= names
    assert not [name for name in names if "adapter" in name]
    model = AutoModelForCausalLM.from_pretrained(merged)
    assert {weights.dtype for weights in model.parameters()} == {torch.bfloat16} and not hasattr(model, "peft_config")
    assert AutoTokenizer.from_pretrained(merged).chat_template


def test_a_merged_model_is_its_base_with_the_adapter_within_bf16_rounding(runs: Path, merged: Path) -> None:
    from peft import PeftModel

    base = AutoModelForCausalLM.from_pretrained(runs / "sft" / "model", dtype=torch.float32)
    adapted = PeftModel.from_pretrained(base, str(runs / "grpo" / "model")).merge_and_unload()
    found = AutoModelForCausalLM.from_pretrained(merged, dtype=torch.float32)
    exact = dict(adapted.named_parameters())
    for name, weights in found.named_parameters():
        torch.testing.assert_close(weights, exact[name], rtol=EPSILON, atol=1e-30)
    changed = (
        found.model.layers[0].mlp.down_proj.weight
        - dict(AutoModelForCausalLM.from_pretrained(runs / "sft" / "model", dtype=torch.float32).named_parameters())[
            "model.layers.0.mlp.down_proj.weight"
        ]
    )
    assert changed.abs().max() > 0.05


def test_a_merged_model_predicts_what_base_and_adapter_predict(runs: Path, merged: Path) -> None:
    from peft import PeftModel

    tokens = torch.arange(5, 25)[None]
    base = AutoModelForCausalLM.from_pretrained(runs / "sft" / "model", dtype=torch.float32)
    together = PeftModel.from_pretrained(base, str(runs / "grpo" / "model"))
    alone = AutoModelForCausalLM.from_pretrained(merged, dtype=torch.float32)
    with torch.no_grad():
        difference = together(tokens).logits - alone(tokens).logits
        assert difference.abs().mean() < 0.03 * together(tokens).logits.std()


def test_the_card_tells_the_trainings_that_led_to_the_model_with_their_curves(runs: Path, merged: Path) -> None:
    card = json.loads((merged / "card.json").read_text())
    assert [stage["settings"]["trainer"] for stage in card["stages"]] == ["sft", "grpo"] and card["base"] == "pocket"
    assert card["stages"][0]["curve"][-1] == {"steps": 40.0, "loss": 0.025, "eval_loss": 0.5}
    assert card["trained_on"]["mechanism"]["n_agents"] == [3, 16]
    text = (merged / "README.md").read_text()
    assert (
        "### SFT" in text
        and "| 40 | 0.025 | 0.5 |" in text
        and "### GRPO" in text
        and "| 40 | 0.7 |" in text
        and "![GRPO: how it went](grpo.png)" in text
    )
    assert (merged / "grpo.png").read_bytes().startswith(b"\x89PNG") and (merged / "sft.png").is_file()
    assert "3 to 16 bidders and 5 to 20 steps in an episode, under rules 2" in text and "license: apache-2.0" in text
    assert "Not measured yet" in text and COMMAND in text


def test_a_merged_model_can_be_merged_again_and_keeps_its_history(runs: Path, merged: Path, tmp_path: Path) -> None:
    card = merge([find(str(merged))], tmp_path / "copy", COMMAND)
    assert len(card["stages"]) == 2
    assert (tmp_path / "copy" / "model.safetensors").read_bytes() == (merged / "model.safetensors").read_bytes()


def test_several_models_become_their_average_and_the_card_tells_the_trainings_of_all_once(runs: Path, tmp_path: Path) -> None:
    write_tiny_adapter(tmp_path / "again" / "model", runs / "sft" / "model", seed=1)
    write_run(tmp_path / "again", "grpo", str(runs / "sft"), [{"steps": 10, "reward": 0.5}, {"steps": 40, "reward": 0.8}])
    models = [find(str(folder)) for folder in (runs / "sft", runs / "grpo", tmp_path / "again")]
    for number, model in enumerate(models):
        merge([model], tmp_path / str(number), COMMAND)
    card = merge(models, tmp_path / "average", COMMAND)
    loaded = [AutoModelForCausalLM.from_pretrained(tmp_path / name, dtype=torch.float64) for name in ("0", "1", "2", "average")]
    *each, average = [dict(model.named_parameters()) for model in loaded]
    for name, weights in average.items():
        rounded = torch.stack([one[name] for one in each])
        assert ((weights - rounded.mean(dim=0)).abs() <= 2.0 * EPSILON * rounded.abs().amax(dim=0)).all()
    assert not torch.equal(each[1]["model.layers.0.mlp.down_proj.weight"], each[2]["model.layers.0.mlp.down_proj.weight"])
    assert [stage["settings"]["trainer"] for stage in card["stages"]] == ["sft", "grpo", "grpo"]
    assert "the average of the weights of " in card["what"]
    text = write_model_card(tmp_path / "average", card, None).read_text()
    assert "# average\n" in text and "### GRPO\n" in text and "### GRPO 2\n" in text and "| 40 | 0.8 |" in text and "(grpo_2.png)" in text
    assert (tmp_path / "average" / "grpo.png").read_bytes() != (tmp_path / "average" / "grpo_2.png").read_bytes()


def test_a_merged_model_may_be_asked_what_any_of_its_trainings_had(tmp_path: Path) -> None:
    first = {"hint": {"partner": ["linear", "boulware"], "discount": [0.9, 1.0]}, "mechanism": {"n_agents": [3, 8]}}
    second = {"hint": {"partner": ["conceder", "linear"], "discount": [0.8, 0.9]}}
    stages = [{**training("sft", "pocket"), "trained_on": spans} for spans in (first, second)]
    for name, card in (("base", {"trained_on": first}), ("trained", {"stages": stages})):
        (tmp_path / name).mkdir()
        (tmp_path / name / "card.json").write_text(json.dumps(card))
    base, trained = [merged_card([Found("a model", tmp_path / name)], COMMAND, 1)["trained_on"] for name in ("base", "trained")]
    assert base == {**first, "hint": {"partner": ["boulware", "linear"], "discount": [0.9, 1.0]}}
    assert trained == {**first, "hint": {"partner": ["boulware", "conceder", "linear"], "discount": [0.8, 1.0]}}


def test_merging_whole_weights_with_a_leftover_cleans_them(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "sft" / "model", tmp_path / "published")
    shutil.copy(runs / "grpo" / "model" / ADAPTER, tmp_path / "published")
    with pytest.warns(FallbackUsed, match="leftover"):
        merge([find(str(tmp_path / "published"))], tmp_path / "clean", COMMAND)
    assert not (tmp_path / "clean" / ADAPTER).exists()


def test_a_long_history_is_thinned_with_both_ends_kept(tmp_path: Path) -> None:
    write_run(tmp_path, "grpo", "pocket", [{"steps": step, "reward": 0.5} for step in range(1, 301)])
    points = curve(tmp_path)
    assert len(points) == CURVE_POINTS and points[0]["steps"] == 1 and points[-1]["steps"] == 300
    assert curve(tmp_path / "nowhere") == []


def test_a_measured_model_has_its_tables_on_the_card() -> None:
    estimate = {"value": 0.7012, "low": 0.69, "high": 0.71, "n": 1000}
    over = {"value": 0.02, "low": 0.01, "high": 0.03, "n": 1000}
    results = {
        "command": "edgeworth designer evaluate",
        "episodes": 1000,
        "seeds": "0 to 999",
        "populations": {"stages, n = 8": [{"designer": "after GRPO", "score": estimate, "over_best_constant": over}]},
        "targets": [{"target": "g on stages", "found": "0.510", "wanted": "0.50 or more", "met": True}],
    }
    text = "\n".join(model_card("ada/designer", {"what": "A designer.", "base": "Qwen/Qwen2.5-1.5B-Instruct"}, results))
    assert "| after GRPO | 0.7012 [0.6900, 0.7100] | +0.0200 [+0.0100, +0.0300] |" in text
    assert "| g on stages | 0.510 | 0.50 or more | met |" in text
    assert "base_model: Qwen/Qwen2.5-1.5B-Instruct" in text and "license" not in text and "--repo-id ada/designer" in text


# What cannot work


def test_a_folder_that_exists_is_not_written_over(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    with pytest.raises(InvalidOption, match=r"here exists already; name a folder that does not exist yet with --out\."):
        merge([find(str(runs / "grpo"))], tmp_path / "here", COMMAND)


def test_an_adapter_of_another_base_is_not_merged(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "grpo" / "model", tmp_path / "adapter")
    other = write_tiny_model(tmp_path / "other", hidden_size=32)
    facts = json.loads((tmp_path / "adapter" / ADAPTER).read_text())
    (tmp_path / "adapter" / ADAPTER).write_text(json.dumps({**facts, "base_model_name_or_path": str(other)}))
    with pytest.raises(ModelUnavailable, match=r"does not fit the model .*other; load the base that it was trained on"):
        merge([find(str(tmp_path / "adapter"))], tmp_path / "out", COMMAND)
    assert not (tmp_path / "out").exists()


def test_models_of_other_shapes_are_not_averaged(runs: Path, tmp_path: Path) -> None:
    other = write_tiny_model(tmp_path / "other", hidden_size=32)
    with pytest.raises(InvalidOption, match=r"other and .*sft differ in the names or shapes of their weights; average models that were"):
        merge([find(str(runs / "sft")), find(str(other))], tmp_path / "out", COMMAND)
    assert not (tmp_path / "out").exists()


def test_a_base_without_a_chat_template_is_not_merged(tmp_path: Path) -> None:
    base = write_tiny_model(tmp_path / "base", change=lambda tokenizer: setattr(tokenizer, "chat_template", None))
    with pytest.raises(ModelUnavailable, match="has no chat template"):
        merge([find(str(base))], tmp_path / "out", COMMAND)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_leaves_nothing_half_written(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Path.mkdir

    def mkdir_with_full_weights(self: Path, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **kwargs)
        if self.name == "out.new":
            os.symlink("/dev/full", self / "config.json")

    monkeypatch.setattr(Path, "mkdir", mkdir_with_full_weights)
    with pytest.raises(RunStopped, match=r"cannot be written \(No space left on device"):
        merge([find(str(runs / "grpo"))], tmp_path / "out", COMMAND)
    assert list(tmp_path.iterdir()) == []


# Publishing


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Any:
    from huggingface_hub import constants

    with stand_in() as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.address)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")
        monkeypatch.setenv("HF_TOKEN", "hf_of_a_test")
        yield hub


def test_a_pushed_model_arrives_whole_with_its_card(merged: Path, hub: Hub) -> None:
    address = upload(merged, "ada/designer", private=True)
    assert address == f"{hub.address}/ada/designer/commit/abc" and hub.made[0]["visibility"] == "private"
    assert hub.files["model.safetensors"] == (merged / "model.safetensors").read_bytes()
    assert hub.files.keys() == {path.name for path in merged.iterdir()} and b"## Limits" in hub.files["README.md"]


def test_an_adapter_is_not_pushed(runs: Path, hub: Hub) -> None:
    with pytest.raises(ModelUnavailable, match="publish a merged model, which `edgeworth designer merge` writes"):
        upload(runs / "grpo" / "model", "ada/designer", private=False)
    assert hub.made == []


@pytest.mark.parametrize("status", [401, 403])
def test_a_hub_that_knows_no_right_to_write_says_where_the_token_goes(status: int, merged: Path, hub: Hub) -> None:
    hub.refuses = status
    with pytest.raises(ModelUnavailable, match=r"does not let you write to ada/designer; put a token .* into HF_TOKEN"):
        upload(merged, "ada/designer", private=False)


def test_a_dead_hub_is_one_sentence(merged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ModelUnavailable, match="The hub did not answer, so ada/designer was not published"):
        upload(merged, "ada/designer", private=False)


def test_a_name_that_no_repository_can_have_is_refused(merged: Path, hub: Hub) -> None:
    with pytest.raises(ModelUnavailable, match="is no name of a repository; expected OWNER/NAME"):
        upload(merged, "ada/designer/twice", private=False)
