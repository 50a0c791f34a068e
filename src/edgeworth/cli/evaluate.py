"""`edgeworth evaluate` and `edgeworth compare`: how good negotiators are, on the same seeded episodes, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from edgeworth.agents.negotiators.named import is_learned, negotiator_of
from edgeworth.agents.negotiators.negotiator import Negotiator
from edgeworth.cli.console import AsJson, Partner, Scenario, Seed, Settings, command_line, deliver, draw, err, game_config, out
from edgeworth.cli.progress import progress
from edgeworth.config import BargainingConfig
from edgeworth.evaluation.episodes import Episodes
from edgeworth.evaluation.negotiators import QUANTITY, Comparison, Ends, Evaluation, compared, measured, play_ends, played
from edgeworth.evaluation.statistics import Estimate

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
DIFFERENCES = ("reward", "share_of_maximum", "deal_rate", "advantage", "length")

NumberOfEpisodes = Annotated[int, typer.Option("--episodes", min=10, help="Episodes, the same for everybody.")]
YardstickEpisodes = Annotated[
    int, typer.Option("--yardstick-episodes", min=10, help="How many of them are also played by random and blind Bayes, which is slow.")
]
Sampled = Annotated[bool, typer.Option("--sampled", help="Draw a learned agent's moves instead of making the likeliest.")]
Hint = Annotated[str | None, typer.Option("--hint", help="Give a learned agent the hints of another provider than in training.")]
OutFile = Annotated[Path | None, typer.Option("--out", help="Write the result as JSON into this file.")]


def evaluate_command(
    agent: Annotated[
        list[str], typer.Option("--agent", "-a", help="A negotiator by name, a run folder or a checkpoint; repeat for several.")
    ],
    scenario: Scenario = "classic",
    partner: Partner = None,
    settings: Settings = None,
    episodes: NumberOfEpisodes = 20_000,
    yardstick_episodes: YardstickEpisodes = 2_000,
    seed: Seed = 0,
    sampled: Sampled = False,
    hint: Hint = None,
    out_file: OutFile = None,
    figure: Annotated[Path | None, typer.Option(help="Draw the scores between the yardsticks into this PNG file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure how good negotiators are: reward, score between random and blind Bayes, deals, efficiency, each with its interval.

    Example: edgeworth evaluate --agent learned --scenario classic --episodes 20000

    Example: edgeworth evaluate --agent runs/mine --agent bayes --agent agree_first --scenario lewis --episodes 2000 --figure scores.png
    """
    config = game_config(scenario, partner, settings)
    agents = _agents(agent, sampled, hint)
    ends, found = _played(config, agents, episodes, yardstick_episodes, seed)
    rows = [measured(name, config, played, ends) for name, played in found.items()]
    result = {**_head(scenario, config, episodes, ends, seed), "yardsticks": ends.shares(), "agents": [row.as_dict() for row in rows]}
    deliver(result, as_json, out_file, lambda: _show(scenario, rows, ends))
    draw(result, figure, "edgeworth.evaluation.bargaining_figures:draw_scores")


def compare_command(
    first: Annotated[str, typer.Argument(help="A negotiator by name, a run folder or a checkpoint.")],
    second: Annotated[str, typer.Argument(help="Another one.")],
    scenario: Scenario = "classic",
    partner: Partner = None,
    settings: Settings = None,
    episodes: NumberOfEpisodes = 20_000,
    yardstick_episodes: YardstickEpisodes = 2_000,
    seed: Seed = 0,
    sampled: Sampled = False,
    out_file: OutFile = None,
    as_json: AsJson = False,
) -> None:
    """Compare two negotiators on the same episodes: paired differences, first less second, with intervals.

    Example: edgeworth compare learned agree_first --scenario classic --episodes 5000
    """
    config = game_config(scenario, partner, settings)
    agents = _agents([first, second], sampled, None)
    ends, found = _played(config, agents, episodes, yardstick_episodes, seed)
    one, other = found[first], found[second]
    comparison = compared(measured(first, config, one, ends), measured(second, config, other, ends), one, other)
    result = {**_head(scenario, config, episodes, ends, seed), **comparison.as_dict()}
    deliver(result, as_json, out_file, lambda: _show_comparison(scenario, comparison, ends))


def _agents(names: list[str], sampled: bool, hint: str | None) -> dict[str, Negotiator]:
    """The negotiators by name; what is for learned ones passes over the rules beside them, and is refused where there are only rules."""
    for_rules = (False, None) if any(is_learned(name) for name in names) else (sampled, hint)
    return {name: negotiator_of(name, *((sampled, hint) if is_learned(name) else for_rules)) for name in names}


def _played(
    config: BargainingConfig, agents: dict[str, Negotiator], episodes: int, yardstick_episodes: int, seed: int
) -> tuple[Ends, dict[str, Episodes]]:
    with progress() as task:
        found = {name: played(config, negotiator, name, episodes, seed, task("playing")) for name, negotiator in agents.items()}
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


# For people


def _show(scenario: str, rows: list[Evaluation], ends: Ends) -> None:
    table = Table(title=f"{scenario}: {rows[0].episodes:,} episodes", title_justify="left", box=None, pad_edge=False, header_style="bold")
    table.add_column("measure")
    for row in rows:
        table.add_column(row.agent, justify="right", overflow="fold")
    for key, label in LABELS.items():
        table.add_row(label, *(_shown(getattr(row, key)) for row in rows))
    out.print(table)
    _legend(ends)


def _show_comparison(scenario: str, comparison: Comparison, ends: Ends) -> None:
    one, other = comparison.first, comparison.second
    table = Table(title=f"{scenario}: {one.episodes:,} episodes", title_justify="left", box=None, pad_edge=False, header_style="bold")
    for number, column in enumerate(("measure", one.agent, other.agent, "difference")):
        table.add_column(column, justify="right" if number else "left", overflow="fold")
    for key, label in LABELS.items():
        difference = getattr(comparison, key) if key in DIFFERENCES else None
        table.add_row(label, _shown(getattr(one, key)), _shown(getattr(other, key)), _shown(difference))
    out.print(table)
    out.print(
        f"{one.agent} earned more in {comparison.better:.1%} of the episodes and less in {comparison.worse:.1%}.",
        soft_wrap=True,
        markup=False,
    )
    _legend(ends)


def _legend(ends: Ends) -> None:
    out.print(
        f"Below each number its 95 % interval. Score and regret: on the first {ends.episodes:,} episodes, which blind Bayes played too.",
        style="dim",
        soft_wrap=True,
    )
    if ends.note is not None:
        err.print(ends.note, soft_wrap=True, markup=False)


def _shown(estimate: Estimate | None) -> str:
    return "–" if estimate is None else f"{estimate.value:.3f}\n[dim]{estimate.low:.3f} – {estimate.high:.3f}[/]"
