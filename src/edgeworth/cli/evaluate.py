"""`edgeworth evaluate`, `compare` and `tournament`: how well negotiators play on the same seeded episodes, with intervals."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from edgeworth import catalog
from edgeworth.agents.negotiators.learned import is_learned, negotiator_of
from edgeworth.agents.negotiators.negotiator import Negotiator
from edgeworth.cli import options
from edgeworth.cli.console import command_line, deliver, progress, shown, table
from edgeworth.config import BargainingConfig, scenario_names
from edgeworth.evaluation.exact import QUANTITY as EXACT_QUANTITY
from edgeworth.evaluation.exact import exact_ends, measured_exactly
from edgeworth.evaluation.negotiators import QUANTITY, Ends, compared, measured, play_all
from edgeworth.evaluation.ranking import SELECTION, add_training_seeds, robust_ranking
from edgeworth.evaluation.statistics import Estimate
from edgeworth.evaluation.tournament import cross_table, own_partner_column, run_tournament, shown_ranks
from edgeworth.evaluation.whole_population import play_population
from edgeworth.executor.execution import Executor
from edgeworth.progress import Progress

LABELS = {
    "reward": "reward (points)",
    "share_of_maximum": "share of maximum",
    "normalised_score": "score (random 0, Bayes 1)",
    "deal_rate": "deal rate",
    "pareto_rate": "Pareto rate (of deals)",
    "nash_ratio": "Nash ratio",
    "advantage": "advantage over partner (points)",
    "length": "length (moves)",
    "regret": "regret to Bayes (points)",
}

NumberOfEpisodes = Annotated[int, typer.Option("--episodes", min=10, help="Episodes; all negotiators play the same ones.")]
YardstickEpisodes = Annotated[
    int, typer.Option("--yardstick-episodes", min=10, help="How many of them random and blind Bayes (slow) play too, for the score.")
]
Exact = Annotated[
    bool, typer.Option("--exact", help="Play every context that the game can draw, and both openers, instead of seeded episodes.")
]
Sampled = Annotated[bool, typer.Option("--sampled", help="Sample a learned agent's moves instead of taking the most likely one.")]


def evaluate_command(
    context: typer.Context,
    agent: Annotated[list[str], typer.Option("--agent", "-a", help="Negotiator by name, run folder or checkpoint; repeat for several.")],
    scenario: options.AgentsScenario = None,
    partner: options.Partner = None,
    settings: options.Settings = None,
    episodes: NumberOfEpisodes = 20_000,
    yardstick_episodes: YardstickEpisodes = 2_000,
    seed: options.Seed = 0,
    exact: Exact = False,
    sampled: Sampled = False,
    hint: Annotated[str | None, typer.Option(help="Hint provider for learned agents. Default: that of their training.")] = None,
    engine: options.Engine = "local",
    address: options.Address = None,
    workers: options.MoreWorkers = None,
    out_file: options.OutFile = None,
    figure: options.Figure = None,
    as_json: options.AsJson = False,
) -> None:
    """Measure how well negotiators play.

    Reported are the reward, the score between random play (0) and the best blind plan (1), deals and their efficiency, each with its 95 %
    interval. With --exact there is no sampling error: agents that draw nothing play the game's whole population of contexts. A run or
    checkpoint plays the game it was trained in, and the others with it, unless --scenario names one.

    Example: edgeworth evaluate --agent learned --scenario classic --episodes 20000

    Example: edgeworth evaluate --agent learned --agent bayes --scenario lewis --exact

    Example: edgeworth evaluate --agent runs/mine --agent bayes --agent agree_first --episodes 2000 --figure scores.png
    """
    if exact:
        options.refuse_beside_exact(context, "episodes", "yardstick_episodes", "seed")
    name, config = options.game_of_agents(agent, scenario, partner, settings)
    players = _agents(agent, sampled, hint)
    with options.executed(engine, address, workers) as run, progress() as task:
        if exact:
            result = _exact_result(name, config, players, run, task("playing"))
        else:
            found, ends = play_all(config, players, episodes, min(episodes, yardstick_episodes), seed, run, task("playing"))
    if not exact:
        measures = [asdict(measured(player, config, one, ends)) for player, one in found.items()]
        result = {**_head(name, config, episodes, ends, seed), "yardsticks": ends.shares(), "agents": measures}
    rows = result["agents"]
    drawer = "edgeworth.evaluation.bargaining_figures:draw_scores"
    deliver(result, _page(result, [(row["agent"], row) for row in rows]), as_json, out_file, figure, drawer, result["notes"])


def compare_command(
    first: Annotated[str, typer.Argument(help="Negotiator by name, run folder or checkpoint.")],
    second: Annotated[str, typer.Argument(help="The negotiator to compare it with.")],
    scenario: options.AgentsScenario = None,
    partner: options.Partner = None,
    settings: options.Settings = None,
    episodes: NumberOfEpisodes = 20_000,
    yardstick_episodes: YardstickEpisodes = 2_000,
    seed: options.Seed = 0,
    sampled: Sampled = False,
    engine: options.Engine = "local",
    address: options.Address = None,
    workers: options.MoreWorkers = None,
    out_file: options.OutFile = None,
    as_json: options.AsJson = False,
) -> None:
    """Compare two negotiators on the same episodes.

    Reported are the paired differences, first less second, with their 95 % intervals. A run or checkpoint plays the game it was trained in,
    unless --scenario names one.

    Example: edgeworth compare learned agree_first --scenario classic --episodes 5000
    """
    name, config = options.game_of_agents([first, second], scenario, partner, settings)
    with options.executed(engine, address, workers) as run, progress() as task:
        players = _agents([first, second], sampled, None)
        found, ends = play_all(config, players, episodes, min(episodes, yardstick_episodes), seed, run, task("playing"))
    one, other = found[first], found[second]
    difference = asdict(compared(measured(first, config, one, ends), measured(second, config, other, ends), one, other))
    result = {**_head(name, config, episodes, ends, seed), **difference}
    columns = [(first, difference["first"]), (second, difference["second"]), ("difference", difference)]
    better = f"{first} earned more in {difference['better']:.1%} of the episodes and less in {difference['worse']:.1%}."
    deliver(result, _page(result, columns, better), as_json, out_file, notes=result["notes"])


def _agents(names: list[str], sampled: bool, hint: str | None) -> dict[str, Negotiator]:
    """The negotiators; --sampled and --hint are for learned ones, and refused without any."""
    for_rules = (False, None) if any(is_learned(name) for name in names) else (sampled, hint)
    return {name: negotiator_of(name, *((sampled, hint) if is_learned(name) else for_rules)) for name in names}


def _exact_result(scenario: str, config: BargainingConfig, agents: dict[str, Negotiator], run: Executor, show: Progress) -> dict[str, Any]:
    """The measures over the game's whole population; CPU seconds are those of this process."""
    began = time.process_time()
    found = {name: play_population(config, negotiator, run, show, name) for name, negotiator in agents.items()}
    spent = time.process_time() - began
    ends = exact_ends(config, run, show)
    rows = [asdict(measured_exactly(name, play, ends)) for name, play in found.items()]
    return {
        "command": command_line(),
        "quantity": EXACT_QUANTITY,
        "scenario": scenario,
        "partner": config.partner,
        "exact": True,
        "episodes": rows[0]["episodes"],
        "yardstick_episodes": rows[0]["episodes"],
        "cpu_seconds": round(spent, 1),
        "notes": [] if ends.note is None else [ends.note],
        "yardsticks": ends.shares(),
        "agents": rows,
    }


