"""Adapters and leftovers: what the local client serves from a folder, a run's folder or a merged one."""

from __future__ import annotations

import json
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from conversations import GREEDY, ask, texts

from edgeworth.errors import FallbackUsed, MissingExtra, ModelUnavailable
from edgeworth.llm.huggingface import HuggingFace
from edgeworth.llm.local import hub
from edgeworth.llm.local.folders import ADAPTER, BUNDLED, digest, find
from tiny_model import tiny_qwen, write_tiny_adapter, write_tiny_model


@pytest.fixture(scope="module")
def adapter(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_adapter(tmp_path_factory.mktemp("adapters") / "one", tiny_folder)


def weights_of(client: HuggingFace) -> dict[str, Any]:
    return dict(client._load().model.state_dict())


def refusal(model: Path | str) -> str:
    with pytest.raises(ModelUnavailable) as refused:
        HuggingFace(model).check()
    return str(refused.value)


def named_base(folder: Path, base: str) -> Path:
    """The adapter with another base in its file."""
    facts = json.loads((folder / ADAPTER).read_text())
    (folder / ADAPTER).write_text(json.dumps({**facts, "base_model_name_or_path": base}))
    return folder


def test_an_adapter_is_served_merged_into_its_base(tiny_folder: Path, adapter: Path) -> None:
    from safetensors.torch import load_file

    base, served, learnt = (
        weights_of(HuggingFace(tiny_folder)),
        weights_of(HuggingFace(adapter)),
        load_file(adapter / "adapter_model.safetensors"),
    )
    assert base.keys() == served.keys()
    name = "model.layers.1.mlp.down_proj"
    low, high = (learnt[f"base_model.model.{name}.lora_{part}.weight"] for part in "AB")
    torch.testing.assert_close(served[f"{name}.weight"], base[f"{name}.weight"] + 2.0 * high @ low, atol=1e-6, rtol=1e-5)
    assert torch.equal(served["model.norm.weight"], base["model.norm.weight"])


def test_an_adapter_answers_otherwise_than_its_base(tiny_folder: Path, adapter: Path) -> None:
    asked = ask("hello", "and you?")
    assert texts(HuggingFace(adapter).complete(asked, GREEDY)) != texts(HuggingFace(tiny_folder).complete(asked, GREEDY))


def test_the_folder_of_a_run_serves_what_was_trained_in_it(adapter: Path, tmp_path: Path) -> None:
    shutil.copytree(adapter, tmp_path / "run" / "model")
    (tmp_path / "run" / "model" / "card.json").write_text('{"trained_on": {"mechanism": {"n_agents": [8, 8]}}}')
    client = HuggingFace(tmp_path / "run")
    assert find(str(tmp_path / "run")).adapter == tmp_path / "run" / "model"
    assert client.name == f"huggingface/run@{digest(adapter)}" and client.trained_on == {"mechanism": {"n_agents": [8, 8]}}
    assert torch.equal(weights_of(client)["lm_head.weight"], weights_of(HuggingFace(adapter))["lm_head.weight"])


def test_bundled_models_have_names(tmp_path: Path) -> None:
    assert find("pocket").base == BUNDLED["pocket"] and HuggingFace("pocket").name.startswith("huggingface/pocket@")


def test_a_retrained_base_gives_its_adapter_another_name(tiny_folder: Path, tmp_path: Path) -> None:
    base = tmp_path / "base"
    shutil.copytree(tiny_folder, base)
    adapter = write_tiny_adapter(tmp_path / "adapter", base)
    before = HuggingFace(adapter).name
    write_tiny_model(base, seed=1)
    assert HuggingFace(adapter).name != before


@pytest.mark.parametrize("base", ["/kaggle/working/merged", "nobody/nothing"])
def test_a_leftover_adapter_configuration_is_ignored_with_one_line_that_says_so(
    base: str, tiny_folder: Path, adapter: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "published"
    shutil.copytree(tiny_folder, folder)
    shutil.copy(adapter / ADAPTER, folder)
    named_base(folder, base)
    client = HuggingFace(folder)
    with pytest.warns(FallbackUsed, match=r"published holds whole weights, so its leftover adapter_config.json is ignored\.") as said:
        client.check()
    assert len(said) == 1
    asked = ask("hello")
    assert texts(client.complete(asked, GREEDY)) == texts(HuggingFace(tiny_folder).complete(asked, GREEDY))


def test_a_folder_without_leftovers_warns_of_nothing(adapter: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackUsed)
        HuggingFace(adapter).check()


def test_an_adapter_of_another_base_is_one_sentence(adapter: Path, tmp_path: Path) -> None:
    other = write_tiny_model(tmp_path / "other", make=tiny_qwen, hidden_size=32)
    moved = tmp_path / "adapter"
    shutil.copytree(adapter, moved)
    said = refusal(named_base(moved, str(other)))
    assert f"The adapter {moved} does not fit the model {other}; load the base that it was trained on" in said and "\n" not in said


def test_an_adapter_whose_base_is_gone_says_which(adapter: Path, tmp_path: Path) -> None:
    moved = tmp_path / "adapter"
    shutil.copytree(adapter, moved)
    assert f"The base of the adapter {moved}: There is no folder {tmp_path}/gone" in refusal(named_base(moved, f"{tmp_path}/gone"))


def test_an_adapter_of_a_bundled_model_finds_it_in_the_package_of_this_machine(adapter: Path, tmp_path: Path) -> None:
    moved = tmp_path / "adapter"
    shutil.copytree(adapter, moved)
    assert find(str(named_base(moved, "/opt/elsewhere/edgeworth/checkpoints/pocket"))).base == BUNDLED["pocket"]
    assert digest(moved) != digest(adapter)


def test_an_adapter_of_the_hub_is_found_with_its_base(adapter: Path, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "snapshot_download", lambda *_, **__: str(adapter))
    found = find("ada/adapter")
    assert (found.name, found.adapter, found.base) == ("ada/adapter", adapter, tiny_folder)


def test_an_adapter_of_an_adapter_has_to_be_merged_first(adapter: Path, tmp_path: Path) -> None:
    second = tmp_path / "second"
    shutil.copytree(adapter, second)
    assert f"names another adapter as its base, {adapter}; merge that one first" in refusal(named_base(second, str(adapter)))


@pytest.mark.parametrize("content", ["{}", "no JSON", "[]"])
def test_an_adapter_that_names_no_base_says_what_is_missing(content: str, adapter: Path, tmp_path: Path) -> None:
    spoiled = tmp_path / "adapter"
    shutil.copytree(adapter, spoiled)
    (spoiled / ADAPTER).write_text(content)
    with pytest.raises(ModelUnavailable, match="names no base model; expected base_model_name_or_path"):
        find(str(spoiled))


def test_an_adapter_without_its_library_names_the_extra(adapter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(MissingExtra, match=r"A model with an adapter needs peft \(the extra `designer`\); install it"):
        HuggingFace(adapter).check()
