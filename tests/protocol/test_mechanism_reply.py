"""A mechanism from a reply: the protocol and `DaedalusAction` agree about every one of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeworth.agents.designers.design_prompt import MECHANISM_SCHEMA
from edgeworth.config import config_folder
from edgeworth.errors import IllegalAction
from edgeworth.games.auction.action import CHOICES, FIELDS, FLAGS, HIGHEST, NUMBERS, DaedalusAction, checked_action, read_mechanism
from edgeworth.protocol import Accepted, Reason, Rejection, parse_reply
from replies import MECHANISM, said


def reason(**changes: Any) -> Reason | None:
    found = parse_reply(said(MECHANISM, **changes), MECHANISM_SCHEMA)
    return found.reason if isinstance(found, Rejection) else None


def test_a_good_mechanism_is_a_daedalus_action() -> None:
    assert parse_reply(said(MECHANISM), MECHANISM_SCHEMA) == Accepted(DaedalusAction(**MECHANISM))


@pytest.mark.parametrize("path", sorted((config_folder() / "mechanisms").glob("*.json")), ids=lambda path: path.stem)
def test_the_bundled_mechanisms_are_replies(path: Any) -> None:
    assert parse_reply(path.read_text(encoding="utf-8"), MECHANISM_SCHEMA) == Accepted(read_mechanism(path))


@pytest.mark.parametrize("name", FIELDS)
def test_every_field_must_be_there(name: str) -> None:
    assert reason(**{name: ...}) is Reason.MISSING_KEY


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_has_its_range(name: str) -> None:
    assert reason(**{name: HIGHEST[name]}) is reason(**{name: 0}) is None
    assert reason(**{name: HIGHEST[name] + 0.01}) is reason(**{name: -0.01}) is Reason.OUT_OF_RANGE
    assert reason(**{name: float("nan")}) is Reason.NOT_FINITE
    assert reason(**{name: True}) is reason(**{name: "0.1"}) is Reason.BAD_TYPE


@pytest.mark.parametrize("name", FLAGS)
def test_a_flag_is_true_or_false(name: str) -> None:
    assert reason(**{name: True}) is reason(**{name: False}) is None
    assert reason(**{name: 1}) is reason(**{name: "true"}) is reason(**{name: None}) is Reason.BAD_TYPE


@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_is_one_of_its_words(name: str) -> None:
    assert all(reason(**{name: word}) is None for word in CHOICES[name])
    assert reason(**{name: CHOICES[name][0].upper()}) is Reason.UNKNOWN_WORD
    assert reason(**{name: 0}) is Reason.BAD_TYPE


def test_a_mistyped_word_gets_a_suggestion() -> None:
    found = parse_reply(said(MECHANISM, auction_type="second_prise"), MECHANISM_SCHEMA)
    assert isinstance(found, Rejection) and found.field == "auction_type"
    assert found.sentence.startswith('auction_type is "second_prise"; expected one of ')
    assert found.sentence.endswith("Did you mean 'second_price'?")


values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 4),
    st.floats(-0.5, 3.5),
    st.floats(),
    st.sampled_from([*CHOICES["auction_type"], "", "allow"]),
)


@given(st.dictionaries(st.sampled_from([*FIELDS, "extra"]), st.one_of(values, st.just(...)), max_size=3))
def test_it_is_accepted_exactly_where_the_game_would_accept_it(changes: dict[str, Any]) -> None:
    changed = {key: value for key, value in {**MECHANISM, **changes}.items() if value is not ...}
    try:
        expected: DaedalusAction | None = checked_action(changed)
    except IllegalAction as error:
        expected = None
        found = parse_reply(said(MECHANISM, **changes), MECHANISM_SCHEMA)
        assert isinstance(found, Rejection) and found.field in {*FIELDS, "extra"}, error
    if expected is not None:
        assert parse_reply(said(MECHANISM, **changes), MECHANISM_SCHEMA) == Accepted(expected)
