"""The whole model of the market as settings: one group per module, every number named where it is used.

The defaults are the calibrated market; `MarketModel.textbook()` is the limit in which the theorems hold: one lot, no seller value, no
shocks, no entry costs, no tremble, every day alike.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.errors import InvalidOption, UnknownKey
from edgeworth.games.auction.beliefs import BeliefModel
from edgeworth.games.auction.bidders import BidderProfile, BiddersModel, ExploiterModel
from edgeworth.games.auction.disclosure import DisclosureModel
from edgeworth.games.auction.enforcement import EnforcementModel
from edgeworth.games.auction.entry import EntryModel
from edgeworth.games.auction.learning import LearningModel
from edgeworth.games.auction.lots import DemandModel, LotsModel
from edgeworth.games.auction.ring import RingModel
from edgeworth.games.auction.scoring import ScoreModel
from edgeworth.games.auction.settlement import UnsoldModel, WithdrawalModel
from edgeworth.games.auction.shills import ShillModel
from edgeworth.games.auction.state import record
from edgeworth.games.auction.vocabulary import BIDDER_TYPES
from edgeworth.validation import build

ADAPTING = ("learning", "ring", "entry")
"""What can be frozen."""


@dataclass(frozen=True)
class MarketModel:
    """Every parameter of the market, by module."""

    lots: LotsModel = field(default_factory=LotsModel)
    demand: DemandModel = field(default_factory=DemandModel)
    bidders: BiddersModel = field(default_factory=BiddersModel)
    disclosure: DisclosureModel = field(default_factory=DisclosureModel)
    beliefs: BeliefModel = field(default_factory=BeliefModel)
    learning: LearningModel = field(default_factory=LearningModel)
    entry: EntryModel = field(default_factory=EntryModel)
    ring: RingModel = field(default_factory=RingModel)
    shills: ShillModel = field(default_factory=ShillModel)
    exploiter: ExploiterModel = field(default_factory=ExploiterModel)
    withdrawals: WithdrawalModel = field(default_factory=WithdrawalModel)
    unsold: UnsoldModel = field(default_factory=UnsoldModel)
    enforcement: EnforcementModel = field(default_factory=EnforcementModel)
    score: ScoreModel = field(default_factory=ScoreModel)

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> MarketModel:
        """The calibrated model, changed where a nested mapping says so: `{"ring": {"overbid": 0.1}}`."""
        model: MarketModel = changed(cls(), options, "model")
        return model

    @classmethod
    def textbook(cls, **changes: Mapping[str, Any]) -> MarketModel:
        """The limit in which the theorems hold; further changes by module."""
        limit: dict[str, dict[str, Any]] = {
            "lots": {"per_bidder": 0.01, "seller_value": 0.0},
            "demand": {"half_width": 0.0},
            "learning": {"tremble": 0.0},
            "entry": {"frozen": True},
            "withdrawals": {"shock_chance": 0.0},
            "unsold": {"bargain_chance": 0.0},
            "enforcement": {"least_scruple": 2.0},
        }
        for module, settings in changes.items():
            limit.setdefault(module, {}).update(settings)
        return cls.from_options(limit)

    def freeze(self, *parts: str) -> MarketModel:
        """The same market in which these parts no longer adapt: any of learning, ring, entry."""
        for part in parts:
            if part not in ADAPTING:
                raise UnknownKey("adapting part", part, ADAPTING)
        frozen: MarketModel = changed(self, {part: {"frozen": True} for part in parts}, "model")
        return frozen

    def as_record(self) -> NDArray[np.void]:
        """The model as the record that compiled code reads, in an array of one."""
        out = np.zeros(1, MODEL)
        for group in dataclasses.fields(self):
            settings = getattr(self, group.name)
            if group.name == "bidders":
                for setting in dataclasses.fields(BidderProfile):
                    out[group.name][setting.name] = [getattr(getattr(settings, kind), setting.name) for kind in BIDDER_TYPES]
            else:
                for setting in dataclasses.fields(settings):
                    out[group.name][setting.name] = getattr(settings, setting.name)
        return out


def changed(settings: Any, changes: Mapping[str, Any], what: str) -> Any:
    """A settings dataclass with some of its (nested) values replaced; unknown names and wrong types are refused."""
    if not isinstance(changes, Mapping):
        raise InvalidOption(f"{what}: expected a mapping of settings, got {changes!r}.")
    values = {f.name: getattr(settings, f.name) for f in dataclasses.fields(settings)}
    for name, change in changes.items():
        if name not in values:
            raise UnknownKey(f"setting of {what}", name, values)
        if dataclasses.is_dataclass(values[name]):
            values[name] = changed(values[name], change, f"{what}.{name}")
        else:
            values[name] = getattr(build(type(settings), {**values, name: change}, what), name)
    return type(settings)(**values)


def _group(settings: Any) -> np.dtype[np.void]:
    fields: list[Any] = []
    for setting in dataclasses.fields(settings):
        value = getattr(settings, setting.name)
        if isinstance(value, tuple):
            fields.append((setting.name, np.float64, (len(value),)))
        else:
            fields.append((setting.name, np.bool_ if isinstance(value, bool) else np.float64))
    return record(fields)


MODEL = record(
    [
        (group.name, record([(s.name, np.float64, (len(BIDDER_TYPES),)) for s in dataclasses.fields(BidderProfile)]))
        if group.name == "bidders"
        else (group.name, _group(getattr(MarketModel(), group.name)))
        for group in dataclasses.fields(MarketModel)
    ]
)
"""The same as a record: one group per module; profiles by type."""
