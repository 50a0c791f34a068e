# %% [markdown]
# # A policy of your own, with Stable-Baselines3
#
# `DealOrNoDialogFlat-v0` has one discrete action and 18 features, so that any learner of Stable-Baselines3 can play it. PPO does not know
# which actions are legal: an illegal one costs it a point and the turn. MaskablePPO (`pip install sb3-contrib`) asks the environment for
# its `action_masks()` and never tries one.

# %%
from __future__ import annotations

import gymnasium
import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

from edgeworth import FlatActionEnv

STEPS = 40_000
SETTINGS = {"n_steps": 256, "batch_size": 512, "learning_rate": 1e-3, "ent_coef": 0.01, "gamma": 1.0, "seed": 0, "device": "cpu"}
torch.set_num_threads(1)

# %% [markdown]
# Both train for the same number of moves against the partner of the scenario `classic`.

# %%
penalty = make_vec_env(lambda: FlatActionEnv(on_illegal="penalty"), n_envs=8, seed=0)
plain = PPO("MlpPolicy", penalty, **SETTINGS).learn(STEPS)
masked = MaskablePPO("MlpPolicy", make_vec_env(FlatActionEnv, n_envs=8, seed=0), **SETTINGS).learn(STEPS)

# %% [markdown]
# Then each plays 2,000 fresh episodes side by side, together with random legal play.


# %%
def share_of_maximum(choose, episodes: int = 2000) -> tuple[float, float]:
    """Σ reward / Σ maximum over the first episode of each of so many seeds, and how many of them paid."""
    envs = gymnasium.make_vec("DealOrNoDialogFlat-v0", num_envs=episodes, on_illegal="penalty")
    features, info = envs.reset(seed=10_000)
    maximum, reward, over = envs.batch.state["maximum"][:, 0].sum(), np.zeros(episodes), np.zeros(episodes, bool)
    while not over.all():
        actions = choose(features, info["action_mask"], envs)
        features, rewards, ended, _, info = envs.step(actions)
        reward += np.where(over, 0.0, rewards)
        over |= ended
    return reward.sum() / maximum, float((reward > 0).mean())


agents = {
    "random legal play": lambda features, masks, envs: envs.random_actions(),
    "PPO": lambda features, masks, envs: plain.predict(features, deterministic=True)[0],
    "MaskablePPO": lambda features, masks, envs: masked.predict(features, deterministic=True, action_masks=masks)[0],
}
print(f"after {STEPS:,} moves of training\n\n{'agent':20}{'share of maximum':>18}{'episodes that paid':>20}")
for name, choose in agents.items():
    share, paid = share_of_maximum(choose)
    print(f"{name:20}{share:>18.3f}{paid:>20.3f}")
print("\nblind Bayes, the best without knowledge of the partner, has 0.665 (docs/results.md).")
