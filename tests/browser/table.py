"""The bargaining table in a browser, by what a player sees of it."""

from __future__ import annotations

from typing import Any

GAME = "/#/bargain?scenario=lewis&partner=heuristic&seed=11"
"""The agent opens: 2 books, 1 hat and 2 balls, worth 3, 2 and 1 to it and 2 each to the partner."""
PATIENCE = 60_000
"""Milliseconds, for a machine that is busy with other tests."""


def sit_down(tab: Any, link: str = GAME) -> None:
    """Open a game, and wait until a move can be made."""
    tab.goto(link)
    tab.locator(".act, .watch:not([hidden])").first.wait_for(timeout=PATIENCE)


def act(tab: Any, name: str) -> Any:
    """The button of an act."""
    return tab.locator(".act").filter(has=tab.locator(f"strong:text-matches('^{name}')"))


def lay_out(tab: Any, share: tuple[int, int, int]) -> None:
    """Click items until the split on the table is this one."""
    for row, wanted in enumerate(share):
        mine, theirs = (tab.locator(f".cell.{side}").nth(row).locator(".token") for side in ("you", "they"))
        while mine.count() != wanted:
            (mine if mine.count() > wanted else theirs).first.click()


def say(tab: Any, words: str) -> Any:
    """Type a sentence and press Enter; how it was understood."""
    tab.get_by_label("Or say it in your own words").fill(words)
    tab.keyboard.press("Enter")
    tab.locator(".reading p").wait_for(timeout=PATIENCE)
    return tab.locator(".reading").inner_text()


def lines(tab: Any, number: int) -> list[str]:
    """The conversation, once it has so many lines."""
    tab.locator(".chat li:not(.event)").nth(number - 1).wait_for(timeout=PATIENCE)
    found: list[str] = tab.locator(".chat li:not(.event)").all_inner_texts()
    return found


def result(tab: Any) -> str:
    """What the page says of a finished game."""
    tab.locator(".result .frontier").wait_for(timeout=PATIENCE)
    text: str = tab.locator(".result").inner_text()
    return text