def _head(scenario: str, config: BargainingConfig, episodes: int, ends: Ends, seed: int) -> dict[str, Any]:
    return {
        "command": command_line(),
        "quantity": QUANTITY,
        "scenario": scenario,
        "partner": config.partner,
        "episodes": episodes,
        "yardstick_episodes": ends.episodes,
        "seeds": f"{seed} to {seed + episodes - 1}",
        "notes": [] if ends.note is None else [ends.note],
    }


def _page(result: dict[str, Any], columns: list[tuple[str, dict[str, Any]]], remark: str | None = None) -> Iterator[RenderableType]:
    exact = result.get("exact", False)
    title = f"{result['scenario']}: {'all ' if exact else ''}{result['episodes']:,} {'negotiations' if exact else 'episodes'}"
    found = table("measure", *(name for name, _ in columns), title=title)
    for key, label in LABELS.items():
        found.add_row(label, *(shown(column.get(key), "\n", exact) for _, column in columns))
    yield found
    if remark is not None:
        yield Text(remark)
    if not exact:
        beside = f" Score and regret: on the first {result['yardstick_episodes']:,} episodes, which blind Bayes played too."
        scored = any(column.get(key) for _, column in columns for key in ("normalised_score", "regret"))
        yield f"[dim]Below each number its 95 % interval.{beside if scored else ''}[/]"


# Tournaments


