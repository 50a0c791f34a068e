"""`edgeworth designer evaluate`: trained designers beside those that they have to beat, with targets met or not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.markup import escape

from edgeworth.agents.designers.language_model import bundled_designer
from edgeworth.agents.questions import OWN_CLIENT
from edgeworth.cli import options
from edgeworth.cli.console import command_line, deliver, fallbacks_as_messages, progress, say, table
from edgeworth.errors import DataError, InvalidOption
from edgeworth.evaluation.designer_evaluation import CELLS, Cell, Entrant, ModelOptions, Played, evaluate, evaluate_apart
from edgeworth.evaluation.designer_targets import AFTER, BEFORE, FREE, POLICY, STAGES, result_of
from edgeworth.evaluation.hint_measures import FREE_TEMPERATURE
from edgeworth.evaluation.statistics import Estimate, mean
from edgeworth.executor.tasks import put_away
from edgeworth.games.auction.population import population_table
from edgeworth.llm.local.folders import BUNDLED
from edgeworth.progress import Progress

CACHE = Path("runs") / "designer_replies.sqlite"
QUANTITY = (
    "mean score R per step over whole episodes; 95 % bootstrap intervals over episodes; differences paired by seed; g is the share of the"
    " way from the best constant to being told the stage"
)


def evaluate_command(
    before: Annotated[str | None, typer.Option(help="Language model before GRPO: a folder, a run, a name.")] = None,
    after: Annotated[
        str | None, typer.Option(help="Language model after GRPO. Without --before and --after the bundled designer is measured.")
    ] = None,
    policy: Annotated[Path | None, typer.Option(help="Run folder or checkpoint of the policy. Default: the bundled one.")] = None,
    cell: Annotated[
        list[str] | None, typer.Option(help="Population and number of bidders, e.g. held_out:8; repeat for several. Default: all four.")
    ] = None,
    episodes: Annotated[int, typer.Option(min=20, help="Episodes of every designer in every cell.")] = 1000,
    model_episodes: Annotated[
        int | None, typer.Option(min=0, help="Episodes of a language model, 0 for none. Default: as many as the others.")
    ] = None,
    free_episodes: Annotated[int, typer.Option(min=0, help="Episodes on the stages with replies that are not constrained.")] = 200,
    cache: Annotated[Path, typer.Option(help="File that keeps replies; a run that was stopped continues from it.")] = CACHE,
    client_option: options.ClientOptions = None,
    seed: options.Seed = 0,
    engine: options.Engine = "local",
    address: options.Address = None,
    workers: options.MoreWorkers = None,
    out_file: options.OutFile = None,
    figure: options.Figure = None,
    as_json: options.AsJson = False,
) -> None:
    """Measure trained designers on markets that no training has seen, and say which targets are met.

    On one core a small language model takes about 25 minutes for each cell of 1,000 episodes. Commands for several cells can run at the
    same time with one cache; a last one for all cells then takes their replies from it.

    Example: edgeworth designer evaluate --before runs/sft --after runs/grpo --out results/designers.json

    Example: edgeworth designer evaluate --episodes 100 --cell stages:8 --free-episodes 20
    """
    cells = [_cell(text) for text in cell] if cell else list(CELLS)
    asked = min(episodes if model_episodes is None else model_episodes, episodes)
    notes = [] if asked else ["Rows are missing: language models: left out, as --model-episodes 0 asks."]
    alone = engine == "local" and workers in (None, 1)
    with fallbacks_as_messages():
        models = _models(before, after, cache, options.client_options(client_option), alone) if asked else {}
        entrants = [*_policies(policy, episodes, cells, notes), *_entrants(models, asked, min(free_episodes, asked), cells, seed)]
        try:
            clients = {name: model.designer().client.name for name, model in models.items()}
            with options.executed(engine, address, workers) as run, progress() as task:
                clock = _Clock(task("language models"))
                if alone:
                    found = evaluate(entrants, cells, episodes, seed, clock.show, clock.finished)
                else:
                    found = evaluate_apart(entrants, cells, episodes, seed, run, task("designers"), clock.finished)
        except KeyboardInterrupt:
            say(f"Replies so far are in {cache}; the same command continues from there.")
            raise
        finally:
            put_away()
    result = {
        "command": command_line(),
        "quantity": QUANTITY,
        "seeds": f"{seed} to {seed + episodes - 1}",
        "episodes": episodes,
        "model_episodes": dict.fromkeys(models, asked),
        "models": clients,
        **result_of(found),
    }
    result["notes"] = notes + result["notes"]
    drawer = "edgeworth.evaluation.designer_figures:draw_evaluation"
    deliver(result, _page(result), as_json, out_file, figure, drawer, result["notes"])


# Who plays


def _cell(text: str) -> Cell:
    population, _, number = text.partition(":")
    if not number.isdigit() or not 2 <= int(number) <= 16:
        raise InvalidOption(f"--cell {text}: expected POPULATION:BIDDERS with 2 to 16 bidders, for example held_out:8.")
    population_table(population, None)
    return Cell(population, int(number))


def _policies(checkpoint: Path | None, episodes: int, cells: list[Cell], notes: list[str]) -> Iterator[Entrant]:
    """The numeric policy, or a note that none is there."""
    from edgeworth.agents.designers.policy import Policy

    try:
        designer = Policy() if checkpoint is None else Policy(checkpoint)
    except DataError as error:
        if checkpoint is not None:
            raise
        notes.append(f"A row is missing: {POLICY}: {error}")
        return
    yield Entrant(POLICY, lambda: designer, episodes, tuple(cells))


def _models(before: str | None, after: str | None, cache: Path, client_options: dict[str, Any], alone: bool) -> dict[str, ModelOptions]:
    """The language models by the names of their rows; loaded, where this process asks them."""
    if before is None and after is None:
        before, after = bundled_models()
    named = {f"{stage} ({model})": model for stage, model in ((BEFORE, before), (AFTER, after)) if model is not None}
    cache.absolute().parent.mkdir(parents=True, exist_ok=True)
    found = {name: ModelOptions({"model": model, "cache": cache, **client_options}) for name, model in named.items()}
    for model in found.values() if alone else ():
        model.designer().check()
    return found


def bundled_models() -> tuple[str | None, str | None]:
    """The bundled designer, as a model before or after GRPO; without one, the bundled base is one before."""
    from edgeworth.training.designer.merge import trainings

    designer = bundled_designer()
    if designer is None:
        return OWN_CLIENT, None
    trained_last = trainings(BUNDLED[designer])[-1]["settings"]["trainer"]
    return (None, designer) if trained_last == "grpo" else (designer, None)


def _entrants(models: dict[str, ModelOptions], episodes: int, free_episodes: int, cells: list[Cell], seed: int) -> Iterator[Entrant]:
    """Every language model, constrained in all cells and free on the stages."""
    for name, model in models.items():
        yield Entrant(name, model.designer, episodes, tuple(cells), slow=True, model=model)
    for name, model in models.items():
        if free_episodes and STAGES in cells:
            free = replace(model, asked={"constrained": False, "temperature": FREE_TEMPERATURE, "seed": seed})
            yield Entrant(name + FREE, free.designer, free_episodes, (STAGES,), slow=True, model=free)


class _Clock:
    """Shows how far language models are, and after each what it scored and how long the rest may take."""

    def __init__(self, bar: Progress) -> None:
        self.bar, self.began, self.done, self.total = bar, time.monotonic(), 0, 0

    def show(self, what: str, done: int, total: int) -> None:
        """A step was played."""
        self.done, self.total = done, total
        self.bar(what, done, total)

    def finished(self, cell: Cell, name: str, played: Played) -> None:
        """A designer has played a cell."""
        minutes = (time.monotonic() - self.began) / 60.0
        left = f"; {minutes:.0f} minutes so far, about {minutes * (self.total - self.done) / self.done:.0f} to go" if self.done else ""
        say(f"{cell.name}: {name}: R {mean(played.scores):.4f}{left}")


# The page


def _page(result: dict[str, Any]) -> Iterator[RenderableType]:
    for name, rows in result["populations"].items():
        found = table("designer", "R", "over best constant", "g", "legal", title=f"{name}: mean score R per step")
        for row in rows:
            score, over = (Estimate.from_dict(row[key]) for key in ("score", "over_best_constant"))
            fewer = "" if score.n == result["episodes"] else f", {score.n:,} episodes"
            found.add_row(
                escape(row["designer"]) + fewer,
                f"{score.value:.4f} ±{score.half_width:.4f}",
                f"{over.value:+.4f} ±{over.half_width:.4f}",
                "–" if row["g"] is None else f"{row['g']['value']:.2f}",
                "–" if row["legal"] is None else f"{row['legal']['value']:.2%}",
            )
        yield from (found, "")
    if result["targets"]:
        found = table("target", "found", "wanted", "", text=1)
        for row in result["targets"]:
            found.add_row(escape(row["target"]), escape(row["found"]), row["wanted"], "met" if row["met"] else "[bold]NOT met[/]")
        yield found
