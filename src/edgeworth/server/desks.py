"""Desks side by side: everybody who answers one kind of question, found by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Generic

from edgeworth.errors import UnknownName
from edgeworth.server.desk import Answer, Desk, Question, State, Watcher, Worker
from edgeworth.server.settings import LOCAL, DeskLimits


class Desks(Generic[Question, Answer]):
    """The desks of all who answer one kind of question, by their names."""

    def __init__(
        self,
        kind: str,
        workers: Mapping[str, Worker[Question, Answer]],
        writes: str,
        limits: DeskLimits | None = None,
        watcher: Watcher | None = None,
        titled: str = "",
    ) -> None:
        """`kind` is what errors call them; `titled` stands before their names in the metrics.

        Only `writes`, the language model, waits a moment for further questions.
        """
        limits = limits or DeskLimits()
        at_once = dataclasses.replace(limits, gather_seconds=0.0)
        self.kind = kind
        self.desks = {name: Desk(titled + name, worker, limits if name == writes else at_once, watcher) for name, worker in workers.items()}

    def checked(self, name: str) -> str:
        """A name that is known, or an error with its neighbour."""
        if name not in self.desks:
            raise UnknownName(self.kind, name, self.desks)
        return name

    async def ask(self, name: str, question: Question, owner: str = LOCAL) -> Answer:
        """The answer of whoever has that name, to one of this owner's questions."""
        return await self.desks[self.checked(name)].ask(question, owner)

    def warm_up(self, name: str) -> State:
        """Let somebody get ready beforehand."""
        return self.desks[self.checked(name)].warm_up()

    def open(self) -> None:
        """Take questions again after `close`."""
        for desk in self.desks.values():
            desk.open()

    def close(self) -> None:
        """Answer what waits, and let everybody go."""
        for desk in self.desks.values():
            desk.close()
