"""With `--durability power` a step is on the disk before it is acknowledged, as strace sees it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from edgeworth.server.store import Store
from running_servers import client_of, settings_in

PLAY = """
import os, sys
from edgeworth.server.openings import opening_of
from edgeworth.server.store import Line, Store
store = Store(sys.argv[1], power=sys.argv[2] == "power")
session = store.open("ann", "a", opening_of("auction", {}, 1))
for number in range(12):
    assert store.advance_all([Line(session.generation, number, "x", False)]) == [True]
    os.write(1, b"acknowledged")
"""


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize("durability", ["process", "power"])
def test_a_step_is_synced_before_it_is_acknowledged_where_power_may_fail(tmp_path: Path, durability: str) -> None:
    calls, url = tmp_path / "calls", f"sqlite:///{tmp_path / 'sessions.sqlite'}"
    watch = ["strace", "-f", "-y", "-o", str(calls), "-e", "trace=fsync,fdatasync,write"]
    done = subprocess.run([*watch, sys.executable, "-c", PLAY, url, durability], capture_output=True, text=True, timeout=120.0, check=False)
    if "Operation not permitted" in done.stderr:
        pytest.skip("strace may not trace here")
    assert done.returncode == 0, done.stderr
    seen = re.findall(r"(sync)\(\d+<\S+-wal>\)|(acknowledged)", calls.read_text())
    order = "".join("s" if synced else "a" for synced, _ in seen).lstrip("s")
    assert order.count("a") == 12
    assert ("aa" not in order) if durability == "power" else ("a" * 12 in order)


@pytest.mark.parametrize(("durability", "level"), [("process", 1), ("power", 2)])
def test_the_server_waits_for_the_disk_as_it_was_told(tmp_path: Path, durability: str, level: int) -> None:
    with client_of(settings_in(tmp_path, durability=durability)) as client:
        assert client.app.state.sessions.store.database.row("PRAGMA synchronous") == (level,)  # type: ignore[attr-defined]


def test_postgresql_commits_to_the_disk_whatever_its_setting(postgres_url: str) -> None:
    store = Store(postgres_url)
    with store.database.writing() as cursor:
        cursor.execute(f"ALTER DATABASE {postgres_url.rpartition('/')[2]} SET synchronous_commit = off")
    store.close()
    for power, said in ((False, "off"), (True, "on")):
        store = Store(postgres_url, power)
        assert store.database.row("SHOW synchronous_commit") == (said,)
        store.close()
