"""`DealOrNoDialog-v0`: one bargaining episode at a time, as a Gymnasium environment.

A batch of one over the compiled rules. `docs/games/bargaining.md` describes the game, its observations, actions, rewards and options.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from edgeworth.config import BargainingConfig
from edgeworth.envs.negotiation_spaces import (
    action_space,
    checked_act,
    checked_share,
    fixed_contexts,
    observation_of,
    observation_space,
)
from edgeworth.errors import EpisodeOver, IllegalAction, UnknownName
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import Context, context_of
from edgeworth.games.bargaining.talks import History, history_of, talks_table
from edgeworth.games.bargaining.vocabulary import AGENT_AGREED, ONGOING, SELECTIONS_MATCHED, Outcome
from edgeworth.seeding import checked_seed

Observation = dict[str, Any]
RENDER_MODES = ["ansi"]
OUTCOME_NAMES = tuple(outcome.name for outcome in Outcome)


class NegotiationEnv(gymnasium.Env[Observation, Mapping[str, Any]]):
    """Divide a pool of items with a partner whose utilities you cannot see."""

    metadata = {"render_modes": RENDER_MODES, "render_fps": 1}  # noqa: RUF012 - Gymnasium's own way

    def __init__(self, scenario: str | None = None, render_mode: str | None = None, **options: Any) -> None:
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise UnknownName("render mode", render_mode, RENDER_MODES)
        self.config = BargainingConfig.from_options(scenario, **options)
        self.batch = BargainingBatch(self.config, 1)
        self.render_mode = render_mode
        self.observation_space = observation_space(self.config, self.batch.max_count)
        self.action_space: spaces.Dict = action_space(self.batch)
        self._bind_views()

    def _bind_views(self) -> None:
        """Name the parts of the batch's arrays that every step reads; looking a field up anew would cost more than the rules."""
        reports, state = self.batch.reports, self.batch.state
        self._reward, self._outcome, self._turn = reports["reward"], reports["outcome"], state["turn"]
        self._partner_reward, self._deal = reports["partner_reward"], reports["deal"][0]
        self._lines = state["history"][0]
        self._view, self._mask = self.batch.views[0], self.batch.masks[0]

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        self.__dict__.update(attributes)
        self._bind_views()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, dict[str, Any]]:
        """Begin the seed's first episode, or without a seed the next one."""
        contexts = fixed_contexts(options, 1)
        if len(contexts):
            self.batch.check_contexts(contexts)
        self.batch.seed(None if seed is None else checked_seed(seed))
        super().reset(seed=seed)
        self.batch.reset(contexts)
        row = self._view.copy()
        return observation_of(row, self.config.normalize), self._info(row)

    def step(self, action: Mapping[str, Any]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Make the agent's move and hear the partner's reply."""
        try:
            act, share = action["act_type"], action["oA"]
        except (KeyError, TypeError, IndexError) as error:
            raise IllegalAction(f"The action is {action!r}; expected a mapping with act_type and oA.", "action_shape") from error
        try:
            self.batch.step_single(checked_act(act), checked_share(share))
        except OverflowError as error:
            raise IllegalAction(
                f"act_type is {act!r} and oA {share!r}; expected 0 to 4, and shares within the pool.", "out_of_range"
            ) from error
        row = self._view.copy()
        info = self._info(row)
        outcome = self._outcome.item(0)
        if outcome:
            info["outcome"] = OUTCOME_NAMES[outcome]
            info["partner_reward"] = self._partner_reward.item(0)
            info["deal"] = tuple(self._deal.tolist()) if AGENT_AGREED <= outcome <= SELECTIONS_MATCHED else None
        return observation_of(row, self.config.normalize), self._reward.item(0), outcome != ONGOING, False, info

    def render(self) -> str | None:
        """The talks as a table of text."""
        if self.render_mode is None:
            gymnasium.logger.warn('render() does nothing without a render mode; make the environment with render_mode="ansi".')
            return None
        if not self.batch.started:
            raise EpisodeOver("There is nothing to show yet; call reset() before render().")
        outcome = Outcome(int(self.batch.state["outcome"][0]))
        history = history_of(self._lines, self._turn.item(0))
        return talks_table(self.context, history, self.config.reveal_partner_utilities or outcome != Outcome.ONGOING, outcome)

    @property
    def context(self) -> Context:
        """The context in play, the partner's utilities included; for yardsticks and pages, not for the agent."""
        return context_of(self.batch.state[0])

    def _info(self, row: NDArray[np.int32]) -> dict[str, Any]:
        return {
            "action_mask": self._mask.copy(),
            "oA_max": row[0:3].copy(),
            "partner_has_spoken": row.item(17) == 1,
            "my_last_offer": row[12:15],
            "history": History(self._lines[: self._turn.item(0)].tobytes()),
        }
