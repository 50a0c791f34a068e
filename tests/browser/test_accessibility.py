"""Every screen of the lab page under axe-core, in light and dark, wide and narrow: no finding at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from table import GAME, PATIENCE, sit_down

from edgeworth.runlog import RunLog
from running_servers import served_in_thread

axe = pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed; it is in the `dev` extra."
)

RIGGED = "1010110-0.2-0.5-0.5-0"
RESULTS = Path(__file__).resolve().parents[2] / "results"


def nothing(_: Any) -> None:
    """The screen as it opens."""


def click(selector: str, then: str) -> Callable[[Any], None]:
    """Something to press, and what shows that it has worked."""

    def press(page: Any) -> None:
        if page.locator(selector).first.is_visible():  # the sheet's handle is not on wide screens
            page.locator(selector).first.click()
        page.locator(then).first.wait_for(timeout=PATIENCE)

    return press


SCREENS: dict[str, tuple[str, str, Callable[[Any], None]]] = {
    "first screen": ("/", ".ladder", nothing),
    "first screen after the fine": ("/", ".ladder", click("[data-key=fine]", "text=The ring breaks up")),
    "about": ("/#/about", "h1", nothing),
    "bargaining": (f"{GAME}&moves=P2.1.2", ".chat .they", nothing),
    "hints": (GAME, ".act", click("[data-key=hints]", "[data-key=use-bayes]")),
    "watching": (f"{GAME}&watch=random", ".watch", nothing),
    "end of a negotiation": (f"{GAME}&moves=I2.0.0", ".frontier", nothing),
    "market": (f"/#/market?stage=4&seed=8&steps={RIGGED}", ".ladder", nothing),
    "market with the rules": (f"/#/market?stage=4&seed=8&reveal=1&steps={RIGGED}~{RIGGED}", ".ladder", click(".handle", ".mechanism")),
    "runs": ("/#/runs", ".run-figures .lane", nothing),
    "results": ("/#/results", ".axis", nothing),
    "long study": ("/#/results?study=games%2Fauction", ".study img", nothing),
    "study": ("/#/results?study=tournament", ".study img", nothing),
}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("accessible")
    log = RunLog.begin(folder / "runs" / "one", {"algo": "ppo"}, "edgeworth train", with_tensorboard=False)
    for steps in range(3):
        log.add({"steps": steps, "reward": float(steps)})
    log.close()
    with served_in_thread(folder, runs=str(folder / "runs"), results=str(RESULTS)) as address:
        yield address


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")])
def test_no_screen_has_a_finding_or_an_error_in_its_console(browser: Any, lab: str, width: int, scheme: str) -> None:
    context = browser.new_context(base_url=lab, viewport={"width": width, "height": 844}, color_scheme=scheme, reduced_motion="reduce")
    found: dict[str, list[str]] = {}
    for name, (link, shown, press) in SCREENS.items():
        page, said = context.new_page(), []
        page.on("console", lambda message, said=said: said.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error, said=said: said.append(str(error)))
        page.goto(link)
        page.locator(shown).first.wait_for(timeout=PATIENCE)
        press(page)
        wrong = axe.Axe().run(page).response["violations"]
        found[name] = [f"{each['id']}: {node['html'][:120]}" for each in wrong for node in each["nodes"][:3]] + said
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        page.close()
    context.close()
    assert {name: problems for name, problems in found.items() if problems} == {}


def test_the_keyboard_alone_reaches_everything_in_the_rules(tab: Any) -> None:
    tab.goto(f"/#/market?stage=3&seed=8&steps={RIGGED}")
    tab.locator('[data-key="run"]:enabled').wait_for(timeout=PATIENCE)
    tab.locator('[data-key="run"]').focus()
    reached = set()
    for _ in range(40):
        tab.keyboard.press("Tab")
        reached.add(tab.evaluate("document.activeElement.dataset.key ?? ''"))
    assert {
        "proof",
        "preset",
        "designer",
        "ask",
        "auction_type-second_price",
        "reserve_price",
        "reveal_reserve",
        "coalition_policy-allow",
    } <= reached
    tab.locator('[data-key="auction_type-second_price"]').focus()
    tab.keyboard.press("ArrowRight")
    assert tab.get_by_label("VCG").is_checked() and tab.evaluate("document.activeElement.dataset.key") == "auction_type-vcg"


def test_the_skip_link_comes_first_and_leads_to_the_content(tab: Any) -> None:
    sit_down(tab)
    tab.evaluate("document.activeElement.blur()")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "main" and "bargain" in tab.url
