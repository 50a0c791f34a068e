"""The study of hints as figures: how agents learn with every kind of hint, what they reach, and what is left without them.

One PNG file per question, beside each other: `NAME.png` holds the learning curves, `NAME_scores.png` the scores and what remains of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from edgeworth.evaluation.figures import INK, LIGHT, pyplot, save_figure

Row = dict[str, Any]

HINT_STYLES = {
    "none": ("#222222", "-", "o"),
    "random": ("#9a9a9a", "--", "s"),
    "expert": ("#5b7a1d", "-.", "^"),
    "Bayes": ("#0b6e99", "-", "D"),
    "LLM": ("#a34a28", (0, (4, 1.5)), "v"),
}
"""Colour, line and mark by kind of hint; told apart in grey by line and mark."""
OTHER_STYLE = ("#6a4c93", ":", "P")
NO_CADENCE = "k = 1"
"""Where agents without hints are drawn too."""


def draw_hint_study(result: dict[str, Any], path: Path) -> None:
    """Draw the learning curves into this file, scores and remains into one beside it."""
    cells = [cell for cell in result["cells"] if "values" in cell]
    draw_curves(result, cells, path)
    draw_scores(result, cells, path.with_name(f"{path.stem}_scores{path.suffix}"))


def _along(cells: Sequence[Row], axis: str) -> list[str]:
    """The values of an axis, in their order."""
    return list(dict.fromkeys(cell["values"][axis] for cell in cells if axis in cell["values"]))


def _style(hint: str) -> tuple[Any, Any, str]:
    return HINT_STYLES.get(hint, OTHER_STYLE)


def draw_curves(result: dict[str, Any], cells: Sequence[Row], path: Path) -> None:
    """A row per scenario, a column per algorithm and cadence; a line per kind of hint with its band over seeds, blind Bayes above."""
    plt = pyplot()
    scenarios, algos = _along(cells, "scenario"), _along(cells, "algo")
    columns = [(algo, cadence) for algo in algos for cadence in _along(cells, "cadence") or [NO_CADENCE]]
    size = (1.2 + 3.0 * len(columns), 1.5 + 2.5 * len(scenarios))
    figure, panels = plt.subplots(len(scenarios), len(columns), figsize=size, sharex=True, sharey="row", squeeze=False)
    for line, scenario in enumerate(scenarios):
        for column, (algo, cadence) in enumerate(columns):
            axes = panels[line][column]
            here = [c for c in cells if c["values"]["scenario"] == scenario and c["values"]["algo"] == algo]
            _curves(axes, [c for c in here if c["values"].get("cadence", cadence) == cadence])
            if line == 0:
                axes.set_title(f"{algo}, a hint every {'move' if cadence == NO_CADENCE else 'third move'}", fontsize=9.5, loc="left")
            if line == len(scenarios) - 1:
                axes.set_xlabel("moves of the agent (thousands)", fontsize=8.5)
        panels[line][0].set_ylabel(f"{scenario}\nshare of the maximum", fontsize=9)
    _legend(figure, cells, size[1])
    figure.suptitle(curve_finding(result), fontsize=10, x=0.01, ha="left")
    figure.tight_layout(rect=(0, 0.36 / size[1], 1, 1))
    save_figure(plt, figure, path)


def _curves(axes: Any, cells: Sequence[Row]) -> None:
    for cell in cells:
        if cell["curve"] is None:
            continue
        colour, line, _ = _style(cell["values"]["hints"])
        share, thousands = cell["curve"]["share_of_maximum"], [step / 1000 for step in cell["curve"]["steps"]]
        axes.fill_between(thousands, share["low"], share["high"], color=colour, alpha=0.15, linewidth=0)
        axes.plot(thousands, share["mean"], ls=line, color=colour, lw=1.4)
    bayes = [cell["yardsticks"]["bayes"] for cell in cells if cell["yardsticks"]["bayes"] is not None]
    finals = [min(cell["curve"]["share_of_maximum"]["mean"][len(cell["curve"]["steps"]) // 8 :]) for cell in cells if cell["curve"]]
    if bayes:
        axes.axhline(bayes[0], color=INK, lw=0.9, ls=(0, (1, 3)))
    if bayes and finals:  # the first steps begin far below; what differs is above
        axes.set_ylim(min(*finals, 0.75 * bayes[0]), bayes[0] + 0.1 * (bayes[0] - min(*finals, 0.75 * bayes[0])))
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def _legend(figure: Any, cells: Sequence[Row], height: float) -> None:
    """One key for all panels, below them."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=_style(h)[0], ls=_style(h)[1], marker=_style(h)[2], ms=4, label=h) for h in _along(cells, "hints")]
    handles.append(Line2D([], [], color=INK, ls=(0, (1, 3)), lw=0.9, label="blind Bayes plan"))
    figure.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.01, 0.02 / height), ncol=len(handles), frameon=False, fontsize=8.5)


