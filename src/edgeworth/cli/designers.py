"""`edgeworth designers`: list the auction designers, and search or fit the bundled ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.markup import escape

from edgeworth.agents.designers import bundled
from edgeworth.agents.designers.adaptive import PRIORS
from edgeworth.agents.designers.schedule_search import schedule_changes
from edgeworth.cli import designer_making as making
from edgeworth.cli.console import command_line, deliver, listed, out, table, write_json
from edgeworth.cli.options import AsJson, Seed
from edgeworth.config import AuctionConfig
from edgeworth.errors import InvalidOption, UnknownName

app = typer.Typer(help="List auction designers, and search or fit the bundled ones.", no_args_is_help=True)

Bidders = Annotated[int, typer.Option("--n-agents", min=2, max=16, help="Number of bidders.")]
Effort = Annotated[
    float | None, typer.Option(min=0.001, help="Multiple of the usual search effort. Default: 1 for eight bidders, else 0.5.")
]
Threads = Annotated[int, typer.Option(min=1, help="Threads; the result does not depend on their number.")]

PARTS = ("constants", "schedules", "forecasts", "library")
"""What is bundled, in the order in which it is made: each part uses those before it."""


@app.command("list")
def list_designers(as_json: AsJson = False) -> None:
    """List the designers, the bundled mechanisms and the bundled schedules.

    Example: edgeworth designers list
    """
    names, found = listed("designer", "designer")
    mechanisms = {name: bundled.bundled_mechanism(name).model_dump() for name in bundled.mechanism_names()}
    schedules = bundled.bundled_names(bundled.schedule_folder())
    page: list[RenderableType] = [
        found,
        f"\nBundled mechanisms (configs/mechanisms/): {', '.join(mechanisms)}.",
        f"Bundled schedules (configs/schedules/): {', '.join(schedules)}.",
    ]
    deliver({"designers": names, "mechanisms": mechanisms, "schedules": schedules}, page, as_json)


@app.command("search")
def search(
    stage: Annotated[str, typer.Option(help="Population of bidders: 0 to 4, mixed, stages, held_out_0, …")] = "mixed",
    n_agents: Bidders = 8,
    schedule: Annotated[bool, typer.Option("--schedule", help="Search a mechanism for every step instead of one for all.")] = False,
    seed: Seed = 0,
    threads: Threads = 1,
    effort: Effort = None,
    bundle: Annotated[bool, typer.Option("--bundle", help="Also write what is found to configs/, where designers look for it.")] = False,
    out_file: Annotated[Path | None, typer.Option("--out", help="Also write the mechanism or the schedule to this JSON file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Search the best constant mechanism for a population, in each auction format, or the best schedule; about two minutes.

    Example: edgeworth designers search --stage 3 --out mine.json

    Example: edgeworth designers search --stage 3 --schedule
    """
    config = AuctionConfig.from_options(stage=stage, n_agents=n_agents)
    if bundle and stage not in bundled.POPULATIONS:
        raise InvalidOption(f"--bundle keeps what is found for {', '.join(bundled.POPULATIONS)}; for {stage!r} use --out.")
    if schedule:
        plan = making.schedule(config, seed, effort, threads, bundle)
        found = making.schedule_facts(plan)
        content, page = found["schedule"], _schedule_page(found, schedule_changes(plan.schedule))
    else:
        found = making.constant_facts(making.constants(config, seed, effort, threads, bundle))
        content, page = found["mechanism"], _constant_page(found)
    if out_file is not None:
        write_json(out_file, content)
    deliver({"command": command_line(), "stage": stage, "n_agents": n_agents, "seed": seed, **found}, page, as_json)


def _constant_page(found: dict[str, Any]) -> Iterator[RenderableType]:
    formats = found["formats"]
    shown = table("best of each format", *formats)
    shown.add_row("R", *(f"{entry['score']['value']:.3f}" for entry in formats.values()))
    for field in found["mechanism"]:
        if field != "auction_type":
            shown.add_row(field, *(str(entry["mechanism"][field]) for entry in formats.values()))
    yield shown
    yield f"R of the best on {found['score']['n']:,} fresh markets: {_interval(found['score'])}"


