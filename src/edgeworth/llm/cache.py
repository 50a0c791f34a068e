"""A cache of replies, which is also a recording that can be played back offline.

A reply is kept under the SHA-256 of the canonical JSON of (model, sampling, messages). The first reply to be recorded stays: two
processes that ask the same at the same time both get that one. The same prompt twice in a batch is asked once; for several samples of
one prompt, vary `Sampling.seed`. Failures are never kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from edgeworth.errors import NotRecorded
from edgeworth.llm.client import Client, Completion, Messages, Reply, Samplings, Wrapper, sampling_each
from edgeworth.llm.reply_store import Question, ReplyStore

SHOWN = 160
"""Characters of a missing prompt that an error shows, from its end: the beginning is mostly the same for all."""


canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode
"""JSON that is the same for the same value."""


def questions(model: str, sampling: Samplings, batch: Sequence[Messages]) -> list[Question]:
    """What is asked, each under the key of its canonical JSON, whose keys stand in order; a shared sampling is written once."""
    each = sampling_each(batch, sampling)
    different = {id(one): one for one in each}
    written = {name: canonical(vars(one)) for name, one in different.items()}
    asked = []
    for messages, one in zip(batch, each, strict=True):
        said = canonical([[message.role, message.content] for message in messages])
        request = f'{{"messages":{said},"model":{canonical(model)},"sampling":{written[id(one)]}}}'
        asked.append(Question(hashlib.sha256(request.encode("ascii")).digest(), messages, one, written[id(one)]))
    return asked


class Cache(Wrapper):
    """Asks each question once, ever; with `replay`, never, and a question that was not recorded is an error."""

    def __init__(self, client: Client, path: Path | str, replay: bool = False) -> None:
        super().__init__(client)
        self.replay = replay
        self.store = ReplyStore(path, read_only=replay)

    def complete(self, batch: Sequence[Messages], sampling: Samplings, within: float | None = None) -> list[Reply]:
        asked = questions(self.name, sampling, batch)
        replies: dict[bytes, Reply] = dict(self.store.find({question.key for question in asked}))
        missing: dict[bytes, int] = {}
        for i, question in enumerate(asked):
            if question.key not in replies:
                missing.setdefault(question.key, i)
        if missing and self.replay:
            raise self._not_recorded(batch, missing)
        if missing:
            replies |= self._ask([asked[i] for i in missing.values()], within)
        return [_as_asked(replies[q.key]) if i == missing.get(q.key) else replies[q.key] for i, q in enumerate(asked)]

    def _ask(self, unknown: Sequence[Question], within: float | None) -> dict[bytes, Reply]:
        """Ask what nobody has asked before, and keep what comes back."""
        fresh = self.client.complete([q.messages for q in unknown], [q.sampling for q in unknown], within)
        replies = dict(zip((q.key for q in unknown), fresh, strict=True))
        new = [(q, reply) for q, reply in zip(unknown, fresh, strict=True) if isinstance(reply, Completion)]
        self.store.keep(self.name, new)
        return replies | self.store.find(q.key for q, _ in new)

    def _not_recorded(self, batch: Sequence[Messages], missing: dict[bytes, int]) -> NotRecorded:
        key, where = next(iter(missing.items()))
        prompt = " ".join(batch[where][-1].content.split()) if batch[where] else ""
        shown = prompt if len(prompt) <= SHOWN else "…" + prompt[-SHOWN:]
        models = self.store.models()
        others = f" It holds replies of {', '.join(models[:3])}." if models and self.name not in models else ""
        return NotRecorded(
            f"{self.store.path} holds no reply of {self.name} to {len(missing)} of {len(batch)} prompts with this sampling; the first is "
            f"{shown!r} (key {key.hex()[:12]}).{others} Run once without replay, with the model at hand, to record it.",
            key.hex(),
        )

    def check(self) -> None:
        if not self.replay:
            self.client.check()

    def close(self) -> None:
        self.store.close()
        self.client.close()


def _as_asked(reply: Reply) -> Reply:
    """A reply for which a model was asked just now, whoever was first to record it."""
    return replace(reply, cached=False) if isinstance(reply, Completion) else reply
