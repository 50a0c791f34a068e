"""How long steps take while idle sessions expire, against how long they take while none do.

A server's store holds long sessions that nobody plays. In every second turn some of them are made old, so that the server deletes them
while a few other sessions play, each sending its next step when the last one is answered. Turns alternate in one run and have the same
length, so that what other work on the machine costs is in both.
"""

from __future__ import annotations

import contextlib
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from benchmarks.command import report, start, targets_table
from benchmarks.load import HttpSession, Tally, load
from benchmarks.measuring import machine_facts, summary, target
from benchmarks.server import LONG, MECHANISM, script
from benchmarks.server_process import ServerProcess, check_platform, free_port, running
from edgeworth.cli.console import table
from edgeworth.cli.options import AsJson, OutFile, Seed
from edgeworth.progress import Progress, silent
from edgeworth.server.openings import opening_of
from edgeworth.server.settings import LOCAL
from edgeworth.server.store import Store

PLAYERS = 4
"""Sessions that play."""
EXPIRY_SECONDS = 0.05
"""The length of a turn for each session that expires in it; a server pauses for 0.03 or more between two."""
TURNS = {"quiet": "no session expires", "sweep": "sessions expire"}
QUANTILES = {"p50": 0.5, "p99": 0.99, "p999": 0.999, "longest": 1.0}
TARGET_MS = 50.0
SERVE = """
import sys
from edgeworth.server.serving import serve
from edgeworth.server.settings import ServerSettings
settings = ServerSettings(store=sys.argv[1], port=int(sys.argv[2]), openenv=False, log_requests=False, sweep_seconds=0.2)
serve(settings, lambda address: None)
"""
"""A server that looks for idle sessions five times a second, not once a minute."""
AGE = "UPDATE edgeworth_openings SET created = 0.0 WHERE id = :id"
SESSION = "(SELECT generation FROM edgeworth_openings WHERE id = :id)"
AGE_LOG = f"UPDATE edgeworth_log SET written = 0.0 WHERE number = :last AND generation = {SESSION}"
OLD = "SELECT COUNT(*) FROM edgeworth_openings WHERE created = 0.0"


def run(sessions: int, rounds: int, seed: int, progress: Progress = silent) -> dict[str, Any]:
    """Let so many sessions expire in so many rounds."""
    share = sessions // rounds
    with tempfile.TemporaryDirectory() as folder:
        file, port = Path(folder) / "sessions.sqlite", free_port()
        fill(file, share * rounds, progress)
        server = ServerProcess([sys.executable, "-c", SERVE, f"sqlite:///{file}", str(port)], port, "/ready")
        with running(server), contextlib.closing(sqlite3.connect(file, timeout=30.0, isolation_level=None)) as outside:
            turns = measured(port, outside, share, rounds, seed, progress)
            failures = server.failures()
    return {
        "quantity": "milliseconds from sending a step over HTTP to its answer, while idle sessions expire and while none do, in turns",
        "seed": seed,
        "rounds": rounds,
        "sessions_expired": share * rounds,
        "steps_of_each": LONG,
        "players": PLAYERS,
        "machine": machine_facts(),
        "turns": {name: entry(name, tallies) for name, tallies in turns.items()},
        "problems": [problem for tallies in turns.values() for tally in tallies for problem in tally.problems],
        "server_failures": failures,
        "targets": targets(turns),
    }


def fill(file: Path, sessions: int, progress: Progress) -> None:
    """Write long sessions into a store."""
    store, opening = Store(f"sqlite:///{file}"), opening_of("auction", {"episode_length": LONG}, 0)
    for number in range(sessions):
        progress("filling the store", number, sessions)
        store.bring(LOCAL, idle(number), opening, [(MECHANISM, False)] * LONG)
    store.close()


def idle(number: int) -> str:
    """The name of a session that nobody plays."""
    return f"idle-{number}"


