"""The loss in double precision, written for torch's automatic differentiation: what the hand-written gradients are held against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from edgeworth.agents.network.layers import Gradients, NetworkArrays
from edgeworth.agents.policy_layout import PolicyShape
from edgeworth.training.fused.loss import SUMS, Samples, Terms
from edgeworth.training.fused.rollout import RolloutBuffer
from edgeworth.training.fused.update import Moments, Workspace, minibatch_gradient

STATED = torch.tensor([1.0, 1.0, 0.0, 0.0, 1.0], dtype=torch.float64)


@dataclass(frozen=True)
class Situations:
    """Made-up samples: features, what is legal, moves that are, and what an earlier network made of them."""

    shape: PolicyShape
    buffer: RolloutBuffer
    masks: NDArray[np.bool_]
    caps: NDArray[np.int64]

    @property
    def size(self) -> int:
        return len(self.caps)


def make_situations(shape: PolicyShape, size: int, seed: int, fewest: int = 0) -> Situations:
    rng = np.random.default_rng(seed)
    masks = rng.random((size, 5)) < 0.7
    masks[np.arange(size), rng.integers(0, 5, size)] = True
    caps = rng.integers(fewest, shape.units + 1, (size, 3))
    buffer = RolloutBuffer.of(1, size, shape.features)
    buffer.features[:size] = rng.random((size, shape.features))
    for row in range(size):
        act = rng.choice(np.flatnonzero(masks[row]))
        share = [rng.integers(0, cap + 1) for cap in caps[row]] if STATED[act] else [0, 0, 0]
        buffer.moves[row] = [act, *share]
        buffer.legal[row] = [sum(1 << k for k in range(5) if masks[row, k]), *((2 << int(cap)) - 1 for cap in caps[row])]
    buffer.values[:size] = rng.normal(size=size)
    buffer.advantages[:size], buffer.returns[:size] = rng.normal(size=size), rng.normal(size=size)
    return Situations(shape, buffer, masks, caps)


def make_parameters(shape: PolicyShape, seed: int) -> NDArray[np.float32]:
    return (0.15 * np.random.default_rng(seed).standard_normal(shape.size)).astype(np.float32)


def outlook(vector: torch.Tensor, situations: Situations) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Log-probabilities of the four heads, and values."""
    shape, begin, size = situations.shape, 0, situations.size
    inputs = hidden = torch.tensor(situations.buffer.features[:size], dtype=torch.float64)
    tensors = []
    for dimensions in shape.tensors().values():
        length = int(np.prod(dimensions))
        tensors.append(vector[begin : begin + length].reshape(dimensions))
        begin += length
    activation = {"tanh": torch.tanh, "relu": torch.relu}[shape.activation]
    for layer in range(shape.layers):
        hidden = activation(hidden @ tensors[2 * layer].T + tensors[2 * layer + 1])
    heads = hidden @ tensors[2 * shape.layers].T + tensors[2 * shape.layers + 1]
    if shape.shortcut:
        heads = heads + inputs @ tensors[-1].T
    legal = [torch.tensor(situations.masks)]
    legal += [torch.arange(shape.units + 1) <= torch.tensor(situations.caps[:, k, None]) for k in range(3)]
    logits = [heads[:, :5], *heads[:, 5:-1].split(shape.units + 1, dim=1)]
    return [torch.log_softmax(z.masked_fill(~ok, -1e9), dim=1) for z, ok in zip(logits, legal, strict=True)], heads[:, -1]


def log_probs(logs: list[torch.Tensor], situations: Situations) -> torch.Tensor:
    moves = torch.tensor(situations.buffer.moves[: situations.size], dtype=torch.int64)
    picked = [log.gather(1, moves[:, k, None])[:, 0] for k, log in enumerate(logs)]
    return picked[0] + STATED[moves[:, 0]] * (picked[1] + picked[2] + picked[3])


def entropies(logs: list[torch.Tensor]) -> torch.Tensor:
    act, *shares = [-(log.exp() * log).sum(1) for log in logs]
    return act + (logs[0].exp() @ STATED) * sum(shares)


def reference_gradient(parameters: NDArray[np.float32], situations: Situations, terms: Terms, normalize: bool) -> NDArray[np.float64]:
    """The gradient of the loss by automatic differentiation."""
    vector = torch.tensor(parameters, dtype=torch.float64, requires_grad=True)
    size, buffer = situations.size, situations.buffer
    logs, values = outlook(vector, situations)
    now, old = log_probs(logs, situations), torch.tensor(buffer.log_probs[:size], dtype=torch.float64)
    advantages = torch.tensor(buffer.advantages[:size], dtype=torch.float64)
    results, before = torch.tensor(buffer.returns[:size], dtype=torch.float64), torch.tensor(buffer.values[:size], dtype=torch.float64)
    if normalize:
        advantages = (advantages - advantages.mean()) / (advantages.std(unbiased=False) + 1e-8)
    if terms.ratio:
        ratio, clip = (now - old).exp(), float(terms.clip)
        policy = -torch.minimum(advantages * ratio, advantages * ratio.clamp(1.0 - clip, 1.0 + clip)).mean()
    else:
        policy = -(advantages * now).mean()
    squares = (values - results) ** 2
    if np.isfinite(terms.clip_value):
        near = before + (values - before).clamp(-float(terms.clip_value), float(terms.clip_value))
        squares = torch.maximum(squares, (near - results) ** 2)
    loss = policy + float(terms.value) * 0.5 * squares.mean() - float(terms.entropy) * entropies(logs).mean()
    loss.backward()
    assert vector.grad is not None
    return vector.grad.numpy()


def fused_gradient(
    parameters: NDArray[np.float32], situations: Situations, terms: Terms, normalize: bool
) -> tuple[Workspace, NDArray[np.float64]]:
    """The hand-written gradient, and the sums that come with it."""
    shape, numbers, sums = situations.shape, np.arange(situations.size), np.zeros(len(SUMS))
    work = Workspace(NetworkArrays.of(parameters, shape), Samples.of_tile(), Gradients.of(shape), Moments.of(shape.size))
    minibatch_gradient(
        work,
        situations.buffer,
        numbers,
        numbers,
        0,
        situations.size,
        terms,
        normalize,
        sums,
    )
    return work, sums


def earlier_log_probs(parameters: NDArray[np.float32], situations: Situations, spread: float, seed: int) -> None:
    """Let the buffer hold log-probabilities that lie around those of the network, so that some ratios are clipped on either side."""
    with torch.no_grad():
        now = log_probs(outlook(torch.tensor(parameters, dtype=torch.float64), situations)[0], situations).numpy()
    situations.buffer.log_probs[: situations.size] = now + spread * np.random.default_rng(seed).standard_normal(situations.size)
