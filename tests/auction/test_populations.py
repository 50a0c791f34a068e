"""Who is in the market: the composition of stages and mixes, the held-out populations, and what is refused."""

from __future__ import annotations

import hashlib
import itertools
from typing import Any

import numpy as np
import pytest

from auction_house import POPULATIONS, STAGES, Floats, mechanism, opened, sale_room, standard_errors, stepped
from edgeworth.config import AuctionConfig
from edgeworth.errors import InvalidOption, UnknownKey
from edgeworth.games.auction.action import DaedalusAction, random_mechanisms
from edgeworth.games.auction.batch import MarketBatch
from edgeworth.games.auction.population import HELD_OUT, held_out_shares, mix_shares, population_names, population_table
from edgeworth.games.auction.vocabulary import BIDDER_TYPES, COLLUDER, MAX_BIDDERS, SHADER

MARKETS = 6_000
SIGMAS = 5.5
STAGE_COUNTS = {"0": (8, 0, 0, 0, 0), "1": (3, 5, 0, 0, 0), "2": (2, 2, 0, 4, 0), "3": (0, 3, 5, 0, 0), "4": (1, 0.5, 3.5, 1, 2)}


def counts_of(batch: MarketBatch) -> Floats:
    """How many bidders of each type every market has."""
    n = batch.config.n_agents
    types = batch.markets["type"][:, :n]
    return np.stack([(types == kind).sum(axis=1) for kind in range(len(BIDDER_TYPES))], axis=1).astype(float)


def assert_means(counts: Floats, expected: Any) -> None:
    for kind, name in enumerate(BIDDER_TYPES):
        if counts[:, kind].std() == 0.0:
            assert counts[0, kind] == pytest.approx(expected[kind]), name
        else:
            assert abs(standard_errors(counts[:, kind], expected[kind])) < SIGMAS, name


# Stages


def mean_after_swap(recipe: tuple[float, ...]) -> Floats:
    """The mean composition: fractions rounded by chance, then with chance 1/2 a bidder of one type of the recipe becomes another type.

    A type gives only if it keeps a member; so where a type has one bidder the mean moves a little away from the recipe.
    """
    floor = np.floor(recipe)
    rest = round(sum(recipe) - float(floor.sum()))
    fractional = [t for t in range(len(recipe)) if recipe[t] > floor[t]]
    assert rest == 0 or (rest == 1 and len({recipe[t] - floor[t] for t in fractional}) == 1)
    rounded = [floor + np.eye(len(recipe))[t] for t in fractional] if rest else [floor]
    live = [t for t in range(len(recipe)) if recipe[t] > 0]
    swaps = list(itertools.permutations(live, 2))
    means = []
    for counts in rounded:
        moves = [np.eye(len(recipe))[taker] - np.eye(len(recipe))[giver] if counts[giver] > 1 else 0.0 for giver, taker in swaps]
        means.append(counts + 0.5 * sum(moves, np.zeros(len(recipe))) / max(len(swaps), 1))
    mean: Floats = np.mean(means, axis=0)
    return mean


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_has_its_mean_composition(stage: str) -> None:
    counts = counts_of(opened(MARKETS, stage=stage))
    assert (counts.sum(axis=1) == 8).all()
    assert_means(counts, mean_after_swap(STAGE_COUNTS[stage]))
    np.testing.assert_allclose(counts.mean(axis=0), STAGE_COUNTS[stage], atol=0.13)


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_holds_only_its_own_types_and_varies_by_a_bidder_or_two(stage: str) -> None:
    counts = counts_of(opened(MARKETS, stage=stage))
    recipe = np.array(STAGE_COUNTS[stage])
    strangers = (recipe == 0) & (np.arange(5) != SHADER)
    assert (counts[:, strangers] == 0).all()
    assert np.abs(counts - recipe).max() < 2.0
    assert (len(np.unique(counts, axis=0)) > 1) == (stage != "0")


def test_seats_tell_nothing_about_types() -> None:
    types = opened(MARKETS, stage="3").markets["type"][:, :8]
    share = (types == COLLUDER).mean(axis=0)
    assert np.abs(share - share.mean()).max() < SIGMAS * np.sqrt(0.25 / MARKETS)


