"""Tabs of the lab page: none disturbs another, and a closed one leaves nothing behind."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

from benchmarks.server_process import free_port
from table import GAME, PATIENCE, act, lay_out, lines, result, sit_down
from test_auction_floor import LEGAL_RING, MARKET, open_floor, run_step

from running_servers import served, served_in_thread, wait_for


def test_two_markets_do_not_disturb_each_other(tab: Any) -> None:
    other = tab.context.new_page()
    open_floor(tab, f"{MARKET}&steps={LEGAL_RING}")
    open_floor(other, f"{MARKET}&steps={LEGAL_RING}")
    other.get_by_role("button", name="Fine cover bids on proof").click()
    run_step(other, 2)
    run_step(tab, 2)
    assert tab.locator(".tile.whole strong").inner_text() == "0.16" != other.locator(".tile.whole strong").inner_text()
    other.close()
    run_step(tab, 3)


def test_a_closed_tab_a_reload_and_another_screen_leave_no_session_behind(browser: Any, tmp_path: Path) -> None:
    with served_in_thread(tmp_path) as address:
        context = browser.new_context(base_url=address)
        page = context.new_page()

        def sessions() -> int:
            return len(context.request.get(f"{address}/sessions").json()["sessions"])

        sit_down(page, f"{GAME}&moves=P2.1.2")
        before = lines(page, 2)
        assert sessions() == 1
        page.reload()
        assert lines(page, 2) == before
        wait_for(lambda: sessions() == 1)
        page.get_by_role("link", name="Market").click()
        page.locator(".ladder").wait_for(timeout=PATIENCE)
        wait_for(lambda: sessions() == 1)
        page.get_by_role("link", name="Runs").click()
        wait_for(lambda: sessions() == 0)
        page.go_back()
        page.locator(".ladder").wait_for(timeout=PATIENCE)
        page.close(run_before_unload=True)
        wait_for(lambda: sessions() == 0)
        context.close()


def test_a_page_that_comes_back_from_the_history_still_plays(browser: Any, tmp_path: Path) -> None:
    with served_in_thread(tmp_path) as address:
        page = browser.new_context(base_url=address).new_page()
        sit_down(page, f"{GAME}&moves=P2.1.2")
        page.goto(f"{address}/blog.md")
        page.go_back()
        lines(page, 2)
        lay_out(page, (2, 0, 0))
        act(page, "Insist").click()
        assert "You got 6 of 10 points" in result(page)
        page.context.close()


def test_a_market_survives_a_server_that_is_killed_and_started_again(browser: Any, tmp_path: Path) -> None:
    port = str(free_port())
    page = browser.new_context().new_page()
    with served(tmp_path, "--port", port) as server:
        open_floor(page, f"{server.address()}{MARKET}&steps={LEGAL_RING}")
        server.stop(signal.SIGKILL)
    page.get_by_role("button", name="Run step 2 of").click()
    page.get_by_text("The server does not answer.").wait_for(timeout=PATIENCE)
    with served(tmp_path, "--port", port) as server:
        server.address()
        page.get_by_role("button", name="Try again").click()
        page.get_by_role("heading", name="Step 2, sale 1 of 5").wait_for(timeout=PATIENCE)
        assert page.locator(".tile.whole strong").inner_text() == "0.16"
        page.context.close()


def test_a_deal_is_struck_on_a_phone(browser: Any, server: str) -> None:
    context = browser.new_context(
        base_url=server, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, color_scheme="dark"
    )
    page = context.new_page()
    sit_down(page)
    for row, wanted in enumerate((2, 0, 0)):
        while (mine := page.locator(".cell.you").nth(row).locator(".token")).count() != wanted:
            (mine if mine.count() > wanted else page.locator(".cell.they").nth(row).locator(".token")).first.tap()
    act(page, "Insist").tap()
    assert "You got 6 of 10 points" in result(page)
    context.close()
