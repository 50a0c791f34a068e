"""What every partner in the catalog owes: it builds, it plays by the rules, it stops, and it is documented."""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any

import numpy as np
import pytest

from bargaining_table import begun
from edgeworth import catalog
from edgeworth.config import BargainingConfig, config_folder
from edgeworth.envs.negotiation import NegotiationEnv
from edgeworth.errors import UnknownKey
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.state import PARTNER_PROGRAM
from edgeworth.games.bargaining.vocabulary import AGREE, END, INSIST, ONGOING, PARTNER, PROPOSE
from edgeworth.validation import build

GAME_PAGE = config_folder().parent / "docs" / "games" / "bargaining.md"
EPISODES = 200

every_partner = pytest.mark.parametrize("name", catalog.names("partner"))


def meet(name: str, **options: Any) -> BargainingBatch:
    """The beginning of many episodes with a partner."""
    return begun(EPISODES, seed=11, partner=name, **options)


def episodes(name: str, **options: Any) -> BargainingBatch:
    """Random legal play against a partner, to the end of every episode."""
    batch = meet(name, **options)
    for _ in range(batch.config.max_turns):
        going = batch.state["outcome"] == ONGOING
        if not going.any():
            return batch
        part = batch.selected(going)
        part.step(*part.random_actions())
        batch.write_back(part, going)
    raise AssertionError(f"{name} does not come to an end")


def assert_legal(state: Any) -> None:
    """Every recorded line is a legal move: shares within the pool, AGREE only to an offer that stands."""
    counts, offered = state["counts"], [False, False]
    for side, act, *share in state["history"][: state["turn"]].tolist():
        assert all(0 <= s <= n for s, n in zip(share, counts, strict=True))
        assert act != AGREE or offered[1 - side]
        assert 0 <= act <= END
        offered[side] |= act in (PROPOSE, INSIST)


@every_partner
def test_it_builds_with_its_defaults(name: str) -> None:
    rows = build(catalog.resolve("partner", name), {}, name).programs(BargainingConfig())
    assert rows.dtype == PARTNER_PROGRAM and len(rows) >= 1
    assert rows["cumulative"][-1] == 1.0 and (np.diff(rows["cumulative"]) > 0).all()
    assert ((rows["accept"] >= 0) & (rows["accept"] <= 10_000)).all()


@every_partner
def test_it_is_a_frozen_dataclass_whose_fields_are_its_options(name: str) -> None:
    partner = catalog.resolve("partner", name)
    assert dataclasses.is_dataclass(partner) and partner.__dataclass_params__.frozen


@every_partner
def test_it_refuses_a_mistyped_option_and_names_the_nearest(name: str) -> None:
    for option in (field.name for field in dataclasses.fields(catalog.resolve("partner", name))):
        with pytest.raises(UnknownKey, match=f"Did you mean '{option}'"):
            NegotiationEnv(partner=name, partner_options={f"{option}z": 1})
    with pytest.raises(UnknownKey, match=f"Unknown setting of partner {name} 'zzzzz'"):
        NegotiationEnv(partner=name, partner_options={"zzzzz": 1})


@every_partner
@pytest.mark.parametrize("options", [{}, {"disagree": "passes", "contexts": "lewis"}, {"min_count": 0, "max_turns": 5}], ids=str)
def test_it_makes_only_legal_moves_and_comes_to_an_end(name: str, options: dict[str, Any]) -> None:
    batch = episodes(name, **options)
    assert (batch.state["turn"] <= batch.config.max_turns).all()
    for state in batch.state:
        assert_legal(state)


@every_partner
def test_it_never_ends_an_episode_before_the_agent_has_spoken(name: str) -> None:
    batch = meet(name, opens="partner")
    assert (batch.state["outcome"] == ONGOING).all()
    assert (batch.state["history"][:, 0, 0] == PARTNER).all() and batch.masks.all()


@every_partner
def test_the_same_seeds_bring_the_same_talks(name: str) -> None:
    one, other = episodes(name), episodes(name)
    np.testing.assert_array_equal(one.state, other.state)


@every_partner
def test_it_has_a_row_in_the_table_of_partners(name: str) -> None:
    rows = [line for line in GAME_PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    row = next((line for line in rows if f"`{name}`" in line.split("|")[1]), None)
    assert row is not None, f"{name} has no row in {GAME_PAGE}"


@every_partner
def test_its_options_are_documented(name: str) -> None:
    page = GAME_PAGE.read_text(encoding="utf-8")
    for field in dataclasses.fields(catalog.resolve("partner", name)):
        assert f"`{field.name}`" in page


@every_partner
def test_its_module_says_what_it_is(name: str) -> None:
    header = importlib.import_module(catalog.TABLES["partner"][name].partition(":")[0]).__doc__
    assert header and header.splitlines()[0].endswith((".", ":"))
