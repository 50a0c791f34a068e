"""Figures, drawn from contexts or from JSON in `results/`: axes with units, baselines in the same frame, readable in grey."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

from edgeworth.errors import InvalidOption, MissingExtra
from edgeworth.games.bargaining.contexts import Context
from edgeworth.games.bargaining.frontier import Allocation, allocations, pareto_frontier, solutions

INK, LIGHT, ACCENT = "#222222", "#b8b8b8", "#0b6e99"
POINT_MARKS = {
    "nash": ("Nash", "o"),
    "kalai_smorodinsky": ("Kalai–Smorodinsky", "s"),
    "egalitarian": ("egalitarian", "^"),
    "max_welfare": ("max. welfare", "D"),
}


def pyplot() -> ModuleType:
    """Matplotlib's drawing board, without a screen."""
    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtra("A figure", "matplotlib", "train") from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def draw_frontier(context: Context, path: Path, deal: Allocation | None = None) -> None:
    """Every division of the pool, the Pareto frontier, the points of theory and, where there is one, the deal."""
    plt = pyplot()
    figure, axes = plt.subplots(figsize=(6.4, 5.2))
    everything, frontier = allocations(context), pareto_frontier(context)
    axes.scatter([a.mine for a in everything], [a.theirs for a in everything], s=18, color=LIGHT, label="all divisions", zorder=1)
    axes.plot([a.mine for a in frontier], [a.theirs for a in frontier], color=INK, lw=1.2, marker=".", label="Pareto frontier", zorder=2)
    for point, names, marker in _grouped_points(context):
        axes.scatter([point.mine], [point.theirs], s=110, marker=marker, facecolor="white", edgecolor=ACCENT, lw=2, label=names, zorder=3)
    if deal is not None:
        axes.scatter([deal.mine], [deal.theirs], s=140, marker="*", color=INK, label="the deal", zorder=4)
    axes.set(xlabel="worth to the agent (points)", ylabel="worth to the partner (points)")
    axes.set_xlim(-0.03 * max(context.my_maximum, 1), 1.05 * max(context.my_maximum, 1))
    axes.set_ylim(-0.03 * max(context.partner_maximum, 1), 1.05 * max(context.partner_maximum, 1))
    pool = ",".join(str(n) for n in context.counts)
    mine, theirs = (",".join(str(n) for n in u) for u in (context.my_utilities, context.partner_utilities))
    axes.set_title(f"Pool {pool}; utilities {mine} against {theirs}", fontsize=10, loc="left")
    axes.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncol=3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    save_figure(plt, figure, path)


def _grouped_points(context: Context) -> list[tuple[Allocation, str, str]]:
    """The points of theory, those that coincide under one name."""
    found = solutions(context)
    groups: dict[tuple[int, int], tuple[Allocation, list[str], str]] = {}
    for key, (name, marker) in POINT_MARKS.items():
        point: Allocation = getattr(found, key)
        entry = groups.setdefault((point.mine, point.theirs), (point, [], marker))
        entry[1].append(name)
    return [(point, " = ".join(names), marker) for point, names, marker in groups.values()]


def draw_yardsticks(result: dict[str, Any], path: Path) -> None:
    """The scale of every scenario side by side: from random play to the oracle, with intervals."""
    plt = pyplot()
    scenarios = result["scenarios"]
    columns = min(3, len(scenarios))
    lines = -(-len(scenarios) // columns)
    figure, panels = plt.subplots(lines, columns, figsize=(1.5 + 2.6 * columns, 2.9 * lines), sharex=True, sharey=True, squeeze=False)
    labels = {
        "oracle": "oracle",
        "bayes": "blind Bayes",
        "concession": "concession",
        "agree_first": "AGREE first",
        "random": "random",
        "greedy": "ask all",
    }
    for axes in panels.flat[len(scenarios) :]:
        axes.set_visible(False)
    for axes, scenario in zip(panels.flat, scenarios, strict=False):
        rows = [row for row in scenario["rows"] if row["agent"] in labels]
        for y, row in enumerate(reversed(rows)):
            colour = ACCENT if row["agent"] in ("oracle", "bayes") else INK
            axes.plot([0, row["value"]], [y, y], color=LIGHT, lw=1, zorder=1)
            axes.errorbar(
                row["value"], y, xerr=[[row["value"] - row["low"]], [row["high"] - row["value"]]], fmt="o", ms=5, color=colour, capsize=3
            )
            axes.text(row["value"] + 0.035, y, f"{row['value']:.3f}", va="center", fontsize=8)
        axes.set_yticks(range(len(rows)), [labels[row["agent"]] for row in reversed(rows)], fontsize=9)
        axes.set_xlim(-0.02, 1.08)
        axes.set_title(scenario["scenario"], fontsize=10, loc="left")
        axes.set_xlabel("share of maximum", fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    save_figure(plt, figure, path)


def save_figure(plt: ModuleType, figure: Any, path: Path) -> None:
    """Write a finished figure and let go of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        figure.savefig(path, dpi=150)
    except ValueError as error:
        raise InvalidOption(f"{path} cannot be drawn ({error}); expected a name that ends in .png, .svg or .pdf.") from error
    finally:
        plt.close(figure)
