"""A stand-in for the Hugging Face hub: repositories are made, and commits kept, in memory."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Hub:
    """What was published, and what the hub answers to all requests instead, if anything."""

    address: str = ""
    made: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    refuses: int | None = None


@contextmanager
def stand_in() -> Iterator[Hub]:
    """A hub at an address of this machine."""
    hub = Hub()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if hub.refuses is not None:
                self._answer(hub.refuses, {"error": "refused"})
            elif self.path == "/api/repos/create":
                hub.made.append(json.loads(body))
                self._answer(200, {"url": f"{hub.address}/ada/designer", "id": "ada/designer"})
            elif "/preupload/" in self.path:
                asked = json.loads(body)["files"]
                modes = [{"path": file["path"], "uploadMode": "regular", "shouldIgnore": False} for file in asked]
                self._answer(200, {"files": modes})
            elif "/commit/" in self.path:
                self._keep(body)
                self._answer(200, {"commitUrl": f"{hub.address}/ada/designer/commit/abc", "commitOid": "abc", "success": True})
            else:
                self._answer(200, {"errors": [], "warnings": []})

        def do_GET(self) -> None:
            self._answer(200, {"id": "ada/designer", "sha": "abc", "siblings": []})

        def _keep(self, body: bytes) -> None:
            for line in body.splitlines():
                entry = json.loads(line)
                if entry["key"] == "file":
                    hub.files[entry["value"]["path"]] = base64.b64decode(entry["value"]["content"])

        def _answer(self, status: int, value: dict[str, Any]) -> None:
            content = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.address = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
