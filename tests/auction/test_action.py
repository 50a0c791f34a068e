"""Mechanisms are checked strictly: what is wrong is named, nothing is clipped or filled in, and a rejected step changes nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from auction_house import BEST, Mechanism, Rows, mechanism, opened, random_actions, row_of, sale_room
from bargaining_table import bits_of
from edgeworth.config import AuctionConfig
from edgeworth.errors import DataError, EpisodeOver, IllegalAction, InvalidOption, UnknownKey, UnknownName
from edgeworth.games.auction.action import (
    CHOICES,
    FIELDS,
    FLAGS,
    HIGHEST,
    NUMBERS,
    DaedalusAction,
    action_of,
    check_rows,
    checked_action,
    mechanism_rows,
    random_mechanisms,
    read_mechanism,
)
from edgeworth.games.auction.batch import MarketBatch, constant_rows

NAN, INFINITY = float("nan"), float("inf")

NO_NUMBER: list[Any] = [NAN, INFINITY, -INFINITY, 1e300, 10**400, "0.3", "", None, True, [0.3], {}, 0.3 + 0j]
NO_FLAG: list[Any] = [0, 1, 1.0, "true", "", None, []]
NO_CHOICE: list[Any] = ["", "VCG", "Allow", 0, None, True, ["vcg"], NAN]

WRONG: list[tuple[str, Any]] = [
    *((name, value) for name in NUMBERS for value in (-0.01, HIGHEST[name] + 0.01, *NO_NUMBER)),
    *((name, value) for name in FLAGS for value in NO_FLAG),
    *((name, value) for name in CHOICES for value in NO_CHOICE),
    ("reserve_price", np.float64("nan")),
    ("shill_penalty", np.float32(3.5)),
    ("reveal_reserve", np.int64(1)),
    ("auction_type", "third_price"),
    ("coalition_policy", "penalize"),
]


# One mechanism


def test_a_mechanism_has_the_eleven_published_fields() -> None:
    assert tuple(mechanism()) == FIELDS
    assert len(FIELDS) == 11 and set(FLAGS) | set(NUMBERS) | set(CHOICES) == set(FIELDS)


@pytest.mark.parametrize(("field", "value"), WRONG, ids=lambda part: repr(part)[:20])
def test_a_wrong_value_is_refused_and_its_field_named(field: str, value: Any) -> None:
    with pytest.raises(IllegalAction) as refused:
        checked_action(mechanism(**{field: value}))
    assert refused.value.rule == field
    assert str(refused.value).startswith(f"{field} is ") and "expected" in str(refused.value)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize(("field", "value"), WRONG, ids=lambda part: repr(part)[:20])
def test_the_public_model_itself_refuses_a_wrong_value(field: str, value: Any) -> None:
    with pytest.raises(ValidationError) as refused:
        DaedalusAction(**mechanism(**{field: value.item() if isinstance(value, np.generic) else value}))
    assert {error["loc"][0] for error in refused.value.errors()} == {field}


@pytest.mark.parametrize("field", FIELDS)
def test_a_missing_field_is_refused_and_named(field: str) -> None:
    with pytest.raises(IllegalAction, match=f"{field} is missing") as refused:
        checked_action({name: value for name, value in mechanism().items() if name != field})
    assert refused.value.rule == field


@pytest.mark.parametrize(("field", "meant"), [("resrve_price", "reserve_price"), ("reveal_bids", "reveal_competing_bids"), ("xyzzy", None)])
def test_an_unknown_field_is_refused_and_its_neighbour_suggested(field: str, meant: str | None) -> None:
    with pytest.raises(IllegalAction, match=f"Unknown field '{field}'") as refused:
        checked_action(mechanism(**{field: 0.1}))
    assert ("Did you mean" in str(refused.value)) == (meant is not None)
    assert meant is None or f"Did you mean {meant!r}?" in str(refused.value)


@pytest.mark.parametrize(
    ("field", "value", "meant"),
    [("auction_type", "second-price", "second_price"), ("coalition_policy", "penalise_confirmed", "penalize_confirmed")],
)
def test_a_mistyped_choice_is_answered_with_its_neighbour(field: str, value: str, meant: str) -> None:
    with pytest.raises(IllegalAction, match=f"Did you mean '{meant}'"):
        checked_action(mechanism(**{field: value}))


@pytest.mark.parametrize("value", [None, 3, "vcg", [], [("auction_type", "vcg")], json.dumps(mechanism()), np.zeros(3)], ids=repr)
def test_what_is_no_mapping_is_no_mechanism(value: Any) -> None:
    with pytest.raises(IllegalAction, match="A mechanism is a mapping of 11 fields"):
        checked_action(value)


def test_the_bounds_themselves_are_allowed() -> None:
    for name in NUMBERS:
        for value in (0, 0.0, HIGHEST[name]):
            assert getattr(checked_action(mechanism(**{name: value})), name) == value
    assert HIGHEST == {"reserve_price": 0.9, "shill_penalty": 3.0, "withdrawal_penalty": 3.0, "collusion_penalty": 3.0}


def test_numbers_and_flags_of_numpy_are_allowed() -> None:
    action = checked_action(mechanism(reserve_price=np.float64(0.25), shill_penalty=np.int64(2), reveal_reserve=np.False_))
    assert (action.reserve_price, action.shill_penalty, action.reveal_reserve) == (0.25, 2.0, False)


def test_a_mechanism_cannot_be_changed_after_it_was_checked() -> None:
    action = checked_action(mechanism())
    with pytest.raises(ValidationError):
        action.reserve_price = 2.0


def test_a_copy_that_was_changed_without_checks_is_checked_anew() -> None:
    changed = checked_action(mechanism()).model_copy(update={"reserve_price": 5.0})
    room = sale_room(1, stage=0)
    before = bits(room.batch)
    for attempt in (checked_action, room.post, lambda action: mechanism_rows([action])):
        with pytest.raises(IllegalAction, match="reserve_price is 5"):
            attempt(changed)
    assert bits(room.batch) == before and room.sales_left == 0


@given(seed=st.integers(0, 2**32))
def test_a_mechanism_survives_records_and_json(seed: int) -> None:
    (action,) = random_actions(seed, 1)
    assert action_of(mechanism_rows([action])[0]) == action
    assert DaedalusAction.model_validate_json(action.model_dump_json()) == action
    assert checked_action(json.loads(action.model_dump_json())) == action


def test_random_mechanisms_are_legal_and_use_every_range() -> None:
    rows = random_mechanisms(np.random.default_rng(0), 5_000)
    check_rows(rows)
    for name in NUMBERS:
        assert rows[name].min() < 0.01 * HIGHEST[name] and rows[name].max() > 0.99 * HIGHEST[name]
    for name in (*FLAGS, *CHOICES):
        assert len(np.unique(rows[name])) == len(CHOICES.get(name, (False, True)))


# Files


def written(folder: Path, text: str) -> Path:
    path = folder / "mechanism.json"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("fields", BEST.values(), ids=BEST)
def test_a_mechanism_file_is_read(fields: Mechanism, tmp_path: Path) -> None:
    assert read_mechanism(written(tmp_path, json.dumps(fields))) == DaedalusAction(**fields)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (json.dumps({**mechanism(), "extra": 1}), "Unknown field 'extra'"),
        (json.dumps({k: v for k, v in mechanism().items() if k != "shill_penalty"}), "shill_penalty is missing"),
        (json.dumps(mechanism(reserve_price=NAN)), "reserve_price is nan"),
        (json.dumps(mechanism(reserve_price=5)), "reserve_price is 5; expected a number from 0 to 0.9"),
        (json.dumps(mechanism(reveal_reserve=1)), "reveal_reserve is 1; expected true or false"),
        ("[]", "A mechanism is a mapping"),
        ("{", "not valid JSON"),
        ("", "not valid JSON"),
    ],
)
def test_a_bad_mechanism_file_is_refused_with_its_name_and_its_fault(text: str, problem: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(DataError, match=r"mechanism\.json") as refused:
        read_mechanism(path)
    assert problem in str(refused.value) and refused.value.path == str(path)


def test_a_missing_or_binary_mechanism_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_mechanism(tmp_path / "nowhere.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="not a text file"):
        read_mechanism(tmp_path / "binary.json")


# Rejected steps


def bits(batch: MarketBatch) -> list[Any]:
    """Everything that a step may change."""
    return [bits_of(batch.markets), bits_of(batch.outcomes), batch.workspace.tobytes()]


def wrong_rows(field: str, value: float) -> Rows:
    rows = constant_rows(row_of(mechanism()), 3)
    rows[field][1] = value
    return rows


BAD_ROWS = [
    *((name, value) for name in NUMBERS for value in (-0.1, HIGHEST[name] + 0.1, NAN, INFINITY)),
    *((name, value) for name in CHOICES for value in (-1, len(CHOICES[name]))),
]


@pytest.mark.parametrize(("field", "value"), BAD_ROWS)
def test_a_rejected_step_names_field_and_environment_and_changes_nothing(field: str, value: float) -> None:
    batch = opened(3, 5, stage="4")
    batch.step(constant_rows(row_of(mechanism()), 3))
    before = bits(batch)
    for attempt in (batch.step, batch.play_constant):
        with pytest.raises(IllegalAction, match=f"Environment 1: {field} is ") as refused:
            attempt(wrong_rows(field, value))
        assert (refused.value.rule, refused.value.env_index) == (field, 1)
        assert bits(batch) == before


def test_the_wrong_number_or_kind_of_mechanisms_is_refused_and_changes_nothing() -> None:
    batch = opened(3, 5)
    before = bits(batch)
    with pytest.raises(IllegalAction, match="expected one each"):
        batch.step(constant_rows(row_of(mechanism()), 2))
    with pytest.raises(IllegalAction, match="expected the record MECHANISM"):
        batch.step(np.zeros(3))  # type: ignore[arg-type]
    assert bits(batch) == before


def test_a_market_cannot_be_played_before_it_opens_or_after_it_ends() -> None:
    rows = constant_rows(row_of(mechanism()), 2)
    batch = MarketBatch(AuctionConfig(episode_length=2), 2)
    with pytest.raises(EpisodeOver, match="call reset"):
        batch.step(rows)
    batch.seed(1)
    batch.reset()
    with pytest.raises(EpisodeOver, match="no room for 3 more"):
        batch.play_constant(rows, 3)
    batch.play_constant(rows)
    before = bits(batch)
    for attempt in (batch.step, lambda rows: batch.play_constant(rows, 1)):
        with pytest.raises(EpisodeOver, match="played 2 of 2 steps"):
            attempt(rows)
        assert bits(batch) == before
    batch.reset()
    batch.step(rows)


def test_a_sale_room_refuses_out_of_turn_calls_and_bad_bids() -> None:
    room = sale_room(1, stage=0, episode_length=1)
    action = DaedalusAction(**mechanism())
    with pytest.raises(EpisodeOver, match="call post"):
        room.run_sale()
    room.post(action)
    with pytest.raises(EpisodeOver, match="5 sales of this step are still to be held"):
        room.post(action)
    with pytest.raises(EpisodeOver, match="call draw_values"):
        room.run_sale_with_bids(np.full(8, 0.5))
    values = room.draw_values()
    before = bits(room.batch)
    with pytest.raises(EpisodeOver, match="call run_sale_with_bids"):
        room.run_sale()
    assert (room.draw_values() == values).all() and bits(room.batch) == before
    for bids in (values[:7], np.append(values, 0.5), values - 2.0, np.full(8, NAN), np.full(8, INFINITY), np.zeros((8, 1))):
        with pytest.raises(IllegalAction, match="expected 8 numbers, 0 or more"):
            room.run_sale_with_bids(bids)
        assert bits(room.batch) == before
    room.run_sale_with_bids(values)
    for _ in range(4):
        room.run_sale()
    for attempt in (room.run_sale, room.draw_values):
        with pytest.raises(EpisodeOver):
            attempt()
    with pytest.raises(EpisodeOver, match=r"All steps of the episode are played \(\d+\)"):
        room.post(action)


# Settings


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_agents": 1}, InvalidOption, "n_agents is 1; expected 2 to 16"),
        ({"n_agents": 17}, InvalidOption, "n_agents is 17; expected 2 to 16"),
        ({"n_agents": 8.0}, InvalidOption, "n_agents is 8.0; expected a whole number"),
        ({"n_agents": True}, InvalidOption, "n_agents is True; expected a whole number"),
        ({"episode_length": 0}, InvalidOption, "episode_length is 0"),
        ({"n_agent": 8}, UnknownKey, "Did you mean 'n_agents'"),
        ({"curriculum": True, "mix": {"truthful": 1.0}}, InvalidOption, "cannot be combined with a mix"),
    ],
)
def test_a_bad_setting_is_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        AuctionConfig.from_options(**options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"stage": "mixd"}, UnknownName, "Did you mean 'mixed'"),
        ({"stage": 5}, UnknownName, "Unknown stage '5'"),
        ({"stage": -1}, UnknownName, "Unknown stage '-1'"),
        ({"stage": "held_out_20"}, UnknownName, "Unknown stage 'held_out_20'"),
        ({"freeze": ("learnin",)}, UnknownKey, "Did you mean 'learning'"),
        ({"model": {"rings": {}}}, UnknownKey, "Did you mean 'ring'"),
        ({"model": {"ring": {"overbd": 0.1}}}, UnknownKey, "Did you mean 'overbid'"),
        ({"model": {"ring": {"overbid": "much"}}}, InvalidOption, "overbid is 'much'; expected a number"),
        ({"model": {"ring": 3}}, InvalidOption, "expected a mapping"),
    ],
)
def test_a_bad_population_or_model_is_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        opened(2, **options)


@pytest.mark.parametrize("size", [0, -1, 2.0, True, None])
def test_a_bad_number_of_markets_is_refused(size: Any) -> None:
    with pytest.raises(InvalidOption, match="expected a whole number, 1 or more"):
        MarketBatch(AuctionConfig(), size)
