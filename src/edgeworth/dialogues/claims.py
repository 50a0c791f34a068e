"""Claims: who is to have how many units of what; and what remains of them when a speaker takes something back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from edgeworth.dialogues.mentions import REST

SPEAKER, OTHER = 0, 1


@dataclass(frozen=True)
class Claim:
    """One side is to have so many units of an item type, or the rest of the pool."""

    owner: int
    item: int
    units: int
    exact: bool
    """Whether the number was said; of the rest, whether the whole pool is meant."""
    weak: bool = False
    """Said sideways, by a refusal."""
    loose: bool = False
    """Nobody was named, so the owner is only a first guess."""
    vague: bool = False
    """Nobody could tell the number, or which of two things is meant: "some hats", "the hat or the ball"."""
    too_many: bool = False
    """More were named than the pool has."""
    more: bool = False
    """These come on top of what was offered."""


@dataclass(frozen=True)
class Correction:
    """A place in the list of claims where the speaker takes something back."""

    at: int
    everything: bool
    """Whether all that came before is taken back ("scratch that"), or only what is said anew ("i mean one hat")."""


def corrected(claims: Sequence[Claim], corrections: Sequence[Correction]) -> list[Claim]:
    """What remains after corrections.

    The same item type said anew replaces its old number, and "the balls, not the hats" replaces the hats. Another item type takes the place
    of everything that its owner was given before, and so does the same type with the number that it had: "the hat and the ball, on second
    thought just the ball".
    """
    if not corrections:
        return list(claims)
    kept = list(claims[: corrections[0].at])
    ends = [*(correction.at for correction in corrections[1:]), len(claims)]
    for correction, end in zip(corrections, ends, strict=True):
        anew = claims[correction.at : end]
        kept = [*_left_by(kept, anew, correction.everything), *anew] if anew else kept
    return kept


def _left_by(before: Sequence[Claim], anew: Sequence[Claim], everything: bool) -> list[Claim]:
    """Claims that stand beside those said anew."""
    items, owners = {claim.item for claim in anew}, {claim.owner for claim in anew}
    if everything or all(any(_agree(claim, old) for old in before) for claim in anew):
        return []
    named = {claim.item for claim in before}
    if items <= named or any(claim.item in named and not claim.units for claim in anew if claim.item != REST):
        return [claim for claim in before if claim.item not in items]
    return [claim for claim in before if claim.owner not in owners or claim.item == REST]


def _agree(one: Claim, other: Claim) -> bool:
    """Whether two claims say the same of one item type."""
    return one.item != REST and (one.owner, one.item, one.units) == (other.owner, other.item, other.units)


def with_zeros_placed(claims: Sequence[Claim]) -> list[Claim]:
    """Types of which nobody's name stands beside a zero.

    In a list ("2 books, no hats") the zero belongs to the owner of the list; alone, it is refused to the other side.
    """
    listed = [claim for claim in claims if claim.units or claim.item == REST]
    loose = [claim for claim in listed if claim.loose]
    owners = {claim.owner for claim in loose or listed}
    owner = owners.pop() if len(owners) == 1 else OTHER
    return [
        replace(claim, owner=owner, loose=bool(loose)) if claim.loose and not claim.units and claim.item != REST else claim
        for claim in claims
    ]
