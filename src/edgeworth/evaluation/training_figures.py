"""Figures of learning agents: learning curves, designers in training, studies of several settings, and self-play."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from edgeworth.evaluation.bargaining_figures import yardsticks
from edgeworth.evaluation.designer_histories import PANELS, Panel, designer_history, headline, negotiates, series
from edgeworth.evaluation.figures import (
    ACCENT,
    DOTTED,
    GREEN,
    INK,
    LIGHT,
    RUST,
    band,
    caption,
    legend_below,
    name_rows,
    panels,
    point,
    spread,
)
from edgeworth.evaluation.learning_curves import learning_curves, running_mean
from edgeworth.evaluation.statistics import counted
from edgeworth.evaluation.study import extent_text

Row = dict[str, Any]

STYLES = (("-", ACCENT), ("--", INK), (":", RUST), ("-.", GREEN))


def draw_learning_curves(result: Row, path: Path) -> None:
    """Share of the maximum against moves and against seconds: mean over seeds, band from lowest to highest, yardsticks as lines."""
    with panels(path, 1, 2, (10.4, 4.2), sharey=True) as (figure, grid):
        for axes, key, unit in zip(grid[0], ("steps", "seconds"), ("moves of the agent (millions)", "seconds of training"), strict=True):
            for number, curve in enumerate(result["curves"]):
                line, colour = STYLES[number % len(STYLES)]
                along = [x / 1e6 for x in curve["steps"]] if key == "steps" else curve["seconds"]
                label = f"{curve['name']} ({counted(len(curve['seeds']), 'seed')})"
                band(axes, along, curve["share_of_maximum"], colour, line, lw=1.6, label=label, shade=0.18)
            for name, value in yardsticks(result):
                axes.axhline(value, color=INK, lw=0.8, ls=DOTTED, zorder=0)
                axes.text(axes.get_xlim()[1], value, f" {name}", va="center", fontsize=8)
            axes.set_xlabel(unit, fontsize=9)
        grid[0][0].set_ylabel("share of the agent's maximum, while learning", fontsize=9)
        grid[0][0].legend(frameon=False, fontsize=8.5, loc="lower right")
        caption(figure, curves_finding(result), 100)


def curves_finding(result: Row) -> str:
    """Where each curve ends, and after how long."""
    words = []
    for curve in result["curves"]:
        mean, low, high = (curve["share_of_maximum"][name][-1] for name in ("mean", "low", "high"))
        extent = f" [{low:.3f}, {high:.3f}]" if len(curve["seeds"]) > 1 else ""
        words.append(f"{curve['name']} ends at {mean:.3f}{extent} after {curve['seconds'][-1]:.1f} s")
    bands = " Bands reach from the lowest seed to the highest." if any(len(curve["seeds"]) > 1 for curve in result["curves"]) else ""
    return f"{'; '.join(words)}.{bands}"


# Designers

COLUMNS, SMOOTHED_SHARE = 3, 0.02


def draw_designer_histories(result: Row, path: Path) -> None:
    """The training of designers: a panel per quantity against steps; faint as logged, strong as a running mean, a line style per run."""
    runs = result["histories"]
    shown = [panel for panel in PANELS if any(series(run["lines"], key)[0].size for run in runs for key in panel.labels)]
    rows = -(-len(shown) // COLUMNS)
    with panels(path, rows, COLUMNS, (12.0, 1.0 + 2.5 * rows)) as (figure, grid):
        for axes, panel in zip(grid.flat, shown, strict=False):
            _draw_quantities(axes, panel, runs)
        for axes in grid.flat[len(shown) :]:
            axes.set_visible(False)
        caption(figure, histories_finding(result), 130)


def _draw_quantities(axes: Any, panel: Panel, runs: Sequence[Row]) -> None:
    colours = [colour for _, colour in STYLES]
    for number, run in enumerate(runs):
        logged = [(key, *series(run["lines"], key)) for key in panel.labels]
        for place, (key, steps, values) in enumerate((key, steps, values) for key, steps, values in logged if steps.size):
            line = STYLES[(place if len(runs) == 1 else number) % len(STYLES)][0]
            colour, label = colours[place % len(colours)], panel.labels[key] + (f", {run['name']}" if len(runs) > 1 else "")
            smooth = running_mean(values, max(round(SMOOTHED_SHARE * len(values)), 1))
            axes.plot(steps, values, color=colour, lw=0.7, alpha=0.3)
            axes.plot(steps, smooth, ls=line, color=colour, lw=1.6, label=label, marker="o" if len(values) < 3 else None, ms=3)
    axes.set_title(panel.title, fontsize=9.5, loc="left")
    axes.set_xlabel("steps of training", fontsize=8.5)
    axes.tick_params(labelsize=8)
    if len(axes.get_legend_handles_labels()[0]) > 1:
        axes.legend(framealpha=0.8, edgecolor="none", fontsize=7.5)


def histories_finding(result: Row) -> str:
    """What each run's outcome was at its beginning and at its end, and how long it took."""
    words = []
    for run in result["histories"]:
        found, seconds = headline(run["lines"]), run["seconds"]
        change = "" if found is None else f": {found[0].replace('_', ' ')} from {found[1]:.4g} to {found[2]:.4g}"
        words.append(f"{run['name']}{change} in {run['steps']:,} steps" + ("" if seconds is None else f" and {seconds / 60:.1f} minutes"))
    return "; ".join(words) + ". Means of the first and of the last tenth; strong lines are running means over a fiftieth."


