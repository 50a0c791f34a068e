"""One judgement of what comes from outside: Pydantic checks it, and `problem_in` says in one sentence what is wrong.

Options, YAML files, HTTP bodies, mechanisms and replies of models are all described by Pydantic types. What Pydantic complains of becomes
a `Problem`: the field, what arrived, what was expected, and the nearest known name. `settings` makes a frozen dataclass that is checked
whenever it is made, and `build` makes any dataclass from a mapping; both raise the classes of `errors.py`.

    max_turns is 1; expected 2 to 50.
    Unknown setting of ppo 'learning_rat'. Known: clip, clip_value, … Did you mean 'learning_rate'?
"""

from __future__ import annotations

import dataclasses
import functools
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar, dataclass_transform

import numpy as np
import pydantic
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from edgeworth.errors import EdgeworthError, InvalidOption, UnknownKey, UnknownName, shown

STRICT = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)
"""Unknown keys are refused, and `True`, `1.0` and `"1"` are no whole numbers."""
SCIENTIFIC = re.compile(r"[-+]?\d+[eE][-+]?\d+")
"""A number such as 3e-4, which YAML 1.1 reads as a string because it has no point."""
EXPECTED = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "a name",
    "list_type": "a list",
    "tuple_type": "a list",
}
"""What was expected, by Pydantic's type of error."""
MAPPINGS = ("dict_type", "mapping_type", "model_type", "model_attributes_type", "dataclass_type", "dataclass_exact_type")
LIMITS = {"greater_than": "gt", "greater_than_equal": "ge", "less_than": "lt", "less_than_equal": "le"}

Settings = TypeVar("Settings")
Kind = Literal["unknown", "missing", "word", "mapping", "type", "range", "refused"]


@dataclass(frozen=True)
class Problem:
    """What is wrong with something from outside."""

    kind: Kind
    field: str
    """The field's name; of a nested one, the names on the way to it with dots between."""
    arrived: Any
    expected: str
    """In words that follow "expected"."""
    known: tuple[str, ...] = ()
    """The fields or words that would have been right, where there is a fixed list of them."""
    cause: EdgeworthError | None = None
    """The error that a check of ours raised, where there is one."""

    @property
    def sentence(self) -> str:
        """The field, what arrived and what was expected."""
        if self.kind == "missing":
            return f"{self.field} is missing; expected {self.expected}."
        return str(self.error())

    def error(self, noun: str = "option") -> EdgeworthError:
        """The problem as an error of a setting; an unknown one is called by `noun`."""
        if self.cause is not None:
            return self.cause
        if self.kind == "unknown":
            return UnknownKey(noun, self.arrived, self.known)
        if self.kind == "word":
            return UnknownName(f"value for {self.field}:", self.arrived, self.known)
        if self.kind == "missing":
            return InvalidOption(f"{self.field} is missing; expected {self.expected}.")
        if self.kind == "mapping":
            return InvalidOption(f"{self.field}: expected {self.expected}, got {shown(self.arrived)}.")
        return InvalidOption(f"{self.field} is {shown(self.arrived)}; expected {self.expected}.")


def array_of(values: object) -> NDArray[Any]:
    """What a user gave as an array; what cannot be one becomes an array of objects without a shape, for the caller to refuse."""
    try:
        return np.asarray(values)
    except (ValueError, TypeError, OverflowError):
        return np.empty((), object)


def checked_size(size: Any) -> int:
    """The number of episodes or markets of a batch."""
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
        raise InvalidOption(f"The number of environments is {size!r}; expected a whole number, 1 or more.")
    return int(size)


def problem_in(error: ValidationError | Sequence[Any], model: Any = None) -> Problem:
    """The first thing that is wrong, an unknown field before all else.

    `model` is the class that was checked: with it both limits of a number are named, and an unknown field gets a suggestion.
    """
    found = error.errors() if isinstance(error, ValidationError) else error
    first: Mapping[str, Any] = next((each for each in found if each["type"] == "extra_forbidden"), found[0])
    names, owner, info = _place(first["loc"], model)
    field, kind, arrived = ".".join(names), first["type"], first.get("input")
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, EdgeworthError):
        return Problem("refused", field, arrived, str(cause), cause=cause)
    if kind == "extra_forbidden":
        known = tuple(fields_of(owner))
        return Problem("unknown", field, first["loc"][-1], f"one of {', '.join(known)}", known)
    if kind in ("literal_error", "enum"):
        known = tuple(re.findall(r"'([^']*)'", first["ctx"]["expected"]))
        return Problem("word", field, arrived, f"one of {', '.join(known)}", known)
    if kind in MAPPINGS:
        return Problem("mapping", field, arrived, "a mapping of settings")
    if info is not None and kind in ("tuple_type", "too_long", "missing") and (size := _fixed_size(info)):
        return Problem("type", field, arrived, f"{size} numbers")
    if kind in ("too_long", "string_too_long"):
        most = first["ctx"]["max_length"]
        return Problem("range", field, arrived, f"at most {most} {'characters' if kind == 'string_too_long' else 'entries'}")
    if kind == "missing":
        known = tuple(fields_of(owner))
        return Problem("missing", field, arrived, f"all of {', '.join(known)}" if known else "a value", known)
    if kind in LIMITS:
        return Problem("range", field, arrived, _range({**_limits(info), LIMITS[kind]: first["ctx"][LIMITS[kind]]}))
    return Problem("type", field, arrived, EXPECTED.get(kind) or _plain_words(first["msg"]))


