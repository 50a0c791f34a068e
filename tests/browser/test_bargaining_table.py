"""The bargaining table of the lab page, played in a browser."""

from __future__ import annotations

import re
from typing import Any

from table import GAME, PATIENCE, act, lay_out, lines, result, say, sit_down


def test_a_negotiation_is_played_by_clicks(tab: Any) -> None:
    sit_down(tab)
    lay_out(tab, (2, 1, 2))
    assert "10 of 10 points" in tab.locator(".worth").inner_text()
    act(tab, "Propose").click()
    assert "you get 2 books, 1 hat, 2 balls (10 points)" in lines(tab, 2)[0]
    lay_out(tab, (2, 0, 0))
    act(tab, "Insist").click()
    assert "You got 6 of 10 points" in result(tab)
    assert "They accepted your offer." in tab.locator(".chat").inner_text()
    assert "6 points" in tab.locator(".worth .they").inner_text() and "hidden" not in tab.locator(".pool").inner_text()


def test_the_best_blind_plan_is_on_the_frontier(tab: Any) -> None:
    tab.goto(f"{GAME}&moves=I2.0.0")
    assert "best blind plan" in result(tab)
    planned = re.search(r"best blind plan gives you (\d+) and them (\d+)", tab.locator("svg.frontier").get_attribute("aria-label"))
    assert planned is not None
    tips = tab.locator("svg.frontier title").all_text_contents()
    assert f"The best blind plan's deal: you {planned[1]}, they {planned[2]}" in "".join(tips)


def test_a_negotiation_is_played_in_words(tab: Any) -> None:
    sit_down(tab)
    assert "PROPOSE: you get 2 books, 1 hat, 1 ball, 9 points" in say(tab, "I'd like both books, the hat and one ball")
    assert tab.locator(".chat li:not(.event)").count() == 0
    tab.keyboard.press("Enter")
    assert "I'd like both books, the hat and one ball" in lines(tab, 2)[0]
    assert "AGREE: you accept" in say(tab, "ok, deal")
    tab.keyboard.press("Enter")
    assert "of 10 points" in result(tab) and "You accepted their offer." in tab.locator(".chat").inner_text()


def test_a_sentence_can_be_taken_back_and_one_without_a_move_says_so(tab: Any) -> None:
    sit_down(tab)
    assert "I read no move" in say(tab, "good morning")
    say(tab, "i take the hat and you get the rest")
    tab.keyboard.press("Escape")
    assert tab.locator(".reading").inner_text() == "" and tab.locator(".chat li:not(.event)").count() == 0


def test_what_a_player_types_stays_text(tab: Any) -> None:
    sit_down(tab)
    say(tab, "i take the hat, you get the rest <b>now</b><img src=x onerror=alert(1)>")
    tab.keyboard.press("Enter")
    assert "<b>now</b><img src=x onerror=alert(1)>" in lines(tab, 1)[0]
    assert tab.locator(".chat b, .chat img").count() == 0


def test_illegal_moves_cannot_be_made(tab: Any) -> None:
    sit_down(tab)
    assert act(tab, "Agree").is_disabled() and "no offer yet" in act(tab, "Agree").inner_text()
    act(tab, "Disagree").click()
    assert "no deal" in tab.locator(".chat .end").inner_text(timeout=PATIENCE)
    result(tab)
    assert tab.locator(".act").count() == 0 and tab.locator(".token:enabled").count() == 0 and not tab.locator("#say").is_visible()


def test_the_last_move_allows_no_offer_that_nobody_could_answer(tab: Any) -> None:
    sit_down(tab, "/#/bargain?scenario=one_shot&partner=heuristic&seed=3")
    for row in range(3):
        while (theirs := tab.locator(".cell.they").nth(row).locator(".token")).count():
            theirs.first.click()
    act(tab, "Propose").click()
    lines(tab, 2)
    assert act(tab, "Propose").is_disabled() and act(tab, "Insist").is_disabled() and act(tab, "Agree").is_enabled()


