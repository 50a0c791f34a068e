"""The bargaining game as an ordinary Gymnasium environment in plain Python.

Written from the prose of `docs/games/bargaining.md`, not from the compiled rules, so that it can serve twice: as the oracle whose every
reward and observation the compiled rules must repeat, and as the environment a competent engineer would otherwise have, against which their
speed is measured. Where the prose is silent it follows the package: the options of a population, the empty mask after the end, array types,
the form of the history, and a normalised context in which a side values nothing (pays 0). On those points it is no independent witness.
Inside it works on Python integers and lists; NumPy arrays appear only in what it hands out.

Randomness comes from a `Chance`. `SeededChance` is Python's own generator; `CounterChance` makes the draws of `edgeworth.seeding`, so that
an episode can be laid beside the compiled one.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from edgeworth.config import BargainingConfig
from edgeworth.errors import EpisodeOver, IllegalAction, InvalidOption
from edgeworth.games.bargaining import vocabulary
from edgeworth.games.bargaining.vocabulary import Outcome
from edgeworth.seeding import below, draw, episode_key, third_below, unit

AGENT, PARTNER = 0, 1
PROPOSE, INSIST, AGREE, DISAGREE, END = range(5)
STATES_A_SHARE = (PROPOSE, INSIST, END)
LOST_TURN = 5
"""How the history writes a turn lost by an illegal action."""
UTILITY_LIMIT = 10
UTILITY_BASE = UTILITY_LIMIT + 1
BUDGET = 10
BASIS = 10_000

Share = list[int]
Move = tuple[int, Share]
NOTHING: Share = [0, 0, 0]


class Chance(Protocol):
    """Where random numbers come from; step, purpose and index are the address of a draw."""

    def begin_episode(self) -> None:
        """Move on to the next episode."""
        ...

    def below(self, bound: int, step: int, purpose: int, index: int) -> int:
        """A whole number in 0..bound-1."""
        ...

    def three_below(self, bounds: Share, step: int, purpose: int, index: int) -> Share:
        """Three whole numbers, each below its own bound."""
        ...

    def unit(self, step: int, purpose: int, index: int) -> float:
        """A float in [0, 1)."""
        ...


class SeededChance:
    """One ordinary generator; the address is not read."""

    def __init__(self, seed: int | None) -> None:
        self.random = random.Random(seed).random

    def begin_episode(self) -> None:
        pass

    def below(self, bound: int, step: int, purpose: int, index: int) -> int:
        return int(self.random() * bound)

    def three_below(self, bounds: Share, step: int, purpose: int, index: int) -> Share:
        return [int(self.random() * bounds[0]), int(self.random() * bounds[1]), int(self.random() * bounds[2])]

    def unit(self, step: int, purpose: int, index: int) -> float:
        return self.random()


class CounterChance:
    """The draws of `edgeworth.seeding`: episode 0, 1, 2 … of one seed."""

    def __init__(self, seed: int | None) -> None:
        self.seed = np.uint64(0 if seed is None else seed)
        self.episode = -1
        self.key = np.uint64(0)

    def begin_episode(self) -> None:
        self.episode += 1
        self.key = np.uint64(episode_key(self.seed, np.uint64(self.episode)))

    def below(self, bound: int, step: int, purpose: int, index: int) -> int:
        return int(below(np.uint64(draw(self.key, step, purpose, index)), bound))

    def three_below(self, bounds: Share, step: int, purpose: int, index: int) -> Share:
        bits = np.uint64(draw(self.key, step, purpose, index))
        return [int(third_below(bits, k, bound)) for k, bound in enumerate(bounds)]

    def unit(self, step: int, purpose: int, index: int) -> float:
        return float(unit(np.uint64(draw(self.key, step, purpose, index))))


def worth(utilities: Share, share: Share) -> int:
    """Points of a share."""
    return utilities[0] * share[0] + utilities[1] * share[1] + utilities[2] * share[2]


def rest(counts: Share, share: Share) -> Share:
    """What a share leaves of the pool."""
    return [counts[0] - share[0], counts[1] - share[1], counts[2] - share[2]]


def digits(number: int, base: int) -> Share:
    """Three digits of a number, the least significant first."""
    return [number % base, number // base % base, number // base**2]


def basis_points(ratio: float) -> int:
    """A ratio in whole basis points, rounded down."""
    return math.floor(round(ratio * BASIS, 6))


def all_shares(counts: Share) -> list[Share]:
    """Every share of the pool, in lexicographic order."""
    return [list(share) for share in itertools.product(*(range(count + 1) for count in counts))]


class Negotiation:
    """What has been said in one episode; two-sided facts are lists over (agent, partner), offers the speaker's own share."""

    __slots__ = ("counts", "history", "insisted", "insists", "last_act", "maximum", "moves", "offers", "utilities")

    def __init__(self, counts: Share, utilities: list[Share]) -> None:
        self.counts = counts
        self.utilities = utilities
        self.maximum = [worth(utilities[AGENT], counts), worth(utilities[PARTNER], counts)]
        self.offers: list[Share | None] = [None, None]
        self.insisted = [False, False]
        self.insists = [0, 0]
        self.last_act: list[int | None] = [None, None]
        self.moves = 0
        self.history: list[tuple[int, int, tuple[int, ...] | None]] = []

    def offered_worth(self) -> int | None:
        """What the agent's standing offer is worth to the partner."""
        offer = self.offers[AGENT]
        return None if offer is None else worth(self.utilities[PARTNER], rest(self.counts, offer))


