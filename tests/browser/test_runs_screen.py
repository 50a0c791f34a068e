"""The runs on the lab page, in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from table import PATIENCE

from edgeworth.runlog import RunLog
from running_servers import served_in_thread


def begun(folder: Path) -> RunLog:
    log = RunLog.begin(folder, {"algo": "ppo"}, "edgeworth train", with_tensorboard=False)
    log.add({"steps": 0, "iteration": 1, "entropy": 2.0, "reward": 1.0})
    return log


def test_runs_are_compared_and_grow_while_they_train(browser: Any, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    one, _ = begun(runs / "one"), begun(runs / "other")
    with served_in_thread(tmp_path, runs=str(runs)) as address:
        page = browser.new_context(base_url=address).new_page()
        page.goto("/#/runs?show=one")
        page.get_by_text("one: 1 line").wait_for(timeout=PATIENCE)
        assert page.locator(".run-figures figcaption").all_inner_texts() == ["reward", "entropy"]
        one.add({"steps": 10, "iteration": 2, "entropy": 1.5, "reward": 3.0})
        page.get_by_text("one: 2 lines").wait_for(timeout=PATIENCE)
        page.get_by_label("other").check()
        page.get_by_text("other: 1 line").wait_for(timeout=PATIENCE)
        assert page.url.endswith("show=one%2Cother") and page.locator(".run-figures figure").first.locator(".lane").count() == 2
        page.context.close()


def test_without_runs_the_page_says_how_to_begin_one(tab: Any) -> None:
    tab.goto("/#/runs")
    tab.get_by_text("edgeworth train --algo ppo").wait_for(timeout=PATIENCE)