def tournament_command(
    scenario: options.Scenarios = None,
    negotiator: Annotated[
        list[str] | None,
        typer.Option("--negotiator", "-n", help="Negotiator by name, run folder or checkpoint; repeat for several. Default: all named."),
    ] = None,
    also: Annotated[list[str] | None, typer.Option(help="Negotiator besides those of -n; repeat for several.")] = None,
    trained: Annotated[
        Path | None,
        typer.Option(help="Runs of `edgeworth study learners`: networks of further training seeds, which play everything again."),
    ] = None,
    episodes: Annotated[int, typer.Option(min=10, help="Episodes of every pair in every seat, the same for all.")] = 2_000,
    seed: options.Seed = 0,
    engine: options.Engine = "local",
    address: options.Address = None,
    workers: options.MoreWorkers = None,
    out_file: options.OutFile = None,
    figure: options.Figure = None,
    as_json: options.AsJson = False,
) -> None:
    """Let negotiators play against each other and rank them.

    Reported are what each gets from each, deals, efficiency, and a range of ranks where the intervals do not separate two negotiators. If
    interrupted, call it again to continue.

    Example: edgeworth tournament --scenario lewis -n greedy -n agree_first -n concession --episodes 500

    Example: edgeworth tournament --also runs/mine --episodes 500 --out results/tournament.json --figure results/tournament.png
    """
    names = [*(negotiator or sorted(catalog.NEGOTIATORS)), *(also or [])]
    games = {name: BargainingConfig.from_options(name) for name in scenario or scenario_names()}
    with options.executed(engine, address, workers) as run, progress() as task:
        found = run_tournament(games, names, episodes, seed, run, task("tournament"), trained)
    ranking, again = robust_ranking(found, games), found.pop("again")
    rankings = [robust_ranking(other, games) for other in again]
    add_training_seeds(ranking, rankings)
    result = {"command": command_line(), **found, "ranking": ranking}
    if trained is not None:
        result["training_seeds"] = [
            {"training_seed": other["training_seed"], "networks": other["networks"], "ranking": rows}
            for other, rows in zip(again, rankings, strict=True)
        ]
    deliver(result, _tournament_page(result), as_json, out_file, figure, "edgeworth.evaluation.bargaining_figures:draw_tournament")


def _tournament_page(result: dict[str, Any]) -> Iterator[RenderableType]:
    for scenario in result["scenarios"]:
        yield _cross_table(scenario)
        for name, reason in scenario["absent"].items():
            yield escape(f"– {name} does not take part: {reason}")
        yield ""
    if result["overall"]:
        overall = _standings("all scenarios")
        for number, row in enumerate(result["overall"], 1):
            overall.add_row(str(number), *_standing(row))
        yield overall
        yield ""
    if result["ranking"]:
        again = result.get("training_seeds", [])
        columns = [*(f"α-rank, {strength:g}" for strength in SELECTION), *([f"over {1 + len(again)} training seeds"] if again else [])]
        robust = table("place", "negotiator", "score", "one left out", *columns, title="distinct games", text=2)
        for row in result["ranking"]:
            masses = (_short(mass, 3) for mass in row["alpha_rank"].values())
            standing = (escape(row["name"]), _short(row["score"], 3), shown_ranks(row["left_out"]))
            robust.add_row(str(row["place"]), *standing, *masses, *_over_training_seeds(row))
        yield robust
        if again:
            replaced = ", ".join(again[0]["networks"])
            yield f"[dim]Over training seeds: score and places with the bundled {replaced}, and with those of each further seed.[/]"
        yield ""
    yield (
        f"[dim]Shares of a negotiator's own maximum, mean of both seats, {result['episodes']:,} episodes in each; the columns have the"
        " numbers of the rows. Score: mean over the others, with its 95 % interval; rank: the places it may have. In no score: with itself"
        " (dim), and with the scenario's own partner (own).[/]"
    )


def _over_training_seeds(row: dict[str, Any]) -> list[str]:
    """The score over training seeds, with its places, where there are several."""
    over = row.get("over_training_seeds")
    return [] if over is None else [f"{_short(over['score']['value'], 3)}, {shown_ranks(over['places'])}"]


def _cross_table(scenario: dict[str, Any]) -> Table:
    """As in chess: rows and columns in the same order, the columns by number."""
    cells, own = cross_table(scenario), own_partner_column(scenario)
    found = _standings(scenario["scenario"], *map(str, range(1, len(cells) + 1)), "own")
    for number, row in enumerate(scenario["scores"], 1):
        name = row["name"]
        shares = (f"[dim]{_short(value)}[/]" if column == name else _short(value) for column, value in cells[name].items())
        found.add_row(str(number), *_standing(row), *shares, _short(own[name]))
    for name in scenario["absent"]:
        found.add_row("–", escape(name), *["–"] * (len(cells) + 3))
    return found


def _standings(title: str, *columns: str) -> Table:
    found = table("", "negotiator", "score", "rank", *columns, title=escape(title), text=2, wrap=False, gap=1)
    found.columns[1].no_wrap, found.columns[1].overflow = False, "fold"
    return found


def _standing(row: dict[str, Any]) -> tuple[str, str, str]:
    score = Estimate.from_dict(row["score"])
    return escape(row["name"]), f"{_short(score.value, 3)}±{_short(score.half_width, 3)}", shown_ranks(row["ranks"])


def _short(value: float | None, digits: int = 2) -> str:
    """A number without the zero before the point."""
    return "–" if value is None else f"{value:.{digits}f}".removeprefix("0")
