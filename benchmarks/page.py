"""How quickly the lab page appears and follows the server, and how much it weighs, in Debian's Chromium.

Each round opens the page in a new browser context, so that nothing is cached, and then makes a move on each game's screen. The browser
itself takes the times (Performance API): the first contentful paint since navigation, the first screen's sale since navigation, and the
frame after a move's drawing since the last answer that it needed had arrived.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType

from benchmarks.command import Repeats, report, start, targets_table
from benchmarks.measuring import machine_facts, summary, target
from benchmarks.server_process import free_port, our_server, running
from edgeworth.cli.options import AsJson, OutFile
from edgeworth.errors import InvalidOption, MissingExtra
from edgeworth.progress import Progress, silent

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync"]
BARGAINING = "/#/bargain?scenario=lewis&partner=heuristic&seed=11"
MARKET = "/#/market?stage=3&seed=8&reveal=1&steps=1010110-0.2-0.5-0.5-0"
PATIENCE = 30_000
ROUND_TRIPS = {
    "bargaining": (BARGAINING, '[data-key="act-0"]', ".chat li.they", "/bargaining/transcript"),
    "market": (MARKET, '[data-key="run"]', "[aria-label='The sales'] h2", "/sales"),
}
"""By game: the address, what is pressed, what then changes, and the last answer that the drawing needs."""
LABELS = {
    "first_paint": "first contentful paint, milliseconds since navigation",
    "first_sale": "the first screen's sale drawn, milliseconds since navigation",
    "bargaining": "a bargaining move drawn, milliseconds since its answer",
    "market": "a market's step drawn, milliseconds since its answer",
    "weight": "page weight, kilobytes",
}
WATCH = """([selector]) => {
  const told = () => [...document.querySelectorAll(selector)].map((each) => each.textContent).join();
  const before = told();
  window.drawn = new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      if (told() === before) return;
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
    });
    observer.observe(document.getElementById("main"), { childList: true, subtree: true, characterData: true });
  });
}"""
"""Prepares a promise of the time at which the frame with the next change was drawn."""
SINCE_ANSWER = """async ([path]) => {
  const drawn = await window.drawn;
  return drawn - performance.getEntriesByType("resource").filter(({ name }) => name.includes(path)).at(-1).responseEnd;
}"""
PAINT = """() => new Promise((resolve) => new PerformanceObserver((list) => {
  const paint = list.getEntriesByName("first-contentful-paint")[0];
  if (paint) resolve(paint.startTime);
}).observe({ type: "paint", buffered: true }))"""
WEIGHT = """() => {
  const files = performance.getEntriesByType("resource").filter(({ name }) => name.includes("/page/"));
  return [...performance.getEntriesByType("navigation"), ...files].reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0) / 1000;
}"""


def run(repeats: int = 7, progress: Progress = silent) -> dict[str, Any]:
    """Measure everything."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise InvalidOption("Chromium is not installed; on Debian: apt install chromium.")
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError as error:
        raise MissingExtra("The benchmark of the page", "Playwright", "dev") from error
    found: dict[str, list[float]] = {name: [] for name in LABELS}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playing:
        server = our_server(f"sqlite:///{folder}/sessions.sqlite", free_port())
        with running(server):
            browser = playing.chromium.launch(executable_path=chromium, args=FLAGS)
            for lap in range(repeats + 1):
                progress(f"round {lap} of {repeats}", lap, repeats + 1)
                values = measured(browser, f"http://127.0.0.1:{server.port}")
                for name in LABELS if lap else ():  # the first round warms up
                    found[name].append(values[name])
            version = browser.version
            browser.close()
    return {
        "quantity": "as each entry says, median of the repeats; times by the browser's own clock, with an empty cache",
        "repeats": repeats,
        "machine": {**machine_facts(), "chromium": version},
        "entries": {name: {"label": LABELS[name], **summary(values)} for name, values in found.items()},
        "targets": [
            target("first contentful paint", found["first_paint"], "<=", 1_000.0, "ms"),
            target("bargaining move, answer to drawing", found["bargaining"], "<=", 100.0, "ms"),
            target("market step, answer to drawing", found["market"], "<=", 100.0, "ms"),
            target("page weight", found["weight"], "<=", 1_000.0, "kB"),
        ],
    }


def measured(browser: Any, address: str) -> dict[str, float]:
    """One round in a new context."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{address}/")
    found = {"first_paint": float(page.evaluate(PAINT))}
    page.locator(".ladder").wait_for(timeout=PATIENCE)
    found["first_sale"] = float(page.evaluate("performance.now()"))
    found["weight"] = float(page.evaluate(WEIGHT))
    for name, (link, pressed, changed, path) in ROUND_TRIPS.items():
        page.goto("about:blank")
        page.goto(address + link)
        page.locator(f"{pressed}:enabled").wait_for(timeout=PATIENCE)
        page.evaluate(WATCH, [changed])
        page.locator(pressed).click()
        found[name] = float(page.evaluate(SINCE_ANSWER, [path]))
    context.close()
    return found


def shown(result: dict[str, Any]) -> Iterator[RenderableType]:
    """What is printed."""
    yield targets_table(result)


def main(repeats: Repeats = 7, out_file: OutFile = None, as_json: AsJson = False) -> None:
    """Measure the lab page in a browser.

    Example: python -m benchmarks.page --out results/bench_page.json
    """
    report(lambda progress: run(repeats, progress), shown, as_json, out_file)


if __name__ == "__main__":
    start(main)
