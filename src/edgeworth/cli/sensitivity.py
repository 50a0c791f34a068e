"""`edgeworth sensitivity` and `edgeworth robustness`: what the fields of a mechanism do to the score, and how robust that is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from edgeworth.cli import options
from edgeworth.cli.console import command_line, deliver, progress, table
from edgeworth.evaluation.robustness import QUICK, RobustnessBudget, robustness
from edgeworth.evaluation.sensitivity import best_name, level_text, sensitivity
from edgeworth.evaluation.statistics import Estimate
from edgeworth.games.auction.population import population_table
from edgeworth.games.auction.vocabulary import AUCTION_TYPES

STAGES = ("0", "1", "2", "3", "4", "mixed")


def sensitivity_command(
    stage: Annotated[list[str] | None, typer.Option(help="Population of bidders; repeat for several. Default: 0 to 4 and mixed.")] = None,
    mechanism: Annotated[str | None, typer.Option(help="Base: JSON file or name from configs/mechanisms/. Default: the best one.")] = None,
    episodes: Annotated[int, typer.Option(min=20, help="Episodes per value of a field; all values play the same ones.")] = 800,
    n_agents: options.Bidders = 8,
    settings: options.MarketSettings = None,
    seed: options.Seed = 0,
    out_file: options.OutFile = None,
    figure: options.Figure = None,
    as_json: options.AsJson = False,
) -> None:
    """Measure what each field of a mechanism does to the score.

    Each of the eleven fields is changed alone, starting from a base mechanism; the result is the change in the mean score R.

    Example: edgeworth sensitivity --stage 3 --stage 4 --episodes 200 --figure sensitivity.png
    """
    configs = {name: options.auction_config(name, None, n_agents, settings) for name in stage or STAGES}
    for config in configs.values():
        population_table(config.stage, config.mix)  # refuses unknown populations before the long computation starts
    bases = {name: options.mechanism_option(mechanism or best_name(name), config.n_agents) for name, config in configs.items()}
    with progress() as task:
        found = [sensitivity(name, config, bases[name], episodes, seed, task(f"stage {name}")) for name, config in configs.items()]
    result = {
        "command": command_line(),
        "quantity": "change of mean R when one field leaves the base mechanism; paired, 95 % bootstrap interval over episodes",
        "seeds": f"{seed} to {seed + episodes - 1}",
        "stages": found,
    }
    deliver(result, _sensitivity_page(found), as_json, out_file, figure, "edgeworth.evaluation.auction_figures:draw_sensitivity")


def _sensitivity_page(stages: list[dict[str, Any]]) -> Iterator[RenderableType]:
    for entry in stages:
        title = f"stage {entry['stage']}: mean R {Estimate.from_dict(entry['base'])}; its change when one field moves"
        shown = table("field", "base", "to its best other level", "to its worst level", title=title, text=2, wrap=False)
        for effect in entry["fields"]:
            own = next(_level(level) for level in effect["levels"] if level["is_base"])
            others = sorted((level for level in effect["levels"] if not level["is_base"]), key=lambda level: float(level["value"]))
            shown.add_row(effect["field"], own, _change(others[-1]), _change(others[0]) if len(others) > 1 else "")
        yield shown
        yield ""


def _change(level: dict[str, Any]) -> str:
    return f"{_level(level)}\n{level['value']:+.3f} ±{Estimate.from_dict(level).half_width:.3f}"


def _level(level: dict[str, Any]) -> str:
    return level_text(level["level"]).removeprefix("penalize ")


def robustness_command(
    constants: Annotated[int | None, typer.Option(min=1, help="How many of the most influential constants to change. Default: 16.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Use a tiny budget, to try the command; its numbers mean nothing.")] = False,
    seed: options.Seed = 0,
    out_file: options.OutFile = None,
    figure: options.Figure = None,
    as_json: options.AsJson = False,
) -> None:
    """Count the changed markets in which each conclusion holds.

    All constants of the market model are ranked by influence; the most influential are halved and doubled, one at a time. In each changed
    market the best mechanism of every format is searched and every field is measured again. About twenty minutes on one core.

    Example: edgeworth robustness --quick
    """
    budget = QUICK if quick else RobustnessBudget()
    budget = budget if constants is None else replace(budget, constants=constants)
    with progress() as task:
        found = robustness(budget, seed, task("ranking the constants"), task("changed markets"))
    result = {
        "command": command_line(),
        "quantity": "paired differences of mean R, 95 % bootstrap intervals; a conclusion survives where its sign is the same and clear",
        "seed": seed,
        "worlds": found["worlds"],
        "budget": asdict(budget),
        **found,
    }
    page = _robustness_page(result, budget.constants)
    deliver(result, page, as_json, out_file, figure, "edgeworth.evaluation.auction_figures:draw_robustness")


def _robustness_page(result: dict[str, Any], most: int) -> Iterator[RenderableType]:
    worlds = result["worlds"]
    influence = table("constant", "value", "mean change of R", title="the most influential constants", wrap=False)
    for row in result["influence"][:most]:
        influence.add_row(row["constant"], str(row["value"]), f"{row['mean_change_of_R']:.4f}")
    yield influence
    yield ""
    formats = table("stage", *AUCTION_TYPES, title=f"the best format, in how many of {worlds} worlds", wrap=False)
    for stage, counts in result["best_formats"].items():
        formats.add_row(stage, *(str(counts[kind]) for kind in AUCTION_TYPES))
    yield formats
    yield ""
    title = f"conclusions of the calibrated market in {worlds} worlds"
    conclusions = table("effect on R", "stage", "calibrated", "survives", "reversed", title=title)
    for one in sorted(result["conclusions"], key=lambda conclusion: (conclusion["what"], conclusion["stage"])):
        calibrated = f"{one['calibrated']['value']:+.3f}"
        conclusions.add_row(one["what"], one["stage"], calibrated, f"{one['survives']} of {worlds}", str(one["reversed"]))
    yield conclusions
