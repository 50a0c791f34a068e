"""`edgeworth designer`: list the auction designers, and search or fit the bundled ones, with their cards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.markup import escape

from edgeworth.agents.designers import bundled
from edgeworth.agents.designers import composition_library as compositions
from edgeworth.agents.designers.adaptive import LIBRARY, PRIORS, Adaptive, forecast_file, library_rows
from edgeworth.agents.designers.forecast import FitSettings, fit_revisions, save_revisions
from edgeworth.agents.designers.informed import Oracle
from edgeworth.agents.designers.schedule_search import FoundSchedule, ScheduleBudget, schedule_changes, search_schedule
from edgeworth.agents.designers.search import QUICK, Found, SearchBudget, search_mechanism
from edgeworth.cli.console import command_line, deliver, err, listed, out, progress, say, table, write_json
from edgeworth.cli.options import Address, AsJson, Engine, MoreWorkers, Seed, executed
from edgeworth.config import AuctionConfig
from edgeworth.errors import InvalidOption, UnknownName
from edgeworth.evaluation.statistics import Estimate, mean, paired_difference
from edgeworth.evaluation.yardstick import score_on_fresh_markets
from edgeworth.executor.execution import HERE, Executor
from edgeworth.games.auction.action import action_of, mechanism_rows, read_mechanisms
from edgeworth.games.auction.batch import Rows

app = typer.Typer(help="List auction designers; search, fit or train them.", no_args_is_help=True)

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

    Example: edgeworth designer list
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
    schedule: Annotated[bool, typer.Option("--schedule", help="Search for one mechanism per step instead of one for all.")] = False,
    seed: Seed = 0,
    threads: Threads = 1,
    effort: Effort = None,
    engine: Engine = "local",
    address: Address = None,
    workers: MoreWorkers = None,
    bundle: Annotated[bool, typer.Option("--bundle", help="Also write what is found to configs/, where designers look for it.")] = False,
    out_file: Annotated[Path | None, typer.Option("--out", help="Also write the mechanism or the schedule to this JSON file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Search for the best constant mechanism for a population, in each auction format, or the best schedule; about two minutes.

    If interrupted, call it again to continue.

    Example: edgeworth designer search --stage 3 --out mine.json

    Example: edgeworth designer search --stage 3 --schedule
    """
    config = AuctionConfig.from_options(stage=stage, n_agents=n_agents)
    if bundle and stage not in bundled.POPULATIONS:
        raise InvalidOption(f"--bundle keeps what is found for {', '.join(bundled.POPULATIONS)}; for {stage!r} use --out.")
    with executed(engine, address, workers) as run:
        if schedule:
            plan = best_schedule(config, seed, effort, threads, bundle, run)
            found = _schedule_facts(plan)
            content, page = found["schedule"], _schedule_page(found, schedule_changes(plan.schedule))
        else:
            found = _constant_facts(best_constants(config, seed, effort, threads, bundle, run))
            content, page = found["mechanism"], _constant_page(found)
    if out_file is not None:
        write_json(out_file, content)
    deliver({"command": command_line(), "stage": stage, "n_agents": n_agents, "seed": seed, **found}, page, as_json)


def _interval(estimate: dict[str, Any], digits: str = "") -> str:
    return escape(format(Estimate.from_dict(estimate), digits))


def _constant_page(found: dict[str, Any]) -> Iterator[RenderableType]:
    formats = found["formats"]
    shown = table("best of each format", *formats, gap=1)
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


def _effort(given: float | None, n_agents: int) -> float:
    """The effort of a search; by default full for the usual number of bidders, half for others."""
    return given if given is not None else 1.0 if n_agents == bundled.USUAL_BIDDERS else 0.5


def best_constants(config: AuctionConfig, seed: int, effort: float | None, threads: int, bundle: bool, run: Executor = HERE) -> Found:
    """Search for the best constant mechanism of each format, and bundle them if asked."""
    with progress() as task:
        show = task(f"population {config.stage}, {config.n_agents} bidders")
        budget = SearchBudget().scaled(_effort(effort, config.n_agents))
        found = search_mechanism(config, seed, budget, threads=threads, progress=show, run=run)
    if bundle:
        name, actions = bundled.bundled_name(config.stage), _dumped(found.mechanisms)
        write_json(bundled.numbered(bundled.mechanism_folder(), name, config.n_agents), actions[0])
        write_json(bundled.numbered(bundled.format_folder(), name, config.n_agents), actions)
    return found


def best_schedule(
    config: AuctionConfig, seed: int, effort: float | None, threads: int, bundle: bool, run: Executor = HERE
) -> FoundSchedule:
    """Search for the best schedule, from the bundled best constants of each format or, where there are none, from a search for them."""
    name = bundled.bundled_name(config.stage)
    if (kept := bundled.numbered(bundled.format_folder(), name, config.n_agents)).is_file():
        start = mechanism_rows(read_mechanisms(kept))
    else:
        start = best_constants(config, seed, effort, threads, bundle=False, run=run).mechanisms
    with progress() as task:
        show = task(f"schedule for population {config.stage}, {config.n_agents} bidders")
        found = search_schedule(config, start, seed, ScheduleBudget().scaled(_effort(effort, config.n_agents)), threads, show, run)
    if bundle:
        write_json(bundled.numbered(bundled.schedule_folder(), name, config.n_agents), _dumped(found.schedule))
    return found


