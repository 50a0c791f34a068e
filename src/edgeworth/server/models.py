"""What goes over the wire, as the OpenAPI document describes it.

A request's frame (which session, which seed) is checked here; options and actions are described here and judged by the games, whose
errors name the rule or the neighbour. Answers are made by the games and described here; a test compares the two.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SkipValidation, WithJsonSchema

from edgeworth.config import BIDDER_RANGE, TURN_RANGE
from edgeworth.games.auction.action import CHOICES, FLAGS, DaedalusAction
from edgeworth.server.live import LONGEST_EPISODE, NAMED_CONTEXTS

SessionId = Annotated[str, Field(pattern=r"^[A-Za-z0-9._:-]{1,128}$", description="Letters, digits, dots, dashes, underscores, colons.")]
Seed = Annotated[int, Field(ge=0, lt=2**63, strict=True, description="Decides every draw; without one the server draws it.")]
Triple = Annotated[list[int], Field(min_length=3, max_length=3, description="One number for each type of item.")]


def judged(kind: str, says: str, **bounds: Any) -> Any:
    """The description of an option that the game itself judges."""
    return WithJsonSchema({"anyOf": [{"type": kind, **bounds}, {"type": "null"}], "description": says})


def mechanism_schema() -> dict[str, Any]:
    """A mechanism as the games read it: words and flags may also be their numbers."""
    schema = DaedalusAction.model_json_schema()
    for name, kind in schema["properties"].items():
        if name in CHOICES or name in FLAGS:
            last = len(CHOICES[name]) - 1 if name in CHOICES else 1
            word = {key: kind.pop(key) for key in ("type", "enum") if key in kind}
            kind["anyOf"] = [word, {"type": "integer", "minimum": 0, "maximum": last}]
    return schema


class Problem(BaseModel):
    """Why a request was not carried out; nothing has changed."""

    model_config = ConfigDict(extra="allow")

    code: str = Field(description="For programs: one word for each kind of refusal.")
    message: str = Field(description="For people: what was expected and what arrived.")
    remedy: str = Field(description="What to do next.")
    field: str | None = Field(description="The part of the request that is meant, where there is one.")
    state: dict[str, Any] | None = Field(None, description="With a conflict: where the session stands now.")
    request_id: str | None = Field(None, description="With an error of the server: the name of this request in its log.")


class Frame(BaseModel):
    """What every opening has. Further fields are options of the game, judged by it: an unknown one is answered with its neighbour."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"additionalProperties": False})

    session_id: SessionId | None = Field(None, description="A name of your own; opening one again begins a new episode in its place.")
    seed: Seed | None = None
    truth: bool = Field(False, strict=True, description="Tell in `info` what no player knows.")

    def options(self) -> dict[str, Any]:
        """The options of the game that were given."""
        given = {name: getattr(self, name) for name in self.model_fields_set if name not in Frame.model_fields}
        return {**given, **(self.model_extra or {})}


class AuctionReset(Frame):
    """A new market."""

    n_agents: Annotated[Any, judged("integer", "Bidders.", minimum=BIDDER_RANGE[0], maximum=BIDDER_RANGE[1])] = None
    episode_length: Annotated[Any, judged("integer", "Steps of the designer.", minimum=1, maximum=LONGEST_EPISODE)] = None
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
    mix: Annotated[Any, judged("object", "A population of your own: shares by bidder type that add up to 1.")] = None
    model: Annotated[Any, judged("object", "Changes to the market model, by module.")] = None
    freeze: Annotated[Any, judged("array", "What does not adapt.", items={"enum": ["learning", "ring", "entry"]})] = None


