"""Figures of the parser: how often readings are right, against the confidence that they were given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgeworth.dialogues.confidence import SURE
from edgeworth.evaluation.figures import ACCENT, DOTTED, GREEN, GREY, INK, LIGHT, RUST, caption, panels, spread
from edgeworth.evaluation.labelled import VERY_SURE

STYLES = ((ACCENT, "o"), (RUST, "s"), (GREEN, "D"), (INK, "v"), (GREY, "^"))
"""Colour and marker of each file of sentences, in the order in which they are given."""
APART = 0.009
"""How far the files are drawn beside each other."""


def draw_reliability(result: dict[str, Any], path: Path) -> None:
    """A point per file of labelled utterances and band of confidence: the share of right readings, with its interval."""
    with panels(path, 1, 1, (7.2, 5.4)) as (figure, grid):
        axes = grid[0][0]
        axes.plot([0.4, 1], [0.4, 1], ls=DOTTED, color=GREY, label="perfectly calibrated")
        axes.axvline(SURE, color=LIGHT, lw=1)
        axes.text(SURE - 0.005, 0.31, "asks back", ha="right", fontsize=9, color=GREY)
        axes.text(SURE + 0.005, 0.31, "makes the move", fontsize=9, color=GREY)
        for n, ((name, measured), (colour, marker)) in enumerate(zip(result["labelled"].items(), STYLES, strict=False)):
            counts = ", ".join(str(level["right"]["n"]) for level in measured["reliability"])
            label: str | None = f"{_short(name)}: {counts} readings"
            for level in measured["reliability"]:
                at, share = level["confidence"] + APART * (n - 2), level["right"]
                axes.errorbar(at, share["value"], yerr=spread(share), fmt=marker, color=colour, ms=6, capsize=3, label=label)
                label = None  # once per file
        axes.set(xlabel="confidence of the reading (mean of its band)", ylabel="share of readings that are right", xlim=(0.45, 1.01))
        axes.set_ylim(0.28, 1.03)
        axes.legend(frameon=False, fontsize=7.5, loc="center right", bbox_to_anchor=(1, 0.28))
        caption(figure, reliability_finding(result), 95)


def reliability_finding(result: dict[str, Any]) -> str:
    """What the figure shows, in one sentence."""
    shares = {_short(name): one["very_sure"] for name, one in result["labelled"].items()}
    parts = [f"{share['value']:.1%} of {share['n']} ({name})" for name, share in shares.items() if share is not None]
    sure = f"Of readings with a confidence of {VERY_SURE} or more, {', '.join(parts)} are right."
    return f"{sure} The legend counts readings, from left to right."


def _short(name: str) -> str:
    return name.removesuffix("_utterances").replace("_", " ")
