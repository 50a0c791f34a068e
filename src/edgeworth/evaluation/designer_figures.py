"""Figures of trained designers: an evaluation by cell, and a box plot of episodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgeworth.evaluation.designer_evaluation import CONSTANT
from edgeworth.evaluation.designer_targets import AFTER, BEFORE, POLICY
from edgeworth.evaluation.figures import ACCENT, GREY, INK, LIGHT, STRIPE, caption, legend_below, name_rows, panels, point

COLUMNS = 2
MARKS: tuple[dict[str, Any], ...] = (
    {"marker": "D", "ms": 4.5, "color": ACCENT, "label": "trained designer, 95 % interval"},
    {"marker": "o", "ms": 4.5, "color": INK, "label": "other designer, 95 % interval"},
    {"color": LIGHT, "lw": 1.2, "label": "best constant mechanism"},
)
TRAINED = (POLICY, BEFORE, AFTER)
"""How the names of trained designers begin."""


def draw_evaluation(result: dict[str, Any], path: Path) -> None:
    """A panel per cell, a row per designer with its interval, best first; trained designers in colour."""
    cells = result["populations"]
    rows = -(-len(cells) // COLUMNS)
    longest = max(len(found) for found in cells.values())
    height = 1.2 + rows * (0.9 + 0.27 * longest)
    with panels(path, rows, COLUMNS, (13.0, height), {"rect": (0, 0.3 / height, 1, 1)}) as (figure, grid):
        for axes, (name, found) in zip(grid.flat, cells.items(), strict=False):
            _draw_cell(axes, name, found)
        for axes in grid.flat[len(cells) :]:
            axes.set_visible(False)
        caption(figure, evaluation_finding(result), 150)
        legend_below(figure, height, MARKS)


def _draw_cell(axes: Any, name: str, rows: list[dict[str, Any]]) -> None:
    constant = _highest(rows, (CONSTANT,))
    if constant is not None:
        axes.axvline(constant, color=LIGHT, lw=1.2, zorder=0)
    for place, row in enumerate(rows):
        if place % 2 == 0:
            axes.axhspan(place - 0.5, place + 0.5, color=STRIPE, zorder=-1, lw=0)
        own = row["designer"].startswith(TRAINED)
        point(axes, row["score"], place, ACCENT if own else INK, "D" if own else "o", ms=4.5)
    name_rows(axes, [row["designer"] for row in rows], 44, 8)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel("mean score R per step", fontsize=8.5)
    axes.set_title(name, fontsize=10, loc="left")


def evaluation_finding(result: dict[str, Any]) -> str:
    """What the best trained designer of each cell scores above the best constant mechanism, of those that played all episodes."""
    gains = []
    for cell, found in result["populations"].items():
        rows = [row for row in found if row["score"]["n"] == result["episodes"]]
        best, constant = (_highest(rows, names) for names in (TRAINED, (CONSTANT,)))
        if best is not None and constant is not None:
            gains.append(f"{best - constant:+.3f} ({cell})")
    told = f"The best trained designer against the best constant: {', '.join(gains)}" if gains else "No designer was trained"
    return f"{told}. {result['episodes']:,} episodes in each panel, on seeds that no training has used.".replace("-0", "−0")


def _highest(rows: list[dict[str, Any]], names: tuple[str, ...]) -> float | None:
    """The highest score of the designers whose names begin so."""
    return max((row["score"]["value"] for row in rows if row["designer"].startswith(names)), default=None)


def draw_episodes(result: dict[str, Any], path: Path) -> None:
    """A box plot of the mean scores of episodes: quartiles, whiskers to 1.5 interquartile ranges, every episode as a dot."""
    designers = result["designers"]
    with panels(path, 1, 1, (8.2, 1.6 + 0.75 * len(designers))) as (figure, grid):
        axes = grid[0][0]
        for place, (_, found) in enumerate(designers.items()):
            own, scores = place == 0, found["scores"]
            lines = {"color": ACCENT if own else INK, "linewidth": 1.3}
            axes.boxplot(
                scores,
                positions=[place],
                orientation="horizontal",
                widths=0.5,
                showfliers=False,
                medianprops={**lines, "linewidth": 2.2},
                **dict.fromkeys(("boxprops", "whiskerprops", "capprops"), lines),
            )
            heights = [place + 0.14 * ((number * 7) % 5 - 2) / 2 for number in range(len(scores))]
            axes.scatter(scores, heights, s=9, color=ACCENT if own else GREY, alpha=0.55, linewidth=0, zorder=3)
        name_rows(axes, list(designers), 28, 9)
        axes.set_ylim(len(designers) - 0.5, -0.5)
        axes.set_xlabel("mean score R per step of an episode (1 = the competitive market)")
        caption(figure, episodes_finding(result), 100)


def episodes_finding(result: dict[str, Any]) -> str:
    """The means, and what the first designer gains over the others."""
    means = ", ".join(f"{name} {found['mean']['value']:.3f}" for name, found in result["designers"].items())
    gains = "; ".join(
        f"{gain['value']:+.3f} [{gain['low']:+.3f}, {gain['high']:+.3f}] over {name}" for name, gain in result["over"].items()
    )
    words = f"Mean score of {result['n_episodes']} episodes, population {result['stage']}: {means}"
    return (words + (f". The first gains {gains}, on the same markets." if gains else ".")).replace("-", "−")
