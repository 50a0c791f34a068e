# %% [markdown]
# # A negotiator in one minute
#
# PPO from this package is one compiled program. Two million moves take seconds on one core and bring a network near the best that an
# agent without knowledge of its partner can do. `edgeworth train --config ppo_fast` does the same from the command line.

# %%
from __future__ import annotations

import tempfile
import time
from pathlib import Path

from edgeworth.agents.negotiators.learned import negotiator_of
from edgeworth.evaluation.episodes import play_episodes
from edgeworth.evaluation.statistics import ratio
from edgeworth.training.run import Run
from edgeworth.training.settings import load_settings

# %%
settings = load_settings(Path("ppo_fast"), {"seed": 1, "num_train_steps": 2_000_000, "logging": {"tensorboard": False}})
folder = Path(tempfile.mkdtemp()) / "negotiator"
run = Run.begin(settings, folder, "examples/negotiator_in_a_minute.py")
run.iterate()  # the first iteration compiles the trainer, where no cache holds it
began = time.perf_counter()
run.train()
run.close()
print(f"{run.learner.steps:,} moves in {time.perf_counter() - began:.1f} seconds")

# %% [markdown]
# The run's folder holds settings, curves and checkpoints; any command takes it as an agent (`edgeworth evaluate --agent FOLDER`).

# %%
print(f"\n{'agent':12}share of the maximum over 5,000 episodes, with its 95 % interval")
for name in ("random", "concession", str(folder), "bayes", "oracle"):
    played = play_episodes(settings.game, negotiator_of(name), episodes=5000, seed=0)
    print(f"{'this run' if '/' in name else name:12}{ratio(played.reward, played.maximum):.3f}")
