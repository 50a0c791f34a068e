"""A mechanism: eleven fields, as strictly checked JSON and as a row of the record `MECHANISM` that the market reads.

`checked_action` is the only check of what comes from outside: it returns a `DaedalusAction` or says which field is wrong, what was expected
and what arrived. Nothing is clipped, and nothing is filled in unless it is asked for (`completed`). `check_rows` does it for rows that a
program made.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from edgeworth.errors import DataError, IllegalAction, shown, suggestion
from edgeworth.games.auction.state import MECHANISM
from edgeworth.games.auction.vocabulary import AUCTION_TYPES, COALITION_POLICIES
from edgeworth.protocol import FLAG, number, one_of
from edgeworth.validation import Problem, problem_in

Checked = TypeVar("Checked")

PARTIAL = "partial"
"""The key beside the fields of a mechanism that leaves some of them as they are."""
MAX_RESERVE = 0.9
MAX_PENALTY = 3.0


class DaedalusAction(BaseModel):
    """A mechanism: how lots are sold, what is published, and what is punished."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)

    auction_type: Literal["first_price", "second_price", "vcg"] = Field(
        description="Winners pay their bid, the next bid, or their externality."
    )
    reserve_price: float = Field(ge=0.0, le=MAX_RESERVE, description="Bids below it are void.")
    reveal_reserve: bool = Field(description="Announce the reserve price before bidding.")
    reveal_competing_bids: bool = Field(description="Publish every bid with its name after the sale.")
    reveal_winner_identity: bool = Field(description="Publish who won.")
    reveal_clearing_price: bool = Field(description="Publish the prices paid.")
    reveal_bid_distribution: bool = Field(description="Publish a histogram of the bids, without names.")
    shill_penalty: float = Field(ge=0.0, le=MAX_PENALTY, description="Fine for bidding under false names, in unit fines.")
    withdrawal_penalty: float = Field(ge=0.0, le=MAX_PENALTY, description="Charge for withdrawing, in multiples of the seller's loss.")
    collusion_penalty: float = Field(ge=0.0, le=MAX_PENALTY, description="Fine for bidding as a ring, in unit fines.")
    coalition_policy: Literal["allow", "restrict", "penalize_suspected", "penalize_confirmed"] = Field(
        description="Rings are legal, hindered, fined on suspicion, or fined on proof."
    )


FIELDS = tuple(DaedalusAction.model_fields)
FLAGS = tuple(name for name in FIELDS if name.startswith("reveal_"))
NUMBERS = ("reserve_price", "shill_penalty", "withdrawal_penalty", "collusion_penalty")
CHOICES = {"auction_type": AUCTION_TYPES, "coalition_policy": COALITION_POLICIES}
HIGHEST = {name: MAX_RESERVE if name == "reserve_price" else MAX_PENALTY for name in NUMBERS}
KINDS = {name: one_of(CHOICES[name]) if name in CHOICES else FLAG if name in FLAGS else number(0.0, HIGHEST[name]) for name in FIELDS}
"""What a field may hold, in words and for replies of language models."""
PLACES = {name: {word: place for place, word in enumerate(words)} for name, words in CHOICES.items()}
LIMITS = tuple(len(CHOICES[name]) - 1 if name in CHOICES else HIGHEST.get(name, 1) for name in FIELDS)
"""The highest value of every field in a row."""


def checked_action(value: Any) -> DaedalusAction:
    """The mechanism that arrived, or an error that names the first field that is wrong."""
    if isinstance(value, DaedalusAction):
        value = value.model_dump()  # checked anew: a copy may have been changed without checks
    if not isinstance(value, Mapping):
        raise IllegalAction(f"A mechanism is a mapping of {len(FIELDS)} fields; got {shown(value)}.", "mechanism")
    for key in value:
        if not isinstance(key, str):
            raise IllegalAction(f"Unknown field {key!r} in the mechanism. Known: {', '.join(FIELDS)}.", str(key))
    plain = {key: item.item() if isinstance(item, np.generic) else item for key, item in value.items()}
    try:
        return DaedalusAction.model_validate(plain)
    except ValidationError as error:
        raise _illegal(problem_in(error, DaedalusAction)) from None


def completed(value: Any, in_force: Callable[[], Mapping[str, Any] | None]) -> tuple[Any, tuple[str, ...]]:
    """A mechanism that says `partial: true`, with its missing fields from the one in force, and their names; any other as it is."""
    if not isinstance(value, Mapping) or PARTIAL not in value:
        return value, ()
    given, partial = {name: item for name, item in value.items() if name != PARTIAL}, value[PARTIAL]
    if not isinstance(partial, bool | np.bool_):
        raise IllegalAction(f"{PARTIAL} is {shown(partial)}; expected true or false.", PARTIAL)
    missing = tuple(name for name in FIELDS if name not in given) if partial else ()
    kept = in_force() if missing else {}
    if kept is None:
        raise IllegalAction(
            f"{missing[0]} is missing, and before the first step there is no mechanism in force to take it from; name all.",
            missing[0],
        )
    return {**given, **{name: kept[name] for name in missing}}, missing


