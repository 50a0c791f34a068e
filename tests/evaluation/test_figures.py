"""The figures of `results/`, drawn from their JSON: nothing written covers something else that is written, and everything can be read."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.markers import MarkerStyle
from matplotlib.text import Text

from edgeworth import catalog
from edgeworth.evaluation.auction_figures import MARKERS, ROW, SPREAD
from edgeworth.evaluation.bargaining_figures import draw_frontier, frontier_finding
from edgeworth.games.bargaining.contexts import Context

RESULTS = Path(__file__).parents[2] / "results"
DRAWN_BY = {
    "designers": "designer_figures:draw_evaluation",
    "hint_study": "hint_figures:draw_hint_study",
    "hints_measure": "hint_figures:draw_hint_measures",
    "memory": "memory_figures:draw_memory",
    "negotiators": "training_figures:draw_study",
    "parsing_sentences": "parsing_figures:draw_reliability",
    "robustness_auction": "auction_figures:draw_robustness",
    "self_play": "training_figures:draw_self_play",
    "sensitivity_auction": "auction_figures:draw_sensitivity",
    "tournament": "bargaining_figures:draw_tournament",
    "yardstick_auction": "auction_figures:draw_designers",
    "yardstick_bargaining": "bargaining_figures:draw_yardsticks",
}
PAGE, LEAST = 838, 7.0
"""How wide a page shows a figure, and how high its letters are there at least, in pixels."""
POINTS, EDGE = 72, 0.9
"""In an inch; the width of a marker's edge."""


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[list[Text]]:
    """What is written in each figure that is drawn; none is saved."""
    found: list[list[Text]] = []
    draw = Text.draw

    def noted(text: Text, *given: Any, **more: Any) -> None:
        if text.get_visible() and text.get_text().strip():
            found[-1].append(text)
        draw(text, *given, **more)

    def look(figure: Figure, *_: Any, **__: Any) -> None:
        found.append([])
        monkeypatch.setattr(Text, "draw", noted)
        figure.draw_without_rendering()
        monkeypatch.setattr(Text, "draw", draw)

    monkeypatch.setattr(Figure, "savefig", look)
    return found


@pytest.mark.parametrize("name", DRAWN_BY)
def test_nothing_written_covers_something_else_and_all_can_be_read_on_a_page(name: str, written: list[list[Text]], tmp_path: Path) -> None:
    result = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    catalog.load(f"edgeworth.evaluation.{DRAWN_BY[name]}")(result, tmp_path / f"{name}.png")
    for texts in written:
        boxes = [(text.get_text(), text.get_window_extent()) for text in texts if text.get_rotation() == 0.0]
        assert not [(one, other) for (one, box), (other, second) in combinations(boxes, 2) if shared(box, second)]
        width = texts[0].get_figure(root=True).get_size_inches()[0]
        assert min(text.get_fontsize() for text in texts) / POINTS * PAGE / width >= LEAST


def shared(one: Any, other: Any) -> bool:
    """Whether two boxes cover more than a pixel of each other in both directions."""
    width = min(one.x1, other.x1) - max(one.x0, other.x0)
    height = min(one.y1, other.y1) - max(one.y0, other.y0)
    return bool(width > 1.0 and height > 1.0)


def test_the_markers_of_neighbouring_designers_do_not_touch() -> None:
    heights = []
    for marker, _, size in MARKERS.values():
        style = MarkerStyle(marker)
        path = style.get_path().transformed(style.get_transform())
        heights.append(path.get_extents().height * np.sqrt(size) + EDGE)
    assert max(np.add(heights[1:], heights[:-1]) / 2) <= SPREAD * ROW * POINTS


def test_the_headline_of_a_frontier_says_what_the_nash_point_gives(written: list[list[Text]], tmp_path: Path) -> None:
    context = Context((2, 4, 3), (9, 10, 8), (7, 1, 8))
    assert frontier_finding(context).startswith(
        "At the Nash point the agent gets 40 points, the partner 38. The pool: 2 books, 4 hats, 3 balls;"
    )
    draw_frontier(context, tmp_path / "frontier.png")
    assert {"Nash = egalitarian", "Kalai–Smorodinsky", "max. welfare"} <= {text.get_text() for text in written[0]}