class HeuristicPartner:
    """Accepts a standing offer worth enough of its maximum, less after an INSIST; else proposes a fixed counter-offer."""

    def __init__(self, reserve: int, accept: float = 0.55, accept_insist: float = 0.50, counter: str = "leave_one") -> None:
        self.accept = max(basis_points(accept), reserve)
        self.accept_insist = max(basis_points(accept_insist), reserve)
        self.counter = counter
        self.counter_offer: Share = NOTHING

    def begin(self, negotiation: Negotiation) -> None:
        """Prepare the counter-offer of this episode."""
        if self.counter == "keep_all":
            self.counter_offer = negotiation.counts
        elif self.counter == "leave_one":
            self.counter_offer = [max(0, count - 1) for count in negotiation.counts]
        elif self.counter == "utility_aware":
            self.counter_offer = self.best_for_agent(negotiation)
        else:
            raise InvalidOption(f"counter is {self.counter!r}; expected leave_one, keep_all or utility_aware.")

    def best_for_agent(self, negotiation: Negotiation) -> Share:
        """The split best for the agent among those the partner would accept; ties go to the partner."""
        counts, (agents, own) = negotiation.counts, negotiation.utilities
        least = self.accept * negotiation.maximum[PARTNER]
        good_enough = [share for share in all_shares(counts) if worth(own, share) * BASIS >= least]
        return max(good_enough, key=lambda share: (worth(agents, rest(counts, share)), worth(own, share)))

    def accepts(self, negotiation: Negotiation) -> bool:
        """Whether the agent's standing offer is good enough."""
        offered = negotiation.offered_worth()
        if offered is None:
            return False
        threshold = self.accept_insist if negotiation.insisted[AGENT] else self.accept
        return offered * BASIS >= threshold * negotiation.maximum[PARTNER]

    def opening(self, negotiation: Negotiation, chance: Chance) -> Move:
        return PROPOSE, self.counter_offer

    def reply(self, negotiation: Negotiation, chance: Chance) -> Move:
        return (AGREE, NOTHING) if self.accepts(negotiation) else (PROPOSE, self.counter_offer)


