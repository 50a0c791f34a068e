"""`Daedalus-v0` and `DaedalusFlat-v0`: design a market step by step, as Gymnasium environments, one market or many at a time.

`Daedalus-v0` takes mechanisms and returns a dictionary; `DaedalusFlat-v0` is for off-the-shelf learners: its action is eleven levels
(`daedalus_spaces.py`), its observation the features of `daedalus_features.py`, and `action_masks()` is what masked learners such as
MaskablePPO ask for. `gymnasium.make_vec` gives either name the vector environment, N markets per call of the compiled rules, with levels
and features. `docs/games/auction.md` describes the game, its observations, actions, rewards and options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from edgeworth.config import AuctionConfig
from edgeworth.envs.daedalus_features import feature_space, features_of
from edgeworth.envs.daedalus_spaces import (
    RESET_OPTIONS,
    LevelSpace,
    config_after,
    in_words,
    mechanism_space,
    observation_space,
    rows_of_levels,
)
from edgeworth.envs.designed_markets import DesignedMarkets
from edgeworth.envs.options import RENDER_MODES, checked_autoreset_mode, checked_render_mode, checked_reset_mask
from edgeworth.errors import InvalidOption
from edgeworth.games.auction.action import action_of, completed, mechanism_rows
from edgeworth.games.auction.batch import Rows
from edgeworth.games.auction.market_view import observation_of
from edgeworth.games.auction.vocabulary import RULES
from edgeworth.seeding import checked_seed

Features = NDArray[np.float32]
StepResult = tuple[Features, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]


class DaedalusEnv(gymnasium.Env[Any, Any]):
    """Set the rules of a repeated auction whose bidders adapt to them, without knowing who they are."""

    metadata = {"render_modes": RENDER_MODES, "render_fps": 1}  # noqa: RUF012 - Gymnasium's own way

    def __init__(self, render_mode: str | None = None, **options: Any) -> None:
        self.render_mode = checked_render_mode(render_mode)
        self.markets = DesignedMarkets(AuctionConfig.from_options(**options), 1)
        self.observation_space = observation_space()
        self.action_space = mechanism_space()
        self._posted: Rows | None = None
        self._filled: tuple[str, ...] = ()

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
        self._posted, self._filled = None, ()
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Post a mechanism and let five sales run under it; with `partial: True` in it, missing fields stay as they are."""
        action, filled = completed(action, lambda: None if self._posted is None else action_of(self._posted[0]).model_dump())
        posted = self._mechanism(action)
        scores, ended = self.markets.step(posted)
        self._posted, self._filled = posted, filled
        return self._observation(), float(scores[0]), bool(ended[0]), False, self._info()

    def render(self) -> str | None:
        """The last step as text."""
        if self.render_mode is None:
            gymnasium.logger.warn('render() does nothing without a render mode; make the environment with render_mode="ansi".')
            return None
        return self.markets.notice()

    def _mechanism(self, action: Any) -> Rows:
        return mechanism_rows([in_words(action)])

    def _observation(self) -> Any:
        return observation_of(self.markets.view())

    def _info(self) -> dict[str, Any]:
        return {**self.markets.info(), **({"filled": self._filled} if self._filled else {})}


class DaedalusFlatEnv(DaedalusEnv):
    """`Daedalus-v0` with `MultiDiscrete` actions and `Box` observations; `locked` holds some fields at one value."""

    def __init__(self, render_mode: str | None = None, locked: Mapping[str, Any] | None = None, **options: Any) -> None:
        super().__init__(render_mode, **options)
        self.action_space = self._levels = LevelSpace(locked)
        self._mask = self._levels.mask()
        self.observation_space = feature_space()

    def action_masks(self) -> NDArray[np.int8]:
        """Every level that may be chosen, field after field."""
        return self._mask.copy()

    def _mechanism(self, action: Any) -> Rows:
        return rows_of_levels(self._levels.checked(action))

    def _observation(self) -> NDArray[np.float32]:
        features: NDArray[np.float32] = features_of(self.markets)[0]
        return features

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self.action_masks(), **super()._info()}


