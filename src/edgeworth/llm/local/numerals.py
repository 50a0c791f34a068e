"""Numerals: regular expressions for the numbers of an interval, as `json.dumps` spells them, and never longer than need be.

A whole number has no leading zeros; a number that need not be whole always has a point, at least one decimal and no needless zeros: 0.5,
1.0, -2.25. There are no exponents and no minus before zero. Where an interval is open on a side, numerals end at `WHOLE_DIGITS` digits,
so that a model that would never stop writing digits is stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TypeAlias

from edgeworth.errors import InvalidOption

WHOLE_DIGITS = 15
"""A float holds every number of so many digits exactly as it was written."""
DECIMALS = 3
"""Decimals of a number, unless its limits have more."""
LIMIT = 10**WHOLE_DIGITS - 1

Rest: TypeAlias = Callable[[str, str], str]
"""The pattern of what follows a first digit, from the lowest to the highest."""


def whole_pattern(low: int | None, high: int | None) -> str:
    """Whole numbers from `low` to `high`, both included."""
    return _signed(*_closed(low, high), _between)


def decimal_pattern(low: Decimal | None, high: Decimal | None, decimals: int = DECIMALS) -> str:
    """Numbers from `low` to `high`, both included, with at most so many decimals."""
    decimals = max([decimals, *(places(limit) for limit in (low, high) if limit is not None)])
    least, most = (None if limit is None else int(limit.scaleb(decimals)) for limit in (low, high))
    return _signed(*_closed(least, most), lambda first, last: _decimals_between(first, last, decimals))


def _signed(least: int, most: int, between: Callable[[int, int], str]) -> str:
    """Numbers from `least` to `most`; `between` gives the pattern of those that are not below zero."""
    parts = [f"-(?:{between(max(1, -most), -least)})"] if least < 0 else []
    if most >= 0:
        parts.append(between(max(0, least), most))
    return "|".join(parts)


def whole_limit(limit: Decimal, upwards: bool) -> int:
    """The nearest whole number inside a limit."""
    return int(limit.to_integral_value(ROUND_CEILING if upwards else ROUND_FLOOR))


def places(limit: Decimal) -> int:
    """Decimals that a limit has."""
    exponent = limit.normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _closed(low: int | None, high: int | None) -> tuple[int, int]:
    """The interval with both of its ends, in units of the last decimal."""
    limit = max(LIMIT, *(10 * abs(end) for end in (low, high) if end is not None), 0)
    least, most = -limit if low is None else low, limit if high is None else high
    if least > most:
        raise InvalidOption("A schema asks for a number above its maximum; expected a minimum that is no more than the maximum.")
    return least, most


def _between(low: int, high: int) -> str:
    """Whole numbers from `low` to `high`, neither below zero."""
    parts = []
    for digits in range(len(str(low)), len(str(high)) + 1):
        first = max(low, 10 ** (digits - 1) if digits > 1 else 0)
        parts.append(_same_length(str(first), str(min(high, 10**digits - 1))))
    return "|".join(parts)


def _same_length(low: str, high: str) -> str:
    """Digit strings from `low` to `high`, all of one length."""
    if not low:
        return ""
    if set(low) <= {"0"} and set(high) <= {"9"}:
        return f"[0-9]{{{len(low)}}}" if len(low) > 1 else "[0-9]"
    return _first_digits(low, high, _same_length)


def _decimals_between(low: int, high: int, decimals: int) -> str:
    """Numbers from `low` to `high`, neither below zero, counted in units of the last decimal."""
    unit = 10**decimals
    (first, first_rest), (last, last_rest) = divmod(low, unit), divmod(high, unit)
    if first == last:
        return _with_decimals(str(first), first_rest, last_rest, decimals)
    parts = [_with_decimals(str(first), first_rest, unit - 1, decimals)]
    if last - first > 1:
        parts.append(_with_decimals(f"(?:{_between(first + 1, last - 1)})", 0, unit - 1, decimals))
    return "|".join([*parts, _with_decimals(str(last), 0, last_rest, decimals)])


def _with_decimals(whole: str, low: int, high: int, decimals: int) -> str:
    """A whole part, a point, and decimals from `low` to `high`; .0 where there are none."""
    parts = ["0"] if low == 0 else []
    if high > 0:
        parts.append(_decimals(f"{max(1, low):0{decimals}}", f"{high:0{decimals}}"))
    return rf"{whole}\.(?:{'|'.join(parts)})"


def _decimals(low: str, high: str) -> str:
    """Decimals from `low` to `high`, which have one length; zeros at the end are left out."""
    if not low:
        return ""
    if set(low) <= {"0"}:  # nothing more may follow
        return "" if set(high) <= {"0"} else f"(?:{_decimals(low[:-1] + '1', high)})?"
    if set(low[:-1]) <= {"0"} and low[-1] == "1" and set(high) <= {"9"}:
        return f"[0-9]{{0,{len(low) - 1}}}[1-9]" if len(low) > 1 else "[1-9]"
    return _first_digits(low, high, _decimals)


def _first_digits(low: str, high: str, rest_between: Rest) -> str:
    """The alternatives by first digit: the lowest, the highest, and those between, after which everything is possible."""
    zeros, nines = "0" * (len(low) - 1), "9" * (len(low) - 1)
    first, last = int(low[0]), int(high[0])
    if first == last:
        return f"{first}{_group(rest_between(low[1:], high[1:]))}"
    parts = []
    if low[1:] != zeros:
        parts.append(f"{first}{_group(rest_between(low[1:], nines))}")
        first += 1
    highest = f"{last}{_group(rest_between(zeros, high[1:]))}" if high[1:] != nines else None
    last -= highest is not None
    if first <= last:
        digits = str(first) if first == last else f"[{first}-{last}]"
        parts.append(f"{digits}{_group(rest_between(zeros, nines))}")
    return "|".join([*parts, highest] if highest is not None else parts)


def _group(pattern: str) -> str:
    return f"(?:{pattern})" if "|" in pattern else pattern
