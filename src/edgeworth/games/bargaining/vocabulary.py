"""The words of the bargaining game: acts, outcomes, sides, the limits of its numbers, and the purposes of its random draws.

The plain integers below each enumeration are the same values for compiled code.
"""

from __future__ import annotations

from enum import IntEnum

ITEM_TYPES = 3
ITEM_NAMES = ("book", "hat", "ball")
UTILITY_LIMIT = 10
"""Largest utility of one unit."""
COUNT_LIMIT = 10
"""Largest number of units of one type."""
TURN_LIMIT = 50
"""Largest number of moves in one episode."""
BUDGET = 10
"""Worth of the whole pool to each side in a normalised context."""


class Side(IntEnum):
    """The two players: the learner, and the partner whose utilities it cannot see."""

    AGENT = 0
    PARTNER = 1


class Act(IntEnum):
    """The five dialogue acts. PROPOSE, INSIST and END carry the speaker's share."""

    PROPOSE = 0
    INSIST = 1
    AGREE = 2
    DISAGREE = 3
    END = 4


class Outcome(IntEnum):
    """How an episode ended; the first three closed a deal."""

    ONGOING = 0
    AGENT_AGREED = 1
    """The agent accepted the partner's offer."""
    PARTNER_AGREED = 2
    """The partner accepted the agent's offer."""
    SELECTIONS_MATCHED = 3
    """END: the two final selections added up to the pool."""
    SELECTIONS_CLASHED = 4
    """END: they did not."""
    AGENT_WALKED = 5
    PARTNER_WALKED = 6
    TIMED_OUT = 7
    """The last turn passed without a deal."""
    BROKEN_OFF = 8
    """The negotiation ended by chance (option `sudden_end`)."""

    @property
    def is_deal(self) -> bool:
        """Whether the pool was divided."""
        return Outcome.AGENT_AGREED <= self <= Outcome.SELECTIONS_MATCHED


AGENT, PARTNER = int(Side.AGENT), int(Side.PARTNER)
PROPOSE, INSIST, AGREE, DISAGREE, END = (int(act) for act in Act)
LOST_TURN = 5
"""Inside the rules only: what an illegal action becomes under `on_illegal="penalty"`."""
UNSAID = -1
"""The last act of a side that has not spoken."""

(
    ONGOING,
    AGENT_AGREED,
    PARTNER_AGREED,
    SELECTIONS_MATCHED,
    SELECTIONS_CLASHED,
    AGENT_WALKED,
    PARTNER_WALKED,
    TIMED_OUT,
    BROKEN_OFF,
) = (int(outcome) for outcome in Outcome)

(
    COUNTS,
    UTILITIES,
    OPENER,
    PARTNER_CHOICE,
    PARTNER_ACT,
    PARTNER_SHARE,
    SUDDEN_END,
    AGENT_ACT,
    AGENT_SHARE,
    HINT,
    HINT_DROPOUT,
) = range(11)
"""What each random draw is for: the third part of its address (see `edgeworth.seeding`)."""
