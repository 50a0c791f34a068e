"""Figures of the bargaining game: the frontier of a context, yardsticks, negotiators and tournaments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from edgeworth.dialogues.wording import share_words
from edgeworth.evaluation.figures import ACCENT, INK, LIGHT, caption, name_rows, panels, point, pyplot, wrapped
from edgeworth.evaluation.statistics import Estimate, counted
from edgeworth.evaluation.tournament import cross_table, own_partner_column, shown_ranks
from edgeworth.games.bargaining.contexts import Context
from edgeworth.games.bargaining.frontier import Allocation, allocations, pareto_frontier, solutions
from edgeworth.games.bargaining.vocabulary import ITEM_NAMES

# The frontier of a context

POINTS = {
    "nash": ("Nash", "o"),
    "kalai_smorodinsky": ("Kalai–Smorodinsky", "s"),
    "egalitarian": ("egalitarian", "^"),
    "max_welfare": ("max. welfare", "D"),
}


def draw_frontier(context: Context, path: Path, deal: Allocation | None = None) -> None:
    """Every division of the pool, the Pareto frontier, the points of theory and, where there is one, the deal."""
    with panels(path, 1, 1, (6.4, 5.2)) as (_, grid):
        axes = grid[0][0]
        everything, frontier = allocations(context), pareto_frontier(context)
        axes.scatter([a.mine for a in everything], [a.theirs for a in everything], s=18, color=LIGHT, label="all divisions", zorder=1)
        axes.plot(
            [a.mine for a in frontier], [a.theirs for a in frontier], color=INK, lw=1.2, marker=".", label="Pareto frontier", zorder=2
        )
        for at, names, marker in _grouped_points(context):
            axes.scatter([at.mine], [at.theirs], s=110, marker=marker, facecolor="white", edgecolor=ACCENT, lw=2, label=names, zorder=3)
        if deal is not None:
            axes.scatter([deal.mine], [deal.theirs], s=140, marker="*", color=INK, label="the deal", zorder=4)
        axes.set(xlabel="worth to the agent (points)", ylabel="worth to the partner (points)")
        axes.set_xlim(-0.03 * max(context.my_maximum, 1), 1.05 * max(context.my_maximum, 1))
        axes.set_ylim(-0.03 * max(context.partner_maximum, 1), 1.05 * max(context.partner_maximum, 1))
        axes.set_title(wrapped(frontier_finding(context), 74), fontsize=10, loc="left")
        axes.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncol=3)


def frontier_finding(context: Context) -> str:
    """What each side gets at the Nash point, and of what."""
    nash, names = solutions(context).nash, zip(ITEM_NAMES, context.my_utilities, context.partner_utilities, strict=True)
    worth = ", ".join(f"{name} {mine} and {theirs}" for name, mine, theirs in names)
    return (
        f"At the Nash point the agent gets {counted(nash.mine, 'point')}, the partner {nash.theirs}."
        f" The pool: {share_words(context.counts)}; points per unit, to the agent and to the partner: {worth}."
    )


def _grouped_points(context: Context) -> list[tuple[Allocation, str, str]]:
    """The points of theory, those that coincide under one name."""
    found = solutions(context)
    groups: dict[tuple[int, int], tuple[Allocation, list[str], str]] = {}
    for key, (name, marker) in POINTS.items():
        at: Allocation = getattr(found, key)
        groups.setdefault((at.mine, at.theirs), (at, [], marker))[1].append(name)
    return [(at, " = ".join(names), marker) for at, names, marker in groups.values()]


# Yardsticks and negotiators

YARDSTICKS = {
    "oracle": "oracle",
    "bayes": "blind Bayes",
    "concession": "concession",
    "agree_first": "AGREE first",
    "random": "random",
    "greedy": "ask all",
}
"""Agents of the reference table, and their names in figures."""


def draw_yardsticks(result: dict[str, Any], path: Path) -> None:
    """The scale of every scenario side by side: from random play to the oracle, with intervals."""
    scenarios = result["scenarios"]
    columns = min(3, len(scenarios))
    lines = -(-len(scenarios) // columns)
    with panels(path, lines, columns, (1.5 + 2.6 * columns, 0.5 + 2.9 * lines), sharex=True, sharey=True) as (figure, grid):
        caption(figure, yardsticks_finding(scenarios), 105)
        for axes in grid.flat[len(scenarios) :]:
            axes.set_visible(False)
        for axes, scenario in zip(grid.flat, scenarios, strict=False):
            rows = [row for row in reversed(scenario["rows"]) if row["agent"] in YARDSTICKS]
            for y, row in enumerate(rows):
                axes.plot([0, row["value"]], [y, y], color=LIGHT, lw=1, zorder=1)
                point(axes, row, y, ACCENT)
                axes.text(row["value"] + 0.035, y, f"{row['value']:.3f}", va="center", fontsize=8)
            axes.set_yticks(range(len(rows)), [YARDSTICKS[row["agent"]] for row in rows], fontsize=9)
            axes.set_xlim(-0.02, 1.08)
            axes.set_title(scenario["scenario"], fontsize=10, loc="left")
        for axes in grid[-1]:
            axes.set_xlabel("share of maximum", fontsize=9)


def yardsticks_finding(scenarios: Sequence[dict[str, Any]]) -> str:
    """How much of what the oracle earns can be earned without seeing the partner's utilities."""
    values = [{row["agent"]: float(row["value"]) for row in scenario["rows"]} for scenario in scenarios]
    kept = [found["bayes"] / found["oracle"] for found in values if {"bayes", "oracle"} <= found.keys()]
    if not kept:
        return "Reference scores"
    return f"The best blind plan earns {min(kept):.1%} to {max(kept):.1%} of what an agent that knew its partner's utilities could."


