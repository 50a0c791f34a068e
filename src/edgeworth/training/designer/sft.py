"""Supervised fine-tuning (TRL's `SFTTrainer`): the model imitates a teacher's mechanisms; only the tokens of the reply count."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgeworth.agents.designers.design_prompt import mechanism_json
from edgeworth.errors import MissingExtra
from edgeworth.llm.local.folders import find
from edgeworth.progress import Progress, silent
from edgeworth.seeding import generator
from edgeworth.training.designer.settings import SFTSettings
from edgeworth.training.designer.states import TRAINING_SEEDS, VALIDATION_SEEDS, play_states
from edgeworth.training.designer.teachers import targets
from edgeworth.training.designer.trials import CORES

if TYPE_CHECKING:
    from edgeworth.training.designer.constrained import Student

MAX_TOKENS, AT_A_TIME = 256, 8
"""Longest completion of the model as a designer, and how many it writes side by side, as a multiple of the rows of a batch."""
MANY = 5_000
"""Pairs from which on they are tokenised by several processes."""


def pairs(
    settings: SFTSettings, count: int, first_seed: int, progress: Progress = silent, student: Student | None = None
) -> list[dict[str, Any]]:
    """Prompts with their target mechanisms, as TRL reads conversations."""
    states = play_states(settings.markets, count, settings.seed, first_seed, progress, student)
    rows = targets(states, settings.targets, settings.seed, progress)
    bare = generator(settings.seed, 7).random(count) < (settings.bare if first_seed == TRAINING_SEEDS else 0.0)
    return [
        {
            "prompt": [message for message in prompt if not (alone and message["role"] == "system")],
            "completion": [{"role": "assistant", "content": mechanism_json(row)}],
        }
        for prompt, row, alone in zip(states.prompts, rows, bare, strict=True)
    ]


def train_sft(
    settings: SFTSettings, folder: Path, command: str, resume: bool = False, progress: Progress = silent, device: str = "auto"
) -> dict[str, Any]:
    """Train a model on pairs; the card of what was trained is returned."""
    try:
        from datasets import Dataset
        from trl import SFTConfig, SFTTrainer
    except ImportError as error:
        raise MissingExtra("Supervised fine-tuning", "trl and datasets", "designer") from error
    from edgeworth.training.designer.constrained import Rollouts, Student
    from edgeworth.training.designer.models import base_of, load_student
    from edgeworth.training.designer.stage import common_arguments, open_run, run_trainer, save_model, without_dataset_bars
    from edgeworth.training.designer.validation import Validation

    found = find(settings.model, settings.revision)
    model, tokenizer = load_student(found, settings.tuning, device)
    log = open_run(folder, "sft", settings, command, resume)
    student = Student(Rollouts.of(base_of(model), tokenizer, 1.0, MAX_TOKENS, AT_A_TIME * settings.optimization.batch))
    taught = pairs(settings, settings.states, TRAINING_SEEDS, progress, student)
    held_out = pairs(settings, settings.validation_states, VALIDATION_SEEDS, student=student)
    use = settings.optimization
    arguments = SFTConfig(
        **common_arguments(use, folder, settings.seed),
        completion_only_loss=True,
        max_length=None,
        dataset_num_proc=CORES if len(taught) > MANY else None,
        train_sampling_strategy="group_by_length" if settings.bare else "random",
        gradient_checkpointing=settings.tuning.gradient_checkpointing,
        eval_strategy="steps",
        eval_steps=use.save_every,
        per_device_eval_batch_size=use.batch,
    )
    with without_dataset_bars():
        trainer = SFTTrainer(
            model=model,
            args=arguments,
            train_dataset=Dataset.from_list(taught),
            eval_dataset=Dataset.from_list(held_out),
            processing_class=tokenizer,
        )
    validation = Validation(student, settings.validation, folder)
    run_trainer(trainer, folder, log, progress, resume, validation)
    return save_model(trainer, tokenizer, log, "sft", settings, command, {"pairs": len(taught), "kept_step": validation.best_step})
