"""Designers and hint providers over HTTP: who there is, what they answer, and loading them beforehand."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from fastapi import APIRouter, FastAPI, Request, Response

from edgeworth import catalog
from edgeworth.errors import EpisodeOver, UnknownName
from edgeworth.games.bargaining.hints import Hint
from edgeworth.games.bargaining.talks import Move, triple_of
from edgeworth.games.bargaining.vocabulary import Act
from edgeworth.seeding import fresh_seed
from edgeworth.server.design_questions import DesignQuestion, Past, question_from
from edgeworth.server.designer_desk import LEARNS, DesignerDesks, own_process
from edgeworth.server.desk import Desk
from edgeworth.server.desk_metrics import DeskMetrics
from edgeworth.server.hint_desk import HintDesks, HintQuestion, Situation, moment_of
from edgeworth.server.live import LiveBargaining, opening_from
from edgeworth.server.models_designers import (
    Designers,
    DesignReply,
    DesignRequest,
    Desked,
    HintReply,
    HintRequest,
    Providers,
    SituationGiven,
)
from edgeworth.server.refusals import Refused
from edgeworth.server.sessions import Held, Sessions
from edgeworth.server.settings import ServerSettings
from edgeworth.server.wire import CheckedRoute, Json, problems

Answer = TypeVar("Answer")
LOOK_SECONDS = 0.25
"""How often we look whether the client is still there."""
NEEDED = ("round_number", "episode_length", "market_outcomes")
UNREAD = {"current_mechanism", "recent_mechanisms"}
"""What the game reads itself, so that its errors name the field."""
ANSWERS = (404, 409, 501, 502, 503, 504)


def designer_routes(desks: DesignerDesks, sessions: Sessions) -> APIRouter:
    """Asking designers, and seeing who there is."""
    router = APIRouter(prefix="/api", tags=["designers"], route_class=CheckedRoute)

    @router.post(
        "/design", operation_id="design", response_model=DesignReply, response_model_exclude_none=True, responses=problems(*ANSWERS)
    )
    async def design(request: Request, body: DesignRequest) -> Response:
        """Ask a designer for the next mechanism of a market."""
        began, name = time.perf_counter(), desks.checked(body.designer or desks.default)
        question = await question_of(request, body, sessions, learns=name == LEARNS)
        made = await while_waiting(request, desks.ask(name, question, request.scope["state"]["owner"]))
        facts: dict[str, Any] = {"mechanism": made.mechanism.model_dump(), "designer": name, "round_number": question.round_number}
        extra = {"confidence": made.confidence, "model": made.model}
        facts |= {key: value for key, value in extra.items() if value is not None}
        return Json({**facts, "assumed": list(made.assumed), "elapsed_ms": elapsed(began)})

    @router.get("/designers", operation_id="designers", response_model=Designers, responses=problems())
    async def designers() -> Response:
        """Who designs, who is loaded, and who is asked where nobody is named."""
        return Json({"default": desks.default, "designers": listed("designer", desks.desks.items())})

    @router.post("/designers/{name}/warm-up", operation_id="warm_up", status_code=202, response_model=Desked, responses=problems(404))
    async def warm_up(name: str) -> Response:
        """Load a designer beforehand, without waiting for it; GET /api/designers tells when it is there."""
        if name not in desks.desks:
            raise Refused(404, "unknown_name", str(UnknownName("designer", name, desks.desks)), "Use one of the known names.", "name")
        desks.warm_up(name)
        return Json(listed("designer", [(name, desks.desks[name])])[0], 202)

    return router


def hint_routes(desks: HintDesks, sessions: Sessions) -> APIRouter:
    """Asking hint providers, and seeing who there is."""
    router = APIRouter(prefix="/bargaining", tags=["bargaining"], route_class=CheckedRoute)

    @router.post("/hint", operation_id="hint", response_model=HintReply, responses=problems(*ANSWERS))
    async def hint(request: Request, body: HintRequest) -> Response:
        """Ask a provider what to do now in a session, or at a moment that is told."""
        began, name = time.perf_counter(), desks.checked(body.provider)
        question, steps = await moment_asked(request, body, sessions)
        said = await while_waiting(request, desks.ask(name, question, request.scope["state"]["owner"]))
        facts = {"provider": name, "hint": said.hint and hint_words(said.hint), "steps": steps, "model": said.model}
        refused = said.rejection
        why = refused and {"reason": refused.reason.value, "sentence": refused.sentence, "field": refused.field}
        return Json({**facts, "rejection": why, "elapsed_ms": elapsed(began)})

    @router.get("/hints", operation_id="hint_providers", response_model=Providers, responses=problems())
    async def providers() -> Response:
        """Who gives hints, and who is loaded."""
        return Json({"providers": listed("hint provider", desks.desks.items())})

    return router


async def question_of(request: Request, body: DesignRequest, sessions: Sessions, learns: bool) -> DesignQuestion:
    """The market that a request is about; `learns`: the designer looks at every step of a session."""
    if body.session_id is not None:
        return await _of_session(request.scope["state"]["owner"], body.session_id, body.round_number, sessions, learns)
    observation = body.model_dump(exclude_none=True, exclude=UNREAD)
    for name in NEEDED:
        if name not in observation:
            message = f"{name} is missing; expected a session_id, or all of {', '.join(NEEDED)}."
            raise Refused(422, "missing_field", message, "Send it as the last observation has it.", name)
    return question_from({**observation, **{name: getattr(body, name) for name in UNREAD}}, fresh_seed())


async def _of_session(owner: str, session_id: str, expected: int | None, sessions: Sessions, learns: bool) -> DesignQuestion:
    held = await held_in("auction", owner, session_id, sessions)
    if expected is not None and expected != held.live.steps:
        message = f"round_number is {expected}, but the session {session_id!r} is at step {held.live.steps}."
        raise Refused(409, "conflict", message, "Leave round_number out, or send that of the session.", "round_number")
    observation, seed = held.live.observation(), held.stored.opening.seed
    if not learns:
        return question_from(observation, seed)
    opening, actions = opening_from(await sessions.export(owner, session_id))
    return question_from(observation, seed, Past(opening, tuple(actions[: observation["round_number"]])))


async def moment_asked(request: Request, body: HintRequest, sessions: Sessions) -> tuple[HintQuestion, int | None]:
    """The moment that a request is about, and the step of its session."""
    if (body.session_id is None) == (body.situation is None):
        message = "A hint is for one moment; expected either a session_id or a situation."
        raise Refused(422, "invalid_request", message, "Send one of them.", "session_id")
    if body.situation is not None:
        return HintQuestion(situation_of(body.situation)), None
    assert body.session_id is not None
    held = await held_in("bargaining", request.scope["state"]["owner"], body.session_id, sessions)
    assert isinstance(held.live, LiveBargaining)
    return HintQuestion(moment_of(held.live)), held.live.steps


async def held_in(game: str, owner: str, session_id: str, sessions: Sessions) -> Held:
    """A session of this owner and this game that is not over."""
    held = await sessions.held(owner, session_id)
    if held.stored.opening.game != game:
        message = f"The session {session_id!r} plays {held.stored.opening.game}; here {game} was expected."
        raise Refused(409, "other_game", message, "Name a session of that game.", "session_id")
    if held.live.done:
        raise EpisodeOver(f"The episode of {session_id!r} is over after {held.live.steps} steps; nothing is left to decide.")
    return held


def situation_of(given: SituationGiven) -> Situation:
    """A moment as a client tells it."""
    moves = tuple(Move(told.side, told.act, None if told.share is None else triple_of(told.share)) for told in given.history)
    theirs = None if given.partner_utilities is None else triple_of(given.partner_utilities)
    return Situation(triple_of(given.counts), triple_of(given.my_utilities), moves, theirs, given.options)


def hint_words(hint: Hint) -> dict[str, Any]:
    """A hint as an action has it, with its act by name and how sure its giver is."""
    return {"act_type": int(hint.act), "act": Act(hint.act).name, "oA": list(hint.share), "confidence": round(hint.confidence, 6)}


async def while_waiting(request: Request, asking: Coroutine[Any, Any, Answer]) -> Answer:
    """The answer to a question; it is called off when the client goes away."""
    task = asyncio.ensure_future(asking)
    try:
        while not (await asyncio.wait({task}, timeout=LOOK_SECONDS))[0]:
            if await request.is_disconnected():
                raise Refused(400, "gone", "The client went away before there was an answer.", "Ask again.")
        return task.result()
    finally:
        task.cancel()


def listed(kind: str, desks: Iterable[tuple[str, Desk[Any, Any]]]) -> list[dict[str, Any]]:
    """Who can be asked, in a line each."""
    return [
        {
            "name": name,
            "what": (catalog.resolve(kind, name).__doc__ or "").strip().splitlines()[0],
            "state": desk.state,
            "reason": desk.fault if desk.state == "failed" else None,
            "waiting": desk.waiting,
            "in_hand": desk.in_hand,
        }
        for name, desk in desks
    ]


def elapsed(began: float) -> float:
    """Milliseconds since a reading of the clock."""
    return round(1e3 * (time.perf_counter() - began), 3)


def add_designers(app: FastAPI, sessions: Sessions, settings: ServerSettings) -> None:
    """Hang designers and hint providers into the application: routes, metrics, loading at the start, letting go at the end."""
    process, watcher = own_process({}), DeskMetrics(app.state.metrics)
    limits = settings.desk if settings.tokens else dataclasses.replace(settings.desk, per_owner=settings.desk.queue)
    designers = DesignerDesks(settings.designer, limits, watcher, process)
    hints = HintDesks(limits, watcher, process)
    for name in settings.warm:
        if name not in designers.desks and name not in hints.desks:
            raise UnknownName("designer or hint provider to warm", name, {*designers.desks, *hints.desks})
    everybody: list[Desk[Any, Any]] = [*designers.desks.values(), *hints.desks.values()]
    watcher.watch(everybody)
    app.include_router(designer_routes(designers, sessions))
    app.include_router(hint_routes(hints, sessions))

    async def start() -> None:
        designers.open()
        hints.open()
        if process is not None:
            process.open()
        for name in settings.warm:
            (designers if name in designers.desks else hints).warm_up(name)

    async def stop() -> None:
        if process is not None and not any(desk.in_hand or desk.waiting for desk in everybody):
            process.close()  # nobody waits for a model that is still being loaded
        await asyncio.to_thread(designers.close)
        await asyncio.to_thread(hints.close)
        if process is not None:
            await asyncio.to_thread(process.close)

    app.state.running.starts.append(start)
    app.state.running.stops.append(stop)
    app.state.designers, app.state.hints, app.state.model_process = designers, hints, process
