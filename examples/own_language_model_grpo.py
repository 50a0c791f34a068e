# %% [markdown]
# # A language model of your own as designer, by GRPO
#
# TRL's `GRPOTrainer` trains any causal language model with a chat template on the market's own scores. A prompt is a market at some step;
# every completion of a group is tried in that very market under the same chances; the rewards are those of the market. `MODEL` may be a
# name on the hub or a folder. Here it is the bundled `pocket` model, for a few steps on one core, to show the moving parts. Real runs
# take hundreds of steps and a GPU: `edgeworth designer grpo --help`.

# %%
from __future__ import annotations

import logging
import os
import tempfile
from pathlib import Path

os.environ.setdefault("TQDM_DISABLE", "1")

import torch
from transformers import PrinterCallback, TrainerCallback

from edgeworth.config import config_folder
from edgeworth.llm.local.folders import find
from edgeworth.training.designer.grpo import make_trainer, rollouts_of
from edgeworth.training.designer.models import load_student
from edgeworth.training.designer.rewards import Judge
from edgeworth.training.designer.settings import load_settings
from edgeworth.training.designer.states import play_states

MODEL, STEPS = "pocket", 4
torch.set_num_threads(1)
logging.getLogger("transformers").setLevel(logging.ERROR)

# %% [markdown]
# Settings are those of `configs/grpo_pocket.yaml`, with small numbers: 64 states, two groups of eight completions per step.

# %%
changes = {
    "model": MODEL,
    "states": 64,
    "markets": {"players": ["policy"]},
    "optimization": {"steps": STEPS, "batch": 16, "accumulation": 1, "save_every": STEPS + 1},
    "validation": {"episodes": 0},
}
settings = load_settings(config_folder() / "grpo_pocket.yaml", "grpo", changes)
states = play_states(settings.markets, settings.states, settings.seed)
print(f"{len(states)} states; the end of the first prompt:\n")
print("\n".join(states.prompts[0][-1]["content"].splitlines()[-6:]))

# %% [markdown]
# The judge scores a completion by continuing its state. A legal mechanism earns the market's score, anything else only a format reward.

# %%
judge = Judge(states, settings.reward)
for reply in ('{"auction_type": "lottery"}', "I would rather not say."):
    judged = judge.judge([reply], [0])
    print(f"{reply:32} {judged.reasons[0]}, format reward {judged.rewards['format'][0]:.1f}")


# %%
class Report(TrainerCallback):
    """Prints what TRL logs at every step."""

    def on_log(self, args, state, control, logs=None, **_):
        if logs and "reward" in logs:
            print(f"step {state.global_step}: reward {logs['reward']:.3f}, spread in groups {logs['reward_std']:.3f}")


model, tokenizer = load_student(find(settings.model), settings.tuning, "cpu")
trainer = make_trainer(settings, Path(tempfile.mkdtemp()), model, tokenizer, states, judge, rollouts_of(settings, model, tokenizer))
trainer.remove_callback(PrinterCallback)
trainer.add_callback(Report())
print()
trainer.train()
print(f"\nThe rewards of {STEPS} steps took {judge.seconds:.1f} seconds; the rest is the model's.")
