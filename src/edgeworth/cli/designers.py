"""`edgeworth designers`: who can set the rules of a market, and how the bundled ones were made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from edgeworth import catalog
from edgeworth.cli.console import AsJson, Seed, command_line, out, print_json, write_json
from edgeworth.config import AuctionConfig
from edgeworth.errors import InvalidOption, UnknownName

if TYPE_CHECKING:
    from edgeworth.agents.designers.schedule_search import FoundSchedule
    from edgeworth.agents.designers.search import Found

app = typer.Typer(
    help="Who can set the rules of a market: list them, search mechanisms and schedules, fit the adaptive one.", no_args_is_help=True
)

Bidders = Annotated[int, typer.Option("--n-agents", min=2, max=16, help="Bidders in the market.")]
Population = Annotated[str, typer.Option("--stage", help="The population: 0 to 4, mixed, stages, held_out_0, …")]
Effort = Annotated[
    float | None, typer.Option(min=0.001, help="Times the usual number of episodes. Default: 1 for eight bidders, 0.5 for others.")
]
Threads = Annotated[int, typer.Option(min=1, help="Threads that share out the markets; the result does not depend on it.")]


PARTS = ("constants", "schedules", "forecasts", "library")
"""What is bundled, in the order in which it is made: each uses those before it."""


@app.command("list")
def list_designers(as_json: AsJson = False) -> None:
    """List the designers and the bundled mechanisms.

    Example: edgeworth designers list
    """
    from edgeworth.agents.designers.bundled import bundled_mechanism, bundled_names, mechanism_names, schedule_folder

    designers = {name: (catalog.resolve("designer", name).__doc__ or "").splitlines()[0] for name in catalog.names("designer")}
    mechanisms = {name: bundled_mechanism(name).model_dump() for name in mechanism_names()}
    schedules = bundled_names(schedule_folder())
    if as_json:
        print_json({"designers": designers, "mechanisms": mechanisms, "schedules": schedules})
        return
    shown = Table(box=None, pad_edge=False, header_style="bold")
    shown.add_column("designer")
    shown.add_column("what it does")
    for name, words in designers.items():
        shown.add_row(name, words)
    out.print(shown)
    out.print(f"\nBundled mechanisms (configs/mechanisms/): {', '.join(mechanisms)}.")
    out.print(f"Bundled schedules (configs/schedules/): {', '.join(schedules)}.")


@app.command("search")
def search(
    stage: Population = "mixed",
    n_agents: Bidders = 8,
    schedule: Annotated[bool, typer.Option("--schedule", help="Search a mechanism for every step instead of one for all.")] = False,
    seed: Seed = 0,
    threads: Threads = 1,
    effort: Effort = None,
    bundle: Annotated[bool, typer.Option("--bundle", help="Keep what is found in configs/, where designers look for it.")] = False,
    out_file: Annotated[Path | None, typer.Option("--out", help="Write the mechanism, or the schedule, as JSON into this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Search the best constant mechanism for a population, format by format, or the best schedule; about two minutes.

    Example: edgeworth designers search --stage 3 --out mine.json

    Example: edgeworth designers search --stage 3 --schedule
    """
    from edgeworth.agents.designers.bundled import POPULATIONS
    from edgeworth.cli import designer_making as making

    config = AuctionConfig.from_options(stage=stage, n_agents=n_agents)
    if bundle and stage not in POPULATIONS:
        raise InvalidOption(f"--bundle keeps what is found for {', '.join(POPULATIONS)}; for {stage!r} use --out.")
    effort = making.effort_for(n_agents) if effort is None else effort
    result: dict[str, Any] = {"command": command_line(), "stage": stage, "n_agents": n_agents, "seed": seed}
    if schedule:
        sequence = making.schedule(config, seed, effort, threads, bundle)
        content, facts = _schedule_facts(sequence)
    else:
        found = making.constants(config, seed, effort, threads, bundle)
        content, facts = _constant_facts(found)
    if out_file is not None:
        write_json(out_file, content)
    if as_json:
        print_json({**result, **facts})
    elif schedule:
        _show_schedule(sequence)
    else:
        _show_constants(found)


def _constant_facts(found: Found) -> tuple[Any, dict[str, Any]]:
    from edgeworth.cli.designer_making import dumped
    from edgeworth.evaluation.statistics import mean

    actions = dumped(found.mechanisms)
    rows = zip(found.by_format().items(), actions, strict=True)
    formats = {name: {"mechanism": action, "score": mean(scores).as_dict()} for (name, scores), action in rows}
    return actions[0], {"mechanism": actions[0], "score": mean(found.scores[0]).as_dict(), "formats": formats}


def _show_constants(found: Found) -> None:
    from edgeworth.cli.designer_making import dumped
    from edgeworth.evaluation.statistics import mean

    shown = Table(box=None, pad_edge=False, header_style="bold")
    shown.add_column("best of each format", no_wrap=True)
    columns = zip(found.by_format().items(), dumped(found.mechanisms), strict=True)
    cells = {name: {"R": f"{mean(scores).value:.3f}", **{k: str(v) for k, v in action.items()}} for (name, scores), action in columns}
    for name in cells:
        shown.add_column(name, justify="right")
    for row in ("R", *(name for name in next(iter(cells.values())) if name not in ("R", "auction_type"))):
        shown.add_row(row, *(column[row] for column in cells.values()))
    out.print(shown)
    out.print(f"R of the best on {found.scores.shape[1]:,} fresh markets: {mean(found.scores[0])}")


