"""The bargaining game as a vectorised NumPy batch: the strongest rival that needs no compiler.

It plays the default rules only (ten moves, uniform contexts, drawn opener, DISAGREE ends, the heuristic partner with `leave_one` or
`keep_all`), and uses what they allow: the partner's counter-offer is fixed for an episode, and so is the most that the agent may ask for.
Facts are rows of one array over the batch, so that every operation runs over contiguous memory; the view handed out is its transpose, with
the columns of `edgeworth.games.bargaining.state.VIEW`. No history is kept. Random numbers are 16-bit words scaled to their bound.

Masked copies of NumPy walk element by element; a blend by bits (`blend`) is five to ten times faster and does most of the writing here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.errors import IllegalAction
from edgeworth.games.bargaining.state import VIEW, VIEW_WIDTH
from edgeworth.games.bargaining.vocabulary import (
    AGENT_AGREED,
    AGENT_WALKED,
    AGREE,
    DISAGREE,
    END,
    INSIST,
    ONGOING,
    PARTNER_AGREED,
    PROPOSE,
    SELECTIONS_CLASHED,
    SELECTIONS_MATCHED,
    TIMED_OUT,
)

Rows = NDArray[Any]
MAX_TURNS = 10
MAX_COUNT = 4
UTILITY_LEVELS = 11
CONTEXT_BOUNDS = np.array([MAX_COUNT] * 3 + [UTILITY_LEVELS] * 6 + [2], np.uint32)[:, None]
OUTCOME_OF_ACT = np.array([ONGOING, ONGOING, AGENT_AGREED, AGENT_WALKED, SELECTIONS_CLASHED], np.int8)
LARGEST_MAXIMUM = 3 * MAX_COUNT * 10

COUNTS, MY_UTILITIES, GRANTED, MY_OFFER = (VIEW[key] for key in ("counts", "my_utilities", "last_partner_offer_for_me", "my_last_offer"))
PARTNER_ACT, REMAINING, SPOKEN = (VIEW[key] for key in ("last_partner_act", "turns_remaining", "partner_has_spoken"))
MY_MAXIMUM, I_OFFERED = VIEW["my_maximum"], VIEW["i_have_offered"]
# Rows below the view, which the agent does not see: the last two are the most points the partner lets go, asked by PROPOSE and by INSIST.
PARTNER_UTILITIES = slice(VIEW_WIDTH, VIEW_WIDTH + 3)
PARTNER_MAXIMUM, GIVEN_TO_PROPOSE, GIVEN_TO_INSIST = range(VIEW_WIDTH + 3, VIEW_WIDTH + 6)
FACTS = VIEW_WIDTH + 6


def most_given(threshold: int) -> Rows:
    """By the worth of the pool to the partner: the most points it lets go when it wants this many basis points of it."""
    maximum = np.arange(LARGEST_MAXIMUM + 1)
    return (maximum - -(-threshold * maximum // 10_000)).astype(np.int16)


def dot(utilities: Rows, shares: Rows) -> Rows:
    """Points of a share, slot by slot."""
    points: Rows = utilities[0] * shares[0]
    points += utilities[1] * shares[1]
    points += utilities[2] * shares[2]
    return points


def as_bits(chosen: Rows) -> Rows:
    """All bits set where chosen, none elsewhere."""
    bits: Rows = -chosen.astype(np.int16)
    return bits


def blend(target: Rows, source: Rows | int, bits: Rows) -> None:
    """Write the source over the target where the bits are set."""
    change = target ^ source
    change &= bits
    target ^= change


def scaled(words: Rows, bounds: Rows) -> Rows:
    """Random 16-bit words as whole numbers below their bounds: the upper halves of the products."""
    products = np.multiply(words, bounds, dtype=np.uint32)
    return products.view(np.int16)[..., 1::2]


class NumpyBatch:
    """`size` episodes side by side under the default rules, with autoreset."""

    def __init__(self, size: int, counter: str = "leave_one", seed: int = 0) -> None:
        self.size = size
        self.bits = np.random.SFC64(seed)
        self.left_by_counter = {"leave_one": 1, "keep_all": 0}[counter]
        self.given_to_propose, self.given_to_insist = most_given(5500), most_given(5000)
        self.facts = np.zeros((FACTS, size), np.int16)
        self.final_columns = np.zeros((VIEW_WIDTH, size), np.int16)
        self.views, self.final_views = self.facts[:VIEW_WIDTH].T, self.final_columns.T
        self.fresh = np.zeros_like(self.facts)
        self.masks = np.ones((size, 5), np.int8)
        self.rewards, self.partner_rewards = np.zeros(size), np.zeros(size)
        self.outcomes = np.zeros(size, np.int8)
        self.terminated = np.zeros(size, np.bool_)

    def reset(self) -> None:
        """Begin an episode in every slot."""
        self.begin(np.ones(self.size, np.bool_))

    def words(self, rows: int) -> Rows:
        """Rows of random 16-bit words, four to a draw."""
        draws: Rows = self.bits.random_raw(-(-rows * self.size // 4))
        return draws.view(np.uint16)[: rows * self.size].reshape(rows, self.size)

    def begin(self, chosen: Rows) -> None:
        """Draw new contexts for the chosen slots; drawing for all and keeping some is faster than picking."""
        fresh = self.fresh
        drawn = scaled(self.words(10), CONTEXT_BOUNDS)
        opened = drawn[9]
        np.add(drawn[:3], 1, out=fresh[COUNTS])
        fresh[MY_UTILITIES] = drawn[3:6]
        fresh[PARTNER_UTILITIES] = drawn[6:9]
        fresh[GRANTED] = self.left_by_counter * opened
        fresh[PARTNER_ACT] = DISAGREE - DISAGREE * opened
        fresh[REMAINING] = MAX_TURNS - opened
        fresh[SPOKEN] = opened
        fresh[MY_MAXIMUM] = dot(fresh[MY_UTILITIES], fresh[COUNTS])
        maximum = dot(fresh[PARTNER_UTILITIES], fresh[COUNTS])
        fresh[PARTNER_MAXIMUM] = maximum
        fresh[GIVEN_TO_PROPOSE] = self.given_to_propose[maximum]
        fresh[GIVEN_TO_INSIST] = self.given_to_insist[maximum]
        blend(self.facts, fresh, as_bits(chosen))
        self.masks[:, AGREE] = self.facts[SPOKEN]

    def check(self, acts: Rows, asked: Rows) -> None:
        """Refuse an illegal action before anything changes."""
        if acts.min() < PROPOSE or acts.max() > END:
            raise IllegalAction("act_type is outside 0 to 4.", "unknown act")
        beyond = ((asked < 0) | (asked > self.facts[COUNTS])).any(axis=0)
        if (beyond & (acts != AGREE) & (acts != DISAGREE)).any():
            raise IllegalAction("oA is outside the pool.", "share")
        if ((acts == AGREE) & (self.facts[SPOKEN] == 0)).any():
            raise IllegalAction("AGREE needs an offer of the partner.", "nothing to agree to")

    def step(self, acts: Rows, shares: Rows) -> None:
        """The agents' moves, the partners' answers, and new episodes where the old ones have ended."""
        asked = shares.T.astype(np.int16, copy=False)
        self.check(acts, asked)
        facts = self.facts
        agrees, offers = acts == AGREE, acts <= INSIST
        kept = asked.copy()
        blend(kept, facts[GRANTED], as_bits(agrees))
        given = dot(facts[PARTNER_UTILITIES], kept)
        remaining = facts[REMAINING] - 1
        answered = offers & (remaining > 0)
        good = np.where(acts == INSIST, given <= facts[GIVEN_TO_INSIST], given <= facts[GIVEN_TO_PROPOSE])
        accepted = answered & good
        countered = answered & ~accepted
        remaining -= answered
        matched = (acts == END) & (asked == facts[GRANTED]).all(axis=0)
        np.logical_not(countered & (remaining > 0), out=self.terminated)
        self.pay(agrees | accepted | matched, kept, given)
        self.name_outcomes(acts, matched, accepted, offers & ~accepted & self.terminated)
        self.write_down(asked, offers, countered, accepted, remaining)
        np.copyto(self.final_columns, facts[:VIEW_WIDTH])
        self.begin(self.terminated)

    def pay(self, deals: Rows, kept: Rows, given: Rows) -> None:
        """Points of the deals that were closed, zero elsewhere."""
        np.multiply(dot(self.facts[MY_UTILITIES], kept), deals, out=self.rewards)
        np.multiply(self.facts[PARTNER_MAXIMUM] - given, deals, out=self.partner_rewards)

    def name_outcomes(self, acts: Rows, matched: Rows, accepted: Rows, timed_out: Rows) -> None:
        """How the episodes ended, where they did; the four cases exclude each other."""
        outcomes = OUTCOME_OF_ACT[acts]
        outcomes += matched * np.int8(SELECTIONS_MATCHED - SELECTIONS_CLASHED)
        outcomes += accepted * np.int8(PARTNER_AGREED)
        outcomes += timed_out * np.int8(TIMED_OUT)
        self.outcomes = outcomes

    def write_down(self, asked: Rows, offers: Rows, countered: Rows, accepted: Rows, remaining: Rows) -> None:
        """What the moves of both sides change in the view."""
        facts = self.facts
        blend(facts[MY_OFFER], asked, as_bits(offers))
        facts[I_OFFERED] |= offers
        counters = as_bits(countered)
        blend(facts[GRANTED], self.left_by_counter, counters)
        facts[SPOKEN] |= countered | accepted
        blend(facts[PARTNER_ACT], PROPOSE, counters)
        blend(facts[PARTNER_ACT], AGREE, as_bits(accepted))
        facts[REMAINING] = remaining

    def random_actions(self) -> tuple[Rows, Rows]:
        """A legal action for every slot: an act uniform over the legal ones, each share uniform up to its cap."""
        words = self.words(4)
        spoken = self.facts[SPOKEN]
        acts = scaled(words[0], (4 + spoken).astype(np.uint32)).copy()
        acts += (acts >= AGREE) & (spoken == 0)  # the four acts without AGREE
        shares = scaled(words[1:], (self.facts[COUNTS] + 1).astype(np.uint32))
        return acts, shares.T