def _illegal(problem: Problem) -> IllegalAction:
    """The error for what is wrong with a mechanism."""
    field, arrived = problem.field, problem.arrived
    if problem.kind == "missing":
        return IllegalAction(
            f"{field} is missing; a mechanism has {problem.expected}. With `{PARTIAL}: true` beside them, a market takes what is"
            " missing from the mechanism in force.",
            field,
        )
    if problem.kind == "unknown":
        return IllegalAction(f"Unknown field {field!r} in the mechanism. Known: {', '.join(FIELDS)}.{suggestion(field, FIELDS)}", field)
    kind = KINDS[field]
    return IllegalAction(f"{field} is {shown(arrived)}; expected {kind.expected}.{suggestion(str(arrived), kind.words)}", field)


def read_mechanism(path: Path | str) -> DaedalusAction:
    """A mechanism from a JSON file with exactly the eleven fields."""
    return _read(path, checked_action)


def read_mechanisms(path: Path | str) -> list[DaedalusAction]:
    """A list of mechanisms from a JSON file."""
    return _read(path, _checked_list)


def _checked_list(content: Any) -> list[DaedalusAction]:
    if not isinstance(content, list) or not content:
        raise IllegalAction("expected a list of mechanisms.", "mechanism")
    return [checked_action(entry) for entry in content]


def _read(path: Path | str, check: Callable[[Any], Checked]) -> Checked:
    try:
        return check(json.loads(Path(path).read_text(encoding="utf-8"), object_pairs_hook=_once_each))
    except OSError as error:
        raise DataError(path, f"cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise DataError(path, "is not a text file; expected a mechanism as JSON.") from error
    except json.JSONDecodeError as error:
        raise DataError(path, f"is not valid JSON: {error.msg}.", error.lineno) from error
    except ValueError as error:
        raise DataError(path, str(error)) from error


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"names {twice!r} twice; expected every field once.")
    return content


def mechanism_rows(actions: Sequence[DaedalusAction | Mapping[str, Any]]) -> NDArray[np.void]:
    """Mechanisms as the records that the market reads."""
    rows = np.zeros(len(actions), MECHANISM)
    for k, action in enumerate(actions):
        rows[k] = row_values(checked_action(action))
    return rows


def row_values(action: DaedalusAction) -> tuple[Any, ...]:
    """The fields of a mechanism as a row holds them: words as their number in the vocabulary."""
    auction_type, *between, coalition_policy = vars(action).values()
    return PLACES["auction_type"][auction_type], *between, PLACES["coalition_policy"][coalition_policy]


def action_of(row: np.void) -> DaedalusAction:
    """The mechanism that a row holds."""
    values: dict[str, Any] = {name: row[name].item() for name in FIELDS}
    for name, words in CHOICES.items():
        values[name] = words[values[name]]
    return DaedalusAction(**values)


def check_rows(rows: NDArray[np.void]) -> None:
    """Refuse rows whose values no mechanism can have."""
    if not isinstance(rows, np.ndarray) or rows.dtype != MECHANISM:
        what = f"dtype {rows.dtype}" if isinstance(rows, np.ndarray) else f"type {type(rows).__name__}"
        raise IllegalAction(f"Mechanisms have {what}; expected the record MECHANISM (see mechanism_rows).", "mechanism")
    for name in NUMBERS:
        _refuse(rows, name, ~((rows[name] >= 0.0) & (rows[name] <= HIGHEST[name])), f"a number from 0 to {HIGHEST[name]:g}")
    for name, words in CHOICES.items():
        _refuse(rows, name, (rows[name] < 0) | (rows[name] >= len(words)), f"0 to {len(words) - 1} ({', '.join(words)})")


def _refuse(rows: NDArray[np.void], name: str, wrong: NDArray[np.bool_], expected: str) -> None:
    if wrong.any():
        slot = int(np.flatnonzero(wrong)[0])
        raise IllegalAction(f"{name} is {rows[name][slot]}; expected {expected}.", name, slot if len(rows) > 1 else None)


def random_mechanisms(rng: np.random.Generator, count: int) -> NDArray[np.void]:
    """Mechanisms with every field drawn uniformly over its whole range."""
    rows = np.zeros(count, MECHANISM)
    for name, words in CHOICES.items():
        rows[name] = rng.integers(0, len(words), count)
    for name in NUMBERS:
        rows[name] = rng.uniform(0.0, HIGHEST[name], count)
    for name in FLAGS:
        rows[name] = rng.integers(0, 2, count).astype(bool)
    return rows
