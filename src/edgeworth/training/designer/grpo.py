"""GRPO (Shao et al. 2024; TRL's `GRPOTrainer`): every prompt is a state of a market, every reward the market's own.

In constrained mode the completions are written by our decoder under the schema (`constrained.Rollouts`), and groups whose rewards are all
equal, from which nothing could be learnt, are replaced by groups of other states. In free mode TRL generates, by the model itself or by
vLLM, and the format reward teaches the JSON, as in the published training.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.errors import InvalidOption, MissingExtra
from edgeworth.llm.local.folders import find
from edgeworth.progress import Progress, silent
from edgeworth.seeding import generator
from edgeworth.training.designer.rewards import Judge, reward_functions
from edgeworth.training.designer.settings import REWARDS, GRPOSettings
from edgeworth.training.designer.states import States, play_states

if TYPE_CHECKING:
    from edgeworth.training.designer.constrained import Rollouts


class GroupRollouts:
    """Chooses states and writes a group of completions for each, as TRL's `rollout_func`."""

    def __init__(self, states: States, judge: Judge, settings: GRPOSettings, rollouts: Rollouts) -> None:
        self.states, self.judge, self.settings, self.rollouts = states, judge, settings, rollouts
        self.prompts: dict[int, list[int]] = {}

    def __call__(self, prompts: Sequence[Any], trainer: Any) -> dict[str, Any]:
        """Completions for as many prompts as are asked for; their states are ours to choose, the same ones for the same step."""
        groups, place = len(prompts) // self.settings.generations, trainer.accelerator.process_index
        order = generator(self.settings.seed, 5, place, trainer.state.global_step).permutation(len(self.states))
        chosen = order[:groups]
        completions = self._write(chosen, trainer.state.global_step)
        for spell in range(1, self.settings.replacements + 1):
            equal = np.flatnonzero(self._equal(chosen, completions))
            fresh = order[groups * spell : groups * spell + len(equal)]
            if not len(fresh):
                break
            written = self._write(fresh, trainer.state.global_step)
            for group, state, replies in zip(equal, fresh, written, strict=False):
                chosen[group], completions[group] = state, replies
        return self._as_trl(chosen, completions)

    def _write(self, chosen: NDArray[np.int64], step: int) -> list[list[list[int]]]:
        """The groups of some states."""
        size = self.settings.generations
        keys = [f"{state}/{number}" for state in chosen for number in range(size)]
        written = self.rollouts.write(self._prompts(np.repeat(chosen, size)), keys, step)
        return [written[first : first + size] for first in range(0, len(written), size)]

    def _prompts(self, chosen: NDArray[np.int64]) -> list[list[int]]:
        """The prompts of some states as tokens."""
        fresh = [state for state in dict.fromkeys(chosen.tolist()) if state not in self.prompts]
        self.prompts |= zip(fresh, self.rollouts.prompts([self.states.prompts[state] for state in fresh]), strict=True)
        return [self.prompts[state] for state in chosen.tolist()]

    def _equal(self, chosen: NDArray[np.int64], completions: list[list[list[int]]]) -> NDArray[np.bool_]:
        """Which groups have the same reward throughout."""
        texts = [self.rollouts.local.text(reply) for group in completions for reply in group]
        judged = self.judge.judge(texts, np.repeat(chosen, self.settings.generations).tolist())
        spread = np.ptp(self.judge.weighted(judged).reshape(len(chosen), -1), axis=1)
        equal: NDArray[np.bool_] = spread < 1e-9
        return equal

    def _as_trl(self, chosen: NDArray[np.int64], completions: list[list[list[int]]]) -> dict[str, Any]:
        """What TRL expects; `env_mask` keeps forced tokens out of the loss, `state` replaces the dataset's column."""
        written = [reply for group in completions for reply in group]
        masks = []
        for reply in written:
            mask = np.zeros(len(reply), np.int64)
            mask[self.rollouts.grammar.choices(tuple(reply)).places] = 1
            masks.append(mask.tolist())
        states = np.repeat(chosen, self.settings.generations)
        prompts = self._prompts(states)
        return {"prompt_ids": prompts, "completion_ids": written, "logprobs": None, "env_mask": masks, "state": states.tolist()}


