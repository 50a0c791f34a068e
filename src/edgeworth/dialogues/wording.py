"""Moves and outcomes in words, and a negotiation as a table of text."""

from __future__ import annotations

from collections.abc import Sequence

from edgeworth.games.bargaining.contexts import Context, Triple, rest_of
from edgeworth.games.bargaining.history import Move
from edgeworth.games.bargaining.vocabulary import ITEM_NAMES, LOST_TURN, Act, Outcome, Side

OUTCOME_WORDS = {
    Outcome.ONGOING: "the negotiation goes on",
    Outcome.AGENT_AGREED: "the agent accepted",
    Outcome.PARTNER_AGREED: "the partner accepted",
    Outcome.SELECTIONS_MATCHED: "the final selections matched",
    Outcome.SELECTIONS_CLASHED: "the final selections clashed",
    Outcome.AGENT_WALKED: "the agent walked away",
    Outcome.PARTNER_WALKED: "the partner walked away",
    Outcome.TIMED_OUT: "time ran out",
    Outcome.BROKEN_OFF: "the negotiation broke off",
}


def act_name(act: int) -> str:
    """The name of an act, also of a turn lost by an illegal action."""
    return "(lost turn)" if act == LOST_TURN else Act(act).name


def share_words(share: Sequence[int]) -> str:
    """A share as people write it: `2 books, 1 ball`."""
    parts = [f"{n} {name}{'s' if n != 1 else ''}" for n, name in zip(share, ITEM_NAMES, strict=True) if n]
    return ", ".join(parts) or "nothing"


def negotiation_table(context: Context, moves: Sequence[Move], reveal_partner: bool, outcome: Outcome = Outcome.ONGOING) -> str:
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
    rest = rest_of(counts, move.share)
    return (move.share, rest) if move.side == Side.AGENT else (rest, move.share)