def draw_run(folder: Path, path: Path) -> None:
    """The training of one run, of either game."""
    if negotiates(folder):
        curves = learning_curves([folder])
        draw_learning_curves({"curves": [curve.as_dict() for curve in curves], "yardsticks": {}}, path)
    else:
        draw_designer_histories({"histories": [designer_history(folder)]}, path)


# Studies


STUDY_MARKS: tuple[Row, ...] = (
    {"marker": "o", "ms": 5, "color": ACCENT, "lw": 1.4, "label": "mean of the seeds, 95 % interval"},
    {"marker": "o", "ms": 3, "color": LIGHT, "ls": "", "label": "a seed"},
    {"marker": "|", "ms": 13, "mew": 1.6, "color": INK, "ls": "", "label": "blind Bayes"},
    {"color": INK, "lw": 1, "ls": ":", "label": "target"},
    {"color": LIGHT, "lw": 7, "alpha": 0.5, "label": "from the lowest to the highest seed"},
)


def draw_study(result: Row, path: Path) -> None:
    """Left: share of the maximum with all seeds, its interval and blind Bayes. Right: the share of blind Bayes against moves."""
    cells = result["cells"]
    height = 2.4 + 0.48 * len(cells)
    with panels(path, 1, 2, (11.4, height), {"rect": (0, 0.3 / height, 1, 1)}, width_ratios=(1.15, 1.0)) as (figure, grid):
        _draw_cell_scores(grid[0][0], cells)
        _draw_cell_curves(grid[0][1], cells)
        caption(figure, f"{study_finding(cells)} {counted(len(result['training_seeds']), 'seed')}, {extent_text(result)}.")
        legend_below(figure, height, STUDY_MARKS)


def study_finding(cells: Sequence[Row]) -> str:
    """How near the agents come to the best blind plan."""
    shares = {
        cell["name"]: cell["share_of_maximum"]["value"] / cell["yardsticks"]["bayes"] for cell in cells if cell["yardsticks"]["bayes"]
    }
    if not shares:
        return "Scores and learning curves."
    best, worst = max(shares, key=lambda name: shares[name]), min(shares, key=lambda name: shares[name])
    return f"Trained agents earn {shares[worst]:.1%} ({worst}) to {shares[best]:.1%} ({best}) of what the best blind plan earns."


def _draw_cell_scores(axes: Any, cells: Sequence[Row]) -> None:
    for y, cell in enumerate(cells):
        share, bayes = cell["share_of_maximum"], cell["yardsticks"]["bayes"]
        if bayes is not None:
            axes.plot([bayes, bayes], [y - 0.28, y + 0.28], color=INK, lw=1.6)
        for target in cell["targets"]:
            if target["name"] == "share_of_maximum":
                axes.plot([target["target"]] * 2, [y - 0.22, y + 0.22], color=INK, lw=1, ls=":")
        axes.plot([run["share_of_maximum"]["value"] for run in cell["seeds"]], [y] * len(cell["seeds"]), "o", ms=3, color=LIGHT, zorder=2)
        point(axes, share, y, ACCENT, zorder=3)
        axes.text(share["value"], y - 0.34, f"{share['value']:.3f}", fontsize=8, ha="center", va="bottom")
    name_rows(axes, [cell["name"] for cell in cells], 28, 8.5)
    axes.set_ylim(len(cells) - 0.4, -0.7)
    axes.set_xlabel("share of the agent's maximum", fontsize=8.5)


def _draw_cell_curves(axes: Any, cells: Sequence[Row]) -> None:
    for number, cell in enumerate(cells):
        if cell["curve"] is None:
            continue
        line, colour = STYLES[number % len(STYLES)]
        curve, scale = cell["curve"], cell["yardsticks"]["bayes"] or 1.0
        share = {name: [value / scale for value in values] for name, values in curve["share_of_maximum"].items()}
        band(axes, curve["steps"], share, colour, line, alpha=1.0 if number < len(STYLES) else 0.55, label=cell["name"])
    axes.axhline(1.0, color=INK, lw=1.6, zorder=0)
    axes.set_xscale("log")
    axes.set_ylim(0.0, 1.05)
    axes.set_xlabel("moves of the agent (log scale)", fontsize=8.5)
    axes.set_ylabel("reward while learning, as a share of blind Bayes'", fontsize=8.5)
    axes.legend(frameon=False, fontsize=7.5, loc="lower right")


