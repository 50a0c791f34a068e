"""The bundled experts: which one plays which game, what they are worth, and the error where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeworth.agents.negotiators.bundled import FOLDER, GENERALIST, Bundled, expert_for, experts
from edgeworth.agents.negotiators.exact import Bayes
from edgeworth.agents.negotiators.learned import Learned
from edgeworth.config import BargainingConfig, scenario_names
from edgeworth.errors import InvalidOption
from edgeworth.evaluation.episodes import play_episodes
from edgeworth.games.bargaining.batch import BargainingBatch


def begun(scenario: str | None = None, **options: object) -> BargainingBatch:
    batch = BargainingBatch(BargainingConfig.from_options(scenario, **options), 3)
    batch.seed([1, 2, 3])
    batch.reset()
    return batch


def test_every_scenario_has_an_expert_that_is_small_and_has_a_card() -> None:
    assert sorted(experts()) == sorted([*scenario_names(), GENERALIST])
    for name, facts in experts().items():
        card, study = facts["card"], "memory" if name == GENERALIST else "experts"
        limit = 1_000_000 if name == GENERALIST else 200_000  # three wide layers instead of two narrow ones
        assert (FOLDER / f"{name}.safetensors").stat().st_size < limit
        assert card["command"].startswith(f"edgeworth study {study}") and card["seed"] == 0
        assert card["episodes"] == 20_000 if name == GENERALIST else card["exact"]
        assert 0.3 < card["share_of_maximum"]["value"] < 1.0


@pytest.mark.parametrize("scenario", scenario_names())
def test_in_a_scenario_its_own_expert_is_asked(scenario: str) -> None:
    assert expert_for(begun(scenario)) == scenario


def test_in_another_game_the_nearest_one_is_asked() -> None:
    assert expert_for(begun(None, partner="random")) == "classic"
    assert expert_for(begun("one_shot", partner="linear")) == "one_shot"
    assert expert_for(begun("discounted", sudden_end=0.05)) == "discounted"


@pytest.mark.parametrize("partner", ["boulware", "linear", "conceder", "tit_for_tat", "population"])
@pytest.mark.parametrize("scenario", ["classic", "lewis"])
def test_against_partners_of_its_population_the_generalist_is_asked(scenario: str, partner: str) -> None:
    assert expert_for(begun(scenario, partner=partner)) == GENERALIST


def test_a_partner_with_other_options_is_one_that_the_generalist_does_not_know() -> None:
    assert expert_for(begun(None, partner="linear", partner_options={"floor": 0.1})) == "classic"
    members = {"linear": {"weight": 2.0}, "hard": {"partner": "linear", "floor": 0.6}}
    assert expert_for(begun(None, partner="population", partner_options={"members": members})) == "classic"
    assert expert_for(begun(None, partner="population", partner_options={"members": {"linear": {"weight": 2.0}}})) == GENERALIST


def test_the_generalist_adapts_where_an_expert_without_memory_cannot() -> None:
    game = BargainingConfig(partner="boulware")
    own, other = (play_episodes(game, Learned(FOLDER / name), 2_000, 5).share for name in (GENERALIST, "classic"))
    assert own > other + 0.08


def test_an_expert_earns_what_its_card_says() -> None:
    for name in ("classic", "lewis_keep_all"):
        played = play_episodes(BargainingConfig.from_options(name), Bundled(), 3_000, 1_000_000)
        said = experts()[name]["card"]["share_of_maximum"]
        assert played.reward.sum() / played.maximum.sum() == pytest.approx(said["value"], abs=0.02)


def test_the_classic_expert_is_nearly_as_good_as_the_best_blind_plan() -> None:
    own, best = (play_episodes(BargainingConfig(), player, 500, 5) for player in (Bundled(), Bayes()))
    assert own.reward.sum() > 0.96 * best.reward.sum()


def test_a_box_plays_the_expert_that_it_names() -> None:
    batch, box = begun("walkaway"), Bundled()
    acts, shares = box.choose(batch)
    theirs, their_shares = Learned(FOLDER / "walkaway").choose(batch)
    assert acts.tolist() == theirs.tolist() and shares.tolist() == their_shares.tolist() and box.names == ["walkaway"]


def test_where_no_expert_fits_it_is_said_how_to_train_one(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match=r"up to 7 units of a type, only .*train one with `edgeworth train"):
        Bundled().check(begun(None, max_count=7))
    with pytest.raises(InvalidOption, match=r"There is no expert in .*edgeworth study experts"):
        Bundled(folder=tmp_path).check(begun())
