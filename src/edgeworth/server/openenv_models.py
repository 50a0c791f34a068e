"""What OpenEnv's typed clients and `/schema` know of both games: actions, observations and states.

The fields are those of the wire (`models.py`) and of the game (`DaedalusAction`); OpenEnv's base classes add metadata, reward and the end.
"""

from __future__ import annotations

from typing import Annotated, Any

from openenv.core.env_server.types import Action, Observation, State
from pydantic import ConfigDict, Field

from edgeworth.games.auction.action import DaedalusAction
from edgeworth.server.models import MarketObservation, Move, Triple

Worths = Annotated[list[float], Field(min_length=3, max_length=3)]


class MechanismAction(DaedalusAction, Action):
    """The eleven fields of a mechanism."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class MoveAction(Move, Action):
    """An act, and the share that the agent asks for."""

    model_config = ConfigDict(extra="forbid", strict=True)


class DaedalusObservation(MarketObservation, Observation):
    """What a designer sees; `metadata` has the parts of the reward."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class BargainingObservation(Observation):
    """What a negotiator sees; `metadata` has the talks so far and which acts are legal now."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    counts: Triple
    my_utilities: Worths = Field(description="Whole points, or parts of 10 in a normalised context.")
    partner_utilities: Worths = Field(description="Zeros unless revealed.")
    last_partner_act: int
    last_partner_offer_for_me: Triple
    turns_remaining: int


class EpisodeState(State):
    """Where an episode stands; nothing in it tells what a player may not know."""

    model_config = ConfigDict(extra="forbid")

    session_id: str | None = Field(None, description="The durable session behind the episode; none where it is played in this process.")
    game: str | None = None
    options: dict[str, Any] = Field(default_factory=dict, description="What the episode was opened with.")
    done: bool = False
