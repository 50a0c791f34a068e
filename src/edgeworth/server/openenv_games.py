"""Both games in OpenEnv's classes: actions and observations, rewards as rubrics, environments, and typed clients.

The environments are for whoever plays in its own process; the server uses them to describe the games (schema, metadata, tasks) and plays
the same episodes over sockets from its store. A test compares the two bit for bit. The clients play a session each over a socket:

    with DaedalusClient(base_url="http://127.0.0.1:8765").sync() as market:
        result = market.reset(seed=7, stage=3)

All of this needs OpenEnv, which takes seconds to import. `edgeworth.client` speaks the same protocol without it.
"""

from __future__ import annotations

import uuid
from typing import Any, Generic, Literal, TypeVar

from openenv.core import EnvClient
from openenv.core.client_types import StepResult
from openenv.core.env_server import Environment
from openenv.core.env_server.types import Action, EnvironmentMetadata, Observation, SchemaResponse, State
from openenv.core.rubrics import Rubric
from pydantic import ConfigDict, Field

from edgeworth import __version__
from edgeworth.config import scenario_names
from edgeworth.errors import EpisodeOver, UnknownName
from edgeworth.games.auction.action import DaedalusAction
from edgeworth.games.auction.state import COMPONENTS
from edgeworth.games.bargaining.moves import REWARD_PARTS
from edgeworth.server.live import Live, open_live
from edgeworth.server.models import MarketObservation, Move, NegotiationObservation
from edgeworth.server.openings import Opening, opening_of
from edgeworth.server.sockets import first_metadata, metadata

Task = dict[str, Any]


class MechanismAction(DaedalusAction, Action):
    """The eleven fields of a mechanism."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class PartialMechanismAction(Action):
    """Some fields of a mechanism; the others stay as they are in the mechanism in force, and the observation's metadata names them."""

    model_config = ConfigDict(extra="allow")

    partial: Literal[True] = True


class MoveAction(Move, Action):
    """An act, and the share that the agent asks for."""

    model_config = ConfigDict(extra="forbid", strict=True)


class DaedalusObservation(MarketObservation, Observation):
    """What a designer sees; `metadata` has the parts of the reward."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class BargainingObservation(NegotiationObservation, Observation):
    """What a negotiator sees; `metadata` has the history and which acts are legal now."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class EpisodeState(State):
    """Where an episode stands; it holds nothing that a player may not know."""

    model_config = ConfigDict(extra="forbid")

    session_id: str | None = Field(None, description="The durable session behind the episode; none where it is played in this process.")
    game: str | None = None
    options: dict[str, Any] = Field(default_factory=dict, description="What the episode was opened with.")
    done: bool = False


class Part(Rubric):
    """One part of the reward, read from the observation's metadata."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def forward(self, action: Any, observation: Any) -> float:
        """The part as the game reports it; 0 before the first step."""
        return float(observation.metadata.get("components", {}).get(self.name, 0.0))


class Product(Rubric):
    """The product of parts, in their order; OpenEnv's `Sequential` gives the last score instead."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        for name in names:
            setattr(self, name, Part(name))

    def forward(self, action: Any, observation: Any) -> float:
        """All parts are evaluated, so that each has its score even where another is 0."""
        product = 1.0
        for score in [part(action, observation) for part in self.children()]:
            product *= score
        return product


class BargainingRubric(Rubric):
    """agreed · worth · patience, or the reservation value; less the charge for the move."""

    def __init__(self) -> None:
        super().__init__()
        self.deal = Product(*REWARD_PARTS[:3])
        self.reservation, self.charge = Part("reservation"), Part("charge")

    def forward(self, action: Any, observation: Any) -> float:
        """The reward of a move."""
        paid = self.deal(action, observation) + self.reservation(action, observation)
        return float(paid - self.charge(action, observation))


Acts = TypeVar("Acts", bound=Action)
Sees = TypeVar("Sees", bound=Observation)


