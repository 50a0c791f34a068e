"""The same talks seen from the other seat: what was the agent's is the partner's, and the other way round.

Everything that has two sides changes places: utilities, offers, last acts, payoffs, who opens, reservation values, the two halves of a
table of contexts. What belongs to nobody stays: the pool, the clock, the randomness. What a partner of the rules remembers is left out,
since nobody of the rules sits in the other seat; but for that, to look twice into the mirror is to see the talks as they are.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from edgeworth.config import BargainingConfig
from edgeworth.games.bargaining.contexts import ContextTable
from edgeworth.games.bargaining.state import EPISODE
from edgeworth.games.bargaining.vocabulary import (
    AGENT_AGREED,
    AGENT_WALKED,
    PARTNER_AGREED,
    PARTNER_WALKED,
    SELECTIONS_MATCHED,
    TURN_LIMIT,
    Outcome,
)

States = NDArray[np.void]

TWO_SIDED = ("payoff", "utilities", "maximum", "offer", "insists", "offered", "insisted", "last_act")
"""Fields of an episode that are indexed by side."""
OF_BUILT_IN_PARTNER = ("counter", "memory")
"""Fields that only a partner of the rules uses; nobody in the other seat has any."""
OTHER_OPENER: dict[str, Literal["random", "agent", "partner"]] = {"random": "random", "agent": "partner", "partner": "agent"}

MIRRORED_OUTCOME = np.arange(len(Outcome), dtype=np.int8)
MIRRORED_OUTCOME[[AGENT_AGREED, PARTNER_AGREED, AGENT_WALKED, PARTNER_WALKED]] = PARTNER_AGREED, AGENT_AGREED, PARTNER_WALKED, AGENT_WALKED


def mirrored_states(states: States) -> States:
    """Copies of these episodes with the two sides exchanged; what a partner of the rules remembers is blank."""
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
    """The same game as the other side has it: who opens and the reservation values change places."""
    return dataclasses.replace(config, opens=OTHER_OPENER[config.opens], reservation=(config.reservation[1], config.reservation[0]))


def mirrored_contexts(contexts: ContextTable) -> ContextTable:
    """Rows of nine numbers with the two sides' utilities exchanged."""
    return np.concatenate([contexts[:, :3], contexts[:, 6:9], contexts[:, 3:6]], axis=1)
