"""Mechanisms on the grid of levels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from designs import SANE, SANE_LEVELS
from edgeworth.envs.daedalus_spaces import LEVEL_COUNTS, LEVEL_VALUES, LevelSpace, rows_of_levels
from edgeworth.errors import IllegalAction, InvalidOption, UnknownKey
from edgeworth.games.auction.action import FIELDS, action_of, check_rows, mechanism_rows

FREE = LevelSpace()


def test_the_grid_is_the_documented_one() -> None:
    assert LEVEL_COUNTS == (3, 19, 2, 2, 2, 2, 2, 13, 13, 13, 4) and sum(LEVEL_COUNTS) == 75
    assert LEVEL_VALUES["reserve_price"][:4] == (0.0, 0.05, 0.1, 0.15) and LEVEL_VALUES["reserve_price"][-1] == 0.9
    assert LEVEL_VALUES["shill_penalty"][:3] == (0.0, 0.25, 0.5) and LEVEL_VALUES["shill_penalty"][-1] == 3.0


def test_every_level_is_a_legal_mechanism_with_the_value_of_that_level() -> None:
    levels = np.random.default_rng(0).integers(0, LEVEL_COUNTS, size=(5_000, len(FIELDS)))
    rows = rows_of_levels(levels)
    check_rows(rows)
    for k, name in enumerate(FIELDS):
        worded = isinstance(LEVEL_VALUES[name][0], str)
        np.testing.assert_array_equal(rows[name], levels[:, k] if worded else np.array(LEVEL_VALUES[name])[levels[:, k]])
    assert all((levels[:, k].min(), levels[:, k].max()) == (0, n - 1) for k, n in enumerate(LEVEL_COUNTS))


def test_a_mechanism_on_the_grid_has_the_levels_it_says() -> None:
    assert rows_of_levels(np.array([SANE_LEVELS])) == mechanism_rows([SANE])
    assert action_of(rows_of_levels(np.array([SANE_LEVELS]))[0]).model_dump() == SANE
    values = [LEVEL_VALUES[name][level] for name, level in zip(FIELDS, SANE_LEVELS, strict=True)]
    assert dict(zip(FIELDS, values, strict=True)) == SANE


def test_the_mask_allows_everything_unless_a_field_is_locked() -> None:
    assert FREE.mask().all() and FREE.mask().shape == (75,) and FREE.mask().dtype == np.int8
    mask = LevelSpace({"auction_type": "vcg", "reserve_price": 0.15, "reveal_reserve": True, "shill_penalty": 2}).mask()
    assert mask[:3].tolist() == [0, 0, 1]
    assert np.flatnonzero(mask[3:22]).tolist() == [3] and mask[22:24].tolist() == [0, 1]
    assert np.flatnonzero(mask[32:45]).tolist() == [8]
    assert mask.sum() == 4 + 4 * 2 + 2 * 13 + 4


@pytest.mark.parametrize(
    ("locked", "words"),
    [
        ({"reserve_price": 0.12}, "reserve_price cannot be locked at 0.12; its levels are 0, 0.05, 0.1"),
        ({"reserve_price": "0.1"}, "reserve_price cannot be locked at '0.1'"),
        ({"shill_penalty": True}, "shill_penalty cannot be locked at True"),
        ({"shill_penalty": float("nan")}, "shill_penalty cannot be locked at nan"),
        ({"reveal_reserve": 1}, "reveal_reserve cannot be locked at 1; its levels are False, True"),
        ({"auction_type": "gsp"}, "its levels are first_price, second_price, vcg"),
        ({"auction_type": 2}, "auction_type cannot be locked at 2"),
        (["auction_type"], "locked is .*expected values by field"),
    ],
    ids=str,
)
def test_a_field_can_only_be_locked_at_one_of_its_levels(locked: Any, words: str) -> None:
    with pytest.raises(InvalidOption, match=words):
        LevelSpace(locked)


def test_a_mistyped_locked_field_gets_a_suggestion() -> None:
    with pytest.raises(UnknownKey, match="Did you mean 'reserve_price'"):
        LevelSpace({"reserve": 0.1})


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ([SANE_LEVELS], r"shape \(1, 11\)"),
        (np.zeros((2, 10), int), r"shape \(2, 10\)"),
        (np.zeros((2, 11)), "dtype float64"),
        (np.zeros((2, 11), bool), "dtype bool"),
        ("levels", "expected .* whole numbers"),
        (None, "expected .* whole numbers"),
        ([[0], [0, 1]], "expected .* whole numbers"),
        ([SANE_LEVELS, [3, *SANE_LEVELS[1:]]], "Environment 1: auction_type is level 3; expected 0 to 2"),
        ([SANE_LEVELS, [*SANE_LEVELS[:10], -1]], "Environment 1: coalition_policy is level -1; expected 0 to 3"),
        (np.full((2, 11), 2**64 - 1, np.uint64), "Environment 0: auction_type"),
    ],
    ids=str,
)
def test_what_are_no_levels_is_refused(levels: Any, words: str) -> None:
    with pytest.raises(IllegalAction, match=words):
        LevelSpace(size=2).checked(levels)


def test_another_level_of_a_locked_field_is_refused() -> None:
    choice = LevelSpace({"reserve_price": 0.3})
    with pytest.raises(IllegalAction, match=r"reserve_price is level 2; it is locked at level 6 \(0.3\)") as refused:
        choice.checked(SANE_LEVELS)
    assert (refused.value.rule, refused.value.env_index) == ("reserve_price", None)
