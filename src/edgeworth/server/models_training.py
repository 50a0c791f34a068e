"""Requests and replies of the routes that start a training."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from edgeworth.server.models_designers import EXACT
from edgeworth.server.models_lab import Named

LEAST_STEPS, MOST_STEPS, USUAL_STEPS = 10_000, 20_000_000, 2_000_000
LARGEST_SEED = 1_000_000_000


class TrainingRequest(BaseModel):
    """A short training run of a negotiator."""

    model_config = EXACT

    preset: Literal["ppo_fast", "reinforce_fast"] = Field("ppo_fast", description="The settings, one of our configurations.")
    scenario: str = Field("classic", max_length=64, description="The game, as GET /catalog names it.")
    seed: int = Field(0, ge=0, le=LARGEST_SEED)
    steps: int = Field(USUAL_STEPS, ge=LEAST_STEPS, le=MOST_STEPS, description="Moves of the agent, over all episodes.")


class TrainingState(TrainingRequest):
    """A training run that was started here."""

    name: str = Field(description="Its run, for GET /runs/history.")
    command: str
    pid: int
    began: float = Field(description="In seconds since 1970.")
    status: Literal["running", "finished", "failed", "cancelled", "ended"] = Field(
        description="ended: it is over, and the server that would know how was killed."
    )
    cancelled: bool = Field(description="Whether it was told to stop.")
    message: str | None = Field(description="Of a training that failed, what it said last.")


class Trainings(BaseModel):
    """What can be trained here, and what was trained last."""

    available: bool
    why: str | None = Field(description="Why nothing can be started, where that is so.")
    presets: list[Named]
    most_steps: int
    current: TrainingState | None
