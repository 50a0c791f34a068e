"""`edgeworth analyse`: one context, its Pareto frontier, the solutions of bargaining theory, and what an agent could get."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich.console import RenderableType
from rich.markup import escape
from rich.padding import Padding

from edgeworth.cli import options
from edgeworth.cli.bargaining_tables import POINT_NAMES, context_table, frontier_table
from edgeworth.cli.console import deliver, err
from edgeworth.cli.situation import given_context
from edgeworth.config import BargainingConfig
from edgeworth.dialogues.wording import share_words
from edgeworth.evaluation.context_report import could_get
from edgeworth.games.bargaining.contexts import Context
from edgeworth.games.bargaining.frontier import pareto_frontier, solutions
from edgeworth.games.bargaining.vocabulary import Side


def analyse(
    counts: options.Counts = None,
    mine: options.Mine = None,
    theirs: options.Theirs = None,
    scenario: options.Scenario = "classic",
    partner: options.Partner = None,
    settings: options.Settings = None,
    seed: options.Seed = 0,
    figure: options.Figure = None,
    as_json: options.AsJson = False,
) -> None:
    """Show the Pareto frontier of a context and what an agent could get.

    A context is a pool and both sides' utilities: give --counts, --mine and --theirs, or take the first one of --seed in --scenario.
    Marked are the Nash, Kalai–Smorodinsky, egalitarian and welfare-maximising points. The agent's best result against the partner is
    computed twice: with the partner's utilities known, and without.

    Example: edgeworth analyse --counts 3,3,1 --mine 8,9,1 --theirs 1,3,9 --figure frontier.png
    """
    context, config = given_context(options.game_config(scenario, partner, settings), seed, counts, mine, theirs, needs_theirs=True)
    if figure is not None:
        from edgeworth.evaluation.bargaining_figures import draw_frontier

        draw_frontier(context, figure)
        err.print(f"Drew {figure}.")
    points, bounds = solutions(context), _bounds(context, config)
    result = {
        "context": {**asdict(context), "my_maximum": context.my_maximum, "partner_maximum": context.partner_maximum},
        "frontier": [asdict(point) for point in pareto_frontier(context)],
        "points": {key: asdict(getattr(points, key)) for key in POINT_NAMES},
        "partner": config.partner,
        "bounds": bounds,
    }
    deliver(result, _page(context, config, bounds), as_json)


def _bounds(context: Context, config: BargainingConfig) -> dict[str, Any]:
    """What the agent could get, by who opens: with the partner's utilities known, and without; or why that cannot be computed."""
    openers = [Side.AGENT, Side.PARTNER] if config.opens == "random" else [Side[config.opens.upper()]]
    return {opener.name.lower(): could_get(context, config, opener) for opener in openers}


def _page(context: Context, config: BargainingConfig, bounds: dict[str, Any]) -> Iterator[RenderableType]:
    yield context_table(context, partner_known=True)
    yield "\n[bold]Pareto frontier[/]: what cannot be improved for one side without hurting the other"
    yield frontier_table(context)
    yield f"\n[bold]Against the {config.partner} partner[/], {config.max_turns} moves"
    for opener, entry in bounds.items():
        known = entry.get("oracle_note") or f"an agent that knew the partner could get {entry['oracle']:.2f} points"
        yield f"  {opener} opens: {known}"
        yield Padding(f"blind: {escape(entry.get('plan_note') or _plan_words(entry['plan']))}", (0, 0, 0, 4))


def _plan_words(plan: dict[str, Any]) -> str:
    offers = [f"{offer['act']} {share_words(offer['share'])}" for offer in plan["offers"]]
    return f"{' → '.join([*offers, 'AGREE' if plan['agrees'] else 'DISAGREE'])}; worth {plan['value']:.2f} on average"
