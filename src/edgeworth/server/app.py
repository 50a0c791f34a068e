"""The HTTP application: routes, middleware and background work.

From the outside in: `Monitor` (request id, log, metrics), CORS, `Access` (owner), `Guard` (limits, valid JSON), then the routes. Everything
that is refused, by us or by the framework, is answered in one shape.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import logging
import signal
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from types import FrameType

import uvicorn
from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware

from edgeworth import __version__
from edgeworth.games.auction.action import action_of, random_mechanisms
from edgeworth.games.bargaining.vocabulary import Act
from edgeworth.seeding import generator
from edgeworth.server.access import Access, KnownTokens
from edgeworth.server.limits import Guard
from edgeworth.server.live import GAMES, open_live
from edgeworth.server.monitoring import UVICORN, Metrics, Monitor, note
from edgeworth.server.openings import opening_of
from edgeworth.server.plots import Remembered, shown_files
from edgeworth.server.readiness import Readiness
from edgeworth.server.refusals import add_exception_handlers
from edgeworth.server.routes_designers import add_models
from edgeworth.server.routes_games import auction_routes, bargaining_routes, session_routes
from edgeworth.server.routes_lab import lab_routes
from edgeworth.server.routes_openenv import add_openenv
from edgeworth.server.routes_pages import page_routes
from edgeworth.server.routes_results import result_routes
from edgeworth.server.routes_runs import run_routes
from edgeworth.server.routes_sales import sales_routes
from edgeworth.server.sessions import Sessions
from edgeworth.server.settings import ServerSettings, settings_of_environment
from edgeworth.server.sockets import Sockets, add_sockets
from edgeworth.server.store import Store
from edgeworth.server.training import Training

Hook = Callable[[], Awaitable[None]]

LAST_REQUEST_SECONDS = 1.0
"""How long one of several workers that leaves waits for the first request of connections that it has accepted."""


@dataclass
class Running:
    """The state of a running application, and the hooks that start and stop its parts."""

    starts: list[Hook] = field(default_factory=list)
    stops: list[Hook] = field(default_factory=list)
    draining: bool = False
    on_hangup: Callable[[], None] = lambda: None


def create_app(settings: ServerSettings | None = None) -> FastAPI:
    """The application of one worker; without settings, those of the environment."""
    settings = settings or settings_of_environment()
    store, metrics, running = Store(settings.store, settings.durability == "power"), Metrics(GAMES), Running()
    sessions = Sessions(store, settings.sessions, settings.alone)
    sessions.on_step = metrics.stepped
    readiness = Readiness(store)
    metrics.watch("sessions", "Sessions in the store.", lambda: readiness.sessions)
    metrics.watch("store_writable", "Whether the store takes a write.", lambda: readiness.writable)
    app = FastAPI(
        title="Edgeworth",
        version=__version__,
        summary="Two strategic games over HTTP: bargaining, and the design of auctions.",
        docs_url=None,  # FastAPI's page loads its script from elsewhere
        redoc_url=None,
        lifespan=_lifespan(settings, sessions, metrics, readiness, running),
    )
    app.state.settings, app.state.sessions, app.state.metrics, app.state.running = settings, sessions, metrics, running
    app.include_router(auction_routes(sessions))
    app.include_router(sales_routes(sessions))
    app.include_router(bargaining_routes(sessions))
    app.include_router(session_routes(sessions))
    app.include_router(lab_routes())
    files, training = Remembered(lambda: shown_files(settings)), Training(settings)
    running.stops.append(functools.partial(asyncio.to_thread, training.close))
    app.include_router(run_routes(settings, files, training))
    app.include_router(result_routes(settings))
    app.include_router(page_routes(files, readiness, metrics, lambda: running.draining))
    add_models(app, sessions, settings)
    sockets = add_sockets(app, sessions, settings)
    add_openenv(app, sessions, settings)
    add_exception_handlers(app)
    app.state.tokens = tokens = KnownTokens(settings)
    _add_middleware(app, settings, metrics, tokens, running)
    running.on_hangup = functools.partial(_reread, tokens, sockets)
    return app


def _add_middleware(app: FastAPI, settings: ServerSettings, metrics: Metrics, tokens: KnownTokens, running: Running) -> None:
    """Add the middleware, from the inside out."""
    app.add_middleware(Guard, limits=settings.limits)
    app.add_middleware(Access, settings=settings, tokens=tokens)
    if settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.origins,
            allow_methods=("GET", "POST", "DELETE"),
            allow_headers=("authorization", "content-type"),
        )
    app.add_middleware(Monitor, metrics=metrics, log_requests=settings.log_requests, leaving=lambda: running.draining)


def _lifespan(
    settings: ServerSettings, sessions: Sessions, metrics: Metrics, readiness: Readiness, running: Running
) -> Callable[[FastAPI], contextlib.AbstractAsyncContextManager[None]]:
    """Start and stop the application's parts."""

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        running.draining = False
        _call_on_sighup(running.on_hangup)
        await asyncio.to_thread(compile_rules)
        for start in running.starts:
            await start()
        sweeper = asyncio.create_task(_sweep(settings, sessions, metrics, readiness))
        _drain_on_sigterm(running, settings.drain_seconds, LAST_REQUEST_SECONDS if settings.workers > 1 else 0.0)
        UVICORN.addFilter(metrics.filter)
        gc.freeze()  # a garbage collection that scans everything loaded until now would pause all requests
        try:
            yield
        finally:
            gc.unfreeze()
            UVICORN.removeFilter(metrics.filter)
            running.draining = True
            sweeper.cancel()
            for stop in reversed(running.stops):
                await stop()
            sessions.store.close()

    return lifespan


