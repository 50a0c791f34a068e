"""The benchmark of the lab page measures what it says; how long things take is not tested."""

from __future__ import annotations

import shutil

import pytest
from benchmarks import page

from edgeworth.errors import InvalidOption

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed; it is in the `dev` extra.")


@pytest.mark.skipif(shutil.which("chromium") is None, reason="Chromium is not installed; on Debian: apt install chromium.")
def test_the_page_is_measured_in_a_browser_and_weighs_less_than_a_megabyte() -> None:
    result = page.run(repeats=1)
    found = {name: entry["values"] for name, entry in result["entries"].items()}
    assert set(found) == set(page.LABELS) and all(len(values) == 1 and values[0] > 0 for values in found.values())
    assert found["first_paint"] < found["first_sale"] and 50 < found["weight"][0] < 1_000 and len(result["targets"]) == 4


def test_without_chromium_the_benchmark_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(InvalidOption, match="apt install chromium"):
        page.run(repeats=1)