def _constant_facts(found: Found) -> dict[str, Any]:
    """The best mechanism of a search and the best of each format, with their scores."""
    actions = _dumped(found.mechanisms)
    formats = zip(found.by_format().items(), actions, strict=True)
    return {
        "mechanism": actions[0],
        "score": mean(found.scores[0]).as_dict(),
        "formats": {name: {"mechanism": action, "score": mean(scores).as_dict()} for (name, scores), action in formats},
    }


def _schedule_facts(found: FoundSchedule) -> dict[str, Any]:
    """A schedule and the best constant mechanism, with their scores."""
    return {
        "schedule": _dumped(found.schedule),
        "score": mean(found.scores).as_dict(),
        "constant": action_of(found.constant).model_dump(),
        "constant_score": mean(found.constant_scores).as_dict(),
        "over_best_constant": paired_difference(found.scores, found.constant_scores).as_dict(),
    }


def _dumped(mechanisms: Rows) -> list[dict[str, Any]]:
    return [action_of(row).model_dump() for row in mechanisms]


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
    """Fit the forecasts of the adaptive designer; takes some minutes.

    Example: edgeworth designer fit --prior stages --n-agents 12
    """
    if prior not in PRIORS:
        raise UnknownName("prior of the adaptive designer", prior, PRIORS)
    config = AuctionConfig(stage=prior, n_agents=n_agents)
    path = forecast_file(prior, n_agents) if out_file is None else out_file
    for note in (note for name in LIBRARY for note in bundled.find_mechanism(name, n_agents)[1]):
        say(f"{note}.")
    with progress() as task:
        show = task(f"prior {prior}, {n_agents} bidders")
        budget = FitSettings(markets=markets)
        revisions = fit_revisions(library_rows(n_agents), LIBRARY.index(prior), config, budget, seed, threads, show)
    _write(path, save_revisions, revisions)
    if out_file is None:
        card = {
            "what": "forecasts of the adaptive designer: ridge regressions, one per step and mechanism in force",
            "command": command_line(),
            "prior": prior,
            "n_agents": n_agents,
            "library": LIBRARY,
            "markets": markets,
            "seeds": f"{seed} to {seed + markets - 1}",
            **score_on_fresh_markets(Adaptive(prior), config, episodes),
        }
        write_json(path.with_suffix(".json"), card)


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
    """Build the oracle's library: the best mechanism for every composition of the bidders; takes some minutes.

    Example: edgeworth designer library --n-agents 8
    """
    path = bundled.numbered(bundled.CHECKPOINTS, compositions.LIBRARY_NAME, n_agents, "npz") if out_file is None else out_file
    every = compositions.compositions_of(n_agents)
    centres = compositions.cluster_centres(compositions.drawn_compositions(n_agents, seed), clusters, seed)
    with progress() as task:
        candidates = compositions.searched_candidates(
            library_rows(n_agents), centres, QUICK.scaled(effort), seed, threads, task("searching")
        )
        found = compositions.build_library(candidates, every, markets, seed, threads, task("comparing"))
    _write(path, compositions.save_library, found)
    card = {
        "what": "library of mechanisms by composition, for the oracle; other numbers of bidders take the nearest shares",
        "command": command_line(),
        "n_agents": n_agents,
        "compositions": len(every),
        "searched_compositions": centres.tolist(),
        **{"candidates": len(candidates), "mechanisms_in_use": len(found.mechanisms)},
        "markets": f"{markets} per candidate and composition",
        "seeds": f"{seed} to {seed + markets * len(every) - 1}",
        "populations": {
            name: score_on_fresh_markets(Oracle(found), AuctionConfig(stage=name, n_agents=n_agents), episodes) for name in PRIORS
        },
    }
    write_json(path.with_suffix(".json"), card)
    out.print(f"{card['mechanisms_in_use']} of {card['candidates']} mechanisms in use for {card['compositions']} compositions.")
    for name, facts in card["populations"].items():
        score, gain = facts["score"]["value"], facts["over_best_constant"]["value"]
        out.print(f"Told the composition, R on {name}: {score:.3f}, {gain:+.3f} over the best constant.")


def _write(path: Path, save: Callable[[Path, Any], None], content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    save(path, content)
    err.print(f"Wrote {path} ({path.stat().st_size / 1000:.0f} kB).")


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

    Example: edgeworth designer bundle --n-agents 8 --only constants
    """
    if unknown := set(only or []) - {*PARTS}:
        raise UnknownName("part of the bundle", min(unknown), PARTS)
    numbers, wanted = n_agents or list(bundled.BIDDERS), only or list(PARTS)
    usual = [number for number in numbers if number == bundled.USUAL_BIDDERS]
    markets = [AuctionConfig(stage=stage, n_agents=number) for number in numbers for stage in bundled.POPULATIONS]
    for config in markets if "constants" in wanted else []:
        best_constants(config, seed, effort, threads, bundle=True)
    for config in markets if "schedules" in wanted else []:
        if config.n_agents in usual:
            best_schedule(config, seed, effort, threads, bundle=True)
    for number in numbers if "forecasts" in wanted else []:
        for prior in PRIORS:
            fit(prior, number, threads=threads)
    for number in usual if "library" in wanted else []:
        library(number, threads=threads, effort=effort or 1.0)
