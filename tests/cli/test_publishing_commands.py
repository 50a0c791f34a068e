"""`edgeworth designer merge`, `card` and `push` as a person calls them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hub_stand_in import stand_in
from tiny_model import write_tiny_adapter, write_tiny_model

Call = Callable[..., Any]


def test_an_adapter_is_merged_described_and_published(called: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    base = write_tiny_model(tmp_path / "base")
    adapter, out = write_tiny_adapter(tmp_path / "adapter", base), str(tmp_path / "merged")
    run = called("designer", "merge", str(adapter), "--out", out, "--json")
    assert run.status == 0 and json.loads(run.out)["base"] == str(adapter) and "Wrote" in run.err
    again = called("designer", "merge", str(adapter), "--out", out)
    assert again.status == 2 and "exists already; name a folder that does not exist yet with --out." in again.err
    assert called("designer", "card", out, "--name", "ada/designer").status == 0
    assert (tmp_path / "merged" / "README.md").read_text().count("ada/designer") == 4
    with stand_in() as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.address)
        monkeypatch.setenv("HF_TOKEN", "hf_of_a_test")
        pushed = called("designer", "push", out, "--repo-id", "ada/designer")
    assert pushed.status == 0 and "as ada/designer: http://127.0.0.1" in pushed.out and "model.safetensors" in hub.files


@pytest.mark.parametrize("content", [None, "no JSON", "[]", "{}"])
def test_a_file_that_is_no_evaluation_is_refused_before_anything_is_merged(called: Call, content: str | None, tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    if content is not None:
        results.write_text(content)
    run = called("designer", "merge", "pocket", "--out", str(tmp_path / "out"), "--results", str(results))
    assert run.status == 1 and "results.json" in run.err and not (tmp_path / "out").exists()
    assert ("cannot be read" if content is None else "is no result of `edgeworth designer evaluate --out`") in run.err


def test_a_folder_that_was_not_merged_here_has_no_card_to_write(called: Call, tmp_path: Path) -> None:
    (tmp_path / "card.json").write_text('{"what": "Something else."}')
    run = called("designer", "card", str(tmp_path))
    assert run.status == 1 and "is no card of a merged model; `edgeworth designer merge` writes one." in run.err
    assert "cannot be read" in called("designer", "card", str(tmp_path / "nowhere")).err