def measured(port: int, outside: sqlite3.Connection, share: int, rounds: int, seed: int, progress: Progress) -> dict[str, list[Tally]]:
    """Rounds of a quiet turn and one in which sessions expire, after a short turn to warm up."""
    scripts = [script("ours", "http", f"bench-{k}", seed + k) for k in range(PLAYERS)]
    turns: dict[str, list[Tally]] = {name: [] for name in TURNS}
    load(HttpSession, port, scripts, 1.0)
    for lap in range(rounds):
        for place, name in enumerate(TURNS):
            progress(f"steps, {TURNS[name]}, round {lap + 1} of {rounds}", lap * len(TURNS) + place, rounds * len(TURNS))
            if name == "sweep":
                make_old(outside, range(lap * share, (lap + 1) * share))
            turns[name].append(load(HttpSession, port, scripts, share * EXPIRY_SECONDS))
        wait_until_gone(outside)
    return turns


def make_old(outside: sqlite3.Connection, numbers: range) -> None:
    """Make sessions that nobody plays as old as can be, in one short transaction."""
    outside.execute("BEGIN IMMEDIATE")
    for number in numbers:
        outside.execute(AGE_LOG, {"id": idle(number), "last": LONG - 1})
        outside.execute(AGE, {"id": idle(number)})
    outside.execute("COMMIT")


def wait_until_gone(outside: sqlite3.Connection) -> None:
    """Wait until all that are old were deleted; on a busy machine this may take longer than a turn."""
    until = time.monotonic() + 120.0
    while outside.execute(OLD).fetchone() != (0,):
        if time.monotonic() > until:
            raise RuntimeError("The sessions do not expire.")
        time.sleep(0.1)


def entry(name: str, tallies: list[Tally]) -> dict[str, Any]:
    """A kind of turn over all rounds; latencies in milliseconds."""
    late = sum(1000.0 * latency > TARGET_MS for tally in tallies for latency in tally.latencies)
    quantiles = {key: summary(tally.quantile(share) for tally in tallies) for key, share in QUANTILES.items()}
    return {"label": TURNS[name], "steps": sum(len(tally.latencies) for tally in tallies), "over_50_ms": late, **quantiles}


def targets(turns: dict[str, list[Tally]]) -> list[dict[str, Any]]:
    """The longest step of all while sessions expire; for comparison that of the quiet turns, and the differences within a round."""
    quiet, sweep = ([tally.quantile(1.0) for tally in turns[name]] for name in TURNS)
    return [
        target("longest step while sessions expire", [max(sweep)], "<=", TARGET_MS, "ms"),
        target("longest step while none does", [max(quiet)], "<=", None, "ms"),
        target("longest step of a turn, sweep - quiet", [late - early for early, late in zip(quiet, sweep, strict=True)], "<=", None, "ms"),
    ]


def main(
    sessions: Annotated[int, typer.Option(min=1, max=4_000, help="Sessions that expire, of a thousand steps each.")] = 1_000,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds in which they expire.")] = 10,
    seed: Seed = 0,
    out_file: OutFile = None,
    as_json: AsJson = False,
) -> None:
    """Compare steps while idle sessions expire with steps while none do.

    Example: python -m benchmarks.sweep --sessions 200 --rounds 2
    """
    check_platform()
    report(lambda progress: run(sessions, rounds, seed, progress), page, as_json, out_file)


def page(result: dict[str, Any]) -> Iterator[RenderableType]:
    """The latencies, and the targets."""
    title = f"Steps of {result['players']} sessions over HTTP; {result['sessions_expired']:,} sessions expire"
    shown = table("while", "p50 ms", "p99 ms", "p99.9 ms", "longest", "over 50 ms", "steps", title=title)
    for each in result["turns"].values():
        times = [f"{each[key]['median']:.3g}" for key in ("p50", "p99", "p999")]
        shown.add_row(each["label"], *times, f"{max(each['longest']['values']):.3g}", str(each["over_50_ms"]), f"{each['steps']:,}")
    yield from (shown, "", targets_table(result))


if __name__ == "__main__":
    start(main)
