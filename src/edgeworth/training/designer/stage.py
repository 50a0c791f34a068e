"""A run of one of the two trainings: its folder, its history, how it stops and continues, and what it leaves.

The folder holds `config.yaml`, `run.json`, `metrics.csv` and `training_history.json` as every run does (`runlog.py`), the trainer's own
checkpoints to continue from in `checkpoints/`, and at the end `model/`: an adapter or a whole model, with a card.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import PrinterCallback, TrainerCallback, TrainerControl, TrainerState

from edgeworth.errors import InvalidOption
from edgeworth.files import write_json, writing
from edgeworth.games.auction.vocabulary import RULES
from edgeworth.llm.huggingface import CARD, TRAINED_ON
from edgeworth.llm.local.folders import MODEL
from edgeworth.llm.local.loading import without_bars
from edgeworth.progress import Progress
from edgeworth.runlog import CHECKPOINTS, CONFIG, STEP, Line, RunLog
from edgeworth.training.designer.models import parameter_counts, save_weights
from edgeworth.training.designer.settings import Optimization, StageSettings, Trainer, as_mapping
from edgeworth.training.designer.validation import Validation
from edgeworth.training.pocket_mechanisms import trained_on
from edgeworth.training.run_loop import Stop, stopping_gracefully

NAMES = {
    "num_tokens": "tokens",
    "completions/mean_length": "completion_length",
    "frac_reward_zero_std": "equal_groups",
    "reward_std": "reward_std_overall",
    "group_std": "reward_std",
}
"""Metrics of TRL, and those that our rewards report to it, by the names of our history."""
TORCH_WRITER = "inline_container"
"""Where torch complains when a file cannot be written."""
UNSAVED = 60.0
"""Seconds of work after which a step is followed by a checkpoint, whatever `save_every` says."""
REWARD_MEAN = re.compile(r"rewards/(\w+)/mean")
LEFT_OUT = re.compile(r"epoch|total_flos|train_.*|eval_(runtime|samples_per_second|steps_per_second|num_tokens)|clip_ratio/(low|high)_.*")


def plain_metrics(logs: Mapping[str, float | None]) -> dict[str, float]:
    """The metrics of a line of the trainer's log, by the names of our history."""
    found: dict[str, float | None] = {}
    for name, value in logs.items():
        if reward := REWARD_MEAN.fullmatch(name):
            found[f"reward_{reward[1]}"] = value
        elif not name.startswith(("rewards/", "completions/")) or name in NAMES:
            found[NAMES.get(name, name)] = value
    return {name: float(value) for name, value in found.items() if value is not None and LEFT_OUT.fullmatch(name) is None}


