"""The scale of the auction game as a figure: every designer on every population, drawn from the yardstick's JSON."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from edgeworth.evaluation.figures import ACCENT, INK, LIGHT, pyplot, save_figure

MARKS = {
    "oracle (told the composition)": ("*", INK, 110),
    "told the stage": ("D", "#777777", 44),
    "adaptive (prior: stages)": ("o", ACCENT, 62),
    "adaptive (prior: mixed)": ("o", "white", 62),
    "best schedule": ("v", "white", 54),
    "best constant for the stages": ("s", "#777777", 44),
    "best constant for mixed": ("s", "white", 44),
    "informed_greedy": ("^", LIGHT, 54),
    "uniform": ("x", INK, 40),
    "language_model": ("P", ACCENT, 62),
}
"""How each designer is drawn; a language model by the beginning of its name, whatever model it is."""
BAND = "#f1f1f1"
TITLE_WIDTH = 105
SPREAD = 0.09
"""How far apart the designers of one population stand, in rows."""
HEAD, LEGEND = 1.1, 0.65
"""Room for title and axis, and for the legend, in inches."""


def draw_designers(result: dict[str, Any], path: Path) -> None:
    """One row per population, one mark per designer, with its interval."""
    plt = pyplot()
    populations = result["populations"]
    height = HEAD + LEGEND + 0.7 * len(populations)
    figure, axes = plt.subplots(figsize=(8.2, height))
    named: set[str] = set()
    for y, rows in enumerate(populations.values()):
        if y % 2 == 0:
            axes.axhspan(y - 0.5, y + 0.5, color=BAND, zorder=0, lw=0)
        for row in rows:
            score, key = row["score"], _key(row["designer"])
            marker, colour, size = MARKS[key]
            place = y + SPREAD * (list(MARKS).index(key) - (len(MARKS) - 1) / 2)
            axes.plot([score["low"], score["high"]], [place, place], color=INK, lw=1.2, zorder=2)
            edge = {} if marker == "x" else {"edgecolor": INK, "linewidth": 0.9}
            label = None if key in named else _label(row)
            named.add(key)
            axes.scatter(score["value"], place, marker=marker, s=size, color=colour, zorder=3, label=label, **edge)
    axes.set_yticks(range(len(populations)), [_name(name) for name in populations])
    axes.set_ylim(len(populations) - 0.5, -0.5)
    ends = [float(row["score"][end]) for rows in populations.values() for row in rows for end in ("low", "high")]
    axes.set_xlim(min(0.15, min(ends) - 0.02), max(0.75, max(ends) + 0.02))
    axes.set_xlabel("mean score R per step, with 95 % interval (1 = the competitive market)")
    axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle("\n".join(textwrap.wrap(_finding(populations), TITLE_WIDTH)), fontsize=10, x=0.02, ha="left")
    figure.legend(*axes.get_legend_handles_labels(), frameon=False, fontsize=8.5, loc="lower center", ncol=3)
    figure.tight_layout(rect=(0.0, LEGEND / height, 1.0, 1.0))
    save_figure(plt, figure, path)


def _key(designer: str) -> str:
    return "language_model" if designer.startswith("language_model") else designer


def _label(row: dict[str, Any]) -> str:
    """A designer in the legend; a language model plays fewer episodes than the others, and its label says how many."""
    return f"{row['designer']}, n = {row['score']['n']:,}" if row["designer"].startswith("language_model") else str(row["designer"])


def _name(population: str) -> str:
    return f"stage {population}" if population.isdigit() else population.replace("_", "-")


def _finding(populations: dict[str, list[dict[str, Any]]]) -> str:
    """What the figure shows, from its own numbers."""
    rows = populations.get("stages", [])
    gains = [row["over_best_constant"] for row in rows if row["designer"] == "adaptive (prior: stages)"]
    told = {row["designer"]: row["over_best_constant"]["value"] for row in rows}
    if not gains or not {"told the stage", "oracle (told the composition)"} <= told.keys():
        return "Designers by population"
    gain = gains[0]
    interval = f"[{gain['low']:+.3f}, {gain['high']:+.3f}]"
    return (
        f"On the mixture of the stages, looking is worth {gain['value']:+.3f} {interval} over the best constant mechanism,"
        f" being told the stage {told['told the stage']:+.3f}, and being told who is in the room"
        f" {told['oracle (told the composition)']:+.3f}."
    ).replace("-", "−")
