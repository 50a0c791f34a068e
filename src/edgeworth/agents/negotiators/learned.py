"""Learned negotiator: plays a trained network from a checkpoint; and negotiators by name or path.

It makes the network's likeliest move, or one drawn from its probabilities. A network that was trained with hints asks the same provider,
at the same interval, when it plays; another may be named instead. A network reads pools on the scale of the largest count it was trained
for, so it plays any game with that largest count, whatever its turns, partner or prices. Bundled networks are in `bundled.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from edgeworth import catalog
from edgeworth.agents.negotiators.negotiator import Moves, Negotiator
from edgeworth.agents.network.player import Outlook, batch_uniforms
from edgeworth.agents.trained_network import PlaysNetwork
from edgeworth.config import HintConfig
from edgeworth.envs.hint_injector import HintFeed, provider_of
from edgeworth.errors import InvalidOption, UnknownName
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.hint_features import HINT_FEATURES
from edgeworth.games.bargaining.hints import HintProvider
from edgeworth.games.bargaining.legality import STATES_SHARE
from edgeworth.games.bargaining.state import VIEW
from edgeworth.runlog import find_checkpoint

Situations = tuple[NDArray[np.float32], NDArray[np.int8], NDArray[np.int32]]
"""Features, legal acts and pools."""
NETWORKS = ("generalist", "human_clone", "learned", "self_play")
"""Negotiators of the catalog that are networks."""


def chances(outlook: Outlook, acts: NDArray[np.int64], shares: NDArray[np.int64]) -> NDArray[np.float32]:
    """How likely these moves are."""
    of_act = np.take_along_axis(outlook.acts, acts[:, None], 1)[:, 0]
    of_share = np.take_along_axis(outlook.shares, shares[:, :, None], 2)[:, :, 0].sum(1)
    return np.asarray(np.exp(of_act + STATES_SHARE[acts] * of_share), np.float32)


@dataclass(frozen=True)
class Learned(PlaysNetwork):
    """Plays the network of a checkpoint."""

    hint: str | None = None
    """A hint provider other than the one it was trained with."""
    hint_options: Mapping[str, Any] = field(default_factory=dict)
    """Options of that provider."""
    knows_partner: ClassVar[bool] = False
    _feeds: list[HintFeed] = field(default_factory=list, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.hint is not None and self.network.shape.features == self.network.shape.unhinted:
            raise InvalidOption(f"hint is {self.hint!r}, but the network in {self.checkpoint} was trained without inputs for hints.")

    @cached_property
    def provider(self) -> HintProvider | None:
        """The provider of its hints, if it has one."""
        trained = self.network.facts["hints"]
        mode, options = (trained["mode"], trained["options"]) if self.hint is None else (self.hint, self.hint_options)
        return None if mode == "none" else provider_of(mode, options)

    @cached_property
    def cadence(self) -> HintConfig:
        """When it asks for hints."""
        trained = self.network.facts["hints"]
        with_age = self.network.shape.features > self.network.shape.unhinted + HINT_FEATURES
        return HintConfig(trained["k"], trained["hold_last"], with_age)

    def check(self, batch: BargainingBatch) -> None:
        """Refuse a game that the network has no inputs or outputs for."""
        units = self.network.shape.units
        if batch.max_count != units:
            raise InvalidOption(
                f"The network in {self.checkpoint} was trained with up to {units} units of a type, and this game has up to"
                f" {batch.max_count}; train one for it, or set max_count to {units} where the pools allow it."
            )

    def close(self) -> None:
        """Release what its hint provider holds."""
        close = getattr(self.provider, "close", None)
        if close is not None:
            close()

    def choose(self, batch: BargainingBatch) -> Moves:
        return self._moves(batch, self._situations(batch))

    def advise(self, batch: BargainingBatch) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """A move for every episode, as acts and shares, and how likely the network is to make it: how sure it is."""
        situations = self._situations(batch)
        acts, shares = self._moves(batch, situations)
        return acts, shares, chances(self.player.outlook(*situations), acts, shares)

    def _moves(self, batch: BargainingBatch, situations: Situations) -> Moves:
        return self.player.choose_from(*situations, batch_uniforms(batch.state) if self.sampled else None)

    def _situations(self, batch: BargainingBatch) -> Situations:
        """What the network reads; asks for the hints that are due, so once per move."""
        self.check(batch)
        shape = self.network.shape
        features = np.zeros((batch.size, shape.features), np.float32)
        features[:, : shape.unhinted] = batch.features(memory=shape.remembers)
        if self.provider is not None:
            feed = self._feed(batch, self.provider)
            feed.ask()
            features[:, shape.unhinted :] = feed.features
        return features, batch.masks, batch.views[:, VIEW["counts"]]

    def _feed(self, batch: BargainingBatch, provider: HintProvider) -> HintFeed:
        """The hints beside a batch; kept while the same batch is played on, since a held hint is that of the move before."""
        if not self._feeds or self._feeds[0].batch is not batch:
            self._feeds[:] = [HintFeed(batch, provider, self.cadence)]
        return self._feeds[0]


def is_learned(name: str) -> bool:
    """Whether a name means a network: a bundled one, or one by its path."""
    return name in NETWORKS or name not in catalog.NEGOTIATORS


def written_at(name: str) -> str:
    """When the checkpoint of a negotiator that is named by its path was written; nothing for one of the catalog."""
    return "" if name in catalog.NEGOTIATORS else str(find_checkpoint(Path(name)).stat().st_mtime_ns)


def negotiator_of(name: str, sampled: bool = False, hint: str | None = None) -> Negotiator:
    """The negotiator of this name or path; only a learned one can be sampled or be given other hints."""
    if name not in catalog.NEGOTIATORS:
        if "/" not in name and not Path(name).exists():
            raise UnknownName("negotiator", name, catalog.NEGOTIATORS, also="the path of a run or checkpoint")
        return Learned(name, sampled, hint)
    kind = catalog.resolve("negotiator", name)
    if name in NETWORKS:
        network: Negotiator = kind(hint=hint, **({"sampled": True} if sampled else {}))
        return network
    if sampled or hint is not None:
        raise InvalidOption(f"{'--sampled' if sampled else '--hint'} is for learned negotiators; {name} plays by a rule.")
    negotiator: Negotiator = kind()
    return negotiator
