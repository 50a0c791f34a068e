"""Fills the compile cache: plays a few moves with every compiled entry point, so that the first real call starts at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeworth.config import BargainingConfig
from edgeworth.games.bargaining import rules
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.blind_plan import bayes_plan
from edgeworth.games.bargaining.bounds import oracle_values
from edgeworth.games.bargaining.contexts import Context
from edgeworth.games.bargaining.hint_features import extend_features, find_due, moves_since_asking, write_random_hints
from edgeworth.games.bargaining.hints import hints_of_moves
from edgeworth.games.bargaining.joint_actions import decode, encode, joint_masks
from edgeworth.games.bargaining.partners.program import outside_program
from edgeworth.games.bargaining.vocabulary import AGENT, PARTNER, PROPOSE


def warm_up() -> None:
    """Compile every entry point once, with the types that environments and bounds use."""
    batch = BargainingBatch(BargainingConfig(), 2)
    batch.seed(0)
    batch.reset()
    bayes_plan(Context((1, 1, 1), (1, 2, 3), (0, 0, 0)), batch, opener=0)
    oracle_values(batch)
    joint_masks(batch.state, AGENT, batch.max_count)
    decode(np.array([encode(PROPOSE, (0, 0, 0), batch.max_count)]), batch.max_count)
    batch.features()
    batch.step(*batch.random_actions(), rules.SAME_STEP)
    batch.random_rollout(1)
    batch.reward_parts()
    warm_up_hints(batch)
    two_player = BargainingBatch(BargainingConfig(opens="agent"), 2, two_player=True)
    two_player.seed(0)
    two_player.reset()
    two_player.move(AGENT, np.zeros(2, np.int64), np.zeros((2, 3), np.int64))
    two_player.move(PARTNER, *two_player.replies())
    two_player.look(AGENT)
    warm_up_outside()


def warm_up_outside() -> None:
    """Compile what partners outside the rules need; the random partner stands in for one."""
    batch = BargainingBatch(BargainingConfig(partner="random"), 2)
    batch.outside, batch.partners = _StandIn(BargainingBatch(batch.config, 2)), outside_program(batch.config)
    batch.seed(0)
    batch.reset()
    batch.step(*batch.random_actions(), rules.SAME_STEP)


@dataclass(frozen=True)
class _StandIn:
    """Replies from outside as a partner of the rules would."""

    within: BargainingBatch
    sampled: bool = True

    def reply(self, batch: BargainingBatch) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self.within.over(batch.state).replies()


def warm_up_hints(batch: BargainingBatch) -> None:
    """Compile what hints need."""
    due, since, turns = np.empty(batch.size, np.bool_), moves_since_asking(1), batch.config.max_turns
    find_due(batch.views, batch.masks, turns, since, 1, due)
    hints = hints_of_moves(batch, due, *batch.random_actions(), np.ones(batch.size, np.float32))
    write_random_hints(batch.state, due, hints.features)
    extend_features(batch.views, batch.masks, turns, since, 1, True, due, hints.features, hints.features, hints.features)


if __name__ == "__main__":
    warm_up()
