"""Decoding: replies to a batch of prompts, one pass through the model for every choice that is left to it.

A pass appends to every row what is due: the rest of its prompt, the tokens that its grammar forces, the token it has just chosen. A row
whose grammar is complete leaves without another pass; the others go on until their end token, a stop text, or their last token. Rows are
told apart only by what they hold, so a batch of one and a batch of sixteen write the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from edgeworth.llm.local.beginnings import Beginnings, Tokens, groups
from edgeworth.llm.local.choice import Dice, choose, log_probabilities
from edgeworth.llm.local.constraint import Constraint
from edgeworth.llm.local.packing import Beginning, Run

THINNED = 0.5
"""Rows that have finished are forgotten when no more than this share of the remembered ones is left."""


class Memory(Protocol):
    """What the rows of a batch remember of their tokens."""

    lengths: list[int]

    def run(self, runs: Sequence[Run]) -> Tensor:
        """Append the runs, and return the logits after the last token of each."""
        ...

    def kept(self, rows: Sequence[int]) -> None:
        """Forget all rows but these, which are then counted from 0."""
        ...

    def beginning_with(self, tokens: Tokens) -> Beginning:
        """What the first row has read, as a beginning to share."""
        ...


@dataclass
class Row:
    """One reply on its way."""

    prompt: Tokens
    dice: Dice
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

    def __init__(self, vocabulary: Vocabulary, remember: Callable[[Beginning | None, int], Memory], batch_size: int) -> None:
        """`remember` makes the memory of a batch, over a beginning, for a number of rows."""
        self.vocabulary = vocabulary
        self.remember = remember
        self.batch_size = batch_size
        self.beginnings = Beginnings()
        self.forces = self.shares = True
        """Whether forced tokens are appended at once, and whether beginnings are shared; off only to measure what that brings."""

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
        beginning = self.beginnings.shared_by([row.prompt for row in rows], self._read) if self.shares else None
        shared = len(beginning) if beginning is not None else 0
        for row in rows:
            row.due = list(row.prompt[shared:])
        memory = self.remember(beginning, len(rows))
        remembered = list(rows)
        while writing := self._still_writing(remembered, started):
            if time.monotonic() >= stop_at:
                return
            if len(writing) <= THINNED * len(remembered):
                memory.kept(writing)
                remembered, writing = [remembered[i] for i in writing], list(range(len(writing)))
            logits = memory.run([(i, remembered[i].due) for i in writing])
            self._choose([remembered[i] for i in writing], logits)

    def _read(self, beginning: Beginning | None, tokens: Tokens) -> Beginning:
        memory = self.remember(beginning, 1)
        memory.run([(0, tokens)])
        return memory.beginning_with([*(beginning.tokens if beginning is not None else ()), *tokens])

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
            forced = row.constraint.forced() if self.forces else []
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
        bound = [i for i, row in enumerate(rows) if row.constraint is not None]
        if bound:
            allowed = np.stack([constraint.allowed() for row in rows if (constraint := row.constraint) is not None])
            forbidden = torch.from_numpy(~allowed).to(logits.device)
            if len(bound) == len(rows):
                logits.masked_fill_(forbidden, -torch.inf)
            else:
                logits[bound] = logits[bound].masked_fill(forbidden, -torch.inf)
        tokens = choose(logits, [row.dice for row in rows], [len(row.tokens) for row in rows])
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
