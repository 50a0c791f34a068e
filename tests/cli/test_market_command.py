"""`edgeworth market` as a person or a script calls it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgeworth.agents.designers.designer import play
from edgeworth.agents.designers.fixed import Uniform
from edgeworth.cli.market import WELL_MEANT
from edgeworth.config import AuctionConfig

SCORES = ("welfare_ratio", "fairness_score", "participation_rate", "stability_score")

Call = Callable[..., Any]
"""The fixture `called`: runs a command and gives its status, output and messages."""


def told(called: Call, *words: str) -> dict[str, Any]:
    """The one object that the command prints with --json."""
    run = called("market", *words, "--json")
    assert run.status == 0, run.err
    found: dict[str, Any] = json.loads(run.out)
    return found


def write(path: Path, **changes: Any) -> str:
    """A mechanism file, changed here and there; None takes a field out."""
    content = {**WELL_MEANT.model_dump(), **changes}
    path.write_text(json.dumps({key: value for key, value in content.items() if value is not None}), encoding="utf-8")
    return str(path)


def test_a_market_is_described_sale_by_sale(called: Call) -> None:
    run = called("market")
    assert run.status == 0
    for words in (
        "The bidders: truthful 4, shader 1, colluders 5, 7 and 8, dropout 6 and exploiters 2 and 3.",
        "Step 3: sales 11 to 15",
        "Sale 15, a quiet day",
        "The ring of 3 picks colluders 5 and 8 by turns; colluder 7 covers at 0.21",
        "under a false name",
        "Colluder 8 breaks the deal and bids for real; colluder 8 was named and expelled.",
        "is fined 0.35 for covering",
        "for shilling, wrongly: an honest bid set the price",
        "of the first best.",
        "on average, with welfare",
        "cost most:",
        "To try:",
    ):
        assert words in run.out, words


def test_a_seed_replays_and_the_scores_multiply(called: Call) -> None:
    first = told(called, "--steps", "2", "--stage", "mixed", "--seed", "9")
    assert first == told(called, "--steps", "2", "--stage", "mixed", "--seed", "9")
    assert [len(step["sales"]) for step in first["steps"]] == [5, 5]
    for step in first["steps"]:
        product = 1.0
        for name in SCORES:
            product *= step[name]
        assert step["composite"] == pytest.approx(product)
        assert step["welfare"] == pytest.approx(sum(sale["welfare"] for sale in step["sales"]))
        assert step["profit"] == pytest.approx(sum(sale["profit"] for sale in step["sales"]))
        assert step["fines"] == pytest.approx(sum(fine["amount"] for sale in step["sales"] for fine in sale["fines"]))


def test_brief_shows_the_verdict_alone(called: Call) -> None:
    run = called("market", "--brief", "--stage", "3", "--steps", "2")
    assert run.status == 0 and run.out.startswith("R 0.") and "Sale" not in run.out and "profit" not in run.out
    assert "To try:" in run.out


def test_quiet_shows_only_the_accounts(called: Call) -> None:
    run = called("market", "--quiet", "--steps", "2")
    assert "step W F P S R profit surplus fines welfare" in run.out
    assert "Sale 1" not in run.out and "The bidders" not in run.out


def test_a_mix_of_ones_own_fills_the_room(called: Call) -> None:
    found = told(called, "--mix", "truthful=0.5,colluder=0.5", "--n-agents", "6", "--steps", "1")
    assert sorted(bidder["type"] for bidder in found["bidders"]) == ["colluder"] * 3 + ["truthful"] * 3
    assert found["bidders"][2]["name"].endswith(" 3")


def test_a_mechanism_file_is_posted_as_it_stands(called: Call, tmp_path: Path) -> None:
    path = write(tmp_path / "mine.json", auction_type="first_price", coalition_policy="allow")
    found = told(called, "--mechanism", path, "--steps", "1")
    assert found["steps"][0]["mechanism"] == {**WELL_MEANT.model_dump(), "auction_type": "first_price", "coalition_policy": "allow"}
    assert not any(sale["shills"] for sale in found["steps"][0]["sales"]), "nobody shills where winners pay their bid"


def test_a_designer_posts_mechanisms_and_earns_what_it_earns_elsewhere(called: Call) -> None:
    found = told(called, "--designer", "uniform", "--stage", "3", "--steps", "4", "--seed", "6", "--set", "episode_length=4")
    assert len({json.dumps(step["mechanism"]) for step in found["steps"]}) == 4
    elsewhere = play(Uniform(), AuctionConfig(stage="3", episode_length=4), episodes=1, seed=6)
    assert [step["composite"] for step in found["steps"]] == pytest.approx(elsewhere[0].tolist())


def test_settings_reach_the_market(called: Call) -> None:
    frozen = told(called, "--stage", "2", "--steps", "1", "--set", "freeze=entry")
    assert frozen["steps"][0]["participation_rate"] == 1.0
    assert told(called, "--steps", "1", "--set", "model.demand.half_width=0.0")["steps"][0]["sales"][0]["demand"] == 1.0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--stage", "mixd"], "Did you mean 'mixed'?"),
        (["--stage", "7"], "Known: 0, 1, 2, 3, 4, dirichlet, held_out, mixed, stages, or one of held_out_0 to held_out_19."),
        (["--steps", "11"], "the episode has 10 steps. Make it longer with --set episode_length=11."),
        (["--steps", "2", "--set", "episode_length=1"], "the episode has 1 step. Make it longer"),
        (["--steps", "0"], "greater than or equal to 1"),
        (["--n-agents", "1"], "n_agents is 1; expected 2 to 16."),
        (["--mix", "truthful=0.5"], "add up to 0.5; expected 1."),
        (["--mix", "truthful=0.5,coluder=0.5"], "Did you mean 'colluder'?"),
        (["--stage", "3", "--mix", "truthful=1"], "both were given"),
        (["--mix", "truthful"], "expected TYPE=SHARE"),
        (["--mix", "truthful=-1,shader=2"], "expected a number from 0 to 1."),
        (["--set", "episode_lenght=5"], "Did you mean 'episode_length'?"),
        (["--set", "model.rings.overbid=0.1"], "Did you mean 'ring'?"),
        (["--seed", "-1"], "seed"),
        (["--mechanism", "none/such.json"], "none/such.json: cannot be read"),
        (["--designer", "unifrom"], "Did you mean 'uniform'?"),
        (["--mechanism", "a.json", "--designer", "uniform"], "--mechanism and --designer exclude each other"),
    ],
    ids=" ".join,
)
def test_a_wrong_call_gets_one_sentence_and_status_2(called: Call, words: list[str], sentence: str) -> None:
    run = called("market", *words)
    assert run.status == 2
    assert sentence in run.err and run.out == ""


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"shill_penalty": None}, "shill_penalty is missing; a mechanism has all of auction_type, reserve_price"),
        ({"shill_penality": 1.0}, "Unknown field 'shill_penality' in the mechanism."),
        ({"reserve_price": 1.5}, "reserve_price is 1.5; expected a number from 0 to 0.9."),
        ({"reveal_reserve": "yes"}, "reveal_reserve is 'yes'; expected true or false."),
        ({"auction_type": "second-price"}, "Did you mean 'second_price'?"),
    ],
)
def test_a_faulty_mechanism_file_is_a_wrong_call(called: Call, tmp_path: Path, changes: dict[str, Any], sentence: str) -> None:
    run = called("market", "--mechanism", write(tmp_path / "faulty.json", **changes))
    assert run.status == 2
    assert "faulty.json" in run.err and sentence in run.err and run.out == ""
