"""A model in a process of its own: it answers, dies, comes back, and never outlives the server."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from stub_model import Stub

from edgeworth.errors import ModelUnavailable
from edgeworth.llm.client import Completion, Message, Sampling, TokenLogprob
from edgeworth.llm.local.folders import BUNDLED
from edgeworth.server.model_process import ModelProcess, ProcessClient, designer_process, pocket_process
from running_servers import has_ended, wait_for

QUESTION = [[Message("user", "Zwei Bücher?")]]


@pytest.fixture
def stub() -> Iterator[Any]:
    """Makes model processes without a model; all of them are gone afterwards."""
    made: list[ModelProcess] = []

    def make(**options: Any) -> ModelProcess:
        made.append(ModelProcess("stub", functools.partial(Stub, **options)))
        return made[-1]

    yield make
    for process in made:
        process.close()


@pytest.mark.parametrize("secret", ["$EDGEWORTH_TOKENS", "$EDGEWORTH_STORE"])
def test_the_process_of_a_model_has_neither_the_tokens_nor_the_address_of_the_store(
    stub: Any, monkeypatch: pytest.MonkeyPatch, secret: str
) -> None:
    monkeypatch.setenv(secret[1:], "a-token-of-alice")
    process = stub(text=secret)
    (reply,) = ProcessClient(process).complete(QUESTION, Sampling())
    assert reply.text == secret
    assert b"a-token-of-alice" not in Path(f"/proc/{process.pid}/environ").read_bytes()
    assert os.environ[secret[1:]] == "a-token-of-alice"


def test_a_reply_comes_back_as_it_was_written(stub: Any) -> None:
    client = ProcessClient(stub(text="Ja, «zwei»\nund\t😀"))
    assert client.name == "stub" and not client.process.loaded and client.process.starts == 0
    (reply,) = client.complete(QUESTION, Sampling(logprobs=True))
    assert isinstance(reply, Completion) and reply.text == "Ja, «zwei»\nund\t😀" and client.process.loaded
    assert isinstance(reply.logprobs[0], TokenLogprob) and reply.logprobs[0].logprob == pytest.approx(-0.6931, abs=1e-4)


def test_a_killed_process_is_reported_and_started_again(stub: Any, tmp_path: Path) -> None:
    log = tmp_path / "calls"
    process = stub(text="x", seconds=2.0, log=str(log))
    process.load()

    def kill_while_it_writes() -> None:
        wait_for(log.exists)
        os.kill(process.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_while_it_writes)
    killer.start()
    with pytest.raises(ModelUnavailable, match="ended with status -9 while it was writing") as died:
        ProcessClient(process).complete(QUESTION, Sampling())
    killer.join()
    assert died.value.reason == "dropped" and not process.loaded
    assert ProcessClient(process).complete(QUESTION, Sampling())[0].text == "x" and process.starts == 2


def test_a_process_that_dies_of_its_request_is_reported(stub: Any) -> None:
    with pytest.raises(ModelUnavailable, match="status 3"):
        ProcessClient(stub(text="die")).complete(QUESTION, Sampling())


def test_a_missing_model_is_reported_in_its_own_words(stub: Any) -> None:
    process = stub(missing=True)
    with pytest.raises(ModelUnavailable, match=r"There is no such model; train one\.") as missing:
        process.load()
    assert missing.value.reason == "unknown_model" and not process.loaded


def test_a_hung_process_is_stopped(stub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgeworth.server.model_process.GRACE_SECONDS", 0.1)
    process = stub(seconds=60.0)
    process.load()
    pid = process.pid
    client = ProcessClient(process)
    client.stop_at = time.monotonic() + 0.2
    with pytest.raises(ModelUnavailable, match="was stopped"):
        client.complete(QUESTION, Sampling())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_signal_to_all_processes_of_the_server_stops_no_model(stub: Any, tmp_path: Path) -> None:
    """The server decides when, after it has drained."""
    log = tmp_path / "calls"
    process = stub(text="x", seconds=1.0, log=str(log))
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(ProcessClient(process).complete, QUESTION, Sampling())
        wait_for(log.exists)
        for sig in (signal.SIGTERM, signal.SIGINT):
            os.kill(process.pid, sig)
        assert asked.result(60.0)[0].text == "x" and process.loaded and process.starts == 1


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), signal.SIGKILL)", "sys.exit()"])
def test_the_process_ends_with_its_server_however_that_ends(end: str) -> None:
    script = (
        "import os, sys, signal\n"
        "from edgeworth.server.model_process import ModelProcess\n"
        "from stub_model import Stub\n"
        "process = ModelProcess('stub', Stub); process.load()\n"
        f"print(process.pid, flush=True); {end}\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60)
    pid = int(done.stdout)
    wait_for(lambda: has_ended(pid))


def test_a_bundled_model_that_was_trained_to_design_is_used_once_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pocket = pocket_process()
    monkeypatch.setitem(BUNDLED, "pocket_designer", tmp_path / "pocket_designer")
    assert designer_process(pocket) is pocket
    (tmp_path / "pocket_designer").mkdir()
    assert designer_process(pocket) is not pocket and designer_process(pocket).name == "pocket_designer"
