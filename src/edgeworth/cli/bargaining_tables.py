"""A bargaining context, its Pareto frontier and the result of an episode as tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table

from edgeworth.cli.console import table
from edgeworth.config import BargainingConfig
from edgeworth.dialogues.wording import OUTCOME_WORDS, share_words
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.best_response import best_response
from edgeworth.games.bargaining.contexts import Context, Triple, rest_of
from edgeworth.games.bargaining.frontier import Allocation, is_pareto, nash_product, pareto_frontier, solutions, valued
from edgeworth.games.bargaining.vocabulary import BUDGET, ITEM_NAMES, Outcome, Side

POINT_NAMES = {"nash": "Nash", "kalai_smorodinsky": "Kalai–Smorodinsky", "egalitarian": "egalitarian", "max_welfare": "max. welfare"}


def context_table(context: Context, partner_known: bool) -> Table:
    """The pool and what a unit is worth."""
    found = table("", *(f"{name}s" for name in ITEM_NAMES), "whole pool")
    found.add_row("pool", *map(str, context.counts), f"{sum(context.counts)} items")
    found.add_row("worth to you", *map(str, context.my_utilities), f"{context.my_maximum} points")
    if partner_known:
        found.add_row("worth to partner", *map(str, context.partner_utilities), f"{context.partner_maximum} points")
    return found


def frontier_table(context: Context, deal: Allocation | None = None) -> Table:
    """The Pareto frontier from the agent's best point to the partner's, with the solutions of bargaining theory and the deal marked."""
    found = table("you get", "partner gets", "yours", "theirs", text=2, wrap=False, gap=1)
    found.add_column("")
    theory = solutions(context)
    rows = [
        (point, [name for key, name in POINT_NAMES.items() if _same(getattr(theory, key), point)]) for point in pareto_frontier(context)
    ]
    if deal is not None and not any(_same(point, deal) for point, _ in rows):
        rows = sorted([*rows, (deal, ["(not efficient)"])], key=lambda row: -row[0].mine)
    for point, names in rows:
        is_deal = deal is not None and _same(point, deal)
        words = "\n".join(names + ["← the deal"] * is_deal)
        shares = share_words(point.share), share_words(rest_of(context.counts, point.share))
        found.add_row(*shares, str(point.mine), str(point.theirs), words, style="bold green" if is_deal else None)
    return found


def _same(one: Allocation, other: Allocation) -> bool:
    """Whether two allocations are worth the same to both sides."""
    return (one.mine, one.theirs) == (other.mine, other.theirs)


def aftermath(
    context: Context, config: BargainingConfig, opener: Side, outcome: Outcome, deal: Triple | None, reward: float
) -> Iterator[RenderableType]:
    """The page after an episode: the result, the partner's utilities, the frontier and what was left on the table, in unscaled points."""
    points = _in_points(reward, context, config)
    landed = valued(context, deal) if deal is not None else None
    earned = f"{points:g} {'point' if points == 1 else 'points'}"
    yield f"\n[bold]The end:[/] {OUTCOME_WORDS[outcome].replace('the agent', 'you')}; you get {earned}.\n"
    yield context_table(context, partner_known=True)
    if landed is None:
        yield "\n[bold]The Pareto frontier[/] (no deal was reached)"
    else:
        yield "\n[bold]The Pareto frontier[/]" + ("" if is_pareto(context, landed.share) else "[bold] and the deal[/]")
    yield frontier_table(context, landed)
    yield ""
    yield f"· {_efficiency(context, config, landed)}"
    try:
        best = _in_points(best_response(context, config, opener).value, context, config)
    except InvalidOption:
        return
    if config.partner == "random" or config.sudden_end > 0:
        yield f"· Someone who knew the partner's utilities would have got {best:.4g} points on average."
    elif points >= best - 1e-9:
        yield f"· Nobody could have got more from this partner: {best:g} points is the most it ever gives."
    else:
        yield f"· Someone who knew the partner's utilities would have got {best:g} points, {best - points:g} more."


def _in_points(reward: float, context: Context, config: BargainingConfig) -> float:
    """A reward in the points of the tables, also where the environment scales the whole pool to ten."""
    return reward * context.my_maximum / BUDGET if config.normalize else reward


def _efficiency(context: Context, config: BargainingConfig, deal: Allocation | None) -> str:
    fallback = (config.reservation[0] * context.my_maximum, config.reservation[1] * context.partner_maximum)
    nash = solutions(context, fallback).nash
    if deal is None:
        return f"There was no deal. The Nash point would have been worth {nash.mine} to you and {nash.theirs} to the partner."
    best_product = nash_product(nash, fallback)
    ratio = nash_product(deal, fallback) / best_product if best_product else 1.0
    if is_pareto(context, deal.share):
        return f"The deal is efficient: neither side could gain without the other losing (Nash product {ratio:.0%} of the best)."
    better = max(
        (a for a in pareto_frontier(context) if a.mine >= deal.mine and a.theirs >= deal.theirs), key=lambda a: (a.mine + a.theirs, a.mine)
    )
    return (
        f"The deal leaves value on the table: {share_words(better.share)} for you would be worth {better.mine} instead of {deal.mine}"
        f" to you and {better.theirs} instead of {deal.theirs} to the partner."
    )
