"""`Daedalus-v0`: design a market step by step, as a Gymnasium environment.

A batch of one over the compiled rules. `docs/games/auction.md` describes the game, its observations, actions, rewards and options.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium

from edgeworth.config import AuctionConfig
from edgeworth.envs.daedalus_spaces import action_from, config_after, mechanism_space, observation_space
from edgeworth.envs.designed_markets import DesignedMarkets
from edgeworth.errors import EpisodeOver, UnknownName
from edgeworth.games.auction.action import DaedalusAction, mechanism_rows
from edgeworth.games.auction.market_view import observation_of
from edgeworth.seeding import checked_seed

Observation = dict[str, Any]
RENDER_MODES = ["ansi"]


class DaedalusEnv(gymnasium.Env[Observation, Mapping[str, Any] | DaedalusAction]):
    """Set the rules of a repeated auction whose bidders adapt to them, without being told who they are."""

    metadata = {"render_modes": RENDER_MODES, "render_fps": 1}  # noqa: RUF012 - Gymnasium's own way

    def __init__(self, render_mode: str | None = None, **options: Any) -> None:
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise UnknownName("render mode", render_mode, RENDER_MODES)
        self.markets = DesignedMarkets(AuctionConfig.from_options(**options), 1)
        self.render_mode = render_mode
        self.observation_space = observation_space()
        self.action_space = mechanism_space()

    @property
    def config(self) -> AuctionConfig:
        """The options in force."""
        return self.markets.config

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, dict[str, Any]]:
        """Begin the seed's first episode, or without a seed the next one; `options` hold for it and those that follow."""
        config = config_after(self.config, options)
        self.markets.batch.seed(None if seed is None else checked_seed(seed))
        super().reset(seed=seed)
        self.markets.reconfigure(config)
        self.markets.begin()
        return observation_of(self.markets.view()), self.markets.info()

    def step(self, action: Mapping[str, Any] | DaedalusAction) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Post a mechanism and let five sales run under it."""
        scores, ended = self.markets.step(mechanism_rows([action_from(action)]))
        return observation_of(self.markets.view()), float(scores[0]), bool(ended[0]), False, self.markets.info()

    def render(self) -> str | None:
        """The last step as text."""
        return rendered(self.markets, self.render_mode)


def rendered(markets: DesignedMarkets, render_mode: str | None) -> str | None:
    """The last step of a single market as text, or a word on why there is none."""
    if render_mode is None:
        gymnasium.logger.warn('render() does nothing without a render mode; make the environment with render_mode="ansi".')
        return None
    if not markets.batch.started:
        raise EpisodeOver("There is nothing to show yet; call reset() before render().")
    return markets.notice()