def _schedule_page(found: dict[str, Any], steps: list[dict[str, object]]) -> Iterator[RenderableType]:
    shown = table("step", "what changes", text=2)
    for step, changes in enumerate(steps, start=1):
        shown.add_row(str(step), ", ".join(f"{name} {value}" for name, value in changes.items()) or "–")
    yield shown
    score, constant, gain = found["score"], found["constant_score"], found["over_best_constant"]
    yield f"R on {score['n']:,} fresh markets: {_interval(score)}; best constant {_interval(constant)}"
    yield f"Gain over the best constant, on the same markets: {_interval(gain, '+.4f')}"


def _interval(estimate: dict[str, Any], digits: str = ".3f") -> str:
    value, low, high = (format(estimate[name], digits) for name in ("value", "low", "high"))
    return escape(f"{value} [{low}, {high}]")


@app.command("fit")
def fit(
    prior: Annotated[str, typer.Option(help="Family of populations that the designer expects: stages or mixed.")] = "stages",
    n_agents: Bidders = 8,
    markets: Annotated[int, typer.Option(min=1000, help="Markets to learn from.")] = 30_000,
    seed: Seed = 7_000_000,
    threads: Threads = 1,
    episodes: Annotated[int, typer.Option(min=100, help="Fresh markets for the score on its card.")] = 4000,
    out_file: Annotated[Path | None, typer.Option("--out", help="File to write. Default: among the bundled ones.")] = None,
) -> None:
    """Fit the forecasts of the adaptive designer; some minutes.

    Example: edgeworth designers fit --prior stages --n-agents 12
    """
    if prior not in PRIORS:
        raise UnknownName("prior of the adaptive designer", prior, PRIORS)
    making.forecasts(prior, n_agents, seed, markets, episodes, threads, out_file)


@app.command("library")
def library(
    n_agents: Bidders = 8,
    clusters: Annotated[int, typer.Option(min=1, help="Compositions of the bidders to search a mechanism for.")] = 24,
    markets: Annotated[int, typer.Option(min=2, help="Markets per mechanism and composition.")] = 64,
    seed: Seed = 8_000_000,
    threads: Threads = 1,
    effort: Annotated[float, typer.Option(min=0.001, help="Multiple of the usual search effort.")] = 1.0,
    episodes: Annotated[int, typer.Option(min=20, help="Fresh markets for the scores on its card.")] = 4000,
    out_file: Annotated[Path | None, typer.Option("--out", help="File to write. Default: among the bundled ones.")] = None,
) -> None:
    """Build the oracle's library: the best mechanism for every composition of the bidders; some minutes.

    Example: edgeworth designers library --n-agents 8
    """
    card = making.composition_library(n_agents, clusters, markets, seed, effort, episodes, threads, out_file)
    out.print(f"{card['mechanisms_in_use']} of {card['candidates']} mechanisms in use for {card['compositions']} compositions.")
    for name, facts in card["populations"].items():
        score, gain = facts["score"]["value"], facts["over_best_constant"]["value"]
        out.print(f"Told the composition, R on {name}: {score:.3f}, {gain:+.3f} over the best constant.")


@app.command("bundle")
def bundle_command(
    n_agents: Annotated[list[int] | None, typer.Option(help="Number of bidders; repeat for several. Default: all.")] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="constants, schedules, forecasts or library; repeat for several. Default: all.")
    ] = None,
    effort: Effort = None,
    seed: Seed = 1,
    threads: Threads = 1,
) -> None:
    """Make everything that is bundled: constants and forecasts for all numbers of bidders, schedules and the library for eight.

    Example: edgeworth designers bundle --n-agents 8 --only constants
    """
    for part in only or []:
        if part not in PARTS:
            raise UnknownName("part of the bundle", part, PARTS)
    numbers, wanted = n_agents or list(bundled.BIDDERS), only or list(PARTS)
    usual = [number for number in numbers if number == bundled.USUAL_BIDDERS]
    markets = [AuctionConfig(stage=stage, n_agents=number) for number in numbers for stage in bundled.POPULATIONS]
    for config in markets if "constants" in wanted else []:
        making.constants(config, seed, effort, threads, bundle=True)
    for config in markets if "schedules" in wanted else []:
        if config.n_agents in usual:
            making.schedule(config, seed, effort, threads, bundle=True)
    for number in numbers if "forecasts" in wanted else []:
        for prior in PRIORS:
            making.forecasts(prior, number, 7_000_000, 30_000, 4000, threads, None)
    for number in usual if "library" in wanted else []:
        making.composition_library(number, 24, 64, 8_000_000, effort or 1.0, 4000, threads, None)
