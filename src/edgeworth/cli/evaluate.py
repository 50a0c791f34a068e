"""`edgeworth evaluate` and `edgeworth compare`: how well negotiators play on the same seeded episodes, with intervals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from edgeworth.agents.negotiators.learned import is_learned, negotiator_of
from edgeworth.cli import options
from edgeworth.cli.console import command_line, deliver, progress, shown, table
from edgeworth.config import BargainingConfig
from edgeworth.evaluation.episodes import Episodes, play_episodes
from edgeworth.evaluation.negotiators import QUANTITY, Ends, compared, measured, play_ends

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
Sampled = Annotated[bool, typer.Option("--sampled", help="Sample a learned agent's moves instead of taking the most likely one.")]


def evaluate_command(
    agent: Annotated[list[str], typer.Option("--agent", "-a", help="Negotiator by name, run folder or checkpoint; repeat for several.")],
    scenario: options.Scenario = "classic",
    partner: options.Partner = None,
    settings: options.Settings = None,
    episodes: NumberOfEpisodes = 20_000,
    yardstick_episodes: YardstickEpisodes = 2_000,
    seed: options.Seed = 0,
    sampled: Sampled = False,
    hint: Annotated[str | None, typer.Option(help="Hint provider for learned agents. Default: that of their training.")] = None,
    out_file: options.OutFile = None,
    figure: options.Figure = None,
    as_json: options.AsJson = False,
) -> None:
    """Measure how well negotiators play.

    Reported are the reward, the score between random play (0) and the best blind plan (1), deals and their efficiency, each with its 95 %
    interval.

    Example: edgeworth evaluate --agent learned --scenario classic --episodes 20000

    Example: edgeworth evaluate --agent runs/mine --agent bayes --agent agree_first --scenario lewis --episodes 2000 --figure scores.png
    """
    config = options.game_config(scenario, partner, settings)
    ends, found = _play(config, agent, sampled, hint, episodes, yardstick_episodes, seed)
    rows = [asdict(measured(name, config, one, ends)) for name, one in found.items()]
    result = {**_head(scenario, config, episodes, ends, seed), "yardsticks": ends.shares(), "agents": rows}
    drawer = "edgeworth.evaluation.bargaining_figures:draw_scores"
    deliver(result, _page(result, [(row["agent"], row) for row in rows]), as_json, out_file, figure, drawer, result["notes"])


def compare_command(
    first: Annotated[str, typer.Argument(help="Negotiator by name, run folder or checkpoint.")],
    second: Annotated[str, typer.Argument(help="The negotiator to compare it with.")],
    scenario: options.Scenario = "classic",
    partner: options.Partner = None,
    settings: options.Settings = None,
    episodes: NumberOfEpisodes = 20_000,
    yardstick_episodes: YardstickEpisodes = 2_000,
    seed: options.Seed = 0,
    sampled: Sampled = False,
    out_file: options.OutFile = None,
    as_json: options.AsJson = False,
) -> None:
    """Compare two negotiators on the same episodes.

    Reported are the paired differences, first less second, with their 95 % intervals.

    Example: edgeworth compare learned agree_first --scenario classic --episodes 5000
    """
    config = options.game_config(scenario, partner, settings)
    ends, found = _play(config, [first, second], sampled, None, episodes, yardstick_episodes, seed)
    one, other = found[first], found[second]
    difference = asdict(compared(measured(first, config, one, ends), measured(second, config, other, ends), one, other))
    result = {**_head(scenario, config, episodes, ends, seed), **difference}
    columns = [(first, difference["first"]), (second, difference["second"]), ("difference", difference)]
    better = f"{first} earned more in {difference['better']:.1%} of the episodes and less in {difference['worse']:.1%}."
    deliver(result, _page(result, columns, better), as_json, out_file, notes=result["notes"])


def _play(
    config: BargainingConfig, names: list[str], sampled: bool, hint: str | None, episodes: int, yardstick_episodes: int, seed: int
) -> tuple[Ends, dict[str, Episodes]]:
    """Play all negotiators and the ends of the scale; --sampled and --hint are for learned negotiators, and refused without any."""
    for_rules = (False, None) if any(is_learned(name) for name in names) else (sampled, hint)
    agents = {name: negotiator_of(name, *((sampled, hint) if is_learned(name) else for_rules)) for name in names}
    with progress() as task:
        found = {name: play_episodes(config, negotiator, episodes, seed, task("playing"), name) for name, negotiator in agents.items()}
        ends = play_ends(config, min(episodes, yardstick_episodes), seed, task("playing"))
    return ends, found


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
    found = table("measure", *(name for name, _ in columns), title=f"{result['scenario']}: {result['episodes']:,} episodes")
    for key, label in LABELS.items():
        found.add_row(label, *(shown(column.get(key), "\n") for _, column in columns))
    yield found
    if remark is not None:
        yield Text(remark)
    yield (
        f"[dim]Below each number its 95 % interval. Score and regret: on the first {result['yardstick_episodes']:,} episodes, which blind"
        " Bayes played too.[/]"
    )
