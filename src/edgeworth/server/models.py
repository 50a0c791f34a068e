"""Requests and answers of the games, as the OpenAPI document describes them.

Session names, seeds and step numbers are checked here. Options and actions are only described here: the games check them, with errors that
name the rule or suggest a known name. Answers are made by the games and described here; a test compares the two.
"""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SkipValidation, WithJsonSchema, create_model

from edgeworth.config import ADAPTING, BIDDER_RANGE, TURN_RANGE
from edgeworth.dialogues.sentences import TONES
from edgeworth.games.auction.action import CHOICES, FLAGS, PARTIAL, DaedalusAction
from edgeworth.games.auction.state import PROXIES, SCORES
from edgeworth.server.openings import LONGEST_EPISODE, NAMED_CONTEXTS
from edgeworth.server.sessions import NAME

Observation = TypeVar("Observation")
SessionId = Annotated[str, Field(pattern=f"^{NAME.pattern}$", description="Letters, digits, dots, dashes, underscores, colons.")]
Seed = Annotated[int, Field(ge=0, lt=2**63, strict=True, description="Decides every draw; without one the server draws it.")]
Triple = Annotated[list[int], Field(min_length=3, max_length=3, description="One number for each type of item.")]


def option(kind: str, says: str, **bounds: Any) -> Any:
    """The description of an option that the game itself checks."""
    return WithJsonSchema({"anyOf": [{"type": kind, **bounds}, {"type": "null"}], "description": says})


def mechanism_schema() -> dict[str, Any]:
    """The schema of a mechanism; words and flags may also be sent as their numbers."""
    schema = DaedalusAction.model_json_schema()
    for name, kind in schema["properties"].items():
        if name in CHOICES or name in FLAGS:
            last = len(CHOICES[name]) - 1 if name in CHOICES else 1
            word = {key: kind.pop(key) for key in ("type", "enum") if key in kind}
            kind["anyOf"] = [word, {"type": "integer", "minimum": 0, "maximum": last}]
    return schema


def posted_schema() -> dict[str, Any]:
    """The schema of a mechanism that is posted; a partial one may leave fields out."""
    schema = mechanism_schema()
    schema["anyOf"] = [{"required": schema.pop("required")}, {"required": [PARTIAL], "properties": {PARTIAL: {"const": True}}}]
    partial = {"type": "boolean", "description": "Take missing fields from the mechanism in force; `info.filled` names them."}
    schema["properties"][PARTIAL] = partial
    return schema


MechanismGiven = Annotated[Any, WithJsonSchema(mechanism_schema())]
"""A mechanism that the game itself checks."""


