"""What hints are worth as a figure: legality, nearness to the Bayes plan, and reward when followed, from the JSON of `hints measure`."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from edgeworth.evaluation.figures import ACCENT, INK, LIGHT, pyplot, save_figure

TITLE_WIDTH = 112
NAME_WIDTH = 26
COMPARISON = "the Bayes plan's move"
PANELS = {
    "legality": [("legality", "hints given / asked for", "o", ACCENT)],
    COMPARISON: [("same_move", "same act and share", "o", ACCENT), ("value_kept", "value of the plan kept", "D", "white")],
    "reward when followed": [("share_of_maximum", "Σ reward / Σ maximum", "o", ACCENT)],
}
MARK: dict[str, Any] = {"s": 34, "edgecolor": INK, "linewidth": 0.9, "zorder": 3}
UNITS = ("share of hints asked for", "share of hints; share of value", "share of the agent's maximum")


def draw_hint_measures(result: dict[str, Any], path: Path) -> None:
    """One row per provider and prompt, one panel per question, every point with its interval."""
    plt = pyplot()
    rows = result["measures"]
    figure, panels = plt.subplots(1, len(PANELS), figsize=(10.4, 2.1 + 0.55 * len(rows)), sharey=True)
    for axes, (title, marks), unit in zip(panels, PANELS.items(), UNITS, strict=True):
        for y, row in enumerate(rows):
            _draw_row(axes, y, row, marks)
        axes.set_title(title, fontsize=10, loc="left")
        axes.set_xlabel(unit, fontsize=9)
        axes.set_xlim(-0.04, 1.24)
        axes.set_xticks([0.0, 0.25, 0.5, 0.75, 1.0])
        axes.spines[["top", "right"]].set_visible(False)
    for _, label, marker, colour in PANELS[COMPARISON]:
        panels[1].scatter([], [], marker=marker, color=colour, label=label, **MARK)
    panels[0].set_yticks(range(len(rows)), [textwrap.fill(row["adviser"], NAME_WIDTH) for row in rows], fontsize=9)
    panels[0].set_ylim(len(rows) - 0.5, -0.5)
    _mark_bayes(panels[-1], rows)
    figure.suptitle("\n".join(textwrap.wrap(finding(result), TITLE_WIDTH)), fontsize=10, x=0.01, ha="left")
    figure.legend(*panels[1].get_legend_handles_labels(), frameon=False, fontsize=8.5, loc="lower center", ncol=2)
    figure.tight_layout(rect=(0.0, 0.05, 1.0, 1.0))
    save_figure(plt, figure, path)


def _draw_row(axes: Any, y: int, row: dict[str, Any], marks: list[tuple[str, str, str, str]]) -> None:
    for number, (key, _, marker, colour) in enumerate(marks):
        height, estimate = y + 0.36 * (number - (len(marks) - 1) / 2), row[key]
        if estimate is None:
            continue
        axes.plot([0, estimate["value"]], [height, height], color=LIGHT, lw=1, zorder=1)
        axes.plot([estimate["low"], estimate["high"]], [height, height], color=INK, lw=2, zorder=2, solid_capstyle="butt")
        axes.scatter(estimate["value"], height, marker=marker, color=colour, **MARK)
        axes.text(max(estimate["value"], estimate["high"]) + 0.04, height, f"{estimate['value']:.3f}", va="center", fontsize=8, zorder=4)


def _mark_bayes(axes: Any, rows: list[dict[str, Any]]) -> None:
    """What an agent that follows the plan gets, as a line to compare with."""
    for row in rows:
        if row["adviser"] == "bayes":
            axes.axvline(row["share_of_maximum"]["value"], color=INK, lw=0.8, ls=":", zorder=0)


def finding(result: dict[str, Any]) -> str:
    """What the figure shows, from its own numbers: the language model that earns most, or else the best adviser."""
    rows = result["measures"]
    models = [row for row in rows if row["model"] is not None] or rows
    best = max(models, key=lambda row: row["share_of_maximum"]["value"])
    share = best["share_of_maximum"]
    words = f"Following {best['adviser']} earns {share['value']:.3f} [{share['low']:.3f}, {share['high']:.3f}] of the agent's maximum"
    if best["over_bayes"] is not None:
        ratio = best["over_bayes"]
        words += f", {ratio['value']:.3f} [{ratio['low']:.3f}, {ratio['high']:.3f}] of what the Bayes plan earns on the same episodes"
    kind = "contexts kept back from training" if result["contexts"] == "held_out" else "all contexts"
    legal = f"{100 * best['legality']['value']:.1f} % of its hints are legal"
    return f"{words} ({result['scenario']}, {kind}, {best['episodes']:,} episodes); {legal}."
