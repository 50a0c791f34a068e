"""nginx as a process for tests and soaks, with a configuration of theirs, or with the documented one."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

from benchmarks.server_process import CHECKOUT, free_port

NGINX = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
CONFIGURATION = CHECKOUT / "docker" / "nginx.conf"
MAIN = """
{user}daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 8192; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/edgeworth.conf;
}}
"""


@contextlib.contextmanager
def nginx_with(folder: Path, configuration: str, ready: str) -> Iterator[None]:
    """nginx with these servers, once it answers at an address."""
    assert NGINX is not None
    (folder / "edgeworth.conf").write_text(configuration.replace("/var/log/nginx", str(folder)), encoding="utf-8")
    (folder / "main.conf").write_text(MAIN.format(folder=folder, user="user root;\n" if os.getuid() == 0 else ""), encoding="utf-8")
    process = subprocess.Popen([NGINX, "-p", str(folder), "-c", str(folder / "main.conf")], stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 20.0
        while time.monotonic() < until and process.poll() is None:
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(ready, timeout=2.0).status_code == 200:
                    break
            time.sleep(0.05)
        else:
            process.kill()
            raise RuntimeError(f"nginx did not start: {(folder / 'error.log').read_text(encoding='utf-8')}")
        yield
    finally:
        process.terminate()
        process.wait(20.0)


@contextlib.contextmanager
def documented_nginx(folder: Path, server_port: int) -> Iterator[int]:
    """nginx with docker/nginx.conf before a server that is ready, on free ports in the place of its own; the port of nginx."""
    port = free_port()
    text = CONFIGURATION.read_text(encoding="utf-8")
    ours = text.replace("listen 8080;", f"listen 127.0.0.1:{port};").replace("127.0.0.1:8765;", f"127.0.0.1:{server_port};")
    assert ours.count(str(port)) == ours.count(str(server_port)) == 1
    with nginx_with(folder, ours, f"http://localhost:{port}/ready"):
        yield port
