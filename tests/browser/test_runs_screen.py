"""The runs on the lab page, in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from table import PATIENCE

from edgeworth.runlog import RunLog
from running_servers import served_in_thread, wait_for


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
        page.get_by_role("checkbox", name="other").check()
        page.get_by_text("other: 1 line").wait_for(timeout=PATIENCE)
        page.wait_for_url("**show=one%2Cother")
        wait_for(lambda: page.locator(".run-figures figure").first.locator(".lane").count() == 2)
        page.context.close()


def test_without_runs_the_page_says_how_to_begin_one(tab: Any) -> None:
    tab.goto("/#/runs")
    tab.get_by_text("edgeworth train --algo ppo").first.wait_for(timeout=PATIENCE)


def test_a_training_is_started_watched_and_cancelled(browser: Any, tmp_path: Path) -> None:
    with served_in_thread(tmp_path, runs=str(tmp_path / "runs")) as address:
        page = browser.new_context(base_url=address).new_page()
        page.goto("/#/runs")
        page.get_by_label("Moves").select_option("200000")
        page.get_by_role("button", name="Start training").click()
        page.get_by_text("page_ppo_fast_lewis_seed0 has finished.").wait_for(timeout=90_000)
        page.locator(".run-figures .lane").first.wait_for(timeout=PATIENCE)
        assert "page_ppo_fast_lewis_seed0" in page.url
        page.get_by_label("Moves").select_option("20000000")
        page.get_by_label("Seed", exact=True).fill("5")
        page.get_by_label("Seed", exact=True).press("Enter")
        page.get_by_text("seed5 has made").wait_for(timeout=90_000)
        page.get_by_role("button", name="Cancel").click()
        page.get_by_text("was cancelled; what it had learnt is saved.").wait_for(timeout=PATIENCE)
        assert page.get_by_role("button", name="Start training").is_enabled()
        page.context.close()


def test_a_server_with_tokens_says_that_it_trains_nothing(browser: Any, tmp_path: Path) -> None:
    with served_in_thread(tmp_path, tokens=(("alice", "a-token-of-alice"),)) as address:
        page = browser.new_context(base_url=address).new_page()
        page.goto("/#/runs")
        page.get_by_label("Your token").fill("a-token-of-alice")
        page.keyboard.press("Enter")
        page.get_by_text("Training is started from a terminal instead").wait_for(timeout=PATIENCE)
        assert page.get_by_role("button", name="Start training").count() == 0
        page.context.close()


def test_the_share_of_the_maximum_is_drawn_beside_its_yardsticks(browser: Any, tmp_path: Path) -> None:
    for name, scenario in (("one", "lewis"), ("other", "classic")):
        log = RunLog.begin(tmp_path / "runs" / name, {"env": {"scenario": scenario}}, "edgeworth train", with_tensorboard=False)
        log.add({"steps": 10, "share_of_maximum": 0.5})
        log.close()
    results = Path(__file__).resolve().parents[2] / "results"
    with served_in_thread(tmp_path, runs=str(tmp_path / "runs"), results=str(results)) as address:
        page = browser.new_context(base_url=address).new_page()
        page.goto("/#/runs?show=one")
        page.locator(".run-figures .yardstick").first.wait_for(timeout=PATIENCE)
        assert page.locator(".run-figures .yardstick").all_text_contents() == ["random 0.209", "best blind plan 0.836"]
        page.get_by_role("checkbox", name="other").check()
        page.get_by_text("other: 1 line").wait_for(timeout=PATIENCE)
        wait_for(lambda: page.locator(".run-figures .yardstick").count() == 0)  # the runs play different games
        page.context.close()
