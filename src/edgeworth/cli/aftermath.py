"""After the talks: the frontier, where the deal landed, and what was left on the table."""

from __future__ import annotations

from rich.console import Console

from edgeworth.cli.frontier_table import context_table, frontier_table
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.best_response import best_response
from edgeworth.games.bargaining.contexts import Context, Triple
from edgeworth.games.bargaining.frontier import Allocation, is_pareto, nash_product, pareto_frontier, solutions, valued
from edgeworth.games.bargaining.talks import OUTCOME_WORDS, share_words
from edgeworth.games.bargaining.vocabulary import BUDGET, Outcome, Side


def show_aftermath(
    screen: Console, context: Context, config: BargainingConfig, opener: Side, outcome: Outcome, deal: Triple | None, reward: float
) -> None:
    """Reveal the partner's utilities and judge the result; all in points as they stand in the tables, before any scaling."""
    points = in_points(reward, context, config)
    screen.print()
    screen.print(f"[bold]The end:[/] {OUTCOME_WORDS[outcome].replace('the agent', 'you')}; you get {points:g} points.")
    screen.print()
    screen.print(context_table(context, partner_known=True))
    screen.print()
    landed = valued(context, deal) if deal is not None else None
    screen.print(_title(context, landed))
    screen.print(frontier_table(context, landed))
    screen.print()
    for sentence in judgement(context, config, opener, landed, points):
        screen.print(f"· {sentence}", soft_wrap=True)


def in_points(reward: float, context: Context, config: BargainingConfig) -> float:
    """A reward in whole-number points, also where the environment pays on the budget of ten."""
    return reward * context.my_maximum / BUDGET if config.normalize else reward


def _title(context: Context, deal: Allocation | None) -> str:
    if deal is None:
        return "[bold]The Pareto frontier[/] (no deal was reached)"
    return "[bold]The Pareto frontier[/]" + ("" if is_pareto(context, deal.share) else "[bold] and the deal[/]")


def judgement(context: Context, config: BargainingConfig, opener: Side, deal: Allocation | None, points: float) -> list[str]:
    """What was left on the table, in sentences."""
    sentences = [_efficiency(context, config, deal)]
    try:
        best = in_points(best_response(context, config, opener).value, context, config)
    except InvalidOption:
        return sentences
    if config.partner == "random" or config.sudden_end > 0:
        sentences.append(f"Someone who knew the partner's utilities would have got {best:.4g} points on average.")
    elif points >= best - 1e-9:
        sentences.append(f"Nobody could have got more from this partner: {best:g} points is the most it ever gives.")
    else:
        sentences.append(f"Someone who knew the partner's utilities would have got {best:g} points, {best - points:g} more.")
    return sentences


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
