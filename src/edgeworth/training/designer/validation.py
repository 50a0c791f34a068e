"""Validation by play: now and then the model in training designs markets that it is not trained on, and the best model is kept.

Its designs are greedy, its markets have seeds of their own, and held-out populations are not among them. The trained weights of the best
model so far are kept in `best.safetensors`, so that a run that is continued still has them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.torch import save_file
from transformers import TrainerCallback, TrainerControl, TrainerState

from edgeworth.agents.designers.designer import fresh_markets, play_together, scored
from edgeworth.config import AuctionConfig
from edgeworth.files import writing
from edgeworth.progress import Progress, silent
from edgeworth.training.designer.constrained import Student
from edgeworth.training.designer.settings import ValidationSettings
from edgeworth.training.designer.states import VALIDATION_SEEDS

BEST = "best.safetensors"
SCORE, STEP = "validation", "step"
PLAYED_FROM = VALIDATION_SEEDS + 2**43
"""The first seed of the markets that are played."""


class Validation(TrainerCallback):
    """Plays validation markets every so many steps and at the end, and keeps the best weights."""

    def __init__(self, student: Student, settings: ValidationSettings, folder: Path) -> None:
        self.student, self.settings, self.file = student, settings, folder / BEST
        self.add: Callable[[int, Mapping[str, float]], None] = lambda step, metrics: None
        self.progress: Progress = silent

    def reporting_to(self, add: Callable[[int, Mapping[str, float]], None], progress: Progress) -> Validation:
        """Scores are added to a history."""
        self.add, self.progress = add, progress
        return self

    def on_train_begin(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if state.global_step == 0:
            self._validate(state)

    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if state.global_step % self.settings.every == 0 or state.global_step >= state.max_steps:
            self._validate(state)

    def _validate(self, state: TrainerState) -> None:
        """Play, report, and keep the weights if they are the best so far."""
        if not self.settings.episodes:
            return
        self.progress("validating", state.global_step, state.max_steps)
        scores = {f"{SCORE}_{name}": score for name, score in self._scores().items()}
        mean = sum(scores.values()) / len(scores)
        self.add(state.global_step, {SCORE: mean, **scores})
        if mean > self.best_score:
            with writing(self.file):
                save_file(self._weights(), self.file, {SCORE: json.dumps(mean), STEP: json.dumps(state.global_step)})

    def _scores(self) -> dict[str, float]:
        """The mean score on each population, all played at once."""
        names, episodes = self.settings.populations, self.settings.episodes
        games = [scored(fresh_markets(AuctionConfig(stage=name), episodes, PLAYED_FROM)) for name in names]
        return {name: float(scores.mean()) for name, scores in zip(names, play_together(games, self.student.design_all), strict=True)}

    def _weights(self) -> dict[str, Any]:
        """The weights that are trained, of the model without wrappers."""
        model = self.student.rollouts.local.model
        return {name: weight.detach().cpu().contiguous() for name, weight in model.named_parameters() if weight.requires_grad}

    @property
    def best_score(self) -> float:
        """The best score so far."""
        return float(self._fact(SCORE)) if self.file.is_file() else float("-inf")

    @property
    def best_step(self) -> int | None:
        """The step after which the model that is kept was validated; None without validation."""
        return int(self._fact(STEP)) if self.file.is_file() else None

    def _fact(self, name: str) -> float:
        with safe_open(self.file, "pt") as file:
            value: float = json.loads(file.metadata()[name])
            return value

    def restore_best(self) -> None:
        """Give the model its best weights."""
        if self.file.is_file():
            own = dict(self.student.rollouts.local.model.named_parameters())
            with safe_open(self.file, "pt") as file:
                for name in file.keys():  # noqa: SIM118
                    own[name].data.copy_(file.get_tensor(name))
