"""The auction floor of the lab page, played in a browser."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

from table import PATIENCE

LEGAL_RING = "1010110-0.2-0.5-0.5-0"
MARKET = "/#/market?stage=3&seed=8"


def open_floor(tab: Any, link: str = MARKET) -> None:
    tab.goto(link)
    tab.locator('[data-key="run"]:enabled, [data-key="new"].main').first.wait_for(timeout=PATIENCE)


def run_step(tab: Any, number: int) -> None:
    tab.get_by_role("button", name=f"Run step {number} of").click()
    tab.get_by_role("heading", name=f"Step {number}, sale 1 of 5").wait_for(timeout=PATIENCE)


def test_the_first_screen_shows_a_ring_at_work_and_one_button_breaks_it_up(tab: Any) -> None:
    tab.goto("/")
    tab.get_by_text("ring of 8: rigs").wait_for(timeout=PATIENCE)
    assert (
        "all 3 lots go for .21" in tab.locator(".first").inner_text()
        and "while the ring was legal\t19 %" in tab.locator(".profits").inner_text()
    )
    tab.get_by_role("button", name="Fine cover bids on proof").click()
    tab.get_by_role("heading", name="The ring breaks up").wait_for(timeout=PATIENCE)
    assert "4 of 8 members have left" in tab.locator(".first").inner_text() and "72 %" in tab.locator(".profits").inner_text()
    tab.get_by_role("link", name="Change the rules yourself").click()
    tab.get_by_role("heading", name="Step 3, sale 1 of 5").wait_for(timeout=PATIENCE)
    assert "R rose from 0.22 to 0.65" in tab.locator(".verdict-line").inner_text()


def test_a_rigged_market_is_mended_by_fines_on_proof(tab: Any) -> None:
    open_floor(tab, f"{MARKET}&reveal=1&steps={LEGAL_RING}~{LEGAL_RING}")
    tab.get_by_text("ring of 8: rigs").wait_for(timeout=PATIENCE)
    assert tab.locator(".tile.whole strong").inner_text() == "0.16"
    tab.get_by_role("button", name="Fine cover bids on proof").click()
    assert "Rings are: legal → fined on proof" in tab.locator(".actions").inner_text()
    run_step(tab, 3)
    assert "R rose from 0.16 to 0.65" in tab.locator(".verdict-line").inner_text()
    assert tab.get_by_text("ring of 4: rigs").is_visible()


def test_the_floor_opens_in_mid_game(tab: Any) -> None:
    open_floor(tab, "/#/market")
    assert tab.get_by_role("heading", name="Step 2, sale 1 of 5").is_visible() and tab.locator(".bid").count() > 3


def test_rules_can_begin_with_the_published_ones_or_the_best_constant(tab: Any) -> None:
    open_floor(tab)
    presets = tab.get_by_label("Begin with the rules of")
    assert presets.locator("option:checked").inner_text() == "textbook second price, rings legal"
    presets.select_option(label="published card (informed greedy)")
    assert tab.get_by_label("fined on suspicion").is_checked() and '"reserve_price": 0.18' in tab.locator(".mechanism pre").text_content()
    presets.select_option(label="best constant for a ring")
    assert presets.locator("option").first.inner_text() == "best constant for a ring"
    tab.locator('[data-key="reserve_price"]').fill("0.77")
    assert presets.locator("option:checked").inner_text() == "your own"
    run_step(tab, 1)


def test_on_a_phone_the_controls_are_in_a_sheet(browser: Any, server: str) -> None:
    page = browser.new_context(base_url=server, viewport={"width": 390, "height": 844}, has_touch=True).new_page()
    open_floor(page, f"{MARKET}&steps={LEGAL_RING}")
    assert not page.get_by_label("VCG").is_visible() and not page.get_by_label("Population").is_visible()
    page.get_by_role("button", name="Change the rules").tap()
    page.get_by_label("VCG").check()
    assert page.get_by_label("Population").is_visible()
    page.keyboard.press("Escape")
    assert not page.get_by_label("VCG").is_visible()
    page.get_by_role("button", name="Run step 2 of").tap()
    page.get_by_role("heading", name="Step 2, sale 1 of 5").wait_for(timeout=PATIENCE)
    assert page.locator(".ladder").bounding_box()["y"] < 844
    page.context.close()


def test_what_is_true_is_hidden_until_it_is_revealed(tab: Any) -> None:
    open_floor(tab)
    run_step(tab, 1)
    assert (
        set(tab.locator(".ladder .type").all_text_contents()) == {"?"} and tab.locator(".ladder .ring, .ladder .value, .story").count() == 0
    )
    assert "colluder" not in tab.locator("main").inner_text() and "Hidden." in tab.locator(".floor").inner_text()
    tab.get_by_label("Show what is true").check()
    assert set(tab.locator(".ladder .type").all_text_contents()) == {"C", "S"} and "colluder" in tab.locator(".floor").inner_text()


def test_sales_are_played_paused_and_stepped_through(tab: Any) -> None:
    tab.clock.install()
    open_floor(tab)
    tab.clock.pause_at(datetime.now() + timedelta(hours=1))  # the page's clock, so that no sale is over before we look
    run_step(tab, 1)
    tab.get_by_role("button", name="Pause").click()
    tab.clock.run_for(60_000)
    for sale in range(2, 6):
        tab.get_by_role("button", name="Next").click()
        assert tab.get_by_role("heading", name=f"Step 1, sale {sale} of 5").is_visible()
    assert tab.get_by_role("button", name="Next").is_disabled() and tab.locator(".lots li").count() == 3
    tab.get_by_label("Speed").select_option("fast")
    tab.get_by_role("button", name="Play", exact=True).click()
    for sale in range(1, 6):
        assert tab.get_by_role("heading", name=f"Step 1, sale {sale} of 5").is_visible()
        tab.clock.run_for(900)
    assert tab.get_by_role("heading", name="Step 1, sale 5 of 5").is_visible()


def test_a_link_and_a_reload_show_the_same_market(tab: Any) -> None:
    open_floor(tab, f"{MARKET}&steps={LEGAL_RING}~{LEGAL_RING}")
    before = tab.locator(".tiles").inner_text()
    assert "0.16" in before
    tab.reload()
    tab.get_by_role("heading", name="Step 2, sale 1 of 5").wait_for(timeout=PATIENCE)
    assert tab.locator(".tiles").inner_text() == before
    tab.locator('[data-key="Step"]').select_option("1")
    tab.get_by_role("heading", name="Step 1, sale 1 of 5").wait_for(timeout=PATIENCE)


def test_a_designer_can_be_asked_and_says_what_it_changes(tab: Any) -> None:
    open_floor(tab)
    tab.get_by_label("Or ask a designer").select_option("informed_greedy")
    tab.get_by_role("button", name="Ask for rules").click()
    tab.get_by_text("informed greedy: ").wait_for(timeout=PATIENCE)
    assert tab.get_by_label("fined on suspicion").is_checked()
    run_step(tab, 1)


def test_controls_change_the_rules_that_are_posted(tab: Any) -> None:
    open_floor(tab)
    assert tab.locator('[data-key="collusion_penalty"]').is_disabled()
    tab.get_by_label("fined on proof").check()
    tab.get_by_label("VCG").check()
    tab.get_by_label("Publish a histogram of bids").check()
    tab.locator('[data-key="reserve_price"]').fill("0.31")
    run_step(tab, 1)
    assert tab.url.endswith("steps=2310111-0.31-0.5-0.5-0")


def test_an_episode_ends_and_another_one_can_be_begun(tab: Any) -> None:
    open_floor(tab, f"/#/market?stage=0&seed=8&length=2&bidders=4&steps={LEGAL_RING}")
    run_step(tab, 2)
    assert "The episode is over." in tab.locator(".actions").inner_text()
    tab.get_by_role("button", name="New market").click()
    tab.locator('[data-key="run"]:enabled').wait_for(timeout=PATIENCE)
    assert not re.search(r"seed=8\b", tab.url)


def test_two_designers_race_on_the_same_market(tab: Any) -> None:
    open_floor(tab, "/#/market?stage=3&seed=8&length=3")
    tab.locator('[data-key="racer-0"]').select_option("uniform")
    tab.locator('[data-key="racer-1"]').select_option("best_constant")
    tab.get_by_role("button", name="Race").click()
    tab.get_by_text("on average over 3 steps").wait_for(timeout=60_000)
    assert "They part at step 1" in tab.locator(".race .verdict").inner_text() and tab.locator(".lane").count() == 2
    tab.get_by_role("button", name="Race").wait_for()


def test_a_designer_that_races_itself_never_parts(tab: Any) -> None:
    open_floor(tab, "/#/market?stage=3&seed=8&length=2")
    for place in range(2):
        tab.locator(f'[data-key="racer-{place}"]').select_option("best_constant")
    tab.get_by_role("button", name="Race").click()
    tab.get_by_text("on average over 2 steps").wait_for(timeout=60_000)
    assert "They have not parted" in tab.locator(".race .verdict").inner_text()


def test_a_press_on_a_score_says_what_it_is(tab: Any) -> None:
    open_floor(tab, f"{MARKET}&steps={LEGAL_RING}~{LEGAL_RING}")
    before = tab.locator(".verdict-line").inner_text()
    tab.get_by_role("button", name="welfare").click()
    assert "Realised gains from trade" in tab.locator(".verdict-line").inner_text()
    tab.get_by_role("button", name="welfare").click()
    assert tab.locator(".verdict-line").inner_text() == before


def test_asking_a_designer_can_be_cancelled(tab: Any) -> None:
    open_floor(tab)
    tab.route("**/api/design", lambda route: None)  # a designer that takes its time
    tab.get_by_role("button", name="Ask for rules").click()
    tab.get_by_role("button", name="Cancel").click()
    assert tab.get_by_role("button", name="Ask for rules").is_enabled() and "Asking" not in tab.locator(".actions").inner_text()
    run_step(tab, 1)
