"""Figures of the auction game, drawn from JSON in `results/`: fields of a mechanism, designers by population, and robustness."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgeworth.evaluation.figures import ACCENT, GREY, INK, LIGHT, STRIPE, caption, panels, pyplot
from edgeworth.evaluation.sensitivity import level_text
from edgeworth.evaluation.statistics import Estimate
from edgeworth.evaluation.yardstick import ORACLE, POLICY, SCHEDULE, TOLD_STAGE

# What every field of a mechanism does

COLOURS, DARK = "Blues", 0.35
"""The colours of losses, and the share of the largest one from which numbers are white."""
LETTERS_PER_INCH = 14.5


def draw_sensitivity(result: dict[str, Any], path: Path) -> None:
    """A row per field, a column per population: the worst level of the field, and what it costs."""
    stages, fields = result["stages"], [entry["field"] for entry in result["stages"][0]["fields"]]
    worst = [[_worst(entry) for entry in stage["fields"]] for stage in stages]
    largest = max(-level["value"] for column in worst for level in column)
    width = 2.2 + 1.25 * len(stages)
    with panels(path, 1, 1, (width, 1.5 + 0.43 * len(fields))) as (figure, grid):
        axes = grid[0][0]
        for x, column in enumerate(worst):
            for y, level in enumerate(column):
                _draw_loss(axes, x, y, level, largest)
        axes.set_yticks(range(len(fields)), [field.replace("_", " ") for field in fields], fontsize=9)
        axes.set_xticks(
            range(len(stages)), [f"{_population(each['stage'])}\nR = {each['base']['value']:.3f}" for each in stages], fontsize=9
        )
        axes.set_xlim(-0.5, len(stages) - 0.5)
        axes.set_ylim(len(fields) - 0.5, -0.5)
        axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
        axes.spines[:].set_visible(False)
        cells = "In each cell: the worst level of the field, others being best, and the change of mean R (grey: its interval has 0 in it)."
        words = f"{sensitivity_finding(result)} {cells}"
        caption(figure, words, round(LETTERS_PER_INCH * width), fontsize=9.5, y=0.995, va="top")


def _worst(entry: dict[str, Any]) -> dict[str, Any]:
    """The level of a field that scores least, the base's own aside."""
    return min((level for level in entry["levels"] if not level["is_base"]), key=lambda level: float(level["value"]))


def _draw_loss(axes: Any, x: float, y: float, level: dict[str, Any], largest: float) -> None:
    """A level and its change on a colour that says how large it is; grey letters where the interval has zero in it."""
    plt, share = pyplot(), max(0.0, -level["value"]) / largest
    colour = plt.get_cmap(COLOURS)(0.85 * share**0.5)
    axes.add_patch(plt.Rectangle((x - 0.48, y - 0.47), 0.96, 0.94, facecolor=colour, edgecolor="white", lw=0.8))
    ink = GREY if not _is_sure(level) else "white" if share > DARK else INK
    text = f"{level['value']:+.3f}".replace("-", "−")
    axes.text(x, y - 0.17, level_text(level["level"]).removeprefix("penalize "), ha="center", va="center", fontsize=7, color=ink)
    axes.text(x, y + 0.2, text, ha="center", va="center", fontsize=8, color=ink, fontweight="bold")


def _is_sure(level: dict[str, Any]) -> bool:
    """Whether the interval of a change excludes zero."""
    return bool(level["low"] > 0.0 or level["high"] < 0.0)


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
    ORACLE: ("*", INK, 54),
    TOLD_STAGE: ("D", GREY, 22),
    ADAPTIVE: ("o", ACCENT, 40),
    "adaptive (prior: mixed)": ("o", "white", 40),
    POLICY: ("h", ACCENT, 40),
    SCHEDULE: ("v", "white", 40),
    "best constant for the stages": ("s", GREY, 34),
    "best constant for mixed": ("s", "white", 34),
    "informed_greedy": ("^", LIGHT, 40),
    "uniform": ("x", INK, 34),
    "language_model": ("P", ACCENT, 40),
}
"""How each designer is drawn; a language model by the beginning of its name, whatever model it is."""
ROW, SPREAD = 1.32, 0.08
"""The height of a population's row in inches, and how far apart its designers stand, in rows: farther than their markers are high."""
HEAD, LEGEND = 1.1, 0.65
"""Room for title and axis, and for the legend, in inches."""


def draw_designers(result: dict[str, Any], path: Path) -> None:
    """One row per population, one marker per designer, with its interval."""
    populations = result["populations"]
    height = HEAD + LEGEND + ROW * len(populations)
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
    """What observing, the stage and the composition are worth over the best constant mechanism."""
    gains = {row["designer"]: Estimate.from_dict(row["over_best_constant"]) for row in populations.get("stages", [])}
    if not {ADAPTIVE, TOLD_STAGE, ORACLE} <= gains.keys():
        return "Designers by population"
    return (
        f"On the mixture of the stages, adapting to what is observed gains {gains[ADAPTIVE]:+.3f} over the best constant mechanism,"
        f" being told the stage {gains[TOLD_STAGE].value:+.3f}, and being told the composition {gains[ORACLE].value:+.3f}."
    ).replace("-", "−")


# Conclusions in changed markets


def draw_robustness(result: dict[str, Any], path: Path) -> None:
    """One row per effect, one column per stage: the changed markets in which the sign is the same, and those in which it is reversed."""
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
        axes.set_xlim(-0.02, len(stages) - 0.18)
        axes.set_xticks([place + 0.4 for place in range(len(stages))], [f"stage {stage}" for stage in stages])
        axes.spines[["bottom", "left"]].set_visible(False)
        axes.tick_params(length=0)
        caption(figure, robustness_finding(result), 105, x=0.02)
        keys = [pyplot().Rectangle((0, 0), 1, 1, facecolor=colour, edgecolor=LIGHT) for colour in (INK, "white", ACCENT)]
        figure.legend(
            keys,
            ("same sign", "unclear", "reversed"),
            loc="lower center",
            ncols=3,
            frameon=False,
            fontsize=8,
        )


def robustness_finding(result: dict[str, Any]) -> str:
    """How many clear effects keep their sign in all changed markets, and how many are reversed somewhere."""
    found, worlds = result["conclusions"], result["worlds"]
    firm = sum(row["survives"] == worlds for row in found)
    turned = sum(row["reversed"] > 0 for row in found)
    return (
        f"Of {len(found)} clear effects, {firm} keep their sign in all {worlds} markets with one constant halved or doubled;"
        f" {turned} are reversed in at least one. A bar is all {worlds} markets; no bar: no clear effect."
    )
