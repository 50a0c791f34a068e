"""Log, metrics and the outermost middleware, which gives every request an id and answers faults.

The log has one JSON object a line, on standard error. Bodies, headers and query strings are never written, and the route's template stands
for the path, so that nothing a client sends by mistake ends up there; the address of a client is.

Several workers write their metrics into one folder (`PROMETHEUS_MULTIPROC_DIR`, which `edgeworth serve` makes), and any of them reports the
totals. Counts of a worker that died are kept; its gauges are not.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import logging
import os
import queue
import select
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from edgeworth.server.refusals import Refused, has_body, refusal_response

LOGGERS = ("uvicorn", "edgeworth.server")
"""Standard loggers whose records become lines at the level of the log; warnings and errors of all others do too."""
UVICORN = logging.getLogger("uvicorn.error")
TURNED_AWAY, SOCKET_LINE = "Exceeded concurrency limit.", '"WebSocket %s"'
"""Parts of what uvicorn logs about a connection too many, and about a socket; the latter comes with its query string."""
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
LATENCY = (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.125, 0.25, 0.5, 1.0, 4.0, 16.0)
"""Seconds."""
UNMATCHED = "(no route)"
PROCESS, REQUESTS = os.urandom(8).hex(), itertools.count()
"""The two halves of a request's id."""
FAULT = Refused(500, "fault", "The server made a mistake.", "Try again; whoever runs the server finds request_id in its log.")
MOST_WAITING_LINES = 10_000
"""Lines of the log that may wait to be written; more are dropped."""
LINES_AT_ONCE = 1_000
FLUSH_SECONDS = 1.0
STANDARD_ERROR = 2
_lowest_level = logging.ERROR
"""Lines below this level are not written; until `set_up_log` only errors are."""
_writer: LogWriter | None = None


class LogWriter(logging.Handler):
    """Writes lines to standard error in a thread of its own, so that a reader who has stalled stops nobody; then lines are dropped."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: queue.SimpleQueue[str | threading.Event] = queue.SimpleQueue()
        self._dropped = 0
        threading.Thread(target=self._work, name="log", daemon=True).start()
        atexit.register(self.finish)

    def emit(self, record: logging.LogRecord) -> None:
        """Take a standard record."""
        self.write(self.format(record))

    def write(self, line: str) -> None:
        """Take a line, or drop it where too many wait."""
        if self._waiting.qsize() < MOST_WAITING_LINES:
            self._waiting.put(line)
        else:
            self._dropped += 1

    def finish(self) -> None:
        """Wait until everything is written, but not for long."""
        written = threading.Event()
        self._waiting.put(written)
        written.wait(FLUSH_SECONDS)

    def _work(self) -> None:
        while True:
            taken = [self._waiting.get()]
            while len(taken) < LINES_AT_ONCE and not self._waiting.empty():
                taken.append(self._waiting.get())
            lines = [line for line in taken if isinstance(line, str)]
            if self._dropped:
                dropped, self._dropped = self._dropped, 0
                lines.append(_line(time.time(), logging.WARNING, {"event": "lines_dropped", "lines": dropped}, None))
            for piece in pieces(lines):
                _write_out(piece)
            for written in taken:
                if isinstance(written, threading.Event):
                    written.set()


def pieces(lines: Iterable[str]) -> Iterator[bytes]:
    """Lines together in pieces that a pipe takes as a whole, so that no worker writes into the line of another; a longer line by itself."""
    piece = b""
    for line in lines:
        encoded = f"{line}\n".encode()
        if piece and len(piece) + len(encoded) > select.PIPE_BUF:
            yield piece
            piece = b""
        piece += encoded
    yield piece


def _write_out(content: bytes) -> None:
    """Write to standard error past Python's buffer, whose lock a stalled thread would hold at the end of the process."""
    with contextlib.suppress(OSError):  # nobody is left to read it
        while content:
            content = content[os.write(STANDARD_ERROR, content) :]


def set_up_log(level: int = logging.INFO) -> None:
    """Write lines of this level and above; what others log or warn of too, since nothing else may wait for a reader of standard error."""
    global _lowest_level, _writer
    _lowest_level, _writer = level, (handler := LogWriter())
    handler.setFormatter(JsonLines())
    logging.getLogger().handlers = [handler]
    logging.captureWarnings(True)
    for name in LOGGERS:
        logging.getLogger(name).setLevel(level)


def note(level: int, event: str, /, error: BaseException | None = None, **facts: Any) -> None:
    """Write a line to the log."""
    if level >= _lowest_level:
        line = _line(time.time(), level, {"event": event, **facts}, error)
        sys.stderr.write(f"{line}\n") if _writer is None else _writer.write(line)


def _line(when: float, level: int, facts: dict[str, Any], error: BaseException | None) -> str:
    line: dict[str, Any] = {"time": round(when, 3), "level": logging.getLevelName(level).lower(), **facts}
    if error is not None:
        line["traceback"] = "".join(traceback.format_exception(error))
    return orjson.dumps(line, default=str).decode()