class WalkAwayPartner(HeuristicPartner):
    """The heuristic one, who leaves when the moves it has refused exceed its patience."""

    def __init__(self, reserve: int, leaves_by: int, patience: int = 1, **heuristic: Any) -> None:
        super().__init__(reserve, **heuristic)
        self.leaves_by = leaves_by
        self.patience = patience
        self.refusals = 0

    def begin(self, negotiation: Negotiation) -> None:
        super().begin(negotiation)
        self.refusals = 0

    def reply(self, negotiation: Negotiation, chance: Chance) -> Move:
        if self.accepts(negotiation):
            return AGREE, NOTHING
        self.refusals += 1
        if self.refusals > self.patience:
            return self.leaves_by, self.counter_offer
        return PROPOSE, self.counter_offer


class AspiringPartner:
    """Accepts what meets its aspiration, else offers the split worth least to itself that still does."""

    def begin(self, negotiation: Negotiation) -> None:
        pass

    def aspiration(self, negotiation: Negotiation) -> int:
        """Least points it wants now, times 10,000."""
        raise NotImplementedError

    def opening(self, negotiation: Negotiation, chance: Chance) -> Move:
        return self.reply(negotiation, chance)

    def reply(self, negotiation: Negotiation, chance: Chance) -> Move:
        aspiration = self.aspiration(negotiation)
        offered = negotiation.offered_worth()
        if offered is not None and offered * BASIS >= aspiration:
            return AGREE, NOTHING
        return PROPOSE, self.modest_share(negotiation, aspiration)

    def modest_share(self, negotiation: Negotiation, aspiration: int) -> Share:
        """The share worth least that meets the aspiration; ties: fewer units, then the first in order."""
        own = negotiation.utilities[PARTNER]
        enough = [share for share in all_shares(negotiation.counts) if worth(own, share) * BASIS >= aspiration]
        return min(enough, key=lambda share: (worth(own, share), sum(share)))


class TimeDependentPartner(AspiringPartner):
    """Aspires to 1 - (1 - floor) x^(1/exponent) of its maximum, x the share of the clock that has run."""

    def __init__(self, reserve: int, max_turns: int, exponent: float, floor: float = 0.4) -> None:
        clock = [moves / (max_turns - 1) for moves in range(max_turns)]
        self.thresholds = [max(basis_points(1 - (1 - floor) * x ** (1 / exponent)), reserve) for x in clock]

    def aspiration(self, negotiation: Negotiation) -> int:
        return self.thresholds[negotiation.moves] * negotiation.maximum[PARTNER]


class TitForTatPartner(AspiringPartner):
    """Aspires to its maximum less what the agent has conceded: its best offer so far less its first one."""

    def __init__(self, reserve: int, floor: float = 0.4) -> None:
        self.floor = max(basis_points(floor), reserve)
        self.first: int | None = None
        self.best = 0

    def begin(self, negotiation: Negotiation) -> None:
        self.first = None

    def aspiration(self, negotiation: Negotiation) -> int:
        maximum = negotiation.maximum[PARTNER]
        offered = negotiation.offered_worth()
        if offered is None:
            return maximum * BASIS
        if self.first is None:
            self.first = self.best = offered
        self.best = max(self.best, offered)
        return max((maximum - (self.best - self.first)) * BASIS, self.floor * maximum)


class RandomPartner:
    """Uniform over its legal acts, each share uniform; opens with a random PROPOSE."""

    def begin(self, negotiation: Negotiation) -> None:
        pass

    def opening(self, negotiation: Negotiation, chance: Chance) -> Move:
        return PROPOSE, random_share(negotiation, chance, vocabulary.PARTNER_SHARE)

    def reply(self, negotiation: Negotiation, chance: Chance) -> Move:
        act = random_act(negotiation, chance, vocabulary.PARTNER_ACT, may_agree=negotiation.offers[AGENT] is not None)
        return act, random_share(negotiation, chance, vocabulary.PARTNER_SHARE) if act in STATES_A_SHARE else NOTHING


