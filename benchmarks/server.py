"""How many steps a second the server makes, durably, against OpenEnv's own server with an environment that does nothing but echo.

Both run as processes of their own under the same uvicorn settings; the load comes from this process. Each of our steps runs five market
rounds and is in the store before it is answered, and on the disk too with `--durability power`; the echo keeps nothing, and over HTTP
makes a new environment for every step, which is OpenEnv's way. Contenders take turns, and ratios are taken within a round. Rates are
wall-clock, since a server's speed is; the processor time of the server and of the generator is reported too. The generator's own
ceiling is measured against a server that answers without reading. Then a language model writes for somebody while others play; see
`responsiveness`.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import orjson
import typer
import uvloop
from rich.console import RenderableType
from rich.markup import escape

from benchmarks import responsiveness
from benchmarks.command import Repeats, report, start, targets_table
from benchmarks.load import Bare, HttpSession, Script, Session, SocketSession, Tally, frame, load, post
from benchmarks.measuring import machine_facts, summary, target
from benchmarks.server_process import ServerProcess, check_platform, echo_server, free_port, our_server, running
from edgeworth.cli.console import table
from edgeworth.cli.options import AsJson, OutFile, Seed
from edgeworth.progress import Progress, silent

SIZES = (1, 64, 512)
"""Sessions at a time."""
WORDS = {"http": "HTTP", "ws": "WebSocket"}
KINDS: dict[str, type[Session]] = {"http": HttpSession, "ws": SocketSession}
NAMES = {"ours": "Edgeworth, durable", "echo": "OpenEnv echo", "power": "Edgeworth, on the disk"}
"""Contenders; the last is ours with `--durability power`."""
TARGETS = {"http": 0.8, "ws": 0.5}
"""Steps a second over those of the echo, with the most sessions of `SIZES`; with fewer the ratio is only reported."""
WARM_UP_SECONDS = 0.5
LONG = 1_000
"""Steps of an episode; the longest there is over the wire."""
MECHANISM = {
    "auction_type": "vcg",
    "reserve_price": 0.12,
    "reveal_reserve": True,
    "reveal_competing_bids": False,
    "reveal_winner_identity": False,
    "reveal_clearing_price": True,
    "reveal_bid_distribution": True,
    "shill_penalty": 1.0,
    "withdrawal_penalty": 1.0,
    "collusion_penalty": 0.5,
    "coalition_policy": "penalize_confirmed",
}


def run(
    repeats: int = 5,
    seconds: float = 3.0,
    seed: int = 0,
    sizes: Sequence[int] = SIZES,
    workers: int = 1,
    model: bool = True,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Measure everything; `workers` are ours, since OpenEnv's sessions live in one process. Without `model` no language model writes."""
    with tempfile.TemporaryDirectory() as folder:
        servers = {
            "ours": our_server(f"sqlite:///{folder}/sessions.sqlite", free_port(), workers),
            "echo": echo_server(free_port()),
            "power": our_server(f"sqlite:///{folder}/power.sqlite", free_port(), workers, "--durability", "power"),
        }
        with running(*servers.values()):
            turns = measured(servers, repeats, seconds, seed, sizes, progress)
            failures = [line for who in ("ours", "power") for line in servers[who].failures()]
    writing = while_writing(repeats, seconds, seed, progress) if model else responsiveness.not_measured("left out with --no-model")
    return {
        "quantity": "steps per second of the wall clock, median of the repeats; ratios within a repeat",
        "seed": seed,
        "repeats": repeats,
        "seconds": seconds,
        "workers": workers,
        "machine": {**machine_facts(), **{name: importlib.metadata.version(name) for name in ("openenv", "uvicorn", "fastapi")}},
        "generator_ceiling": ceiling(seconds),
        "entries": {name: summarised(name, rounds) for name, rounds in turns.items()},
        "responsiveness": writing,
        "server_failures": failures,
        "targets": [*targets(turns, sizes), *responsiveness.targets(writing)],
    }


