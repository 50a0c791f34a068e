"""Networks in torch: a trunk with heads and the value, and the negotiating one, with masked heads for the act and the share.

A move is an act and, where the act states one (PROPOSE, INSIST, END), a share of three numbers. Its probability is that of the act, times
those of the three numbers where they are stated: numbers that are not stated are no part of the move. What is illegal is masked before the
softmax, with a large finite number, so that its probability is exactly 0 and its gradient is too; the same masks serve in play and in the
loss. No distribution objects: a log-softmax, a gather and two sums are the whole of it, and several times faster.

Parameters have the names and the order of `PolicyShape.tensors()`, so that one flat vector is the network, here and in every checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from edgeworth.agents.policy_layout import ACTS, PolicyShape, TrunkShape
from edgeworth.games.bargaining.legality import STATES_SHARE
from edgeworth.games.bargaining.vocabulary import ITEM_TYPES

NEVER = -1e9
"""The logit of what is illegal: finite, so that no gradient becomes a NaN, and so low that the probability is 0 to the last bit."""


BELOW_ONE = 1.0 - 2.0**-24
"""The largest number below 1 in single precision."""


class Outlook(NamedTuple):
    """What the network makes of a batch of situations."""

    acts: Tensor
    """Log-probabilities of the five acts, (B, 5)."""
    shares: Tensor
    """Log-probabilities of 0 to `units` units of each type, (B, 3, units + 1)."""
    values: Tensor
    """Expected return, in the learner's scale, (B,)."""


class Entropies(NamedTuple):
    """How undecided the network is, in nats, one entry per situation."""

    act: Tensor
    """Of the act."""
    shares: Tensor
    """Of the number of units of each type, (B, 3)."""
    move: Tensor
    """Of the whole move: that of the act, and those of the numbers as often as they are stated."""

    @property
    def parts(self) -> tuple[Tensor, Tensor]:
        """Of the act, and of all three numbers."""
        return self.act, self.shares.sum(1)


class Network(nn.Module):
    """A trunk and its heads; a game says what the heads mean.

    A subclass has `forward` (situations to an outlook, which has `values`), `sample` (moves drawn by uniform numbers), `log_prob` (of
    moves) and `entropies` (`move`, the whole, and `parts`, two tensors, for which `parts` of the class has the names in the log).
    """

    parts: ClassVar[tuple[str, str]]
    sample: Callable[..., tuple[Tensor, ...]]
    log_prob: Callable[..., Tensor]
    entropies: Callable[..., Any]

    def __init__(self, shape: TrunkShape) -> None:
        super().__init__()
        self.shape = shape
        widths = [shape.inputs, *[shape.hidden] * shape.layers]
        self.trunk = nn.ModuleList(nn.Linear(before, after) for before, after in pairwise(widths))
        self.heads = nn.Linear(widths[-1], shape.heads)
        self.shortcut = nn.Linear(shape.inputs, shape.heads, bias=False) if shape.shortcut else None
        self.activation = torch.tanh if shape.activation == "tanh" else torch.relu

    def outputs(self, inputs: Tensor) -> Tensor:
        """All logits, the value, and what a game has after them, (B, heads)."""
        hidden = inputs
        for layer in self.trunk:
            hidden = self.activation(layer(hidden))
        found: Tensor = self.heads(hidden)
        return found if self.shortcut is None else found + self.shortcut(inputs)

    def vector(self) -> NDArray[np.float32]:
        """A copy of all parameters as the flat vector of the layout."""
        return torch.cat([self.get_parameter(name).detach().flatten() for name in self.shape.tensors()]).cpu().numpy()

    @torch.no_grad()
    def load_vector(self, vector: NDArray[np.float32]) -> None:
        """Take over all parameters from a flat vector."""
        for name, values in self.shape.split(vector).items():
            self.get_parameter(name).copy_(torch.from_numpy(values))


class Policy(Network):
    """What is read of situations in, an outlook out; item types stay in the order in which they are read."""

    shape: PolicyShape
    parts = ("entropy_act", "entropy_share")

    def __init__(self, shape: PolicyShape, parameters: NDArray[np.float32] | None = None) -> None:
        super().__init__(shape)
        self.register_buffer("states_share", torch.tensor(STATES_SHARE, dtype=torch.float32), persistent=False)
        self.register_buffer("units", torch.arange(shape.units + 1), persistent=False)
        self.states_share: Tensor
        self.units: Tensor
        if parameters is not None:
            self.load_vector(parameters)

    def forward(self, features: Tensor, legal: Tensor, caps: Tensor) -> Outlook:
        """The outlook for situations with these legal acts (B, 5) and pools (B, 3)."""
        heads = self.outputs(features)
        acts = heads[:, :ACTS].masked_fill(legal == 0, NEVER)
        shares = heads[:, ACTS : self.shape.logits].reshape(-1, ITEM_TYPES, self.shape.units + 1)
        shares = shares.masked_fill(self.units > caps[:, :, None], NEVER)
        return Outlook(acts.log_softmax(-1), shares.log_softmax(-1), heads[:, self.shape.logits])

    def log_prob(self, outlook: Outlook, acts: Tensor, shares: Tensor) -> Tensor:
        """Log-probability of moves: of the act, and of the share where the act states one."""
        of_act = outlook.acts.gather(1, acts[:, None])[:, 0]
        of_share = outlook.shares.gather(2, shares[:, :, None])[:, :, 0].sum(1)
        return of_act + self.states_share[acts] * of_share

    def entropies(self, outlook: Outlook) -> Entropies:
        """Exact entropies, of every head and of the move."""
        of_act = entropy(outlook.acts)
        of_shares = entropy(outlook.shares)
        stated = outlook.acts.exp() @ self.states_share
        return Entropies(of_act, of_shares, of_act + stated * of_shares.sum(1))

    def sample(self, outlook: Outlook, uniforms: Tensor) -> tuple[Tensor, Tensor]:
        """Moves drawn with four numbers in [0, 1) each, (B, 4): acts, and shares within the pool, zeros where the act states none."""
        acts = draw(outlook.acts, uniforms[:, 0])
        return acts, draw(outlook.shares, uniforms[:, 1:]) * self.states_share[acts].long()[:, None]


def entropy(log_probs: Tensor) -> Tensor:
    """Σ −p log p over the last axis; what is masked has p = 0 and adds nothing."""
    return -(log_probs.exp() * log_probs).sum(-1)


def draw(log_probs: Tensor, uniforms: Tensor) -> Tensor:
    """The first choice whose cumulative probability exceeds a uniform number; one of probability 0 never does.

    The number is scaled by the sum of the probabilities, which rounding keeps from being 1, and one that was rounded to 1 counts as the
    largest below it, so that there always is such a choice.
    """
    cumulative = log_probs.exp().cumsum(-1)
    return (cumulative <= (uniforms.clamp(max=BELOW_ONE) * cumulative[..., -1])[..., None]).sum(-1)
