"""Designers and hint providers over HTTP: asking them, listing them, and loading them beforehand."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response

from edgeworth import catalog
from edgeworth.errors import EpisodeOver, UnknownName
from edgeworth.games.bargaining.hints import Hint
from edgeworth.games.bargaining.vocabulary import Act
from edgeworth.seeding import fresh_seed
from edgeworth.server.designers import Design, designer_workers
from edgeworth.server.hints import Hinted, Moment, hint_workers, situation_batch
from edgeworth.server.known_markets import KnownMarket, market_described, market_in
from edgeworth.server.live import LiveAuction, LiveBargaining
from edgeworth.server.model_process import designer_process, pocket_process
from edgeworth.server.model_queue import QueueMetrics, RequestQueue, while_connected
from edgeworth.server.models_designers import Designers, DesignReply, DesignRequest, HintReply, HintRequest, Providers, WorkerState
from edgeworth.server.refusals import Json, Refused, problems
from edgeworth.server.routes_negotiations import negotiation_routes
from edgeworth.server.sessions import Held, Sessions, other_game
from edgeworth.server.settings import ServerSettings
from edgeworth.server.speech import SpeechWorker, speech_process

Queues = Mapping[str, RequestQueue[Any, Any]]
UNREAD = {"current_mechanism", "recent_mechanisms"}
"""What the game reads itself, so that its errors name the field."""
ANSWERS = (404, 409, 501, 502, 503, 504)


def designer_routes(queues: Mapping[str, RequestQueue[KnownMarket, Design]], default: str, sessions: Sessions) -> APIRouter:
    """Routes that ask designers and list them."""
    router = APIRouter(prefix="/api", tags=["designers"])

    @router.post(
        "/design", operation_id="design", response_model=DesignReply, response_model_exclude_none=True, responses=problems(*ANSWERS)
    )
    async def design(request: Request, body: DesignRequest) -> Response:
        """Ask a designer for the next mechanism of a market."""
        began, owner = time.perf_counter(), request.scope["state"]["owner"]
        name = known_name("designer", body.designer or default, queues)
        market = described(body) if body.session_id is None else await _in_session(owner, body.session_id, body.round_number, sessions)
        made = await while_connected(request, queues[name].ask(market, owner))
        facts: dict[str, Any] = {"mechanism": made.mechanism.model_dump(), "designer": name, "round_number": market.round_number}
        extra = {"confidence": made.confidence, "model": made.model}
        facts |= {key: value for key, value in extra.items() if value is not None}
        return Json({**facts, "assumed": [*market.notes, *made.assumed], "elapsed_ms": elapsed(began)})

    @router.get("/designers", operation_id="designers", response_model=Designers, responses=problems())
    async def designers() -> Response:
        """List the designers, which of them are loaded, and the default."""
        return Json({"default": default, "designers": listed("designer", queues)})

    @router.post("/designers/{name}/warm-up", operation_id="warm_up", status_code=202, response_model=WorkerState, responses=problems(404))
    async def warm_up(name: str) -> Response:
        """Load a designer beforehand, without waiting for it; GET /api/designers shows when it is loaded."""
        if name not in queues:
            raise Refused(404, "unknown_name", str(UnknownName("designer", name, queues)), "Use one of the known names.", "name")
        queues[name].warm_up()
        return Json(listed("designer", {name: queues[name]})[0], 202)

    return router


def hint_routes(queues: Mapping[str, RequestQueue[Moment, Hinted]], sessions: Sessions) -> APIRouter:
    """Routes that ask hint providers and list them."""
    router = APIRouter(prefix="/bargaining", tags=["bargaining"])

    @router.post("/hint", operation_id="hint", response_model=HintReply, responses=problems(*ANSWERS))
    async def hint(request: Request, body: HintRequest) -> Response:
        """Ask a provider for the next move in a session, or at a moment that you describe."""
        began, owner = time.perf_counter(), request.scope["state"]["owner"]
        name = known_name("hint provider", body.provider, queues)
        moment, steps = await _moment(owner, body, sessions)
        said = await while_connected(request, queues[name].ask(moment, owner))
        facts = {"provider": name, "hint": said.hint and hint_words(said.hint), "steps": steps, "model": said.model}
        refused = said.rejection
        why = refused and {"reason": refused.reason.value, "sentence": refused.sentence, "field": refused.field}
        return Json({**facts, "rejection": why, "elapsed_ms": elapsed(began)})

    @router.get("/hints", operation_id="hint_providers", response_model=Providers, responses=problems())
    async def providers() -> Response:
        """List the hint providers, and which of them are loaded."""
        return Json({"providers": listed("hint provider", queues)})

    return router


def known_name(kind: str, name: str, queues: Queues) -> str:
    """The name, if there is such a designer or provider; typos get a suggestion."""
    if name not in queues:
        raise UnknownName(kind, name, queues)
    return name


def described(body: DesignRequest) -> KnownMarket:
    """The market that the fields of a request describe."""
    observation = body.model_dump(exclude_none=True, exclude=UNREAD)
    if body.market_outcomes is None:
        message = "market_outcomes is missing; expected it or a session_id."
        raise Refused(422, "missing_field", message, "Send it as the last observation has it.", "market_outcomes")
    return market_described({**observation, **{name: getattr(body, name) for name in UNREAD}}, fresh_seed())


async def _in_session(owner: str, session_id: str, expected: int | None, sessions: Sessions) -> KnownMarket:
    held = await held_in("auction", owner, session_id, sessions)
    assert isinstance(held.live, LiveAuction)
    if expected is not None and expected != held.live.steps:
        message = f"round_number is {expected}, but the session {session_id!r} is at step {held.live.steps}."
        raise Refused(409, "conflict", message, "Leave round_number out, or send that of the session.", "round_number")
    return market_in(held.live, held.stored.opening.seed)


async def _moment(owner: str, body: HintRequest, sessions: Sessions) -> tuple[Moment, int | None]:
    """The moment that a request is about, and the step of its session."""
    if body.situation is not None and body.session_id is None:
        return functools.partial(situation_batch, body.situation), None
    if body.session_id is None or body.situation is not None:
        message = "A hint is for one moment; expected either a session_id or a situation."
        raise Refused(422, "invalid_request", message, "Send one of them.", "session_id")
    held = await held_in("bargaining", owner, body.session_id, sessions)
    assert isinstance(held.live, LiveBargaining)
    batch = held.live.env.batch
    copied = batch.selected(batch.everybody)  # the session may go on meanwhile
    return lambda: copied, held.live.steps


async def held_in(game: str, owner: str, session_id: str, sessions: Sessions) -> Held:
    """A session of this owner and game that is not over."""
    held = await sessions.held(owner, session_id)
    if held.stored.opening.game != game:
        raise other_game(session_id, held.stored.opening.game, game, "Name a session of that game.")
    if held.live.done:
        raise EpisodeOver(f"The episode of {session_id!r} is over after {held.live.steps} steps; nothing is left to decide.")
    return held


def hint_words(hint: Hint) -> dict[str, Any]:
    """A hint in the shape of an action, with the act's name and the confidence."""
    return {"act_type": int(hint.act), "act": Act(hint.act).name, "oA": list(hint.share), "confidence": round(hint.confidence, 6)}


