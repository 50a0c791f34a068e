"""Making the bundled designers: best constants, schedules, forecasts and the library of compositions, with their cards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgeworth.agents.designers import bundled
from edgeworth.agents.designers import composition_library as compositions
from edgeworth.agents.designers.adaptive import LIBRARY, Adaptive, forecast_file, library_rows
from edgeworth.agents.designers.designer import Designer, play
from edgeworth.agents.designers.fixed import BestConstant
from edgeworth.agents.designers.forecast import FitSettings, fit_revisions, save_revisions
from edgeworth.agents.designers.informed import Oracle
from edgeworth.agents.designers.schedule_search import FoundSchedule, ScheduleBudget, search_schedule
from edgeworth.agents.designers.search import QUICK, Found, SearchBudget, search_mechanism
from edgeworth.cli.console import command_line, err, progress, say, write_json
from edgeworth.config import AuctionConfig
from edgeworth.evaluation.statistics import mean, paired_difference
from edgeworth.games.auction.action import action_of, mechanism_rows, read_mechanisms
from edgeworth.games.auction.batch import Rows

FRESH = 2**41
"""The first seed of the markets on which a card's scores are measured."""


def _effort(given: float | None, n_agents: int) -> float:
    """The effort of a search; by default full for the usual number of bidders, half for others."""
    return given if given is not None else 1.0 if n_agents == bundled.USUAL_BIDDERS else 0.5


def constants(config: AuctionConfig, seed: int, effort: float | None, threads: int, bundle: bool) -> Found:
    """Search the best constant mechanism of each format, and bundle them if asked."""
    with progress() as task:
        show = task(f"population {config.stage}, {config.n_agents} bidders")
        found = search_mechanism(config, seed, SearchBudget().scaled(_effort(effort, config.n_agents)), threads=threads, progress=show)
    if bundle:
        name, actions = bundled.bundled_name(config.stage), _dumped(found.mechanisms)
        write_json(bundled.numbered(bundled.mechanism_folder(), name, config.n_agents), actions[0])
        write_json(bundled.numbered(bundled.format_folder(), name, config.n_agents), actions)
    return found


def schedule(config: AuctionConfig, seed: int, effort: float | None, threads: int, bundle: bool) -> FoundSchedule:
    """Search the best schedule, from the bundled best constants of each format or, where there are none, from a search for them."""
    kept = bundled.numbered(bundled.format_folder(), bundled.bundled_name(config.stage), config.n_agents)
    if kept.is_file():
        start = mechanism_rows(read_mechanisms(kept))
    else:
        start = constants(config, seed, effort, threads, bundle=False).mechanisms
    with progress() as task:
        show = task(f"schedule for population {config.stage}, {config.n_agents} bidders")
        found = search_schedule(config, start, seed, ScheduleBudget().scaled(_effort(effort, config.n_agents)), threads, show)
    if bundle:
        write_json(
            bundled.numbered(bundled.schedule_folder(), bundled.bundled_name(config.stage), config.n_agents), _dumped(found.schedule)
        )
    return found


def constant_facts(found: Found) -> dict[str, Any]:
    """The best mechanism of a search and the best of each format, with their scores."""
    actions = _dumped(found.mechanisms)
    formats = zip(found.by_format().items(), actions, strict=True)
    return {
        "mechanism": actions[0],
        "score": mean(found.scores[0]).as_dict(),
        "formats": {name: {"mechanism": action, "score": mean(scores).as_dict()} for (name, scores), action in formats},
    }


def schedule_facts(found: FoundSchedule) -> dict[str, Any]:
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


def forecasts(prior: str, n_agents: int, seed: int, markets: int, episodes: int, threads: int, out_file: Path | None) -> None:
    """Fit the adaptive designer's forecasts; the bundled ones get a card."""
    config = AuctionConfig(stage=prior, n_agents=n_agents)
    path = forecast_file(prior, n_agents) if out_file is None else out_file
    for note in (note for name in LIBRARY for note in bundled.find_mechanism(name, n_agents)[1]):
        say(f"{note}.")
    with progress() as task:
        show = task(f"prior {prior}, {n_agents} bidders")
        library, probe = library_rows(n_agents), LIBRARY.index(prior)
        revisions = fit_revisions(library, probe, config, FitSettings(markets=markets), seed, threads, show)
    path.parent.mkdir(parents=True, exist_ok=True)
    save_revisions(path, revisions)
    err.print(f"Wrote {path} ({path.stat().st_size / 1000:.0f} kB).")
    if out_file is None:
        card = {
            "what": "forecasts of the adaptive designer: ridge regressions, one per step and mechanism in force",
            "command": command_line(),
            "prior": prior,
            "n_agents": n_agents,
            "library": LIBRARY,
            "markets": markets,
            "seeds": f"{seed} to {seed + markets - 1}",
            **_measured(Adaptive(prior), config, episodes),
        }
        write_json(path.with_suffix(".json"), card)


def composition_library(
    n_agents: int, clusters: int, markets: int, seed: int, effort: float, episodes: int, threads: int, out_file: Path | None
) -> dict[str, Any]:
    """Build the library that the oracle chooses from; its card says what choosing by composition is worth on fresh markets."""
    path = bundled.numbered(bundled.CHECKPOINTS, compositions.LIBRARY_NAME, n_agents, "npz") if out_file is None else out_file
    every = compositions.compositions_of(n_agents)
    centres = compositions.cluster_centres(compositions.drawn_compositions(n_agents, seed), clusters, seed)
    with progress() as task:
        candidates = compositions.searched_candidates(
            library_rows(n_agents), centres, QUICK.scaled(effort), seed, threads, task("searching")
        )
        library = compositions.build_library(candidates, every, markets, seed, threads, task("comparing"))
    path.parent.mkdir(parents=True, exist_ok=True)
    compositions.save_library(path, library)
    err.print(f"Wrote {path} ({path.stat().st_size / 1000:.0f} kB).")
    card = {
        "what": "library of mechanisms by composition, for the oracle; other numbers of bidders take the nearest shares",
        "command": command_line(),
        "n_agents": n_agents,
        "compositions": len(every),
        "searched_compositions": centres.tolist(),
        "candidates": len(candidates),
        "mechanisms_in_use": len(library.mechanisms),
        "markets": f"{markets} per candidate and composition",
        "seeds": f"{seed} to {seed + markets * len(every) - 1}",
        "populations": {
            stage: _measured(Oracle(library), AuctionConfig(stage=stage, n_agents=n_agents), episodes) for stage in ("stages", "mixed")
        },
    }
    write_json(path.with_suffix(".json"), card)
    return card


def _measured(designer: Designer, config: AuctionConfig, episodes: int) -> dict[str, Any]:
    """A designer's score on fresh markets, and what it gains there over the best constant of the population."""
    scores = play(designer, config, episodes, FRESH).mean(axis=1)
    constant = play(BestConstant(config.stage), config, episodes, FRESH).mean(axis=1)
    return {
        "evaluation_seeds": f"{FRESH} to {FRESH + episodes - 1}",
        "score": mean(scores).as_dict(),
        "over_best_constant": paired_difference(scores, constant).as_dict(),
    }
