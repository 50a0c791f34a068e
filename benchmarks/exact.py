"""How long it takes to play a network exactly: every negotiation of `classic`, against the heuristic partner, with either side opening.

CPU seconds of the process, on all of its threads together; the network's file is read and the rules are compiled before. The plans and
random play that `edgeworth evaluate --exact` also computes, for the scale, are not included. The bundled networks read the item types in
the order of their worth, so one order of them is played and counts for all; a network that reads them as they come plays every order, and
how long that takes is measured too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from rich.console import RenderableType

from benchmarks.command import Repeats, report, start, targets_table
from benchmarks.measuring import machine_facts, summary, target
from edgeworth.agents.negotiators.learned import negotiator_of
from edgeworth.cli.console import table
from edgeworth.cli.options import AsJson, OutFile
from edgeworth.config import BargainingConfig
from edgeworth.evaluation.whole_population import Population, play_population, play_sides
from edgeworth.progress import Progress, silent

GAME = BargainingConfig()
SMALL = BargainingConfig.from_options("classic", min_count=4)
"""Played first, which compiles the rules."""
TARGET = 60.0
LABELS = {
    "learned": "the expert of `classic`",
    "generalist": "the generalist, which remembers",
    "every_order": "the expert of `classic`, every order of the types",
}


def run(repeats: int = 3, progress: Progress = silent) -> dict[str, Any]:
    """How long each network takes for the whole population, and what it gets there."""
    ways = contenders()
    found: dict[str, dict[str, Any]] = {}
    for name, play in ways.items():
        play(SMALL)
        seconds, shares = [], []
        for lap in range(repeats):
            progress(f"{LABELS[name]}, round {lap + 1} of {repeats}", len(found) * repeats + lap, len(ways) * repeats)
            begin = time.process_time()
            shares.append(play(GAME))
            seconds.append(time.process_time() - begin)
        found[name] = {"label": LABELS[name], "share_of_maximum": shares[-1], **summary(seconds)}
    return {
        "quantity": "CPU seconds of one process to play every negotiation of classic once, median of the repeats",
        "seed": "none: nothing is drawn",
        "repeats": repeats,
        "negotiations": Population.of(GAME).negotiations,
        "machine": machine_facts(),
        "entries": found,
        "targets": [target(f"exact evaluation, {entry['label']}", entry["values"], "<=", TARGET, "s") for entry in found.values()],
    }


def contenders() -> dict[str, Callable[[BargainingConfig], float]]:
    """By name: how a network plays the whole population of a game, which returns its share of the maximum."""
    expert, generalist = negotiator_of("learned"), negotiator_of("generalist")

    def every_order(game: BargainingConfig) -> float:
        whole = Population.of(game)
        return whole.share(play_sides(whole, expert).reward)

    return {
        "learned": lambda game: play_population(game, expert).share_of_maximum,
        "generalist": lambda game: play_population(game, generalist).share_of_maximum,
        "every_order": every_order,
    }


def main(repeats: Repeats = 3, out_file: OutFile = None, as_json: AsJson = False) -> None:
    """Measure how long it takes to play bundled networks over the whole population of `classic`.

    Example: python -m benchmarks.exact --repeats 3
    """
    report(lambda progress: run(repeats, progress), page, as_json, out_file)


def page(result: dict[str, Any]) -> Iterator[RenderableType]:
    """What was played and what it is worth, then the targets."""
    found = table("network", "share of maximum", title=f"{result['negotiations']:,} negotiations")
    for entry in result["entries"].values():
        found.add_row(entry["label"], f"{entry['share_of_maximum']:.4f}")
    yield from (found, "", targets_table(result))


if __name__ == "__main__":
    start(main)
