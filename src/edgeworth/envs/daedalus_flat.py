"""`DaedalusFlat-v0`: the auction game for off-the-shelf learners, with levels for actions and a flat observation.

The action is eleven levels (`games/auction/levels.py`), the observation the features of `daedalus_features.py`. `action_masks()` is what
masked learners such as MaskablePPO ask for, and `info["action_mask"]` holds the same array.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from edgeworth.config import AuctionConfig
from edgeworth.envs.daedalus import RENDER_MODES, DaedalusEnv, rendered
from edgeworth.envs.daedalus_features import feature_space, features_of
from edgeworth.envs.daedalus_spaces import LevelSpace, config_after
from edgeworth.envs.designed_markets import DesignedMarkets
from edgeworth.errors import UnknownName
from edgeworth.games.auction.levels import LevelChoice, rows_of_levels
from edgeworth.seeding import checked_seed

Features = NDArray[np.float32]


class DaedalusFlatEnv(gymnasium.Env[Any, Any]):
    """`Daedalus-v0` with `MultiDiscrete` actions and `Box` observations; `locked` holds some fields at one value."""

    metadata = DaedalusEnv.metadata

    def __init__(self, render_mode: str | None = None, locked: Mapping[str, Any] | None = None, **options: Any) -> None:
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise UnknownName("render mode", render_mode, RENDER_MODES)
        self.choice = LevelChoice.with_locked(locked)
        self._mask = self.choice.mask()
        self.markets = DesignedMarkets(AuctionConfig.from_options(**options), 1)
        self.render_mode = render_mode
        self.action_space = LevelSpace(self.choice)
        self.observation_space = feature_space()

    @property
    def config(self) -> AuctionConfig:
        """The options in force."""
        return self.markets.config

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Features, dict[str, Any]]:
        """Begin the seed's first episode, or without a seed the next one; `options` hold for it and those that follow."""
        config = config_after(self.config, options)
        self.markets.batch.seed(None if seed is None else checked_seed(seed))
        super().reset(seed=seed)
        self.markets.reconfigure(config)
        self.markets.begin()
        return features_of(self.markets)[0], self._info()

    def step(self, action: Any) -> tuple[Features, float, bool, bool, dict[str, Any]]:
        """Post a mechanism and let five sales run under it."""
        scores, ended = self.markets.step(rows_of_levels(self.choice.checked([action], 1)))
        return features_of(self.markets)[0], float(scores[0]), bool(ended[0]), False, self._info()

    def action_masks(self) -> NDArray[np.int8]:
        """Every level that may be chosen, field after field."""
        return self._mask.copy()

    def render(self) -> str | None:
        """The last step as text."""
        return rendered(self.markets, self.render_mode)

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self.action_masks(), **self.markets.info()}
