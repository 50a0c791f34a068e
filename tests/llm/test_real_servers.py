"""Clients over HTTP against real servers with a real model: one that enforces schemas, and transformers' own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from benchmarks.server_process import free_port
from conversations import ask, texts
from local_prompts import hint_moments

from edgeworth.llm.client import Completion, Failure, Sampling
from edgeworth.llm.huggingface import POCKET_FOLDER, HuggingFace, Pocket
from edgeworth.llm.openai_compatible import VLLM
from edgeworth.llm.stack import open_client
from edgeworth.protocol import Accepted, parse_reply

START_SECONDS = 90.0


@contextmanager
def running(command: list[str], port: int, path: str, home: Path) -> Iterator[str]:
    """A server on loopback, from its first answer to its end."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "HF_HOME": str(home)}
    with (home / "server.log").open("w") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        give_up = time.monotonic() + START_SECONDS
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=1.0).close()
                break
            except OSError:
                alive = server.poll() is None and time.monotonic() < give_up
                assert alive, (home / "server.log").read_text()[-2000:]
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait()


@pytest.fixture(scope="module")
def schema_server(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port, program = free_port(), Path(__file__).with_name("completions_server.py")
    command = [sys.executable, str(program), str(tiny_folder), str(port)]
    with running(command, port, "/v1/models", tmp_path_factory.mktemp("home")) as address:
        yield address


def test_hints_come_through_a_server_as_they_come_from_the_model_itself(schema_server: str, tiny: HuggingFace, tmp_path: Path) -> None:
    moments = hint_moments(6)
    batch = [moment.messages for moment in moments]
    samplings = [Sampling(1.0, 64, seed=5, json_schema=moment.json_schema, logprobs=True) for moment in moments]
    with open_client("vllm", cache=tmp_path / "replies.sqlite", model="tiny", base_url=schema_server) as client:
        client.check()
        replies = client.complete(batch, samplings)
        again = client.complete(batch, samplings)
        counted = client.counters.snapshot()
    here = tiny.complete(batch, samplings)
    assert texts(replies) == texts(again) == texts(here)
    for moment, reply, own in zip(moments, replies, here, strict=True):
        assert isinstance(reply, Completion) and isinstance(own, Completion) and reply.logprobs is not None and own.logprobs is not None
        assert isinstance(parse_reply(reply.text, moment.schema), Accepted)
        assert [p for _, p in reply.logprobs] == pytest.approx([p for _, p in own.logprobs], abs=1e-4)
    assert (counted["prompts"], counted["cache_hits"], counted["calls"], counted["failures"]) == (12, 6, 6, {})


def test_a_server_that_finds_a_prompt_too_long_is_understood(schema_server: str) -> None:
    (reply,) = VLLM("tiny", base_url=schema_server).complete(ask("hello " * 5000), Sampling())
    assert isinstance(reply, Failure) and reply.reason == "too_long" and "It says 'The prompt has 15,004 tokens" in reply.message


def test_the_server_of_transformers_gives_the_hints_of_the_pocket_model(tmp_path: Path) -> None:
    port, moments = free_port(), hint_moments(4)
    batch = [moment.messages for moment in moments]
    (tmp_path / "hub").mkdir()
    serve = [str(Path(sys.executable).with_name("transformers")), "serve", str(POCKET_FOLDER), "--device", "cpu", "--dtype", "float32"]
    with running([*serve, "--port", str(port)], port, "/health", tmp_path) as address:
        client = open_client("llama_cpp", model=str(POCKET_FOLDER), base_url=address, cache=tmp_path / "replies.sqlite")
        client.check()
        replies = client.complete(batch, Sampling(max_tokens=64))
        client.complete(batch[:1], Sampling(max_tokens=64))
    here = Pocket(dtype="float32").complete(batch, Sampling(max_tokens=64))
    assert texts(replies) == texts(here)
    assert all(isinstance(parse_reply(text, moment.schema), Accepted) for text, moment in zip(texts(replies), moments, strict=True))
    assert client.counters.snapshot()["cache_hits"] == 1
