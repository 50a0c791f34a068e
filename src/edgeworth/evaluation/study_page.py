"""The page of a study: its commands, tables with intervals, and a figure, as Markdown or HTML.

Methods are compared over games on the scale from random play (0) to the blind Bayes plan (1), or by shares of the maximum where some game
has no blind plan. Only methods that played the same games are compared with each other. `aggregates.py` has the statistics.
"""

from __future__ import annotations

import html
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeworth.errors import InvalidOption
from edgeworth.evaluation.aggregates import STATISTICS, ByGame, aggregate, probability_of_improvement
from edgeworth.evaluation.figures import ACCENT, INK, caption, name_rows, panels, point
from edgeworth.evaluation.statistics import Estimate, as_json, counted, over_seeds
from edgeworth.evaluation.study import extent_text
from edgeworth.files import write_whole

FIGURE = "report.png"
STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:72em;margin:2em auto}pre{overflow:auto}"
    "td,th{padding:.2em .6em;text-align:left}td+td{white-space:nowrap}"
)
INTERVALS = (
    "In brackets: 95 % stratified bootstrap intervals over seeds. Best beats it: how likely a run of the best method beats one of this,"
    " among methods that played the same games."
)

Row = Mapping[str, Any]
Table = list[list[str]]
"""Lines of a table, the first one with the names of its columns."""


def compared(about: Mapping[str, Any], runs: Sequence[Row]) -> dict[str, Any]:
    """Every statistic of every method, in groups that played the same games; a dictionary for JSON."""
    measure = "score" if all(run["score"] is not None for run in runs) else "share_of_maximum"
    methods: dict[str, dict[str, list[float]]] = {}
    for run in runs:
        methods.setdefault(run["method"], {}).setdefault(run["game"], []).append(run[measure])
    groups: dict[frozenset[str], dict[str, ByGame]] = {}
    for name, by_game in methods.items():
        groups.setdefault(frozenset(by_game), {})[name] = by_game
    return {"study": about["study"], "measure": measure, "groups": [_group(group) for group in groups.values()]}


def _group(methods: Mapping[str, ByGame]) -> dict[str, Any]:
    """Methods that played the same games, the best first, and how likely that one beats each."""
    rows: list[dict[str, Any]] = []
    for name, by_game in methods.items():
        aggregates = {label: aggregate(by_game, statistic).as_dict() for label, statistic in STATISTICS.items()}
        rows.append({"method": name, **aggregates, "games": _games(by_game)})
    rows.sort(key=lambda row: -row["interquartile mean"]["value"])
    best = rows[0]["method"]
    for row in rows:
        chance = None if row["method"] == best else probability_of_improvement(methods[best], methods[row["method"]])
        row["best beats it"] = as_json(chance)
    return {"games": list(rows[0]["games"]), "best": best, "methods": rows}


def _games(by_game: ByGame) -> dict[str, Any]:
    return {game: over_seeds(scores).as_dict() for game, scores in by_game.items()}


# The page


def write_page(path: Path, about: Mapping[str, Any], runs: Sequence[Row], found: Mapping[str, Any], command: str) -> None:
    """Write the page, and its figure beside it; `command` is the one that writes it."""
    if path.suffix not in (".md", ".html"):
        raise InvalidOption(f"The page is {path.name}; expected a name that ends in .md or .html.")
    path.parent.mkdir(parents=True, exist_ok=True)
    draw_methods(found, path.with_name(FIGURE))
    parts = _parts(about, runs, found, command)
    text = _as_html(parts) if path.suffix == ".html" else "\n\n".join(_as_markdown(*part) for part in parts) + "\n"
    write_whole(path, text.encode())


def _parts(about: Mapping[str, Any], runs: Sequence[Row], found: Mapping[str, Any], command: str) -> list[tuple[str, Any]]:
    """Kinds of parts with their contents, from top to bottom."""
    measure = {"score": "score (random play 0, blind Bayes 1)", "share_of_maximum": "share of the maximum"}[found["measure"]]
    failures = [["run", "reason", "log"], *([f["name"], f["reason"], f["log"] or ""] for f in about.get("failures", ()))]
    seeds = "" if about.get("exact") else f" (seeds {about['evaluation_seeds']})"
    played = extent_text(about) + seeds
    versions = ", ".join(f"{name} {about['written_by'][name]}" for name in ("edgeworth", "revision", "python", "numpy"))
    return [
        ("title", f"Study: {about['study']}"),
        ("text", about["about"]),
        ("code", f"{about['command']}\n{command}"),
        ("text", f"{counted(len(runs), 'run')}, training seeds {about['training_seeds']}, {played}."),
        ("heading", f"Methods: {measure}"),
        *(part for group in found["groups"] for part in _group_parts(group)),
        ("text", INTERVALS),
        ("image", FIGURE),
        *([("heading", "Failed runs"), ("table", failures)] if about.get("failures") else []),
        ("text", f"Written by {versions}."),
    ]


