"""Decoding: replies to a batch of prompts, one pass through the model for every choice that is left to it.

A prompt that several rows have is read once. A pass appends to every row what is due: the rest of its prompt, the tokens that its
grammar forces, the token it has just chosen. A row whose grammar is complete leaves without another pass; the others go on until their
end token, a stop text, or their last token.

A token is chosen greedily, or drawn by temperature and top-p. A draw is a pure function of (seed, conversation, position), so a reply
depends neither on what else is in the batch nor on earlier calls, up to the rounding of floating point. Log-probabilities are those of
temperature 1 among the tokens that were allowed.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn import functional

from edgeworth.llm.local.grammar import Constraint, allowed_tokens
from edgeworth.llm.local.kv_cache import KeyValueCache
from edgeworth.llm.local.prefixes import Prefix, PrefixCache, Tokens, groups

TWO_TO_MINUS_64 = 2.0**-64
THINNED = 0.5
"""Finished rows are dropped from the cache when no more than this share of its rows is still being written."""


@dataclass(frozen=True)
class Sampler:
    """How the tokens of one row are drawn."""

    temperature: float
    """0 is greedy."""
    top_p: float
    key: bytes

    @classmethod
    def of(cls, temperature: float, top_p: float | None, seed: int | None, conversation: str) -> Sampler:
        """The sampler of a conversation; without a seed it draws differently every time."""
        if seed is None:
            return cls(temperature, 1.0 if top_p is None else top_p, secrets.token_bytes(16))
        key = hashlib.blake2b(f"{seed}\0{conversation}".encode(), digest_size=16).digest()
        return cls(temperature, 1.0 if top_p is None else top_p, key)

    def chance(self, position: int) -> float:
        """A number in [0, 1) for a position of the reply."""
        drawn = hashlib.blake2b(position.to_bytes(8, "little"), key=self.key, digest_size=8).digest()
        return min(int.from_bytes(drawn, "little") * TWO_TO_MINUS_64, 1.0 - 2.0**-53)


@dataclass
class Row:
    """One reply on its way."""

    prompt: Tokens
    sampler: Sampler
    most: int
    """Tokens that the reply may have."""
    constraint: Constraint | None = None
    stop: tuple[str, ...] = ()
    logprobs: bool = False
    tokens: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    text: str = ""
    finish: str | None = None
    """`stop` or `length`; None while the reply is not finished."""
    seconds: float = 0.0
    due: list[int] = field(default_factory=list)
    """Tokens that the model has not read yet."""

    def append(self, tokens: Sequence[int], scores: Sequence[float]) -> None:
        """Add tokens to the reply, as far as there is room."""
        room = self.most - len(self.tokens)
        self.tokens += tokens[:room]
        self.due += tokens[:room]
        self.scores += scores[:room]
        if len(tokens) > room:
            self.finish = "length"


@dataclass(frozen=True)
class Vocabulary:
    """What a decoder must know of tokens."""

    ends: frozenset[int]
    """Tokens that end a reply."""
    size: int
    """Tokens that the tokenizer knows; a model may have more, which mean nothing."""
    text: Callable[[list[int]], str]


class Decoder:
    """Writes replies with one model."""

    def __init__(self, vocabulary: Vocabulary, new_cache: Callable[[Prefix | None, int], KeyValueCache], batch_size: int) -> None:
        """`new_cache` makes the cache of a batch, over a prefix, for a number of rows."""
        self.vocabulary = vocabulary
        self.new_cache = new_cache
        self.batch_size = batch_size
        self.prefixes = PrefixCache()

    @torch.inference_mode()
    def write(self, rows: Sequence[Row], stop_at: float = float("inf")) -> None:
        """Write every row to its end; those that are not finished at `stop_at` on the monotonic clock stay unfinished."""
        for group in groups([row.prompt for row in rows]):
            for first in range(0, len(group), self.batch_size):
                self._write_batch([rows[i] for i in group[first : first + self.batch_size]], stop_at)

    def _write_batch(self, rows: list[Row], stop_at: float) -> None:
        started = time.monotonic()
        if started >= stop_at:
            return
        cache = self._prompted(rows, self.prefixes.shared_by([row.prompt for row in rows], self._read))
        cached = list(rows)
        while writing := self._still_writing(cached, started):
            if time.monotonic() >= stop_at:
                return
            if len(writing) <= THINNED * len(cached):
                cache.keep(writing)
                cached, writing = [cached[i] for i in writing], list(range(len(writing)))
            logits = cache.run([(i, cached[i].due) for i in writing])
            self._choose([cached[i] for i in writing], logits)

    def _prompted(self, rows: Sequence[Row], prefix: Prefix | None) -> KeyValueCache:
        """The cache of a batch. A prompt that several rows have is read once, but for its last token; what is not read yet is due."""
        shared = len(prefix) if prefix is not None else 0
        numbers = {prompt: number for number, prompt in enumerate(dict.fromkeys(tuple(row.prompt) for row in rows))}
        cache = self.new_cache(prefix, len(numbers))
        repeated = len(numbers) < len(rows)
        if repeated:
            if runs := [(number, prompt[shared:-1]) for prompt, number in numbers.items() if len(prompt) > shared + 1]:
                cache.run(runs)
            cache.keep([numbers[tuple(row.prompt)] for row in rows])
        for row in rows:
            row.due = list(row.prompt[-1:] if repeated else row.prompt[shared:])
        return cache

    def _read(self, prefix: Prefix | None, tokens: Tokens) -> Prefix:
        cache = self.new_cache(prefix, 1)
        cache.run([(0, tokens)])
        return cache.prefix_with([*(prefix.tokens if prefix is not None else ()), *tokens])

    def _still_writing(self, rows: Sequence[Row], started: float) -> list[int]:
        """The rows that need the model, after what is forced was appended."""
        writing = []
        for i, row in enumerate(rows):
            if row.finish is None:
                self._advance(row)
            if row.finish is None:
                writing.append(i)
            elif not row.seconds:
                row.seconds = time.monotonic() - started
        return writing

    def _advance(self, row: Row) -> None:
        """Append what is forced, and see whether the reply is at its end."""
        if row.constraint is not None:
            forced = row.constraint.forced()
            row.append(forced, [0.0] * len(forced))
            if row.finish is None and row.constraint.finished():
                row.finish = "stop"
        if row.finish is None and len(row.tokens) >= row.most:
            row.finish = "length"
        if row.stop or row.finish is not None:
            row.text = self.vocabulary.text(row.tokens)
            self._cut(row)

    def _cut(self, row: Row) -> None:
        """End a reply before the first stop text in it."""
        places = [place for place in (row.text.find(text) for text in row.stop) if place >= 0]
        if places:
            row.text, row.finish = row.text[: min(places)], "stop"
            while row.tokens and len(self.vocabulary.text(row.tokens[:-1])) >= len(row.text):
                del row.tokens[-1], row.scores[-1]

    def _choose(self, rows: Sequence[Row], logits: Tensor) -> None:
        """The next token of every row."""
        if logits.shape[1] > self.vocabulary.size:
            logits[:, self.vocabulary.size :] = -torch.inf
        if bound := [(i, row.constraint) for i, row in enumerate(rows) if row.constraint is not None]:
            places, constraints = zip(*bound, strict=True)
            forbidden = ~unpacked(torch.from_numpy(allowed_tokens(constraints)).to(logits.device), logits.shape[1])
            if len(bound) == len(rows):
                logits.masked_fill_(forbidden, -torch.inf)
            else:
                logits[list(places)] = logits[list(places)].masked_fill(forbidden, -torch.inf)
        tokens = choose(logits, [row.sampler for row in rows], [len(row.tokens) for row in rows])
        scores = log_probabilities(logits, tokens) if any(row.logprobs for row in rows) else [0.0] * len(rows)
        for row, token, score in zip(rows, tokens, scores, strict=True):
            row.due = []
            if token in self.vocabulary.ends:
                row.finish = "stop"
                row.text = self.vocabulary.text(row.tokens)
            else:
                row.append([token], [score])
                if row.constraint is not None:
                    row.constraint.consume(token)


def choose(logits: Tensor, samplers: Sequence[Sampler], positions: Sequence[int]) -> list[int]:
    """A token for every row of logits; what is not allowed there is -inf."""
    drawing = [row for row, sampler in enumerate(samplers) if sampler.temperature > 0.0]
    if len(drawing) == len(samplers):
        return as_tokens(drawn(logits, samplers, positions))
    chosen = logits.argmax(dim=-1)
    if drawing:
        chosen[drawing] = drawn(logits[drawing], [samplers[row] for row in drawing], [positions[row] for row in drawing])
    return as_tokens(chosen)


def drawn(logits: Tensor, samplers: Sequence[Sampler], positions: Sequence[int]) -> Tensor:
    """A token drawn for every row of logits."""
    settings = [
        (sampler.temperature, sampler.top_p, sampler.chance(position)) for sampler, position in zip(samplers, positions, strict=True)
    ]
    temperatures, top_p, chances = torch.tensor(settings, dtype=torch.float64).to(logits.device).T
    shares = torch.softmax(logits / temperatures.to(logits.dtype)[:, None], dim=-1).double()
    if any(sampler.top_p < 1.0 for sampler in samplers):
        shares = nucleus(shares, top_p)
    heap = shares.cumsum(dim=-1)
    found = torch.searchsorted(heap, (chances * heap[:, -1])[:, None], right=True)[:, 0]
    return found.clamp(max=logits.shape[-1] - 1)


def as_tokens(chosen: Tensor) -> list[int]:
    """Tokens as whole numbers."""
    tokens: list[int] = chosen.tolist()
    return tokens


def unpacked(bits: Tensor, width: int) -> Tensor:
    """Packed bits, the lowest first, as flags for the tokens of a model's vocabulary."""
    shifts = torch.arange(8, device=bits.device, dtype=torch.uint8)
    flags = ((bits[:, :, None] >> shifts) & 1).view(len(bits), -1)[:, :width].bool()
    return functional.pad(flags, (0, width - flags.shape[1]))


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
