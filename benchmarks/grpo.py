"""A step of GRPO with our rollouts against the same step with TRL's own generation, and how much of it the rewards take.

Both train a copy of one model on the same states with the same rewards. Ours decodes under the schema, asks the model only where there is
a choice, and shares the system message between prompts; TRL's generates freely with `generate` and scores whole sequences. The first
step of each is not counted.
"""

from __future__ import annotations

import dataclasses
import logging
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from transformers import PrinterCallback, TrainerCallback

from benchmarks.command import report, start, targets_table
from benchmarks.measuring import machine_facts, summary, target
from edgeworth.cli.console import table
from edgeworth.cli.options import AsJson, OutFile, Seed
from edgeworth.config import config_folder
from edgeworth.llm.local.folders import find
from edgeworth.progress import Progress, silent
from edgeworth.training.designer.grpo import make_trainer, rollouts_of
from edgeworth.training.designer.models import load_student
from edgeworth.training.designer.rewards import Judge
from edgeworth.training.designer.settings import GRPOSettings, load_settings
from edgeworth.training.designer.states import States, play_states

LABELS = {"ours": "our rollouts, constrained", "stock": "TRL's generation, free"}
MOST_ON_DEVICE = 128
"""Completions of one pass; more are split over several."""
LONGEST = 160
"""Tokens of a completion, at most; a mechanism takes about 110 of the bundled model's."""


class Clock(TrainerCallback):
    """The seconds of every step, and those of its rewards."""

    def __init__(self, judge: Judge) -> None:
        self.judge, self.steps, self.rewards = judge, [], []  # type: ignore[var-annotated]

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.began, self.judged = _now(), self.judge.seconds

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.steps.append(_now() - self.began)
        self.rewards.append(self.judge.seconds - self.judged)


def _now() -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def measured(settings: GRPOSettings, states: States) -> Clock:
    """Train for some steps, and read the clock."""
    judge = Judge(states, settings.reward)
    model, tokenizer = load_student(find(settings.model), settings.tuning)
    clock = Clock(judge)
    with tempfile.TemporaryDirectory() as folder:
        trainer = make_trainer(settings, Path(folder), model, tokenizer, states, judge, rollouts_of(settings, model, tokenizer))
        trainer.remove_callback(PrinterCallback)
        trainer.add_callback(clock)
        trainer.train()
    return clock


def run(model: str, completions: int, steps: int, seed: int, progress: Progress = silent) -> dict[str, Any]:
    """Measure both ways of writing completions."""
    logging.getLogger("transformers").setLevel(logging.ERROR)
    changes = {"model": model, "states": 4 * completions, "seed": seed, "markets": {"players": ["policy"]}, "validation": {"episodes": 0}}
    file = load_settings(config_folder() / "grpo_pocket.yaml", "grpo", changes)
    batch = min(completions, MOST_ON_DEVICE)
    optimization = dataclasses.replace(
        file.optimization, steps=steps + 1, batch=batch, accumulation=completions // batch, save_every=steps + 2
    )
    settings = dataclasses.replace(file, optimization=optimization, replacements=0, max_tokens=LONGEST, beta=0.0)
    states = play_states(settings.markets, settings.states, seed)
    clocks = {}
    for done, (name, constrained) in enumerate((("stock", False), ("ours", True))):
        progress(LABELS[name], done, 2)
        clocks[name] = measured(dataclasses.replace(settings, constrained=constrained), states)
    on_gpu = torch.cuda.is_available()
    faster = [stock / ours for stock, ours in zip(clocks["stock"].steps[1:], clocks["ours"].steps[1:], strict=True)]
    share = [reward / step for reward, step in zip(clocks["ours"].rewards[1:], clocks["ours"].steps[1:], strict=True)]
    return {
        "quantity": "seconds of a step, rollouts, rewards and update together, median of the steps",
        "seed": seed,
        "model": model,
        "completions": completions,
        "machine": {**machine_facts(), "torch": torch.__version__, "gpu": torch.cuda.get_device_name() if on_gpu else None},
        "entries": {name: {"label": LABELS[name], **summary(clock.steps[1:])} for name, clock in clocks.items()},
        "targets": [
            target("a step with TRL's generation / with ours", faster, ">=", 5.0 if on_gpu else 4.0, "times"),
            target("rewards, of a step with ours", share, "<=", 0.05, ""),
        ],
    }


def _page(result: dict[str, Any]) -> Any:
    found = table("entry", "seconds", "quartiles", title=f"A step of {result['completions']} completions")
    for entry in result["entries"].values():
        low, high = entry["interquartile_range"]
        found.add_row(entry["label"], f"{entry['median']:.3g}", f"{low:.3g} – {high:.3g}")
    yield from (found, "", targets_table(result))


def main(
    model: Annotated[str, typer.Option(help="The model: pocket, a folder or a name on the hub.")] = "pocket",
    completions: Annotated[int, typer.Option(min=8, help="Completions of a step, in groups of eight.")] = 16,
    steps: Annotated[int, typer.Option(min=1, help="Steps that are measured.")] = 3,
    seed: Seed = 0,
    out_file: OutFile = None,
    as_json: AsJson = False,
) -> None:
    """Compare a step of GRPO with our rollouts and with TRL's own generation.

    Example: python -m benchmarks.grpo --completions 512 --steps 5
    """
    report(lambda progress: run(model, completions, steps, seed, progress), _page, as_json, out_file)


if __name__ == "__main__":
    start(main)