class BargainingReset(Frame):
    """New talks. Without options they are the scenario `classic`."""

    scenario: Annotated[Any, judged("string", "A named scenario; options change it.")] = None
    partner: Annotated[Any, judged("string", "Whom you meet, by name.")] = None
    partner_options: Annotated[Any, judged("object", "Options of that partner; none may name a file.")] = None
    contexts: Annotated[Any, judged("string", "Where pools and utilities come from.", enum=list(NAMED_CONTEXTS))] = None
    max_turns: Annotated[Any, judged("integer", "Moves of both sides.", minimum=TURN_RANGE[0], maximum=TURN_RANGE[1])] = None
    opens: Annotated[Any, judged("string", "Who speaks first.", enum=["random", "agent", "partner"])] = None
    disagree: Annotated[Any, judged("string", "Whether DISAGREE walks away.", enum=["ends", "passes"])] = None
    on_illegal: Annotated[Any, judged("string", "Refuse an illegal act, or charge for it.", enum=["error", "penalty"])] = None
    illegal_penalty: Annotated[Any, judged("number", "That charge.", minimum=0, maximum=1e6)] = None
    min_count: Annotated[Any, judged("integer", "Fewest units of a type.", minimum=0, maximum=10)] = None
    max_count: Annotated[Any, judged("integer", "Most units of a type.", minimum=1, maximum=10)] = None
    normalize: Annotated[Any, judged("boolean", "Make every pool worth 10 to each side.")] = None
    reveal_partner_utilities: Annotated[Any, judged("boolean", "Show the partner's utilities.")] = None
    discount: Annotated[Any, judged("number", "Factor on a deal per move.", minimum=0, maximum=1)] = None
    sudden_end: Annotated[Any, judged("number", "Chance that talks break off after a move.", minimum=0, maximum=1)] = None
    reservation: Annotated[
        Any, judged("array", "What no deal pays each side.", items={"type": "number", "minimum": 0, "maximum": 1}, minItems=2, maxItems=2)
    ] = None
    insist_price: Annotated[Any, judged("number", "Points that an INSIST costs.", minimum=0, maximum=1e6)] = None
    counts: Annotated[Any, judged("array", "The pool, with both utilities.", items={"type": "integer"}, minItems=3, maxItems=3)] = None
    my_utilities: Annotated[Any, judged("array", "Your utilities.", items={"type": "integer"}, minItems=3, maxItems=3)] = None
    partner_utilities: Annotated[Any, judged("array", "Your partner's.", items={"type": "integer"}, minItems=3, maxItems=3)] = None


class Move(BaseModel):
    """An act and the share that the agent asks for."""

    model_config = ConfigDict(extra="forbid")

    act_type: int = Field(ge=0, le=4, description="PROPOSE, INSIST, AGREE, DISAGREE, END.")
    oA: Triple  # noqa: N815 - the published name


class StepFrame(BaseModel):
    """What every step has."""

    model_config = ConfigDict(extra="forbid")

    session_id: SessionId
    action: Any
    expected: int | None = Field(None, ge=0, strict=True, description="The step you believe the session to be at; 409 where it is not.")


class AuctionStep(StepFrame):
    """The next mechanism."""

    action: Annotated[Any, WithJsonSchema(mechanism_schema())]


class BargainingStep(StepFrame):
    """The next move."""

    action: SkipValidation[Move]


class MarketOutcome(BaseModel):
    """How a step was scored."""

    welfare_ratio: float
    fairness_score: float
    participation_rate: float
    stability_score: float
    composite: float


class PopulationProxies(BaseModel):
    """What can be seen of the bidders."""

    bid_mean: float
    bid_variation: float
    cover_share: float
    winner_gap: float
    withdrawal_rate: float
    winner_concentration: float
    unsold_share: float
    entrants: float


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


class TalksObservation(BaseModel):
    """What a negotiator sees."""

    counts: Triple
    my_utilities: list[float] = Field(description="Whole numbers, unless the game is normalised.", min_length=3, max_length=3)
    partner_utilities: list[float] = Field(description="Zeros unless revealed.", min_length=3, max_length=3)
    last_partner_act: int
    last_partner_offer_for_me: Triple
    turns_remaining: int


class Opened(BaseModel):
    """A session that has begun."""

    session_id: str
    seed: int
    info: dict[str, Any]
    done: Literal[False]


class MarketOpened(Opened):
    """A market that has begun."""

    observation: MarketObservation


class TalksOpened(Opened):
    """Talks that have begun."""

    observation: TalksObservation


class Stepped(BaseModel):
    """What came of a step; it is in the store."""

    reward: float
    done: bool
    info: dict[str, Any]
    steps: int = Field(description="Steps made so far, this one included.")


class MarketStepped(Stepped):
    """What came of a mechanism."""

    observation: MarketObservation


class TalksStepped(Stepped):
    """What came of a move."""

    observation: TalksObservation


class SessionState(BaseModel):
    """Where a session stands."""

    session_id: str
    game: str
    seed: int
    options: dict[str, Any]
    steps: int
    done: bool
    info: dict[str, Any]


class MarketState(SessionState):
    """Where a market stands."""

    observation: MarketObservation


class TalksState(SessionState):
    """Where talks stand."""

    observation: TalksObservation


class SessionLine(BaseModel):
    """A session in the list of its owner."""

    session_id: str
    game: str
    rules: int = Field(description="The version of the game's rules that it was opened under.")
    seed: int
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
    game: str
    rules: int = Field(description="The version of the game's rules that it was opened under.")
    seed: int
    options: dict[str, Any]
    truth: bool
    actions: list[Any]


class Health(BaseModel):
    """That the process lives."""

    status: Literal["healthy"]


class Ready(BaseModel):
    """That requests will be answered."""

    status: Literal["ready"]
