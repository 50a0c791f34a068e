"""`edgeworth designer inference`, which is `python inference.py`: a trained designer at work, alone or beside the published baselines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.markup import escape

from edgeworth import catalog
from edgeworth.agents.designers.design_prompt import mechanism_json
from edgeworth.agents.designers.designer import Designer, known_to
from edgeworth.agents.designers.language_model import LanguageModel, bundled_designer
from edgeworth.agents.questions import OWN_CLIENT
from edgeworth.cli import options
from edgeworth.cli.console import command_line, deliver, progress, table
from edgeworth.errors import InvalidOption
from edgeworth.evaluation.designer_evaluation import Cell, play_cell
from edgeworth.evaluation.designer_targets import legal_share, quartiles
from edgeworth.evaluation.statistics import Estimate, as_json, mean, paired_difference
from edgeworth.evaluation.story import play_step
from edgeworth.games.auction.action import action_of
from edgeworth.games.auction.market_view import StepHistory
from edgeworth.games.auction.sale_room import SaleRoom

MODEL = "language_model"
BASELINES = ("uniform", "informed_greedy")
RESULTS, BOXPLOT = Path("inference_results.json"), Path("inference_results.png")
EPISODES = 30
COMPONENTS = ("welfare_ratio", "fairness_score", "participation_rate", "stability_score")


def inference_command(
    n_episodes: Annotated[
        int | None, typer.Option("--n-episodes", min=2, help="Whole episodes to play. Default: one step of one episode.")
    ] = None,
    baseline: Annotated[bool, typer.Option("--baseline", help="Also play uniform and informed_greedy, on the same markets.")] = False,
    repo_id: Annotated[
        str | None, typer.Option("--repo-id", help="Model on the hub, or a folder: merged, adapter or run. Default: the bundled model.")
    ] = None,
    designer: Annotated[str, typer.Option(help="Designer by name: language_model, policy, adaptive, …")] = MODEL,
    stage: Annotated[str, typer.Option(help="Population: stages, mixed, 0 to 4, held_out, …")] = "stages",
    n_agents: options.Bidders = 8,
    seed: options.Seed = 0,
    constrained: Annotated[bool, typer.Option("--constrained/--free", help="Whether replies are decoded under the schema.")] = True,
    out_file: Annotated[Path, typer.Option("--out", help="JSON file for the result of --n-episodes.")] = RESULTS,
    figure: Annotated[Path, typer.Option("--figure", help="PNG file for the box plot of --baseline.")] = BOXPLOT,
    as_json: options.AsJson = False,
) -> None:
    """Let a trained designer design: one mechanism for a fresh market, or whole episodes beside the published baselines.

    Example: python inference.py

    Example: python inference.py --n-episodes 30 --baseline --repo-id runs/grpo
    """
    cell = Cell(stage, n_agents)
    author = _author(designer, repo_id, constrained)
    try:
        if n_episodes is None and not baseline:
            result = _one_step(author, cell, seed)
            deliver({"command": command_line(), **result}, _step_page(result), as_json, notes=result["notes"])
            return
        with progress() as task:
            played = _episodes(author, _label(designer, repo_id), cell, n_episodes or EPISODES, baseline, seed, task(designer))
    finally:
        if isinstance(author, LanguageModel):
            author.close()
    drawer = "edgeworth.evaluation.designer_figures:draw_episodes"
    deliver({"command": command_line(), **played}, _page(played), as_json, out_file, figure if baseline else None, drawer, played["notes"])


def _author(name: str, repo_id: str | None, constrained: bool) -> Designer:
    """The designer, ready to play."""
    if name != MODEL:
        if repo_id is not None or not constrained:
            raise InvalidOption(f"--repo-id and --free are about a language model; the designer {name} is none. Leave --designer out.")
        found: Designer = catalog.resolve("designer", name)()
        return found
    model = LanguageModel(model=repo_id, constrained=constrained)
    model.check()
    return model


def _label(name: str, repo_id: str | None) -> str:
    return f"{name} ({repo_id or bundled_designer() or OWN_CLIENT})" if name == MODEL else name


# One mechanism


def _one_step(author: Designer, cell: Cell, seed: int) -> dict[str, Any]:
    """The first mechanism of a market, and the account of the step under it; beside it the baselines in the same market."""
    accounts = {}
    for name, each in {"own": author, **{name: catalog.resolve("designer", name)() for name in BASELINES}}.items():
        room = SaleRoom(cell.config, seed)
        each.begin(cell.config, 1, seed, known_to(each, room.batch.markets))
        account = play_step(room, action_of(each.design(StepHistory(room.batch).view())[0]))
        del account["sales"]
        accounts[name] = account
    own = accounts.pop("own")
    verdict = author.verdicts[0].as_dict() if isinstance(author, LanguageModel) else {"posted": "reply"}
    about = {"stage": cell.population, "n_agents": cell.n_agents, "seed": seed, "designer": _called(author)}
    return {
        **about,
        "mechanism": own["mechanism"],
        "verdict": verdict,
        "account": own,
        "baselines": accounts,
        "notes": list(author.assumed),
    }


def _called(author: Designer) -> str:
    return author.client.name if isinstance(author, LanguageModel) else type(author).__name__


def _step_page(result: dict[str, Any]) -> Iterator[RenderableType]:
    yield escape(
        f"{result['designer']}, a fresh market of {result['n_agents']} bidders (population {result['stage']}, seed {result['seed']}):"
    )
    if result["verdict"]["posted"] != "reply":
        yield escape(f"No legal mechanism ({result['verdict']['reason']}): {result['verdict']['sentence']} So the market opens under:")
    yield escape(json.dumps(json.loads(mechanism_json(result["mechanism"])), indent=2))
    own = result["account"]
    parts = {
        "welfare": "welfare_ratio",
        "fairness": "fairness_score",
        "participation": "participation_rate",
        "stability": "stability_score",
    }
    words = " x ".join(f"{name} {own[key]:.3f}" for name, key in parts.items())
    yield f"The market's score after five sales: R = {words} = [bold]{own['composite']:.3f}[/]"
    for name, account in result["baselines"].items():
        yield f"  {name} in the same market: {account['composite']:.3f}"


# Episodes


def _episodes(author: Designer, label: str, cell: Cell, episodes: int, baseline: bool, seed: int, show: Any) -> dict[str, Any]:
    """The scores of whole episodes; the baselines play the same seeds."""
    total, done = episodes * cell.config.episode_length, 0

    def count(mechanisms: int) -> None:
        nonlocal done
        done += mechanisms
        show("mechanisms", done, total)

    played = {label: play_cell(author, cell, episodes, seed, count)}
    for name in BASELINES if baseline else ():
        played[name] = play_cell(catalog.resolve("designer", name)(), cell, episodes, seed)
    own = played[label]
    return {
        "model": _called(author),
        "stage": cell.population,
        "n_agents": cell.n_agents,
        "seeds": f"{seed} to {seed + episodes - 1}",
        "n_episodes": episodes,
        "legal": as_json(legal_share(own)),
        "reasons": dict(own.reasons),
        "notes": list(own.notes),
        "designers": {
            name: {"mean": mean(each.scores).as_dict(), "quartiles": quartiles(each.scores), "scores": each.scores.tolist()}
            for name, each in played.items()
        },
        "over": {name: paired_difference(own.scores, each.scores).as_dict() for name, each in played.items() if name != label},
    }


def _page(result: dict[str, Any]) -> Iterator[RenderableType]:
    found = table("designer", "mean R", "95 % interval", "median", "IQR", "gain of the first")
    for name, row in result["designers"].items():
        score, middle, gain = row["mean"], row["quartiles"], result["over"].get(name)
        found.add_row(
            escape(name),
            f"{score['value']:.3f}",
            f"{score['low']:.3f} – {score['high']:.3f}",
            f"{middle['median']:.3f}",
            f"{middle['low']:.3f} – {middle['high']:.3f}",
            "–" if gain is None else f"{gain['value']:+.3f} ±{Estimate.from_dict(gain).half_width:.3f}",
        )
    yield found
    legal = "" if result["legal"] is None else f" {result['legal']['value']:.2%} of the replies are legal mechanisms."
    yield f"{result['n_episodes']} episodes, population {result['stage']}, {result['n_agents']} bidders, seeds {result['seeds']}.{legal}"
