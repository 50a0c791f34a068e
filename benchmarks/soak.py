"""A soak: many sessions under load while everything goes wrong at once, at random moments drawn from a seed.

Workers, or all of them, or the whole server are killed; workers are replaced one by one, and servers drain and start again; the database
goes away for seconds; hostile clients hold connections and send without end. Every step that was acknowledged is checked three times:
against our own episode as soon as it is answered, against the store's log at the end, and by playing that log again. `steps_lost`,
`steps_doubled` and `mismatches` must be zero whatever happened and when, and the server's memory stays below its bound.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from benchmarks.command import report, start
from benchmarks.measuring import machine_facts
from benchmarks.nginx_process import NGINX, documented_nginx
from benchmarks.postgres_process import postgres_server
from benchmarks.server_process import START_SECONDS, check_platform
from benchmarks.soak_checks import check_store, recovery_seconds, step_seconds
from benchmarks.soak_disturbances import Kills, Outages, Restarts, Service, at_random_moments, traffic
from benchmarks.soak_hostile import Encounters, HostileClient
from benchmarks.soak_players import Ledger, Player
from edgeworth.cli.console import table
from edgeworth.cli.options import AsJson, OutFile, Seed
from edgeworth.errors import InvalidOption
from edgeworth.progress import Progress, silent

OWN_POSTGRESQL = "postgresql"
"""The store that is a PostgreSQL server of the soak's own."""


@dataclass(frozen=True)
class Plan:
    """How long, how many of what, and on which server."""

    minutes: float = 10.0
    kills: int = 60
    restarts: int = 20
    outages: int = 15
    hostile: int = 24
    """Hostile clients at a time; with some, everybody comes through nginx."""
    workers: int = 3
    sessions: int = 64
    seed: int = 0
    pause: float = 0.15
    """Seconds between an answer and the session's next step."""
    store: str | None = None


class Soak:
    """A server, its players, and all that happens to it."""

    def __init__(self, plan: Plan, service: Service) -> None:
        self.plan, self.service, self.ledger, self.encounters = plan, service, Ledger(), Encounters()
        self.kills = Kills(service, self.ledger, self._chance("kills"))
        self.restarts = Restarts(service, self._chance("restarts"))
        self.outages = Outages(service.store, self._chance("outages"))

    def _chance(self, what: str) -> random.Random:
        """The same moments for a seed, however many disturbances of another kind there are."""
        return random.Random(f"{what} {self.plan.seed}")

    async def run(self, port: int, progress: Progress) -> None:
        """Play through `port` until the time is up, and until the server has recovered from everything."""
        plan, until = self.plan, time.monotonic() + 60.0 * self.plan.minutes
        players = [asyncio.create_task(Player(k, port, plan.seed, plan.pause, self.ledger).play()) for k in range(plan.sessions)]
        strangers = [HostileClient(k, port, self.service.port, plan.seed, self.encounters).attack() for k in range(plan.hostile)]
        others = [asyncio.create_task(each) for each in (self.service.keep(), *strangers)]
        try:
            await self._disturbed(until, progress)
            await traffic(self.service, self.ledger)
        finally:
            self.ledger.over = True
            _, late = await asyncio.wait(players, timeout=START_SECONDS)
            for task in (*others, *late):
                task.cancel()
            await asyncio.gather(*others, *late, return_exceptions=True)
        for player in players:
            player.result()

    async def _disturbed(self, until: float, progress: Progress) -> None:
        """All disturbances, each at its moments."""
        plan = self.plan
        counts = ((self.kills, plan.kills), (self.restarts, plan.restarts), (self.outages, plan.outages))
        async with asyncio.TaskGroup() as group:
            for disturbance, count in counts:
                group.create_task(at_random_moments(count, until, disturbance.chance, disturbance.act))
            group.create_task(self._told(until, progress))

    async def _told(self, until: float, progress: Progress) -> None:
        """Tell how far it is, until the time is up."""
        total = round(60.0 * self.plan.minutes)
        while (left := until - time.monotonic()) > 0.0:
            progress(f"{self.ledger.acknowledged} steps acknowledged", total - round(left), total)
            await asyncio.sleep(min(1.0, left))


