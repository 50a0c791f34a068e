"""How learning went and what it came to, as figures: curves with bands over seeds, and scores between the yardsticks."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from edgeworth.evaluation.figures import ACCENT, INK, LIGHT, pyplot, save_figure

STYLES = (("-", ACCENT), ("--", INK), (":", "#a34a28"), ("-.", "#5b7a1d"))
TITLE_WIDTH = 100
NAME_WIDTH = 28
YARDSTICKS = {"random": "random", "bayes": "blind Bayes"}
"""The ends of the scale by their keys in a result, and their names in a figure."""


def draw_learning_curves(result: dict[str, Any], path: Path) -> None:
    """Share of the maximum against moves and against seconds: mean over seeds, band from lowest to highest, yardsticks as lines."""
    plt = pyplot()
    figure, panels = plt.subplots(1, 2, figsize=(10.4, 4.2), sharey=True)
    for axes, key, unit in zip(panels, ("steps", "seconds"), ("moves of the agent (millions)", "seconds of training"), strict=True):
        for number, curve in enumerate(result["curves"]):
            line, colour = STYLES[number % len(STYLES)]
            along = [x / 1e6 for x in curve["steps"]] if key == "steps" else curve["seconds"]
            share = curve["share_of_maximum"]
            label = f"{curve['name']} ({len(curve['seeds'])} seed{'s' if len(curve['seeds']) > 1 else ''})"
            axes.fill_between(along, share["low"], share["high"], color=colour, alpha=0.18, linewidth=0)
            axes.plot(along, share["mean"], line, color=colour, lw=1.6, label=label)
        for name, value in yardsticks(result):
            axes.axhline(value, color=INK, lw=0.8, ls=(0, (1, 3)), zorder=0)
            axes.text(axes.get_xlim()[1], value, f" {name}", va="center", fontsize=8)
        axes.set_xlabel(unit, fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("share of the agent's maximum, while learning", fontsize=9)
    panels[0].legend(frameon=False, fontsize=8.5, loc="lower right")
    figure.suptitle("\n".join(textwrap.wrap(finding(result), TITLE_WIDTH)), fontsize=10, x=0.01, ha="left")
    figure.tight_layout()
    save_figure(plt, figure, path)


def yardsticks(result: dict[str, Any]) -> list[tuple[str, float]]:
    """The ends of the scale that a result has, by their names."""
    return [(YARDSTICKS[key], value) for key, value in result.get("yardsticks", {}).items() if value is not None]


def finding(result: dict[str, Any]) -> str:
    """What the figure shows, from its own numbers."""
    words = []
    for curve in result["curves"]:
        share, seconds = curve["share_of_maximum"], curve["seconds"][-1]
        words.append(
            f"{curve['name']} ends at {share['mean'][-1]:.3f} [{share['low'][-1]:.3f}, {share['high'][-1]:.3f}] after {seconds:.1f} s"
        )
    return "; ".join(words) + ". Bands reach from the lowest seed to the highest."


def standing(result: dict[str, Any]) -> str:
    """What the figure of scores shows, from its own numbers: the agent that earns most."""
    best = max(result["agents"], key=lambda row: row["share_of_maximum"]["value"])
    share = best["share_of_maximum"]
    words = f"{best['agent']} earns {share['value']:.3f} [{share['low']:.3f}, {share['high']:.3f}] of its maximum"
    return f"{words} ({result['scenario']}, {result['partner']} partner, {result['episodes']:,} episodes)"


def draw_scores(result: dict[str, Any], path: Path) -> None:
    """Every agent's share of the maximum with its interval, between random play and blind Bayes."""
    plt = pyplot()
    rows = result["agents"]
    figure, axes = plt.subplots(figsize=(8.0, 1.7 + 0.5 * len(rows)))
    for name, value in yardsticks(result):
        axes.axvline(value, color=INK, lw=0.9, ls=":", zorder=0)
        axes.text(value, -0.75, name, ha="center", fontsize=8.5)
    for y, row in enumerate(rows):
        share = row["share_of_maximum"]
        axes.plot([0, share["value"]], [y, y], color=LIGHT, lw=1, zorder=1)
        spread = [[share["value"] - share["low"]], [share["high"] - share["value"]]]
        axes.errorbar(share["value"], y, xerr=spread, fmt="o", ms=5, color=ACCENT, capsize=3, zorder=3)
        axes.text(share["value"] + 0.02, y - 0.16, f"{share['value']:.3f}", fontsize=8.5)
    axes.set_yticks(range(len(rows)), [textwrap.fill(row["agent"], NAME_WIDTH) for row in rows], fontsize=9)
    axes.set_ylim(len(rows) - 0.5, -1.0)
    axes.set_xlim(0.0, 1.0)
    axes.set_xlabel("share of the agent's maximum (Σ reward / Σ worth of the whole pool)", fontsize=9)
    axes.set_title("\n".join(textwrap.wrap(standing(result), TITLE_WIDTH - 20)), fontsize=10, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    save_figure(plt, figure, path)
