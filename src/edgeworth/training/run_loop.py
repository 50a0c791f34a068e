"""A run of any learner: iterations, lines in the log, checkpoints, and stopping.

An iteration, a line in the log, now and then a checkpoint. `last` holds everything, and a run continued from it goes on to the last bit as
if it had never stopped.

Ctrl-C and SIGTERM end the iteration under way, save, and stop. An iteration that takes longer than `PATIENCE` is left as it is, and a
second Ctrl-C stops at once; both leave the checkpoint before. A loss that is
not a number stops the run, with the network from before it in `diverged`, beside `last`, which stays as it is.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Protocol

from numpy.typing import NDArray

from edgeworth.agents.policy_layout import TrunkShape
from edgeworth.agents.trained_network import network_vector
from edgeworth.errors import DataError, RunStopped
from edgeworth.runlog import CHECKPOINTS, LAST, STEP, Checkpoint, Line, RunLog
from edgeworth.training.learner import Learner
from edgeworth.training.practice import Metrics
from edgeworth.training.settings import LogSettings

DIVERGED = "diverged"
OF_LEARNER = "learner."
PATIENCE = 2.0
"""Seconds that the work under way may still take once the run was asked to stop, so that its process has ended after five:
on a busy machine a process with a language model takes two more to leave."""
WHOLE = ("episodes", "epochs", "updates", "pool")
"""Metrics that are whole numbers."""

Report = Callable[[Line], None]
"""Called after every iteration with its line of metrics."""


class Planned(Protocol):
    """What the settings of every run say."""

    @property
    def num_train_steps(self) -> int:
        """Steps of the learner, over all episodes."""

    @property
    def logging(self) -> LogSettings:
        """What is written down, and how often."""


@dataclass
class Spent:
    """What a run remembers beside its learner."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    best: float | None = None
    """The best score that a checkpoint has had."""

    def times(self) -> dict[str, float]:
        """The time spent so far, as a line of the log has it."""
        return {"seconds": round(self.seconds, 3), "cpu_seconds": round(self.cpu_seconds, 3)}


class RunLoop:
    """Iterations, lines and checkpoints of a learner; a run adds what its lines and checkpoints say."""

    def __init__(self, settings: Planned, shape: TrunkShape, learner: Learner, progress: Spent, log: RunLog) -> None:
        self.settings, self.shape, self.learner, self.progress, self.log = settings, shape, learner, progress, log

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
                    stop.cancel_deadline()
                    self.save(LAST)
                    stop.leave()
        return line

    def iterate(self) -> Line:
        """One iteration with its line in the log, and a checkpoint where one is due."""
        learner, every = self.learner, self.settings.logging
        began, busy, steps = time.perf_counter(), time.process_time(), learner.steps
        try:
            metrics = learner.iterate()
        except RunStopped as error:
            raise self._stopped(error) from error
        took = time.perf_counter() - began
        self.progress.seconds += took
        self.progress.cpu_seconds += time.process_time() - busy
        line = self.line(metrics, {**self.progress.times(), "steps_per_second": round((learner.steps - steps) / took)})
        if learner.iteration % every.log_every == 0 or self.over:
            self.log.add(line)
        if learner.iteration % every.save_every == 0 or self.over:
            self.save_regularly()
        elif took > PATIENCE:
            self.save(LAST)  # if the run is asked to stop, the next iteration may be left, and this one would be lost with it
        return line

    def line(self, metrics: Metrics, times: Mapping[str, float]) -> Line:
        """The line of an iteration."""
        numbers = {name: int(number) if name in WHOLE else number for name, number in metrics.items() if name != STEP}
        return {STEP: self.learner.steps, "iteration": self.learner.iteration, **numbers, **times}

    def save_regularly(self) -> None:
        """Keep the checkpoints that are due."""
        self.save(LAST)

    def save(self, name: str, whole: bool = True) -> None:
        """Keep a checkpoint: the network, and if it is to be whole, all that the next iteration depends on."""
        state = self.learner.state()
        tensors: dict[str, NDArray[Any]] = dict(self.shape.split(state.pop("parameters")))
        if whole:
            tensors |= {OF_LEARNER + key: array for key, array in state.items()}
        self.log.save(name, Checkpoint(tensors, self.facts()))

    def facts(self) -> dict[str, Any]:
        """What a checkpoint says of itself."""
        raise NotImplementedError

    def _stopped(self, error: RunStopped) -> RunStopped:
        """Keep the network as it was before a loss that is not a number, and say where."""
        self.save(DIVERGED, whole=False)
        kept = self.log.folder / CHECKPOINTS / DIVERGED
        return RunStopped(f"{error} The network is kept in {kept}.safetensors; the last regular checkpoint is as it was.")

    def close(self) -> None:
        """Close the files, and what the learner has open."""
        try:
            self.learner.close()
        finally:
            self.log.close()


def learner_state(checkpoint: Checkpoint, shape: TrunkShape) -> dict[str, NDArray[Any]]:
    """The state of a learner in a checkpoint, whose network must have this shape."""
    state = {name.removeprefix(OF_LEARNER): array for name, array in checkpoint.tensors.items() if name.startswith(OF_LEARNER)}
    if not state:
        raise DataError("The checkpoint", "holds a network to play with, not a run to continue; `last` does.")
    return {**state, "parameters": network_vector(checkpoint, shape, "The checkpoint")}


# Stopping


class Stop:
    """Whether the run was asked to stop."""

    signal: int | None = None

    def cancel_deadline(self) -> None:
        """Cancel the deadline of the work under way: what is left, such as saving, may take its time."""
        if self.signal is not None:
            signal.setitimer(signal.ITIMER_REAL, 0.0)

    def leave(self) -> None:
        """Stop, as the signal asks."""
        if self.signal == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + (self.signal or 0))


@contextmanager
def stopping_gracefully(patience: float = PATIENCE) -> Iterator[Stop]:
    """While inside, a first Ctrl-C or SIGTERM is noted; a second Ctrl-C interrupts, and so does the end of `patience`, in seconds."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def note(number: int, frame: FrameType | None) -> None:
        if stop.signal is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop.signal = number
        signal.setitimer(signal.ITIMER_REAL, patience)

    def interrupt(number: int, frame: FrameType | None) -> None:
        stop.leave()

    handlers = {signal.SIGINT: note, signal.SIGTERM: note, signal.SIGALRM: interrupt}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield stop
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        for number, handler in before.items():
            signal.signal(number, handler)