def while_writing(repeats: int, seconds: float, seed: int, progress: Progress) -> dict[str, Any]:
    """Steps while a language model writes, on a server of their own."""
    scripts = [script("ours", "http", f"bench-model-{k}", seed + k) for k in range(responsiveness.SESSIONS)]
    with tempfile.TemporaryDirectory() as folder:
        server = our_server(f"sqlite:///{folder}/sessions.sqlite", free_port())
        with running(server):
            return responsiveness.measure(server.port, scripts, repeats, seconds, progress)


def measured(
    servers: dict[str, ServerProcess], repeats: int, seconds: float, seed: int, sizes: Sequence[int], progress: Progress
) -> dict[str, list[dict[str, float]]]:
    """Rounds in which every contender has a turn at every size, after one short round to warm up."""
    order = [(way, size, who) for way in WORDS for size in sizes for who in servers]
    turns: dict[str, list[dict[str, float]]] = {f"{who}_{way}_{size}": [] for way, size, who in order}
    for lap in range(repeats + 1):
        for done, (way, size, who) in enumerate(order):
            progress(f"{label(who, way, size)}, round {lap} of {repeats}", lap * len(order) + done, (repeats + 1) * len(order))
            scripts = [script(who, way, f"bench-{way}-{k}", seed + k) for k in range(size)]
            tally = load(KINDS[way], servers[who].port, scripts, seconds if lap else WARM_UP_SECONDS, servers[who].cpu_seconds)
            if lap:
                turns[f"{who}_{way}_{size}"].append(facts(tally))
    return turns


def script(who: str, way: str, name: str, seed: int) -> Script:
    """What a session says to whom."""
    if who == "echo":
        begin: dict[str, Any] = {}
        action: dict[str, Any] = {"message": "What would you pay for it?"}
        step: dict[str, Any] = {"action": action}
    else:
        begin = {"episode_length": LONG, "seed": seed}
        action, step = MECHANISM, {"session_id": name, "action": MECHANISM}
    if way == "http":
        return Script(post("/reset", begin if who == "echo" else {**begin, "session_id": name}), post("/step", step))
    return Script(frame(orjson.dumps({"type": "reset", "data": begin})), frame(orjson.dumps({"type": "step", "data": action})))


def facts(tally: Tally) -> dict[str, float]:
    """A turn in numbers."""
    steps = len(tally.latencies)
    return {
        "rate": tally.rate(),
        "p50": tally.quantile(0.5),
        "p99": tally.quantile(0.99),
        "steps": steps,
        "problems": len(tally.problems),
        "server_cpu_microseconds": 1e6 * tally.server_seconds / max(1, steps),
        "generator_load": tally.cpu_seconds / tally.seconds,
    }


def summarised(name: str, rounds: list[dict[str, float]]) -> dict[str, Any]:
    """A contender at one size over all rounds; latencies in milliseconds."""
    who, way, size = name.split("_")
    spread = {key: summary(turn[key] for turn in rounds) for key in ("p50", "p99", "server_cpu_microseconds", "generator_load")}
    counts = {key: int(sum(turn[key] for turn in rounds)) for key in ("steps", "problems")}
    return {"label": label(who, way, int(size)), **summary(turn["rate"] for turn in rounds), **counts, **spread}


def label(who: str, way: str, size: int) -> str:
    """A contender in words."""
    return f"{NAMES[who]}, {WORDS[way]}, {sessions(size)}"


def sessions(size: int) -> str:
    """So many sessions, in words."""
    return f"{size} session{'s' if size > 1 else ''}"


def targets(turns: dict[str, list[dict[str, float]]], sizes: Sequence[int]) -> list[dict[str, Any]]:
    """The targets, with what was measured."""
    rows = []
    for way, words in WORDS.items():
        for size in sizes:
            pairs = zip(turns[f"ours_{way}_{size}"], turns[f"echo_{way}_{size}"], strict=True)
            ratios = [ours["rate"] / echo["rate"] for ours, echo in pairs]
            wanted = TARGETS[way] if size == SIZES[-1] else None
            rows.append(target(f"{words}, {sessions(size)}, ours / OpenEnv echo", ratios, ">=", wanted, ""))
    most = max(sizes)
    refused = [turn["problems"] for way in WORDS for turn in turns[f"ours_{way}_{most}"]]
    rows.append(target(f"{most} sessions held, steps refused or failed", refused, "<=", 0.0, ""))
    return rows