class JsonLines(logging.Formatter):
    """Formats a standard log record as a line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        error = record.exc_info[1] if record.exc_info else None
        return _line(record.created, record.levelno, {"event": "message", "logger": record.name, "message": record.getMessage()}, error)


class Metrics:
    """The counters of one worker."""

    def __init__(self, games: Iterable[str]) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "edgeworth_requests", "Requests by route and status.", ["route", "method", "status"], registry=self.registry
        )
        self.seconds = Histogram("edgeworth_request_seconds", "Seconds to an answer.", ["route"], buckets=LATENCY, registry=self.registry)
        self.steps = Counter("edgeworth_steps", "Steps made and stored, by game.", ["game"], registry=self.registry)
        self.refusals = Counter("edgeworth_refusals", "Requests not carried out, by code.", ["code"], registry=self.registry)
        self.messages = Counter(
            "edgeworth_socket_messages",
            "Messages on sockets, by game, type and outcome.",
            ["game", "type", "outcome"],
            registry=self.registry,
        )
        self.turned_away = Counter("edgeworth_turned_away", "Requests on connections beyond the limit.", registry=self.registry)
        for game in games:
            self.steps.labels(game)
        self._process = ProcessCollector(registry=None)
        self._usage: dict[str, Gauge] = {}
        self.thread = ThreadPoolExecutor(1, "metrics")
        """For `text`: a thread that no slow database can keep busy."""
        self._readings: list[tuple[Gauge, Callable[[], float]]] = []

    def watch(self, name: str, says: str, read: Callable[[], float], everywhere: bool = True) -> None:
        """Show a number that is read when metrics are asked for; `everywhere`: the same for all workers, otherwise they are added up."""
        mode = "livemostrecent" if everywhere else "livesum"
        gauge = Gauge(f"edgeworth_{name}", says, multiprocess_mode=mode, registry=self.registry)  # type: ignore[arg-type]
        self._readings.append((gauge, read))

    def stepped(self, game: str) -> None:
        """Count a step."""
        self.steps.labels(game).inc()

    def sample(self) -> None:
        """Read all gauges."""
        for gauge, read in self._readings:
            gauge.set(read())
        for family in self._process.collect():
            for sample in family.samples:
                if sample.name not in self._usage:
                    help_text, mode = family.documentation, "liveall"
                    self._usage[sample.name] = Gauge(sample.name, help_text, multiprocess_mode=mode, registry=self.registry)  # type: ignore[arg-type]
                self._usage[sample.name].set(sample.value)

    def filter(self, record: logging.LogRecord) -> bool:
        """As a filter of uvicorn's log: count connections that it turned away, and drop its lines with query strings."""
        if str(record.msg).startswith(TURNED_AWAY):
            self.turned_away.inc()
        return SOCKET_LINE not in str(record.msg)

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request."""
        self.requests.labels(route, method, status).inc()
        self.seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """All metrics in Prometheus's format."""
        self.sample()
        folder = os.environ.get(METRICS_FOLDER)
        if folder is None:
            return generate_latest(self.registry)
        forget_dead_workers(Path(folder))
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)


def forget_dead_workers(folder: Path) -> None:
    """Drop the gauges of workers that have ended."""
    for pid in {int(path.stem.rpartition("_")[2]) for path in folder.glob("gauge_live*.db")}:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            mark_process_dead(pid, str(folder))  # type: ignore[no-untyped-call]
        except PermissionError:
            continue


class Monitor:
    """The outermost middleware: a request's id, its line in the log, its counts, and the answer to a fault.

    An answer closes its connection where the body of its request was not read to the end, since nobody will read what follows; and while
    the server is `leaving`, so that clients ask another worker next.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, log_requests: bool, leaving: Callable[[], bool]) -> None:
        self.app, self.metrics, self.log_requests, self.leaving = app, metrics, log_requests, leaving

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        scope.setdefault("state", {})["request_id"] = f"{PROCESS}{next(REQUESTS):016x}"
        await (self._request if scope["type"] == "http" else self._socket)(scope, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Log and count a request when it has been answered."""
        began, status, request_id, unread = time.perf_counter(), 0, scope["state"]["request_id"], has_body(scope)

        async def read() -> Message:
            nonlocal unread
            message = await receive()
            unread = bool(message.get("more_body"))
            return message

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                closing = [(b"connection", b"close")] if unread or self.leaving() else []
                message = {**message, "headers": [*message.get("headers", ()), (b"x-request-id", request_id.encode()), *closing]}
            await send(message)

        try:
            await self.app(scope, read, send_with_id)
        except Exception as error:
            note(logging.ERROR, "fault", error, request_id=request_id, route=route_of(scope))
            if status:
                raise  # half an answer is out; the connection is closed
            await refusal_response(FAULT, request_id)(scope, receive, send_with_id)
            scope["state"]["code"] = "fault"
        finally:
            self._record(scope, status, began)

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Log a socket when it is closed or refused."""
        began, state = time.perf_counter(), scope["state"]
        try:
            await self.app(scope, receive, send)
        finally:
            if "code" in state:
                self.metrics.refusals.labels(state["code"]).inc()
            facts = {name: state[name] for name in ("owner", "code", "request_id") if name in state}
            note(logging.INFO, "socket", client=client_of(scope), seconds=round(time.perf_counter() - began, 3), **facts)

    def _record(self, scope: Scope, status: int, began: float) -> None:
        state, route, method, seconds = scope["state"], route_of(scope), scope["method"], time.perf_counter() - began
        self.metrics.answered(route, method, status, seconds)
        if "code" in state:
            self.metrics.refusals.labels(state["code"]).inc()
        if self.log_requests:
            facts = {name: state[name] for name in ("owner", "session", "code") if name in state}
            facts |= {"ms": round(seconds * 1e3, 3), "request_id": state["request_id"]}
            note(logging.INFO, "request", client=client_of(scope), method=method, route=route, status=status, **facts)


def client_of(scope: Scope) -> str | None:
    """The address of the client, or of the proxy in front."""
    client = scope.get("client")
    return None if client is None else str(client[0])


def route_of(scope: Scope) -> str:
    """The template of the route, never the path itself."""
    return str(getattr(scope.get("route"), "path", UNMATCHED))
