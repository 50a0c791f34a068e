"""Behaviour cloning: a negotiating network that learns to make the moves that people made, read top to bottom.

People's dialogues, as moves of the game (`dialogues/moves.py`), are replayed by the rules. Before each move, what its
speaker could know is recorded from that speaker's seat, as a network sees it in play. Then the network learns to give these moves a high
probability:

    loss = −mean log π(move | situation),

where the probability of a move is that of `Policy.log_prob`: of the act, and of the share where the act states one. There are some twenty
thousand moves for ten thousand parameters, so weights decay (AdamW, Loshchilov and Hutter 2019), and learning stops when the likelihood of
held-out dialogues has not risen for some passes; the network of the best pass is kept. The value head is not trained.

| metric | meaning |
|---|---|
| loss | −log π of the moves learnt from, mean over the pass, while it was made |
| held_out_log_likelihood | log π of the held-out moves, mean, after the pass |
| held_out_act_accuracy | how often the likeliest act is the one that was made |
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from edgeworth.agents.network.reading import read
from edgeworth.agents.policy import Policy
from edgeworth.agents.policy_layout import PolicyShape, Reading, first_parameters
from edgeworth.agents.trained_network import GAME
from edgeworth.config import BargainingConfig, load_yaml
from edgeworth.dialogues.moves import DialogueMoves
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.state import BASE_FEATURES
from edgeworth.games.bargaining.vocabulary import AGENT, PARTNER
from edgeworth.runlog import STEP, Checkpoint, Line
from edgeworth.seeding import checked_seed
from edgeworth.training.fused.order import shuffled
from edgeworth.training.learner import not_finite
from edgeworth.training.settings import Count, HintSettings, Positive, plain
from edgeworth.validation import build, settings

ALGORITHM = "behaviour_cloning"

Report = Callable[[Line], None]
"""Called after every pass with its line of metrics."""


# Settings


@settings
class CloningSettings:
    """What is learnt, and how."""

    scenario: str = "lewis"
    """The game by whose rules the dialogues are replayed; its pools must be theirs."""
    seed: int = 0
    """Decides the first weights and the order of the moves."""
    reading: Reading = "fine"
    """How the network reads a situation: `plain`, `ordered` or `fine`."""
    hidden: Count = 64
    layers: Count = 2
    learning_rate: Positive = 0.001
    weight_decay: Annotated[float, Field(ge=0.0)] = 0.1
    """How much of every weight is taken away per step, times the learning rate."""
    minibatch: Count = 256
    """Moves of one gradient."""
    epochs: Count = 100
    """Most passes over the moves."""
    patience: Count = 10
    """Passes without a better held-out likelihood after which learning stops."""

    def __post_init__(self) -> None:
        checked_seed(self.seed)

    @property
    def game(self) -> BargainingConfig:
        """The options of the game."""
        return BargainingConfig.from_options(self.scenario)


def load_cloning_settings(path: Path | None = None, changes: Mapping[str, Any] | None = None) -> CloningSettings:
    """The settings of a file, changed by the ones given; without a file, the defaults."""
    given = {} if path is None else load_yaml(path)
    checked: CloningSettings = build(CloningSettings, {**given, **(changes or {})}, "behaviour cloning")
    return checked


# Samples


class Samples(NamedTuple):
    """Moves of people with what their speakers could know, dialogue by dialogue and in order."""

    features: NDArray[np.float32]
    legal: NDArray[np.int8]
    pools: NDArray[np.int32]
    acts: NDArray[np.int64]
    shares: NDArray[np.int64]
    """The speaker's units; zeros where the act states none."""
    dialogues: NDArray[np.int64]
    """The number of the dialogue that a move belongs to."""


def replay(dialogues: Sequence[DialogueMoves], game: BargainingConfig) -> Samples:
    """Replay dialogues, all of them side by side, and record every move from its speaker's seat."""
    longest = max((len(each.moves) for each in dialogues), default=0)
    if longest == 0:
        raise InvalidOption(f"There is no move in the {len(dialogues)} dialogues; expected some with offers or agreements to learn from.")
    batch = BargainingBatch(game, len(dialogues), two_player=True)
    batch.seed(0)
    batch.reset(np.array([each.dialogue.context.row() for each in dialogues], np.int16))
    pieces = []
    for turn in range(longest):
        moves = [each.moves[turn] if turn < len(each.moves) else None for each in dialogues]
        for side in (AGENT, PARTNER):
            speaking = np.array([move is not None and move.side == side for move in moves])
            made = [move for move in moves if move is not None and move.side == side]
            if not made:
                continue
            part = batch.selected(speaking)
            (views, legal), features = part.look(side), part.features(side)
            acts, shares = np.array([move.act for move in made], np.int64), np.array([move.share for move in made], np.int64)
            part.move(side, acts, shares)
            batch.write_back(part, speaking)
            pieces.append(Samples(features, legal, views[:, :3], acts, shares, np.flatnonzero(speaking)))
    arrays: list[NDArray[Any]] = [np.concatenate(parts) for parts in zip(*pieces, strict=True)]
    in_order = np.argsort(arrays[-1], kind="stable")  # by dialogue; the pieces are in the order of turns already
    return Samples(*(array[in_order] for array in arrays))


