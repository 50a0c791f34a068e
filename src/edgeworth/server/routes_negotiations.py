"""Negotiations in words, and measured: a typed sentence as a move, moves as sentences, and a result against everything possible.

The partner's utilities are told only when the episode is over, or in a session that was opened with `truth`.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from edgeworth.dialogues.sentences import Tone, conversation_of, sentences
from edgeworth.dialogues.speech import Speech, Utterance
from edgeworth.dialogues.understanding import understand
from edgeworth.dialogues.wording import OUTCOME_WORDS, act_name
from edgeworth.errors import IllegalAction
from edgeworth.evaluation.context_report import context_report
from edgeworth.games.bargaining.contexts import Triple, triple_of
from edgeworth.games.bargaining.history import ACTS_WITH_SHARE, History, Move, history_of, share_for_agent
from edgeworth.games.bargaining.vocabulary import Act, Outcome, Side
from edgeworth.server.live import LiveBargaining
from edgeworth.server.model_queue import RequestQueue, while_connected
from edgeworth.server.models import SessionId
from edgeworth.server.models_lab import Analysis, Parsed, ParseRequest, Said, SayRequest, Transcript
from edgeworth.server.refusals import Json, Refused, problems
from edgeworth.server.routes_games import owner_of
from edgeworth.server.sessions import Held, Sessions, other_game
from edgeworth.server.speech import ToSay


def negotiation_routes(sessions: Sessions, speech: RequestQueue[ToSay, Utterance] | None) -> APIRouter:
    """A negotiation in words, and measured; `speech` is the queue of the language model that speaks, where there is one."""
    router = APIRouter(prefix="/bargaining", tags=["bargaining"])

    @router.post("/parse", operation_id="parse", response_model=Parsed, responses=problems(404, 409))
    async def parse(request: Request, body: ParseRequest) -> Response:
        """Read a sentence of the agent's as its next move, without making it."""
        held, live = await negotiation(sessions, request, body.session_id)
        refuse_over(held)
        return Json({**parsed(live, body.text), "steps": live.steps})

    @router.post("/say", operation_id="say", response_model=Said, responses=problems(404, 409, 501, 502, 503, 504))
    async def say(request: Request, body: SayRequest) -> Response:
        """Put a move of the agent's into words, without making it; `/bargaining/parse` reads them back as exactly this move."""
        held, live = await negotiation(sessions, request, body.session_id)
        refuse_over(held)
        wanted, steps = to_say(live, body), live.steps
        if body.by == "template":
            said = wanted.by(Speech(body.tone))
        elif speech is None:
            message = "No language model speaks on this server."
            raise Refused(409, "no_speech_model", message, "Ask for `template`, or start the server with --speech-model.", "by")
        else:
            said = await while_connected(request, speech.ask(wanted, owner_of(request)))
        return Json({"sentence": said.text, "tone": body.tone, "source": said.source, "rejected": said.rejected, "steps": steps})

    @router.get("/transcript", operation_id="transcript", response_model=Transcript, responses=problems(404, 409))
    async def transcript(request: Request, session_id: Annotated[SessionId, Query()], tone: Tone = "plain") -> Response:
        """The moves so far as sentences; the wording is drawn from the session's seed."""
        _, live = await negotiation(sessions, request, session_id)
        pool, moves = live.env.context.counts, history(live)
        words = sentences(pool, moves, tone, key(live))
        found = [spoken(move, pool, text) for move, text in zip(moves, words, strict=True)]
        return Json({"moves": found, "ending": OUTCOME_WORDS[outcome(live)] if live.done else None})

    @router.get("/analysis", operation_id="analysis", response_model=Analysis, responses=problems(404, 409))
    async def analysis(request: Request, session_id: Annotated[SessionId, Query()]) -> Response:
        """A finished negotiation against everything that was possible: frontier, solutions, and what others get."""
        held, live = await negotiation(sessions, request, session_id)
        if not live.done and not held.stored.opening.truth:
            message = f"The negotiation {session_id!r} goes on; its analysis shows what the partner wants."
            raise Refused(409, "not_over", message, "Ask when it is over, or open a session with `truth`.", "session_id")
        env = live.env
        deal = live.info().get("deal")
        opener, seed = Side(int(env.batch.state["opener"][0])), held.stored.opening.seed
        given = (env.context, env.config, opener, history(live), None if deal is None else triple_of(deal), seed)
        return Json(await asyncio.to_thread(context_report, *given))

    return router


async def negotiation(sessions: Sessions, request: Request, session_id: str) -> tuple[Held, LiveBargaining]:
    """A negotiation of the owner who asks."""
    request.scope["state"]["session"] = session_id
    held = await sessions.held(owner_of(request), session_id)
    if not isinstance(held.live, LiveBargaining):
        raise other_game(session_id, held.stored.opening.game, "bargaining", "Name a session of that game.")
    return held, held.live


def refuse_over(held: Held) -> None:
    """Refuse what only makes sense while a negotiation goes on."""
    if held.live.done:
        raise Refused(409, "episode_over", "The negotiation is over; nothing is left to say.", "Open the next one.", "session_id")


def history(live: LiveBargaining) -> History:
    """The moves so far."""
    state = live.env.batch.state
    return history_of(state["history"][0], state["turn"][0])


def outcome(live: LiveBargaining) -> Outcome:
    """How the negotiation stands."""
    return Outcome(int(live.env.batch.state["outcome"][0]))


def key(live: LiveBargaining) -> int:
    """What the words of the episode are drawn from."""
    return int(live.env.batch.state["key"][0])


def spoken(move: Move, pool: Triple, text: str) -> dict[str, Any]:
    """A move as `SpokenMove` describes it."""
    share = None if move.share is None else share_for_agent(pool, move)
    return {"side": Side(move.side).name.lower(), "act": act_name(move.act), "share": share, "sentence": text}


def parsed(live: LiveBargaining, text: str) -> dict[str, Any]:
    """A sentence of the agent's as `Parsed` describes it."""
    found = understand(text, live.env.context.counts, history(live), live.info()["action_mask"])
    reading = found.reading
    return {
        "act": None if reading.act is None else reading.act.name,
        "share": reading.share,
        "confidence": reading.confidence,
        "evidence": None if reading.evidence is None else reading.evidence.value,
        "action": action_of(found.move),
        "guess": action_of(found.guess),
        "words": found.words,
    }


def action_of(move: Move | None) -> dict[str, Any] | None:
    """A move of the agent's as an action."""
    return None if move is None else {"act_type": int(move.act), "oA": move.share or (0, 0, 0)}


def to_say(live: LiveBargaining, body: SayRequest) -> ToSay:
    """The move that a request wants in words; one that is not legal now is refused."""
    act, pool, moves = Act(body.action.act_type), live.env.context.counts, history(live)
    if not live.info()["action_mask"][act]:
        raise IllegalAction(f"{act.name} is not legal now.", "act_type")
    if any(units > count for units, count in zip(body.action.oA, pool, strict=True)):
        raise IllegalAction(f"oA is {list(body.action.oA)}; expected shares within the pool {list(pool)}.", "oA")
    move = Move(Side.AGENT, act, triple_of(body.action.oA) if act in ACTS_WITH_SHARE else None)
    return ToSay(move, conversation_of(pool, moves), body.tone, key(live), len(moves))