class GameEnvironment(Environment[Acts, Sees, EpisodeState], Generic[Acts, Sees]):
    """What both games share."""

    SUPPORTS_CONCURRENT_SESSIONS = True
    game: str
    says: str
    tasks: dict[str, list[Task]]
    """Episodes by split: the reset options of each."""
    _acts: type[Action]
    _seen: type[Observation]

    def __init__(self, rubric: Rubric) -> None:
        super().__init__(rubric=rubric)
        self._live: Live | None = None
        self._opening: Opening | None = None
        self._episode_id: str | None = None

    def reset(self, seed: int | None = None, episode_id: str | None = None, **options: Any) -> Sees:
        """Begin an episode; the options are those of the game."""
        opening = opening_of(self.game, options, seed)
        self._opening, self._live, self._episode_id = opening, open_live(opening), episode_id or uuid.uuid4().hex
        self._reset_rubric()
        info = {**first_metadata(self._live.info()), "episode_id": self._episode_id}
        return self._shown({**self._live.observation(), "metadata": info})

    def step(self, action: Acts, timeout_s: float | None = None, **_: Any) -> Sees:
        """Carry out an action."""
        if self._live is None:
            raise EpisodeOver("There is no episode yet; call reset() first.")
        turn = self._live.step(action.model_dump(exclude={"metadata"}))
        info = {**metadata(turn), "episode_id": self._episode_id}
        observation = self._shown({**turn.observation, "reward": turn.reward, "done": turn.done, "metadata": info})
        self._apply_rubric(action, observation)
        return observation

    def _shown(self, fields: dict[str, Any]) -> Sees:
        return self._apply_transform(self._seen.model_validate(fields))  # type: ignore[no-any-return]

    @property
    def state(self) -> EpisodeState:
        """Where the episode stands."""
        if self._live is None or self._opening is None:
            return EpisodeState()
        facts = {"game": self.game, "options": dict(self._opening.options), "done": self._live.done}
        return EpisodeState(episode_id=self._episode_id, step_count=self._live.steps, **facts)

    def get_metadata(self) -> EnvironmentMetadata:
        """Name, description and version."""
        return EnvironmentMetadata(name=f"edgeworth-{self.game}", description=self.says, version=__version__, author="Edgeworth")

    def schemas(self) -> SchemaResponse:
        """JSON schemas of actions, observations and states."""
        action, seen, state = (model.model_json_schema() for model in (self._acts, self._seen, EpisodeState))
        return SchemaResponse(action=action, observation=seen, reset_observation=seen, state=state)

    def list_splits(self) -> list[str]:
        """The names of the splits."""
        return list(self.tasks)

    def list_tasks(self, split: str) -> list[Task]:
        """The tasks of a split; `reset` takes the options of one."""
        if split not in self.tasks:
            raise UnknownName("split", split, self.tasks)
        return self.tasks[split]

    def num_tasks(self, split: str) -> int:
        """How many tasks a split has."""
        return len(self.list_tasks(split))

    def get_task(self, split: str, index: int) -> Task:
        """One task by its place in the split."""
        tasks = self.list_tasks(split)
        if not 0 <= index < len(tasks):
            raise IndexError(index)
        return tasks[index]

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[Task]:
        """A slice of a split's tasks."""
        return self.list_tasks(split)[start:stop]


def numbered(split: str, option: str, values: list[str]) -> list[Task]:
    """Tasks that differ in one option of `reset`."""
    return [{"id": f"{split}-{k}", "index": k, "split": split, "options": {option: value}} for k, value in enumerate(values)]


class DaedalusOpenEnv(GameEnvironment[MechanismAction, DaedalusObservation]):
    """Set the rules of a market, step by step, without knowing who bids in it."""

    game = "auction"
    says = (
        "DAEDALUS: set the eleven fields of an auction's mechanism, step by step, for bidders who shade, collude, drop out or cheat and"
        " whose types are hidden; the reward is welfare times fairness times participation times stability."
    )
    tasks = {  # noqa: RUF012 - read, never written
        "train": numbered("train", "stage", ["0", "1", "2", "3", "4", "mixed"]),
        "test": numbered("test", "stage", [f"held_out_{k}" for k in range(20)]),
    }
    _acts, _seen = MechanismAction, DaedalusObservation

    def __init__(self) -> None:
        super().__init__(Product(*COMPONENTS))


class BargainingOpenEnv(GameEnvironment[MoveAction, BargainingObservation]):
    """Divide a pool of items with a partner whose utilities are hidden."""

    game = "bargaining"
    says = "Deal-or-No-Deal: divide books, hats and balls with a partner whose utilities are hidden; the reward is what the share is worth."
    tasks = {"train": numbered("train", "scenario", scenario_names())}  # noqa: RUF012 - read, never written
    _acts, _seen = MoveAction, BargainingObservation

    def __init__(self) -> None:
        super().__init__(BargainingRubric())


class GameClient(EnvClient[Acts, Sees, EpisodeState], Generic[Acts, Sees]):
    """What the clients of both games share."""

    _seen: type[Observation]

    def _step_payload(self, action: Acts) -> dict[str, Any]:
        payload: dict[str, Any] = action.model_dump()
        return payload

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[Sees]:
        reward, done = payload.get("reward"), payload.get("done", False)
        observation = self._seen.model_validate({**payload["observation"], "reward": reward, "done": done})
        return StepResult(observation=observation, reward=reward, done=done, metadata=payload.get("metadata"))

    def _parse_state(self, payload: dict[str, Any]) -> EpisodeState:
        return EpisodeState(**payload)


class DaedalusClient(GameClient[MechanismAction, DaedalusObservation]):
    """A designer's client."""

    _seen = DaedalusObservation


class BargainingClient(GameClient[MoveAction, BargainingObservation]):
    """A negotiator's client; `base_url` is the server's address, with or without /bargaining behind it."""

    _seen = BargainingObservation

    def __init__(self, base_url: str | None = None, **options: Any) -> None:
        if base_url is not None and not base_url.rstrip("/").endswith("/bargaining"):
            base_url = base_url.rstrip("/") + "/bargaining"
        super().__init__(base_url=base_url, **options)