def draw_scores(result: dict[str, Any], path: Path) -> None:
    """Every agent's share of the maximum with its interval, between random play and blind Bayes."""
    rows = result["agents"]
    with panels(path, 1, 1, (8.0, 1.7 + 0.5 * len(rows))) as (_, grid):
        axes = grid[0][0]
        for name, value in yardsticks(result):
            axes.plot([value, value], [-0.6, len(rows)], color=INK, lw=0.9, ls=":", zorder=0)
            axes.text(value, -0.68, name, ha="center", fontsize=8.5)
        for y, row in enumerate(rows):
            share = row["share_of_maximum"]
            axes.plot([0, share["value"]], [y, y], color=LIGHT, lw=1, zorder=1)
            point(axes, share, y, ACCENT, zorder=3)
            axes.text((share["high"] or share["value"]) + 0.015, y, f"{share['value']:.3f}", fontsize=8.5, va="center")
        name_rows(axes, [row["agent"] for row in rows], 28, 9)
        axes.set_ylim(len(rows) - 0.5, -1.0)
        axes.set_xlim(0.0, 1.0)
        axes.set_xlabel("share of the agent's maximum (Σ reward / Σ worth of the whole pool)", fontsize=9)
        best = max(rows, key=lambda row: row["share_of_maximum"]["value"])
        words = f"{best['agent']} earns {Estimate.from_dict(best['share_of_maximum'])} of its maximum"
        where = f"({result['scenario']}, {result['partner']} partner, {result['episodes']:,} episodes)"
        axes.set_title(wrapped(f"{words} {where}", 80), fontsize=10, loc="left")


def yardsticks(result: dict[str, Any]) -> list[tuple[str, float]]:
    """The ends of the scale that a result has, by their names."""
    return [(YARDSTICKS[key], value) for key, value in result.get("yardsticks", {}).items() if value is not None]


# Tournaments

COLOURS = "YlGnBu"
"""Light to dark, so that it reads in grey."""
DARK = 0.55
"""From this share on, numbers in a cell are white."""
LETTERS = 11
"""The size of the letters, for a figure that a page shows at less than half its width."""
GAP = 0.4
"""Room before the columns that stand beside the table."""
NAME_LENGTH = 20
"""Of a longer name, such as a path, the end is shown."""