def ceiling(seconds: float) -> dict[str, float]:
    """Steps a second that the generator reaches where the server does nothing, in a process of its own."""
    context = multiprocessing.get_context("spawn")
    port = free_port()
    bare = context.Process(target=serve_bare, args=(port, os.getpid()), daemon=True)
    bare.start()
    try:
        until = time.monotonic() + 30.0
        while True:
            try:
                tally = load(HttpSession, port, [script("ours", "http", f"ceiling-{k}", k) for k in range(64)], seconds)
                return {"rate": tally.rate(), "sessions": 64, "generator_load": tally.cpu_seconds / tally.seconds}
            except ConnectionRefusedError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
    finally:
        bare.kill()
        bare.join()


def serve_bare(port: int, parent: int) -> None:
    """Serve the same reply to everything, as long as the parent process lives."""

    async def serve() -> None:
        server = await asyncio.get_running_loop().create_server(Bare, "127.0.0.1", port)
        async with server:
            while os.getppid() == parent:
                await asyncio.sleep(0.5)

    uvloop.run(serve())


# The command


def main(
    repeats: Repeats = 5,
    seconds: Annotated[float, typer.Option(min=0.1, help="Seconds per measurement.")] = 3.0,
    sessions: Annotated[list[int] | None, typer.Option(min=1, help="Sessions at a time; default: 1, 64 and 512.")] = None,
    workers: Annotated[int, typer.Option(min=1, max=16, help="Processes of our server; OpenEnv's sessions live in one.")] = 1,
    model: Annotated[
        bool, typer.Option("--model/--no-model", help="Also measure steps while a language model writes; needs the `llm` extra.")
    ] = True,
    seed: Seed = 0,
    out_file: OutFile = None,
    as_json: AsJson = False,
) -> None:
    """Compare durable steps with those of OpenEnv's echo, and steps while a language model writes with those while it is idle.

    Example: python -m benchmarks.server --repeats 5
    """
    check_platform()
    sizes = sorted(set(sessions)) if sessions else SIZES
    report(lambda progress: run(repeats, seconds, seed, sizes, workers, model, progress), page, as_json, out_file)


def page(result: dict[str, Any]) -> Iterator[RenderableType]:
    """The rates and latencies, those while a language model writes, and the targets."""
    shown = table("entry", "steps/s", "quartiles", "p50 ms", "p99 ms", "server CPU µs", "refused", title="Steps per second")
    for entry in result["entries"].values():
        low, high = entry["interquartile_range"]
        times = [f"{entry[key]['median']:,.3g}" for key in ("p50", "p99", "server_cpu_microseconds")]
        shown.add_row(entry["label"], f"{entry['median']:,.0f}", f"{low:,.0f} – {high:,.0f}", *times, str(entry["problems"]))
    yield shown
    yield f"\nThe load generator itself reaches {result['generator_ceiling']['rate']:,.0f} steps/s where the server does nothing.\n"
    yield from responsiveness_page(result["responsiveness"])
    yield targets_table(result)


def responsiveness_page(found: dict[str, Any]) -> Iterator[RenderableType]:
    """How long steps take while a language model writes, or why that was not measured."""
    if "not_measured" in found:
        yield f"Steps while a language model writes: not measured: {escape(found['not_measured'])}\n"
        return
    shown = table("while", "p50 ms", "p99 ms", "quartiles", "steps", title=f"Steps of {found['sessions']} sessions, over HTTP")
    for entry in found["turns"].values():
        low, high = entry["p99"]["interquartile_range"]
        times = [f"{entry[key]['median']:,.3g}" for key in ("p50", "p99")]
        shown.add_row(entry["label"], *times, f"{low:,.3g} – {high:,.3g}", f"{entry['steps']:,}")
    yield shown
    refused = len(found["problems"])
    yield f"\n{found['model']} wrote {found['questions_answered']} mechanisms; refused or failed: {refused}.\n"


if __name__ == "__main__":
    start(main)
