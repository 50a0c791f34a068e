"""A hook of the documentation site: links that lead out of docs/ into the repository work in the built site, too.

Pages link to results, settings and sources by relative paths, so that they can be read in a checkout. Each such file is copied into the
site under `repository/`, and the link leads there; pages from the root, such as the changelog, become pages. Links to README lead to the
first page.
"""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
LINK = re.compile(r"(\]\()((?:\.\./)+[^)#\s]+)(#[^)]*)?(\))")
PLACE = "repository"

# Names of the package are listed in its catalog, which is not read as text; the API pages name what they show.
logging.getLogger("mkdocs.plugins.griffe").addFilter(lambda record: "edgeworth.__all__" not in record.getMessage())


def outside(page: str, target: str) -> PurePosixPath | None:
    """The path in the repository that a link of a page leads to, where that is outside docs/."""
    found = Path(os.path.normpath(DOCS / Path(page).parent / target))
    return None if found.is_relative_to(DOCS) or not found.is_relative_to(ROOT) else PurePosixPath(found.relative_to(ROOT).as_posix())


def on_files(files: Files, config: Any) -> Files:
    """Add every file of the repository that a page links to."""
    wanted = set()
    for file in files.documentation_pages():
        wanted |= {outside(file.src_uri, found[1]) for found in LINK.findall(file.content_string)}
    for path in sorted(str(path) for path in wanted if path is not None and path.name != "README.md"):
        if (ROOT / path).is_file():
            files.append(File.generated(config, f"{PLACE}/{path}", abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Lead the links there."""
    start = os.path.dirname(page.file.src_uri)
    if start == PLACE:  # a page from the root of the repository
        return markdown.replace("](docs/", "](../")

    def led(found: re.Match[str]) -> str:
        path = outside(page.file.src_uri, found[2])
        if path is None:
            return found[0]
        goal = "index.md" if path.name == "README.md" else f"{PLACE}/{path}"
        return f"{found[1]}{os.path.relpath(goal, start or '.')}{found[3] or ''}{found[4]}"

    return LINK.sub(led, markdown)
