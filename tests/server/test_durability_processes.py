"""Several processes play the sessions of one store; some are killed in the middle of a step; nothing that was acknowledged is lost."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from edgeworth.server.live import open_live
from edgeworth.server.sessions import Sessions
from edgeworth.server.store import Store

HAMMER = Path(__file__).with_name("hammer.py")
LONG = {"episode_length": 1_000, "n_agents": 4}
Steps = dict[tuple[str, int], str]
"""Rewards in hexadecimal, by session and number of the step."""


def opened(url: str, count: int) -> None:
    sessions = Sessions(Store(url))

    async def open_all() -> None:
        for k in range(count):
            await sessions.open("ann", "auction", LONG, k, f"s{k}")

    asyncio.run(open_all())
    sessions.store.close()


def started(url: str, seed: int, count: int, steps: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(HAMMER), url, str(seed), str(count), str(steps)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def read(said: str) -> Steps:
    """What a process acknowledged; a last line that was cut off was not heard."""
    lines = [line.split() for line in said.splitlines(keepends=True) if line.endswith("\n")]
    return {(name, int(number)): reward for name, number, reward in (line for line in lines if line[0].startswith("s"))}


def replayed_log(url: str, count: int) -> Steps:
    """Every step in the store, played again here."""
    store, found = Store(url), {}
    for k in range(count):
        stored = store.find("ann", f"s{k}")
        assert stored is not None
        actions = store.actions(stored.generation)
        assert len(actions) == stored.steps
        live = open_live(stored.opening)
        for number, action in enumerate(actions):
            found[(f"s{k}", number)] = live.step(action).reward.hex()
    store.close()
    return found


def test_processes_that_step_the_same_sessions_share_one_log(store_url: str) -> None:
    """No step is made twice, none is missing, and a database that is busy is waited for."""
    opened(store_url, 3)
    processes = [started(store_url, seed, 3, 150) for seed in range(3)]
    said = [process.communicate(timeout=60)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    heard = [read(text) for text in said]
    together: Steps = {}
    for steps in heard:
        assert not together.keys() & steps.keys()
        together |= steps
    assert together == replayed_log(store_url, 3)
    refusals = [text.splitlines()[-1] for text in said]
    assert all(set(eval(line.partition(" ")[2])) <= {"conflict"} for line in refusals), refusals


@pytest.mark.parametrize("kills", [4, pytest.param(40, marks=pytest.mark.slow)])
def test_a_killed_process_loses_no_acknowledged_step(store_url: str, kills: int) -> None:
    opened(store_url, 8)
    heard: Steps = {}
    for kill in range(kills):
        process = started(store_url, kill, 8, 0)
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(0.05 + 0.05 * (kill % 3))
        process.send_signal(signal.SIGKILL)
        news = read(first + process.stdout.read())
        assert process.wait(timeout=30) == -signal.SIGKILL
        assert news and not heard.keys() & news.keys()
        heard |= news
    kept = replayed_log(store_url, 8)
    assert heard.items() <= kept.items()
    assert len(kept) - len(heard) <= kills  # at most the step that was under way at each kill


def test_processes_that_start_together_on_a_fresh_store_all_come_up(store_url: str) -> None:
    code = "import sys; from edgeworth.server.store import Store; Store(sys.argv[1]).check()"
    processes = [subprocess.Popen([sys.executable, "-c", code, store_url], stderr=subprocess.PIPE) for _ in range(4)]
    said: list[Any] = [process.communicate(timeout=60)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0, 0], said
