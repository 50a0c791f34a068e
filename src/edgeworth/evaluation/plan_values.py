"""What a single move is worth to a blind agent that keeps to the Bayes plan afterwards.

The move is made against every partner that the episode so far leaves possible, and the plan is followed from there to the end, by the rules
themselves. The average is the value of the move; it is compared with that of the plan's own move. At the opening and on the plan's own path
no move is worth more than the plan's, where the plan is proved to be the best; after other moves one may be.

Values are points still to come, in the units the environment pays.
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
from edgeworth.games.bargaining.blind_plan import check_silent_partner
from edgeworth.games.bargaining.contexts import Context, Triple, context_of, triple_of
from edgeworth.games.bargaining.history import history_of
from edgeworth.games.bargaining.prior import partner_types
from edgeworth.games.bargaining.vocabulary import AGENT, ONGOING

Choice = tuple[int, Triple]
"""An act and the share stated with it."""
OPENS = ("agent", "partner")


class _OneMoveThenPlan:
    """A negotiator that makes a given move and then follows the plan."""

    knows_partner: ClassVar[bool] = False

    def __init__(self, plan: Bayes, first: Choice) -> None:
        self.plan, self.first = plan, [first]

    def choose(self, batch: BargainingBatch) -> Moves:
        if self.first:
            return _in_every_episode(self.first.pop(), batch.size)
        anyone = np.arange(batch.size) == np.argmax(batch.state["outcome"] == ONGOING)  # all episodes that go on look the same to the agent
        hints = self.plan.give(batch.selected(anyone), np.ones(1, np.bool_))
        return _in_every_episode((hints.acts.item(), triple_of(hints.shares[0])), batch.size)


class PlanValues:
    """The values of moves under one set of rules; each is computed once."""

    def __init__(self, config: BargainingConfig) -> None:
        self._plan = Bayes()
        self._games = [BargainingBatch(replace(config, opens=opens), 1) for opens in OPENS]  # type: ignore[arg-type]
        check_silent_partner(self._games[0])
        self._known: dict[tuple[Context, int, tuple[Choice, ...], Choice], float] = {}

    def value(self, batch: BargainingBatch, slot: int, move: Choice) -> float:
        """What a move is worth at this moment of an episode, averaged over the partners that are still possible."""
        state = batch.state[slot]
        half, opener = context_of(state).half(), int(state["opener"])
        history = history_of(state["history"], int(state["turn"]))
        made = tuple((said.act, said.share or (0, 0, 0)) for said in history if said.side == AGENT)
        key = (half, opener, made, move)
        if key not in self._known:
            self._known[key] = self._computed(half, opener, made, move)
        return self._known[key]

    def _computed(self, half: Context, opener: int, made: Sequence[Choice], move: Choice) -> float:
        batch = self._batch_after(half, opener, made)
        rewards, _ = play_out(batch, _OneMoveThenPlan(self._plan, move))
        return float(rewards.mean())

    def _batch_after(self, half: Context, opener: int, made: Sequence[Choice]) -> BargainingBatch:
        """These moves against every possible partner; what remains are the episodes that still go on."""
        types = partner_types(half, self._games[opener])
        batch = BargainingBatch(self._games[opener].config, len(types))
        batch.rules["sudden_end"] = 0.0  # these episodes did not break off
        batch.seed(0)
        known = np.broadcast_to(np.array((*half.counts, *half.my_utilities), np.int16), (len(types), 6))
        batch.reset(np.concatenate([known, types.astype(np.int16)], axis=1))
        for choice in made:
            batch.step(*_in_every_episode(choice, batch.size))
            batch = batch.selected(batch.state["outcome"] == ONGOING)
        batch.rules["sudden_end"] = batch.config.sudden_end
        return batch


def _in_every_episode(choice: Choice, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The same move in every episode."""
    act, share = choice
    return np.full(size, act, np.int64), np.tile(np.array(share, np.int64), (size, 1))
