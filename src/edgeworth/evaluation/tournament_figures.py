"""A tournament as a figure: a heat map per scenario, rows and columns in the order of their scores."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from edgeworth.evaluation.figures import INK, LIGHT, pyplot, save_figure
from edgeworth.evaluation.tournament_tables import cross_table, own_partner_column, shown_ranks

COLOURS = "YlGnBu"
"""Light to dark, so that it reads in grey."""
DARK = 0.55
"""From this share on, numbers in a cell are white."""
GAP = 0.4
"""Room before the columns that stand beside the table."""
NAME_WIDTH = 20
"""Of a longer name, such as a path, the end is shown."""
LINE_WIDTH = 75
"""Letters of the title per panel."""


def draw_tournament(result: dict[str, Any], path: Path) -> None:
    """What every row gets from every column; beside it the score, and what the row gets from the scenario's own partner."""
    plt = pyplot()
    scenarios = [scenario for scenario in result["scenarios"] if scenario["scores"]]
    columns = 2 if len(scenarios) > 1 else 1
    lines = max(1, -(-len(scenarios) // columns))
    players = len(result["negotiators"])
    width, height = 1.7 + 0.38 * (players + 3), 1.5 + 0.35 * players
    figure, panels = plt.subplots(lines, columns, figsize=(width * columns, height * lines + 0.6), squeeze=False)
    for axes in panels.flat[len(scenarios) :]:
        axes.set_visible(False)
    for axes, scenario in zip(panels.flat, scenarios, strict=False):
        _draw_scenario(plt, axes, scenario)
    figure.suptitle("\n".join(textwrap.wrap(finding(result), LINE_WIDTH * columns)), fontsize=9.5, x=0.01, ha="left")
    figure.tight_layout(rect=(0, 0, 1, 0.985), w_pad=2.0, h_pad=2.0)
    save_figure(plt, figure, path)


def _draw_scenario(plt: Any, axes: Any, scenario: dict[str, Any]) -> None:
    table, own = cross_table(scenario), own_partner_column(scenario)
    order = list(table)
    beside = {"score": {row["name"]: row["score"]["value"] for row in scenario["scores"]}, scenario["own_partner"]: own}
    for y, row in enumerate(order):
        for x, column in enumerate(order):
            _cell(plt, axes, x, y, table[row][column], outlined=row == column)
        for number, found in enumerate(beside.values()):
            _cell(plt, axes, len(order) + GAP + number, y, found.get(row), bold=number == 0)
    labels = [f"{shown_ranks(row['ranks'])}  {row['name'][-NAME_WIDTH:]}" for row in scenario["scores"]]
    axes.set_yticks(range(len(order)), labels, fontsize=7.5)
    places = [*range(len(order)), len(order) + GAP, len(order) + GAP + 1]
    names = [*order, "score", f"({scenario['own_partner']})"]
    axes.set_xticks(places, [name[-NAME_WIDTH:] for name in names], fontsize=7.5, rotation=40, ha="left", rotation_mode="anchor")
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_xlim(-0.55, places[-1] + 0.55)
    axes.set_ylim(len(order) - 0.45, -0.55)
    axes.set_aspect("equal")
    axes.set_title(scenario["scenario"], fontsize=11, loc="left", fontweight="bold", pad=10)
    if scenario["absent"]:
        axes.set_xlabel(f"does not take part: {', '.join(name[-NAME_WIDTH:] for name in scenario['absent'])}", fontsize=7.5, loc="left")
        axes.xaxis.set_label_position("bottom")
    axes.spines[:].set_visible(False)


def _cell(plt: Any, axes: Any, x: float, y: float, value: float | None, outlined: bool = False, bold: bool = False) -> None:
    """One number on its colour; the game with oneself, which counts in no score, is outlined."""
    colour = "white" if value is None else plt.get_cmap(COLOURS)(0.9 * value)
    edge = INK if outlined else "white"
    axes.add_patch(plt.Rectangle((x - 0.47, y - 0.47), 0.94, 0.94, facecolor=colour, edgecolor=edge, lw=0.8, ls=":" if outlined else "-"))
    text = "–" if value is None else f"{value:.2f}".removeprefix("0")
    ink = LIGHT if value is None else "white" if value > DARK else INK
    axes.text(x, y, text, ha="center", va="center", fontsize=7.5, color=ink, fontweight="bold" if bold else "normal")


def finding(result: dict[str, Any]) -> str:
    """What the figure shows, from its own numbers."""
    rows = result["overall"] or (result["scenarios"][0]["scores"] if result["scenarios"] else [])
    where = "over all scenarios" if result["overall"] else f"in {result['scenarios'][0]['scenario']}"
    shares = [pair[name] for table in result["scenarios"] for pair in table["pairs"] for name in ("agent_share", "partner_share")]
    widest = max((max(s["high"] - s["value"], s["value"] - s["low"]) for s in shares), default=0.0)
    best = ", ".join(f"{row['name']} {row['score']['value']:.3f}" for row in rows[:3])
    return (
        f"What the row gets from the column, as a share of its maximum, mean of both seats; {result['episodes']:,} talks in each,"
        f" intervals of one seat at most ±{widest:.2f}."
        f" Best score {where}: {best}. Before a name: the ranks it may have (95 %). Outlined: with itself, in no score."
        " Last column: with the scenario's own partner."
    )