def random_act(negotiation: Negotiation, chance: Chance, purpose: int, may_agree: bool) -> int:
    """A legal act, every one as likely as the next."""
    if may_agree:
        return chance.below(5, negotiation.moves, purpose, 0)
    return (PROPOSE, INSIST, DISAGREE, END)[chance.below(4, negotiation.moves, purpose, 0)]


def random_share(negotiation: Negotiation, chance: Chance, purpose: int) -> Share:
    """A share of the pool, uniform type by type."""
    return chance.three_below([count + 1 for count in negotiation.counts], negotiation.moves, purpose, 0)


Partner = HeuristicPartner | AspiringPartner | RandomPartner
EXPONENTS = {"boulware": 0.2, "linear": 1.0, "conceder": 5.0}
DEFAULT_MEMBERS = {"heuristic": 1.0, "boulware": 1.0, "conceder": 1.0, "tit_for_tat": 1.0}
DEFAULT_HELD_OUT = {"linear": 1.0, "walk_away": 1.0}


def make_partner(name: str, config: BargainingConfig, options: Mapping[str, Any]) -> Partner:
    """A partner by its name, with its options."""
    reserve = math.ceil(round(config.reservation[PARTNER] * BASIS, 6))
    if name == "heuristic":
        return HeuristicPartner(reserve, **options)
    if name == "walk_away":
        return WalkAwayPartner(reserve, END if config.disagree == "passes" else DISAGREE, **options)
    if name in EXPONENTS:
        return TimeDependentPartner(reserve, config.max_turns, **{"exponent": EXPONENTS[name], **options})
    if name == "tit_for_tat":
        return TitForTatPartner(reserve, **options)
    if name == "random":
        return RandomPartner()
    raise InvalidOption(f"The plain environment has no partner {name!r}.")


def make_population(config: BargainingConfig) -> list[tuple[float, Partner]]:
    """The partners an episode may meet, each with the upper end of its slice of [0, 1)."""
    if config.partner != "population":
        return [(1.0, make_partner(config.partner, config, config.partner_options))]
    options = config.partner_options
    entries = options.get("members", DEFAULT_MEMBERS)
    if options.get("split", "train") == "held_out":
        entries = options.get("held_out", {name: weight for name, weight in DEFAULT_HELD_OUT.items() if name not in entries})
    weights, partners = [], []
    for label, entry in entries.items():
        settings = dict(entry) if isinstance(entry, Mapping) else {"weight": entry}
        weights.append(float(settings.pop("weight", 1.0)))
        partners.append(make_partner(settings.pop("partner", label), config, settings))
    ends = [end / sum(weights) for end in itertools.accumulate(weights)]
    return list(zip(ends, partners, strict=True))


