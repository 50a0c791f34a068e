"""What a single move is worth to a blind agent that keeps to the Bayes plan afterwards.

The move is made against every partner that the talks so far leave possible, and the plan is followed from there to the end, by the rules
themselves. The average is the value of the move; that of the plan's own move is what it is compared with. At the opening and on
the plan's own path no move is worth more than the plan's, up to the search that found it; after other moves one may be.

Values are in points, in the units the environment pays, from this moment on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.hints.bayes import Bayes
from edgeworth.agents.negotiators.negotiator import Moves
from edgeworth.config import BargainingConfig
from edgeworth.evaluation.episodes import play_out
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import Context, Triple, context_of, triple_of
from edgeworth.games.bargaining.history import history_of
from edgeworth.games.bargaining.prior import partner_types
from edgeworth.games.bargaining.vocabulary import AGENT, ONGOING

Choice = tuple[int, Triple]
"""An act and the share stated with it."""
OPENS = ("agent", "partner")


class _OneMoveThenPlan:
    """Makes a certain move and then follows the plan."""

    knows_partner: ClassVar[bool] = False

    def __init__(self, plan: Bayes, first: Choice) -> None:
        self.plan, self.first = plan, [first]

    def choose(self, batch: BargainingBatch) -> Moves:
        if self.first:
            return _everybody(self.first.pop(), batch.size)
        anyone = np.arange(batch.size) == np.argmax(batch.state["outcome"] == ONGOING)  # all who still talk see the same
        hints = self.plan.give(batch.selected(anyone), np.ones(1, np.bool_))
        return _everybody((hints.acts.item(), triple_of(hints.shares[0])), batch.size)


class PlanValues:
    """The values of moves under one set of rules; each is worked out once."""

    def __init__(self, config: BargainingConfig) -> None:
        self._plan = Bayes()
        self._games = [BargainingBatch(replace(config, opens=opens), 1) for opens in OPENS]  # type: ignore[arg-type]
        self._plan.check(self._games[0])
        self._known: dict[tuple[Context, int, tuple[Choice, ...], Choice], float] = {}

    def value(self, batch: BargainingBatch, slot: int, move: Choice) -> float:
        """What a move is worth at this moment of an episode, averaged over the partners that are still possible."""
        state = batch.state[slot]
        half, opener = context_of(state).half(), int(state["opener"])
        history = history_of(state["history"], int(state["turn"]))
        made = tuple((said.act, said.share or (0, 0, 0)) for said in history if said.side == AGENT)
        key = (half, opener, made, move)
        if key not in self._known:
            self._known[key] = self._worked_out(half, opener, made, move)
        return self._known[key]

    def _worked_out(self, half: Context, opener: int, made: Sequence[Choice], move: Choice) -> float:
        talks = self._talks_after(half, opener, made)
        rewards, _ = play_out(talks, _OneMoveThenPlan(self._plan, move))
        return float(rewards.mean())

    def _talks_after(self, half: Context, opener: int, made: Sequence[Choice]) -> BargainingBatch:
        """These moves against every partner that could be there; what remains are the talks that still go on."""
        types = partner_types(half, self._games[opener])
        talks = BargainingBatch(self._games[opener].config, len(types))
        talks.rules["sudden_end"] = 0.0  # these talks did not break off
        talks.seed(0)
        known = np.broadcast_to(np.array((*half.counts, *half.my_utilities), np.int16), (len(types), 6))
        talks.reset(np.concatenate([known, types.astype(np.int16)], axis=1))
        for choice in made:
            talks.step(*_everybody(choice, talks.size))
            talks = talks.selected(talks.state["outcome"] == ONGOING)
        talks.rules["sudden_end"] = talks.config.sudden_end
        return talks


def _everybody(choice: Choice, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The same move in every episode."""
    act, share = choice
    return np.full(size, act, np.int64), np.tile(np.array(share, np.int64), (size, 1))
