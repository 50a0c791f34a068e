"""Writes the screenshots of the lab page: `python docs/write_screenshots.py` with Playwright and Debian's Chromium installed."""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from running_servers import served_in_thread  # noqa: E402

RIGGED = "1010110-0.2-0.5-0.5-0"
SCREENS = {
    "bargaining": ("/#/bargain?scenario=classic&partner=heuristic&seed=42&moves=I2.4.3~I2.4.1~I1.4.0", ".frontier"),
    "market": (f"/#/market?stage=3&seed=8&reveal=1&steps={RIGGED}~{RIGGED}", ".ladder"),
}
COLOURS = 64
"""Enough for the page, and a third of the size."""
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync"]


def shoot(page: Page, address: str, name: str) -> Path:
    """One screen as a PNG file."""
    link, shown = SCREENS[name]
    page.goto("about:blank")
    page.goto(address + link)
    page.locator(shown).wait_for()
    path = HERE / "images" / f"{name}.png"
    shot = Image.open(io.BytesIO(page.screenshot(animations="disabled")))
    shot.convert("RGB").quantize(COLOURS).save(path, optimize=True)
    return path


def main() -> None:
    """Write all screenshots and say how large they are."""
    with tempfile.TemporaryDirectory() as folder, served_in_thread(Path(folder)) as address, sync_playwright() as running:
        browser = running.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 1000}, reduced_motion="reduce")
        for name in SCREENS:
            path = shoot(page, address, name)
            print(f"Wrote {path.relative_to(HERE.parent)} ({path.stat().st_size // 1000} kB).")
        browser.close()


if __name__ == "__main__":
    main()