# Self-play

KINDS = {"pool": (ACCENT, "o", -0.13, (-6, "right")), "naive": (RUST, "s", 0.13, (6, "left"))}
"""By kind of self-play: colour, marker, its place beside the tick, and where its number stands."""
WITH_ITSELF = {
    "opener_share": "share:\nwho opens",
    "responder_share": "share:\nwho answers",
    "deal_rate": "deals",
    "pareto_rate": "efficient,\nof deals",
    "nash_ratio": "Nash\nratio",
}
EXPLOITED = {"exploitability_trained": "trained", "exploitability_exact": "exact"}


def draw_self_play(result: Row, path: Path) -> None:
    """Per game: play with itself, exploitability, and shares against others; all seeds as points, means with their intervals."""
    games, last_offer = result["games"], result["last_offer_share"]["value"]
    with panels(path, len(games), 3, (12.6, 0.9 + 3.1 * len(games)), width_ratios=(1.5, 0.8, 1.2)) as (figure, grid):
        for row, (itself, exploited, others) in zip(games, grid, strict=True):
            reference = result["reference"] if result["reference"]["game"] == row["game"] else None
            pool = row["kinds"]["pool"]
            _draw_kinds(itself, row, WITH_ITSELF, lambda found, name: found[name], None, ".2f")
            known = {name: label for name, label in EXPLOITED.items() if pool[name] is not None}
            _draw_kinds(exploited, row, known, lambda found, name: found[name], reference, ".3f")
            opponents = {name: name.replace("_", "\n") for name in pool["against"]}
            _draw_kinds(others, row, opponents, lambda found, name: found["against"].get(name), reference, ".2f")
            itself.set_ylabel(f"{row['game']}, {row['max_turns']} moves", fontsize=10)
            itself.set_ylim(0.0, 1.05)
            itself.axhline(last_offer, xmax=0.4, color=INK, lw=0.8, ls=DOTTED, zorder=0)
            itself.text(0.5, last_offer - 0.05, "the last offer in theory", fontsize=8, ha="center")
            for axes in (exploited, others):
                axes.margins(y=0.15)
                axes.set_ylim(0.0, None)
        for axes, title in zip(
            grid[0], ("negotiating with itself", "exploitability found\n(trained: a lower bound)", "share of maximum against"), strict=True
        ):
            axes.set_title(title, fontsize=10, loc="left")
        grid[0][1].legend(frameon=False, fontsize=8.5, loc="center left")
        caption(figure, self_play_finding(result))


def _draw_kinds(
    axes: Any, row: Row, labels: dict[str, str], number_of: Callable[[Row, str], Any], reference: Row | None, digits: str
) -> None:
    """One panel: for every quantity both kinds side by side, and the reference where it has been measured."""
    text: Row = {"textcoords": "offset points", "fontsize": 8}
    for kind, found in row["kinds"].items():
        colour, marker, offset, (beside, align) = KINDS[kind]
        for x, name in enumerate(labels):
            number, at = number_of(found, name), x + offset
            seeds = [number_of(seed, name)["value"] for seed in found["seeds"]]
            axes.plot([at] * len(seeds), seeds, "_", ms=11, color=LIGHT, zorder=1, label="a seed" if x == 0 and kind == "naive" else None)
            label = f"self-play, {kind}" if x == 0 else None
            axes.errorbar(at, number["value"], yerr=spread(number), fmt=marker, ms=5, color=colour, capsize=3, label=label, zorder=2)
            axes.annotate(format(number["value"], digits), (at, number["value"]), (beside, 0), ha=align, va="center", **text)
    for x, name in enumerate(labels):
        number = None if reference is None else number_of(reference, name)
        if number is not None:
            axes.plot(x, number["value"], "D", ms=5, color=INK, mfc="white", label="expert" if x == 0 else None, zorder=3)
            axes.annotate(format(number["value"], digits), (x, number["value"]), (0, 6), ha="center", **text)
    axes.set_xticks(range(len(labels)), list(labels.values()), fontsize=8)
    axes.set_xlim(-0.6, len(labels) - 0.4)


def self_play_finding(result: Row) -> str:
    """What trained responses gain against the agents of the first game, and against the reference where that was measured."""
    game, reference = result["games"][0], result["reference"]
    gains = {kind: game["kinds"][kind]["exploitability_trained"]["value"] for kind in KINDS}
    words = (
        f"In {game['game']}, a trained response gains {gains['pool']:.3f} against self-play with a pool, {gains['naive']:.3f} without one"
    )
    if reference["game"] == game["game"]:
        words += f", and {reference['exploitability_trained']['value']:.3f} against the expert"
    return f"{words}. {counted(len(result['training_seeds']), 'seed')}; 95 % intervals over seeds."
