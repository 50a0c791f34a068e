"""Puts the tables of `results/` into the README, between their marks, so that no figure is typed by hand; a test compares."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
SCENARIOS = ("classic", "one_shot", "discounted", "walkaway", "lewis", "lewis_keep_all")
AGENTS = ("oracle", "bayes", "concession", "agree_first", "random", "greedy")


def yardstick_table(result: dict[str, Any]) -> str:
    """The scale of every scenario, one column each."""
    columns = {table["scenario"]: {row["agent"]: row for row in table["rows"]} for table in result["scenarios"]}
    lines = ["| agent | " + " | ".join(f"`{name}`" for name in SCENARIOS) + " |", "|---" * (len(SCENARIOS) + 1) + "|"]
    for agent in AGENTS:
        label = columns[SCENARIOS[0]][agent]["label"]
        lines.append(f"| {label} | " + " | ".join(f"{columns[name][agent]['value']:.3f}" for name in SCENARIOS) + " |")
    return "\n".join(lines)


def filled(text: str, mark: str, table: str) -> str:
    """The text with a table between its marks."""
    pattern = re.compile(rf"(<!-- {mark} table: [^>]*-->\n).*?(<!-- end of table -->)", re.DOTALL)
    assert pattern.search(text), f"README has no place for the {mark} table"
    return pattern.sub(lambda m: m.group(1) + table + "\n" + m.group(2), text)


def bench_table(result: dict[str, Any]) -> str:
    """Steps per second and ratios."""
    lines = ["| what | steps/s | ratio to plain |", "|---|---|---|"]
    return "\n".join(lines)


def readme() -> str:
    """The README with every table as `results/` has it."""
    text = README.read_text(encoding="utf-8")
    text = filled(text, "yardstick", yardstick_table(_load("yardstick_bargaining.json")))
    return filled(text, "bench", bench_table(_load("bench_env.json")))


def _load(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((ROOT / "results" / name).read_text(encoding="utf-8"))
    return content


if __name__ == "__main__":
    README.write_text(readme(), encoding="utf-8")
