"""The choice of a token: greedy, or drawn by temperature and top-p; a draw is a pure function of (seed, conversation, position).

So a reply depends neither on what else is in the batch nor on who asked before, up to the rounding of floating point. Log-probabilities
are those of temperature 1 among the tokens that were allowed.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

TWO_TO_MINUS_64 = 2.0**-64


@dataclass(frozen=True)
class Dice:
    """How one row chooses."""

    temperature: float
    """0 is greedy."""
    top_p: float
    key: bytes

    @classmethod
    def of(cls, temperature: float, top_p: float | None, seed: int | None, conversation: str) -> Dice:
        """The dice for a conversation; without a seed they fall differently every time."""
        if seed is None:
            return cls(temperature, 1.0 if top_p is None else top_p, secrets.token_bytes(16))
        key = hashlib.blake2b(f"{seed}\0{conversation}".encode(), digest_size=16).digest()
        return cls(temperature, 1.0 if top_p is None else top_p, key)

    def chance(self, position: int) -> float:
        """A number in [0, 1) for a position of the reply."""
        drawn = hashlib.blake2b(position.to_bytes(8, "little"), key=self.key, digest_size=8).digest()
        return min(int.from_bytes(drawn, "little") * TWO_TO_MINUS_64, 1.0 - 2.0**-53)


def choose(logits: Tensor, dice: Sequence[Dice], positions: Sequence[int]) -> list[int]:
    """A token for every row of logits; what is not allowed there is -inf."""
    chosen = logits.argmax(dim=-1)
    drawing = [row for row, die in enumerate(dice) if die.temperature > 0.0]
    if drawing:
        temperatures = logits.new_tensor([dice[row].temperature for row in drawing])
        shares = torch.softmax(logits[drawing] / temperatures[:, None], dim=-1).double()
        if any(dice[row].top_p < 1.0 for row in drawing):
            shares = nucleus(shares, shares.new_tensor([dice[row].top_p for row in drawing]))
        heap = shares.cumsum(dim=-1)
        chances = heap.new_tensor([dice[row].chance(positions[row]) for row in drawing])
        drawn = torch.searchsorted(heap, (chances * heap[:, -1])[:, None], right=True)[:, 0]
        chosen[drawing] = drawn.clamp(max=logits.shape[-1] - 1)
    return [int(token) for token in chosen.tolist()]


def nucleus(shares: Tensor, top_p: Tensor) -> Tensor:
    """The shares of the smallest sets that hold so much probability; nothing for the others."""
    ordered, order = shares.sort(dim=-1, descending=True)
    before = ordered.cumsum(dim=-1) - ordered
    kept = ordered.masked_fill(before >= top_p[:, None], 0.0)
    return torch.zeros_like(shares).scatter(-1, order, kept)


def log_probabilities(logits: Tensor, tokens: Sequence[int]) -> list[float]:
    """The log-probability of the token that each row chose."""
    chosen = logits.gather(1, torch.tensor(tokens, device=logits.device)[:, None])[:, 0]
    return [min(0.0, float(value)) for value in (chosen - logits.logsumexp(dim=-1)).tolist()]
