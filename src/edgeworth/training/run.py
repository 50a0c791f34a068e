"""A training run of a negotiator: a learner, its stages, its folder; from the first move, or from where it was left.

The loop is `run_loop.py`, the same for every algorithm and backend. `best` holds the network that earned the largest share of the maximum
between two checkpoints, among those of the present stage.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from edgeworth.agents.policy_layout import PolicyShape
from edgeworth.agents.trained_network import GAME
from edgeworth.progress import Progress as Watch
from edgeworth.progress import silent
from edgeworth.runlog import BEST, LAST, STEP, Line, RunLog, last_checkpoint, refuse_existing, write_config
from edgeworth.training.curriculum import Stage, check_later_stages, make_learner, shape_for, stage_at, stages_of
from edgeworth.training.learner import NegotiationLearner, carry_over
from edgeworth.training.practice import Metrics
from edgeworth.training.run_loop import RunLoop, Spent, learner_state
from edgeworth.training.settings import RehearsalSettings, TrainSettings, as_mapping, plain

NOT_A_SUM = "latency"


@dataclass
class Progress(Spent):
    """What a run of negotiations remembers; its best is the largest share of the maximum that a checkpoint of this stage has had."""

    share_sum: float = 0.0
    """Share of the maximum times episodes, over the iterations since the last regular checkpoint."""
    episode_sum: float = 0.0
    hint_counts: dict[str, int | str] = field(default_factory=dict)
    """What was counted before the present learner began to count."""

    def note(self, metrics: Metrics) -> None:
        """Take the episodes of an iteration into account."""
        if metrics["episodes"]:
            self.share_sum += metrics["share_of_maximum"] * metrics["episodes"]
            self.episode_sum += metrics["episodes"]

    def score(self) -> float | None:
        """The share of the maximum since the last regular checkpoint, which is now."""
        score = self.share_sum / self.episode_sum if self.episode_sum else None
        self.share_sum = self.episode_sum = 0.0
        return score


class Run(RunLoop):
    """One run, begun or continued: see `begin` and `resume`."""

    settings: TrainSettings
    shape: PolicyShape
    learner: NegotiationLearner
    progress: Progress

    def __init__(
        self,
        settings: TrainSettings,
        stages: tuple[Stage, ...],
        shape: PolicyShape,
        number: int,
        learner: NegotiationLearner,
        progress: Progress,
        log: RunLog,
    ) -> None:
        super().__init__(settings, shape, learner, progress, log)
        self.stages, self.number = stages, number

    @classmethod
    def begin(cls, settings: TrainSettings, folder: Path, command: str, watch: Watch = silent) -> Run:
        """A new run in a new folder; what cannot be trained is refused before anything is written. `watch` sees the rehearsal, if any."""
        refuse_existing(folder)
        stages = stages_of(settings)
        shape = shape_for(settings, stages)
        check_later_stages(stages)
        learner = make_learner(settings, stages, shape, 0)
        progress = Progress()
        if settings.rehearsal is not None:
            _rehearse(settings, settings.rehearsal, stages[0], learner, progress, watch)
        log = RunLog.begin(folder, as_mapping(settings), command, settings.logging.csv, settings.logging.tensorboard)
        run = cls(settings, stages, shape, 0, learner, progress, log)
        if settings.rehearsal is not None:
            log.add({STEP: 0, "iteration": 0, "negotiations": settings.rehearsal.negotiations, **progress.times()})
        run.save(LAST)
        return run

    @classmethod
    def resume(cls, settings: TrainSettings, folder: Path) -> Run:
        """A run taken up where its last checkpoint left it; one that goes on further than it was to go remembers how far."""
        checkpoint = last_checkpoint(folder)
        stages, number = stages_of(settings), int(checkpoint.facts["stage"])
        shape = shape_for(settings, stages)
        state = learner_state(checkpoint, shape)
        learner = make_learner(settings, stages, shape, number)
        learner.load_state(state)
        log = RunLog.reopen(folder, learner.steps, settings.logging.csv, settings.logging.tensorboard)
        run = cls(settings, stages, shape, number, learner, Progress(**checkpoint.facts["progress"]), log)
        if not run.over:
            write_config(folder, as_mapping(settings))
        return run

    def iterate(self) -> Line:
        """One iteration, in the stage that is due."""
        self._enter_stage()
        return super().iterate()

    def _enter_stage(self) -> None:
        """Begin the episodes of the stage that is due, with the network and its optimizer as they are."""
        number = stage_at(self.stages, self.learner.steps)
        if number != self.number:
            self.progress.hint_counts = self.hint_counts()
            after = make_learner(self.settings, self.stages, self.shape, number)
            carry_over(self.learner, after)
            self.learner.close()
            self.learner, self.number = after, number
            self.progress.best = None  # shares of different games cannot be compared
            self.progress.score()

    def line(self, metrics: Metrics, times: Mapping[str, float]) -> Line:
        """The line of an iteration, with its stage and its hints."""
        self.progress.note(metrics)
        hints = {f"hint_{name}": value for name, value in self.hint_counts().items()}
        return {**super().line(metrics, times), "stage": self.number, **hints}

    def hint_counts(self) -> dict[str, int | str]:
        """What the hint providers have counted over the whole run."""
        return added(self.progress.hint_counts, self.learner.hint_counts)

    def save_regularly(self) -> None:
        """Keep the network as the best where it is, and the run as the last."""
        score, progress = self.progress.score(), self.progress
        if score is not None and self.settings.self_play is None and (progress.best is None or score > progress.best):
            progress.best = score
            self.save(BEST, whole=False)
        self.save(LAST)

    def facts(self) -> dict[str, Any]:
        """What a checkpoint says of itself."""
        stage, settings = self.stages[self.number], self.settings
        return {
            "game": GAME,
            "algo": settings.algo,
            "backend": settings.backend,
            STEP: self.learner.steps,
            "iteration": self.learner.iteration,
            "stage": self.number,
            "shape": asdict(self.shape),
            "env": plain(asdict(stage.game)),
            "hints": plain(asdict(stage.hints)),
            "progress": {**asdict(self.progress), "hint_counts": self.hint_counts()},
            "settings": as_mapping(settings),
        }


def _rehearse(
    settings: TrainSettings, rehearsal: RehearsalSettings, stage: Stage, learner: NegotiationLearner, progress: Progress, watch: Watch
) -> None:
    """Give the learner a network that has rehearsed, and count the time that this took."""
    from edgeworth.training.fused.rehearsal import rehearse

    began, busy = time.perf_counter(), time.process_time()
    parameters = rehearse(stage.game, learner.shape, rehearsal, settings.learner, learner.scale, settings.seed, watch)
    learner.load_state({**learner.state(), "parameters": parameters})
    progress.seconds, progress.cpu_seconds = time.perf_counter() - began, time.process_time() - busy


def added(before: Mapping[str, int | str], now: Mapping[str, int | str]) -> dict[str, int | str]:
    """Counts over two spells; words and latencies are those of the later one."""
    total: dict[str, int | str] = {**before, **now}
    for name, value in now.items():
        earlier = before.get(name)
        if isinstance(value, int) and isinstance(earlier, int) and not name.startswith(NOT_A_SUM):
            total[name] = earlier + value
    return total
