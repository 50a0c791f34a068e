"""Server processes: one under uvicorn, or several under uvicorn's supervisor, which replaces those that die.

The socket is bound first, so that a port in use is an error at the start. After SIGTERM a worker finishes its requests and closes its
sockets; `edgeworth.server.app` delays that while it drains. Slow and unreading clients are for the proxy in front (docs/server.md).
"""

from __future__ import annotations

import functools
import logging
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.supervisors import Multiprocess

from edgeworth.errors import EdgeworthError
from edgeworth.server import clock
from edgeworth.server.database import Database, StoreUnavailable
from edgeworth.server.monitoring import METRICS_FOLDER, note, set_up_log
from edgeworth.server.schema import prepare
from edgeworth.server.settings import ServerSettings

BACKLOG = 2_048
RECEIVE_BYTES = 16_384
"""What the kernel may hold of a connection until it is read, and so the most that one client can make the event loop handle before it
turns to the others: with megabytes of WebSocket pings, which uvicorn answers one by one, that took half a minute."""
NO_LIMIT = {"WEBSOCKETS_MAX_LINE_LENGTH": str(2**31), "WEBSOCKETS_MAX_NUM_HEADERS": str(2**31)}
"""What tells the `websockets` library to take any headers. It would refuse those of more than 8 KiB or 128 lines, and uvicorn would keep
such a connection open without an answer; `Access` refuses them, with one, beyond our own limit."""
MEMORY = Path("/dev/shm")
"""Files in memory, where there are any. On a disk that is full, a worker that counts in a file is killed (SIGBUS)."""
STARTUP_FAILURE = 3
"""uvicorn's exit status of a worker whose application does not start; its supervisor then gives up."""
HEALTH_CHECK_SECONDS = 30
"""A worker that does not answer its supervisor for so long is replaced, and one that replaces another may take so long to start. It
answers as soon as this module is loaded, so that this module and `settings` load no game."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
"""Seconds between a worker's attempts to reach the store."""


class CannotServe(EdgeworthError):
    """An address that cannot be served on, or workers that do not start."""


def bound(settings: ServerSettings) -> socket.socket:
    """The socket that all workers share."""
    listening = socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)  # connections inherit it
    try:
        listening.bind((settings.host, settings.port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        message = f"Cannot serve on {settings.host} port {settings.port}: {error.strerror}. Choose another with --host or --port."
        raise CannotServe(message) from error
    return listening


def uvicorn_config(settings: ServerSettings) -> uvicorn.Config:
    """Our settings as uvicorn's."""
    limits = settings.limits
    return uvicorn.Config(
        functools.partial(application, settings),
        factory=True,
        workers=settings.workers,
        ws_max_size=limits.body_bytes,
        ws_per_message_deflate=False,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=settings.behind_proxy,
        backlog=BACKLOG,
        limit_concurrency=limits.connections,
        timeout_keep_alive=limits.keep_alive_seconds,
        timeout_graceful_shutdown=settings.stop_seconds,
        timeout_worker_healthcheck=HEALTH_CHECK_SECONDS,
    )


def application(settings: ServerSettings) -> Any:
    """The application of a worker, made in the worker's process."""
    make = functools.partial(_loaded, settings)
    if settings.workers == 1:
        return make()
    set_up_log()
    note(logging.INFO, "worker_started", pid=os.getpid())
    threading.Thread(target=_stop_with_supervisor, daemon=True).start()
    try:
        return _once_the_store_answers(make)
    except Exception as error:
        note(logging.ERROR, "worker_failed", error)
        sys.exit(STARTUP_FAILURE)


def _loaded(settings: ServerSettings) -> Any:
    from edgeworth.server.app import create_app

    return create_app(settings)


def _once_the_store_answers(make: Callable[[], Any]) -> Any:
    """What this makes, tried until the store answers, with growing pauses; a signal to stop ends the worker meanwhile."""
    handlers = {sig: signal.signal(sig, signal.SIG_DFL) for sig in (signal.SIGTERM, signal.SIGINT)}
    pause = FIRST_PAUSE
    while True:
        try:
            made = make()
            break
        except StoreUnavailable as error:
            note(logging.ERROR, "worker_waits_for_store", reason=str(error), seconds=pause)
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
    for sig, handler in handlers.items():
        signal.signal(sig, handler)
    return made


def _stop_with_supervisor() -> None:
    """End this worker when its supervisor has died."""
    supervisor = multiprocessing.parent_process()
    if supervisor is not None:
        wait([supervisor.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)


def serve(settings: ServerSettings, announce: Callable[[str], None]) -> None:
    """Serve until a signal comes; `announce` is called with the address."""
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # it would end a server that is starting; later the tokens are read again
    leave_process_one()
    os.environ.update(NO_LIMIT)  # before uvicorn loads the library
    _check_store(settings.store)
    set_up_log()
    with bound(settings) as listening:
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        announce(f"http://{host}:{listening.getsockname()[1]}")
        config = uvicorn_config(settings)
        if settings.workers > 1:
            return _supervise(config, listening)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # uvicorn raises the signal again when it has stopped
        uvicorn.Server(config).run([listening])


def leave_process_one() -> None:
    """Where this is process 1, as in a container, go on in a child; process 1 passes signals on and reaps whoever is left behind."""
    if os.getpid() != 1 or (child := os.fork()) == 0:
        return
    for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(sig, lambda received, _: os.kill(child, received))
    while True:
        ended, status = os.wait()
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


def _check_store(url: str) -> None:
    """Raise where the store does not answer or has a newer version, before anything is served."""
    database = Database(url)
    try:
        prepare(database)
    finally:
        database.close()


def _supervise(config: uvicorn.Config, listening: socket.socket) -> None:
    """Run several workers that share their metrics in a folder."""
    parent = MEMORY if os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="edgeworth-metrics-", dir=parent, ignore_cleanup_errors=True) as folder:
        os.environ[METRICS_FOLDER], os.environ[clock.VARIABLE] = folder, repr(clock.BOOT)
        supervisor = Multiprocess(config, [listening])
        for sig in (signal.SIGTERM, signal.SIGINT):  # it would take them up only after replacing all workers where it is doing so
            signal.signal(sig, lambda *_: supervisor.should_exit.set())
        supervisor.run()
    if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes):
        raise CannotServe("The workers do not start; their log above says why.")
