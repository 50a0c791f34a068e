"""The robustness study as a figure: for every conclusion the share of worlds in which it survives, drawn from the study's JSON."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from edgeworth.evaluation.figures import ACCENT, INK, LIGHT, pyplot, save_figure

TITLE_WIDTH = 105


def draw_robustness(result: dict[str, Any], path: Path) -> None:
    """One row per effect, one column per stage: the worlds in which the sign is the same, and those in which it is reversed."""
    plt = pyplot()
    found, worlds = result["conclusions"], max(1, result["worlds"])
    names = sorted({row["what"] for row in found})
    stages = sorted({row["stage"] for row in found})
    figure, axes = plt.subplots(figsize=(9.0, 1.4 + 0.27 * len(names)))
    for row in found:
        x, y = stages.index(row["stage"]), names.index(row["what"])
        same, reverse = 0.8 * row["survives"] / worlds, 0.8 * row["reversed"] / worlds
        axes.barh(y, 0.8, left=x, height=0.6, color="white", edgecolor=LIGHT, linewidth=0.6)
        axes.barh(y, same, left=x, height=0.6, color=INK)
        axes.barh(y, reverse, left=x + 0.8 - reverse, height=0.6, color=ACCENT)
    axes.set_yticks(range(len(names)), names, fontsize=7.5)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xticks([place + 0.4 for place in range(len(stages))], [f"stage {stage}" for stage in stages])
    axes.spines[["top", "right", "bottom", "left"]].set_visible(False)
    axes.tick_params(length=0)
    figure.suptitle("\n".join(textwrap.wrap(finding(result), TITLE_WIDTH)), fontsize=10, x=0.02, ha="left")
    handles = [plt.Rectangle((0, 0), 1, 1, facecolor=colour, edgecolor=LIGHT) for colour in (INK, "white", ACCENT)]
    figure.legend(handles, ("same sign", "unclear", "reversed"), loc="lower center", ncols=3, frameon=False, fontsize=8)
    figure.tight_layout(rect=(0.015, 0.03, 1, 1))
    save_figure(plt, figure, path)


def finding(result: dict[str, Any]) -> str:
    """What the figure shows, from its own numbers."""
    found, worlds = result["conclusions"], result["worlds"]
    firm = sum(row["survives"] == worlds for row in found)
    turned = sum(row["reversed"] > 0 for row in found)
    return (
        f"Of {len(found)} clear effects, {firm} keep their sign in all {worlds} worlds with one constant halved or doubled;"
        f" {turned} are reversed in at least one."
    )
