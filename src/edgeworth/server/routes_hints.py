"""Hints over HTTP: what a provider suggests as the agent's next move in a negotiation.

The moment is that of a session, or one that a client describes. Moments under the same rules that arrive together are one batch for the
provider. A hint is legal at its moment; where a provider has no legal hint, `rejection` says why.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, NamedTuple

import numpy as np
from fastapi import APIRouter, FastAPI, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from edgeworth import catalog
from edgeworth.agents.hints.bayes import BOOKS
from edgeworth.agents.hints.llm import LanguageModelHints
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption, ModelUnavailable
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import Context
from edgeworth.games.bargaining.hints import Hint, HintProvider
from edgeworth.games.bargaining.talks import Move, triple_of
from edgeworth.games.bargaining.told_talks import told_talks
from edgeworth.games.bargaining.vocabulary import COUNT_LIMIT, UTILITY_LIMIT, Act
from edgeworth.protocol import Reason, Rejection
from edgeworth.server.designers import designer_workers
from edgeworth.server.live import LiveBargaining, opening_of
from edgeworth.server.model_process import ModelProcess, ProcessClient, pocket_process
from edgeworth.server.model_queue import QueueMetrics, RequestQueue, Worker
from edgeworth.server.models import SessionId
from edgeworth.server.refusals import Json, Refused, problems
from edgeworth.server.routes_designers import (
    ANSWERS,
    EXACT,
    NAMED,
    WHOLE,
    WorkerState,
    designer_routes,
    elapsed,
    held_in,
    known_name,
    listed,
    while_connected,
)
from edgeworth.server.sessions import Sessions
from edgeworth.server.settings import ServerSettings

LANGUAGE_MODEL = "llm"
MOST_GAMES = 256
"""How many different games' plans a provider keeps; clients can name any number of games."""
ANY_UTILITIES = (1, 1, 1)
"""Stand-in for the partner's utilities where they are neither known nor shown."""
DESCRIBED: dict[str, Any] = {"properties": {"situation": {"type": "object"}}, "required": ["situation"]}
SideNumber = Annotated[int, Field(ge=0, le=1), WHOLE]
ActNumber = Annotated[int, Field(ge=0, le=4), WHOLE]
Units = Annotated[list[Annotated[int, Field(ge=0, le=COUNT_LIMIT), WHOLE]], Field(min_length=3, max_length=3)]
Points = Annotated[list[Annotated[int, Field(ge=0, le=UTILITY_LIMIT), WHOLE]], Field(min_length=3, max_length=3)]
Moment = Callable[[], BargainingBatch]
"""Makes a batch of one at the moment in question; called in the worker's thread, since it may compile rules."""


class Told(BaseModel):
    """A move so far, as `info.history` has it."""

    model_config = EXACT

    side: SideNumber = Field(description="0 is the agent, 1 its partner.")
    act: ActNumber = Field(description="PROPOSE, INSIST, AGREE, DISAGREE, END.")
    share: Units | None = Field(None, description="What the speaker asks for itself; null where the act states no share.")


class SituationGiven(BaseModel):
    """A moment of a negotiation at which the agent is to move."""

    model_config = EXACT

    counts: Units
    my_utilities: Points
    partner_utilities: Points | None = Field(None, description="Needed only in a game that reveals them.")
    history: list[Told] = Field(default_factory=list, max_length=50, description="All moves so far, oldest first.")
    options: dict[str, Any] = Field(default_factory=dict, description="The game, by the options of /bargaining/reset.")

    def batch(self) -> BargainingBatch:
        """The moment as a batch of one, under the rules that the options name."""
        options = dict(opening_of("bargaining", self.options, 0).options)
        config = BargainingConfig.from_options(options.pop("scenario", None), **options)
        if config.reveal_partner_utilities and self.partner_utilities is None:
            raise InvalidOption("reveal_partner_utilities shows what the situation does not tell; add partner_utilities.")
        context = Context(triple_of(self.counts), triple_of(self.my_utilities), triple_of(self.partner_utilities or ANY_UTILITIES))
        largest = max(*context.counts, BargainingBatch(config, 1).max_count)
        moves = [Move(move.side, move.act, None if move.share is None else triple_of(move.share)) for move in self.history]
        return told_talks(dataclasses.replace(config, max_count=largest), context, moves)


