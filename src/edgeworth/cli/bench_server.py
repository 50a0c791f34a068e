"""`edgeworth bench server` and `edgeworth bench soak`: how fast sessions are served, and what survives when servers are killed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from edgeworth.cli.bench import app, load_benchmark, marks_table, plain_table
from edgeworth.cli.console import AsJson, Seed, command_line, deliver, out
from edgeworth.cli.progress import progress
from edgeworth.errors import InvalidOption, MissingExtra


@app.command("server")
def server_command(
    repeats: Annotated[int, typer.Option(min=1, help="Rounds of measurement; medians need 5 or more.")] = 5,
    seconds: Annotated[float, typer.Option(min=0.1, help="Seconds per measurement.")] = 3.0,
    sessions: Annotated[list[int] | None, typer.Option(min=1, help="Sessions at a time; default: 1, 64 and 512.")] = None,
    workers: Annotated[int, typer.Option(min=1, max=16, help="Processes of our server; OpenEnv's sessions live in one.")] = 1,
    model: Annotated[
        bool, typer.Option("--model/--no-model", help="Also measure steps while a language model writes; needs the `llm` extra.")
    ] = True,
    seed: Seed = 0,
    out_file: Annotated[Path | None, typer.Option("--out", help="Write the result as JSON into this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare durable steps with those of OpenEnv's echo, and steps while a language model writes with those while it is idle.

    Example: edgeworth bench server --repeats 5
    """
    chosen = {"sizes": tuple(sorted(set(sessions)))} if sessions else {}
    measure = _benchmark("bench_server").run
    with progress() as task:
        measured = measure(repeats=repeats, seconds=seconds, seed=seed, workers=workers, model=model, progress=task("measuring"), **chosen)
    result = {"command": command_line(), **measured}
    deliver(result, as_json, out_file, lambda: _show_server(result))


@app.command("soak")
def soak_command(
    minutes: Annotated[float, typer.Option(min=0.05, help="How long; the last kills may take longer.")] = 10.0,
    kills: Annotated[int, typer.Option(min=1, help="How often something is killed.")] = 210,
    workers: Annotated[
        int, typer.Option(min=1, max=16, help="Processes that serve; one alone writes the steps of many sockets together.")
    ] = 3,
    sessions: Annotated[int, typer.Option(min=1, help="Sessions at a time.")] = 64,
    seed: Seed = 0,
    store: Annotated[str | None, typer.Option(help="A store by its URL; default: a SQLite file that is thrown away.")] = None,
    out_file: Annotated[Path | None, typer.Option("--out", help="Write the report as JSON into this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Play sessions while workers, or all of them, are killed; exit status 1 where a step that was acknowledged is lost.

    Example: edgeworth bench soak --minutes 1 --kills 20
    """
    run = _benchmark("soak").run
    with progress() as task:
        found = run(minutes=minutes, kills=kills, workers=workers, sessions=sessions, seed=seed, store=store, progress=task("soaking"))
    result = {"command": command_line(), **found}
    deliver(result, as_json, out_file, lambda: _show_soak(result))
    if not result["clean"]:
        raise typer.Exit(1)


def _benchmark(name: str) -> Any:
    """A benchmark of the server, which needs the server's extra."""
    if not Path("/proc/self/stat").is_file():
        raise InvalidOption("Servers are measured through /proc, which only Linux has.")
    try:
        return load_benchmark(name)
    except ModuleNotFoundError as error:
        raise MissingExtra("Measuring the server", error.name or "openenv", "server") from error


def _show_server(result: dict[str, Any]) -> None:
    shown = plain_table("Steps per second", "entry", "steps/s", "quartiles", "p50 ms", "p99 ms", "server CPU µs", "refused")
    for entry in result["entries"].values():
        low, high = entry["interquartile_range"]
        times = [f"{entry[key]['median']:,.3g}" for key in ("p50", "p99", "server_cpu_microseconds")]
        shown.add_row(entry["label"], f"{entry['median']:,.0f}", f"{low:,.0f} – {high:,.0f}", *times, str(entry["problems"]))
    out.print(shown)
    ceiling = result["generator_ceiling"]
    out.print(f"\nThe load generator itself reaches {ceiling['rate']:,.0f} steps/s where the server does nothing.\n")
    _show_responsiveness(result["responsiveness"])
    out.print(marks_table(result))


def _show_responsiveness(found: dict[str, Any]) -> None:
    if "not_measured" in found:
        out.print(f"Steps while a language model writes: not measured: {found['not_measured']}\n", soft_wrap=True, markup=False)
        return
    shown = plain_table(f"Steps of {found['sessions']} sessions, over HTTP", "while", "p50 ms", "p99 ms", "quartiles", "steps")
    for entry in found["turns"].values():
        low, high = entry["p99"]["interquartile_range"]
        times = [f"{entry[key]['median']:,.3g}" for key in ("p50", "p99")]
        shown.add_row(entry["label"], *times, f"{low:,.3g} – {high:,.3g}", f"{entry['steps']:,}")
    out.print(shown)
    refused = len(found["problems"])
    out.print(f"\n{found['model']} wrote {found['questions_answered']} mechanisms; refused or failed: {refused}.\n", markup=False)


def _show_soak(result: dict[str, Any]) -> None:
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
    shown = plain_table(f"{result['seconds']:,.0f} seconds, {result['workers']} workers, {result['sessions']} sessions", "what", "found")
    for name, found in rows.items():
        shown.add_row(name, found)
    out.print(shown)
