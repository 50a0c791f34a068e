"""Figures about hints: what the hints of each provider are worth, and what agents learn with them and keep without them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from edgeworth.evaluation.figures import ACCENT, DOTTED, GREEN, INK, LIGHT, RUST, band, caption, legend_below, name_rows, panels, point
from edgeworth.evaluation.statistics import Estimate, counted
from edgeworth.evaluation.study import extent_text

Row = dict[str, Any]

# What hints are worth

HINT_PANELS = {
    "legality": ("hints given / requested", [("legality", "hints given / requested", "s", ACCENT)]),
    "the Bayes plan's move": (
        "share of hints; share of value",
        [("same_move", "same act and share", "o", ACCENT), ("value_kept", "value of the plan kept", "D", "white")],
    ),
    "reward when followed": ("share of the agent's maximum", [("share_of_maximum", "share of the agent's maximum", "^", ACCENT)]),
}
"""By title: the unit, and for each quantity its key, label, marker and colour."""
MARKER: dict[str, Any] = {"s": 34, "edgecolor": INK, "linewidth": 0.9, "zorder": 3}


def draw_hint_measures(result: dict[str, Any], path: Path) -> None:
    """One row per provider and prompt, one panel per question, every point with its interval."""
    rows = result["measures"]
    size = (10.4, 2.1 + 0.55 * len(rows))
    with panels(path, 1, len(HINT_PANELS), size, {"rect": (0.0, 0.05, 1.0, 1.0)}, sharey=True) as (figure, grid):
        for axes, (title, (unit, quantities)) in zip(grid[0], HINT_PANELS.items(), strict=True):
            for y, row in enumerate(rows):
                _draw_hint_row(axes, y, row, quantities)
            axes.set_title(title, fontsize=10, loc="left")
            axes.set_xlabel(unit, fontsize=9)
            axes.set_xlim(-0.04, 1.24)
            axes.set_xticks([0.0, 0.25, 0.5, 0.75, 1.0])
            for _, label, marker, colour in quantities:
                axes.scatter([], [], marker=marker, color=colour, label=label, **MARKER)
        first, _, last = grid[0]
        name_rows(first, [row["adviser"] for row in rows], 26, 9)
        first.set_ylim(len(rows) - 0.5, -0.5)
        for row in rows:
            if row["adviser"] == "bayes":
                last.axvline(row["share_of_maximum"]["value"], color=INK, lw=0.8, ls=":", zorder=0, label="reward of the Bayes plan")
        caption(figure, hint_finding(result), 112)
        figure.legend(frameon=False, fontsize=8.5, loc="lower center", ncol=5)


def _draw_hint_row(axes: Any, y: int, row: dict[str, Any], quantities: list[tuple[str, str, str, str]]) -> None:
    for number, (key, _, marker, colour) in enumerate(quantities):
        height, found = y + 0.36 * (number - (len(quantities) - 1) / 2), row[key]
        if found is not None:
            axes.plot([0, found["value"]], [height, height], color=LIGHT, lw=1, zorder=1)
            axes.plot([found["low"], found["high"]], [height, height], color=INK, lw=2, zorder=2, solid_capstyle="butt")
            axes.scatter(found["value"], height, marker=marker, color=colour, **MARKER)
            axes.text(max(found["value"], found["high"]) + 0.04, height, f"{found['value']:.3f}", va="center", fontsize=8, zorder=4)


def hint_finding(result: dict[str, Any]) -> str:
    """What the best language model earns, or else the best adviser, and how many of its hints are legal."""
    rows = result["measures"]
    best = max([row for row in rows if row["model"] is not None] or rows, key=lambda row: row["share_of_maximum"]["value"])
    words = f"Following {best['adviser']} earns {Estimate.from_dict(best['share_of_maximum'])} of the agent's maximum"
    if best["over_bayes"] is not None:
        words += f", {Estimate.from_dict(best['over_bayes'])} of what the Bayes plan earns on the same episodes"
    kind = "contexts kept back from training" if result["contexts"] == "held_out" else "all contexts"
    legal = f"{100 * best['legality']['value']:.1f} % of its hints are legal"
    return f"{words} ({result['scenario']}, {kind}, {best['episodes']:,} episodes); {legal}."


# The study of hints

HINT_STYLES = {
    "none": (INK, "-", "o"),
    "random": ("#9a9a9a", "--", "s"),
    "expert": (GREEN, "-.", "^"),
    "Bayes": (ACCENT, "-", "D"),
    "LLM": (RUST, (0, (4, 1.5)), "v"),
}
"""Colour, line and marker by kind of hint; line and marker differ, so that they can be read in grey."""
OTHER_HINT = ("#6a4c93", ":", "P")
INSTEAD = {"none": ("hints taken away", "x", INK), "random": ("random hints instead", "1", "#7a7a7a")}
"""The label, marker and colour of scores with other hints than those learnt with."""
EVERY_MOVE = "k = 1"
"""The cadence under which agents without hints are drawn too."""
BAYES_LINE = {"color": INK, "ls": DOTTED, "lw": 0.9, "label": "blind Bayes plan"}


def draw_hint_study(result: Row, path: Path) -> None:
    """Draw the learning curves into `NAME.png`, and what hints gain or cost into `NAME_scores.png` beside it."""
    cells = [cell for cell in result["cells"] if "values" in cell]
    _draw_hint_curves(result, cells, path)
    _draw_hint_scores(result, cells, path.with_name(f"{path.stem}_scores{path.suffix}"))


def _along(cells: Sequence[Row], axis: str) -> list[str]:
    """The values of an axis, in their order."""
    return list(dict.fromkeys(cell["values"][axis] for cell in cells if axis in cell["values"]))


def _at(cells: Sequence[Row], scenario: str, algo: str) -> list[Row]:
    return [cell for cell in cells if cell["values"]["scenario"] == scenario and cell["values"]["algo"] == algo]


def _draw_hint_curves(result: Row, cells: Sequence[Row], path: Path) -> None:
    """A row per scenario, a column per algorithm and cadence; a line per kind of hint with its band over seeds, blind Bayes above."""
    scenarios = _along(cells, "scenario")
    columns = [(algo, cadence) for algo in _along(cells, "algo") for cadence in _along(cells, "cadence") or [EVERY_MOVE]]
    size = (1.2 + 3.0 * len(columns), 1.5 + 2.5 * len(scenarios))
    layout = {"rect": (0, 0.36 / size[1], 1, 1)}
    with panels(path, len(scenarios), len(columns), size, layout, sharex=True, sharey="row") as (figure, grid):
        for line, scenario in enumerate(scenarios):
            for axes, (algo, cadence) in zip(grid[line], columns, strict=True):
                _draw_curves_of_hints(axes, [c for c in _at(cells, scenario, algo) if c["values"].get("cadence", cadence) == cadence])
            grid[line][0].set_ylabel(f"{scenario}\nshare of the maximum", fontsize=9)
        for axes, (algo, cadence) in zip(grid[0], columns, strict=True):
            axes.set_title(f"{algo}, a hint every {'move' if cadence == EVERY_MOVE else 'third move'}", fontsize=9.5, loc="left")
        for axes in grid[-1]:
            axes.set_xlabel("moves of the agent (thousands)", fontsize=8.5)
        styles = {hint: HINT_STYLES.get(hint, OTHER_HINT) for hint in _along(cells, "hints")}
        lines = [{"color": colour, "ls": line, "lw": 1.4, "label": hint} for hint, (colour, line, _) in styles.items()]
        legend_below(figure, size[1], [*lines, BAYES_LINE])
        figure.suptitle(hint_curves_finding(result), fontsize=10, x=0.01, ha="left")


def _draw_curves_of_hints(axes: Any, cells: Sequence[Row]) -> None:
    for cell in cells:
        if cell["curve"] is not None:
            colour, line, _ = HINT_STYLES.get(cell["values"]["hints"], OTHER_HINT)
            band(axes, [step / 1000 for step in cell["curve"]["steps"]], cell["curve"]["share_of_maximum"], colour, line)
    bayes = [cell["yardsticks"]["bayes"] for cell in cells if cell["yardsticks"]["bayes"] is not None]
    later = [min(cell["curve"]["share_of_maximum"]["mean"][len(cell["curve"]["steps"]) // 8 :]) for cell in cells if cell["curve"]]
    if bayes:
        axes.axhline(bayes[0], color=INK, lw=0.9, ls=DOTTED)
    if bayes and later:  # the first steps begin far below; what differs is above
        lowest = min(*later, 0.75 * bayes[0])
        axes.set_ylim(lowest, bayes[0] + 0.1 * (bayes[0] - lowest))
    axes.tick_params(labelsize=8)


def _draw_hint_scores(result: Row, cells: Sequence[Row], path: Path) -> None:
    """Differences to learning without hints: a row per scenario, and per algorithm a column with the hints and one without them."""
    scenarios, algos = _along(cells, "scenario"), _along(cells, "algo")
    hinted = {(scenario, algo): [c for c in _at(cells, scenario, algo) if "over_baseline" in c] for scenario in scenarios for algo in algos}
    size = (1.6 + 5.6 * len(algos), 1.5 + (0.55 + 0.24 * max(map(len, hinted.values()), default=1)) * len(scenarios))
    layout = {"rect": (0, 0.36 / size[1], 1, 1)}
    with panels(path, len(scenarios), 2 * len(algos), size, layout, sharex="col") as (figure, grid):
        for line, scenario in enumerate(scenarios):
            for column, algo in enumerate(algos):
                with_hints, without = grid[line][2 * column], grid[line][2 * column + 1]
                _draw_gains(with_hints, without, hinted[scenario, algo], column == 0)
                with_hints.set_title(f"{scenario}, {algo}: with hints", fontsize=9.5, loc="left")
                without.set_title("hints taken away, or random", fontsize=9.5, loc="left")
        for axes in grid[-1]:
            axes.set_xlabel("difference to learning without hints", fontsize=8.5)
        lines: list[Row] = [{"color": INK, "marker": "o", "ls": "", "ms": 5, "label": "hints as learnt with (a mark per kind)"}]
        for label, marker, colour in map(_instead, dict.fromkeys(hint for cell in cells for hint in cell.get("played_with", {}))):
            lines.append({"color": colour, "marker": marker, "ls": "", "ms": 5, "label": label})
        legend_below(figure, size[1], lines)
        figure.suptitle(hint_scores_finding(result), fontsize=10, x=0.01, ha="left")


def _instead(hint: str) -> tuple[str, str, str]:
    return INSTEAD.get(hint, (f"{hint} hints instead", "+", INK))


def _draw_gains(with_hints: Any, without: Any, cells: Sequence[Row], named: bool) -> None:
    """What hints gain over learning without them, and what remains when they stop, on a scale each."""
    style = {"capsize": 2, "lw": 1, "zorder": 3}
    for y, cell in enumerate(cells):
        colour, _, marker = HINT_STYLES.get(cell["values"]["hints"], OTHER_HINT)
        point(with_hints, cell["over_baseline"], y, colour, marker, **style)
        for hint, played in cell.get("played_with", {}).items():
            _, other, shade = _instead(hint)
            point(without, played["over_baseline"], y + (0.18 if hint == "random" else -0.14), shade, other, **style)
    labels = [", ".join(part for axis in ("hints", "cadence") if (part := cell["values"].get(axis))) for cell in cells]
    for axes in (with_hints, without):
        axes.axvline(0.0, color=INK, lw=0.9, ls=DOTTED, zorder=0)
        axes.set_yticks(range(len(cells)), labels if named and axes is with_hints else [""] * len(cells), fontsize=8.5)
        axes.set_ylim(len(cells) - 0.4, -0.6)
        axes.tick_params(axis="x", labelsize=8, labelbottom=True)


def hint_curves_finding(result: Row) -> str:
    """The kind of hint that learns quickest."""
    ratios = [(c["reaching"]["ratio"]["value"], c["name"]) for c in result["cells"] if c.get("over_baseline") and c["reaching"]["ratio"]]
    words = f"Learning with hints; bands reach from the lowest to the highest of {counted(len(result['training_seeds']), 'seed')}."
    if not ratios:
        return words
    best, name = min(ratios)
    return f"Hints save the most moves with {name}: 95 % of the score without hints takes {best:.2f} times as many.\n{words}"


def hint_scores_finding(result: Row) -> str:
    """The largest gain by hints, and the largest loss when they are taken away."""
    cells = result["cells"]
    gains = [(c["over_baseline"]["value"], c["name"]) for c in cells if c.get("over_baseline")]
    losses = [(c["played_with"]["none"]["over_own_hints"]["value"], c["name"]) for c in cells if "none" in c.get("played_with", {})]
    words = f"95 % intervals over {counted(len(result['training_seeds']), 'seed')}, {extent_text(result)}."
    if not gains or not losses:
        return words
    (gain, best), (loss, worst) = max(gains), min(losses)
    return f"Hints gain at most {gain:.3f} ({best}); an agent that loses them can lose {-loss:.3f} ({worst}).\n{words}"
