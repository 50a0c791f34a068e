"""What a pocket model is worth: measured on scripts whose worth is known."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from edgeworth.agents.designers.bundled import bundled_mechanism
from edgeworth.agents.designers.design_prompt import mechanism_json
from edgeworth.cli import app
from edgeworth.evaluation.pocket_scores import TARGETS, pocket_scores
from edgeworth.llm.client import Counted, Messages
from edgeworth.llm.scripted import Scripted
from edgeworth.training.pocket_folder import read_card, write_scores
from edgeworth.training.pocket_games import VARIANTS

ASKS_FOR_NOTHING = '{"act_type": 1, "oA": [0, 0, 0], "confidence": 0.5}'
BEST_CONSTANT = mechanism_json(bundled_mechanism("stages"))


def always(hint: str, mechanism: str) -> Counted:
    def answer(messages: Messages) -> str:
        return hint if "Pool (books" in messages[-1].content else mechanism

    return Counted(Scripted(answer))


def test_the_best_constant_gains_nothing_over_itself_and_asking_for_nothing_earns_nothing() -> None:
    scores = pocket_scores(always(ASKS_FOR_NOTHING, BEST_CONSTANT), negotiations=20, per_variant=4, markets=5, seed=3)
    for way in ("free", "held"):
        hints, mechanisms = scores.hints[way], scores.mechanisms[way]
        assert (hints.legality.value, mechanisms.legality.value) == (1.0, 1.0)
        assert hints.over_bayes is not None and hints.over_bayes.value == 0.0
        assert (mechanisms.asked, mechanisms.over_best_constant.value) == (50, 0.0)
    met = {name: target["met"] for name, target in scores.targets().items()}
    assert met["hint_legality"] and met["mechanism_legality"] and not met["hint_over_bayes"]
    assert {name: measure.episodes for name, measure in scores.variants.items()} == dict.fromkeys(VARIANTS, 4)
    assert not any(met[f"hint_over_bayes, {name}"] for name in VARIANTS)


def test_what_is_not_legal_is_counted_by_reason() -> None:
    garbage = re.sub('"reserve_price": [0-9.]+', '"reserve_price": 4.3', BEST_CONSTANT)
    scores = pocket_scores(always("no idea", garbage), negotiations=10, per_variant=0, markets=5, seed=3)
    assert scores.mechanisms["held"].legality.value == 0.0 and scores.mechanisms["held"].rejections == {"out_of_range": 50}
    assert scores.hints["free"].legality.value == 0.0 and set(scores.hints["free"].rejections) == {"no_json"}


def test_the_command_measures_the_model_in_the_box(tmp_path: Path) -> None:
    run = CliRunner().invoke(app, ["pocket", "evaluate", "--negotiations", "10", "--per-variant", "2", "--markets", "5", "--json"])
    assert run.exit_code == 0, run.output
    found = json.loads(run.stdout)
    assert set(found["targets"]) == {*TARGETS, *(f"hint_over_bayes, {name}" for name in VARIANTS)} and found["model"].startswith("pocket@")
    assert found["hints"]["held"]["legality"]["value"] == found["mechanisms"]["held"]["legality"]["value"] == 1.0


def test_scores_are_put_onto_a_card(tmp_path: Path) -> None:
    (tmp_path / "card.json").write_text('{"what": "a model"}')
    write_scores(tmp_path, {"hint_legality": "0.9"})
    assert read_card(tmp_path) == {"what": "a model", "scores": {"hint_legality": "0.9"}}


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_the_card_is_shown(flags: list[str]) -> None:
    shown = CliRunner().invoke(app, ["pocket", "card", *flags])
    assert shown.exit_code == 0 and "not" in shown.stdout and "general" in shown.stdout.casefold()
