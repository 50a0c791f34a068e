"""A training run: a learner, its stages, its folder; from the first move, or from where it was left.

The loop is the same for every algorithm and backend: an iteration, a line in the log, now and then a checkpoint. `last` holds everything,
and a run continued from it goes on to the last bit as if it had never stopped. `best` holds the network that earned the largest share of
the maximum between two checkpoints, among those of the present stage.

Ctrl-C and SIGTERM end the iteration under way, save, and stop; a second Ctrl-C stops at once, with the checkpoint before. A loss that is
not a number stops the run, with the network from before it in `diverged`, beside `last`, which stays as it is.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from numpy.typing import NDArray

from edgeworth.agents.policy_layout import PolicyShape
from edgeworth.agents.trained_network import GAME, network_vector
from edgeworth.errors import DataError, RunStopped
from edgeworth.runlog import BEST, CHECKPOINTS, LAST, STEP, Checkpoint, Line, RunLog, last_checkpoint, refuse_existing, write_config
from edgeworth.training.curriculum import Stage, check_later_stages, make_learner, shape_for, stage_at, stages_of
from edgeworth.training.learner import NegotiationLearner, carry_over
from edgeworth.training.practice import Metrics
from edgeworth.training.settings import TrainSettings, as_mapping, plain

DIVERGED = "diverged"
OF_LEARNER = "learner."
WHOLE = ("episodes", "epochs", "updates", "pool")
"""Metrics that are whole numbers."""
NOT_A_SUM = "latency"

Report = Callable[[Line], None]
"""Called after every iteration with its line of metrics."""


# The run


@dataclass
class Progress:
    """What a run remembers beside its learner."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    best: float | None = None
    """The largest share of the maximum that a checkpoint of this stage has had."""
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


class Run:
    """One run, begun or continued: see `begin` and `resume`."""

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
        self.settings, self.stages, self.shape, self.number = settings, stages, shape, number
        self.learner, self.progress, self.log = learner, progress, log

    @classmethod
    def begin(cls, settings: TrainSettings, folder: Path, command: str) -> Run:
        """A new run in a new folder; what cannot be trained is refused before anything is written."""
        refuse_existing(folder)
        stages = stages_of(settings)
        shape = shape_for(settings, stages)
        check_later_stages(stages)
        learner = make_learner(settings, stages, shape, 0)
        log = RunLog.begin(folder, as_mapping(settings), command, settings.logging.csv, settings.logging.tensorboard)
        run = cls(settings, stages, shape, 0, learner, Progress(), log)
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

    @property
    def over(self) -> bool:
        """Whether the last step has been made."""
        return self.learner.steps >= self.settings.num_train_steps

    def train(self, report: Report | None = None) -> Line:
        """Learn until the last step; the last line of the log is returned."""
        line: Line = self.log.lines[-1] if self.log.lines else {}
        with stopping_gracefully() as stop:
            while not self.over:
                line = self.iterate()
                if report is not None:
                    report(line)
                if stop.signal is not None:
                    self.save(LAST)
                    stop.leave()
        return line

    def iterate(self) -> Line:
        """One iteration with its line in the log, and a checkpoint where one is due."""
        self._enter_stage()
        learner, every = self.learner, self.settings.logging
        began, busy, steps = time.perf_counter(), time.process_time(), learner.steps
        try:
            metrics = learner.iterate()
        except RunStopped as error:
            raise self._stopped(error) from error
        took = time.perf_counter() - began
        self.progress.seconds += took
        self.progress.cpu_seconds += time.process_time() - busy
        self.progress.note(metrics)
        spent = {name: round(getattr(self.progress, name), 3) for name in ("seconds", "cpu_seconds")}
        line = self._line(metrics, {**spent, "steps_per_second": round((learner.steps - steps) / took)})
        if learner.iteration % every.log_every == 0 or self.over:
            self.log.add(line)
        if learner.iteration % every.save_every == 0 or self.over:
            self._save_regularly()
        return line

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

    def _line(self, metrics: Metrics, times: Mapping[str, float]) -> Line:
        numbers = {name: int(number) if name in WHOLE else number for name, number in metrics.items() if name != STEP}
        hints = {f"hint_{name}": value for name, value in self.hint_counts().items()}
        return {STEP: self.learner.steps, "iteration": self.learner.iteration, "stage": self.number, **numbers, **times, **hints}

    def hint_counts(self) -> dict[str, int | str]:
        """What the hint providers have counted over the whole run."""
        return added(self.progress.hint_counts, self.learner.hint_counts)

    def _save_regularly(self) -> None:
        score, progress = self.progress.score(), self.progress
        if score is not None and self.settings.self_play is None and (progress.best is None or score > progress.best):
            progress.best = score
            self.save(BEST, whole=False)
        self.save(LAST)

    def save(self, name: str, whole: bool = True) -> None:
        """Keep a checkpoint: the network, and if it is to be whole, all that the next iteration depends on."""
        state = self.learner.state()
        tensors: dict[str, NDArray[Any]] = dict(self.shape.split(state.pop("parameters")))
        if whole:
            tensors |= {OF_LEARNER + key: array for key, array in state.items()}
        self.log.save(name, Checkpoint(tensors, self._facts()))

    def _facts(self) -> dict[str, Any]:
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

    def _stopped(self, error: RunStopped) -> RunStopped:
        """Keep the network as it was before a loss that is not a number, and say where."""
        self.save(DIVERGED, whole=False)
        kept = self.log.folder / CHECKPOINTS / DIVERGED
        return RunStopped(f"{error} The network is kept in {kept}.safetensors; the last regular checkpoint is as it was.")

    def close(self) -> None:
        """Close the files and the hint provider."""
        try:
            self.learner.close()
        finally:
            self.log.close()


def learner_state(checkpoint: Checkpoint, shape: PolicyShape) -> dict[str, NDArray[Any]]:
    """The state of a learner in a checkpoint, whose network must have this shape."""
    state = {name.removeprefix(OF_LEARNER): array for name, array in checkpoint.tensors.items() if name.startswith(OF_LEARNER)}
    if not state:
        raise DataError("The checkpoint", "holds a network to play with, not a run to continue; `last` does.")
    return {**state, "parameters": network_vector(checkpoint, shape, "The checkpoint")}


def added(before: Mapping[str, int | str], now: Mapping[str, int | str]) -> dict[str, int | str]:
    """Counts over two spells; words and latencies are those of the later one."""
    total: dict[str, int | str] = {**before, **now}
    for name, value in now.items():
        earlier = before.get(name)
        if isinstance(value, int) and isinstance(earlier, int) and not name.startswith(NOT_A_SUM):
            total[name] = earlier + value
    return total


# Stopping


class Stop:
    """Whether the run was asked to stop."""

    signal: int | None = None

    def leave(self) -> None:
        """Stop, as the signal asks."""
        if self.signal == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + (self.signal or 0))


@contextmanager
def stopping_gracefully() -> Iterator[Stop]:
    """While inside, a first Ctrl-C or SIGTERM is noted; a second Ctrl-C interrupts."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def note(number: int, frame: FrameType | None) -> None:
        if stop.signal is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop.signal = number

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