class DaedalusVectorEnv(VectorEnv[Features, NDArray[np.int64], NDArray[Any]]):
    """Many markets side by side, with levels for actions and features for observations; `locked` holds some fields at one value.

    Market *i* of seed s plays exactly what a single environment with seed s + i plays, as long as no curriculum joins them. By default an
    episode that ends is followed at once by the next (same-step autoreset): observations and infos show the new episode,
    `infos["final_obs"]` and `infos["final_info"]` the end of the old one, valid where `infos["_final_obs"]` is true.
    """

    def __init__(
        self,
        num_envs: int = 1,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        locked: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self.render_mode = checked_render_mode(render_mode)
        self.autoreset_mode = checked_autoreset_mode(autoreset_mode)
        self.metadata = {"render_modes": RENDER_MODES, "autoreset_mode": self.autoreset_mode}
        self.markets = DesignedMarkets(AuctionConfig.from_options(**options), num_envs)
        self.num_envs = num_envs
        self.single_observation_space = feature_space()
        self.single_action_space = LevelSpace(locked)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = self._levels = LevelSpace(locked, num_envs)
        self._mask = self._levels.mask()

    @property
    def config(self) -> AuctionConfig:
        """The options in force."""
        return self.markets.config

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Features, dict[str, Any]]:
        """Begin new episodes: all of them, or those that `options["reset_mask"]` names."""
        chosen = checked_reset_mask((options or {}).get("reset_mask"), self.num_envs, self.markets.batch.started)
        config = config_after(self.config, options, also_known=("reset_mask",))
        if chosen is not None and config is not self.config:
            raise InvalidOption(f"reset_mask begins some of the markets; {', '.join(RESET_OPTIONS)} change only for all of them at once.")
        self.markets.batch.seed(seed, chosen)
        if isinstance(seed, int | np.integer):
            super().reset(seed=int(seed))
        self.markets.reconfigure(config)
        self.markets.begin(chosen)
        return features_of(self.markets), self._infos()

    def step(self, actions: NDArray[np.int64]) -> StepResult:
        """One step of every market, or an error before any has moved."""
        mechanisms = rows_of_levels(self._levels.checked(actions))
        if self.autoreset_mode is AutoresetMode.NEXT_STEP:
            scores, ended = self._step_or_begin(mechanisms)
        else:
            scores, ended = self.markets.step(mechanisms)
        endings: dict[str, Any] = {}
        if self.autoreset_mode is AutoresetMode.SAME_STEP and ended.any():
            endings = {"final_obs": features_of(self.markets) * ended[:, None], "final_info": self._infos()}
            endings |= {"_final_obs": ended.copy(), "_final_info": ended.copy()}
            self.markets.begin(ended)
        return features_of(self.markets), scores, ended, np.zeros(self.num_envs, np.bool_), {**self._infos(), **endings}

    def action_masks(self) -> NDArray[np.int8]:
        """Every level that may be chosen, field after field, one row per market."""
        return self._mask.copy()

    def render(self) -> tuple[str, ...] | None:
        """The last step of every market as text."""
        if self.render_mode is None:
            return None
        return tuple(self.markets.notice(slot) for slot in range(self.num_envs))

    def _step_or_begin(self, mechanisms: Rows) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Markets whose episode has ended begin the next one; the others play."""
        over = self.markets.steps >= self.config.episode_length
        if not self.markets.batch.started or not over.any():
            return self.markets.step(mechanisms)
        self.markets.begin(over)
        if over.all():
            return np.zeros(self.num_envs), np.zeros(self.num_envs, np.bool_)
        return self.markets.step(mechanisms, playing=~over)

    def _infos(self) -> dict[str, Any]:
        rules = np.full(self.num_envs, RULES)
        parts = {"components": self.markets.components(), "truth": self.markets.truth()}
        return {"action_mask": self.action_masks(), "rules": rules, **parts}
