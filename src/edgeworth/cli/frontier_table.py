"""A context and its frontier as tables, for `analyse`, `play` and `demo`."""

from __future__ import annotations

from rich.table import Table

from edgeworth.games.bargaining.contexts import Context
from edgeworth.games.bargaining.frontier import Allocation, pareto_frontier, solutions
from edgeworth.games.bargaining.talks import share_words
from edgeworth.games.bargaining.vocabulary import ITEM_NAMES

POINT_NAMES = {
    "nash": "Nash",
    "kalai_smorodinsky": "Kalai–Smorodinsky",
    "egalitarian": "egalitarian",
    "max_welfare": "max. welfare",
}


def context_table(context: Context, partner_known: bool) -> Table:
    """The pool and what a unit is worth."""
    table = Table(show_edge=False, pad_edge=False, box=None, header_style="bold")
    table.add_column("")
    for name in ITEM_NAMES:
        table.add_column(name + "s", justify="right")
    table.add_column("whole pool", justify="right")
    table.add_row("pool", *(str(n) for n in context.counts), f"{sum(context.counts)} items")
    table.add_row("worth to you", *(str(n) for n in context.my_utilities), f"{context.my_maximum} points")
    if partner_known:
        table.add_row("worth to partner", *(str(n) for n in context.partner_utilities), f"{context.partner_maximum} points")
    return table


def marked_points(context: Context) -> list[tuple[Allocation, list[str]]]:
    """The frontier from the agent's best to the partner's, each point with the names theory gives it."""
    found = solutions(context)
    named = {name: getattr(found, key) for key, name in POINT_NAMES.items()}
    return [
        (a, [name for name, point in named.items() if (point.mine, point.theirs) == (a.mine, a.theirs)]) for a in pareto_frontier(context)
    ]


def frontier_table(context: Context, deal: Allocation | None = None) -> Table:
    """The Pareto frontier, with the points of theory and the deal marked."""
    table = Table(show_edge=False, pad_edge=False, box=None, header_style="bold")
    table.add_column("you get", no_wrap=True)
    table.add_column("partner gets", no_wrap=True)
    table.add_column("yours", justify="right")
    table.add_column("theirs", justify="right")
    table.add_column("")
    rows = marked_points(context)
    if deal is not None and not any((a.mine, a.theirs) == (deal.mine, deal.theirs) for a, _ in rows):
        rows = sorted([*rows, (deal, ["(not efficient)"])], key=lambda row: -row[0].mine)
    for allocation, names in rows:
        landed = deal is not None and (allocation.mine, allocation.theirs) == (deal.mine, deal.theirs)
        rest = [c - n for c, n in zip(context.counts, allocation.share, strict=True)]
        words = ", ".join(names + (["← the deal"] if landed else []))
        style = "bold green" if landed else None
        table.add_row(share_words(allocation.share), share_words(rest), str(allocation.mine), str(allocation.theirs), words, style=style)
    return table
