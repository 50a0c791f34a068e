"""`Daedalus-v0` and `DaedalusFlat-v0`: design a market step by step, as Gymnasium environments.

Both are a batch of one over the compiled rules. `Daedalus-v0` takes mechanisms and returns a dictionary; `DaedalusFlat-v0` is for
off-the-shelf learners: its action is eleven levels (`daedalus_spaces.py`), its observation the features of `daedalus_features.py`, and
`action_masks()` is what masked learners such as MaskablePPO ask for. `docs/games/auction.md` describes the game, its observations,
actions, rewards and options.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from edgeworth.config import AuctionConfig
from edgeworth.envs.daedalus_features import feature_space, features_of
from edgeworth.envs.daedalus_spaces import (
    LevelChoice,
    LevelSpace,
    config_after,
    in_words,
    mechanism_space,
    observation_space,
    rows_of_levels,
)
from edgeworth.envs.designed_markets import DesignedMarkets
from edgeworth.errors import EpisodeOver, UnknownName
from edgeworth.games.auction.action import mechanism_rows
from edgeworth.games.auction.batch import Rows
from edgeworth.games.auction.market_view import observation_of
from edgeworth.seeding import checked_seed

RENDER_MODES = ["ansi"]


def checked_render_mode(render_mode: str | None) -> str | None:
    """The render mode, if there is such a one."""
    if render_mode is not None and render_mode not in RENDER_MODES:
        raise UnknownName("render mode", render_mode, RENDER_MODES)
    return render_mode


class DaedalusEnv(gymnasium.Env[Any, Any]):
    """Set the rules of a repeated auction whose bidders adapt to them, without knowing who they are."""

    metadata = {"render_modes": RENDER_MODES, "render_fps": 1}  # noqa: RUF012 - Gymnasium's own way

    def __init__(self, render_mode: str | None = None, **options: Any) -> None:
        self.render_mode = checked_render_mode(render_mode)
        self.markets = DesignedMarkets(AuctionConfig.from_options(**options), 1)
        self.observation_space = observation_space()
        self.action_space = mechanism_space()

    @property
    def config(self) -> AuctionConfig:
        """The options in force."""
        return self.markets.config

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin the seed's first episode, or without a seed the next one; `options` hold for it and those that follow."""
        config = config_after(self.config, options)
        self.markets.batch.seed(None if seed is None else checked_seed(seed))
        super().reset(seed=seed)
        self.markets.reconfigure(config)
        self.markets.begin()
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Post a mechanism and let five sales run under it."""
        scores, ended = self.markets.step(self._mechanism(action))
        return self._observation(), float(scores[0]), bool(ended[0]), False, self._info()

    def render(self) -> str | None:
        """The last step as text."""
        if self.render_mode is None:
            gymnasium.logger.warn('render() does nothing without a render mode; make the environment with render_mode="ansi".')
            return None
        if not self.markets.batch.started:
            raise EpisodeOver("There is nothing to show yet; call reset() before render().")
        return self.markets.notice()

    def _mechanism(self, action: Any) -> Rows:
        return mechanism_rows([in_words(action)])

    def _observation(self) -> Any:
        return observation_of(self.markets.view())

    def _info(self) -> dict[str, Any]:
        return self.markets.info()


class DaedalusFlatEnv(DaedalusEnv):
    """`Daedalus-v0` with `MultiDiscrete` actions and `Box` observations; `locked` holds some fields at one value."""

    def __init__(self, render_mode: str | None = None, locked: Mapping[str, Any] | None = None, **options: Any) -> None:
        super().__init__(render_mode, **options)
        self.choice = LevelChoice.with_locked(locked)
        self._mask = self.choice.mask()
        self.action_space = LevelSpace(self.choice)
        self.observation_space = feature_space()

    def action_masks(self) -> NDArray[np.int8]:
        """Every level that may be chosen, field after field."""
        return self._mask.copy()

    def _mechanism(self, action: Any) -> Rows:
        return rows_of_levels(self.choice.checked([action], 1))

    def _observation(self) -> NDArray[np.float32]:
        features: NDArray[np.float32] = features_of(self.markets)[0]
        return features

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self.action_masks(), **super()._info()}
