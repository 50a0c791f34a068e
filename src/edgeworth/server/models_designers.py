"""Requests and replies of designers and hint providers, as the OpenAPI document describes them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, create_model
from pydantic_core import PydanticCustomError

from edgeworth import catalog
from edgeworth.config import BIDDER_RANGE
from edgeworth.games.auction.action import DaedalusAction
from edgeworth.games.auction.market_view import HIGHEST_VARIATION
from edgeworth.games.auction.state import PROXIES, SCORES
from edgeworth.games.auction.vocabulary import MAX_BIDDERS
from edgeworth.games.bargaining.vocabulary import COUNT_LIMIT, UTILITY_LIMIT
from edgeworth.server.designers import OFFERED
from edgeworth.server.known_markets import FEWEST_PARTS, PUBLISHED_LENGTH, PUBLISHED_PARTS, parts_of
from edgeworth.server.models import MechanismGiven, SessionId
from edgeworth.server.openings import LONGEST_EPISODE

EXACT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


def whole(value: Any) -> Any:
    """A number without a fraction as an integer, as JSON Schema has it; anything else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE = BeforeValidator(whole)
Round = Annotated[int, Field(ge=0, le=LONGEST_EPISODE), WHOLE]
Length = Annotated[int, Field(ge=1, le=LONGEST_EPISODE), WHOLE]
Bidders = Annotated[int, Field(ge=BIDDER_RANGE[0], le=BIDDER_RANGE[1]), WHOLE]
SideNumber = Annotated[int, Field(ge=0, le=1), WHOLE]
ActNumber = Annotated[int, Field(ge=0, le=4), WHOLE]
Units = Annotated[list[Annotated[int, Field(ge=0, le=COUNT_LIMIT), WHOLE]], Field(min_length=3, max_length=3)]
Points = Annotated[list[Annotated[int, Field(ge=0, le=UTILITY_LIMIT), WHOLE]], Field(min_length=3, max_length=3)]
Score = Annotated[float, Field(ge=0.0, le=1.0)]
Proxy = Annotated[float, Field(ge=0.0, le=float(max(HIGHEST_VARIATION, MAX_BIDDERS)))]
PUBLISHED_UNUSED = ("clearing_price_mean", "clearing_price_std", "dropout_count", "collusion_signal")
"""What the published environment sends of an outcome besides its scores; not used."""
SCORE_FIELDS: dict[str, Any] = dict.fromkeys([*SCORES, *PUBLISHED_PARTS], (Score | None, None))
SCORE_FIELDS |= dict.fromkeys(PUBLISHED_UNUSED, (float | None, None))
PROXY_FIELDS: dict[str, Any] = dict.fromkeys(PROXIES, (Proxy, ...))
AT_LEAST = ConfigDict(json_schema_extra={"minProperties": FEWEST_PARTS})
ScoresGiven: Any = create_model("ScoresGiven", __config__=EXACT | AT_LEAST, **SCORE_FIELDS)
ProxiesGiven: Any = create_model("ProxiesGiven", __config__=EXACT, **PROXY_FIELDS)
ScoreRow = Annotated[
    list[Score | None], Field(min_length=FEWEST_PARTS, max_length=len(SCORES), description=f"In the order {', '.join(SCORES)}.")
]
OUTCOME = f"an object with at least three of {', '.join(SCORES)}, or three to five numbers from 0 to 1 in this order"


def named_outcome(given: Any) -> Any:
    """A row of scores by their names; a short row leaves out the last ones."""
    if isinstance(given, list) and FEWEST_PARTS <= len(given) <= len(SCORES):
        return dict(zip(SCORES, given, strict=False))
    if isinstance(given, dict):
        return given
    raise PydanticCustomError("outcome", OUTCOME)


