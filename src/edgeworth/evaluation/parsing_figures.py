"""Figures of the parser: how often readings are right, against the confidence that they were given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgeworth.dialogues.confidence import SURE
from edgeworth.evaluation.figures import ACCENT, DOTTED, GREY, LIGHT, caption, panels, spread
from edgeworth.evaluation.labelled import VERY_SURE
from edgeworth.evaluation.statistics import counted


def draw_reliability(result: dict[str, Any], path: Path) -> None:
    """A point per band of confidence, over all files of labelled utterances: the share of right readings, with its interval."""
    with panels(path, 1, 1, (7.2, 4.6)) as (figure, grid):
        axes = grid[0][0]
        axes.plot([0.4, 1], [0.4, 1], ls=DOTTED, color=GREY, label="perfectly calibrated")
        axes.axvline(SURE, color=LIGHT, lw=1)
        axes.text(SURE - 0.005, 0.43, "asks back", ha="right", fontsize=9, color=GREY)
        axes.text(SURE + 0.005, 0.43, "makes the move", fontsize=9, color=GREY)
        label: str | None = "right readings, with 95 % interval, and how many were read"
        for level in result["together"]["reliability"]:
            at, share = level["confidence"], level["right"]
            axes.errorbar(at, share["value"], yerr=spread(share), fmt="o", color=ACCENT, ms=6, capsize=3, label=label)
            axes.annotate(str(share["n"]), (at, share["value"]), (7, -10), textcoords="offset points", fontsize=9, color=ACCENT)
            label = None  # once
        axes.set(xlabel="confidence of the reading (mean of its band)", ylabel="share of readings that are right", xlim=(0.45, 1.02))
        axes.set_ylim(0.4, 1.03)
        axes.legend(frameon=False, fontsize=8.5, loc="upper left")
        caption(figure, reliability_finding(result), 95)


def reliability_finding(result: dict[str, Any]) -> str:
    """What the figure shows, in one sentence."""
    sure = result["together"]["very_sure"]
    if sure is None:
        return f"No reading has a confidence of {VERY_SURE} or more."
    return f"Of {counted(sure['n'], 'reading')} with a confidence of {VERY_SURE} or more, {sure['value']:.1%} are right."