def test_the_mixed_population_draws_every_bidder_by_itself() -> None:
    counts = counts_of(opened(MARKETS, stage="mixed"))
    lone = 8 * 0.25 * 0.75**7  # a lone colluder is a shader
    assert_means(counts, (2, 2 + lone, 2 - lone, 1, 1))
    assert counts[:, 0].var() == pytest.approx(8 * 0.25 * 0.75, rel=0.15)


def test_stages_draws_all_five_stages_alike() -> None:
    batch = opened(MARKETS, stage="stages")
    rows = np.bincount(batch.markets["stage"], minlength=5)
    assert np.abs(rows - MARKETS / 5).max() < SIGMAS * np.sqrt(MARKETS * 0.16)
    for stage in range(5):
        chosen = counts_of(batch)[batch.markets["stage"] == stage]
        assert_means(chosen, mean_after_swap(STAGE_COUNTS[str(stage)]))


def test_a_dirichlet_population_draws_its_shares_first() -> None:
    counts = counts_of(opened(MARKETS, stage="dirichlet"))
    for kind in range(5):
        if kind not in (SHADER, COLLUDER):
            assert abs(standard_errors(counts[:, kind], 8 / 5)) < SIGMAS
    # beta-binomial with alpha = (1, 4): far wider than the 1.28 of independent draws
    assert counts[:, 0].var() == pytest.approx(8 * 0.2 * 0.8 * (8 + 5) / (5 + 1), rel=0.15)


# A lone colluder, numbers of bidders


@pytest.mark.parametrize("stage", [*POPULATIONS, "dirichlet", "held_out"])
@pytest.mark.parametrize("n", [2, 3, 5, 8, 16])
def test_no_market_has_a_lone_colluder(stage: str, n: int) -> None:
    assert not (counts_of(opened(1_000, stage=stage, n_agents=n))[:, COLLUDER] == 1).any()


def test_a_lone_colluder_becomes_a_shader() -> None:
    counts = counts_of(opened(50, n_agents=4, mix={"colluder": 0.25, "truthful": 0.75}))
    assert (counts == (3, 1, 0, 0, 0)).all()


@pytest.mark.parametrize("n", range(2, 17))
def test_the_number_of_bidders_is_honoured(n: int) -> None:
    batch = opened(40, 3, stage="4", n_agents=n)
    assert (batch.markets["n"] == n).all()
    entrants = []
    for step in range(3):
        outcomes = batch.step(random_mechanisms(np.random.default_rng(step), 40))
        entrants.append(outcomes["entrants"].copy())
        np.testing.assert_allclose(outcomes["participation_rate"] * n, outcomes["entrants"])
    assert 0 < np.max(entrants) <= n
    for name in ("type", "entry_cost", "shading", "scruple", "was_in"):
        assert (batch.markets[name][:, n:] == 0).all(), name
    assert (batch.markets["entry_cost"][:, :n] > 0).all()
    assert (stepped(mechanism(), 5, 1, n_agents=n, freeze=("entry",))["entrants"] == n).all()


def test_there_are_three_lots_for_eight_bidders_and_in_proportion_for_others() -> None:
    lots = []
    for n in range(2, 17):
        room = sale_room(n_agents=n)
        room.post(DaedalusAction(**mechanism()))
        lots.append(int(room.terms["lots"]))
    assert lots == [round(0.375 * n) for n in range(2, 17)]


# Mixes


@pytest.mark.parametrize(
    ("mix", "n", "expected"),
    [
        ({"truthful": 1.0}, 16, (16, 0, 0, 0, 0)),
        ({"colluder": 0.625, "truthful": 0.375}, 8, (3, 0, 5, 0, 0)),
        ({"exploiter": 0.5, "dropout": 0.5}, 2, (0, 0, 0, 1, 1)),
        ({"truthful": 0.2, "shader": 0.2, "colluder": 0.2, "dropout": 0.2, "exploiter": 0.2}, 10, (2, 2, 2, 2, 2)),
        ({"shader": 1}, 5, (0, 5, 0, 0, 0)),
    ],
)
def test_a_mix_of_whole_bidders_is_what_was_asked_for(mix: dict[str, float], n: int, expected: tuple[int, ...]) -> None:
    assert (counts_of(opened(60, mix=mix, n_agents=n)) == expected).all()