class HintRequest(BaseModel):
    """A provider, and the moment for its hint: that of a session of yours, or one that you describe."""

    model_config = EXACT | ConfigDict(json_schema_extra={"oneOf": [NAMED, DESCRIBED]})

    provider: str = Field(description="Who is asked.", json_schema_extra={"enum": [*catalog.names("hint provider")]})
    session_id: SessionId | None = None
    situation: SituationGiven | None = None


class HintGiven(BaseModel):
    """A move that the rules allow now."""

    act_type: int
    act: str = Field(description="The act by its name.")
    oA: list[int]  # noqa: N815 - the published name
    confidence: float


class NoHint(BaseModel):
    """Why there is none."""

    reason: str
    sentence: str
    field: str | None


class HintReply(BaseModel):
    """What a provider suggests."""

    provider: str
    hint: HintGiven | None = Field(description="To be posted to /bargaining/step as `action`, without `act` and `confidence`; or null.")
    rejection: NoHint | None = Field(description="Why the provider's hint was not used, where it had one.")
    elapsed_ms: float
    steps: int | None = Field(None, description="The step of the session that it is for.")
    model: str | None = Field(None, description="The language model that was asked.")


class Providers(BaseModel):
    """All hint providers."""

    providers: list[WorkerState]


class Hinted(NamedTuple):
    """A provider's answer."""

    hint: Hint | None
    rejection: Rejection | None = None
    """Why there is no hint, where one was tried."""
    model: str | None = None


class HintWorker(Worker[Moment, Hinted]):
    """A hint provider behind its queue; a language model is asked through its client."""

    def __init__(self, name: str, client: ProcessClient | None = None) -> None:
        self.name, self.client, self.gathers = name, client, client is not None
        self.provider: HintProvider | None = None
        self._games: set[str] = set()

    @property
    def loaded(self) -> bool:
        return self.provider is not None and (self.client is None or self.client.process.loaded)

    def load(self) -> None:
        if self.provider is None:
            options = {} if self.client is None else {"client": self.client}
            self.provider = catalog.resolve("hint provider", self.name)(**options)
        if self.client is not None:
            self.client.check()

    def answer(self, batch: Sequence[Moment], stop_at: float) -> list[Hinted | Exception]:
        """A hint, or why there is none, for every moment; those under the same rules are one batch for the provider."""
        if self.client is not None:
            self.client.stop_at = stop_at
        answers: list[Hinted | Exception] = [ModelUnavailable("dropped", "Not asked.")] * len(batch)
        groups: dict[tuple[str, bytes], list[tuple[int, BargainingBatch]]] = {}
        for place, moment in enumerate(batch):
            try:
                single = moment()
            except Exception as error:
                answers[place] = error
            else:
                groups.setdefault((repr(single.config), single.rules.tobytes()), []).append((place, single))
        self._limit_plans({game for game, _ in groups})
        for group in groups.values():
            for (place, _), answer in zip(group, self._hints([single for _, single in group]), strict=True):
                answers[place] = answer
        return answers

    def _limit_plans(self, games: set[str]) -> None:
        """Forget all plans when they are those of too many games."""
        self._games |= games
        if len(self._games) > MOST_GAMES and self.client is None:
            self._games, self.provider = set(games), None
            BOOKS.clear()
            self.load()

    def _hints(self, singles: Sequence[BargainingBatch]) -> Sequence[Hinted | Exception]:
        assert self.provider is not None
        batch = together(singles)
        try:
            self.provider.check(batch)
            hints = self.provider.give(batch, batch.everybody)
        except Exception as error:
            return [error] * len(singles)
        model = self.provider.asked.name if isinstance(self.provider, LanguageModelHints) else None
        return [self._hinted(hints.at(slot), hints.rejections.get(slot), model) for slot in range(len(singles))]

    def _hinted(self, hint: Hint | None, rejection: Rejection | None, model: str | None) -> Hinted | Exception:
        if rejection is not None and rejection.reason is Reason.NO_REPLY and model is not None:
            return ModelUnavailable("dropped", rejection.sentence)
        return Hinted(hint, rejection, model)


