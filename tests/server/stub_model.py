"""A client without a model: writes a given text after so many seconds of arithmetic; the text `die` ends its process,
and `$NAME` in it stands for a variable of the environment."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from edgeworth.errors import ModelUnavailable
from edgeworth.llm.client import Client, Completion, Messages, Reply, Samplings, TokenLogprob


class Stub(Client):
    def __init__(
        self, text: str = "{}", seconds: float = 0.0, log: str | None = None, missing: bool = False, knows: Mapping[str, Any] | None = None
    ) -> None:
        self.text, self.seconds, self.log, self.missing = text, seconds, log, missing
        self.knows = knows or {}

    @property
    def name(self) -> str:
        return "stub"

    @property
    def trained_on(self) -> Mapping[str, Any]:
        return self.knows

    def check(self) -> None:
        if self.missing:
            raise ModelUnavailable("unknown_model", "There is no such model; train one.")

    def complete(self, batch: Sequence[Messages], sampling: Samplings, within: float | None = None) -> list[Reply]:
        if self.log is not None:
            with open(self.log, "a", encoding="utf-8") as file:
                file.write(f"{len(batch)}\n")
        until = time.monotonic() + self.seconds
        while time.monotonic() < until:
            sum(i * i for i in range(1000))
        if self.text == "die":
            os._exit(3)
        half = TokenLogprob("x", math.log(0.5))
        return [Completion(os.path.expandvars(self.text), model=self.name, logprobs=(half, half)) for _ in batch]
