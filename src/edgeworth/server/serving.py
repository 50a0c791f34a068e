"""Processes that serve: one, or several on one socket with a supervisor that replaces whoever dies.

The socket is bound once, before anything else, so that a port in use is an error and not a worker that starts again and again. On the first
signal to stop, a worker says on /ready that it is leaving, then stops listening, finishes what it has in hand, and closes its sockets.
"""

from __future__ import annotations

import asyncio
import functools
import signal
import socket
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Never

import uvicorn

from edgeworth.errors import EdgeworthError
from edgeworth.server import logs
from edgeworth.server.connections import WatchedConnection
from edgeworth.server.settings import ServerSettings
from edgeworth.server.socket_connections import SocketConnection
from edgeworth.server.store import Store
from edgeworth.server.workers import Supervisor

BACKLOG = 2_048


class CannotServe(EdgeworthError):
    """An address that cannot be served on, or workers that do not start."""


def bound(settings: ServerSettings) -> socket.socket:
    """The socket that all workers share."""
    listening = socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        message = f"Cannot serve on {settings.host} port {settings.port}: {error.strerror}. Choose another with --host or --port."
        raise CannotServe(message) from error
    return listening


class Worker(uvicorn.Server):
    """A server that says that it is leaving before it leaves."""

    def __init__(self, settings: ServerSettings) -> None:
        super().__init__(uvicorn_config(settings))
        self.drain_seconds, self.supervised, self._leaving = settings.drain_seconds, settings.workers > 1, False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """On the first signal, say so; on the second, leave at once."""
        if self.supervised and sig == signal.SIGINT:
            return  # a key press reaches all processes; the supervisor passes it on
        running = getattr(getattr(self.config.loaded_app, "state", None), "running", None) if self.config.loaded else None
        if running is not None:
            running.draining = True
        if self._leaving or self.drain_seconds <= 0 or not self.started:
            return super().handle_exit(sig, frame)
        self._leaving = True
        self._captured_signals.append(sig)
        asyncio.get_event_loop().call_later(self.drain_seconds, functools.partial(setattr, self, "should_exit", True))


def application(settings: ServerSettings) -> Any:
    """The application of a worker; made in the worker."""
    from edgeworth.server.app import create_app

    return create_app(settings)


def uvicorn_config(settings: ServerSettings) -> uvicorn.Config:
    """Our settings in uvicorn's words."""
    limits = settings.limits
    return uvicorn.Config(
        functools.partial(application, settings),
        factory=True,
        http=functools.partial(WatchedConnection, limits=limits),  # type: ignore[arg-type]
        ws=functools.partial(SocketConnection, limits=limits),  # type: ignore[arg-type]
        ws_max_size=limits.body_bytes,
        ws_per_message_deflate=False,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=limits.keep_alive_seconds,
        timeout_graceful_shutdown=settings.stop_seconds,
    )


def work(settings: ServerSettings, listening: socket.socket) -> None:
    """What one worker does until it is told to stop."""
    logs.set_up()
    Worker(settings).run([listening])


def serve(settings: ServerSettings, tell: Callable[[str], None]) -> None:
    """Serve until a signal comes; `tell` is told where."""
    Store(settings.store).close()  # a store that does not answer is an error now
    listening = bound(settings)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    tell(f"http://{host}:{listening.getsockname()[1]}")
    try:
        if settings.workers == 1:
            signal.signal(signal.SIGTERM, _leave)
            work(settings, listening)
        elif not Supervisor(functools.partial(work, settings, listening), settings.workers, settings.stop_seconds).run():
            raise CannotServe("The workers do not start; their log above says why.")
    finally:
        listening.close()


def _leave(sig: int, frame: FrameType | None) -> Never:
    """A server that was told to stop, and did, has not failed."""
    sys.exit(0)
