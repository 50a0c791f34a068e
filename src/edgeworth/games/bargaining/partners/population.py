"""Partners by name, and populations of them: a different partner every episode, drawn by weight, with some members held out.

A name is one of the catalog's, or the path of a trained network's checkpoint. A population draws from `members` in training, and with
`split="held_out"` from `held_out` instead, partners that training never used: the result there shows how well an agent generalises. The
draw is made by the episode's seed like every other.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from edgeworth import catalog
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption, UnknownName
from edgeworth.games.bargaining.partners.program import OutsidePartner, Partner
from edgeworth.validation import at_most, build

PATH_OPTION = "checkpoint"
SPLITS = ("train", "held_out")
MOST_MEMBERS, LONGEST_LABEL = 64, 64
Members = Annotated[Mapping[Annotated[str, at_most(LONGEST_LABEL)], Any], at_most(MOST_MEMBERS)]


def is_path(name: object) -> bool:
    """Whether a name that the catalog does not hold is meant as a path."""
    return isinstance(name, str) and name != "" and ("/" in name or os.path.exists(name))


def partner_of(name: str, options: Mapping[str, object], label: str | None = None) -> Partner:
    """The partner that is meant, with these options."""
    owner = f"partner {label or name}"
    if name not in catalog.names("partner") and is_path(name):
        if PATH_OPTION in options:
            raise InvalidOption(f"{owner}: the path is the checkpoint; leave the option {PATH_OPTION!r} out.")
        partner: Partner = build(catalog.load(catalog.CHECKPOINT_PARTNER), {PATH_OPTION: name, **options}, owner)
        return partner
    try:
        kind = catalog.resolve("partner", name)
    except UnknownName as error:
        raise UnknownName("partner", name, error.known, also="the path of a checkpoint") from None
    partner = build(kind, options, owner)
    return partner


@dataclass(frozen=True)
class Population:
    """Draws one of several partners for every episode.

    Instead of a weight, a member may have options: `{"weight": 2.0, "floor": 0.3}`; with `"partner": NAME` among them the key is just a
    label, so that one kind can appear twice.
    """

    members: Members = field(default_factory=lambda: {"heuristic": 1.0, "boulware": 1.0, "conceder": 1.0, "tit_for_tat": 1.0})
    """The partners of training."""
    held_out: Members | None = None
    """The partners of testing only; by default linear and walk-away, where they are not members."""
    split: str = "train"
    """train or held_out."""

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise UnknownName("split", self.split, SPLITS)
        both = sorted(set(self.members) & set(self.kept_back()))
        if both:
            raise InvalidOption(f"population: {', '.join(both)} cannot be both a member and held out.")
        for name, entry in [*self.members.items(), *self.kept_back().items()]:
            _member(name, entry)

    def kept_back(self) -> Mapping[str, float | Mapping[str, object]]:
        """The partners held out of training."""
        if self.held_out is not None:
            return self.held_out
        return {name: 1.0 for name in ("linear", "walk_away") if name not in self.members}

    def drawn(self) -> Mapping[str, float | Mapping[str, object]]:
        """The partners in play."""
        return self.members if self.split == "train" else self.kept_back()

    def programs(self, config: BargainingConfig) -> NDArray[np.void]:
        drawn = [_member(name, entry) for name, entry in self.drawn().items()]
        if not drawn:
            raise InvalidOption(f"population: nobody to draw for split {self.split!r}; name at least one partner.")
        rows = np.concatenate([partner.programs(config) for partner, _ in drawn])
        weights = np.array([weight for _, weight in drawn])
        rows["cumulative"] = np.cumsum(weights) / weights.sum()
        rows["cumulative"][-1] = 1.0
        return rows


def _member(name: str, entry: float | Mapping[str, object]) -> tuple[Partner, float]:
    options = dict(entry) if isinstance(entry, Mapping) else {"weight": entry}
    weight = options.pop("weight", 1.0)
    kind = str(options.pop("partner", name))
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0.0 < weight < float("inf"):
        raise InvalidOption(f"population: the weight of {name} is {weight!r}; expected a number above 0.")
    if kind == "population":
        raise InvalidOption("population: a population cannot hold a population; name its members.")
    partner = partner_of(kind, options, name)
    if isinstance(partner, OutsidePartner):
        raise InvalidOption(
            f"population: {name} plays from outside the rules, and a population holds partners of the rules; meet it alone."
        )
    return partner, float(weight)