class Reset(BaseModel):
    """What every opening has. Further fields are options of the game, which checks them and suggests a known name for an unknown one."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"additionalProperties": False})

    session_id: SessionId | None = Field(None, description="A name of your own; opening one again begins a new episode in its place.")
    seed: Seed | None = None
    truth: bool = Field(False, strict=True, description="Include in `info` what no player knows.")

    def options(self) -> dict[str, Any]:
        """The options of the game that were given."""
        given = {name: getattr(self, name) for name in self.model_fields_set if name not in Reset.model_fields}
        return {**given, **(self.model_extra or {})}


class AuctionReset(Reset):
    """A new market."""

    n_agents: Annotated[Any, option("integer", "Bidders.", minimum=BIDDER_RANGE[0], maximum=BIDDER_RANGE[1])] = None
    episode_length: Annotated[Any, option("integer", "Steps of the designer.", minimum=1, maximum=LONGEST_EPISODE)] = None
    stage: Annotated[
        Any,
        WithJsonSchema(
            {
                "anyOf": [
                    {"type": "string", "pattern": r"^([0-4]|mixed|stages|dirichlet|held_out|held_out_1?[0-9])$"},
                    {"type": "integer", "minimum": 0, "maximum": 4},
                    {"type": "null"},
                ],
                "description": "The population; not together with `mix`.",
            }
        ),
    ] = None
    mix: Annotated[Any, option("object", "A population of your own: shares by bidder type that add up to 1.")] = None
    model: Annotated[Any, option("object", "Changes to the market model, by module.")] = None
    freeze: Annotated[Any, option("array", "What does not adapt.", items={"enum": list(ADAPTING)}, maxItems=len(ADAPTING))] = None


class BargainingReset(Reset):
    """A new negotiation; without options it is the scenario `classic`."""

    scenario: Annotated[Any, option("string", "A named scenario; options change it.")] = None
    partner: Annotated[Any, option("string", "The partner, by name.")] = None
    partner_options: Annotated[Any, option("object", "Options of that partner; none may name a file.")] = None
    contexts: Annotated[Any, option("string", "Where pools and utilities come from.", enum=list(NAMED_CONTEXTS))] = None
    max_turns: Annotated[Any, option("integer", "Moves of both sides.", minimum=TURN_RANGE[0], maximum=TURN_RANGE[1])] = None
    opens: Annotated[Any, option("string", "Who moves first.", enum=["random", "agent", "partner"])] = None
    disagree: Annotated[Any, option("string", "Whether DISAGREE walks away.", enum=["ends", "passes"])] = None
    on_illegal: Annotated[Any, option("string", "Refuse an illegal act, or charge for it.", enum=["error", "penalty"])] = None
    illegal_penalty: Annotated[Any, option("number", "That charge.", minimum=0, maximum=1e6)] = None
    min_count: Annotated[Any, option("integer", "Fewest units of a type.", minimum=0, maximum=10)] = None
    max_count: Annotated[Any, option("integer", "Most units of a type.", minimum=1, maximum=10)] = None
    normalize: Annotated[Any, option("boolean", "Make every pool worth 10 to each side.")] = None
    reveal_partner_utilities: Annotated[Any, option("boolean", "Show the partner's utilities.")] = None
    discount: Annotated[Any, option("number", "Factor on a deal per move.", minimum=0, maximum=1)] = None
    sudden_end: Annotated[Any, option("number", "Chance that the negotiation breaks off after a move.", minimum=0, maximum=1)] = None
    reservation: Annotated[
        Any, option("array", "What no deal pays each side.", items={"type": "number", "minimum": 0, "maximum": 1}, minItems=2, maxItems=2)
    ] = None
    insist_price: Annotated[Any, option("number", "Points that an INSIST costs.", minimum=0, maximum=1e6)] = None
    utterances: Annotated[Any, option("string", "Put what both sides say into `info.utterances`, in this tone.", enum=list(TONES))] = None
    counts: Annotated[Any, option("array", "The pool, with both utilities.", items={"type": "integer"}, minItems=3, maxItems=3)] = None
    my_utilities: Annotated[Any, option("array", "Your utilities.", items={"type": "integer"}, minItems=3, maxItems=3)] = None
    partner_utilities: Annotated[Any, option("array", "Your partner's.", items={"type": "integer"}, minItems=3, maxItems=3)] = None


class Move(BaseModel):
    """An act and the share that the agent asks for."""

    model_config = ConfigDict(extra="forbid")

    act_type: int = Field(ge=0, le=4, description="PROPOSE, INSIST, AGREE, DISAGREE, END.")
    oA: Triple  # noqa: N815 - the published name


class Step(BaseModel):
    """What every step has."""

    model_config = ConfigDict(extra="forbid")

    session_id: SessionId
    action: Any
    expected: int | None = Field(None, ge=0, strict=True, description="The step you believe the session to be at; 409 where it is not.")


class AuctionStep(Step):
    """The next mechanism."""

    action: Annotated[Any, WithJsonSchema(posted_schema())]


class BargainingStep(Step):
    """The next move."""

    action: SkipValidation[Move]


SCORE_NUMBERS: dict[str, Any] = dict.fromkeys(SCORES, (float, ...))
PROXY_NUMBERS: dict[str, Any] = dict.fromkeys(PROXIES, (float, ...))
MarketOutcome: Any = create_model("MarketOutcome", __doc__="How a step was scored.", **SCORE_NUMBERS)
PopulationProxies: Any = create_model("PopulationProxies", __doc__="What can be seen of the bidders.", **PROXY_NUMBERS)


class MarketObservation(BaseModel):
    """What a designer sees."""

    market_outcomes: list[MarketOutcome] = Field(description="The last steps, oldest first.")
    population_proxies: PopulationProxies | None = Field(description="Null before the first step.")
    round_number: int
    episode_length: int
    n_agents: int
    current_mechanism: DaedalusAction | None
    recent_mechanisms: list[DaedalusAction] = Field(description="What was in force in each of the last steps, oldest first.")
    recent_proxies: list[PopulationProxies] = Field(description="What was seen of the bidders in each of them.")


class NegotiationObservation(BaseModel):
    """What a negotiator sees."""

    counts: Triple
    my_utilities: list[float] = Field(description="Whole numbers, unless the game is normalised.", min_length=3, max_length=3)
    partner_utilities: list[float] = Field(description="Zeros unless revealed.", min_length=3, max_length=3)
    last_partner_act: int
    last_partner_offer_for_me: Triple
    turns_remaining: int


class Opened(BaseModel, Generic[Observation]):
    """A session that has begun."""

    session_id: str
    seed: int
    observation: Observation
    info: dict[str, Any]
    done: Literal[False]


class Stepped(BaseModel, Generic[Observation]):
    """The result of a step; it is in the store."""

    observation: Observation
    reward: float
    done: bool
    info: dict[str, Any]
    steps: int = Field(description="Steps made so far, this one included.")


class SessionState(BaseModel, Generic[Observation]):
    """Where a session stands."""

    session_id: str
    game: str
    seed: int
    options: dict[str, Any]
    steps: int
    done: bool
    observation: Observation
    info: dict[str, Any]


MarketOpened, NegotiationOpened = Opened[MarketObservation], Opened[NegotiationObservation]
MarketStepped, NegotiationStepped = Stepped[MarketObservation], Stepped[NegotiationObservation]
MarketState, NegotiationState = SessionState[MarketObservation], SessionState[NegotiationObservation]


class SessionLine(BaseModel):
    """A session in the list of its owner."""

    session_id: str
    game: str | None = Field(description="Null, as rules and seed, where the opening cannot be read.")
    rules: int | None = Field(description="The version of the game's rules that it was opened under.")
    seed: int | None
    problem: str | None = Field(description="Why the opening cannot be read; the session can still be exported and deleted.")
    steps: int
    done: bool
    created: float = Field(description="Seconds since 1970.")
    touched: float


class SessionList(BaseModel):
    """The sessions of an owner."""

    sessions: list[SessionLine]


class Export(BaseModel):
    """A session as a file: `edgeworth replay FILE` plays it again."""

    session_id: str
    edgeworth: str = Field(description="The version of the package that exported it.")
    game: str
    rules: int = Field(description="The version of the game's rules that it was opened under.")
    seed: int
    options: dict[str, Any]
    truth: bool
    actions: list[Any]


class RawExport(BaseModel):
    """A session that cannot be read, as it was stored."""

    session_id: str
    edgeworth: str = Field(description="The version of the package that exported it.")
    problem: str = Field(description="Why it cannot be read.")
    opening: str
    log: list[str]


class Status(BaseModel):
    """The answer to a probe."""

    status: Literal["healthy", "ready"]
