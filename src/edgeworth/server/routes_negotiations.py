"""Negotiations in words, and measured: a typed sentence as a move, moves as sentences, and a result against everything possible.

The partner's utilities are told only when the episode is over, or in a session that was opened with `truth`.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from edgeworth.dialogues.acts import Conversation, Reading
from edgeworth.dialogues.sentences import sentence
from edgeworth.dialogues.wording import OUTCOME_WORDS, act_name, share_words
from edgeworth.evaluation.context_report import context_report
from edgeworth.games.bargaining.contexts import Triple, triple_of
from edgeworth.games.bargaining.history import ACTS_WITH_SHARE, History, Move, history_of, share_for_agent
from edgeworth.games.bargaining.vocabulary import Act, Outcome, Side
from edgeworth.server.live import LiveBargaining
from edgeworth.server.models import SessionId
from edgeworth.server.models_lab import Analysis, Parsed, ParseRequest, Transcript
from edgeworth.server.refusals import Json, Refused, problems
from edgeworth.server.routes_games import owner_of
from edgeworth.server.sessions import Held, Sessions, other_game


def negotiation_routes(sessions: Sessions) -> APIRouter:
    """A negotiation in words, and measured."""
    router = APIRouter(prefix="/bargaining", tags=["bargaining"])

    @router.post("/parse", operation_id="parse", response_model=Parsed, responses=problems(404, 409))
    async def parse(request: Request, body: ParseRequest) -> Response:
        """Read a sentence of the agent's as its next move, without making it."""
        held, live = await negotiation(sessions, request, body.session_id)
        refuse_over(held)
        return Json({**parsed(live, body.text), "steps": live.steps})

    @router.get("/transcript", operation_id="transcript", response_model=Transcript, responses=problems(404, 409))
    async def transcript(request: Request, session_id: Annotated[SessionId, Query()]) -> Response:
        """The moves so far as sentences; the wording is drawn from the session's seed."""
        held, live = await negotiation(sessions, request, session_id)
        pool, seed = live.env.context.counts, held.stored.opening.seed
        moves = [spoken(move, pool, seed, number) for number, move in enumerate(history(live))]
        return Json({"moves": moves, "ending": OUTCOME_WORDS[outcome(live)] if live.done else None})

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


def spoken(move: Move, pool: Triple, seed: int, number: int) -> dict[str, Any]:
    """A move as `SpokenMove` describes it."""
    share = None if move.share is None else share_for_agent(pool, move)
    return {"side": Side(move.side).name.lower(), "act": act_name(move.act), "share": share, "sentence": sentence(move, pool, seed, number)}


def parsed(live: LiveBargaining, text: str) -> dict[str, Any]:
    """A sentence of the agent's as `Parsed` describes it."""
    conversation = Conversation(live.env.context.counts)
    for move in history(live):
        if move.share is not None:
            conversation.note_offer(Side(move.side), move.share)
    reading = conversation.hear(Side.AGENT, text)
    action, words = action_read(live, reading)
    return {
        "act": None if reading.act is None else reading.act.name,
        "share": reading.share,
        "confidence": reading.confidence,
        "evidence": None if reading.evidence is None else reading.evidence.value,
        "action": action,
        "words": words,
    }


def action_read(live: LiveBargaining, reading: Reading) -> tuple[dict[str, Any] | None, str]:
    """The move that a reading means in the game, and its words; or None, and why there is none."""
    act, share, info = reading.act, reading.share, live.info()
    if act is None:
        return None, "I read no move in this: say who gets which items, or accept, or refuse."
    offer = triple_of(live.observation()["last_partner_offer_for_me"]) if info["action_mask"][Act.AGREE] else None
    if act is Act.AGREE and share is not None and share != offer:
        act = Act.PROPOSE  # an assent to something else than the partner's last offer offers that
    if act in ACTS_WITH_SHARE and share is None:
        return None, f"I read {act.name}, but not which items are yours: say who gets what."
    if not info["action_mask"][act]:
        return None, f"I read {act.name}, which the rules do not allow now."
    stated = share if act in ACTS_WITH_SHARE and share is not None else (0, 0, 0)
    means = {Act.AGREE: "accept: you get {}", Act.DISAGREE: "walk away without a deal", Act.END: "end, and select {} for yourself"}
    gets = share_words(offer or stated if act is Act.AGREE else stated)
    return {"act_type": int(act), "oA": stated}, f"{act.name}: " + means.get(act, "you get {}").format(gets)
