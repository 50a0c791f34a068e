"""Studies: our pages on what was found, in Markdown.

They are in the docs of a checkout, and inside an installed package. A page is named by its path in the docs, without the suffix.
"""

from __future__ import annotations

from pathlib import Path

from fastapi.responses import PlainTextResponse

from edgeworth.server.refusals import Refused

PAGES = Path(__file__).resolve().parent / "pages"
DOCS = PAGES.parents[3] / "docs"
WRITE_UP = "blog"
STUDIES = (WRITE_UP, "designer", "studies/hints", "tournament", "self_play", "imitation", "blind_plan", "games/auction", "games/bargaining")
"""In the order in which they are listed; pyproject.toml puts the same files into the package."""


class Markdown(PlainTextResponse):
    """A page in Markdown."""

    media_type = "text/markdown"


def study_file(name: str) -> Path:
    """The file of a page."""
    for folder in (PAGES, DOCS) if name in STUDIES else ():
        if (path := folder / f"{name}.md").is_file():
            return path
    if name == WRITE_UP:
        raise Refused(404, "not_found", "This installation has no write-up.", "Look at the documentation.")
    raise Refused(404, "not_found", f"There is no study {name[:100]!r}.", "GET /studies lists them.", "name")


def listed_studies() -> list[dict[str, str]]:
    """Names and titles of the pages that are there."""
    found = []
    for name in STUDIES:
        try:
            path = study_file(name)
        except Refused:
            continue
        with path.open(encoding="utf-8") as lines:
            found.append({"name": name, "title": next(lines, "").lstrip("# ").replace("`", "").strip()})
    return found
