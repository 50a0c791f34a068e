"""Numerals: exactly the numbers of an interval, spelled as `json.dumps` spells them."""

from __future__ import annotations

import json
import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeworth.errors import InvalidOption
from edgeworth.llm.local.numerals import LIMIT, WHOLE_DIGITS, decimal_pattern, whole_pattern

limits = st.integers(-2_500, 2_500)


@given(limits, limits, st.integers(-3_000, 3_000))
def test_a_whole_number_matches_where_it_lies_in_the_interval(one: int, other: int, number: int) -> None:
    low, high = sorted((one, other))
    pattern = re.compile(whole_pattern(low, high))
    for n in (number, low - 1, low, high, high + 1):
        assert bool(pattern.fullmatch(json.dumps(n))) == (low <= n <= high)
        assert not pattern.fullmatch(f"0{n}") and not pattern.fullmatch("-0")


@given(limits, limits, st.integers(-3_000, 3_000), st.sampled_from([1, 10, 100, 1000]))
def test_a_decimal_matches_where_it_lies_in_the_interval(one: int, other: int, number: int, unit: int) -> None:
    low, high = sorted((Decimal(one) / unit, Decimal(other) / unit))
    pattern = re.compile(decimal_pattern(low, high))
    for thousandths in (number, int(low * 1000) - 1, int(low * 1000), int(high * 1000), int(high * 1000) + 1):
        text = json.dumps(thousandths / 1000)
        assert bool(pattern.fullmatch(text)) == (low <= Decimal(text) <= high), (text, pattern.pattern)
        assert not pattern.fullmatch(f"{text}0") and not pattern.fullmatch(text.removesuffix(".0") if text.endswith(".0") else "-0.0")


def test_limits_with_more_decimals_are_kept_to_the_last() -> None:
    pattern = re.compile(decimal_pattern(Decimal("0.12341"), Decimal("0.12343")))
    assert [n for n in range(12330, 12350) if pattern.fullmatch(json.dumps(n / 100_000))] == [12341, 12342, 12343]


def test_open_intervals_end_at_fifteen_digits() -> None:
    pattern = re.compile(whole_pattern(0, None))
    assert pattern.fullmatch("9" * WHOLE_DIGITS) and not pattern.fullmatch("9" * (WHOLE_DIGITS + 1))
    decimals = re.compile(decimal_pattern(None, None))
    assert decimals.fullmatch("-999999999999.999") and not decimals.fullmatch("1000000000000.0") and not decimals.fullmatch("1e5")
    assert re.fullmatch(whole_pattern(10**20, None), str(10**20)) and not re.fullmatch(whole_pattern(10**20, None), str(LIMIT))


def test_an_empty_interval_is_refused() -> None:
    with pytest.raises(InvalidOption, match="a number above its maximum"):
        whole_pattern(3, 2)
