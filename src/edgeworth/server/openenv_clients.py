"""Typed clients of OpenEnv for both games, sync and async; each plays a session of its own over a socket.

    with DaedalusClient(base_url="http://127.0.0.1:8000").sync() as market:
        result = market.reset(seed=7, stage=3)

They need OpenEnv. `edgeworth.client` speaks the same protocol without it.
"""

from __future__ import annotations

from typing import Any

from openenv.core import EnvClient
from openenv.core.client_types import StepResult

from edgeworth.server.openenv_models import BargainingObservation, DaedalusObservation, EpisodeState, MechanismAction, MoveAction


class DaedalusClient(EnvClient[MechanismAction, DaedalusObservation, EpisodeState]):
    """A designer's client."""

    def _step_payload(self, action: MechanismAction) -> dict[str, Any]:
        return action.model_dump()

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[DaedalusObservation]:
        return result(DaedalusObservation, payload)

    def _parse_state(self, payload: dict[str, Any]) -> EpisodeState:
        return EpisodeState(**payload)


class BargainingClient(EnvClient[MoveAction, BargainingObservation, EpisodeState]):
    """A negotiator's client; `base_url` is the server's address with /bargaining behind it, which is added where it is missing."""

    def __init__(self, base_url: str | None = None, **options: Any) -> None:
        if base_url is not None and not base_url.rstrip("/").endswith("/bargaining"):
            base_url = base_url.rstrip("/") + "/bargaining"
        super().__init__(base_url=base_url, **options)

    def _step_payload(self, action: MoveAction) -> dict[str, Any]:
        return action.model_dump()

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[BargainingObservation]:
        return result(BargainingObservation, payload)

    def _parse_state(self, payload: dict[str, Any]) -> EpisodeState:
        return EpisodeState(**payload)


def result(sees: type[Any], payload: dict[str, Any]) -> StepResult[Any]:
    """A message of the server as OpenEnv's result."""
    reward, done = payload.get("reward"), payload.get("done", False)
    observation = sees.model_validate({**payload["observation"], "reward": reward, "done": done})
    return StepResult(observation=observation, reward=reward, done=done, metadata=payload.get("metadata"))
