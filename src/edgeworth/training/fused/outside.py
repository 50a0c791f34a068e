"""A step of the fused learner against a partner outside the rules, who is asked in Python between the agents' moves and their end.

It does what `rollout.advance` does, through the batch instead of inside compiled code: the same rows of the tape, the same diary.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.network.reading import Reading
from edgeworth.games.bargaining import rules
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.state import VIEW
from edgeworth.games.bargaining.vocabulary import AGENT_AGREED, BUDGET, SELECTIONS_MATCHED
from edgeworth.training.fused.rollout import Diary, Tape


def advance_outside(batch: BargainingBatch, tape: Tape, diary: Diary, scale: float, step: int, rests: bool) -> int:
    """Make the moves on the tape, hear the replies and note what they paid; returns how many slots play on."""
    rows = slice(step * batch.size, (step + 1) * batch.size)
    playing = ~diary.resting
    tape.played[rows] = playing
    if not playing.any():
        return 0
    moves, orders = tape.moves[rows].astype(np.int64), tape.orders[rows]
    shares = Reading(tape.features[rows], orders, orders).by_type(moves[:, 1:])
    part = batch if playing.all() else batch.selected(playing)
    part.step(np.ascontiguousarray(moves[playing, 0]), np.ascontiguousarray(shares[playing]), rules.SAME_STEP)
    if part is not batch:
        batch.write_back(part, playing)
    out, ended = part.outputs, np.zeros(batch.size, np.bool_)
    ended[playing] = out.ended
    tape.made[rows][playing] = diary.moves[playing]
    tape.rewards[rows][playing] = out.rewards * scale
    tape.ended[rows][playing] = out.ended
    diary.returns[playing] += out.rewards
    diary.moves[playing] += 1
    if ended.any():
        _close(part, diary, ended)
    diary.resting[playing] = out.ended & rests
    return int(np.count_nonzero(~diary.resting))


def _close(part: BargainingBatch, diary: Diary, ended: NDArray[np.bool_]) -> None:
    """Count the episodes that ended."""
    out = part.outputs
    reports, maximum = out.reports[out.ended], out.final_views[out.ended, VIEW["my_maximum"]]
    deals = (reports["outcome"] >= AGENT_AGREED) & (reports["outcome"] <= SELECTIONS_MATCHED)
    worth = float(BUDGET * len(reports)) if part.config.normalize else float(maximum.sum())
    diary.totals[:] += [len(reports), diary.returns[ended].sum(), worth, np.count_nonzero(deals), reports["turns"].sum()]
    diary.returns[ended], diary.moves[ended] = 0.0, 0