def draw_scores(result: dict[str, Any], cells: Sequence[Row], path: Path) -> None:
    """A row per scenario, a column per algorithm: the score with the hints as learnt, without them, and with random ones instead."""
    plt = pyplot()
    scenarios, algos = _along(cells, "scenario"), _along(cells, "algo")
    most = max(len([c for c in cells if c["values"]["scenario"] == s and c["values"]["algo"] == a]) for s in scenarios for a in algos)
    size = (1.6 + 4.4 * len(algos), 1.5 + (0.55 + 0.27 * most) * len(scenarios))
    figure, panels = plt.subplots(len(scenarios), len(algos), figsize=size, sharex="row", squeeze=False)
    for line, scenario in enumerate(scenarios):
        for column, algo in enumerate(algos):
            axes = panels[line][column]
            _scores(axes, [c for c in cells if c["values"]["scenario"] == scenario and c["values"]["algo"] == algo], column == 0)
            axes.set_title(f"{scenario}, {algo}", fontsize=9.5, loc="left")
    for axes in panels[-1]:
        axes.set_xlabel("share of the agent's maximum", fontsize=8.5)
    _score_legend(figure, cells, size[1])
    figure.suptitle(score_finding(result), fontsize=10, x=0.01, ha="left")
    figure.tight_layout(rect=(0, 0.36 / size[1], 1, 1))
    save_figure(plt, figure, path)


WAYS = {"none": ("hints taken away", "x", INK), "random": ("random hints instead", "1", "#7a7a7a")}
"""How the scores with other hints are called, marked and coloured."""


def _way(hint: str) -> tuple[str, str, str]:
    return WAYS.get(hint, (f"{hint} hints instead", "+", INK))


def _scores(axes: Any, cells: Sequence[Row], named: bool) -> None:
    for y, cell in enumerate(cells):
        colour, _, mark = _style(cell["values"]["hints"])
        for hint, played in cell.get("played_with", {}).items():
            _point(axes, played["share_of_maximum"], y + (0.34 if hint == "random" else 0.12), *_way(hint)[1:])
        _point(axes, cell["share_of_maximum"], y - 0.14, mark, colour)
    bayes = cells[0]["yardsticks"]["bayes"] if cells else None
    if bayes is not None:
        axes.axvline(bayes, color=INK, lw=0.9, ls=(0, (1, 3)), zorder=0)
    base = [cell["share_of_maximum"]["value"] for cell in cells if cell["values"]["hints"] == "none"]
    if base:
        axes.axvline(base[0], color=LIGHT, lw=0.8, zorder=0)
    labels = [", ".join(part for axis in ("hints", "cadence") if (part := cell["values"].get(axis))) for cell in cells]
    axes.set_yticks(range(len(cells)), labels if named else [""] * len(cells), fontsize=8.5)
    axes.set_ylim(len(cells) - 0.4, -0.6)
    axes.tick_params(axis="x", labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def _point(axes: Any, estimate: Row, y: float, mark: str, colour: str) -> None:
    """A score with its interval, where there is one."""
    value, low = estimate["value"], estimate["low"]
    spread = None if low is None else [[value - low], [estimate["high"] - value]]
    axes.errorbar(value, y, xerr=spread, fmt=mark, ms=5, color=colour, capsize=2, lw=1, zorder=3)


def _score_legend(figure: Any, cells: Sequence[Row], height: float) -> None:
    from matplotlib.lines import Line2D

    ways = dict.fromkeys(hint for cell in cells for hint in cell.get("played_with", {}))
    handles = [Line2D([], [], color=INK, marker="o", ls="", ms=5, label="hints as learnt with (a mark per kind)")]
    for hint in ways:
        words, mark, colour = _way(hint)
        handles.append(Line2D([], [], color=colour, marker=mark, ls="", ms=5, label=words))
    handles.append(Line2D([], [], color=LIGHT, lw=0.8, label="learnt without hints"))
    handles.append(Line2D([], [], color=INK, ls=(0, (1, 3)), lw=0.9, label="blind Bayes plan"))
    figure.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.01, 0.02 / height), ncol=len(handles), frameon=False, fontsize=8.5)


# What they show, from their own numbers


def curve_finding(result: dict[str, Any]) -> str:
    """How much quicker the quickest learns, and how many learn no quicker than without hints."""
    ratios = [(c["reaching"]["ratio"]["value"], c["name"]) for c in result["cells"] if c.get("over_baseline") and c["reaching"]["ratio"]]
    seeds = len(result["training_seeds"])
    words = f"Learning with hints; bands reach from the lowest to the highest of {seeds} seed{'s' * (seeds > 1)}."
    if not ratios:
        return words
    best, name = min(ratios)
    return f"Quickest: {name}, at 95 % of the score without hints after {best:.2f} times the moves.\n{words}"


def score_finding(result: dict[str, Any]) -> str:
    """The largest gain by hints, and the largest loss when they are taken away."""
    gains = [(c["over_baseline"]["value"], c["name"]) for c in result["cells"] if c.get("over_baseline")]
    losses = [
        (c["played_with"]["none"]["over_own_hints"]["value"], c["name"]) for c in result["cells"] if "none" in c.get("played_with", {})
    ]
    seeds = f"{len(result['training_seeds'])} seed{'s' * (len(result['training_seeds']) > 1)}"
    words = f"95 % intervals over {seeds}, {result['episodes']:,} episodes each."
    if not gains or not losses:
        return words
    (gain, best), (loss, worst) = max(gains), min(losses)
    return f"Largest gain: {best}, {gain:+.3f}. Largest change when hints are taken away: {worst}, {loss:+.3f}.\n{words}"