def test_everything_can_be_done_with_the_keyboard(tab: Any) -> None:
    sit_down(tab)
    tab.locator(".cell.you .token").first.focus()
    tab.keyboard.press("ArrowRight")
    assert tab.locator(".cell.you").nth(0).locator(".token").count() == 0
    assert tab.evaluate("document.activeElement.classList.contains('token')")
    tab.keyboard.press("ArrowLeft")
    act(tab, "Propose").focus()
    tab.keyboard.press("Enter")
    assert lines(tab, 2)


def test_an_item_can_be_dragged_to_the_other_side(tab: Any) -> None:
    sit_down(tab)
    before = tab.locator(".cell.you").nth(0).locator(".token").count()
    tab.locator(".cell.they").nth(0).locator(".token").first.drag_to(tab.locator(".cell.you").nth(0))
    assert tab.locator(".cell.you").nth(0).locator(".token").count() == before + 1


def test_a_reload_and_a_link_show_the_same_game_at_the_same_move(tab: Any) -> None:
    sit_down(tab)
    lay_out(tab, (2, 1, 2))
    act(tab, "Propose").click()
    before = lines(tab, 2)
    assert tab.url.endswith("moves=P2.1.2")
    tab.reload()
    assert lines(tab, 2) == before
    other = tab.context.new_page()
    other.goto(tab.url)
    assert lines(other, 2) == before


def test_moves_are_taken_back_and_games_started_over(tab: Any) -> None:
    from playwright.sync_api import expect

    sit_down(tab, f"{GAME}&moves=P2.1.2~P2.1.1")
    lines(tab, 4)
    tab.get_by_role("button", name="Take back a move").click()
    tab.wait_for_url("**moves=P2.1.2")
    assert len(lines(tab, 2)) == 2
    tab.get_by_role("button", name="Start over").click()
    tab.wait_for_url(lambda url: "moves" not in url)
    tab.get_by_role("button", name="New game").click()
    tab.wait_for_url(lambda url: not re.search(r"seed=11\b", url))
    tab.go_back()
    tab.wait_for_url(lambda url: bool(re.search(r"seed=11\b", url)))
    expect(tab.locator("input[name=seed]")).to_have_value("11", timeout=PATIENCE)
    tab.locator(".act:enabled").first.wait_for(timeout=PATIENCE)


def test_two_tabs_do_not_disturb_each_other(tab: Any) -> None:
    other = tab.context.new_page()
    sit_down(tab)
    sit_down(other)
    lay_out(tab, (2, 1, 2))
    act(tab, "Propose").click()
    lines(tab, 2)
    lay_out(other, (2, 0, 0))
    act(other, "Insist").click()
    assert "You got 6 of 10 points" in result(other)
    assert len(lines(tab, 2)) == 2 and act(tab, "Agree").is_enabled()


def test_hints_stand_side_by_side_and_can_be_used(tab: Any) -> None:
    sit_down(tab)
    tab.get_by_role("button", name="Ask for hints").click()
    use = tab.get_by_role("button", name="Use the hint of the bayes plan")
    use.wait_for(timeout=PATIENCE)
    hinted = re.search(r"(PROPOSE|INSIST) .* \((\d+) points?\)", tab.locator(".advisers .panel").nth(1).inner_text())
    assert hinted is not None
    use.click()
    assert f"{hinted[2]} of 10 points" in tab.locator(".worth").inner_text()
    assert tab.evaluate("document.activeElement.innerText").upper().startswith(hinted[1])
    assert {"Random player", "Bayes plan", "Trained expert", "Language model"} == set(tab.locator(".advisers h3").all_inner_texts())


def test_an_agent_can_be_watched_to_the_end(tab: Any) -> None:
    sit_down(tab, "/#/bargain?scenario=lewis&partner=heuristic&seed=7&watch=random")
    tab.get_by_label("Speed").select_option("fast")
    tab.locator(".result .frontier").wait_for(timeout=60_000)
    assert "Your agent got" in result(tab) and "your agent" in tab.locator(".chat").inner_text()


def test_watching_an_agent_that_has_no_plan_says_why(tab: Any) -> None:
    sit_down(tab, "/#/bargain?scenario=lewis&partner=human_clone&seed=7&watch=bayes")
    tab.get_by_text("partners of the rules").first.wait_for(timeout=PATIENCE)
    assert tab.get_by_role("button", name="Play").is_visible()
