"""The documentation site: built without warnings, every link followed, and nothing fetched from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

pytest.importorskip("mkdocs")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site; a warning would stop its making, and links that lead nowhere are warnings."""
    folder = tmp_path_factory.mktemp("site")
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_of_the_navigation_is_built_with_its_own_text(site: Path) -> None:
    pages = re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert len(pages) > 50
    for page in pages:
        assert "<h1" in (site / page).with_suffix(".html").read_text(encoding="utf-8"), page


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        fetched = re.findall(r"<(?:script|img|iframe)[^>]+src=[\"']?([^\"' >]+)", text)
        fetched += re.findall(r"<link[^>]+rel=[\"']?(?:stylesheet|preconnect|icon)[^>]+href=[\"']?([^\"' >]+)", text)
        assert fetched and not [found for found in fetched if "//" in found], page


def test_the_api_reference_shows_the_docstrings(site: Path) -> None:
    text = (site / "api" / "games.html").read_text(encoding="utf-8")
    assert "Moves of both sides together; reaching it without a deal pays the reservation value." in text


def test_files_of_the_repository_that_pages_link_to_are_part_of_the_site(site: Path) -> None:
    assert (site / "repository" / "results" / "yardstick_bargaining.png").stat().st_size > 10_000
    assert 'href="repository/examples/own_partner.py"' in (site / "examples.html").read_text(encoding="utf-8")


def test_the_site_asks_for_no_fonts_and_checks_its_links_and_its_navigation() -> None:
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    found = yaml.safe_load(re.sub(r"!!python\S+", "", settings))
    assert found["theme"]["font"] is False and all(set(checks.values()) == {"warn"} for checks in found["validation"].values())
