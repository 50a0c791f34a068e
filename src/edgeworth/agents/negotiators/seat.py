"""A seat at the table: any negotiator on either side of the talks, each seeing them from its own.

Negotiators are written for the agent's seat. In the partner's one they are shown the talks in a mirror, where they are the agent
(`games/bargaining/mirror.py`). In both seats the other side's utilities are blank, not merely unread, unless the negotiator claims to
know them (`knows_partner`) or the game reveals them.

Those who prepare for a partner (a plan, a best response, a network trained against it) find the scenario's own partner in the settings and
play what they have prepared for it, whoever is there: nobody tells them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.negotiators.negotiator import Negotiator
from edgeworth.errors import CannotPlay, IllegalAction, InvalidContext, InvalidOption
from edgeworth.games.bargaining import rules
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.mirror import OF_BUILT_IN_PARTNER, mirrored_config, mirrored_contexts, mirrored_states
from edgeworth.games.bargaining.vocabulary import AGENT, PARTNER, TIMED_OUT


class Seat:
    """A negotiator on one side of a table: a two-player batch, in which nobody of the rules speaks for the partner."""

    def __init__(self, who: str, negotiator: Negotiator, table: BargainingBatch, side: int) -> None:
        self.who, self.negotiator, self.table, self.side = who, negotiator, table, side
        self.view = self._empty_view()
        """The talks as this side may know them; the same object throughout, so that whoever keeps notes beside a batch can."""

    def move(self, waiting: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Let it move in the episodes that wait for it; what its moves cost at once, 0 elsewhere."""
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
        """An empty batch of this side's game, with the scenario's own partner across the table."""
        table = self.table
        config = table.config if self.side == AGENT else mirrored_config(table.config)
        view = BargainingBatch(config, table.size)
        if self.side == PARTNER and len(view.table):
            view.table = mirrored_contexts(view.table)
        view.started = True
        return view

    def _look(self, waiting: NDArray[np.bool_]) -> None:
        """Bring the view up to date; episodes that do not wait for this side look as if they were over, and nothing is asked there."""
        view, states = self.view, self.table.state
        view.state[:] = states if self.side == AGENT else mirrored_states(states)
        view.state["outcome"][~waiting] = TIMED_OUT
        if not (self.negotiator.knows_partner or view.config.reveal_partner_utilities):
            view.state["utilities"][:, PARTNER] = 0
            view.state["maximum"][:, PARTNER] = 0
            for name in OF_BUILT_IN_PARTNER:
                view.state[name] = 0
        out = view.outputs
        rules.show_batch(view.state, view.rules, out.spoken, out.views, out.masks, out.histories)