def run(plan: Plan, progress: Progress = silent) -> dict[str, Any]:
    """Soak a server, and report."""
    with tempfile.TemporaryDirectory() as place, store_at(plan.store, Path(place)) as url:
        service = Service(url, plan.workers, Path(place), *(["--behind-proxy"] if plan.hostile else []))
        soak = Soak(plan, service)
        try:
            service.server.wait_until_ready()
            begin = time.monotonic()
            with front(plan, service.port, Path(place)) as port:
                asyncio.run(soak.run(port, progress))
            service.server.wait_until_ready()  # it can still start, and still serves
            service.measure()
            seconds = time.monotonic() - begin
        finally:
            service.stop()
        kept = check_store(url, soak.ledger)
    settings = {**asdict(plan), "store": url.partition(":")[0], "machine": machine_facts()}
    return {**settings, "seconds": seconds, **disturbances(soak), **outcome(soak, kept)}


@contextlib.contextmanager
def store_at(store: str | None, place: Path) -> Iterator[str]:
    """The store's URL: a PostgreSQL server of our own, somebody's database, or a temporary file."""
    if store == OWN_POSTGRESQL:
        with postgres_server() as url:
            yield url
    else:
        yield store or f"sqlite:///{place}/sessions.sqlite"


def front(plan: Plan, port: int, place: Path) -> AbstractContextManager[int]:
    """The port that everybody comes to: that of nginx where there are hostile clients, or the server's own."""
    if not plan.hostile:
        return contextlib.nullcontext(port)
    if NGINX is None:
        raise InvalidOption("Hostile clients come through nginx, which is not installed; install it, or leave them out with --hostile 0.")
    return documented_nginx(place, port)


def disturbances(soak: Soak) -> dict[str, Any]:
    """What happened to the server."""
    kills, restarts, outages, encounters = soak.kills, soak.restarts, soak.outages, soak.encounters
    return {
        "kills": len(kills.done),
        "kills_by_kind": dict(Counter(how for _, how in kills.done)),
        "processes_killed": kills.processes,
        "restarts": len(restarts.done),
        "restarts_by_kind": dict(Counter(how for _, how in restarts.done)),
        "restarts_aborted": soak.service.aborted_restarts(),
        "outages": len(outages.done),
        "outage_seconds": outages.seconds,
        "hostile_connections": encounters.made.total(),
        "hostile_by_kind": dict(encounters.made.most_common()),
        "hostile_ends": dict(encounters.ends.most_common()),
        "hostile_connections_held": encounters.held,
    }


def outcome(soak: Soak, kept: dict[str, int]) -> dict[str, Any]:
    """What came of it."""
    ledger, service = soak.ledger, soak.service
    lost = ledger.lost + kept["missing"] + kept["different"]
    server_errors = sum(count for code, count in ledger.answers.items() if code.startswith("500"))
    differ = len(ledger.mismatches) + kept["replays_that_differ"]
    bounded = service.worst_bytes <= service.bound_bytes
    return {
        "steps_acknowledged": ledger.acknowledged,
        "steps_carried_out_unheard": ledger.unheard + kept["unheard_at_the_end"],
        "steps_lost": lost,
        "steps_doubled": ledger.doubled,
        "mismatches": differ,
        "first_mismatches": ledger.mismatches[:5],
        "checked_in_the_store": kept,
        "step_seconds": step_seconds(ledger.heard),
        "memory": {"bound": service.bound_bytes, "worst": service.worst_bytes, "final": service.last_bytes, "bounded": bounded},
        "answers_by_code": dict(ledger.answers.most_common()),
        "server_errors": server_errors,
        "faults_in_the_log": dict(service.faults.most_common()),
        "recovery_seconds": recovery_seconds([*soak.kills.done, *soak.outages.done], ledger.heard),
        "clean": bounded and not (lost or ledger.doubled or differ or server_errors or soak.encounters.held),
    }


