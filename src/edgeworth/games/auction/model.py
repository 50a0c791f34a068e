"""The model of the market as settings: one group per module, defined where it is used.

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

from edgeworth.config import ADAPTING
from edgeworth.errors import UnknownKey
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
        model: MarketModel = build(cls, options, "model")
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
        """This market with some parts that no longer adapt: any of learning, ring, entry."""
        for part in parts:
            if part not in ADAPTING:
                raise UnknownKey("adapting part", part, ADAPTING)
        return dataclasses.replace(self, **{part: dataclasses.replace(getattr(self, part), frozen=True) for part in parts})

    def as_record(self) -> NDArray[np.void]:
        """The model as the record that compiled code reads, in an array of one."""
        out = np.zeros(1, MODEL)
        for group in dataclasses.fields(self):
            for name, value in values_of(getattr(self, group.name)).items():
                out[group.name][name] = value
        return out


def values_of(group: Any) -> dict[str, Any]:
    """The settings of a group by name; of the bidders' profiles, one value per type."""
    if not isinstance(group, BiddersModel):
        return dataclasses.asdict(group)
    profiles = [getattr(group, kind) for kind in BIDDER_TYPES]
    return {s.name: tuple(getattr(profile, s.name) for profile in profiles) for s in dataclasses.fields(BidderProfile)}


def _group_record(group: Any) -> np.dtype[np.void]:
    fields: list[Any] = []
    for name, value in values_of(group).items():
        size = (len(value),) if isinstance(value, tuple) else ()
        fields.append((name, np.bool_ if isinstance(value, bool) else np.float64, size))
    return record(fields)


MODEL = record([(group.name, _group_record(getattr(MarketModel(), group.name))) for group in dataclasses.fields(MarketModel)])
"""The model as a record: one group per module; profiles by type."""
