"""What our server is compared with: an environment that echoes, behind OpenEnv's own application, under the same uvicorn settings as ours.

Run as `python -m benchmarks.echo_server PORT`.
"""

from __future__ import annotations

import sys
from typing import Any

import uvicorn
from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app

from edgeworth.server.serving import uvicorn_config
from edgeworth.server.settings import ServerSettings

MOST_SESSIONS = 2_048


class EchoAction(Action):
    """Something said."""

    message: str


class EchoObservation(Observation):
    """The same, heard."""

    message: str = ""


class EchoEnvironment(Environment[EchoAction, EchoObservation, State]):
    """Answers with what it receives."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._state = State(episode_id="echo", step_count=0)

    def reset(self, seed: int | None = None, episode_id: str | None = None, **options: Any) -> EchoObservation:
        """Begin anew."""
        self._state = State(episode_id=episode_id, step_count=0)
        return EchoObservation(message="", done=False, reward=0.0)

    def step(self, action: EchoAction, timeout_s: float | None = None, **options: Any) -> EchoObservation:
        """Echo."""
        self._state.step_count += 1
        return EchoObservation(message=action.message, done=False, reward=1.0)

    @property
    def state(self) -> State:
        """Where it stands."""
        return self._state


def main(port: int) -> None:
    """Serve until a signal comes."""
    ours = uvicorn_config(ServerSettings())
    app = create_fastapi_app(EchoEnvironment, EchoAction, EchoObservation, max_concurrent_envs=MOST_SESSIONS, env_name="echo")
    config = uvicorn.Config(
        app,
        host="127.0.0.1",
        port=port,
        ws_per_message_deflate=ours.ws_per_message_deflate,
        backlog=ours.backlog,
        timeout_keep_alive=ours.timeout_keep_alive,
        log_level="warning",
        access_log=False,
    )
    uvicorn.Server(config).run()


if __name__ == "__main__":
    main(int(sys.argv[1]))