class Stopping(TrainerCallback):
    """Lets Ctrl-C end the step under way, save and stop. A long step is left as it is, so long steps are saved one by one."""

    def __init__(self, stop: Stop) -> None:
        self.stop, self.saved_at = stop, time.monotonic()

    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        self.stop.cancel_deadline()
        if self.stop.signal is not None:
            control.should_save = control.should_training_stop = True
        elif time.monotonic() - self.saved_at > UNSAVED:
            control.should_save = True

    def on_save(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        self.saved_at = time.monotonic()


class History(TrainerCallback):
    """Writes the trainer's log into the run's folder, and shows progress."""

    def __init__(self, log: RunLog, progress: Progress, seconds: float = 0.0) -> None:
        self.log, self.progress = log, progress
        self.began = time.perf_counter() - seconds

    def on_log(self, args: Any, state: TrainerState, control: TrainerControl, logs: Any = None, **_: Any) -> None:
        self.add(state.global_step, plain_metrics(logs or {}))

    def add(self, step: int, metrics: Mapping[str, float]) -> None:
        """Add a line to the history."""
        if metrics:
            line: Line = {STEP: step, "seconds": round(time.perf_counter() - self.began, 2), **metrics}
            self.log.add(line)
            self.log.write_history()

    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        last = self.log.lines[-1] if self.log.lines else {}
        shown = [f"{name} {float(last[name]):.3g}" for name in ("loss", "reward", "validation") if name in last]
        self.progress(", ".join(shown) or "training", state.global_step, state.max_steps)


def common_arguments(optimization: Optimization, folder: Path, seed: int) -> dict[str, Any]:
    """Arguments that both trainers of TRL share."""
    on_gpu = torch.cuda.is_available()
    return {
        "output_dir": str(folder / CHECKPOINTS),
        "max_steps": optimization.steps,
        "learning_rate": optimization.learning_rate,
        "lr_scheduler_type": optimization.schedule,
        "warmup_steps": optimization.warmup,
        "weight_decay": optimization.weight_decay,
        "max_grad_norm": optimization.gradient_norm,
        "per_device_train_batch_size": optimization.batch,
        "gradient_accumulation_steps": optimization.accumulation,
        "logging_steps": optimization.log_every,
        "save_steps": optimization.save_every,
        "save_total_limit": 1,
        "seed": seed,
        "data_seed": seed,
        "bf16": on_gpu,
        "use_cpu": not on_gpu,
        "report_to": "none",
        "disable_tqdm": True,
        "dataloader_pin_memory": on_gpu,
    }


def is_first_process() -> bool:
    """Whether this is the only process of a run, or the first of several, which writes its folder."""
    return os.environ.get("RANK", "0") == "0"


def open_run(folder: Path, trainer: Trainer, settings: StageSettings, command: str, resume: bool) -> RunLog | None:
    """The folder of a new run, or of one that is continued from its last checkpoint; None where another process writes it."""
    if not is_first_process():
        return None
    if not resume:
        return RunLog.begin(folder, as_mapping(trainer, settings), command, with_tensorboard=False)
    checkpoint = last_checkpoint(folder)
    return RunLog.reopen(folder, int(checkpoint.name.rpartition("-")[2]), with_tensorboard=False)


def last_checkpoint(folder: Path) -> Path:
    """The checkpoint of the trainer that a run is continued from."""
    found = [path for path in (folder / CHECKPOINTS).glob("checkpoint-*") if (path / "trainer_state.json").is_file()]
    if not (folder / CONFIG).is_file() or not found:
        raise InvalidOption(f"{folder} holds no checkpoint to continue from; begin the run without --resume.")
    return max(found, key=lambda path: int(path.name.rpartition("-")[2]))


def run_trainer(trainer: Any, folder: Path, log: RunLog | None, progress: Progress, resume: bool, validation: Validation) -> None:
    """Train to the last step, and go back to the best model; Ctrl-C and SIGTERM end the step under way, save, and stop.

    A step that takes longer is given up, and the run stops with the checkpoint before.
    """
    trainer.remove_callback(PrinterCallback)
    with stopping_gracefully() as stop:
        trainer.add_callback(Stopping(stop))
        if log is not None:
            history = History(log, progress, float(log.lines[-1]["seconds"]) if log.lines else 0.0)
            trainer.add_callback(history)
            trainer.add_callback(validation.reporting_to(history.add, progress))
        with saving(folder), without_bars():
            trainer.train(resume_from_checkpoint=str(last_checkpoint(folder)) if resume else None)
        if stop.signal is not None and trainer.state.global_step < trainer.state.max_steps:
            stop.leave()
        validation.restore_best()


@contextmanager
def saving(folder: Path) -> Iterator[None]:
    """While inside, what cannot be written is reported as such, whichever library was writing."""
    with writing(folder):
        try:
            yield
        except SafetensorError as error:
            raise OSError(str(error)) from error
        except RuntimeError as error:
            if TORCH_WRITER in str(error):
                raise OSError(f"torch could not write a file: {error}") from error
            raise


@contextmanager
def without_dataset_bars() -> Iterator[None]:
    """Preparing a dataset is short; it draws no bars."""
    import datasets

    shown = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            datasets.enable_progress_bars()


def save_model(
    trainer: Any,
    tokenizer: Any,
    log: RunLog | None,
    kind: Trainer,
    settings: StageSettings,
    command: str,
    facts: Mapping[str, Any],
) -> dict[str, Any]:
    """Keep what was trained and its card in `model/`; the card is returned, an empty one where another process keeps them."""
    if log is None:
        leave_group(trainer)
        return {}
    folder, model = log.folder / MODEL, trainer.accelerator.unwrap_model(trainer.model)
    counts = parameter_counts(model)
    with saving(folder):
        save_weights(model, folder)
        tokenizer.save_pretrained(folder)
    card = {
        "what": f"A language model designer of auction markets, trained by {kind.upper()} from {settings.model}.",
        "command": command,
        "rules": {"auction": RULES},
        TRAINED_ON: {"mechanism": trained_on(settings.markets)},
        **counts,
        "settings": as_mapping(kind, settings),
        "steps": trainer.state.global_step,
        "hardware": torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU",
        "training_seconds": log.lines[-1]["seconds"] if log.lines else 0.0,
        **facts,
        "last": {name: value for name, value in (log.lines[-1] if log.lines else {}).items() if value == value},
    }
    write_json(folder / CARD, card)
    leave_group(trainer)
    return card


def leave_group(trainer: Any) -> None:
    """Where several processes have trained: wait for all, and end their connection before any of them ends."""
    if trainer.accelerator.num_processes > 1:
        trainer.accelerator.wait_for_everyone()
        trainer.accelerator.state.destroy_process_group()