def enough_parts(outcome: Any) -> Any:
    """An outcome that has enough scores, none of them under two names."""
    given = outcome.model_dump(exclude_none=True)
    for published, name in PUBLISHED_PARTS.items():
        if published in given and name in given:
            raise PydanticCustomError("outcome", f"either {name} or {published}")
    if len(parts_of(given)) < FEWEST_PARTS:
        raise PydanticCustomError("outcome", OUTCOME)
    return outcome


Outcome = Annotated[
    ScoresGiven, BeforeValidator(named_outcome, json_schema_input_type=ScoresGiven | ScoreRow), AfterValidator(enough_parts)
]
ProxyRow = Annotated[
    list[Proxy], Field(min_length=len(PROXIES), max_length=len(PROXIES), description=f"In the order {', '.join(PROXIES)}.")
]
NEEDED_FIELDS = {"market_outcomes": {"type": "array"}}
NAMED: dict[str, Any] = {"properties": {"session_id": {"type": "string"}}, "required": ["session_id"]}
OBSERVED: dict[str, Any] = {"properties": NEEDED_FIELDS, "required": [*NEEDED_FIELDS]}
DESCRIBED: dict[str, Any] = {"properties": {"situation": {"type": "object"}}, "required": ["situation"]}


class DesignRequest(BaseModel):
    """A market before its next step: a session of yours, or an observation, of which `market_outcomes` is needed."""

    model_config = EXACT | ConfigDict(json_schema_extra={"anyOf": [NAMED, OBSERVED]})

    session_id: SessionId | None = Field(None, description="Take everything from this session; the best way, and all that is needed.")
    round_number: Round | None = Field(
        None, description="Steps played; without it, as many as market_outcomes has. With a session: 409 where it is elsewhere."
    )
    episode_length: Length | None = Field(None, description=f"Without it, {PUBLISHED_LENGTH}.")
    market_outcomes: list[Outcome] | None = Field(
        None, max_length=LONGEST_EPISODE, description="The last steps, oldest first; empty before the first."
    )
    population_proxies: ProxiesGiven | ProxyRow | None = None
    n_agents: Bidders | None = None
    current_mechanism: MechanismGiven | None = Field(None, description="The mechanism in force.")
    recent_mechanisms: list[MechanismGiven] | None = Field(
        None, max_length=LONGEST_EPISODE, description="The mechanisms of the last steps, oldest first."
    )
    recent_proxies: list[ProxiesGiven | ProxyRow] | None = Field(
        None, max_length=LONGEST_EPISODE, description="What was seen of the bidders in the last steps, oldest first."
    )
    designer: str | None = Field(
        None, description="The designer to ask; without one, the server's default.", json_schema_extra={"enum": [*OFFERED, None]}
    )


class DesignReply(BaseModel):
    """A mechanism, and who made it."""

    mechanism: DaedalusAction = Field(description="To be posted to /step as `action`.")
    designer: str = Field(description="Who answered.")
    round_number: int = Field(description="The step that it is for.")
    elapsed_ms: float
    assumed: list[str] = Field(description="What the designer did not know, and what it assumed instead.")
    confidence: float | None = Field(None, description="The probability that a language model gives to this mechanism.")
    model: str | None = Field(None, description="The language model that wrote it.")


class WorkerState(BaseModel):
    """A designer or hint provider that can be asked."""

    name: str
    what: str
    state: Literal["cold", "loading", "loaded", "failed"] = Field(description="A cold one is loaded when it is first asked.")
    reason: str | None = Field(None, description="Why it could not be loaded.")
    waiting: int = Field(description="Requests in its queue in this worker.")
    in_progress: int = Field(description="Requests that it is answering in this worker.")


class Designers(BaseModel):
    """All designers on offer."""

    default: str
    designers: list[WorkerState]


class PastMove(BaseModel):
    """An earlier move, as `info.history` has it."""

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
    history: list[PastMove] = Field(default_factory=list, max_length=50, description="All moves so far, oldest first.")
    options: dict[str, Any] = Field(default_factory=dict, description="The game, by the options of /bargaining/reset.")


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
