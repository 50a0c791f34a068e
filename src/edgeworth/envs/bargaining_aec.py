"""The two-player game for PettingZoo: a learner on either side of the table, over the same rules.

`player_0` is side 0 and `player_1` side 1; who opens is drawn by the seed unless `opens` says "agent" (player_0) or "partner".
Actions are joint numbers (`games/bargaining/joint_actions.py`), observations a dictionary of the six keys of `DealOrNoDialog-v0`,
seen from the player's own seat, and `action_mask`. The parallel view is PettingZoo's own conversion for games in turns: both
players submit an action, and the one whose turn it is not is not read.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

from edgeworth.config import BargainingConfig
from edgeworth.envs.negotiation_spaces import SafeDiscrete, begin_episodes, observation_of, observation_space, table_of
from edgeworth.envs.options import checked_render_mode
from edgeworth.envs.spoken import Spoken
from edgeworth.errors import EpisodeOver, UnknownName
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import triple_of
from edgeworth.games.bargaining.joint_actions import joint_action_count, joint_masks, read_actions
from edgeworth.games.bargaining.vocabulary import Outcome
from edgeworth.seeding import checked_seed

PLAYERS = ("player_0", "player_1")


class BargainingAEC(AECEnv[str, dict[str, Any], int | str | None]):
    """Two learners divide a pool in turns."""

    metadata = {  # noqa: RUF012 - PettingZoo's own way
        "render_modes": ["ansi"],
        "name": "deal_or_no_dialog_v0",
        "is_parallelizable": False,
        "render_fps": 1,
    }

    def __init__(self, scenario: str | None = None, render_mode: str | None = None, utterances: str | None = None, **options: Any) -> None:
        super().__init__()
        self.config = BargainingConfig.from_options(scenario, **options)
        self.batch = BargainingBatch(self.config, 1, two_player=True)
        self.spoken = None if utterances is None else Spoken(utterances, self.batch)
        self.render_mode = checked_render_mode(render_mode)
        self.possible_agents = list(PLAYERS)
        self.agents: list[str] = []

    @cache  # noqa: B019 - PettingZoo asks for the same object every time
    def observation_space(self, agent: str) -> spaces.Dict:
        """What a player sees from its own seat, and its mask."""
        mask = spaces.MultiBinary(joint_action_count(self.batch.max_count))
        return spaces.Dict({**observation_space(self.config, self.batch.max_count).spaces, "action_mask": mask})

    @cache  # noqa: B019
    def action_space(self, agent: str) -> spaces.Discrete:
        """Act and share as one number."""
        return SafeDiscrete(self.batch.max_count, self.batch.least_counts)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin the seed's first episode, or without a seed the next one."""
        begin_episodes(self.batch, None if seed is None else checked_seed(seed), options)
        self.agents = list(PLAYERS)
        self.rewards = dict.fromkeys(PLAYERS, 0.0)
        self._cumulative_rewards = dict.fromkeys(PLAYERS, 0.0)
        self.terminations = dict.fromkeys(PLAYERS, False)
        self.truncations = dict.fromkeys(PLAYERS, False)
        if self.spoken is not None:
            self.spoken.begin()
        self.infos: dict[str, dict[str, Any]] = {player: self._words() for player in PLAYERS}
        self.agent_selection = PLAYERS[self._side_to_move()]

    def step(self, action: int | str | None) -> None:
        """Make the selected player's move."""
        if not self.batch.started:
            raise EpisodeOver("The negotiation has not begun; call reset() first.")
        if self.terminations[self.agent_selection]:
            self._was_dead_step(action)
            return
        side = PLAYERS.index(self.agent_selection)
        if isinstance(action, str) and self.spoken is not None:
            acts, shares = self.spoken.action(action, side)
        else:
            acts, shares = read_actions(action, 1, self.batch.max_count)
        charge = float(self.batch.move(side, acts, shares)[0])
        state = self.batch.state[0]
        outcome = Outcome(int(state["outcome"]))
        self._cumulative_rewards[self.agent_selection] = 0.0
        self.rewards = {player: float(state["payoff"][i]) for i, player in enumerate(PLAYERS)}
        self.rewards[self.agent_selection] -= charge
        endings: dict[str, Any] = {}
        if outcome != Outcome.ONGOING:
            self.terminations = dict.fromkeys(PLAYERS, True)
            endings = {"outcome": outcome.name, "deal": triple_of(state["deal"]) if outcome.is_deal else None}
        self.infos = {player: {**self._words(), **endings} for player in PLAYERS}
        self.agent_selection = PLAYERS[1 - side]
        self._accumulate_rewards()

    def observe(self, agent: str) -> dict[str, Any]:
        """What a player may know now, and the actions it may choose when its turn comes."""
        if agent not in PLAYERS:
            raise UnknownName("player", agent, PLAYERS)
        side = PLAYERS.index(agent)
        row = self.batch.look(side)[0][0]
        mask = joint_masks(self.batch.state, side, self.batch.max_count)[0]
        return {**observation_of(row, self.config.normalize), "action_mask": mask}

    def render(self) -> str | None:
        """The negotiation as a table of text, from player_0's seat."""
        return None if self.render_mode is None else table_of(self.batch, reveal_partner=True)

    def close(self) -> None:
        """Nothing is held open."""

    def _words(self) -> dict[str, Any]:
        return {} if self.spoken is None else {"utterances": self.spoken.utterances()}

    def _side_to_move(self) -> int:
        state = self.batch.state[0]
        return int(state["opener"] + state["turn"]) % 2


bargaining_aec = BargainingAEC
"""PettingZoo's way to name an environment."""


def bargaining_parallel(scenario: str | None = None, render_mode: str | None = None, utterances: str | None = None, **options: Any) -> Any:
    """The two-player game with both players' actions at once; `infos[player]["active_agent"]` names the one that will be read."""
    return turn_based_aec_to_parallel(BargainingAEC(scenario, render_mode, utterances, **options))
