"""The lab page in a real browser: Debian's Chromium through Playwright; skipped with a reason where one of them is missing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from running_servers import served_in_thread

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync"]
REFUSED = "Failed to load resource: the server responded with a status of 4"
"""What Chromium writes about a refusal, which the page shows in words."""


@pytest.fixture(scope="module")  # an open Playwright keeps an event loop running, which other tests of the process could not bear
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed; it is in the `dev` extra.")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is not installed; on Debian: apt install chromium.")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=chromium, args=[*FLAGS, "--disable-component-update"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served_in_thread(tmp_path_factory.mktemp("lab")) as address:
        yield address


@pytest.fixture
def tab(browser: Any, server: str) -> Iterator[Any]:
    """A tab on the server's page; it must end without an error in its console and without a request to another host."""
    context = browser.new_context(base_url=server, viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    page, said, asked = context.new_page(), [], []
    page.on("console", lambda message: said.append(message.text) if message.type == "error" and REFUSED not in message.text else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    yield page
    context.close()
    assert said == [] and [url for url in asked if not url.startswith(server)] == []