def _place(loc: Iterable[int | str], model: Any) -> tuple[list[str], Any, FieldInfo | None]:
    """Of a place in the data: the names of the fields on the way, the class that holds the last one, and what it says of it."""
    if model is None:
        return [str(part) for part in loc], None, None
    names: list[str] = []
    owner, info = model, None
    for part in loc:
        fields = fields_of(_inner(info) if info is not None else model)
        if info is not None and not fields:
            break
        owner = _inner(info) if info is not None else model
        names.append(str(part))
        info = fields.get(str(part))
        if info is None:
            break
    return names, owner, info


def fields_of(model: Any) -> Mapping[str, FieldInfo]:
    """The fields of a Pydantic model or dataclass that can be given, by name."""
    fields: Mapping[str, FieldInfo] = getattr(model, "__pydantic_fields__", {})
    return {name: info for name, info in fields.items() if info.init is not False}


def _inner(info: FieldInfo) -> Any:
    """The class of a field, without the None that it may be instead and without limits."""
    kind = info.annotation
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        kind = next(each for each in typing.get_args(kind) if each is not types.NoneType)
    return typing.get_args(kind)[0] if typing.get_origin(kind) is Annotated else kind


def _fixed_size(info: FieldInfo) -> int:
    """The length of a tuple of fixed length; 0 for anything else."""
    args = typing.get_args(info.annotation)
    return len(args) if typing.get_origin(info.annotation) is tuple and Ellipsis not in args else 0


def _limits(info: FieldInfo | None) -> dict[str, Any]:
    return {name: getattr(each, name) for each in (info.metadata if info else ()) for name in LIMITS.values() if hasattr(each, name)}


def _range(limits: Mapping[str, Any]) -> str:
    if "ge" in limits and "le" in limits:
        kind = type(max(limits["ge"], limits["le"], key=lambda limit: isinstance(limit, float)))
        return f"{kind(limits['ge'])} to {kind(limits['le'])}"
    words = {"gt": "more than {}", "ge": "{} or more", "lt": "less than {}", "le": "{} or less"}
    return " and ".join(words[name].format(limit) for name, limit in limits.items())


def _plain_words(message: str) -> str:
    """Pydantic's message in words that follow "expected"."""
    return re.sub(r"^\w+ should (be|have) ", "", message)


# Settings


def between(low: float, high: float) -> Any:
    """The limits of a number, both of them allowed: `Annotated[int, between(2, 50)]`."""
    return Field(ge=low, le=high)


def at_most(length: int) -> Any:
    """The greatest length of a text, a list or a mapping: `Annotated[tuple[str, ...], at_most(3)]`."""
    return Field(max_length=length)


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def settings(cls: type[Settings]) -> type[Settings]:
    """A frozen dataclass that is checked whenever it is made, and refuses by raising an InvalidOption."""
    made: Any = pydantic.dataclasses.dataclass(frozen=True, config=STRICT)(cls)
    checked_init: Callable[..., None] = made.__init__

    @functools.wraps(checked_init)
    def init(self: Any, *args: Any, **given: Any) -> None:
        names = [field.name for field in dataclasses.fields(made) if field.init]
        _fill(functools.partial(checked_init, self), made, {**dict(zip(names, args, strict=False)), **given})

    made.__init__ = init
    return typing.cast(type[Settings], made)


def build(target: Any, given: Mapping[str, Any], what: str) -> Any:
    """Make a dataclass of settings from a mapping; unknown keys and wrong types are refused by name."""
    if not isinstance(given, Mapping):
        raise InvalidOption(f"{what}: expected a mapping of settings, got {given!r}.")
    noun = what if what == "option" else f"setting of {what}"
    if pydantic.dataclasses.is_pydantic_dataclass(target):
        for key in given:
            if key not in fields_of(target):
                raise UnknownKey(noun, key, fields_of(target))
        return target(**given)
    form = _form(target)
    checked = _fill(form, form, given, noun)
    return target(**{key: getattr(checked, key) for key in given})


@functools.cache
def _form(target: Any) -> Any:
    """A Pydantic model with the fields of a plain dataclass."""
    hints = typing.get_type_hints(target, include_extras=True)
    fields: dict[str, Any] = {field.name: (hints[field.name], None) for field in dataclasses.fields(target) if field.init}
    return pydantic.create_model(target.__name__, __config__=STRICT, **fields)


def _fill(make: Callable[..., Any], model: Any, given: Mapping[str, Any], noun: str = "option") -> Any:
    """What `make` makes of values, checked against a model."""
    fields = fields_of(model)
    plain = {key: _converted(key, value, _inner(fields[key])) if key in fields else value for key, value in given.items()}
    try:
        return make(**plain)
    except ValidationError as error:
        raise problem_in(error, model).error(noun) from None


def _converted(name: str, value: Any, wanted: Any) -> Any:
    """A value as Pydantic's strict mode takes it: NumPy's numbers as Python's, lists as tuples, 3e-4 as a number, sections built."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping) and dataclasses.is_dataclass(wanted):
        return build(wanted, value, name)
    if isinstance(value, list | tuple) and typing.get_origin(wanted) is tuple:
        return tuple(each.item() if isinstance(each, np.generic) else each for each in value)
    if wanted is float and (type(value) is int or (isinstance(value, str) and SCIENTIFIC.fullmatch(value))):
        return float(value)
    if wanted is float and isinstance(value, float) and value != value:
        raise InvalidOption(f"{name} is not a number.")
    return value
