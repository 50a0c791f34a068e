"""A study as a figure: what every kind of agent earns, seed by seed, and how it came there."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from edgeworth.evaluation.figures import ACCENT, INK, LIGHT, pyplot, save_figure
from edgeworth.evaluation.training_figures import NAME_WIDTH, STYLES, TITLE_WIDTH


def draw_study(result: dict[str, Any], path: Path) -> None:
    """Left: share of the maximum with all seeds, its interval and blind Bayes. Right: the share of blind Bayes against moves."""
    plt = pyplot()
    cells = result["cells"]
    figure, (scores, curves) = plt.subplots(1, 2, figsize=(11.4, 2.2 + 0.48 * len(cells)), width_ratios=(1.15, 1.0))
    for y, cell in enumerate(cells):
        share, bayes = cell["share_of_maximum"], cell["yardsticks"]["bayes"]
        if bayes is not None:
            scores.plot([bayes, bayes], [y - 0.3, y + 0.3], color=INK, lw=1.6, label="blind Bayes" if y == 0 else None)
        for mark in cell["marks"]:
            if mark["name"] == "share_of_maximum":
                scores.plot([mark["mark"]] * 2, [y - 0.22, y + 0.22], color=INK, lw=1, ls=":")
        scores.plot([run["share_of_maximum"]["value"] for run in cell["seeds"]], [y] * len(cell["seeds"]), "o", ms=3, color=LIGHT, zorder=2)
        spread = [[share["value"] - share["low"]], [share["high"] - share["value"]]] if share["n"] > 1 else None
        scores.errorbar(share["value"], y, xerr=spread, fmt="o", ms=5, color=ACCENT, capsize=3, zorder=3)
        scores.text(share["value"], y - 0.28, f"{share['value']:.3f}", fontsize=8, ha="center")
    scores.set_yticks(range(len(cells)), [textwrap.fill(cell["name"], NAME_WIDTH) for cell in cells], fontsize=8.5)
    scores.set_ylim(len(cells) - 0.4, -0.7)
    scores.set_xlabel("share of the agent's maximum (bar: blind Bayes; dotted: what was asked for)", fontsize=8.5)
    for number, cell in enumerate(cells):
        if cell["curve"] is None:
            continue
        line, colour = STYLES[number % len(STYLES)]
        curve, scale = cell["curve"], cell["yardsticks"]["bayes"] or 1.0
        share = {name: [value / scale for value in values] for name, values in curve["share_of_maximum"].items()}
        curves.fill_between(curve["steps"], share["low"], share["high"], color=colour, alpha=0.15, linewidth=0)
        strength = 1.0 if number < len(STYLES) else 0.55
        curves.plot(curve["steps"], share["mean"], line, color=colour, lw=1.4, alpha=strength, label=cell["name"])
    curves.axhline(1.0, color=INK, lw=0.8, ls=(0, (1, 3)))
    curves.set_xscale("log")
    curves.set_ylim(0.0, 1.05)
    curves.set_xlabel("moves of the agent (log scale)", fontsize=8.5)
    curves.set_ylabel("reward while learning, of blind Bayes'", fontsize=8.5)
    curves.legend(frameon=False, fontsize=7.5, loc="lower right")
    for axes in (scores, curves):
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle("\n".join(textwrap.wrap(finding(result), TITLE_WIDTH + 20)), fontsize=10, x=0.01, ha="left")
    figure.tight_layout()
    save_figure(plt, figure, path)


def finding(result: dict[str, Any]) -> str:
    """What the figure shows, from its own numbers."""
    words = [f"{cell['name']}: {cell['share_of_maximum']['value']:.3f}" for cell in result["cells"] if cell["marks"]]
    return f"{'; '.join(words)}. {len(result['training_seeds'])} seeds, {result['episodes']:,} episodes each."
