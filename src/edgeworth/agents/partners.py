"""Network partners: a trained network in the partner's seat, at its likeliest move or drawn from its probabilities.

It sees the negotiation from its own seat, and all episodes that wait for it go through the network in one pass. When it opens it makes an
offer, as every partner does, so that no episode is over before the agent's first move. A network trained without the other side's
utilities is not shown them, whatever the game reveals to the agent.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.negotiators.bundled import FOLDER, bundled_checkpoint, expert_for
from edgeworth.agents.negotiators.negotiator import Moves
from edgeworth.agents.network.player import batch_uniforms
from edgeworth.agents.network.reading import PARTNER_POINTS
from edgeworth.agents.trained_network import PlaysNetwork
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.partners.program import outside_program
from edgeworth.games.bargaining.state import VIEW
from edgeworth.games.bargaining.vocabulary import ITEM_TYPES, PARTNER, Act

OFFERS = np.isin(np.arange(len(Act)), [Act.PROPOSE, Act.INSIST])
"""By act: whether it makes an offer."""


class _Outside:
    """A partner that moves from outside the rules."""

    def programs(self, config: BargainingConfig) -> NDArray[np.void]:
        return outside_program(config)


@dataclass(frozen=True)
class FromCheckpoint(_Outside, PlaysNetwork):
    """Plays the network of a checkpoint from the partner's seat."""

    @cached_property
    def knows_utilities(self) -> bool:
        """Whether it was trained with the other side's utilities among its inputs."""
        return bool(self.network.facts.get("env", {}).get("reveal_partner_utilities", False))

    def seated(self, batch: BargainingBatch) -> FromCheckpoint:
        shape = self.network.shape
        if shape.features != shape.unhinted:
            raise InvalidOption(
                f"The network in {self.checkpoint} was trained with hints and reads {shape.features} features; a partner is given no hints"
                f" and reads {shape.unhinted}. Name one that was trained without."
            )
        if shape.units != batch.max_count:
            raise InvalidOption(
                f"The network in {self.checkpoint} knows up to {shape.units} units of a type; a partner in this game needs up to"
                f" {batch.max_count} units. Train one for it, or set max_count to {shape.units} where the pools allow it."
            )
        return self

    def reply(self, batch: BargainingBatch) -> Moves:
        features, (views, masks) = batch.features(PARTNER, memory=self.network.shape.remembers), batch.look(PARTNER)
        if not self.knows_utilities:
            features[:, PARTNER_POINTS : PARTNER_POINTS + ITEM_TYPES] = 0.0
        masks[batch.state["turn"] == 0] = OFFERS
        uniforms = batch_uniforms(batch.state, PARTNER) if self.sampled else None
        return self.player.choose_from(features, masks, views[:, VIEW["counts"]], uniforms)


@dataclass(frozen=True)
class HumanClone(_Outside):
    """A network trained to imitate people; its moves are drawn at random from what it learnt."""

    sampled: bool = True
    """Draw moves with the network's probabilities, from the episode's own randomness; otherwise make the likeliest."""

    def seated(self, batch: BargainingBatch) -> FromCheckpoint:
        return FromCheckpoint(bundled_checkpoint("human_clone"), self.sampled).seated(batch)


@dataclass(frozen=True)
class SelfPlay(_Outside):
    """The bundled network trained in both seats by self-play."""

    sampled: bool = False
    """Draw moves with the network's probabilities, from the episode's own randomness; otherwise make the likeliest."""

    def seated(self, batch: BargainingBatch) -> FromCheckpoint:
        return FromCheckpoint(bundled_checkpoint("self_play"), self.sampled).seated(batch)


@dataclass(frozen=True)
class Expert(_Outside):
    """The bundled expert trained for this game, or for the one most like it."""

    sampled: bool = False
    """Draw moves with the network's probabilities, from the episode's own randomness; otherwise make the likeliest."""
    folder: str | Path = FOLDER
    """The folder of the experts."""

    def seated(self, batch: BargainingBatch) -> FromCheckpoint:
        folder = Path(self.folder)
        return FromCheckpoint(folder / expert_for(batch, folder), self.sampled).seated(batch)
