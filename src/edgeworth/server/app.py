"""The HTTP application: routes, guards in front of them, and what runs beside them.

From the outside in: `Watch` (id, log, metrics), `Access` (who asks), `Guard` (how much, and whether it is JSON), `Express` (steps), then
the routes. Whatever is refused, by us or by the framework, is answered in one shape.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

from fastapi import FastAPI
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from edgeworth import __version__
from edgeworth.games.auction.action import action_of, random_mechanisms
from edgeworth.games.bargaining.vocabulary import Act
from edgeworth.seeding import generator
from edgeworth.server.access import Access
from edgeworth.server.answers import answer_in_one_shape
from edgeworth.server.express import Express
from edgeworth.server.limits import Guard
from edgeworth.server.live import GAMES, open_live, opening_of
from edgeworth.server.logs import note
from edgeworth.server.metrics import Metrics
from edgeworth.server.openenv_adapter import add_openenv
from edgeworth.server.routes_auction import auction_routes
from edgeworth.server.routes_bargaining import bargaining_routes
from edgeworth.server.routes_hints import add_designers_and_hints
from edgeworth.server.routes_pages import page_routes
from edgeworth.server.routes_sessions import session_routes
from edgeworth.server.sessions import Sessions
from edgeworth.server.settings import ServerSettings, settings_of_environment
from edgeworth.server.store import Store
from edgeworth.server.watch import Watch

Hook = Callable[[], Awaitable[None]]


@dataclass
class Running:
    """What lives as long as the application; others hang their beginnings and ends into it."""

    starts: list[Hook] = field(default_factory=list)
    stops: list[Hook] = field(default_factory=list)
    draining: bool = False


class Application(FastAPI):
    """FastAPI behind our own layers, which answer its faults too."""

    front: Callable[[ASGIApp], ASGIApp]

    def build_middleware_stack(self) -> ASGIApp:
        """Our layers, and the framework without its outermost one, whose answer to a fault has another shape."""
        whole = super().build_middleware_stack()
        return self.front(whole.app if isinstance(whole, ServerErrorMiddleware) else whole)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.middleware_stack is None:
            self.middleware_stack = self.build_middleware_stack()
        scope["app"] = self
        await self.middleware_stack(scope, receive, send)


def create_app(settings: ServerSettings | None = None) -> FastAPI:
    """The application of one worker; without settings, by what the environment says."""
    settings = settings or settings_of_environment()
    store, metrics, running = Store(settings.store), Metrics(), Running()
    sessions = Sessions(store, settings.sessions, settings.alone)
    sessions.on_step = metrics.stepped
    metrics.watch("sessions", "Sessions in the store.", lambda: store.count("")[0])
    app = Application(
        title="Edgeworth",
        version=__version__,
        summary="Two strategic games over HTTP: bargaining, and the design of auctions.",
        docs_url=None,  # the stock page loads its script from elsewhere
        redoc_url=None,
        lifespan=_lifespan(settings, sessions, metrics, running),
    )
    app.state.settings, app.state.sessions, app.state.metrics, app.state.running = settings, sessions, metrics, running
    app.include_router(auction_routes(sessions))
    app.include_router(bargaining_routes(sessions))
    app.include_router(session_routes(sessions))
    app.include_router(page_routes(settings, store, metrics, lambda: running.draining))
    _add_neighbours(app, sessions, settings)
    answer_in_one_shape(app)
    app.front = functools.partial(_front, settings=settings, sessions=sessions, metrics=metrics)
    return app


def _front(routes: ASGIApp, settings: ServerSettings, sessions: Sessions, metrics: Metrics) -> ASGIApp:
    """What a request passes on its way to the routes."""
    guarded = Guard(Express(routes, sessions), settings.limits)
    return Watch(Access(guarded, settings), metrics, settings.log_requests)


def _add_neighbours(app: FastAPI, sessions: Sessions, settings: ServerSettings) -> None:
    """Routes of other modules."""
    add_designers_and_hints(app, sessions, settings)
    add_openenv(app, sessions, settings)


def _lifespan(
    settings: ServerSettings, sessions: Sessions, metrics: Metrics, running: Running
) -> Callable[[FastAPI], contextlib.AbstractAsyncContextManager[None]]:
    """What begins and ends with the application."""

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        running.draining = False
        await asyncio.to_thread(compile_rules)
        for start in running.starts:
            await start()
        sweeper = asyncio.create_task(_sweep(settings, sessions, metrics))
        try:
            yield
        finally:
            running.draining = True
            sweeper.cancel()
            for stop in reversed(running.stops):
                await stop()
            sessions.store.close()

    return lifespan


def compile_rules() -> None:
    """Play a step of both games, so that the first client does not wait for their rules, nor anybody else for the first client."""
    first = {"auction": action_of(random_mechanisms(generator(0), 1)[0]), "bargaining": {"act_type": int(Act.PROPOSE), "oA": [0, 0, 0]}}
    for game in GAMES:
        open_live(opening_of(game, {}, 0)).step(first[game])


async def _sweep(settings: ServerSettings, sessions: Sessions, metrics: Metrics) -> None:
    """Delete idle sessions, now and then."""
    while True:
        await asyncio.sleep(settings.sweep_seconds)
        try:
            gone = await sessions.expire()
            await asyncio.to_thread(metrics.sample)
        except Exception as error:
            note(logging.ERROR, "sweep_failed", error)
            continue
        if gone:
            note(logging.INFO, "expired", sessions=gone)
