"""`edgeworth designer policy`: train the policy designer by PPO, choose its best network, and measure it."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType
from rich.markup import escape

from edgeworth.cli.console import command_line, deliver, progress, say, table
from edgeworth.cli.options import AsJson, changed
from edgeworth.cli.train import saved_so_far
from edgeworth.config import config_folder
from edgeworth.errors import InvalidOption
from edgeworth.evaluation.statistics import Estimate
from edgeworth.progress import Progress
from edgeworth.runlog import (
    FACTS,
    Checkpoint,
    Line,
    checked_run,
    read_checkpoint,
    read_config,
    read_history,
    write_checkpoint,
)

if TYPE_CHECKING:
    from edgeworth.training.market_run import DesignerSettings

WHAT = "An auction designer: a network trained by PPO that reads the last five steps and chooses all eleven fields at every step."


def policy_command(
    config: Annotated[Path | None, typer.Option(help="YAML file of settings. Default: configs/policy_designer.yaml.")] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="Any setting, e.g. --set ppo.entropy=0.02 --set markets.varied=0.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the initial weights and all markets. Default: the settings'.")] = None,
    steps: Annotated[int | None, typer.Option(help="Steps of the designer, over all markets. Default: the settings'.")] = None,
    out_folder: Annotated[Path | None, typer.Option("--out", help="Run folder. Default: runs/policy_designer_seedSEED.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in that folder; only --steps may change.")] = False,
    episodes: Annotated[int, typer.Option(min=2, help="Markets of each population for the scores, with seeds from 0 on.")] = 1000,
    bundle: Annotated[Path | None, typer.Option(help="Also write the best network with its card here, as PATH.safetensors.")] = None,
    result_file: Annotated[Path | None, typer.Option("--result", help="Also write the scores and the curve to this JSON file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train the policy designer by PPO, a quarter of an hour on one core, and measure its best network.

    Settings, log and checkpoints go into the run folder. Ctrl-C saves before it stops. A finished run is only measured.

    Example: edgeworth designer policy --out runs/policy --seed 1

    Example: edgeworth designer policy --out runs/policy --resume
    """
    from edgeworth.agents.designers.bundled import BIDDERS, USUAL_BIDDERS
    from edgeworth.agents.designers.policy import Policy
    from edgeworth.evaluation.designer_scores import designer_scores
    from edgeworth.training.market_run import MarketRun

    given = {name: value for name, value in (("seed", seed), ("num_train_steps", steps)) if value is not None}
    settings, folder = _settings_and_folder(config, {**given, **changed({}, changes, "ppo.entropy=0.02")}, out_folder, resume)
    run = MarketRun.resume(settings, folder) if resume else MarketRun.begin(settings, folder, command_line())
    say(f"{'Continuing' if resume else 'Training'} in {folder}." if not run.over else f"The run in {folder} has made all of its steps.")
    try:
        with progress() as task:
            run.train(_reporter(task("training"), settings.num_train_steps))
    except (KeyboardInterrupt, SystemExit):
        say(f"{saved_so_far(folder)}; continue with: edgeworth designer policy --out {folder} --resume")
        raise
    finally:
        run.close()
    with progress() as task:
        scores = {n: designer_scores(Policy(folder), episodes, 0, n, progress=task(f"measuring, {n} bidders")) for n in BIDDERS}
    others = {str(n): found["populations"] for n, found in scores.items() if n != USUAL_BIDDERS}
    result = _result(folder, settings) | {"scores": scores[USUAL_BIDDERS], "with_other_numbers_of_bidders": others}
    if bundle is not None:
        best = read_checkpoint(folder)
        facts = {name: value for name, value in best.facts.items() if name != "digest"}
        write_checkpoint(bundle, Checkpoint(best.tensors, {**facts, "card": {"what": WHAT, **result}}))
        say(f"Wrote {bundle}.safetensors.")
    deliver(result, _page(result, folder), as_json, result_file)


def _settings_and_folder(
    config: Path | None, changes: Mapping[str, Any], out_folder: Path | None, resume: bool
) -> tuple[DesignerSettings, Path]:
    """The settings and the folder of the run; a resumed one has the settings it was begun with, but for the number of steps."""
    from edgeworth.training.market_run import load_settings, settings_of

    if not resume:
        settings = load_settings(config or config_folder() / "policy_designer.yaml", changes)
        return settings, out_folder or Path(settings.logging.output_dir) / f"policy_designer_seed{settings.seed}"
    if out_folder is None:
        raise InvalidOption("--resume continues the run in a folder; name it with --out.")
    if config is not None or changes.keys() - {"num_train_steps"}:
        raise InvalidOption("--resume continues with the settings of the run; leave --config, --set and --seed out.")
    return settings_of({**read_config(checked_run(out_folder)), **changes}), out_folder


def _reporter(show: Progress, total: int) -> Any:
    """Show the latest scores while the run goes on."""
    latest: dict[str, float] = {}

    def report(line: Line) -> None:
        latest.update({name: float(line[name]) for name in ("score", "validation") if not math.isnan(float(line.get(name, math.nan)))})
        words = ", ".join(f"{name} {value:.3f}" for name, value in latest.items())
        show(words, min(int(line["steps"]), total), total)

    return report


def _result(folder: Path, settings: DesignerSettings) -> dict[str, Any]:
    """What became of the run: how long it took, its best network, and its curve."""
    lines, best = read_history(folder), read_checkpoint(folder).facts
    curve = [
        {"steps": line["steps"], **{name: round(float(line[name]), 4) for name in line if name.startswith("validation")}}
        for line in lines
        if not math.isnan(float(line.get("validation", math.nan)))
    ]
    return {
        "command": json.loads((folder / FACTS).read_text(encoding="utf-8"))["command"],
        "seed": settings.seed,
        "steps": best["steps"],
        "minutes": round(float(lines[-1]["seconds"]) / 60.0, 1),
        "hardware": f"one CPU core ({platform.machine()})",
        "validation": best["progress"]["best"],
        "curve": curve,
    }


def _page(result: dict[str, Any], folder: Path) -> Iterator[RenderableType]:
    steps, score = result["steps"], result["validation"]
    yield f"{result['minutes']} minutes; the best network, after {steps:,} steps, has {score:.4f} on the markets for validation."
    for number, rows in {result["scores"]["n_agents"]: result["scores"]["populations"], **result["with_other_numbers_of_bidders"]}.items():
        found = table("population", "policy", "over the best constant", "over the adaptive designer", title=f"{number} bidders")
        for name, row in rows.items():
            gains = (escape(f"{Estimate.from_dict(row[key]):+.4f}") for key in ("over_best_constant", "over_adaptive"))
            found.add_row(name, f"{row['score']['value']:.4f}", *gains)
        yield found
    yield f"R on {result['scores']['episodes']:,} markets of each population, seeds {result['scores']['evaluation_seeds']}."
    yield f"In Python: edgeworth.agents.designers.policy.Policy({str(folder)!r}) plays it."
