"""A server of a scripted language model on loopback, which can also fail in every way that servers fail.

It speaks just enough of the chat-completions protocol. `behaviours` maps the last message of a conversation to what happens each time it is
asked, one behaviour after another, the last one for ever; whatever is not listed is answered well. So the outcome does not depend on
which of several requests arrives first.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODELS = ("small-1", "small-2", "large", "tagged:latest")
KEY = "sk-fake/0123456789-that-must-never-be-shown"
PATIENCE = 10.0
"""Longest stall in seconds; a test that needs more has a fault of its own."""


def chat_completion(text: str, model: str = "small-1", **message: Any) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text, **message}}
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    return {"id": "c-1", "object": "chat.completion", "created": 0, "model": model, "choices": [choice], "usage": usage}


class FaultServer(ThreadingHTTPServer):
    """Answers on a free port of 127.0.0.1 while it is open as a context."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, behaviours: Mapping[str, Sequence[str]] | None = None, lists_models: bool = True) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behaviours = {prompt: list(row) for prompt, row in (behaviours or {}).items()}
        self.lists_models = lists_models
        self.retry_after = "0"
        self.pause = 0.0
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.in_flight = self.most_in_flight = 0
        self.lock = threading.Lock()
        self.closing = threading.Event()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def __enter__(self) -> FaultServer:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is what some tests are about."""

    def asked(self, prompt: str) -> int:
        """How often a prompt was asked."""
        return sum(request["messages"][-1]["content"] == prompt for request in self.requests)

    def behaviour(self, request: dict[str, Any]) -> str:
        prompt = request["messages"][-1]["content"]
        with self.lock:
            self.requests.append(request)
            row = self.behaviours.get(prompt, ["good"])
            return row.pop(0) if len(row) > 1 else row[0]


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: FaultServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: Any) -> None:
        """Silence."""

    def do_GET(self) -> None:
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        if self.headers.get("Authorization") == "Bearer wrong":
            self.refuse(401, "Incorrect API key provided: wrong", "invalid_api_key")
        elif self.server.lists_models and self.path == "/v1/models":
            self.answer(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in MODELS]})
        else:
            self.refuse(404, "no such page", "not_found")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        request = json.loads(body)
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        with self.server.lock:
            self.server.in_flight += 1
            self.server.most_in_flight = max(self.server.most_in_flight, self.server.in_flight)
        try:
            getattr(self, f"be_{self.server.behaviour(request)}")(request)
        finally:
            with self.server.lock:
                self.server.in_flight -= 1

    def answer(self, status: int, content: Any, **headers: str) -> None:
        self.send(status, json.dumps(content).encode(), **headers)

    def send(self, status: int, body: bytes, length: int | None = None, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status: int, message: str, code: str, **headers: str) -> None:
        self.answer(status, {"error": {"message": message, "type": "fault", "code": code}}, **headers)

    def be_good(self, request: dict[str, Any]) -> None:
        time.sleep(self.server.pause)
        reply = chat_completion(f"reply to {request['messages'][-1]['content']}", request["model"])
        if request.get("logprobs"):
            reply["choices"][0]["logprobs"] = {"content": [{"token": "a", "logprob": -0.5}, {"token": "b", "logprob": 0.0}]}
        self.answer(200, reply)

    def be_refusing(self, request: dict[str, Any]) -> None:
        self.answer(200, chat_completion("", refusal="I would rather not."))

    def be_parrot(self, request: dict[str, Any]) -> None:
        self.answer(200, chat_completion(f"you sent {self.headers['Authorization']}"))

    def be_rate_limited(self, request: dict[str, Any]) -> None:
        self.refuse(429, "slow down", "rate_limit_exceeded", Retry_After=self.server.retry_after)

    def be_out_of_quota(self, request: dict[str, Any]) -> None:
        self.refuse(429, "pay first", "insufficient_quota")

    def be_broken(self, request: dict[str, Any]) -> None:
        self.refuse(500, "it hurts", "internal")

    def be_busy_elsewhere(self, request: dict[str, Any]) -> None:
        self.refuse(409, "locked", "conflict")

    def be_too_slow(self, request: dict[str, Any]) -> None:
        self.refuse(408, "you were too slow", "timeout")

    def be_locked(self, request: dict[str, Any]) -> None:
        self.refuse(401, f"Incorrect key: {self.headers['Authorization']}", "invalid_api_key")

    def be_unknown_model(self, request: dict[str, Any]) -> None:
        self.refuse(404, f"The model `{request['model']}` does not exist", "model_not_found")

    def be_picky(self, request: dict[str, Any]) -> None:
        self.refuse(400, f"cannot read {self.headers['Authorization']}", "invalid_request_error")

    def be_too_long(self, request: dict[str, Any]) -> None:
        self.refuse(400, "This model's maximum context length is 64 tokens.", "BadRequestError")

    def be_garbage(self, request: dict[str, Any]) -> None:
        self.send(200, b"<html>502 behind a friendly face</html>")

    def be_empty(self, request: dict[str, Any]) -> None:
        self.answer(200, {})

    def be_half(self, request: dict[str, Any]) -> None:
        body = json.dumps(chat_completion("a long reply")).encode()
        self.send(200, body[: len(body) // 2], length=len(body))
        self.close_connection = True

    def be_stalled(self, request: dict[str, Any]) -> None:
        self.server.closing.wait(PATIENCE)
        self.close_connection = True

    def be_dripping(self, request: dict[str, Any]) -> None:
        """Keeps the connection alive with spaces and never comes to the point."""
        self.send(200, b" ", length=1_000_000)
        for _ in range(int(PATIENCE / 0.05)):
            if self.server.closing.wait(0.05):
                break
            self.wfile.write(b" ")

    def be_closed(self, request: dict[str, Any]) -> None:
        self.close_connection = True
