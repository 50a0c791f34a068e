"""A mechanism as a model writes it: one JSON object with the eleven fields of `DaedalusAction`, each of its kind and in its range."""

from __future__ import annotations

from edgeworth.games.auction.action import CHOICES, FIELDS, HIGHEST, NUMBERS, DaedalusAction, checked_action
from edgeworth.protocol import Flag, Kind, Number, Schema, Word


def _kind_of(name: str) -> Kind:
    if name in CHOICES:
        return Word(CHOICES[name])
    return Number(0.0, HIGHEST[name]) if name in NUMBERS else Flag()


MECHANISM_SCHEMA: Schema[DaedalusAction] = Schema("mechanism", {name: _kind_of(name) for name in FIELDS}, make=checked_action)
