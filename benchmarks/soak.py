"""A soak: many sessions under load while workers, or all of them, or the whole server are killed at random moments.

Every step that was acknowledged is checked three times: against our own episode as soon as it is answered, against the store's log at the
end, and by playing that log again. `lost`, `doubled` and `mismatches` must be zero whatever was killed and when.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
import orjson
import typer
from rich.console import RenderableType

from benchmarks.command import report, start
from benchmarks.measuring import machine_facts
from benchmarks.server_process import START_SECONDS, ServerProcess, check_platform, free_port, our_server
from benchmarks.soak_players import Episode, Ledger, Player
from edgeworth.cli.console import table
from edgeworth.cli.options import AsJson, OutFile, Seed
from edgeworth.progress import Progress, silent
from edgeworth.server.live import replayed
from edgeworth.server.settings import LOCAL
from edgeworth.server.store import Store

HOW = {"one worker": 0.8, "all workers": 0.14, "everything": 0.06}
"""What is killed, and how often."""
STEPS_BETWEEN = 20
"""Steps that are acknowledged between a kill and the next one."""


class Reaper:
    """Kills workers or the server, and starts the server again."""

    def __init__(self, store: str, workers: int, seed: int) -> None:
        self.store, self.workers, self.port = store, workers, free_port()
        self.chance = random.Random(seed)
        self.kills: list[tuple[float, str]] = []
        self.processes = 0
        self.failures: list[str] = []
        self.server = self._started()

    def _started(self) -> ServerProcess:
        return our_server(self.store, self.port, self.workers)

    async def reap(self, kills: int, until: float, ledger: Ledger, progress: Progress) -> None:
        """So many kills, spread at random over the time there is, each of them while steps are being made."""
        begin = time.monotonic()
        for done in range(kills):
            due = begin + (until - begin) * (done + self.chance.random()) / kills
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            await self._traffic(ledger, ledger.acknowledged + STEPS_BETWEEN)
            progress(f"{ledger.acknowledged} steps acknowledged, killed", done, kills)
            self.kill(self.chance.choices(list(HOW), list(HOW.values()))[0])
        await self._traffic(ledger, ledger.acknowledged + STEPS_BETWEEN)

    async def _traffic(self, ledger: Ledger, wanted: int) -> None:
        """Until so many steps have been acknowledged."""
        patience, before = time.monotonic() + START_SECONDS, ledger.answers.copy()
        while ledger.acknowledged < wanted:
            if time.monotonic() > patience:
                answers = dict(ledger.answers - before)
                raise RuntimeError(f"The server did not recover; it answered {answers}; its log:\n" + "".join(self.server.log[-40:]))
            await asyncio.sleep(0.01)

    def kill(self, how: str) -> None:
        """End something with SIGKILL; a server of one worker is everything there is."""
        alive = self.server.workers()
        if self.workers == 1:
            how = "everything"
        victims = [self.chance.choice(alive)] if how == "one worker" and alive else alive
        if how == "everything":
            victims = [self.server.process.pid, *alive]
        for pid in victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.processes += len(victims)
        self.kills.append((time.monotonic(), how))
        if self.server.process.poll() is not None or how == "everything":
            self.server.process.wait()
            self.failures += self.server.failures()
            self.server = self._started()

    def stop(self) -> None:
        """End the server."""
        self.server.stop()
        self.failures += self.server.failures()


def run(
    minutes: float = 10.0,
    kills: int = 210,
    workers: int = 3,
    sessions: int = 64,
    seed: int = 0,
    pause: float = 0.15,
    store: str | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Soak a server, and report."""
    with tempfile.TemporaryDirectory() as folder:
        url = store or f"sqlite:///{folder}/sessions.sqlite"
        reaper, ledger = Reaper(url, workers, seed), Ledger()
        try:
            reaper.server.wait_until_ready()
            begin = time.monotonic()
            asyncio.run(soak(reaper, ledger, begin + 60.0 * minutes, kills, sessions, seed, pause, progress))
            reaper.server.wait_until_ready()  # it can still start, and still serves
            seconds = time.monotonic() - begin
        finally:
            reaper.stop()
        kept = check_store(url, ledger)
    settings = {"minutes": minutes, "workers": workers, "sessions": sessions, "seed": seed, "pause": pause}
    return {**settings, "store": url.partition(":")[0], "machine": machine_facts(), **outcome(reaper, ledger, kept, seconds)}


async def soak(
    reaper: Reaper, ledger: Ledger, until: float, kills: int, sessions: int, seed: int, pause: float, progress: Progress
) -> None:
    """Players and the reaper, side by side."""
    players = [asyncio.create_task(Player(k, reaper.port, seed, pause, ledger).play()) for k in range(sessions)]
    try:
        await reaper.reap(kills, until, ledger, progress)
        await asyncio.sleep(max(0.0, until - time.monotonic()))
    finally:
        ledger.over = True
        await asyncio.gather(*players)


def check_store(url: str, ledger: Ledger) -> dict[str, int]:
    """The store's logs against what was acknowledged, and played again."""
    store, found = Store(url), Counter[str]()
    for episode in ledger.episodes:
        found.update(check_episode(store, episode))
    store.close()
    return {key: found[key] for key in ("episodes", "steps", "missing", "different", "unheard_at_the_end", "replays_that_differ")}


