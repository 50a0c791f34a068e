"""Two servers on one PostgreSQL database: sessions move between them, and an outage in the middle loses nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import psycopg

from designs import SANE
from edgeworth.server.live import open_live
from edgeworth.server.openings import opening_of
from running_servers import served_in_thread

STEPS = 30


def rewards(seed: int) -> list[float]:
    """What a session of the test gets, played here."""
    live = open_live(opening_of("auction", {"episode_length": STEPS}, seed))
    return [live.step(SANE).reward for _ in range(STEPS)]


def play(servers: tuple[str, str], seed: int, outage: Callable[[], Any], recovery: Callable[[], Any]) -> list[float]:
    """The rewards of a session whose steps go to the two servers in turn, with an outage of the database in the middle."""
    found, name = [], f"s{seed}"
    assert httpx.post(f"{servers[0]}/reset", json={"session_id": name, "seed": seed, "episode_length": STEPS}).status_code == 200
    for number in range(STEPS):
        step = {"session_id": name, "action": SANE, "expected": number}
        if number == STEPS // 2:
            outage()
            for server in servers:
                answer = httpx.post(f"{server}/step", json=step, timeout=60.0)
                assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable")
                assert httpx.get(f"{server}/health").status_code == 200
            recovery()
        answer = httpx.post(f"{servers[number % 2]}/step", json=step, timeout=60.0)
        assert answer.status_code == 200, answer.text
        found.append(answer.json()["reward"])
    return found


def test_a_session_moves_between_servers_and_survives_an_outage_of_the_database(
    tmp_path: Path, postgres_url: str, postgres_server_url: str
) -> None:
    name = postgres_url.rpartition("/")[2]
    with psycopg.connect(postgres_server_url, autocommit=True) as outside:

        def outage() -> None:
            outside.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
            outside.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])

        def recovery() -> None:
            outside.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")

        with served_in_thread(tmp_path, store=postgres_url) as one, served_in_thread(tmp_path, store=postgres_url) as two:
            for seed in (1, 2):
                assert play((one, two), seed, outage, recovery) == rewards(seed)
            listed = [[line["steps"] for line in httpx.get(f"{server}/sessions").json()["sessions"]] for server in (one, two)]
            assert listed == [[STEPS, STEPS], [STEPS, STEPS]]