def train_grpo(
    settings: GRPOSettings, folder: Path, command: str, resume: bool = False, progress: Progress = silent, device: str = "auto"
) -> dict[str, Any]:
    """Train a model on the market's scores; the card of what was trained is returned."""
    try:
        import trl  # noqa: F401
    except ImportError as error:
        raise MissingExtra("GRPO", "trl and datasets", "designer") from error
    from edgeworth.training.designer.constrained import Student
    from edgeworth.training.designer.models import load_student
    from edgeworth.training.designer.stage import open_run, run_trainer, save_model
    from edgeworth.training.designer.validation import Validation

    check_states(settings)
    found = find(settings.model, settings.revision)
    model, tokenizer = load_student(found, settings.tuning, device)
    log = open_run(folder, "grpo", settings, command, resume)
    rollouts = rollouts_of(settings, model, tokenizer)
    student = Student(rollouts)
    states = play_states(settings.markets, settings.states, settings.seed, progress=progress, student=student)
    trainer = make_trainer(settings, folder, model, tokenizer, states, Judge(states, settings.reward), rollouts)
    validation = Validation(student, settings.validation, folder)
    run_trainer(trainer, folder, log, progress, resume, validation)
    return save_model(trainer, tokenizer, log, "grpo", settings, command, {"states": len(states), "kept_step": validation.best_step})


def check_states(settings: GRPOSettings) -> None:
    """Refuse fewer states than one step of all processes takes: the trainer would end without having made any."""
    use, processes = settings.optimization, int(os.environ.get("WORLD_SIZE", "1"))
    wanted = use.batch * use.accumulation * processes // settings.generations
    if settings.states < wanted:
        raise InvalidOption(
            f"states is {settings.states}, but a step takes {wanted}: batch {use.batch} x accumulation {use.accumulation} x"
            f" {processes} process{'es' * (processes > 1)} / generations {settings.generations}. Raise states, or make the steps smaller."
        )


def rollouts_of(settings: GRPOSettings, model: Any, tokenizer: Any) -> Rollouts:
    """What writes completions with the model, all those of a step side by side."""
    from edgeworth.training.designer.constrained import Rollouts
    from edgeworth.training.designer.models import base_of

    rows = settings.optimization.batch * settings.optimization.accumulation
    return Rollouts.of(base_of(model), tokenizer, settings.temperature, settings.max_tokens, rows)


def make_trainer(settings: GRPOSettings, folder: Path, model: Any, tokenizer: Any, states: States, judge: Judge, rollouts: Rollouts) -> Any:
    """TRL's trainer, with our rewards and, in constrained mode, our rollouts."""
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # that `rollout_func` may change is known; the version is pinned
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    from edgeworth.training.designer.constrained import constrain
    from edgeworth.training.designer.models import base_of
    from edgeworth.training.designer.stage import common_arguments

    use = settings.optimization
    arguments = GRPOConfig(
        **common_arguments(use, folder, settings.seed),
        num_generations=settings.generations,
        max_completion_length=settings.max_tokens,
        temperature=settings.temperature,
        beta=settings.beta,
        scale_rewards=settings.scale,
        num_iterations=settings.iterations,
        reward_weights=[settings.reward.weights.get(name, 0.0) for name in REWARDS],
        gradient_checkpointing=settings.tuning.gradient_checkpointing,
        use_vllm=settings.vllm,
    )
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=reward_functions(judge, settings.generations),
        args=arguments,
        train_dataset=Dataset.from_list([{"prompt": prompt, "state": number} for number, prompt in enumerate(states.prompts)]),
        processing_class=tokenizer,
        rollout_func=GroupRollouts(states, judge, settings, rollouts) if settings.constrained else None,
    )
    if settings.constrained:
        for scored in (trainer.model, trainer.ref_model):
            if scored is not None:
                constrain(base_of(scored), rollouts.grammar, settings.temperature)
    return trainer
