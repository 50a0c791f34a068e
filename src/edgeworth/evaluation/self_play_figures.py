"""Self-play as a figure: what both roles earn, how far the agents can be exploited, and what they earn from those they never met."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from edgeworth.evaluation.figures import ACCENT, INK, LIGHT, pyplot, save_figure
from edgeworth.evaluation.training_figures import TITLE_WIDTH

STYLE = {"pool": (ACCENT, "o"), "naive": ("#a34a28", "s"), "expert": (INK, "D")}
OFFSET = {"pool": -0.13, "naive": 0.13}
WORDS = {"pool": (-6, "right"), "naive": (6, "left")}
"""Where a number stands beside its mark."""
LABELS = {
    "opener_share": "share:\nwho opens",
    "responder_share": "share:\nwho answers",
    "deal_rate": "deals",
    "pareto_rate": "efficient,\nof deals",
    "nash_ratio": "Nash\nratio",
}
EXPLOITED = {"exploitability_trained": "trained", "exploitability_exact": "exact"}


def draw_self_play(result: dict[str, Any], path: Path) -> None:
    """Per game: talks with itself, exploitability, and shares against others; all seeds as points, means with their intervals."""
    plt = pyplot()
    games = result["games"]
    figure, panels = plt.subplots(len(games), 3, figsize=(12.6, 0.9 + 3.1 * len(games)), width_ratios=(1.5, 0.8, 1.2), squeeze=False)
    for row, (itself, exploited, others) in zip(games, panels, strict=True):
        reference = result["reference"] if result["reference"]["game"] == row["game"] else None
        _panel(itself, row, LABELS, lambda found, name: found[name], None)
        known = {name: label for name, label in EXPLOITED.items() if row["kinds"]["pool"][name] is not None}
        _panel(exploited, row, known, lambda found, name: found[name], reference, digits=3)
        opponents = {name: name.replace("_", "\n") for name in row["kinds"]["pool"]["against"]}
        _panel(others, row, opponents, lambda found, name: found["against"].get(name), reference)
        itself.set_ylabel(f"{row['game']}, {row['max_turns']} moves", fontsize=10)
        itself.set_ylim(0.0, 1.05)
        itself.axhline(result["last_offer_share"]["value"], xmax=0.4, color=INK, lw=0.8, ls=(0, (1, 3)), zorder=0)
        itself.text(0.5, result["last_offer_share"]["value"] - 0.05, "the last offer in theory", fontsize=7, ha="center")
        for axes in (exploited, others):
            axes.margins(y=0.15)
            axes.set_ylim(0.0, None)
    for axes, title in zip(panels[0], ("talks with itself", "exploitability\n(share of maximum)", "share of maximum against"), strict=True):
        axes.set_title(title, fontsize=10, loc="left")
    panels[0][1].legend(frameon=False, fontsize=8.5, loc="center left")
    figure.suptitle("\n".join(textwrap.wrap(finding(result), TITLE_WIDTH + 20)), fontsize=10, x=0.01, ha="left")
    figure.tight_layout()
    save_figure(plt, figure, path)


def _panel(
    axes: Any, row: dict[str, Any], labels: dict[str, str], number_of: Any, reference: dict[str, Any] | None, digits: int = 2
) -> None:
    """One panel: for every quantity both kinds side by side, and the reference where it has been measured."""
    for kind, found in row["kinds"].items():
        colour, marker = STYLE[kind]
        for x, name in enumerate(labels):
            number, at = number_of(found, name), x + OFFSET[kind]
            axes.plot(
                [at] * len(found["seeds"]), [number_of(seed, name)["value"] for seed in found["seeds"]], "_", ms=11, color=LIGHT, zorder=1
            )
            spread = None if number["low"] is None else [[number["value"] - number["low"]], [number["high"] - number["value"]]]
            label = f"self-play, {kind}" if x == 0 else None
            axes.errorbar(at, number["value"], yerr=spread, fmt=marker, ms=5, color=colour, capsize=3, label=label, zorder=2)
            beside, align = WORDS[kind]
            where = {"xytext": (beside, 0), "textcoords": "offset points", "ha": align, "va": "center"}
            axes.annotate(f"{number['value']:.{digits}f}", (at, number["value"]), fontsize=7, **where)
    for x, name in enumerate(labels):
        number = None if reference is None else number_of(reference, name)
        if number is not None:
            colour, marker = STYLE["expert"]
            axes.plot(x, number["value"], marker, ms=5, color=colour, mfc="white", label="expert" if x == 0 else None, zorder=3)
            axes.annotate(
                f"{number['value']:.{digits}f}", (x, number["value"]), (0, 6), textcoords="offset points", fontsize=7, ha="center"
            )
    axes.set_xticks(range(len(labels)), list(labels.values()), fontsize=8)
    axes.set_xlim(-0.6, len(labels) - 0.4)
    axes.spines[["top", "right"]].set_visible(False)


def finding(result: dict[str, Any]) -> str:
    """What the figure shows, from its own numbers."""
    words = []
    for row in result["games"]:
        pool, naive = row["kinds"]["pool"], row["kinds"]["naive"]
        words.append(
            f"{row['game']}: who opens earns {pool['opener_share']['value']:.2f} of its maximum and who answers"
            f" {pool['responder_share']['value']:.2f} (naive {naive['opener_share']['value']:.2f} and"
            f" {naive['responder_share']['value']:.2f}); a trained response gains {pool['exploitability_trained']['value']:.3f}"
            f" (naive {naive['exploitability_trained']['value']:.3f})"
        )
    return f"{'; '.join(words)}. {len(result['training_seeds'])} seeds, {result['episodes']:,} episodes; 95 % intervals over seeds."
