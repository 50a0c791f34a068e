"""`edgeworth designers`: who can set the rules of a market, and how the ones in the box were made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from edgeworth import catalog
from edgeworth.cli.console import AsJson, Seed, command_line, err, out, print_json, write_json
from edgeworth.cli.progress import progress
from edgeworth.config import AuctionConfig
from edgeworth.errors import UnknownName

app = typer.Typer(
    help="Who can set the rules of a market: list them, search the best constant mechanism, fit the adaptive one.", no_args_is_help=True
)

Bidders = Annotated[int, typer.Option("--n-agents", min=2, max=16, help="Bidders in the market.")]
Threads = Annotated[int, typer.Option(min=1, help="Threads that share out the markets; the result does not depend on it.")]


@app.command("list")
def list_designers(as_json: AsJson = False) -> None:
    """List the designers and the mechanisms in the box.

    Example: edgeworth designers list
    """
    from edgeworth.agents.designers.fixed import boxed_mechanism, mechanism_names

    designers = {name: (catalog.resolve("designer", name).__doc__ or "").splitlines()[0] for name in catalog.names("designer")}
    mechanisms = {name: boxed_mechanism(name).model_dump() for name in mechanism_names()}
    if as_json:
        print_json({"designers": designers, "mechanisms": mechanisms})
        return
    shown = Table(box=None, pad_edge=False, header_style="bold")
    shown.add_column("designer")
    shown.add_column("what it does")
    for name, words in designers.items():
        shown.add_row(name, words)
    out.print(shown)
    out.print(f"\nMechanisms in the box (configs/mechanisms/): {', '.join(mechanisms)}.")


@app.command("search")
def search(
    stage: Annotated[str, typer.Option("--stage", help="The population: 0 to 4, mixed, stages, held_out_0, …")] = "mixed",
    n_agents: Bidders = 8,
    seed: Seed = 0,
    threads: Threads = 1,
    candidates: Annotated[int, typer.Option(min=50, help="Random designs at the start.")] = 3000,
    generations: Annotated[int, typer.Option(min=1, help="Generations of single-field changes.")] = 12,
    out_file: Annotated[Path | None, typer.Option("--out", help="Write the mechanism as JSON into this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Search the best constant mechanism for a population; about a minute.

    Example: edgeworth designers search --stage 3 --out configs/mechanisms/stage_3.json
    """
    from edgeworth.agents.designers.search import SearchBudget, mean_scores, rounded, search_mechanism
    from edgeworth.evaluation.statistics import mean
    from edgeworth.games.auction.action import action_of

    config = AuctionConfig.from_options(stage=stage, n_agents=n_agents)
    budget = SearchBudget(candidates=candidates, generations=generations)
    with progress() as task:
        found = search_mechanism(config, seed, budget, threads=threads, progress=task(f"population {stage}"))
    row = rounded(found.mechanism)
    score = mean(mean_scores(row, config, budget.final_markets, seed + 2**40, threads)[0])
    action = action_of(row[0]).model_dump()
    if out_file is not None:
        write_json(out_file, action)
    if as_json:
        print_json({"command": command_line(), "stage": stage, "seed": seed, "mechanism": action, "score": score.as_dict()})
    else:
        out.print(json.dumps(action, indent=2))
        out.print(f"R on {score.n:,} fresh markets: {score}")


@app.command("fit")
def fit(
    prior: Annotated[str, typer.Option("--prior", help="The family of populations it expects: stages or mixed.")] = "stages",
    markets: Annotated[int, typer.Option(min=1000, help="Markets to learn from.")] = 30_000,
    seed: Seed = 7_000_000,
    threads: Threads = 1,
    episodes: Annotated[int, typer.Option(min=100, help="Fresh markets for the score on its card.")] = 4000,
    out_file: Annotated[Path | None, typer.Option("--out", help="Where to keep it; default: the box.")] = None,
) -> None:
    """Fit the forecasts of the adaptive designer; some minutes.

    Example: edgeworth designers fit --prior stages
    """
    from edgeworth.agents.designers.adaptive import LIBRARY, PRIORS, forecast_file, library_rows
    from edgeworth.agents.designers.forecast import FitSettings, fit_revisions, save_revisions

    if prior not in PRIORS:
        raise UnknownName("prior of the adaptive designer", prior, PRIORS)
    settings = FitSettings(markets=markets)
    path = forecast_file(prior) if out_file is None else out_file
    with progress() as task:
        population, probe = AuctionConfig(stage=prior), LIBRARY.index(prior)
        revisions = fit_revisions(library_rows(), probe, population, settings, seed, threads, task(f"prior {prior}"))
    path.parent.mkdir(parents=True, exist_ok=True)
    save_revisions(path, revisions)
    err.print(f"Wrote {path} ({path.stat().st_size / 1000:.0f} kB).")
    if out_file is None:
        _write_card(path, prior, seed, markets, episodes)


def _write_card(path: Path, prior: str, seed: int, markets: int, episodes: int) -> None:
    """Beside the forecasts: what they are, the command, and how they do on markets they never saw."""
    from edgeworth.agents.designers.adaptive import LIBRARY, Adaptive
    from edgeworth.agents.designers.designer import play
    from edgeworth.agents.designers.fixed import BestConstant
    from edgeworth.evaluation.statistics import mean, paired_difference

    config, fresh = AuctionConfig(stage=prior), 2**41
    scores = play(Adaptive(prior), config, episodes, fresh).mean(axis=1)
    constant = play(BestConstant(prior), config, episodes, fresh).mean(axis=1)
    card = {
        "what": "forecasts of the adaptive designer: ridge regressions, one per step and mechanism in force",
        "command": command_line(),
        "prior": prior,
        "library": LIBRARY,
        "markets": markets,
        "seeds": f"{seed} to {seed + markets - 1}",
        "evaluation_seeds": f"{fresh} to {fresh + episodes - 1}",
        "score": mean(scores).as_dict(),
        "over_best_constant": paired_difference(scores, constant).as_dict(),
    }
    write_json(path.with_suffix(".json"), card)