def listed(kind: str, queues: Queues) -> list[dict[str, Any]]:
    """The designers or providers behind queues, as `WorkerState` describes them."""
    return [
        {
            "name": name,
            "what": (catalog.resolve(kind, name).__doc__ or "").strip().splitlines()[0],
            "state": queue.state,
            "reason": queue.fault if queue.state == "failed" else None,
            "waiting": queue.waiting,
            "in_progress": queue.in_progress,
        }
        for name, queue in queues.items()
    ]


def elapsed(began: float) -> float:
    """Milliseconds since a reading of the clock."""
    return round(1e3 * (time.perf_counter() - began), 3)


def add_models(app: FastAPI, sessions: Sessions, settings: ServerSettings) -> None:
    """Add designers, hint providers and a model that speaks: their queues, routes and metrics, and what runs at start and stop."""
    process, metrics = pocket_process(), QueueMetrics(app.state.metrics)
    limits = settings.queues if settings.tokens else dataclasses.replace(settings.queues, per_owner=settings.queues.queue)
    designs = designer_process(process)
    designing, hinting, speaking = designer_workers(designs), hint_workers(process), speech_process(settings)
    threads = ThreadPoolExecutor(len(designing) + len(hinting) + 1, thread_name_prefix="model queue")
    designers = {name: RequestQueue(name, worker, limits, threads, metrics) for name, worker in designing.items()}
    hints = {name: RequestQueue(f"hints {name}", worker, limits, threads, metrics) for name, worker in hinting.items()}
    for name in settings.warm:
        known_name("designer or hint provider to warm", name, {**hints, **designers})
    speech = None if speaking is None else RequestQueue("speech", SpeechWorker(speaking), limits, threads, metrics)
    queues: list[RequestQueue[Any, Any]] = [*designers.values(), *hints.values(), *([] if speech is None else [speech])]
    metrics.watch(queues)
    app.include_router(designer_routes(designers, known_name("designer", settings.designer, designers), sessions))
    app.include_router(hint_routes(hints, sessions))
    app.include_router(negotiation_routes(sessions, speech))

    async def start() -> None:
        for queue in queues:
            queue.open()
        for name in settings.warm:
            (designers if name in designers else hints)[name].warm_up()

    async def stop() -> None:
        if not any(queue.in_progress or queue.waiting for queue in queues):
            await close()  # a model that is still loading is not waited for
        await asyncio.gather(*(queue.close() for queue in queues))
        await close()

    async def close() -> None:
        for each in {process, designs, *([] if speaking is None else [speaking])}:
            await asyncio.to_thread(each.close)

    app.state.running.starts.append(start)
    app.state.running.stops.append(stop)
    app.state.model_process = process
