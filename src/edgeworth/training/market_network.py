"""The designer's network in torch: a tanh trunk, eleven independent heads, and the value.

A move is a level for every field (`agents/designers/policy_layout.py`), and its probability is the product over the fields.
Neighbouring fields with equally many levels (the flags, the penalties) share one softmax.
"""

from __future__ import annotations

from itertools import accumulate, groupby
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from edgeworth.agents.designers.policy_layout import DesignerShape
from edgeworth.agents.policy import Network, draw, entropy
from edgeworth.games.auction.action import FIELDS, HIGHEST


class Outlook(NamedTuple):
    """What the network makes of a batch of markets."""

    fields: tuple[Tensor, ...]
    """Log-probabilities of the levels, for each run of fields with equally many levels, (B, fields, levels)."""
    values: Tensor
    """Expected return, (B,)."""


class Entropies(NamedTuple):
    """How undecided the network is, in nats, one entry per market."""

    choices: Tensor
    """Of the words and flags together."""
    numbers: Tensor
    """Of the four numbers together."""

    @property
    def move(self) -> Tensor:
        """Of the whole mechanism."""
        return self.choices + self.numbers

    @property
    def parts(self) -> tuple[Tensor, Tensor]:
        """Of words and flags, and of numbers."""
        return self.choices, self.numbers


class DesignerNetwork(Network):
    """Features in, an outlook out."""

    shape: DesignerShape
    parts = ("entropy_choices", "entropy_numbers")

    def __init__(self, shape: DesignerShape, parameters: NDArray[np.float32]) -> None:
        super().__init__(shape)
        self.runs = [(count, len(list(run))) for count, run in groupby(shape.counts)]
        self.register_buffer("curves", torch.from_numpy(shape.curves()).float(), persistent=False)
        self.register_buffer("of_numbers", torch.tensor([name in HIGHEST for name in FIELDS]).float(), persistent=False)
        self.curves: Tensor
        self.of_numbers: Tensor
        self.load_vector(parameters)

    def forward(self, features: Tensor) -> Outlook:
        """The outlook for markets with these features (B, F)."""
        heads = self.outputs(features)
        logits = heads[:, :-1] @ self.curves
        ends = list(accumulate(count * fields for count, fields in self.runs))
        parts = zip(self.runs, [0, *ends], ends, strict=False)
        fields = (logits[:, low:high].reshape(-1, fields, count).log_softmax(-1) for (count, fields), low, high in parts)
        return Outlook(tuple(fields), heads[:, -1])

    def log_prob(self, outlook: Outlook, levels: Tensor) -> Tensor:
        """Log-probability of levels (B, 11)."""
        parts = zip(outlook.fields, self._by_run(levels), strict=True)
        return torch.cat([logs.gather(2, chosen[:, :, None])[:, :, 0] for logs, chosen in parts], 1).sum(1)

    def entropies(self, outlook: Outlook) -> Entropies:
        """Exact entropies."""
        of_fields = torch.cat([entropy(logs) for logs in outlook.fields], 1)
        of_numbers = of_fields @ self.of_numbers
        return Entropies(of_fields.sum(1) - of_numbers, of_numbers)

    def sample(self, outlook: Outlook, uniforms: Tensor) -> tuple[Tensor]:
        """Levels (B, 11), drawn with a number in [0, 1) each."""
        parts = zip(outlook.fields, self._by_run(uniforms), strict=True)
        return (torch.cat([draw(logs, part) for logs, part in parts], 1),)

    def _by_run(self, of_fields: Tensor) -> tuple[Tensor, ...]:
        return torch.split(of_fields, [fields for _, fields in self.runs], dim=1)
