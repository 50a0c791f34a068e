"""A seat at the table: any negotiator on either side of a negotiation, each seeing it from its own side.

Negotiators are written for the agent's seat. In the partner's seat they are shown the mirrored negotiation, in which they are the agent:
everything with two sides is exchanged (utilities, offers, last acts, payoffs, who opens, reservation values, the two halves of a table of
contexts), and the pool, the clock and the randomness stay. In both seats the other side's utilities are blank, not merely unread, unless
the negotiator declares that it knows them (`knows_partner`) or the game reveals them.

Negotiators that prepare for a partner (a plan, a best response, a network trained against it) find the scenario's own partner in the
settings and play what they have prepared for it, whatever plays against them.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.negotiators.negotiator import Negotiator
from edgeworth.config import BargainingConfig
from edgeworth.errors import CannotPlay, IllegalAction, InvalidContext, InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import ContextTable
from edgeworth.games.bargaining.state import EPISODE
from edgeworth.games.bargaining.vocabulary import (
    AGENT,
    AGENT_AGREED,
    AGENT_WALKED,
    PARTNER,
    PARTNER_AGREED,
    PARTNER_WALKED,
    SELECTIONS_MATCHED,
    TIMED_OUT,
    TURN_LIMIT,
    Outcome,
)

States = NDArray[np.void]

TWO_SIDED = ("payoff", "utilities", "maximum", "offer", "insists", "offered", "insisted", "last_act")
"""Fields of an episode that are indexed by side."""
OF_BUILT_IN_PARTNER = ("counter", "memory")
"""Fields that only a built-in partner uses; they are blank in a mirrored episode."""
OTHER_OPENER: dict[str, Literal["random", "agent", "partner"]] = {"random": "random", "agent": "partner", "partner": "agent"}

MIRRORED_OUTCOME = np.arange(len(Outcome), dtype=np.int8)
MIRRORED_OUTCOME[[AGENT_AGREED, PARTNER_AGREED, AGENT_WALKED, PARTNER_WALKED]] = PARTNER_AGREED, AGENT_AGREED, PARTNER_WALKED, AGENT_WALKED


def mirrored_states(states: States) -> States:
    """Copies of these episodes with the two sides exchanged; the memory of a built-in partner is blank."""
    mirrored = np.zeros(len(states), EPISODE)
    mirrored[:] = states
    for name in TWO_SIDED:
        mirrored[name] = states[name][:, ::-1]
    for name in OF_BUILT_IN_PARTNER:
        mirrored[name] = 0
    mirrored["opener"] = 1 - states["opener"]
    mirrored["outcome"] = MIRRORED_OUTCOME[states["outcome"]]
    agreed = (states["outcome"] >= AGENT_AGREED) & (states["outcome"] <= SELECTIONS_MATCHED)
    mirrored["deal"] = np.where(agreed[:, None], states["counts"] - states["deal"], 0)
    made = np.arange(TURN_LIMIT) < states["turn"][:, None]
    mirrored["history"][:, :, 0] = np.where(made, 1 - states["history"][:, :, 0], states["history"][:, :, 0])
    return mirrored


def mirrored_config(config: BargainingConfig) -> BargainingConfig:
    """The game as the other side has it: who opens and the reservation values are exchanged."""
    return dataclasses.replace(config, opens=OTHER_OPENER[config.opens], reservation=(config.reservation[1], config.reservation[0]))


def mirrored_contexts(contexts: ContextTable) -> ContextTable:
    """Rows of nine numbers with the two sides' utilities exchanged."""
    return np.concatenate([contexts[:, :3], contexts[:, 6:9], contexts[:, 3:6]], axis=1)


class Seat:
    """A negotiator on one side of a two-player batch, in which no built-in partner moves."""

    def __init__(self, who: str, negotiator: Negotiator, table: BargainingBatch, side: int) -> None:
        self.who, self.negotiator, self.table, self.side = who, negotiator, table, side
        self.view = self._empty_view()
        """The negotiation as this side may know it; the same object throughout, so that a negotiator can keep state by batch."""

    def move(self, waiting: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Make its moves in the episodes that wait for it; returns their immediate costs, 0 elsewhere."""
        self._look(waiting)
        charges = np.zeros(self.table.size)
        part = self.table.selected(waiting)
        try:
            acts, shares = self.negotiator.choose(self.view)
            charges[waiting] = part.move(self.side, acts[waiting], shares[waiting])
        except (InvalidOption, InvalidContext, IllegalAction) as error:
            raise CannotPlay(self.who, str(error)) from error
        self.table.write_back(part, waiting)
        return charges

    def _empty_view(self) -> BargainingBatch:
        """An empty batch of this side's game, with the scenario's own partner."""
        table = self.table
        config = table.config if self.side == AGENT else mirrored_config(table.config)
        view = BargainingBatch(config, table.size)
        if self.side == PARTNER and len(view.table):
            view.table = mirrored_contexts(view.table)
        view.started = True
        return view

    def _look(self, waiting: NDArray[np.bool_]) -> None:
        """Update the view; episodes that do not wait for this side look as if they were over, so that no move is chosen there."""
        view, states = self.view, self.table.state
        view.state[:] = states if self.side == AGENT else mirrored_states(states)
        view.state["outcome"][~waiting] = TIMED_OUT
        if not (self.negotiator.knows_partner or view.config.reveal_partner_utilities):
            view.state["utilities"][:, PARTNER] = 0
            view.state["maximum"][:, PARTNER] = 0
            for name in OF_BUILT_IN_PARTNER:
                view.state[name] = 0
        view.refresh()