def _drain_on_sigterm(running: Running, seconds: float, last_request: float) -> None:
    """On SIGTERM, answer /ready with 503 for `seconds`, accept no connection for `last_request` more, then stop by uvicorn's own handler.

    Uvicorn closes connections that have sent no request yet, so that a client whose connection has just been accepted would be cut
    off although other workers serve. Another SIGTERM changes nothing: a worker gets two where one is sent to the whole process group.
    SIGINT stops at once.
    """
    before = signal.getsignal(signal.SIGTERM)
    if seconds + last_request <= 0 or not callable(before) or threading.current_thread() is not threading.main_thread():
        return
    loop, stop = asyncio.get_running_loop(), before
    server = getattr(before, "__self__", None)

    def drain(sig: int, frame: FrameType | None) -> None:
        if not running.draining:
            running.draining = True
            loop.call_soon_threadsafe(loop.call_later, seconds, leave, sig, frame)

    def leave(sig: int, frame: FrameType | None) -> None:
        if last_request and isinstance(server, uvicorn.Server):
            for listener in server.servers:
                listener.close()
        loop.call_later(last_request, stop, sig, frame)

    signal.signal(signal.SIGTERM, drain)


def _reread(tokens: KnownTokens, sockets: Sockets) -> None:
    """Read the tokens again, and close the sockets of those that are gone."""
    tokens.reread()
    sockets.close_unless(tokens.knows)


def _call_on_sighup(act: Callable[[], None]) -> None:
    """On SIGHUP, which would end the process otherwise, do this on the event loop."""
    if hasattr(signal, "SIGHUP") and threading.current_thread() is threading.main_thread():
        loop = asyncio.get_running_loop()
        signal.signal(signal.SIGHUP, lambda *_: loop.call_soon_threadsafe(act))


def compile_rules() -> None:
    """Play a step of both games, so that the first client does not wait while their rules are compiled."""
    first = {"auction": action_of(random_mechanisms(generator(0), 1)[0]), "bargaining": {"act_type": int(Act.PROPOSE), "oA": [0, 0, 0]}}
    for game in GAMES:
        open_live(opening_of(game, {}, 0)).step(first[game])


async def _sweep(settings: ServerSettings, sessions: Sessions, metrics: Metrics, readiness: Readiness) -> None:
    """Write this worker's gauges down for the others, at once and at intervals, and delete idle sessions."""
    metrics.sample()
    while True:
        await asyncio.sleep(settings.sweep_seconds)
        await readiness.problem()
        metrics.sample()
        try:
            gone = await sessions.expire()
        except Exception as error:
            note(logging.ERROR, "sweep_failed", error)
            continue
        if gone:
            note(logging.INFO, "expired", sessions=gone)