class Lesson(NamedTuple):
    """Samples as the network reads them: the item types in its order."""

    inputs: Tensor
    legal: Tensor
    caps: Tensor
    acts: Tensor
    shares: Tensor


def lesson_of(shape: PolicyShape, samples: Samples) -> Lesson:
    """What a network of this shape reads of samples."""
    reading = read(shape, samples.features, samples.pools)
    shares = np.take_along_axis(samples.shares, reading.orders.astype(np.int64), axis=1)
    arrays = (reading.inputs, samples.legal, reading.caps, samples.acts, shares)
    return Lesson(*(torch.from_numpy(array) for array in arrays))


# The loss


def log_likelihoods(policy: Policy, lesson: Lesson) -> tuple[Tensor, Tensor]:
    """Log-probabilities of the moves made, and whether the likeliest acts are theirs."""
    outlook = policy(lesson.inputs, lesson.legal, lesson.caps)
    return policy.log_prob(outlook, lesson.acts, lesson.shares), outlook.acts.argmax(1) == lesson.acts


def cloning_loss(policy: Policy, lesson: Lesson) -> Tensor:
    """−mean log-probability of the moves."""
    return -log_likelihoods(policy, lesson)[0].mean()


# Learning


@dataclass(frozen=True)
class Clone:
    """A network that imitates people."""

    settings: CloningSettings
    shape: PolicyShape
    parameters: NDArray[np.float32]
    """Those of the best pass."""
    best: Line
    """The log's line of that pass."""
    lines: list[Line]

    def checkpoint(self, **facts: Any) -> Checkpoint:
        """The network as a checkpoint that plays."""
        known = {
            "game": GAME,
            "algo": ALGORITHM,
            STEP: self.best[STEP],
            "iteration": self.best["iteration"],
            "shape": asdict(self.shape),
            "env": plain(asdict(self.settings.game)),
            "hints": plain(asdict(HintSettings())),
            "settings": asdict(self.settings),
        }
        return Checkpoint(dict(self.shape.split(self.parameters)), {**known, **facts})


def clone(settings: CloningSettings, train: Samples, held_out: Samples, report: Report | None = None) -> Clone:
    """Learn from some dialogues until the likelihood of others rises no more."""
    torch.set_num_threads(1)  # several on small matrices wait for each other more than they work
    units = BargainingBatch(settings.game, 1, two_player=True).max_count
    shape = PolicyShape(BASE_FEATURES, units, settings.hidden, settings.layers, settings.reading)
    policy = Policy(shape, first_parameters(shape, settings.seed))
    adam = torch.optim.AdamW(policy.parameters(), settings.learning_rate, weight_decay=settings.weight_decay)
    lesson, other = lesson_of(shape, train), lesson_of(shape, held_out)
    best: Line = {"held_out_log_likelihood": -np.inf, "iteration": 0}
    lines: list[Line] = []
    parameters, began = policy.vector(), time.perf_counter()
    for epoch in range(1, settings.epochs + 1):
        loss = _pass(policy, adam, lesson, torch.from_numpy(shuffled(settings.seed, 0, epoch, len(train.acts))), settings.minibatch)
        if not np.isfinite(loss):
            raise not_finite(epoch * -(-len(train.acts) // settings.minibatch), epoch)
        with torch.no_grad():
            likelihoods, right = log_likelihoods(policy, other)
        line: Line = {
            STEP: epoch * len(train.acts),
            "iteration": epoch,
            "loss": loss,
            "held_out_log_likelihood": float(likelihoods.double().mean()),
            "held_out_act_accuracy": float(right.double().mean()),
            "seconds": round(time.perf_counter() - began, 3),
        }
        lines.append(line)
        if report is not None:
            report(line)
        if float(line["held_out_log_likelihood"]) > float(best["held_out_log_likelihood"]):
            best, parameters = line, policy.vector()
        elif epoch - int(best["iteration"]) >= settings.patience:
            break
    return Clone(settings, shape, parameters, best, lines)


def _pass(policy: Policy, adam: torch.optim.Optimizer, lesson: Lesson, order: Tensor, minibatch: int) -> float:
    """One pass over the moves in this order; returns the mean loss."""
    total = 0.0
    for rows in torch.split(order, minibatch):
        loss = cloning_loss(policy, Lesson(*(array[rows] for array in lesson)))
        adam.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
        total += float(loss.detach()) * len(rows)
    return total / len(order)
