"""The lab page as a whole: its screens, tokens, sizes, and a server that goes away."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
from benchmarks.server_process import free_port
from table import GAME, PATIENCE, act, lay_out, lines, result, sit_down

from running_servers import served, served_in_thread

MARKET = "/#/market?stage=3&seed=8&reveal=1&steps=1010110-0.2-0.5-0.5-0"
SCREENS = {"/": "#version", "/#/about": "h1", f"{GAME}&moves=P2.1.2": ".chat .they", f"{GAME}&moves=I2.0.0": ".frontier", MARKET: ".ladder"}
"""Addresses, and what shows that the screen is there."""


def test_the_first_screen_leads_to_a_game_and_shows_the_version(tab: Any) -> None:
    tab.goto("/")
    assert tab.locator("#version").inner_text(timeout=PATIENCE).startswith("Edgeworth ")
    tab.get_by_role("link", name="Bargain with a trained agent").click()
    act(tab, "Propose").wait_for(timeout=PATIENCE)
    tab.get_by_role("link", name="About").click()
    tab.get_by_role("heading", name="About this server").wait_for(timeout=PATIENCE)
    assert tab.locator("nav a[aria-current]").all_inner_texts() == ["About"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 768, 1440])
def test_no_screen_is_wider_than_the_window(browser: Any, server: str, width: int, scheme: str) -> None:
    context = browser.new_context(base_url=server, viewport={"width": width, "height": 780}, color_scheme=scheme)
    page = context.new_page()
    for link, shown in (
        ("/", "#version"),
        ("/#/about", "h1"),
        (f"{GAME}&moves=P2.1.2", ".chat .they"),
        (f"{GAME}&moves=I2.0.0", ".frontier"),
    ):
        page.goto("about:blank")
        page.goto(link)
        page.locator(shown).first.wait_for(timeout=PATIENCE)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, link
    context.close()


def test_a_server_with_tokens_asks_for_one_and_says_when_it_is_wrong(browser: Any, tmp_path: Path) -> None:
    with served_in_thread(tmp_path, tokens=(("alice", "a-token-of-alice"),)) as address:
        page = browser.new_context(base_url=address).new_page()
        page.goto(GAME)
        page.get_by_label("Your token").fill("wrong")
        page.keyboard.press("Enter")
        page.get_by_text("Nobody has the token that was sent.").wait_for(timeout=PATIENCE)
        page.get_by_label("Your token").fill("a-token-of-alice")
        page.keyboard.press("Enter")
        lay_out_when_ready(page)
        act(page, "Insist").click()
        assert "You got 6 of 10 points" in result(page)
        page.context.close()


def lay_out_when_ready(page: Any) -> None:
    act(page, "Propose").wait_for(timeout=PATIENCE)
    lay_out(page, (2, 0, 0))


def test_a_game_survives_a_server_that_is_killed_and_started_again(browser: Any, tmp_path: Path) -> None:
    port = str(free_port())
    page = browser.new_context().new_page()
    with served(tmp_path, "--port", port) as server:
        sit_down(page, server.address() + GAME)
        lay_out(page, (2, 1, 2))
        act(page, "Propose").click()
        before = lines(page, 2)
        server.stop(signal.SIGKILL)
    lay_out(page, (2, 0, 0))
    act(page, "Insist").click()
    page.get_by_text("The server does not answer.").wait_for(timeout=PATIENCE)
    with served(tmp_path, "--port", port) as server:
        server.address()
        page.get_by_role("button", name="Try again").click()
        assert "You got 6 of 10 points" in result(page) and lines(page, 4)[:2] == before
    page.context.close()


def test_a_session_that_is_gone_is_opened_again(tab: Any, server: str) -> None:
    gone: list[str] = []
    tab.on("request", lambda request: gone.append(request.post_data_json["session_id"]) if request.url.endswith("/reset") else None)
    sit_down(tab)
    assert tab.request.delete(f"{server}/sessions/{gone[-1]}").status == 204
    lay_out(tab, (2, 1, 2))
    act(tab, "Propose").click()
    assert len(lines(tab, 2)) == 2


def test_an_address_that_makes_no_sense_opens_a_sensible_game(tab: Any) -> None:
    sit_down(tab, "/#/bargain?scenario=nonsense&partner=nobody&seed=x&moves=Q9&watch=me")
    assert tab.locator("select[name=scenario]").input_value() == "classic" and act(tab, "Propose").is_enabled()


def test_a_link_with_an_illegal_move_says_which_rule_it_breaks(browser: Any, server: str) -> None:
    page = browser.new_context(base_url=server).new_page()
    page.goto(f"{GAME}&moves=P9.9.9")
    page.locator(".problem").wait_for(timeout=PATIENCE)
    assert "Start over" in page.locator("main").inner_text()
    page.context.close()
