"""Both games as OpenEnv environments, for whoever holds one in its own process.

Over the wire the same episodes are played by `sockets.py`, which keeps them in the store; a test compares the two to the last bit. The
server itself uses these classes to describe the games: schema, metadata and tasks.
"""

from __future__ import annotations

import uuid
from typing import Any, Generic, TypeVar

from openenv.core.env_server import Environment
from openenv.core.env_server.types import Action, EnvironmentMetadata, Observation
from openenv.core.rubrics import Rubric

from edgeworth import __version__
from edgeworth.errors import EpisodeOver, UnknownName
from edgeworth.server.live import Live, Opening, open_live, opening_of, scenario_names
from edgeworth.server.openenv_messages import first_metadata, metadata
from edgeworth.server.openenv_models import BargainingObservation, DaedalusObservation, EpisodeState, MechanismAction, MoveAction
from edgeworth.server.openenv_rubrics import MarketRubric, TalksRubric

Acts = TypeVar("Acts", bound=Action)
Sees = TypeVar("Sees", bound=Observation)
Task = dict[str, Any]


class GameEnvironment(Environment[Acts, Sees, EpisodeState], Generic[Acts, Sees]):
    """What both games share."""

    SUPPORTS_CONCURRENT_SESSIONS = True
    game: str
    says: str
    tasks: dict[str, list[Task]]
    """Episodes by split: the reset options of each."""
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
        told = {**first_metadata(self._live.info()), "episode_id": self._episode_id}
        return self._shown({**self._live.observation(), "metadata": told})

    def step(self, action: Acts, timeout_s: float | None = None, **_: Any) -> Sees:
        """Carry out an action."""
        if self._live is None:
            raise EpisodeOver("There is no episode yet; call reset() first.")
        turn = self._live.step(action.model_dump(exclude={"metadata"}))
        told = {**metadata(turn), "episode_id": self._episode_id}
        observation = self._shown({**turn.observation, "reward": turn.reward, "done": turn.done, "metadata": told})
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
        """What the environment is."""
        return EnvironmentMetadata(name=f"edgeworth-{self.game}", description=self.says, version=__version__, author="Edgeworth")

    def list_splits(self) -> list[str]:
        """Where tasks come from."""
        return list(self.tasks)

    def list_tasks(self, split: str) -> list[Task]:
        """The tasks of a split; `reset` takes the options of one."""
        if split not in self.tasks:
            raise UnknownName("split", split, self.tasks)
        return self.tasks[split]

    def num_tasks(self, split: str) -> int:
        """How many there are."""
        return len(self.list_tasks(split))

    def get_task(self, split: str, index: int) -> Task:
        """One of them."""
        tasks = self.list_tasks(split)
        if not 0 <= index < len(tasks):
            raise IndexError(index)
        return tasks[index]

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[Task]:
        """Some of them, as a slice."""
        return self.list_tasks(split)[start:stop]


def numbered(split: str, option: str, values: list[str]) -> list[Task]:
    """Tasks that differ in one option of `reset`."""
    return [{"id": f"{split}-{k}", "index": k, "split": split, "options": {option: value}} for k, value in enumerate(values)]


class DaedalusOpenEnv(GameEnvironment[MechanismAction, DaedalusObservation]):
    """Set the rules of a market, step by step, without being told who bids in it."""

    game = "auction"
    says = (
        "DAEDALUS: set the eleven fields of an auction's mechanism, step by step, for bidders who shade, collude, drop out or cheat and"
        " whose types are hidden; the reward is welfare times fairness times participation times stability."
    )
    tasks = {  # noqa: RUF012 - read, never written
        "train": numbered("train", "stage", ["0", "1", "2", "3", "4", "mixed"]),
        "test": numbered("test", "stage", [f"held_out_{k}" for k in range(20)]),
    }
    _seen = DaedalusObservation

    def __init__(self) -> None:
        super().__init__(MarketRubric())


class BargainingOpenEnv(GameEnvironment[MoveAction, BargainingObservation]):
    """Divide a pool of items with a partner whose utilities are hidden."""

    game = "bargaining"
    says = "Deal-or-No-Deal: divide books, hats and balls with a partner whose utilities are hidden; the reward is what the share is worth."
    tasks = {"train": numbered("train", "scenario", scenario_names())}  # noqa: RUF012 - read, never written
    _seen = BargainingObservation

    def __init__(self) -> None:
        super().__init__(TalksRubric())