def _schedule_facts(found: FoundSchedule) -> tuple[Any, dict[str, Any]]:
    from edgeworth.cli.designer_making import dumped
    from edgeworth.evaluation.statistics import mean, paired_difference
    from edgeworth.games.auction.action import action_of

    schedule = dumped(found.schedule)
    return schedule, {
        "schedule": schedule,
        "score": mean(found.scores).as_dict(),
        "constant": action_of(found.constant).model_dump(),
        "constant_score": mean(found.constant_scores).as_dict(),
        "over_best_constant": paired_difference(found.scores, found.constant_scores).as_dict(),
    }


def _show_schedule(found: FoundSchedule) -> None:
    from edgeworth.agents.designers.schedule_search import schedule_changes
    from edgeworth.evaluation.statistics import mean, paired_difference

    shown = Table(box=None, pad_edge=False, header_style="bold")
    shown.add_column("step", justify="right")
    shown.add_column("what changes")
    for step, changes in enumerate(schedule_changes(found.schedule), start=1):
        shown.add_row(str(step), ", ".join(f"{name} {value}" for name, value in changes.items()) or "–")
    out.print(shown)
    gain = paired_difference(found.scores, found.constant_scores)
    out.print(f"R on {len(found.scores):,} fresh markets: {mean(found.scores)}; best constant {mean(found.constant_scores)}")
    out.print(f"Gain over the best constant, on the same markets: {gain.value:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}]", markup=False)


@app.command("fit")
def fit(
    prior: Annotated[str, typer.Option("--prior", help="The family of populations it expects: stages or mixed.")] = "stages",
    n_agents: Bidders = 8,
    markets: Annotated[int, typer.Option(min=1000, help="Markets to learn from.")] = 30_000,
    seed: Seed = 7_000_000,
    threads: Threads = 1,
    episodes: Annotated[int, typer.Option(min=100, help="Fresh markets for the score on its card.")] = 4000,
    out_file: Annotated[Path | None, typer.Option("--out", help="Where to keep it; default: with the bundled ones.")] = None,
) -> None:
    """Fit the forecasts of the adaptive designer; some minutes.

    Example: edgeworth designers fit --prior stages --n-agents 12
    """
    from edgeworth.agents.designers.adaptive import PRIORS
    from edgeworth.cli import designer_making as making

    if prior not in PRIORS:
        raise UnknownName("prior of the adaptive designer", prior, PRIORS)
    making.forecasts(prior, n_agents, seed, markets, episodes, threads, out_file)


@app.command("library")
def library(
    n_agents: Bidders = 8,
    clusters: Annotated[int, typer.Option(min=1, help="Compositions to search a mechanism for.")] = 24,
    markets: Annotated[int, typer.Option(min=2, help="Markets per mechanism and composition.")] = 64,
    seed: Seed = 8_000_000,
    threads: Threads = 1,
    effort: Annotated[float, typer.Option(min=0.001, help="Times the usual number of episodes in each search.")] = 1.0,
    episodes: Annotated[int, typer.Option(min=20, help="Fresh markets for the scores on its card.")] = 4000,
    out_file: Annotated[Path | None, typer.Option("--out", help="Where to keep it; default: with the bundled ones.")] = None,
) -> None:
    """Build the oracle's library: the best mechanism for every composition of the bidders; some minutes.

    Example: edgeworth designers library --n-agents 8
    """
    from edgeworth.cli import designer_making as making

    card = making.composition_library(n_agents, clusters, markets, seed, effort, episodes, threads, out_file)
    out.print(f"{card['mechanisms_in_use']} of {card['candidates']} mechanisms in use for {card['compositions']} compositions.")
    for name, facts in card["populations"].items():
        score, gain = facts["score"]["value"], facts["over_best_constant"]["value"]
        out.print(f"Told the composition, R on {name}: {score:.3f}, {gain:+.3f} over the best constant.")


@app.command("bundle")
def bundle_command(
    n_agents: Annotated[list[int] | None, typer.Option("--n-agents", help="Bidders; repeat for several. Default: all.")] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="constants, schedules, forecasts or library; repeat for several. Default: all.")
    ] = None,
    effort: Effort = None,
    seed: Seed = 1,
    threads: Threads = 1,
) -> None:
    """Make everything that is bundled: constants and forecasts for all numbers of bidders, schedules and the library for eight.

    Example: edgeworth designers bundle --n-agents 8 --only constants
    """
    from edgeworth.agents.designers.adaptive import PRIORS
    from edgeworth.agents.designers.bundled import BIDDERS, POPULATIONS, USUAL_BIDDERS
    from edgeworth.cli import designer_making as making

    for part in only or []:
        if part not in PARTS:
            raise UnknownName("part of the bundle", part, PARTS)
    numbers, wanted = n_agents or list(BIDDERS), only or list(PARTS)
    usual = [number for number in numbers if number == USUAL_BIDDERS]
    markets = [(number, AuctionConfig(stage=stage, n_agents=number)) for number in numbers for stage in POPULATIONS]
    for number, config in markets if "constants" in wanted else []:
        making.constants(config, seed, making.effort_for(number) if effort is None else effort, threads, bundle=True)
    for number, config in markets if "schedules" in wanted else []:
        if number in usual:
            making.schedule(config, seed, 1.0 if effort is None else effort, threads, bundle=True)
    for number in numbers if "forecasts" in wanted else []:
        for prior in PRIORS:
            making.forecasts(prior, number, 7_000_000, 30_000, 4000, threads, None)
    for number in usual if "library" in wanted else []:
        making.composition_library(number, 24, 64, 8_000_000, 1.0 if effort is None else effort, 4000, threads, None)
