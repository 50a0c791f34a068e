"""`edgeworth bench`: how fast the games are, against plain Python, NumPy and OpenSpiel, how fast negotiators are trained, against
torch and Stable-Baselines3, and how fast the pocket model writes.

The yardsticks live in `benchmarks/` at the root of a checkout and are not part of the installed package.
"""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer
from rich.table import Table

from edgeworth.cli.console import AsJson, Seed, command_line, deliver, out
from edgeworth.cli.progress import progress
from edgeworth.errors import InvalidOption, MissingExtra
from edgeworth.llm.stack import make_client

app = typer.Typer(help="Measure speed, with the marks it should reach.", no_args_is_help=True)

CHECKOUT = Path(__file__).resolve().parents[3]


@app.callback()
def bench() -> None:
    """Measure speed, with the marks it should reach."""


@app.command("env")
def bench_env(
    repeats: Annotated[int, typer.Option(min=1, help="Rounds of measurement; medians need 5 or more.")] = 5,
    seconds: Annotated[float, typer.Option(min=0.01, help="CPU seconds per measurement.")] = 0.5,
    seed: Seed = 0,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Also count mismatches against the plain environment (a few minutes).")
    ] = True,
    out_file: Annotated[Path | None, typer.Option("--out", help="Write the result as JSON into this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare the compiled bargaining game with a plain environment, a NumPy batch and OpenSpiel.

    Example: edgeworth bench env --repeats 5 --no-check
    """
    measure = load_benchmark("bench_env").run
    with progress() as task:
        measured = measure(repeats=repeats, seconds=seconds, seed=seed, check=check, progress=task("measuring"))
    result = {"command": command_line(), **measured}
    titles = ("Steps per CPU second, one core", "steps/s", "plain_play", "times plain")
    deliver(result, as_json, out_file, lambda: _show(result, *titles))


@app.command("market")
def bench_market(
    repeats: Annotated[int, typer.Option(min=1, help="Rounds of measurement; medians need 5 or more.")] = 5,
    seconds: Annotated[float, typer.Option(min=0.01, help="CPU seconds per measurement.")] = 0.5,
    seed: Seed = 0,
    prototype: Annotated[Path | None, typer.Option(help="The research prototype's file, to measure it in the same run.")] = None,
    before: Annotated[Path | None, typer.Option(help="The src folder of an earlier revision, to measure it in the same run.")] = None,
    out_file: Annotated[Path | None, typer.Option("--out", help="Write the result as JSON into this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare the compiled market with the same source uncompiled, and with the research prototype where it is at hand.

    Example: edgeworth bench market --repeats 5
    """
    if prototype is not None and not prototype.is_file():
        raise InvalidOption(f"--prototype {prototype}: there is no such file.")
    if before is not None and not (before / "edgeworth").is_dir():
        raise InvalidOption(f"--before {before}: expected the src folder of a checkout, with edgeworth in it.")
    measure = load_benchmark("bench_market").run
    with progress() as task:
        measured = measure(repeats=repeats, seconds=seconds, seed=seed, prototype=prototype, before=before, progress=task("measuring"))
    result = {"command": command_line(*[path for path in (prototype, before) if path is not None]), **measured}
    titles = ("Designs per CPU second, one core", "designs/s", "uncompiled", "times uncompiled")
    deliver(result, as_json, out_file, lambda: _show(result, *titles))


@app.command("train")
def bench_train(
    repeats: Annotated[int, typer.Option(min=1, help="Rounds of measurement; medians need 5 or more.")] = 5,
    seconds: Annotated[float, typer.Option(min=0.01, help="CPU seconds per measurement, at least one iteration.")] = 1.0,
    seed: Seed = 0,
    peer_quality: Annotated[
        bool,
        typer.Option("--peer-quality/--no-peer-quality", help="Also train Stable-Baselines3 to 95 % of the plateau (some ten minutes)."),
    ] = True,
    out_file: Annotated[Path | None, typer.Option("--out", help="Write the result as JSON into this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare trainers: fused, torch, torch with distribution objects, Stable-Baselines3; steps per second and time to quality.

    Example: edgeworth bench train --repeats 5 --no-peer-quality
    """
    if find_spec("stable_baselines3") is None:
        raise MissingExtra("Comparing trainers", "stable-baselines3", "bench")
    measure = load_benchmark("bench_train").run
    with progress() as task:
        measured = measure(repeats=repeats, seconds=seconds, seed=seed, peer_quality=peer_quality, progress=task("measuring"))
    result = {"command": command_line(), **measured}
    deliver(result, as_json, out_file, lambda: _show_train(result))


@app.command("gpu")
def bench_gpu(
    repeats: Annotated[int, typer.Option(min=1, help="Rounds of measurement; medians need 5 or more.")] = 5,
    seconds: Annotated[float, typer.Option(min=0.01, help="Seconds per measurement, at least one iteration.")] = 2.0,
    seed: Seed = 0,
    out_file: Annotated[Path | None, typer.Option("--out", help="Write the result as JSON into this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare PPO on a GPU as one recorded graph with the same kernels launched one by one, and with one core of the CPU.

    Example: edgeworth bench gpu --repeats 5
    """
    import torch

    if not torch.cuda.is_available():
        raise InvalidOption("`edgeworth bench gpu` needs a GPU, and torch sees none here; `edgeworth bench train` measures the CPU.")
    measure = load_benchmark("bench_gpu").run
    with progress() as task:
        measured = measure(repeats=repeats, seconds=seconds, seed=seed, progress=task("measuring"))
    result = {"command": command_line(), **measured}
    titles = ("Steps per second, 4,096 episodes at a time", "steps/s", "eager", "times kernel by kernel")
    deliver(result, as_json, out_file, lambda: _show(result, *titles))


@app.command("llm")
def bench_llm(
    repeats: Annotated[int, typer.Option(min=1, help="Rounds of measurement; medians need 5 or more.")] = 5,
    seed: Seed = 0,
    model: Annotated[Path | None, typer.Option(help="Another model's folder; default: the pocket model.")] = None,
    out_file: Annotated[Path | None, typer.Option("--out", help="Write the result as JSON into this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure hints and mechanisms per second of the pocket model: plain, constrained, and with everything that makes it fast.

    Example: edgeworth bench llm --repeats 5
    """
    make_client("pocket", model=model).check()
    measure = load_benchmark("bench_llm").run
    with progress() as task:
        measured = measure(repeats=repeats, seed=seed, model=model, progress=task("measuring"))
    result = {"command": command_line(), **measured}
    deliver(result, as_json, out_file, lambda: _show_llm(result))


def load_benchmark(name: str) -> Any:
    """A module of `benchmarks/`, or an error that says where it would be."""
    if not (CHECKOUT / "benchmarks" / f"{name}.py").is_file():
        raise InvalidOption(
            f"`edgeworth bench` needs a checkout with benchmarks/{name}.py, and {CHECKOUT} is none;"
            " clone the repository and install it with `pip install -e .`."
        )
    if str(CHECKOUT) not in sys.path:
        sys.path.insert(0, str(CHECKOUT))
    return importlib.import_module(f"benchmarks.{name}")


def _show(result: dict[str, Any], title: str, unit: str, base: str, times: str) -> None:
    out.print(_rates_table(result, title, unit, base, times))
    out.print()
    out.print(marks_table(result))


def _show_llm(result: dict[str, Any]) -> None:
    for kind, base in (("hints", "hints_plain"), ("mechanisms", "mechanisms_plain")):
        part = {name: entry for name, entry in result["entries"].items() if entry["label"].startswith(kind)}
        out.print(_rates_table({"entries": part}, f"{kind.capitalize()} per CPU second, one core", f"{kind}/s", base, "times plain"))
        out.print()
    out.print(marks_table(result))


def _show_train(result: dict[str, Any]) -> None:
    out.print(_rates_table(result, "Steps per CPU second, one core", "steps/s", "sb3", "times SB3"))
    out.print()
    out.print(_quality_table(result["quality"]))
    out.print()
    out.print(marks_table(result))


def _quality_table(quality: dict[str, Any]) -> Table:
    title = f"CPU seconds to {quality['goal']:.3f} of the maximum, 95 % of the plateau of {quality['plateau']:.3f}"
    shown = plain_table(title, "entry", "seconds", "quartiles", "steps", "reached")
    for entry in quality["entries"].values():
        low, high = entry["interquartile_range"]
        reached = f"{sum(entry['reached'])} of {len(entry['reached'])}"
        shown.add_row(entry["label"], f"{entry['median']:,.3g}", f"{low:,.3g} – {high:,.3g}", f"{median(entry['moves']):,.0f}", reached)
    return shown


def _rates_table(result: dict[str, Any], title: str, unit: str, base: str, times: str) -> Table:
    slowest = result["entries"][base]["median"]
    shown = plain_table(title, "entry", unit, "quartiles", times)
    for entry in result["entries"].values():
        low, high = entry["interquartile_range"]
        shown.add_row(entry["label"], _rate(entry["median"]), f"{_rate(low)} – {_rate(high)}", f"{entry['median'] / slowest:,.1f}")
    return shown


def _rate(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def marks_table(result: dict[str, Any]) -> Table:
    """What was hoped for, what was measured, and whether it is enough."""
    shown = plain_table("Marks", "what", "measured", "quartiles", "mark", "met")
    for row in result["marks"]:
        low, high = row["interquartile_range"]
        met = "[green]yes[/]" if row["met"] else "[red]no[/]"
        measured, wanted = f"{row['median']:,.4g} {row['unit']}".strip(), f"{row['relation']} {row['mark']:g}"
        shown.add_row(row["name"], measured, f"{low:,.4g} – {high:,.4g}", wanted, met)
    return shown


def plain_table(title: str, *columns: str) -> Table:
    """An empty table in the way of this command."""
    shown = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in columns:
        shown.add_column(column, justify="left" if column in (columns[0], "met") else "right")
    return shown
