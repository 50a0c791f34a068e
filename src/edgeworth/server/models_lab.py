"""Requests and replies of the routes that the lab page needs beside the games: the catalog, and views of a negotiation."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from edgeworth.dialogues.sentences import Tone
from edgeworth.games.auction.action import DaedalusAction
from edgeworth.server.models import Move, SessionId, Triple
from edgeworth.server.models_designers import EXACT

LONGEST_TEXT = 500
SideName = Literal["agent", "partner"]


class Named(BaseModel):
    """A name that requests can use, and what it stands for."""

    name: str
    what: str


class Scenario(Named):
    """A named game."""

    partner: str = Field(description="Its own partner, where a request names none.")
    max_turns: int


class Catalog(BaseModel):
    """What this server offers."""

    version: str
    rules: dict[str, int] = Field(description="The version of each game's rules.")
    scenarios: list[Scenario]
    partners: list[Named]
    providers: list[Named] = Field(description="Hint providers.")


class BundledMechanism(Named):
    """A mechanism to begin with."""

    mechanism: DaedalusAction
    notes: list[str] = Field(description="What is to be said of it, such as for how many bidders it was found.")


class Mechanisms(BaseModel):
    """All bundled mechanisms."""

    mechanisms: list[BundledMechanism]


class ParseRequest(BaseModel):
    """What the agent of a negotiation says next."""

    model_config = EXACT

    session_id: SessionId
    text: str = Field(min_length=1, max_length=LONGEST_TEXT)


class ParsedMove(BaseModel):
    """A move, in the shape of an action."""

    act_type: int
    oA: Triple  # noqa: N815 - the published name


class Parsed(BaseModel):
    """How a sentence was understood."""

    act: str | None = Field(description="The act that was read; null where the sentence is no move.")
    share: Triple | None = Field(description="What the agent gets under it, where it says so.")
    confidence: float
    evidence: str | None = Field(description="What the split rests on (docs/dialogue_acts.md).")
    action: ParsedMove | None = Field(
        description="To be posted to /bargaining/step as `action`; null where no sure and legal move was read."
    )
    guess: ParsedMove | None = Field(description="Of an unsure reading, the move that `words` asks about; post it once it is confirmed.")
    words: str = Field(description="The move in words; of an unsure reading, a question; or why there is no move.")
    steps: int = Field(description="The step of the session that it is for.")


class SayRequest(BaseModel):
    """A move of the agent's that is to be put into words."""

    model_config = EXACT

    session_id: SessionId
    action: Move
    tone: Tone = "plain"
    by: Literal["template", "model"] = Field(
        "template", description="Who words it; `model` is the language model that speaks on this server."
    )


class Said(BaseModel):
    """A move in words."""

    sentence: str
    tone: Tone
    source: Literal["template", "model"] = Field(description="Who worded it.")
    rejected: str | None = Field(
        description="Where a template took the model's place: what the model wrote that does not say this move, or why it wrote nothing."
    )
    steps: int = Field(description="The step of the session that it is for.")


class SpokenMove(BaseModel):
    """A move, with the sentence that its speaker might have said."""

    side: SideName
    act: str
    share: Triple | None = Field(description="What the agent would get; null where the act states no share.")
    sentence: str


class Transcript(BaseModel):
    """A negotiation as a conversation."""

    moves: list[SpokenMove]
    ending: str | None = Field(description="How it ended; null while it goes on.")


class Division(BaseModel):
    """A division of the pool: the agent's share, and its worth to both sides in points."""

    share: Triple
    mine: int
    theirs: int


class PathPoint(Division):
    """An offer that was made."""

    side: int
    act: int


class Whole(BaseModel):
    """The pool and both sides' utilities."""

    counts: Triple
    my_utilities: Triple
    partner_utilities: Triple
    my_maximum: int
    partner_maximum: int


class CouldGet(BaseModel):
    """What others get on average from this context, partner and opener; a note says why where that cannot be computed."""

    model_config = ConfigDict(extra="forbid")

    random: float = Field(description="An agent that plays random legal moves.")
    plan: dict[str, Any] | None = Field(None, description="The best plan of an agent that does not know the partner's utilities.")
    plan_note: str | None = None
    oracle: float | None = Field(None, description="An agent that knows them.")
    oracle_note: str | None = None


class Analysis(BaseModel):
    """A finished negotiation against everything that was possible."""

    context: Whole
    allocations: list[Division] = Field(description="Every pair of points that some division gives.")
    frontier: list[Division] = Field(description="From the agent's best to the partner's.")
    points: dict[str, Division] = Field(description="What bargaining theory singles out.")
    path: list[PathPoint] = Field(description="The offers of both sides, in order.")
    deal: Division | None
    improvement: Division | None = Field(description="The division best for the agent that costs the partner nothing.")
    could_get: CouldGet


class BidMade(BaseModel):
    """A bid per unit of quality."""

    seat: int = Field(description="Whose it is, from 0; of a false name, its owner.")
    amount: float
    value: float = Field(description="What a unit of quality is worth to the bidder; 0 for a false name.")
    role: Literal["own", "designee", "cover", "cheat", "false name"]
    is_void: bool = Field(description="Below the reserve.")


class LotSold(BaseModel):
    """What became of a lot. Money, not per unit of quality."""

    lot: int
    quality: float
    winner: BidMade | None
    payment: float
    fate: Literal["kept", "withdrawn", "unsold"]
    worth: float
    collapsed: bool = Field(description="Whether the winner's value fell after the hammer.")
    charge: float = Field(description="What withdrawing cost.")
    taker: int | None = Field(description="Who holds it in the end.")
    paid: float


class FineImposed(BaseModel):
    """A fine, right or wrong."""

    seat: int
    amount: float
    charge: Literal["collusion", "shilling"]
    deserved: bool


class SaleHeld(BaseModel):
    """One sale: who came, who bid what, what became of the lots, and its story in sentences."""

    number: int = Field(description="Of the episode's sales, from 1.")
    types: list[str] = Field(description="The type of every bidder, by seat.")
    demand: float
    reserve: float
    stayed_away: list[int]
    kept_out: list[int] = Field(description="Wanted to come and were screened out.")
    bids: list[BidMade] = Field(description="Best first.")
    awards: list[LotSold]
    ring: dict[str, Any]
    shills: list[BidMade]
    uplift: float
    kickback: float
    fines: list[FineImposed]
    welfare: float
    first_best: float
    profit: float
    competitive_profit: float
    story: list[str]


class StepHeld(BaseModel):
    """A step of the designer's, sale by sale; its scores are further fields."""

    model_config = ConfigDict(extra="allow")

    step: int
    mechanism: DaedalusAction
    profit: float
    competitive_profit: float
    sales: list[SaleHeld]


class RunLine(BaseModel):
    """A run in the list."""

    name: str = Field(description="Its folder, inside the folder of runs.")
    began: str | None
    command: str | None
    changed: float = Field(description="When its metrics were last written, in seconds since 1970.")
    checkpoints: list[str]


class RunList(BaseModel):
    """All runs."""

    runs: list[RunLine]


class RunHistory(RunLine):
    """A run with its settings and metrics."""

    settings: dict[str, Any]
    total: int = Field(description="Lines of the history; a long one is thinned out.")
    lines: list[dict[str, Any]] = Field(description="Metrics over time; null where there is no number.")