class PlainNegotiationEnv(gymnasium.Env[dict[str, Any], dict[str, Any]]):
    """`DealOrNoDialog-v0` in plain Python: same keys, same options, same rules."""

    def __init__(
        self,
        config: BargainingConfig | None = None,
        table: Sequence[Sequence[int]] | None = None,
        max_count: int | None = None,
        make_chance: Callable[[int | None], Chance] = SeededChance,
    ) -> None:
        self.config = config if config is not None else BargainingConfig()
        self.table = table
        self.max_count = max_count or self.config.max_count or max(4, self.config.min_count)
        self.population = make_population(self.config)
        self.make_chance = make_chance
        self.chance: Chance | None = None
        self.negotiation: Negotiation | None = None
        self.outcome = Outcome.ONGOING
        self.payoffs = [0.0, 0.0]
        self.deal: Share | None = None
        self.action_space = spaces.Dict({"act_type": spaces.Discrete(5), "oA": spaces.MultiDiscrete([self.max_count + 1] * 3)})
        self.observation_space = self.make_observation_space()

    def make_observation_space(self) -> spaces.Dict:
        """The six keys and their ranges."""
        units = spaces.Box(0, self.max_count, (3,), np.int32)
        points = spaces.Box(0.0, BUDGET, (3,), np.float32) if self.config.normalize else spaces.Box(0, UTILITY_LIMIT, (3,), np.int32)
        return spaces.Dict(
            {
                "counts": units,
                "my_utilities": points,
                "partner_utilities": points,
                "last_partner_act": spaces.Discrete(5),
                "last_partner_offer_for_me": units,
                "turns_remaining": spaces.Discrete(self.config.max_turns + 1),
            }
        )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode: the next one, or the first of a seed; `options` may fix the context."""
        if seed is not None or self.chance is None:
            self.chance = self.make_chance(seed)
        self.chance.begin_episode()
        self.negotiation = Negotiation(*(self.given_context(options) if options else self.draw_context(self.chance)))
        self.outcome = Outcome.ONGOING
        self.payoffs = [0.0, 0.0]
        self.deal = None
        self.partner = self.draw_partner(self.chance)
        self.partner.begin(self.negotiation)
        if self.partner_opens(self.chance):
            self.move(self.negotiation, PARTNER, *self.partner.opening(self.negotiation, self.chance))
        return self.observation(self.negotiation), self.info(self.negotiation)

    def given_context(self, options: dict[str, Any]) -> tuple[Share, list[Share]]:
        counts, mine, theirs = ([int(n) for n in options[key]] for key in ("counts", "my_utilities", "partner_utilities"))
        return counts, [mine, theirs]

    def draw_context(self, chance: Chance) -> tuple[Share, list[Share]]:
        """A row of the table, or counts and utilities drawn uniformly."""
        if self.table is not None:
            row = [int(n) for n in self.table[chance.below(len(self.table), 0, vocabulary.COUNTS, 0)]]
            return row[:3], [row[3:6], row[6:]]
        return self.draw_counts(chance), [self.draw_utilities(chance, AGENT), self.draw_utilities(chance, PARTNER)]

    def draw_counts(self, chance: Chance) -> Share:
        """Three counts; where types may be missing, the digits of one number, without the empty pool."""
        fewest = self.config.min_count
        levels = self.max_count - fewest + 1
        if fewest == 0:
            return digits(1 + chance.below(levels**3 - 1, 0, vocabulary.COUNTS, 0), levels)
        return [fewest + n for n in chance.three_below([levels] * 3, 0, vocabulary.COUNTS, 0)]

    def draw_utilities(self, chance: Chance, side: int) -> Share:
        """Three utilities; where they are normalised, the digits of one number, so that they are never all zero."""
        if self.config.normalize:
            return digits(1 + chance.below(UTILITY_BASE**3 - 1, 0, vocabulary.UTILITIES, side), UTILITY_BASE)
        return chance.three_below([UTILITY_BASE] * 3, 0, vocabulary.UTILITIES, side)

    def draw_partner(self, chance: Chance) -> Partner:
        """One of the population, by weight."""
        if len(self.population) == 1:
            return self.population[0][1]
        point = chance.unit(0, vocabulary.PARTNER_CHOICE, 0)
        return next((partner for end, partner in self.population if point < end), self.population[-1][1])

    def partner_opens(self, chance: Chance) -> bool:
        if self.config.opens == "random":
            return chance.below(2, 0, vocabulary.OPENER, 0) == 1
        return self.config.opens == "partner"

    def step(self, action: dict[str, Any]) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """The agent's move, and the partner's answer if the negotiation is still open."""
        negotiation, chance = self.negotiation, self.chance
        if negotiation is None or chance is None or self.outcome != Outcome.ONGOING:
            raise EpisodeOver("The episode is over; call reset() to begin the next one.")
        act = int(action["act_type"])
        share = [int(n) for n in action["oA"]] if act in STATES_A_SHARE else NOTHING
        reward = 0.0
        broken = self.rule_broken(negotiation, act, share)
        if broken is None:
            if act == INSIST:
                reward -= self.config.insist_price
            self.move(negotiation, AGENT, act, share)
        elif self.config.on_illegal == "error":
            raise IllegalAction(broken, "illegal")
        else:
            reward -= self.config.illegal_penalty
            negotiation.history.append((AGENT, LOST_TURN, None))
            self.pass_time(negotiation)
        if self.outcome == Outcome.ONGOING:
            self.move(negotiation, PARTNER, *self.partner.reply(negotiation, chance))
        terminated = self.outcome != Outcome.ONGOING
        if terminated:
            reward += self.payoffs[AGENT]
        return self.observation(negotiation), reward, terminated, False, self.info(negotiation)

    def rule_broken(self, negotiation: Negotiation, act: int, share: Share) -> str | None:
        """Why the agent may not do this now, or None if it may."""
        if not PROPOSE <= act <= END:
            return f"act_type is {act}; expected 0 to 4."
        if act == AGREE and negotiation.offers[PARTNER] is None:
            return "AGREE needs an offer of the partner, and it has made none."
        if act in STATES_A_SHARE and any(not 0 <= units <= count for units, count in zip(share, negotiation.counts, strict=True)):
            return f"oA is {share}; expected 0 up to the pool {negotiation.counts}."
        return None

    def move(self, negotiation: Negotiation, side: int, act: int, share: Share) -> None:
        """One move of one side."""
        negotiation.last_act[side] = act
        negotiation.history.append((side, act, tuple(share) if act in STATES_A_SHARE else None))
        if act in (PROPOSE, INSIST):
            negotiation.offers[side] = share
            negotiation.insisted[side] = act == INSIST
            negotiation.insists[side] += act == INSIST
        elif act == AGREE:
            self.accept(negotiation, side)
        elif act == END:
            self.compare_selections(negotiation, side, share)
        elif self.config.disagree == "ends":
            self.finish(negotiation, Outcome.AGENT_WALKED if side == AGENT else Outcome.PARTNER_WALKED, None)
        self.pass_time(negotiation)

    def accept(self, negotiation: Negotiation, side: int) -> None:
        """Close the deal on the other side's standing offer."""
        offer = negotiation.offers[1 - side]
        assert offer is not None
        if side == AGENT:
            self.finish(negotiation, Outcome.AGENT_AGREED, rest(negotiation.counts, offer))
        else:
            self.finish(negotiation, Outcome.PARTNER_AGREED, offer)

    def compare_selections(self, negotiation: Negotiation, side: int, share: Share) -> None:
        """END: a deal if the two sides' selections add up to the pool."""
        last_offer = negotiation.offers[1 - side]
        others = negotiation.counts if last_offer is None else last_offer
        if rest(negotiation.counts, share) == others:
            self.finish(negotiation, Outcome.SELECTIONS_MATCHED, share if side == AGENT else others)
        else:
            self.finish(negotiation, Outcome.SELECTIONS_CLASHED, None)

    def pass_time(self, negotiation: Negotiation) -> None:
        """Count the move; the clock or chance may end a negotiation that is still open."""
        negotiation.moves += 1
        if self.outcome != Outcome.ONGOING:
            return
        if negotiation.moves >= self.config.max_turns:
            self.finish(negotiation, Outcome.TIMED_OUT, None)
        elif negotiation.moves >= 2 and self.config.sudden_end > 0 and self.breaks_off(negotiation.moves):
            self.finish(negotiation, Outcome.BROKEN_OFF, None)

    def breaks_off(self, moves: int) -> bool:
        assert self.chance is not None
        return self.chance.unit(moves, vocabulary.SUDDEN_END, 0) < self.config.sudden_end

    def finish(self, negotiation: Negotiation, outcome: Outcome, deal: Share | None) -> None:
        """End the negotiation and pay both sides; `deal` is the agent's share."""
        self.outcome = outcome
        self.deal = deal
        for side in (AGENT, PARTNER):
            if deal is None:
                self.payoffs[side] = self.config.reservation[side] * self.points(negotiation, side, negotiation.counts)
            else:
                share = deal if side == AGENT else rest(negotiation.counts, deal)
                closing_move = negotiation.moves + 1
                self.payoffs[side] = self.points(negotiation, side, share) * self.config.discount ** max(0, closing_move - 2)

    def points(self, negotiation: Negotiation, side: int, share: Share) -> float:
        """What a share pays a side, on the 10-point budget where utilities are normalised."""
        points = worth(negotiation.utilities[side], share)
        if self.config.normalize:
            return BUDGET * points / negotiation.maximum[side] if negotiation.maximum[side] else 0.0
        return float(points)

    def observation(self, negotiation: Negotiation) -> dict[str, Any]:
        """What the agent sees."""
        partner_offer, last_act = negotiation.offers[PARTNER], negotiation.last_act[PARTNER]
        shown = negotiation.utilities[PARTNER] if self.config.reveal_partner_utilities else NOTHING
        return {
            "counts": np.array(negotiation.counts, np.int32),
            "my_utilities": self.shown_utilities(negotiation, AGENT, negotiation.utilities[AGENT]),
            "partner_utilities": self.shown_utilities(negotiation, PARTNER, shown),
            "last_partner_act": DISAGREE if last_act is None else last_act,
            "last_partner_offer_for_me": np.array(NOTHING if partner_offer is None else rest(negotiation.counts, partner_offer), np.int32),
            "turns_remaining": self.config.max_turns - negotiation.moves,
        }

    def shown_utilities(self, negotiation: Negotiation, side: int, utilities: Share) -> NDArray[Any]:
        """Points per unit, or shares of the 10-point budget, in which a type that is not in the pool has none."""
        if not self.config.normalize:
            return np.array(utilities, np.int32)
        maximum = negotiation.maximum[side]
        return np.array(
            [BUDGET * u / maximum if count and maximum else 0 for u, count in zip(utilities, negotiation.counts, strict=True)], np.float32
        )

    def info(self, negotiation: Negotiation) -> dict[str, Any]:
        """Legal acts, caps and facts of the episode; at the end also how it ended."""
        offer = negotiation.offers[AGENT]
        info: dict[str, Any] = {
            "action_mask": np.array(self.legal_acts(negotiation), np.int8),
            "oA_max": np.array(negotiation.counts, np.int32),
            "partner_has_spoken": negotiation.last_act[PARTNER] is not None,
            "my_last_offer": np.array(NOTHING if offer is None else offer, np.int32),
            "history": tuple(negotiation.history),
        }
        if self.outcome != Outcome.ONGOING:
            info["outcome"] = self.outcome.name
            info["partner_reward"] = self.payoffs[PARTNER] - negotiation.insists[PARTNER] * self.config.insist_price
            info["deal"] = None if self.deal is None else tuple(self.deal)
        return info

    def legal_acts(self, negotiation: Negotiation) -> list[int]:
        """One for every act the agent may choose now; none once the negotiation is over."""
        if self.outcome != Outcome.ONGOING:
            return [0, 0, 0, 0, 0]
        return [1, 1, int(negotiation.offers[PARTNER] is not None), 1, 1]

    def random_action(self) -> dict[str, Any]:
        """A legal action: an act uniform over the legal ones, each share uniform up to its cap."""
        negotiation, chance = self.negotiation, self.chance
        if negotiation is None or chance is None:
            raise EpisodeOver("The negotiation have not begun; call reset() first.")
        act = random_act(negotiation, chance, vocabulary.AGENT_ACT, may_agree=negotiation.offers[PARTNER] is not None)
        return {"act_type": act, "oA": np.array(random_share(negotiation, chance, vocabulary.AGENT_SHARE))}
