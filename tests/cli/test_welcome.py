"""What `edgeworth serve` says and opens once it answers."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from edgeworth.cli.welcome import has_browser, told
from running_servers import served


def test_the_browser_is_opened_and_what_is_warmed_is_announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = tmp_path / "opened"
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    script.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(script))
    monkeypatch.setenv("DISPLAY", ":0")
    with served(tmp_path, "--browser", "--warm", "random", tokens="alice:a-token-of-alice") as server:
        address = server.address()
        until = time.monotonic() + 30.0
        while time.monotonic() < until and not (opened.is_file() and "random is warm" in "".join(server.log)):
            time.sleep(0.05)
        server.stop()
    assert opened.read_text() == f"{address}/\n" and "edgeworth: random is warm." in server.said()


def test_without_a_screen_no_browser_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert not has_browser()


def test_the_language_model_is_announced_when_it_is_loaded_or_has_failed() -> None:
    assert told("llm", {"state": "loading"}) == told("llm", None) == ""
    assert told("llm", {"state": "loaded"}) == "edgeworth: the language model is warm."
    assert told("llm", {"state": "failed", "reason": "no torch"}) == "edgeworth: the language model cannot be loaded: no torch"
