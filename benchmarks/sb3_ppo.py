"""PPO of Stable-Baselines3 in the same episodes, for comparison: its own loop, loss, buffer and optimizer, at our settings.

Episodes, inputs and the scale of rewards are those of our torch learner, so they cannot differ. The network is ours too: two tanh layers of
64 under the heads and the value, shared. Left to itself the library would train two such networks, one for the moves and one for the
values, which takes longer. Its value loss is the whole mean squared error where ours is half of it, so the weight is halved.

The library's PPO knows no masks. An illegal move becomes the nearest legal one instead: more units than there are mean all of them, and
AGREE to nothing becomes PROPOSE with the numbers drawn beside it. In speed this errs in its favour, since no mask is computed, stored or
applied. In what is learnt it goes both ways: "all of it" is the same move in every pool, but numbers that nobody reads count as part of
the move. Nothing is logged, and no wrapper keeps statistics of episodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import stable_baselines3
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor, nn

from edgeworth.agents.policy_layout import ACTS, PolicyShape
from edgeworth.config import BargainingConfig
from edgeworth.games.bargaining.vocabulary import ITEM_TYPES, Act
from edgeworth.training.ppo import PPO
from edgeworth.training.practice import Metrics
from edgeworth.training.settings import PPOSettings

VERSION: str = stable_baselines3.__version__


def nearest_legal(
    moves: NDArray[np.int64], legal: NDArray[np.int8], caps: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Acts and shares of moves (N, 4): an act that is illegal now becomes PROPOSE, and units beyond the pool are the whole pool."""
    acts = moves[:, 0]
    allowed = legal[np.arange(len(acts)), acts] != 0
    return np.where(allowed, acts, int(Act.PROPOSE)), np.minimum(moves[:, 1:], caps)


class Talks(VecEnv):
    """The talks of one of our learners as the library's vector environment; they begin once, and then follow each other."""

    def __init__(self, ours: PPO) -> None:
        self.practice, self.scale = ours.practice, ours.scale
        size, width = self.practice.inputs.shape
        choices = [ACTS, *[ours.shape.units + 1] * ITEM_TYPES]
        self.infos: list[dict[str, Any]] = [{} for _ in range(size)]
        super().__init__(size, spaces.Box(-np.inf, np.inf, (width,), np.float32), spaces.MultiDiscrete(choices))

    def reset(self) -> NDArray[np.float32]:
        return self.practice.inputs.copy()

    def step_async(self, actions: NDArray[np.int64]) -> None:
        self.moves = actions

    def step_wait(self) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], list[dict[str, Any]]]:
        practice = self.practice
        points, ended = practice.step(*nearest_legal(self.moves, practice.legal, practice.caps))
        return practice.inputs.copy(), points * self.scale, ended, self.infos

    def close(self) -> None:
        self.practice.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [None] * self.num_envs  # asked for `render_mode` alone

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise NotImplementedError

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        raise NotImplementedError

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> Sequence[bool]:
        return [False] * self.num_envs


class Trunk(BaseFeaturesExtractor):
    """The tanh layers under all heads."""

    def __init__(self, observation_space: spaces.Box, hidden: int, layers: int) -> None:
        super().__init__(observation_space, hidden)
        widths = [observation_space.shape[0], *[hidden] * layers]
        made = [(nn.Linear(before, after), nn.Tanh()) for before, after in pairwise(widths)]
        self.layers = nn.Sequential(*(part for layer in made for part in layer))

    def forward(self, observations: Tensor) -> Tensor:
        """What the heads see."""
        hidden: Tensor = self.layers(observations)
        return hidden


class SB3PPO:
    """The library's learner, an iteration at a time."""

    def __init__(self, game: BargainingConfig, settings: PPOSettings, shape: PolicyShape, seed: int) -> None:
        self.talks = Talks(PPO(game, settings, shape, seed))
        self.moves = settings.rollout * settings.num_envs
        self.steps = self.iteration = 0
        trunk = {"hidden": shape.hidden, "layers": shape.layers}
        self.model: Any = stable_baselines3.PPO(
            "MlpPolicy",
            self.talks,
            learning_rate=settings.learning_rate,
            n_steps=settings.rollout,
            batch_size=settings.minibatch,
            n_epochs=settings.epochs,
            gamma=settings.gamma,
            gae_lambda=settings.gae_lambda,
            clip_range=settings.clip,
            clip_range_vf=settings.clip_value,
            normalize_advantage=settings.normalize_advantages,
            ent_coef=settings.entropy,
            vf_coef=settings.value / 2.0,
            max_grad_norm=settings.gradient_norm,
            target_kl=settings.target_kl,
            policy_kwargs={"features_extractor_class": Trunk, "features_extractor_kwargs": trunk, "net_arch": []},
            seed=seed,
            device=torch.device("cpu"),
        )
        self.model.set_logger(Logger(None, []))

    def iterate(self) -> Metrics:
        """One rollout and what is learnt from it; how the episodes went."""
        self.model.learn(self.moves, log_interval=2, reset_num_timesteps=False)  # one iteration has no second to log
        self.steps += self.moves
        self.iteration += 1
        return self.talks.practice.report()
