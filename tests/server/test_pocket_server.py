"""The pocket model behind a real server: it answers both games, and others play on while it writes."""

from __future__ import annotations

import threading
from pathlib import Path

import httpx
import pytest

from running_servers import MECHANISM, served

QUESTIONS = 6
STEPS_MEANWHILE = 20
"""Far fewer than there is time for while the model writes, and far more than a server would answer that waits for it."""


def ask(address: str, number: int) -> int:
    """Ask for a mechanism, each time for another market."""
    scores = [0.5, 0.5, 0.5, 0.5, number / 100]
    body = {"round_number": 1, "episode_length": 10, "market_outcomes": [scores], "designer": "language_model"}
    return httpx.post(f"{address}/api/design", json=body, timeout=60).status_code


@pytest.mark.slow
def test_others_play_on_while_the_model_writes(tmp_path: Path) -> None:
    """How much slower they are, `python -m benchmarks.server` measures."""
    answered, meanwhile = list[int](), list[int]()
    with served(tmp_path, "--quiet") as server, httpx.Client(base_url=server.address(), timeout=60) as client:
        address = str(client.base_url)
        assert ask(address, 0) == 200  # which loads it
        for number in range(1, QUESTIONS + 1):
            client.post("/reset", json={"session_id": "busy", "episode_length": 1000, "seed": 1})
            asking = threading.Thread(target=lambda number=number: answered.append(ask(address, number)))
            asking.start()
            steps = 0
            while asking.is_alive() and steps < 1000:
                assert client.post("/step", json={"session_id": "busy", "action": MECHANISM}).status_code == 200
                steps += 1
            asking.join(60)
            meanwhile.append(steps)
    assert answered == [200] * QUESTIONS
    assert min(meanwhile) >= STEPS_MEANWHILE, meanwhile


@pytest.mark.slow
def test_the_pocket_model_plays_both_games_over_the_wire(tmp_path: Path) -> None:
    flags = ("--quiet", "--warm", "language_model", "--designer", "language_model")
    with served(tmp_path, *flags) as server, httpx.Client(base_url=server.address(), timeout=60) as client:
        client.post("/reset", json={"session_id": "demo", "episode_length": 5, "seed": 1})
        for _ in range(5):
            reply = client.post("/api/design", json={"session_id": "demo"}).json()
            assert reply["designer"] == "language_model" and 0 < reply["confidence"] <= 1 and reply["assumed"] == []
            stepped = client.post("/step", json={"session_id": "demo", "action": reply["mechanism"]})
            assert stepped.status_code == 200
        client.post("/bargaining/reset", json={"session_id": "t", "seed": 1})
        done = False
        while not done:
            hint = client.post("/bargaining/hint", json={"session_id": "t", "provider": "llm"}).json()["hint"]
            action = {name: hint[name] for name in ("act_type", "oA")}
            done = client.post("/bargaining/step", json={"session_id": "t", "action": action}).json()["done"]
