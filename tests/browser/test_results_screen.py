"""Results and studies on the lab page, in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from table import PATIENCE

from running_servers import served_in_thread, wait_for

ROOT = Path(__file__).resolve().parents[2]
ODD = """# A <b>study</b>

A word with `code`, *weight* and **more *weight* still**, [another](tournament.md), [elsewhere](https://example.org), [nowhere](server.md),
[harm](javascript:alert(1)) and <img src=x onerror=alert(1)>.

<!-- left out -->
- one
  continued
  - inner
- two

1. first

| a | b |
|---|---|
| x \\| y | `\\|` |

> quoted

```
<script>alert(1)</script>
```
![a figure](../results/no.png)
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served_in_thread(tmp_path_factory.mktemp("results"), results=str(ROOT / "results")) as address:
        yield address


def test_scores_are_shown_on_the_scale_of_their_yardsticks(browser: Any, lab: str) -> None:
    page = browser.new_context(base_url=lab).new_page()
    page.goto("/#/results")
    page.locator(".axis .agent").first.wait_for(timeout=PATIENCE)
    agents = page.locator(".axis .agent").all_text_contents()
    assert "language model after GRPO (pocket designer)" in agents[0] and any("policy" in agent for agent in agents)
    assert "uniform" in "".join(page.locator(".axis .yardstick").all_text_contents())
    assert "of the way from uniform" in page.locator(".verdict").inner_text()
    page.get_by_role("link", name="Negotiators by scenario").click()
    page.get_by_label("Show").select_option("lewis")
    page.wait_for_url("**table=negotiators&column=lewis")
    page.locator(".axis").filter(has_text="bundled expert").wait_for(timeout=PATIENCE)
    assert "learned" not in page.locator(".axis").text_content()
    page.get_by_text("how to compute them again").click()
    page.get_by_text("edgeworth yardstick --exact").wait_for(timeout=PATIENCE)
    page.reload()
    page.locator(".axis").wait_for(timeout=PATIENCE)
    assert page.get_by_label("Show").input_value() == "lewis"
    page.context.close()


def test_a_server_without_results_says_how_to_get_some(browser: Any, tmp_path: Path) -> None:
    with served_in_thread(tmp_path, results=str(tmp_path / "none")) as address:
        page = browser.new_context(base_url=address).new_page()
        page.goto("/#/results")
        page.get_by_text("This server has no results to show").wait_for(timeout=PATIENCE)
        assert page.get_by_text("edgeworth serve --results results").is_visible()
        page.context.close()


def test_studies_are_rendered_with_their_figures_and_links(browser: Any, lab: str) -> None:
    page = browser.new_context(base_url=lab).new_page()
    page.goto("/#/results")
    page.get_by_role("link", name="The tournament").click()
    page.get_by_role("heading", name="The tournament", level=1).wait_for(timeout=PATIENCE)
    wait_for(lambda: page.evaluate("document.querySelector('.study img')?.naturalWidth > 0"))
    assert page.locator(".study table").count() > 2 and "<!--" not in page.locator(".study").inner_text()
    page.get_by_role("link", name="game", exact=True).click()
    page.get_by_role("heading", name="Bargaining", level=1).wait_for(timeout=PATIENCE)
    assert page.url.endswith("study=games%2Fbargaining")
    page.context.close()


def test_markdown_becomes_elements_and_html_in_it_stays_text(browser: Any, lab: str) -> None:
    page = browser.new_context(base_url=lab).new_page()
    page.route("**/studies/blog", lambda route: route.fulfill(body=ODD, content_type="text/markdown"))
    page.goto("/#/results?study=blog")
    study = page.locator(".study")
    study.locator("h1").wait_for(timeout=PATIENCE)
    assert study.locator("h1").inner_text() == "A <b>study</b>" and study.locator("b, script, img").count() == 0
    assert study.locator("a").all_inner_texts() == ["another", "elsewhere"] and "[" not in study.locator("p").first.inner_text()
    assert study.locator("strong em").inner_text() == "weight" and study.locator("pre").inner_text() == "<script>alert(1)</script>"
    assert study.locator("ul > li").all_inner_texts()[0].split() == ["one", "continued", "inner"] and study.locator("ul ul li").count() == 1
    assert study.locator("td").all_inner_texts() == ["x | y", "|"] and study.locator("blockquote").inner_text() == "quoted"
    page.context.close()
