"""What comes from outside is judged once: the field, what arrived, what was expected, and the nearest name."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from edgeworth.errors import InvalidOption, UnknownKey, UnknownName, nearest
from edgeworth.training.settings import settings_of
from edgeworth.validation import between, build, problem_in, settings


@settings
class Inner:
    """A section."""

    size: Annotated[int, between(1, 4)] = 2


@settings
class Outer:
    """Settings of every kind."""

    rate: Annotated[float, Field(gt=0.0)] = 0.1
    pair: tuple[float, float] = (0.0, 0.0)
    names: tuple[str, ...] = ()
    how: Literal["fast", "slow"] = "fast"
    inner: Inner = field(default_factory=Inner)
    limit: Annotated[int | None, between(0, 9)] = None

    def __post_init__(self) -> None:
        if self.how == "slow" and self.names:
            raise InvalidOption("slow takes no names.")


@dataclass(frozen=True)
class Plain:
    """A dataclass that knows nothing of Pydantic."""

    rate: float = 0.1
    names: tuple[str, ...] = ()
    made: bool = field(default=False, init=False)


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"rat": 1.0}, UnknownKey, r"^Unknown setting of it 'rat'. Known: how, inner, limit, names, pair, rate. Did you mean 'rate'\?$"),
    ({"rate": 0}, InvalidOption, r"^rate is 0.0; expected more than 0.0.$"),
    ({"rate": "much"}, InvalidOption, r"^rate is 'much'; expected a number.$"),
    ({"rate": float("nan")}, InvalidOption, r"^rate is not a number.$"),
    ({"pair": (1.0,)}, InvalidOption, r"^pair is \(1.0,\); expected 2 numbers.$"),
    ({"pair": (1.0, 2.0, 3.0)}, InvalidOption, r"expected 2 numbers.$"),
    ({"names": "ann"}, InvalidOption, r"^names is 'ann'; expected a list.$"),
    ({"names": ["ann", 3]}, InvalidOption, r"^names is 3; expected a name.$"),
    ({"how": "fas"}, UnknownName, r"^Unknown value for how: 'fas'. Known: fast, slow. Did you mean 'fast'\?$"),
    ({"inner": {"size": 5}}, InvalidOption, r"^size is 5; expected 1 to 4.$"),
    ({"inner": 3}, InvalidOption, r"^inner: expected a mapping of settings, got 3.$"),
    ({"limit": 10}, InvalidOption, r"^limit is 10; expected 0 to 9.$"),
    ({"how": "slow", "names": ["ann"]}, InvalidOption, r"^slow takes no names.$"),
]


@pytest.mark.parametrize(("given", "kind", "words"), WRONG, ids=[str(given) for given, _, _ in WRONG])
def test_a_sentence_says_what_arrived_and_what_was_expected(given: dict[str, Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words) as refused:
        build(Outer, given, "it")
    assert type(refused.value) is kind


def test_settings_are_checked_however_they_are_made() -> None:
    with pytest.raises(InvalidOption, match=r"rate is -1\.0"):
        Outer(-1.0)
    with pytest.raises(InvalidOption, match=r"rate is -1\.0"):
        dataclasses.replace(Outer(), rate=-1.0)


def test_numbers_of_numpy_lists_and_numbers_without_a_point_are_taken() -> None:
    made = build(Outer, {"limit": np.int64(3), "names": ["ann"], "rate": "3e-4", "inner": {"size": 3}}, "it")
    assert made == Outer(3e-4, names=("ann",), inner=Inner(3), limit=3) and type(made.limit) is int
    assert build(Plain, {"names": ["ann"], "rate": 1}, "it") == Plain(1.0, ("ann",))


def test_a_plain_dataclass_is_judged_alike() -> None:
    with pytest.raises(UnknownKey, match=r"Unknown setting of it 'rat'. Known: names, rate. Did you mean 'rate'"):
        build(Plain, {"rat": 1.0}, "it")
    with pytest.raises(InvalidOption, match="rate is True; expected a number"):
        build(Plain, {"rate": True}, "it")


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    count: Annotated[int, between(0, 3)]
    word: Literal["yes", "no"] = "yes"


def test_the_facts_behind_a_sentence_are_there_for_any_model() -> None:
    def problem(**body: Any) -> Any:
        with pytest.raises(ValidationError) as refused:
            Body.model_validate(body)
        return problem_in(refused.value, Body)

    assert (problem().kind, problem().sentence) == ("missing", "count is missing; expected all of count, word.")
    assert (problem(count=4).field, problem(count=4).expected) == ("count", "0 to 3")
    assert problem(count=1, word="ye").known == ("yes", "no")
    assert problem(coun=1).sentence == "Unknown option 'coun'. Known: count, word. Did you mean 'count'?"


SECTIONS = {"lr": "ppo", "lam": "ppo", "ent": "ppo", "vf": "ppo", "grad_norm": "ppo", "cadence_k": "hints", "provider": "hints"}
MEANT = {
    "lr": "learning_rate",
    "lam": "gae_lambda",
    "ent": "entropy",
    "vf": "value",
    "grad_norm": "gradient_norm",
    "cadence_k": "k",
    "provider": "options.client",
    "use_dataset": "contexts: dataset",
}


@pytest.mark.parametrize(("name", "ours"), MEANT.items())
def test_a_name_that_the_field_uses_is_answered_with_ours(name: str, ours: str) -> None:
    section = SECTIONS.get(name, "env")
    with pytest.raises(UnknownKey, match=f"Did you mean '{ours}'"):
        settings_of({section: {name: 1}})


def test_a_synonym_is_suggested_only_where_our_name_is_known() -> None:
    assert nearest("lr", ["clip"]) is None and nearest("provider", ["k"]) is None
