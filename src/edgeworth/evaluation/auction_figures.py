"""Figures of the auction game, drawn from JSON in `results/`: fields of a mechanism, designers by population, and robustness."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgeworth.evaluation.figures import ACCENT, GREY, INK, LIGHT, STRIPE, caption, panels, pyplot, wrapped
from edgeworth.evaluation.sensitivity import level_text
from edgeworth.evaluation.statistics import Estimate
from edgeworth.evaluation.yardstick import ORACLE, POLICY, SCHEDULE, TOLD_STAGE

# What every field of a mechanism does

FIELD_GAP = 0.9
"""Space between two fields, in lines."""
LINEAR_TO = 0.05
"""The axis is linear up to this change, logarithmic beyond, so that .01 and .5 can be read in one frame."""
TICKS = (-0.5, -0.2, -0.1, -0.05, -0.02, 0.0, 0.02, 0.05, 0.1, 0.2, 0.5)
LEAST_REACH = 0.025
"""Least change that the axis shows on either side."""
LETTERS_PER_INCH = 14.5


def draw_sensitivity(result: dict[str, Any], path: Path) -> None:
    """A panel per stage, a line per level of a field: how far mean R moves when that field alone moves there."""
    stages = result["stages"]
    lines = _lines(stages)
    height, width = max(lines.values()) + 2.0, 2.6 + 1.85 * len(stages)
    letters, reach = round(LETTERS_PER_INCH * width), _reach(stages)
    layout = {"rect": (0, 0, 1, 1.0), "w_pad": 0.6}
    with panels(path, 1, len(stages), (width, 1.9 + 0.155 * height), layout, sharey=True) as (figure, grid):
        for axes, stage in zip(grid[0], stages, strict=True):
            _draw_stage(axes, stage, lines)
            axes.set_ylim(height - 1.0, -1.0)
            _draw_axis(axes, *reach)
        _label_levels(grid[0][0], lines)
        words = f"{sensitivity_finding(result)} Diamonds are the base mechanism; a full dot is a change whose 95 % interval excludes zero."
        axis = "change of mean R: linear to ±0.05, logarithmic beyond; 95 % intervals, many narrower than their dot"
        figure.supxlabel(wrapped(axis, letters), fontsize=9)
        caption(figure, words, letters, fontsize=9.5, y=0.995, va="top")


def _reach(stages: list[dict[str, Any]]) -> tuple[float, float]:
    """How far the axis must go on either side of zero."""
    levels = [level for stage in stages for entry in stage["fields"] for level in entry["levels"]]
    return min(-LEAST_REACH, *(1.2 * level["low"] for level in levels)), max(LEAST_REACH, *(1.2 * level["high"] for level in levels))


def _draw_axis(axes: Any, low: float, high: float) -> None:
    shown = [tick for tick in TICKS if low <= tick <= high]
    axes.set_xscale("symlog", linthresh=LINEAR_TO, linscale=1.0)
    axes.set_xlim(low, high)
    axes.set_xticks(shown, [f"{tick:g}".replace("-", "−") for tick in shown], fontsize=7, rotation=60)
    axes.minorticks_off()
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _lines(stages: list[dict[str, Any]]) -> dict[tuple[str, Any], float]:
    """The height of every level that all stages share, field under field."""
    lines: dict[tuple[str, Any], float] = {}
    height = 0.0
    for k, entry in enumerate(stages[0]["fields"]):
        shared = [{level["level"] for level in stage["fields"][k]["levels"]} for stage in stages]
        for level in entry["levels"]:
            if all(level["level"] in levels for levels in shared):
                lines[entry["field"], level["level"]] = height
                height += 1.0
        height += FIELD_GAP
    return lines


def _draw_stage(axes: Any, stage: dict[str, Any], lines: dict[tuple[str, Any], float]) -> None:
    axes.axvline(0.0, color=LIGHT, lw=1, zorder=1)
    for k, entry in enumerate(stage["fields"]):
        places = {value: y for (field, value), y in lines.items() if field == entry["field"]}
        if k % 2 == 0:
            axes.axhspan(min(places.values()) - 0.7, max(places.values()) + 0.7, color=STRIPE, zorder=0, lw=0)
        if all(isinstance(level["level"], float) for level in entry["levels"]):
            course = [(level["value"], _height(places, level["level"])) for level in entry["levels"]]
            axes.plot(*zip(*course, strict=True), color=LIGHT, lw=0.9, zorder=1)
        for level in entry["levels"]:
            if level["is_base"]:
                axes.plot(0.0, _height(places, level["level"]), marker="D", ms=4.2, color="white", mec=INK, mew=1.0, zorder=4)
            elif level["level"] in places:
                _draw_level(axes, level, places[level["level"]])
    axes.set_title(f"{_population(stage['stage'])}: R = {stage['base']['value']:.3f}", fontsize=9.5, loc="left")


def _draw_level(axes: Any, level: dict[str, Any], y: float) -> None:
    """A full dot where the interval excludes zero, an empty one where it does not."""
    colour = ACCENT if _is_sure(level) and level["value"] > 0.0 else INK
    axes.plot([level["low"], level["high"]], [y, y], color=colour, lw=1.1, marker="|", ms=5.5, mew=1.0, zorder=2)
    axes.plot(level["value"], y, marker="o", ms=3.4, color=colour if _is_sure(level) else "white", mec=colour, mew=0.9, zorder=3)


def _is_sure(level: dict[str, Any]) -> bool:
    """Whether the interval of a change excludes zero."""
    return bool(level["low"] > 0.0 or level["high"] < 0.0)


def _height(places: dict[Any, float], value: Any) -> float:
    """Where a level stands: between its neighbours if it has no line of its own, under the last if it is beyond them."""
    if value in places:
        return places[value]
    below = max(v for v in places if v < value)
    above = min((v for v in places if v > value), default=None)
    if above is None:
        return places[below] + 0.5
    return places[below] + float((value - below) / (above - below)) * (places[above] - places[below])


def _label_levels(axes: Any, lines: dict[tuple[str, Any], float]) -> None:
    fields: dict[str, list[float]] = {}
    for (field, _), y in lines.items():
        fields.setdefault(field, []).append(y)
    axes.set_yticks(list(lines.values()), [level_text(value) for _, value in lines], fontsize=7.5)
    for field, heights in fields.items():
        axes.annotate(
            field.replace("_", " ", 1).replace("_", "\n") if len(heights) > 2 else field.replace("_", " "),
            xy=(0, (heights[0] + heights[-1]) / 2),
            xycoords=("axes fraction", "data"),
            xytext=(-88, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize=8.5,
            fontweight="bold",
            annotation_clip=False,
        )


def sensitivity_finding(result: dict[str, Any]) -> str:
    """The fields that move mean R most and least, and those that do not move it."""
    strongest: dict[str, tuple[float, str]] = {}
    for stage in result["stages"]:
        for entry in stage["fields"]:
            for level in entry["levels"]:
                if _is_sure(level) and abs(level["value"]) > abs(strongest.get(entry["field"], (0.0, ""))[0]):
                    strongest[entry["field"]] = (level["value"], f"{level_text(level['level'])} at {_population(stage['stage'])}")
    fields = [entry["field"] for entry in result["stages"][0]["fields"]]
    if not strongest:
        return "No field moves mean R beyond chance."
    ranked = sorted(strongest, key=lambda field: -abs(strongest[field][0]))
    count = "Every field moves" if len(ranked) == len(fields) else f"{len(ranked)} of {len(fields)} fields move"
    most, least = (f"{field} ({strongest[field][1]}: {strongest[field][0]:+.3f})" for field in (ranked[0], ranked[-1]))
    still = [field for field in fields if field not in strongest]
    rest = f"; {', '.join(still)} {'does' if len(still) == 1 else 'do'} not" if still else ""
    return f"{count} mean R somewhere: most of all {most}, least {least}{rest}.".replace("-", "−")


# Designers by population

ADAPTIVE = "adaptive (prior: stages)"
MARKERS = {
    ORACLE: ("*", INK, 110),
    TOLD_STAGE: ("D", GREY, 44),
    ADAPTIVE: ("o", ACCENT, 62),
    "adaptive (prior: mixed)": ("o", "white", 62),
    POLICY: ("h", ACCENT, 62),
    SCHEDULE: ("v", "white", 54),
    "best constant for the stages": ("s", GREY, 44),
    "best constant for mixed": ("s", "white", 44),
    "informed_greedy": ("^", LIGHT, 54),
    "uniform": ("x", INK, 40),
    "language_model": ("P", ACCENT, 62),
}
"""How each designer is drawn; a language model by the beginning of its name, whatever model it is."""
SPREAD = 0.09
"""How far apart the designers of one population stand, in rows."""
HEAD, LEGEND = 1.1, 0.65
"""Room for title and axis, and for the legend, in inches."""


def draw_designers(result: dict[str, Any], path: Path) -> None:
    """One row per population, one marker per designer, with its interval."""
    populations = result["populations"]
    height = HEAD + LEGEND + 0.7 * len(populations)
    with panels(path, 1, 1, (8.2, height), {"rect": (0.0, LEGEND / height, 1.0, 1.0)}) as (figure, grid):
        axes, named = grid[0][0], set[str]()
        for y, rows in enumerate(populations.values()):
            if y % 2 == 0:
                axes.axhspan(y - 0.5, y + 0.5, color=STRIPE, zorder=0, lw=0)
            for row in rows:
                score, model = row["score"], row["designer"].startswith("language_model")
                key = "language_model" if model else row["designer"]
                marker, colour, size = MARKERS[key]
                place = y + SPREAD * (list(MARKERS).index(key) - (len(MARKERS) - 1) / 2)
                axes.plot([score["low"], score["high"]], [place, place], color=INK, lw=1.2, zorder=2)
                edge = {} if marker == "x" else {"edgecolor": INK, "linewidth": 0.9}
                label = f"{row['designer']}, n = {score['n']:,}" if model else row["designer"]  # a model plays fewer episodes
                axes.scatter(
                    score["value"], place, marker=marker, s=size, color=colour, zorder=3, label=None if key in named else label, **edge
                )
                named.add(key)
        axes.set_yticks(range(len(populations)), [_population(name) for name in populations])
        axes.set_ylim(len(populations) - 0.5, -0.5)
        ends = [float(row["score"][end]) for rows in populations.values() for row in rows for end in ("low", "high")]
        axes.set_xlim(min(0.15, min(ends) - 0.02), max(0.75, max(ends) + 0.02))
        axes.set_xlabel("mean score R per step, with 95 % interval (1 = the competitive market)")
        caption(figure, designers_finding(populations), 105, x=0.02)
        figure.legend(*axes.get_legend_handles_labels(), frameon=False, fontsize=8.5, loc="lower center", ncol=3)


def _population(name: str) -> str:
    return f"stage {name}" if name.isdigit() else name.replace("_", "-")


def designers_finding(populations: dict[str, list[dict[str, Any]]]) -> str:
    """What looking, the stage and the composition are worth over the best constant mechanism."""
    gains = {row["designer"]: Estimate.from_dict(row["over_best_constant"]) for row in populations.get("stages", [])}
    if not {ADAPTIVE, TOLD_STAGE, ORACLE} <= gains.keys():
        return "Designers by population"
    return (
        f"On the mixture of the stages, looking is worth {gains[ADAPTIVE]:+.3f} over the best constant mechanism, being told the stage"
        f" {gains[TOLD_STAGE].value:+.3f}, and being told who is in the room {gains[ORACLE].value:+.3f}."
    ).replace("-", "−")


# Conclusions in other worlds


def draw_robustness(result: dict[str, Any], path: Path) -> None:
    """One row per effect, one column per stage: the worlds in which the sign is the same, and those in which it is reversed."""
    found, worlds = result["conclusions"], max(1, result["worlds"])
    names, stages = (sorted({row[key] for row in found}) for key in ("what", "stage"))
    with panels(path, 1, 1, (9.0, 1.4 + 0.27 * len(names)), {"rect": (0.015, 0.03, 1, 1)}) as (figure, grid):
        axes = grid[0][0]
        for row in found:
            x, y = stages.index(row["stage"]), names.index(row["what"])
            same, reverse = 0.8 * row["survives"] / worlds, 0.8 * row["reversed"] / worlds
            axes.barh(y, 0.8, left=x, height=0.6, color="white", edgecolor=LIGHT, linewidth=0.6)
            axes.barh(y, same, left=x, height=0.6, color=INK)
            axes.barh(y, reverse, left=x + 0.8 - reverse, height=0.6, color=ACCENT)
        axes.set_yticks(range(len(names)), names, fontsize=7.5)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xticks([place + 0.4 for place in range(len(stages))], [f"stage {stage}" for stage in stages])
        axes.spines[["bottom", "left"]].set_visible(False)
        axes.tick_params(length=0)
        caption(figure, robustness_finding(result), 105, x=0.02)
        keys = [pyplot().Rectangle((0, 0), 1, 1, facecolor=colour, edgecolor=LIGHT) for colour in (INK, "white", ACCENT)]
        figure.legend(keys, ("same sign", "unclear", "reversed"), loc="lower center", ncols=3, frameon=False, fontsize=8)


def robustness_finding(result: dict[str, Any]) -> str:
    """How many clear effects keep their sign in all worlds, and how many are reversed somewhere."""
    found, worlds = result["conclusions"], result["worlds"]
    firm = sum(row["survives"] == worlds for row in found)
    turned = sum(row["reversed"] > 0 for row in found)
    return (
        f"Of {len(found)} clear effects, {firm} keep their sign in all {worlds} worlds with one constant halved or doubled;"
        f" {turned} are reversed in at least one."
    )
