"""Figures of the auction game, drawn from JSON in `results/`: what every field of a mechanism does to the score."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from edgeworth.evaluation.figures import ACCENT, INK, LIGHT, pyplot, save_figure

FIELD_GAP = 0.9
"""Space between two fields, in lines."""
LINEAR_TO = 0.05
"""The axis is linear up to this change, logarithmic beyond, so that .01 and .5 can be read in one frame."""
TICKS = (-0.5, -0.2, -0.1, -0.05, -0.02, 0.0, 0.02, 0.05, 0.1, 0.2, 0.5)
LEAST_REACH = 0.025
"""Least change that the axis shows on either side."""
LETTERS_PER_INCH = 14.5
BAND = "#f1f1f1"


def draw_sensitivity(result: dict[str, Any], path: Path) -> None:
    """A panel per stage, a line per level of a field: how far mean R moves when that field alone moves there."""
    plt = pyplot()
    stages = result["stages"]
    lines = _lines(stages)
    height = max(lines.values()) + 2.0
    width = 2.6 + 1.85 * len(stages)
    figure, panels = plt.subplots(1, len(stages), figsize=(width, 1.9 + 0.155 * height), sharey=True, squeeze=False)
    for axes, stage in zip(panels[0], stages, strict=True):
        _draw_stage(axes, stage, lines)
        axes.set_ylim(height - 1.0, -1.0)
        _draw_axis(axes, _reach(stages))
    _label_levels(panels[0][0], lines)
    words = f"{finding(result)} Diamonds are the base mechanism; a full dot is a change whose 95 % interval excludes zero."
    caption = "\n".join(textwrap.wrap(words, round(LETTERS_PER_INCH * width)))
    axis = "change of mean R: linear to ±0.05, logarithmic beyond; 95 % intervals, many narrower than their dot"
    figure.supxlabel("\n".join(textwrap.wrap(axis, round(LETTERS_PER_INCH * width))), fontsize=9)
    figure.suptitle(caption, fontsize=9.5, x=0.01, ha="left", y=0.995, va="top")
    figure.tight_layout(rect=(0, 0, 1, 1.0), w_pad=0.6)
    save_figure(plt, figure, path)


def _reach(stages: list[dict[str, Any]]) -> tuple[float, float]:
    """How far the axis must go on either side of zero."""
    levels = [level for stage in stages for entry in stage["fields"] for level in entry["levels"]]
    return min(-LEAST_REACH, *(1.2 * level["low"] for level in levels)), max(LEAST_REACH, *(1.2 * level["high"] for level in levels))


def _draw_axis(axes: Any, reach: tuple[float, float]) -> None:
    low, high = reach
    shown = [tick for tick in TICKS if low <= tick <= high]
    axes.set_xscale("symlog", linthresh=LINEAR_TO, linscale=1.0)
    axes.set_xlim(low, high)
    axes.set_xticks(shown, [f"{tick:g}".replace("-", "−") for tick in shown], fontsize=7, rotation=60)
    axes.minorticks_off()
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _lines(stages: list[dict[str, Any]]) -> dict[tuple[str, Any], float]:
    """The height of every level that all stages share, field under field."""
    lines: dict[tuple[str, Any], float] = {}
    height = 0.0
    for k, entry in enumerate(stages[0]["fields"]):
        shared = [set(_values(stage["fields"][k])) for stage in stages]
        for value in _values(entry):
            if all(value in values for values in shared):
                lines[entry["field"], value] = height
                height += 1.0
        height += FIELD_GAP
    return lines


def _values(entry: dict[str, Any]) -> list[Any]:
    return [level["level"] for level in entry["levels"]]


def _draw_stage(axes: Any, stage: dict[str, Any], lines: dict[tuple[str, Any], float]) -> None:
    axes.axvline(0.0, color=LIGHT, lw=1, zorder=1)
    for k, entry in enumerate(stage["fields"]):
        places = {value: y for (field, value), y in lines.items() if field == entry["field"]}
        if k % 2 == 0:
            axes.axhspan(min(places.values()) - 0.7, max(places.values()) + 0.7, color=BAND, zorder=0, lw=0)
        if all(isinstance(level["level"], float) for level in entry["levels"]):
            course = [(level["value"], _height(places, level["level"])) for level in entry["levels"]]
            axes.plot(*zip(*course, strict=True), color=LIGHT, lw=0.9, zorder=1)
        for level in entry["levels"]:
            if level["is_base"]:
                axes.plot(0.0, _height(places, level["level"]), marker="D", ms=4.2, color="white", mec=INK, mew=1.0, zorder=4)
            elif level["level"] in places:
                _draw_level(axes, level, places[level["level"]])
    base = stage["base"]
    axes.set_title(f"{_stage_name(stage)}: R = {base['value']:.3f}", fontsize=9.5, loc="left")


def is_sure(level: dict[str, Any]) -> bool:
    """Whether the interval of a change excludes zero."""
    return bool(level["low"] > 0.0 or level["high"] < 0.0)


def _draw_level(axes: Any, level: dict[str, Any], y: float) -> None:
    """A full dot where the interval excludes zero, an empty one where it does not."""
    sure = is_sure(level)
    colour = ACCENT if sure and level["value"] > 0.0 else INK
    axes.plot([level["low"], level["high"]], [y, y], color=colour, lw=1.1, marker="|", ms=5.5, mew=1.0, zorder=2)
    axes.plot(level["value"], y, marker="o", ms=3.4, color=colour if sure else "white", mec=colour, mew=0.9, zorder=3)


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
    axes.set_yticks(list(lines.values()), [_shown(value) for _, value in lines], fontsize=7.5)
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


def _stage_name(stage: dict[str, Any]) -> str:
    return f"stage {stage['stage']}" if stage["stage"].isdigit() else str(stage["stage"])


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value).replace("_", " ")


def finding(result: dict[str, Any]) -> str:
    """What the figure shows, in a sentence."""
    strongest: dict[str, tuple[float, str]] = {}
    for stage in result["stages"]:
        for entry in stage["fields"]:
            for level in entry["levels"]:
                if is_sure(level) and abs(level["value"]) > abs(strongest.get(entry["field"], (0.0, ""))[0]):
                    strongest[entry["field"]] = (level["value"], f"{_shown(level['level'])} at {_stage_name(stage)}")
    fields = [entry["field"] for entry in result["stages"][0]["fields"]]
    if not strongest:
        return "No field moves mean R beyond chance."
    ranked = sorted(strongest, key=lambda field: -abs(strongest[field][0]))
    count = "Every field moves" if len(ranked) == len(fields) else f"{len(ranked)} of {len(fields)} fields move"
    most, least = (f"{field} ({strongest[field][1]}: {strongest[field][0]:+.3f})" for field in (ranked[0], ranked[-1]))
    still = [field for field in fields if field not in strongest]
    rest = f"; {', '.join(still)} {'does' if len(still) == 1 else 'do'} not" if still else ""
    return f"{count} mean R somewhere: most of all {most}, least {least}{rest}.".replace("-", "−")