def main(
    minutes: Annotated[float, typer.Option(min=0.05, help="How long; the last disturbances may take longer.")] = Plan.minutes,
    kills: Annotated[int, typer.Option(min=0, help="How often something is killed.")] = Plan.kills,
    restarts: Annotated[int, typer.Option(min=0, help="How often workers are replaced (SIGHUP), or the server drains.")] = Plan.restarts,
    outages: Annotated[int, typer.Option(min=0, help="How often the store goes away for seconds.")] = Plan.outages,
    hostile: Annotated[int, typer.Option(min=0, help="Hostile clients at a time; all clients then come through nginx.")] = Plan.hostile,
    workers: Annotated[
        int, typer.Option(min=1, max=16, help="Processes that serve; one alone writes the steps of many sockets together.")
    ] = Plan.workers,
    sessions: Annotated[int, typer.Option(min=1, help="Sessions at a time.")] = Plan.sessions,
    seed: Seed = 0,
    store: Annotated[
        str | None, typer.Option(help="A store by its URL, or `postgresql` for a server of its own; default: a temporary SQLite file.")
    ] = None,
    out_file: OutFile = None,
    as_json: AsJson = False,
) -> None:
    """Play sessions while everything goes wrong; exit status 1 where a step is lost or made twice, or a limit does not hold.

    Example: python -m benchmarks.soak --minutes 1 --kills 10 --restarts 2 --outages 2
    """
    check_platform()
    plan = Plan(minutes, kills, restarts, outages, hostile, workers, sessions, seed, store=store)
    if not report(lambda progress: run(plan, progress), page, as_json, out_file)["clean"]:
        raise typer.Exit(1)


def page(result: dict[str, Any]) -> Iterator[RenderableType]:
    """What happened, and what became of the steps."""
    memory, taken = result["memory"], result["step_seconds"]
    rows = {
        "kills": f"{counted(result, 'kills')}, {result['processes_killed']} processes",
        "restarts": f"{counted(result, 'restarts')}, {result['restarts_aborted']} aborted",
        "outages": f"{result['outages']}, {result['outage_seconds']:.0f} seconds",
        "hostile connections": f"{result['hostile_connections']:,}, {result['hostile_connections_held']} held",
        "steps acknowledged": f"{result['steps_acknowledged']:,}",
        "carried out, answer not heard": f"{result['steps_carried_out_unheard']:,}",
        "lost": str(result["steps_lost"]),
        "made twice": str(result["steps_doubled"]),
        "answers that a replay does not give": str(result["mismatches"]),
        "server errors": str(result["server_errors"]),
        "seconds of a step": f"p50 {taken['p50']:.3f}, p99 {taken['p99']:.3f}, longest {taken['longest']:.1f}",
        "memory": ", ".join(f"{name} {memory[name] / 2**20:,.0f} MiB" for name in ("worst", "final", "bound")),
    }
    for how, times in result["recovery_seconds"].items():
        rows[f"recovery after {how}"] = f"median {times['median']:.2f} s, longest {times['longest']:.2f} s"
    found = table("what", "found", title=f"{result['seconds']:,.0f} seconds, {result['workers']} workers, {result['sessions']} sessions")
    for row in rows.items():
        found.add_row(*row)
    yield found


def counted(result: dict[str, Any], what: str) -> str:
    """A number of disturbances, and of each kind."""
    kinds = ", ".join(f"{count} × {how}" for how, count in result[f"{what}_by_kind"].items())
    return f"{result[what]} ({kinds})" if kinds else "0"


if __name__ == "__main__":
    start(main)