def draw_tournament(result: dict[str, Any], path: Path) -> None:
    """A heat map per scenario: what every row gets from every column; beside it the score, and the share with the own partner."""
    scenarios = [scenario for scenario in result["scenarios"] if scenario["scores"]]
    columns = 2 if len(scenarios) > 1 else 1
    lines, players = max(1, -(-len(scenarios) // columns)), len(result["negotiators"])
    size = columns * (1.9 + 0.38 * (players + 3)), lines * (1.7 + 0.37 * players) + 1.2
    layout = {"rect": (0, 0.6 / size[1], 1, 1 - 0.3 / size[1]), "w_pad": 2.0, "h_pad": 2.0}
    with panels(path, lines, columns, size, layout, dots_per_inch=120) as (figure, grid):  # so many cells; finer, the file is over 1 MB
        for axes in grid.flat[len(scenarios) :]:
            axes.set_visible(False)
        for axes, scenario in zip(grid.flat, scenarios, strict=False):
            _draw_scenario(axes, scenario, _one_order(result, scenario))
        caption(figure, tournament_finding(result), 60 * columns, fontsize=13)
        figure.text(0.01, 0.06 / size[1], wrapped(tournament_legend(result), 70 * columns), fontsize=LETTERS, va="bottom")


def _one_order(result: dict[str, Any], scenario: dict[str, Any]) -> list[str]:
    """Who takes part in a scenario, in the order of the scores over all scenarios; those that have none of these come last."""
    overall = [row["name"] for row in result["overall"]]
    present = [row["name"] for row in scenario["scores"]]
    return sorted(present, key=lambda name: overall.index(name) if name in overall else len(overall))


def _draw_scenario(axes: Any, scenario: dict[str, Any], order: Sequence[str]) -> None:
    table, own = cross_table(scenario), own_partner_column(scenario)
    rows = {row["name"]: row for row in scenario["scores"]}
    places = [*range(len(order)), len(order) + GAP, len(order) + GAP + 1]
    for y, row in enumerate(order):
        for x, column in enumerate(order):
            _draw_cell(axes, x, y, table[row][column], outlined=row == column)
        _draw_cell(axes, places[-2], y, rows[row]["score"]["value"], bold=True)
        _draw_cell(axes, places[-1], y, own.get(row))
    labels = [f"{name[-NAME_LENGTH:]}  {shown_ranks(rows[name]['ranks'])}" for name in order]
    axes.set_yticks(range(len(order)), labels, fontsize=LETTERS)
    names = [name[-NAME_LENGTH:] for name in (*order, "score", f"({scenario['own_partner']})")]
    axes.set_xticks(places, names, fontsize=LETTERS, rotation=40, ha="left", rotation_mode="anchor")
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_xlim(-0.55, places[-1] + 0.55)
    axes.set_ylim(len(order) - 0.45, -0.55)
    axes.set_aspect("equal")
    axes.set_title(scenario["scenario"], fontsize=13, loc="left", fontweight="bold", pad=10)
    if scenario["absent"]:
        axes.set_xlabel(
            f"does not take part: {', '.join(name[-NAME_LENGTH:] for name in scenario['absent'])}", fontsize=LETTERS, loc="left"
        )
        axes.xaxis.set_label_position("bottom")
    axes.spines[:].set_visible(False)


def _draw_cell(axes: Any, x: float, y: float, value: float | None, outlined: bool = False, bold: bool = False) -> None:
    """One number on its colour; the game with oneself, which counts in no score, is outlined."""
    plt = pyplot()
    colour = "white" if value is None else plt.get_cmap(COLOURS)(0.9 * value)
    edge, line = (INK, ":") if outlined else ("white", "-")
    axes.add_patch(plt.Rectangle((x - 0.47, y - 0.47), 0.94, 0.94, facecolor=colour, edgecolor=edge, lw=0.8, ls=line))
    text = "–" if value is None else f"{value:.2f}".removeprefix("0")
    ink = LIGHT if value is None else "white" if value > DARK else INK
    axes.text(x, y, text, ha="center", va="center", fontsize=LETTERS, color=ink, fontweight="bold" if bold else "normal")


def tournament_finding(result: dict[str, Any]) -> str:
    """Who earns most."""
    rows = result["overall"] or (result["scenarios"][0]["scores"] if result["scenarios"] else [])
    where = "over all scenarios" if result["overall"] else f"in {result['scenarios'][0]['scenario']}"
    first, *others = (f"{row['name']} {'earns ' * (n == 0)}{row['score']['value']:.3f}" for n, row in enumerate(rows[:3]))
    return f"{first} of its maximum {where}, more than any other; next: {', '.join(others)}."


def tournament_legend(result: dict[str, Any]) -> str:
    """What cells, ranks and columns are, and how wide an interval is at most."""
    shares = [pair[name] for table in result["scenarios"] for pair in table["pairs"] for name in ("agent_share", "partner_share")]
    widest = max((Estimate.from_dict(share).half_width for share in shares), default=0.0)
    return (
        f"Cells: what the row gets from the column, as a share of its maximum, mean of both seats ({result['episodes']:,} negotiations in"
        f" each, intervals of one seat at most ±{widest:.2f}). Outlined: with itself, in no score. Behind a name: the ranks it may have"
        " in this scenario (95 %). In brackets: with the scenario's own partner, in no score."
    )
