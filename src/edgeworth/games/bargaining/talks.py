"""The talks in words: moves as people say them, and a table of a whole episode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from edgeworth.games.bargaining.contexts import Context, Triple
from edgeworth.games.bargaining.state import HISTORY_LINE
from edgeworth.games.bargaining.vocabulary import ITEM_NAMES, LOST_TURN, Act, Outcome, Side

ACTS_WITH_SHARE = frozenset((int(Act.PROPOSE), int(Act.INSIST), int(Act.END)))

OUTCOME_WORDS = {
    Outcome.ONGOING: "the talks go on",
    Outcome.AGENT_AGREED: "the agent accepted",
    Outcome.PARTNER_AGREED: "the partner accepted",
    Outcome.SELECTIONS_MATCHED: "the final selections matched",
    Outcome.SELECTIONS_CLASHED: "the final selections clashed",
    Outcome.AGENT_WALKED: "the agent walked away",
    Outcome.PARTNER_WALKED: "the partner walked away",
    Outcome.TIMED_OUT: "time ran out",
    Outcome.BROKEN_OFF: "the talks broke off",
}


class Move(NamedTuple):
    """One move of the talks; the share is the speaker's own, None where the act states none."""

    side: int
    act: int
    share: Triple | None


class History(Sequence[Move]):
    """The moves of an episode so far; kept as the rules wrote them and put into words only when they are read."""

    __slots__ = ("_lines",)

    def __init__(self, lines: bytes = b"") -> None:
        self._lines = lines

    def __len__(self) -> int:
        return len(self._lines) // HISTORY_LINE

    @overload
    def __getitem__(self, index: int) -> Move: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Move, ...]: ...
    def __getitem__(self, index: int | slice) -> Move | tuple[Move, ...]:
        if isinstance(index, slice):
            return tuple(self._move(i) for i in range(len(self))[index])
        return self._move(range(len(self))[index])

    def _move(self, index: int) -> Move:
        side, act, a, b, c = self._lines[HISTORY_LINE * index : HISTORY_LINE * (index + 1)]
        return Move(side, act, (a, b, c) if act in ACTS_WITH_SHARE else None)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, History):
            return self._lines == other._lines
        return isinstance(other, tuple) and tuple(self) == other

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


def history_of(lines: NDArray[np.int8], turns: int) -> History:
    """The first moves of a history as it is stored."""
    return History(lines[:turns].tobytes())


def act_name(act: int) -> str:
    """The name of an act, also of a turn lost by an illegal action."""
    return "(lost turn)" if act == LOST_TURN else Act(act).name


def share_words(share: Sequence[int]) -> str:
    """A share as people write it: `2 books, 1 ball`."""
    parts = [f"{n} {name}{'s' if n != 1 else ''}" for n, name in zip(share, ITEM_NAMES, strict=True) if n]
    return ", ".join(parts) or "nothing"


def triple_of(values: NDArray[np.generic] | Sequence[int]) -> Triple:
    """Three numbers as plain integers."""
    a, b, c = (int(v) for v in values)
    return (a, b, c)


def talks_table(context: Context, moves: Sequence[Move], reveal_partner: bool, outcome: Outcome = Outcome.ONGOING) -> str:
    """The pool, the utilities the agent may see, and every move with what it would give and be worth."""
    mine = context.my_utilities
    lines = [
        f"{'':<10}" + "".join(f"{name + 's':>8}" for name in ITEM_NAMES),
        f"{'pool':<10}" + "".join(f"{n:>8}" for n in context.counts),
        f"{'my points':<10}" + "".join(f"{n:>8}" for n in mine) + f"   whole pool: {context.my_maximum}",
    ]
    if reveal_partner:
        lines.append(
            f"{'its points':<10}" + "".join(f"{n:>8}" for n in context.partner_utilities) + f"   whole pool: {context.partner_maximum}"
        )
    lines += ["", f"{'move':>4}  {'side':<8}{'act':<12}{'agent gets':<26}{'partner gets':<26}{'my points':>9}"]
    for number, move in enumerate(moves, start=1):
        agent_share, partner_share = _both_shares(context.counts, move)
        gets = share_words(agent_share) if agent_share else ""
        leaves = share_words(partner_share) if partner_share else ""
        points = str(sum(u * n for u, n in zip(mine, agent_share, strict=True))) if agent_share else ""
        lines.append(f"{number:>4}  {Side(move.side).name.lower():<8}{act_name(move.act):<12}{gets:<26}{leaves:<26}{points:>9}".rstrip())
    if outcome != Outcome.ONGOING:
        lines += ["", f"End: {OUTCOME_WORDS[outcome]}."]
    return "\n".join(lines)


def _both_shares(counts: Triple, move: Move) -> tuple[Triple | None, Triple | None]:
    """What the stated split gives the agent and the partner."""
    if move.share is None:
        return None, None
    rest = triple_of([n - s for n, s in zip(counts, move.share, strict=True)])
    return (move.share, rest) if move.side == Side.AGENT else (rest, move.share)