def test_fractions_of_bidders_are_rounded_by_chance_and_right_on_average() -> None:
    counts = counts_of(opened(MARKETS, mix={"truthful": 0.3, "shader": 0.7}, n_agents=5))
    assert set(counts[:, 0]) == {1.0, 2.0}
    assert_means(counts, (1.5, 3.5, 0, 0, 0))


@pytest.mark.parametrize(
    ("mix", "message"),
    [
        ({}, "expected shares by bidder type"),
        ({"truthful": 0.5}, "add up to 0.5; expected 1"),
        ({"truthful": 0.7, "shader": 0.4}, "add up to 1.1; expected 1"),
        ({"truthful": 0.0, "shader": 0.0}, "add up to 0; expected 1"),
        ({"truthful": 1.5, "shader": -0.5}, "share of truthful is 1.5; expected a number from 0 to 1"),
        ({"shader": -0.5, "truthful": 1.0}, "share of shader is -0.5; expected a number from 0 to 1"),
        ({"truthful": float("nan")}, "share of truthful is nan"),
        ({"truthful": "all"}, "share of truthful is 'all'"),
        ({"truthful": True}, "share of truthful is True"),
        ({"truthful": None}, "share of truthful is None"),
    ],
)
def test_a_mix_with_bad_shares_is_refused(mix: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        mix_shares(mix)
    with pytest.raises(InvalidOption, match=message):
        MarketBatch(AuctionConfig.from_options(mix=mix), 1)


def test_an_unknown_type_in_a_mix_is_answered_with_its_neighbour() -> None:
    with pytest.raises(UnknownKey, match="Did you mean 'truthful'"):
        MarketBatch(AuctionConfig.from_options(mix={"truthfull": 1.0}), 1)


@pytest.mark.parametrize("mix", [[0.5, 0.5], "truthful", 3])
def test_a_mix_is_a_mapping(mix: Any) -> None:
    with pytest.raises(InvalidOption, match="mix: expected a mapping"):
        AuctionConfig.from_options(mix=mix)
    with pytest.raises(InvalidOption, match="expected shares by bidder type"):
        mix_shares(mix)


# Held-out populations


def test_the_held_out_populations_are_twenty_distinct_mixes() -> None:
    shares = np.array(held_out_shares())
    assert shares.shape == (HELD_OUT, 5) == (20, 5)
    assert (shares >= 0.0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    distances = [np.abs(a - b).sum() / 2 for a, b in itertools.combinations(shares, 2)]
    assert min(distances) > 0.05


def test_the_held_out_populations_never_change() -> None:
    permille = (1_000 * np.array(held_out_shares())).round().astype(int)
    assert permille[0].tolist() == [160, 118, 302, 175, 245]
    assert hashlib.sha256(repr(permille.tolist()).encode()).hexdigest()[:16] == "0531e8ca35d7dc57"


def test_every_population_by_name_opens() -> None:
    names = population_names()
    assert len(names) == len(set(names)) == 5 + 4 + 20
    for name in names:
        assert len(population_table(name)) == {"stages": 5, "held_out": 20}.get(name, 1)
        assert (counts_of(opened(3, stage=name)).sum(axis=1) == 8).all()


def test_a_held_out_population_has_the_shares_of_its_row() -> None:
    for k in (0, 19):
        counts = counts_of(opened(MARKETS, stage=f"held_out_{k}"))
        share = held_out_shares()[k]
        lone = 8 * share[COLLUDER] * (1 - share[COLLUDER]) ** 7
        expected = 8 * np.array(share)
        expected[SHADER] += lone
        expected[COLLUDER] -= lone
        assert_means(counts, expected)


def test_the_stage_may_be_a_number_or_a_name() -> None:
    by_number, by_name = opened(20, 2, stage=3), opened(20, 2, stage="3")
    assert by_number.markets["type"].tobytes() == by_name.markets["type"].tobytes()
    assert by_number.markets["type"].shape == (20, MAX_BIDDERS)
