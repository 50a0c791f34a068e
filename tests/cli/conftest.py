"""What the tests of the commands share: a command called in this process, which is quicker than one of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from edgeworth.cli import main


class Run(NamedTuple):
    """What a command left behind; line breaks of narrow terminals count as spaces."""

    status: int
    out: str
    err: str


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Run]:
    """`edgeworth` with these words."""

    def call(*words: str) -> Run:
        monkeypatch.setattr(sys, "argv", ["edgeworth", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return Run(int(ended.value.code or 0), " ".join(printed.out.split()), " ".join(printed.err.split()))

    return call