def _group_parts(group: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """A table of methods over their games and, where they are several, one by game."""
    games, names = group["games"], list(STATISTICS)
    methods, by_game = [["method", *names, "best beats it"]], [["method", *games]]
    for row in group["methods"]:
        methods.append([row["method"], *(_shown(row[name]) for name in names), _shown(row["best beats it"])])
        by_game.append([row["method"], *(_shown(row["games"][game]) for game in games)])
    single = [("text", "By game; means over seeds with 95 % t intervals:"), ("table", by_game)] if len(games) > 1 else []
    return [("text", f"In {', '.join(games)}:"), ("table", methods), *single]


def _shown(estimate: Mapping[str, Any] | None) -> str:
    if estimate is None:
        return "–"
    return f"{estimate['value']:.3f}" if estimate["low"] is None else format(Estimate.from_dict(estimate))


def _as_markdown(kind: str, content: Any) -> str:
    if kind == "table":
        lines = [" | ".join(cell.replace("|", "\\|") for cell in line) for line in content]
        return "\n".join(f"| {line} |" for line in (lines[0], " | ".join(["---"] * len(content[0])), *lines[1:]))
    forms = {"title": "# {}", "heading": "## {}", "code": "```\n{}\n```", "image": "![Methods with their intervals]({})"}
    return forms.get(kind, "{}").format(content)


def _as_html(parts: Sequence[tuple[str, Any]]) -> str:
    forms = {"title": "<h1>{}</h1>", "heading": "<h2>{}</h2>", "code": "<pre>{}</pre>", "image": '<img src="{}" alt="Methods" width="800">'}
    body = []
    for kind, content in parts:
        if kind == "table":
            head, *lines = (["<tr>", *(f"<td>{html.escape(cell)}</td>" for cell in line), "</tr>"] for line in content)
            body.append("<table>" + "".join(head).replace("td>", "th>") + "".join("".join(line) for line in lines) + "</table>")
        else:
            body.append(forms.get(kind, "<p>{}</p>").format(html.escape(str(content))))
    head = ["<!doctype html>", '<meta charset="utf-8">', f"<title>{html.escape(parts[0][1])}</title>", f"<style>{STYLE}</style>"]
    return "\n".join([*head, *body]) + "\n"


def draw_methods(found: Mapping[str, Any], path: Path) -> None:
    """Left: interquartile means with their intervals. Right: how likely the best method beats each."""
    groups = found["groups"]
    rows = [row for group in groups for row in group["methods"]]
    with panels(path, 1, 2, (10.5, 1.8 + 0.42 * len(rows)), sharey=True, width_ratios=(1.4, 1.0)) as (figure, grid):
        left, right = grid[0]
        for y, row in enumerate(rows):
            point(left, row["interquartile mean"], y, ACCENT)
            if row["best beats it"] is not None:
                point(right, row["best beats it"], y, INK)
        name_rows(left, [row["method"] for row in rows], 34, 8.5)
        left.set_ylim(len(rows) - 0.4, -0.6)
        left.set_xlabel(f"interquartile mean of {found['measure'].replace('_', ' ')}", fontsize=8.5)
        right.set_xlim(0.0, 1.02)
        right.set_xlabel("probability that the best method in the same games is better", fontsize=8.5)
        for end in itertools.accumulate(len(group["methods"]) for group in groups[:-1]):
            for axes in (left, right):
                axes.axhline(end - 0.5, color=INK, lw=0.6, ls=":")
        best = "; ".join(f"{group['best']}, {_shown(group['methods'][0]['interquartile mean'])}" for group in groups)
        between = " Dotted lines part methods that played different games." if len(groups) > 1 else ""
        caption(figure, f"Highest interquartile mean: {best}. 95 % stratified bootstrap intervals over seeds.{between}")
