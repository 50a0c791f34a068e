"""How many steps a second the server makes, durably, against OpenEnv's own server with an environment that does nothing but echo.

Both run as processes of their own under the same uvicorn settings; the load comes from this process. Each of our steps runs five market
rounds and is in the store before it is answered; the echo keeps nothing, and over HTTP makes a new environment for every step, which is
OpenEnv's way. Contenders take turns, and ratios are taken within a round. Rates are wall-clock, since a server's speed is; the processor
time of the server and of the generator is told beside them. The generator's own ceiling is measured against a server that answers
without reading. Then a language model writes for somebody while others play; see `responsiveness`.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import multiprocessing
import os
import tempfile
import time
from collections.abc import Sequence
from typing import Any

import orjson
import uvloop

from benchmarks import responsiveness
from benchmarks.load import Bare, HttpSession, Script, Session, SocketSession, Tally, frame, load, post
from benchmarks.measuring import Progress, machine_facts, mark, summary
from benchmarks.server_process import ServerProcess, echo_server, free_port, our_server, running

SIZES = (1, 64, 512)
"""Sessions at a time."""
WORDS = {"http": "HTTP", "ws": "WebSocket"}
KINDS: dict[str, type[Session]] = {"http": HttpSession, "ws": SocketSession}
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
    progress: Progress = lambda *_: None,
) -> dict[str, Any]:
    """Measure everything; `workers` are ours, since OpenEnv's sessions live in one process. Without `model` no language model writes."""
    with tempfile.TemporaryDirectory() as folder:
        servers = {"ours": our_server(f"sqlite:///{folder}/sessions.sqlite", free_port(), workers), "echo": echo_server(free_port())}
        with running(*servers.values()):
            turns = measured(servers, repeats, seconds, seed, sizes, progress)
            failures = servers["ours"].failures()
    writing = while_writing(repeats, seconds, seed, progress) if model else responsiveness.not_measured("left out with --no-model")
    return {
        "quantity": "steps per second of the wall clock, median of the repeats; ratios within a repeat",
        "seed": seed,
        "repeats": repeats,
        "seconds": seconds,
        "workers": workers,
        "machine": {**machine_facts(), **{name: importlib.metadata.version(name) for name in ("openenv", "uvicorn", "fastapi")}},
        "generator_ceiling": ceiling(seconds),
        "entries": {name: entry(name, rounds) for name, rounds in turns.items()},
        "responsiveness": writing,
        "server_failures": failures,
        "marks": [*marks(turns, sizes), *responsiveness.marks(writing)],
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
    """Rounds in which everybody has a turn at every size, after one short round to warm up."""
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


def entry(name: str, rounds: list[dict[str, float]]) -> dict[str, Any]:
    """A contender at one size over all rounds; latencies in milliseconds."""
    who, way, size = name.split("_")
    told = {key: summary(turn[key] for turn in rounds) for key in ("p50", "p99", "server_cpu_microseconds", "generator_load")}
    counts = {key: int(sum(turn[key] for turn in rounds)) for key in ("steps", "problems")}
    return {"label": label(who, way, int(size)), **summary(turn["rate"] for turn in rounds), **counts, **told}


def label(who: str, way: str, size: int) -> str:
    """A contender in words."""
    name = "Edgeworth, durable" if who == "ours" else "OpenEnv echo"
    return f"{name}, {WORDS[way]}, {size} session{'s' if size > 1 else ''}"


def marks(turns: dict[str, list[dict[str, float]]], sizes: Sequence[int]) -> list[dict[str, Any]]:
    """What was hoped for, with what was measured."""
    rows = []
    for way, words in WORDS.items():
        for size in sizes:
            pairs = zip(turns[f"ours_{way}_{size}"], turns[f"echo_{way}_{size}"], strict=True)
            ratios = [ours["rate"] / echo["rate"] for ours, echo in pairs]
            rows.append(mark(f"{words}, {size} sessions, ours / OpenEnv echo", ratios, ">=", 0.8, ""))
    most = max(sizes)
    refused = [turn["problems"] for way in WORDS for turn in turns[f"ours_{way}_{most}"]]
    rows.append(mark(f"{most} sessions held, steps refused or failed", refused, "<=", 0.0, ""))
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
    """A server without a mind, as long as its parent lives."""

    async def serve() -> None:
        server = await asyncio.get_running_loop().create_server(Bare, "127.0.0.1", port)
        async with server:
            while os.getppid() == parent:
                await asyncio.sleep(0.5)

    uvloop.run(serve())