def together(singles: Sequence[BargainingBatch]) -> BargainingBatch:
    """Copies of moments under the same rules as one batch."""
    batch = singles[0].over(np.concatenate([single.state for single in singles]))
    batch.views[:] = np.concatenate([single.views for single in singles])
    batch.masks[:] = np.concatenate([single.masks for single in singles])
    return batch


def hint_workers(process: ModelProcess) -> dict[str, HintWorker]:
    """A worker for every hint provider; `process` runs the language model."""
    names = catalog.names("hint provider")
    return {name: HintWorker(name, ProcessClient(process) if name == LANGUAGE_MODEL else None) for name in names}


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


async def _moment(owner: str, body: HintRequest, sessions: Sessions) -> tuple[Moment, int | None]:
    """The moment that a request is about, and the step of its session."""
    if body.situation is not None and body.session_id is None:
        return body.situation.batch, None
    if body.session_id is None or body.situation is not None:
        message = "A hint is for one moment; expected either a session_id or a situation."
        raise Refused(422, "invalid_request", message, "Send one of them.", "session_id")
    held = await held_in("bargaining", owner, body.session_id, sessions)
    assert isinstance(held.live, LiveBargaining)
    batch = held.live.env.batch
    copied = batch.selected(batch.everybody)  # the session may go on meanwhile
    return lambda: copied, held.live.steps


def hint_words(hint: Hint) -> dict[str, Any]:
    """A hint in the shape of an action, with the act's name and the confidence."""
    return {"act_type": int(hint.act), "act": Act(hint.act).name, "oA": list(hint.share), "confidence": round(hint.confidence, 6)}


def add_designers_and_hints(app: FastAPI, sessions: Sessions, settings: ServerSettings) -> None:
    """Add designers and hint providers to the application: queues, routes, metrics, and what runs at start and stop."""
    process, metrics, threads = pocket_process(), QueueMetrics(app.state.metrics), ThreadPoolExecutor(thread_name_prefix="model queue")
    limits = settings.desk if settings.tokens else dataclasses.replace(settings.desk, per_owner=settings.desk.queue)
    designers = {name: RequestQueue(name, worker, limits, threads, metrics) for name, worker in designer_workers(process).items()}
    hints = {name: RequestQueue(f"hints {name}", worker, limits, threads, metrics) for name, worker in hint_workers(process).items()}
    for name in settings.warm:
        known_name("designer or hint provider to warm", name, {**hints, **designers})
    queues: list[RequestQueue[Any, Any]] = [*designers.values(), *hints.values()]
    metrics.watch(queues)
    app.include_router(designer_routes(designers, known_name("designer", settings.designer, designers), sessions))
    app.include_router(hint_routes(hints, sessions))

    async def start() -> None:
        for queue in queues:
            queue.open()
        for name in settings.warm:
            (designers if name in designers else hints)[name].warm_up()

    async def stop() -> None:
        if not any(queue.in_hand or queue.waiting for queue in queues):
            await asyncio.to_thread(process.close)  # a model that is still loading is not waited for
        await asyncio.gather(*(queue.close() for queue in queues))
        await asyncio.to_thread(process.close)

    app.state.running.starts.append(start)
    app.state.running.stops.append(stop)
    app.state.model_process = process
