"""The lab page behind a path prefix, with several workers and tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from benchmarks.nginx_process import NGINX, nginx_with
from benchmarks.server_process import free_port
from table import GAME, PATIENCE, act, lay_out, result

from running_servers import served, wait_for

SITE = """server {{
    listen 127.0.0.1:{port};
    location /lab/ {{
        proxy_pass http://127.0.0.1:{server_port}{target};
        proxy_set_header Host $http_host;
    }}
}}"""
RESULTS = Path(__file__).resolve().parents[2] / "results"


def visit(page: Any, address: str, token: str) -> None:
    """Strike a deal, hold a sale, and look at runs, results and a study."""
    page.goto(f"{address}{GAME}")
    if token:
        page.get_by_label("Your token").fill(token)
        page.keyboard.press("Enter")
    act(page, "Propose").wait_for(timeout=PATIENCE)
    lay_out(page, (2, 0, 0))
    act(page, "Insist").click()
    assert "You got 6 of 10 points" in result(page)
    page.get_by_role("link", name="Market").click()
    page.get_by_role("button", name="Run step 3 of").click()
    page.get_by_role("heading", name="Step 3, sale 1 of 5").wait_for(timeout=PATIENCE)
    page.get_by_role("link", name="Runs").click()
    page.get_by_text("No runs yet").wait_for(timeout=PATIENCE)
    page.get_by_role("link", name="Results").click()
    page.get_by_role("link", name="The tournament").click()
    wait_for(lambda: page.evaluate("document.querySelector('.study img')?.naturalWidth > 0"))


def test_three_workers_with_tokens_serve_one_page(browser: Any, tmp_path: Path) -> None:
    with served(tmp_path, "--workers", "3", "--results", str(RESULTS), tokens="alice:a-token-of-alice") as server:
        page = browser.new_context().new_page()
        visit(page, server.address(), "a-token-of-alice")
        page.context.close()


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
@pytest.mark.parametrize(("target", "token"), [("/", ""), ("", "a-token-of-alice")], ids=["prefix removed", "prefix kept, with tokens"])
def test_the_page_works_behind_a_path_prefix(browser: Any, tmp_path: Path, target: str, token: str) -> None:
    port = free_port()
    with served(tmp_path, "--root-path", "/lab", "--results", str(RESULTS), tokens=f"alice:{token}" if token else "") as server:
        site = SITE.format(port=port, server_port=urlsplit(server.address()).port, target=target)
        with nginx_with(tmp_path, site, f"http://localhost:{port}/lab/ready"):
            page, asked = browser.new_context().new_page(), []
            page.on("request", lambda request: asked.append(request.url))
            visit(page, f"http://localhost:{port}/lab", token)
            assert asked and all(urlsplit(url).path.startswith("/lab/") for url in asked if not url.startswith("blob:"))
            if not token:
                page.goto(f"http://localhost:{port}/lab/plots/")
                assert page.evaluate("[...document.images].every((image) => new URL(image.src).pathname.startsWith('/lab/plots/'))")
            page.context.close()
