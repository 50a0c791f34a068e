"""Scripted client: replies from a list or a function, for tests and examples.

A list is read once from top to bottom; a function is asked for every conversation. A reply may be a plain text, a whole `Completion`, or
a `Failure`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence

from edgeworth.errors import InvalidOption
from edgeworth.llm.client import Client, Completion, Messages, Reply, Samplings

Script = Iterable[str | Reply] | Callable[[Messages], str | Reply]


class Scripted(Client):
    """Gives the replies of its script, and records what it was asked."""

    def __init__(self, replies: Script, model: str = "scripted") -> None:
        self._answer = replies if callable(replies) else _reader(list(replies))
        self._model = model
        self._lock = threading.Lock()
        self.calls = 0
        """How often `complete` was called."""
        self.asked: list[Messages] = []
        """Every conversation, in the order in which they came."""

    @property
    def name(self) -> str:
        return self._model

    def complete(self, batch: Sequence[Messages], sampling: Samplings, within: float | None = None) -> list[Reply]:
        with self._lock:
            self.calls += 1
            self.asked += batch
            return [self._completion(self._answer(messages)) for messages in batch]

    def _completion(self, reply: str | Reply) -> Reply:
        return Completion(reply, model=self._model) if isinstance(reply, str) else reply


def _reader(replies: list[str | Reply]) -> Callable[[Messages], str | Reply]:
    """A function that reads the list from top to bottom."""
    rest = iter(replies)

    def answer(messages: Messages) -> str | Reply:
        try:
            return next(rest)
        except StopIteration:
            raise InvalidOption(f"The script holds {len(replies)} replies and was asked for one more; make it longer.") from None

    return answer
