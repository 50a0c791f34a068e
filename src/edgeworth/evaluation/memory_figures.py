"""The figure of agents that remember: what they get from each partner, between the bounds of what is possible there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeworth.evaluation.figures import ACCENT, INK, LIGHT, RUST, caption, name_rows, panels, point
from edgeworth.evaluation.statistics import counted

Row = dict[str, Any]

GENERALIST = "generalist"
OF_THE_STUDY = {"trained against this partner": (ACCENT, "o", -0.16), "generalist, trained against all": (RUST, "s", 0.16)}
"""By label: colour, marker, and the place beside the row's middle."""


def draw_memory(result: Row, path: Path) -> None:
    """One row per partner: the upper bound, the belief agent, and specialists and generalists with all seeds."""
    scales = result["scales"]
    with panels(path, 1, 1, (9.6, 2.4 + 0.62 * len(scales))) as (figure, grid):
        axes = grid[0][0]
        for y, scale in enumerate(scales):
            _draw_scale(axes, scale, y)
            for number, cell in enumerate(agents_of(result, scale["partner"])):
                if cell is not None:
                    _draw_agents(axes, cell, scale["partner"], y, number)
        name_rows(axes, [scale["partner"] for scale in scales], 28, 9)
        axes.set_ylim(len(scales) - 0.4, -0.6)
        axes.set_xlabel("share of the agent's maximum", fontsize=9)
        handles = {label: handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
        axes.legend(handles.values(), handles.keys(), frameon=False, fontsize=8.5, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        caption(figure, memory_finding(result), 100)


def agents_of(result: Row, partner: str) -> tuple[Row | None, Row | None]:
    """The agents trained against a partner, if there are any, and the generalists."""
    cells: Mapping[str, Row] = {cell["name"]: cell for cell in result["cells"]}
    return cells.get(partner), cells.get(GENERALIST)


def upper_bound(scale: Row) -> float:
    """The lower one of the upper bounds."""
    return float(min(row["value"] for row in scale["rows"] if row["agent"].startswith("told_")))


def belief_score(scale: Row) -> float:
    """What the belief agent gets."""
    return float(next(row["value"] for row in scale["rows"] if row["agent"] == "bayes"))


def memory_finding(result: Row) -> str:
    """How near specialists come to the belief agent, and generalists to specialists."""
    of_belief, behind = {}, {}
    for scale in result["scales"]:
        partner = scale["partner"]
        own, general = (None if cell is None else cell["against"][partner]["value"] for cell in agents_of(result, partner))
        if own is not None:
            of_belief[partner] = own / belief_score(scale)
        if own is not None and general is not None:
            behind[partner] = own - general
    words = ", ".join(f"{share:.1%} ({partner})" for partner, share in of_belief.items())
    told = [f"Trained agents with memory earn {words} of what the belief agent earns."] if of_belief else []
    if behind:
        far = max(behind, key=lambda partner: behind[partner])
        told.append(f"One network for all partners is at most {max(behind[far], 0.0):.3f} behind the specialists.")
    return " ".join([*told, f"{counted(len(result['training_seeds']), 'seed')}, 95 % intervals."])


def _draw_scale(axes: Any, scale: Row, y: int) -> None:
    bound = upper_bound(scale)
    axes.plot([bound, bound], [y - 0.32, y + 0.32], color=INK, lw=1.8, label="upper bound")
    axes.plot(belief_score(scale), y, "D", ms=6.5, color="white", mec=INK, ls="", label="belief agent", zorder=4)


def _draw_agents(axes: Any, cell: Row, partner: str, y: int, number: int) -> None:
    label, (colour, marker, beside) = list(OF_THE_STUDY.items())[number]
    found, at = cell["against"][partner], y + beside
    axes.plot(
        [run["against"][partner] for run in cell["seeds"]], [at] * len(cell["seeds"]), ".", ms=4, color=LIGHT, zorder=2, label="a seed"
    )
    point(axes, found, at, colour, marker, label=label, zorder=3)
    axes.text(found["value"], at - 0.1, f"{found['value']:.3f}", fontsize=7.5, ha="center", va="bottom")