def check_episode(store: Store, episode: Episode) -> Counter[str]:
    """One session's log."""
    stored = store.find(LOCAL, episode.name)
    log = [] if stored is None else store.actions(stored.generation)
    ours = [orjson.loads(action) for action in episode.actions]
    extra = len(log) - len(ours)
    same = sum(a == b for a, b in zip(ours, log, strict=False))
    live = replayed(episode.opening, log[: len(ours)])
    end = [live.observation(), live.info(), live.steps]
    return Counter(
        episodes=1,
        steps=same,
        missing=max(0, -extra),
        different=min(len(log), len(ours)) - same + max(0, extra - 1),
        unheard_at_the_end=int(extra == 1),  # under way when the time was up
        replays_that_differ=int(end != [episode.live.observation(), episode.live.info(), episode.live.steps]),
    )


def outcome(reaper: Reaper, ledger: Ledger, kept: dict[str, int], seconds: float) -> dict[str, Any]:
    """What came of it."""
    recoveries = recovery_seconds(reaper.kills, ledger.heard)
    lost = ledger.lost + kept["missing"] + kept["different"]
    server_errors = sum(count for code, count in ledger.answers.items() if code.startswith("500"))
    clean = not (lost or ledger.doubled or ledger.mismatches or kept["replays_that_differ"] or server_errors)
    return {
        "seconds": seconds,
        "kills": len(reaper.kills),
        "kills_by_kind": dict(Counter(how for _, how in reaper.kills)),
        "processes_killed": reaper.processes,
        "steps_acknowledged": ledger.acknowledged,
        "steps_carried_out_unheard": ledger.unheard + kept["unheard_at_the_end"],
        "steps_lost": lost,
        "steps_doubled": ledger.doubled,
        "mismatches": len(ledger.mismatches),
        "first_mismatches": ledger.mismatches[:5],
        "checked_in_the_store": kept,
        "answers_by_code": dict(ledger.answers.most_common()),
        "server_errors": server_errors,
        "faults_in_the_log": len(reaper.failures),
        "first_faults": reaper.failures[:3],
        "recovery_seconds": recoveries,
        "clean": clean,
    }


def recovery_seconds(kills: list[tuple[float, str]], heard: list[tuple[float, float]]) -> dict[str, dict[str, float]]:
    """By what was killed: seconds from the kill to the first answer to a step that was sent after it."""
    times: dict[str, list[float]] = {}
    sent = np.array([moment for moment, _ in heard])
    answered = np.array([moment for _, moment in heard])
    for when, how in kills:
        later = answered[sent > when]
        if len(later):
            times.setdefault(how, []).append(float(later.min() - when))
    return {how: {"median": float(np.median(each)), "longest": max(each), "counted": len(each)} for how, each in sorted(times.items())}


def main(
    minutes: Annotated[float, typer.Option(min=0.05, help="How long; the last kills may take longer.")] = 10.0,
    kills: Annotated[int, typer.Option(min=1, help="How often something is killed.")] = 210,
    workers: Annotated[
        int, typer.Option(min=1, max=16, help="Processes that serve; one alone writes the steps of many sockets together.")
    ] = 3,
    sessions: Annotated[int, typer.Option(min=1, help="Sessions at a time.")] = 64,
    seed: Seed = 0,
    store: Annotated[str | None, typer.Option(help="A store by its URL; default: a temporary SQLite file.")] = None,
    out_file: OutFile = None,
    as_json: AsJson = False,
) -> None:
    """Play sessions while workers, or all of them, are killed; exit status 1 where a step that was acknowledged is lost.

    Example: python -m benchmarks.soak --minutes 1 --kills 20
    """
    check_platform()
    result = report(lambda progress: run(minutes, kills, workers, sessions, seed, store=store, progress=progress), page, as_json, out_file)
    if not result["clean"]:
        raise typer.Exit(1)


def page(result: dict[str, Any]) -> Iterator[RenderableType]:
    """What became of the steps."""
    kinds = ", ".join(f"{count} × {how}" for how, count in result["kills_by_kind"].items())
    rows = {
        "kills": f"{result['kills']} ({kinds}), {result['processes_killed']} processes",
        "steps acknowledged": f"{result['steps_acknowledged']:,}",
        "carried out, answer not heard": f"{result['steps_carried_out_unheard']:,}",
        "lost": str(result["steps_lost"]),
        "made twice": str(result["steps_doubled"]),
        "answers that a replay does not give": str(result["mismatches"]),
        "server errors": str(result["server_errors"]),
    }
    for how, times in result["recovery_seconds"].items():
        rows[f"recovery after {how}"] = f"median {times['median']:.2f} s, longest {times['longest']:.2f} s"
    found = table("what", "found", title=f"{result['seconds']:,.0f} seconds, {result['workers']} workers, {result['sessions']} sessions")
    for row in rows.items():
        found.add_row(*row)
    yield found


if __name__ == "__main__":
    start(main)
