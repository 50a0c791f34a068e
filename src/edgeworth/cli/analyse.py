"""`edgeworth analyse`: one context, its Pareto frontier, the points of theory, and what an agent could get."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from edgeworth.cli.console import AsJson, Partner, Scenario, Seed, Settings, err, game_config, out, print_json
from edgeworth.cli.frontier_table import POINT_NAMES, context_table, frontier_table
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidContext, InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.best_response import best_response
from edgeworth.games.bargaining.blind_plan import Plan, bayes_plan
from edgeworth.games.bargaining.contexts import Context, checked_triple, context_of
from edgeworth.games.bargaining.frontier import Allocation, pareto_frontier, solutions
from edgeworth.games.bargaining.talks import share_words
from edgeworth.games.bargaining.vocabulary import COUNT_LIMIT, UTILITY_LIMIT, Side


def analyse(
    counts: Annotated[str | None, typer.Option(help="The pool, e.g. 3,2,1.")] = None,
    mine: Annotated[str | None, typer.Option(help="Your utilities per unit, e.g. 1,2,3.")] = None,
    theirs: Annotated[str | None, typer.Option(help="The partner's utilities per unit, e.g. 2,0,4.")] = None,
    scenario: Scenario = "classic",
    partner: Partner = None,
    settings: Settings = None,
    seed: Seed = 0,
    figure: Annotated[Path | None, typer.Option(help="Draw the frontier into this PNG file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show a context's frontier, its Nash and other points, and what an agent could get from a partner.

    The context is given by --counts, --mine and --theirs, or drawn: the first one of --seed in --scenario.

    Example: edgeworth analyse --counts 3,2,1 --mine 1,2,3 --theirs 2,1,2 --figure frontier.png
    """
    config = game_config(scenario, partner, settings)
    context = _context(counts, mine, theirs, config, seed)
    config = replace(config, max_count=max(*context.counts, BargainingBatch(config, 1).max_count))
    if figure is not None:
        from edgeworth.evaluation.bargaining_figures import draw_frontier

        draw_frontier(context, figure)
        err.print(f"Drew {figure}.")
    bounds = _bounds(context, config)
    if as_json:
        print_json(_as_dict(context, config, bounds))
        return
    out.print(context_table(context, partner_known=True))
    out.print()
    out.print("[bold]Pareto frontier[/]: what cannot be improved for one side without hurting the other")
    out.print(frontier_table(context))
    out.print()
    _print_bounds(config, bounds)


def _context(counts: str | None, mine: str | None, theirs: str | None, config: BargainingConfig, seed: int) -> Context:
    given = [counts, mine, theirs]
    if all(g is None for g in given):
        batch = BargainingBatch(config, 1)
        batch.seed(seed)
        batch.reset()
        return context_of(batch.state[0])
    if any(g is None for g in given):
        raise InvalidOption("A context needs --counts, --mine and --theirs together; without any of them one is drawn by --seed.")
    return Context(
        triple("--counts", counts, COUNT_LIMIT), triple("--mine", mine, UTILITY_LIMIT), triple("--theirs", theirs, UTILITY_LIMIT)
    )


def triple(flag: str, text: str | None, limit: int) -> tuple[int, int, int]:
    """Three whole numbers as typed."""
    try:
        return checked_triple(flag, [int(part) for part in (text or "").replace(" ", ",").split(",") if part], limit)
    except (ValueError, TypeError) as error:
        raise InvalidOption(f"{flag} is {text!r}; expected three whole numbers from 0 to {limit}, such as 3,2,1.") from error


def _bounds(context: Context, config: BargainingConfig) -> dict[str, Any]:
    """What the agent could get, by who opens: with the partner's utilities known, and blind."""
    openers = [Side.AGENT, Side.PARTNER] if config.opens == "random" else [Side[config.opens.upper()]]
    batch = BargainingBatch(config, 1)
    found: dict[str, Any] = {}
    for opener in openers:
        entry: dict[str, Any] = {}
        try:
            entry["oracle"] = best_response(context, config, opener)
        except (InvalidOption, InvalidContext) as error:
            entry["oracle_note"] = str(error)
        try:
            entry["plan"] = bayes_plan(context, batch, int(opener))
        except (InvalidOption, InvalidContext) as error:
            entry["plan_note"] = str(error)
        found[opener.name.lower()] = entry
    return found


def _print_bounds(config: BargainingConfig, bounds: dict[str, Any]) -> None:
    out.print(f"[bold]Against the {config.partner} partner[/], {config.max_turns} moves")
    for opener, entry in bounds.items():
        if "oracle" in entry:
            out.print(f"  {opener} opens: an agent that knew the partner could get {entry['oracle'].value:.2f} points")
        else:
            out.print(f"  {opener} opens: {entry['oracle_note']}")
        if "plan" in entry:
            out.print(f"    blind: {_plan_words(entry['plan'])}; worth {entry['plan'].value:.2f} on average", soft_wrap=True)
        else:
            out.print(f"    blind: {entry['plan_note']}", soft_wrap=True)


def _plan_words(plan: Plan) -> str:
    offers = [f"{offer.act.name} {share_words(offer.share)}" for offer in plan.offers]
    return " → ".join([*offers, "AGREE" if plan.agrees else "leave it"])


def _as_dict(context: Context, config: BargainingConfig, bounds: dict[str, Any]) -> dict[str, Any]:
    points = solutions(context)
    return {
        "context": {
            "counts": context.counts,
            "my_utilities": context.my_utilities,
            "partner_utilities": context.partner_utilities,
            "my_maximum": context.my_maximum,
            "partner_maximum": context.partner_maximum,
        },
        "frontier": [_allocation(a) for a in pareto_frontier(context)],
        "points": {key: _allocation(getattr(points, key)) for key in POINT_NAMES},
        "partner": config.partner,
        "bounds": {opener: _bound(entry) for opener, entry in bounds.items()},
    }


def _allocation(allocation: Allocation) -> dict[str, Any]:
    return {"share": allocation.share, "mine": allocation.mine, "theirs": allocation.theirs}


def _bound(entry: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {key: value for key, value in entry.items() if key.endswith("_note")}
    if "oracle" in entry:
        found["oracle"] = entry["oracle"].value
    if "plan" in entry:
        plan: Plan = entry["plan"]
        found["plan"] = {"value": plan.value, "offers": [{"act": o.act.name, "share": o.share} for o in plan.offers], "agrees": plan.agrees}
    return found
