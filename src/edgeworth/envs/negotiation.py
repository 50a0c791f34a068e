"""`DealOrNoDialog-v0`: one bargaining episode at a time, as a Gymnasium environment.

A batch of one over the compiled rules. `docs/games/bargaining.md` describes the game, its observations, actions, rewards and options.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from edgeworth.config import BargainingConfig
from edgeworth.envs.negotiation_spaces import (
    action_space,
    begin_episodes,
    checked_act,
    checked_share,
    observation_of,
    observation_space,
    table_of,
)
from edgeworth.envs.options import RENDER_MODES, checked_render_mode
from edgeworth.envs.spoken import Spoken
from edgeworth.errors import IllegalAction
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import Context, context_of, triple_of
from edgeworth.games.bargaining.history import history_of
from edgeworth.games.bargaining.state import VIEW
from edgeworth.games.bargaining.vocabulary import Outcome, Side
from edgeworth.seeding import checked_seed


class NegotiationEnv(gymnasium.Env[Any, Any]):
    """Divide a pool of items with a partner whose utilities you cannot see."""

    metadata = {"render_modes": RENDER_MODES, "render_fps": 1}  # noqa: RUF012 - Gymnasium's own way

    def __init__(self, scenario: str | None = None, render_mode: str | None = None, utterances: str | None = None, **options: Any) -> None:
        self.config = BargainingConfig.from_options(scenario, **options)
        self.batch = BargainingBatch(self.config, 1)
        self.spoken = None if utterances is None else Spoken(utterances, self.batch)
        self.render_mode = checked_render_mode(render_mode)
        self.observation_space: spaces.Space[Any] = observation_space(self.config, self.batch.max_count)
        self.action_space: spaces.Space[Any] = action_space(self.batch)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin the seed's first episode, or without a seed the next one."""
        begin_episodes(self.batch, None if seed is None else checked_seed(seed), options)
        super().reset(seed=seed)
        if self.spoken is not None:
            self.spoken.begin()
        row = self.batch.views[0].copy()
        return self._observation(row), self._info(row)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Make the agent's move, and the partner's reply."""
        self.batch.step(*self._acts_and_shares(action))
        row, report = self.batch.views[0].copy(), self.batch.reports[0]
        info, outcome = self._info(row), Outcome(report["outcome"])
        if outcome != Outcome.ONGOING:
            info["outcome"] = outcome.name
            info["partner_reward"] = float(report["partner_reward"])
            info["deal"] = triple_of(report["deal"]) if outcome.is_deal else None
        return self._observation(row), float(report["reward"]), outcome != Outcome.ONGOING, False, info

    def _acts_and_shares(self, action: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """An action, or a sentence where the environment has words, as the rules take it."""
        if isinstance(action, str) and self.spoken is not None:
            return self.spoken.action(action, Side.AGENT)
        try:
            act, share = action["act_type"], action["oA"]
        except (KeyError, TypeError, IndexError) as error:
            raise IllegalAction(f"The action is {action!r}; expected a mapping with act_type and oA.", "action_shape") from error
        try:
            return np.array([checked_act(act)], np.int64), np.array([checked_share(share)], np.int64)
        except OverflowError as error:
            raise IllegalAction(
                f"act_type is {act!r} and oA {share!r}; expected 0 to 4, and shares within the pool.", "out_of_range"
            ) from error

    def render(self) -> str | None:
        """The negotiation as a table of text."""
        if self.render_mode is None:
            gymnasium.logger.warn('render() does nothing without a render mode; make the environment with render_mode="ansi".')
            return None
        return table_of(self.batch)

    @property
    def context(self) -> Context:
        """The context in play, the partner's utilities included; for measurements, not for the agent."""
        return context_of(self.batch.state[0])

    def _observation(self, row: NDArray[np.int32]) -> Any:
        return observation_of(row, self.config.normalize)

    def _info(self, row: NDArray[np.int32]) -> dict[str, Any]:
        words = {} if self.spoken is None else {"utterances": self.spoken.utterances()}
        return {
            **words,
            "action_mask": self.batch.masks[0].copy(),
            "oA_max": row[VIEW["counts"]].copy(),
            "partner_has_spoken": bool(row[VIEW["partner_has_spoken"]]),
            "my_last_offer": row[VIEW["my_last_offer"]],
            "history": history_of(self.batch.state["history"][0], self.batch.state["turn"][0]),
        }
