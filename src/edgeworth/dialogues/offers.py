"""Offers: from claims to a whole split of the pool, in the light of the offers made before.

The rules, in the order in which they are tried: an earlier offer that is only named ("your first offer"); the rest alone, measured against
the last offer; an amendment, which changes one type of the offer that stands ("can i have a hat too"); a bare list, which is for whichever
side it fits better; and the plain case, where what nobody claims goes to the side that claimed nothing. What a split rests on is kept as
its evidence, since it says how far to trust it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from edgeworth.dialogues.claims import OTHER, SPEAKER, Claim
from edgeworth.dialogues.mentions import REST
from edgeworth.dialogues.words import word_set
from edgeworth.games.bargaining.contexts import Triple, rest_of


class Evidence(Enum):
    """What a split rests on, from the weakest to the strongest."""

    GUESS = "guess"
    """Both sides claim something, one type is named by nobody, and there is no offer to fall back on."""
    MENDED = "mended"
    """The claims did not add up to the pool."""
    VAGUE = "vague"
    """A number had to be guessed: "the hat" of two."""
    BARE_LIST = "bare list"
    """Items without a word about who gets them."""
    STANDING = "standing offer"
    """Partly, or wholly, taken over from an offer made before."""
    REMAINDER = "remainder"
    """One side's share was said; the other gets what remains."""
    SAID = "said"
    """Every type was said, or covered by "the rest"."""


@dataclass(frozen=True)
class Offer:
    """A whole split: the speaker's units, and what it rests on."""

    share: Triple
    evidence: Evidence


@dataclass(frozen=True)
class View:
    """What the speaker looks back on; every share is the speaker's own."""

    pool: Triple
    standing: Triple | None = None
    """Under the last offer, whoever made it."""
    mine: tuple[Triple, ...] = ()
    """Under the speaker's own offers, in order."""
    theirs: tuple[Triple, ...] = ()
    """Under the other side's offers, in order."""
    given_up: bool = False
    """Whether the other side has just said that there is no deal."""


AMENDING = word_set("also too well add least additional addition another extra more instead throw toss include top (correct)")
ADDING = word_set("also add throw toss top additionally")
LIMITING = word_set("only just all")
EARLIER = word_set("original originally initial initially first previous previously earlier")
OFFER_WORDS = word_set("offer offers deal said proposal suggestion request suggested asked idea")


def offer_of(words: Sequence[str], claims: Sequence[Claim], view: View) -> Offer | None:
    """The split that an utterance offers, in the speaker's terms; None where it offers nothing."""
    if not claims:
        return _earlier_offer(words, view)
    claims = [_on_top(claim, view) for claim in _with_list_before_wish(claims)]
    plain = complete(claims, view.pool, view.standing)
    if view.standing is None:
        return plain
    items = {claim.item for claim in claims}
    if items == {REST} and claims[-1].exact:
        return plain
    if items == {REST}:
        owners = view.theirs if claims[-1].owner == SPEAKER else view.mine
        return Offer(owners[-1] if owners else view.standing, Evidence.STANDING)
    amends = (len(items) == 1 and _amends(words, claims[-1], view.pool)) or _adds(words, claims)
    if amends:
        plain = complete(claims, view.pool, view.standing, amends)
    if REST in items or not all(claim.loose for claim in claims):
        return plain
    turned = complete([replace(claim, owner=OTHER) for claim in claims], view.pool, view.standing, amends)
    changes_nothing = amends and turned.share == view.standing
    nearer = turned if _distance(turned.share, view) < _distance(plain.share, view) and not changes_nothing else plain
    return Offer(nearer.share, min(nearer.evidence, Evidence.BARE_LIST, key=list(Evidence).index))


def complete(claims: Sequence[Claim], pool: Triple, standing: Triple | None, amends: bool = False) -> Offer:
    """Claims as a whole split; an amendment leaves what it does not name as it stood."""
    rest = _owner_of_rest(claims)
    sides = {c.owner for c in claims if not c.weak} or {c.owner for c in claims}
    units: list[int] = []
    kinds: set[Evidence] = set()
    for item, count in enumerate(pool):
        on = [c for c in claims if c.item == item]
        mine, kind = _units([c for c in on if not c.weak] or on, count)
        if mine is None:
            mine, kind = _unnamed(count, rest, sides, None if standing is None else standing[item], amends)
        units.append(mine)
        kinds |= {kind, *(Evidence.MENDED for claim in on if claim.too_many)}
    return Offer((units[0], units[1], units[2]), next(kind for kind in Evidence if kind in kinds))


def _owner_of_rest(claims: Sequence[Claim]) -> int | None:
    """Who gets the rest; nobody asks for some things and for the rest as well, so then it is the other side."""
    rest, whole = next(((c.owner, c.exact) for c in reversed(claims) if c.item == REST), (None, False))
    return 1 - rest if rest is not None and not whole and {c.owner for c in claims if c.item != REST and c.units} == {rest} else rest


def _units(claims: Sequence[Claim], count: int) -> tuple[int | None, Evidence]:
    """The speaker's units of one type, by the last word of either side, and on what evidence."""
    last = {claim.owner: claim for claim in claims}
    if not last:
        return None, Evidence.SAID
    mine, theirs = last.get(SPEAKER), last.get(OTHER)
    if any(claim.vague for claim in last.values()):
        return (mine.units if mine else count - last[OTHER].units), Evidence.VAGUE
    if mine is None or theirs is None:
        (claim,) = last.values()
        vague = not claim.exact and claim.units < count
        return (claim.units if mine else count - claim.units), Evidence.VAGUE if vague else Evidence.SAID
    if mine.units + theirs.units == count:
        return mine.units, Evidence.SAID
    if mine.exact != theirs.exact:
        return (mine.units if mine.exact else count - theirs.units), Evidence.SAID
    if mine.loose != theirs.loose:
        return (mine.units if theirs.loose else count - theirs.units), Evidence.MENDED
    return (mine.units if claims[-1].owner == SPEAKER else count - theirs.units), Evidence.MENDED


def _unnamed(count: int, rest: int | None, sides: set[int], standing: int | None, amends: bool) -> tuple[int, Evidence]:
    """The speaker's units of a type that nobody named; of one that is not in the pool there is nothing to say."""
    if count == 0:
        return 0, Evidence.SAID
    if rest is not None:
        return (count if rest == SPEAKER else 0), Evidence.SAID
    if standing is not None and (amends or len(sides) == 2):
        return standing, Evidence.STANDING
    if len(sides) == 2:
        return 0, Evidence.GUESS
    return (0 if sides == {SPEAKER} else count), Evidence.REMAINDER


def _with_list_before_wish(claims: Sequence[Claim]) -> list[Claim]:
    """A bare list before the speaker's own wish is for the other side: "two books and a ball, if i get the hats"."""
    named = [n for n, claim in enumerate(claims) if not claim.loose]
    if not named or {claims[n].owner for n in named} != {SPEAKER}:
        return list(claims)
    return [replace(claim, owner=OTHER, loose=False) if claim.loose and n < named[0] else claim for n, claim in enumerate(claims)]


def _on_top(claim: Claim, view: View) -> Claim:
    """ "one more hat" is one more than the offer that stands gives its side."""
    if view.standing is None or not claim.more or not claim.units:
        return claim
    count, mine = view.pool[claim.item], view.standing[claim.item]
    units = claim.units + (mine if claim.owner == SPEAKER else count - mine)
    return replace(claim, units=min(units, count), too_many=units > count)


def repeats_theirs(claims: Sequence[Claim], view: View) -> bool:
    """Whether everything that is claimed is so in the other side's last offer."""
    if not view.theirs:
        return False
    offered = {SPEAKER: view.theirs[-1], OTHER: rest_of(view.pool, view.theirs[-1])}
    return all(offered[claim.owner][claim.item] == claim.units for claim in claims if claim.item != REST)


def refuses_theirs(claims: Sequence[Claim], view: View) -> bool:
    """Whether all that the other side's last offer leaves to one side is what is refused: "i don't want the books and the hat"."""
    refused = {1 - claim.owner for claim in claims if claim.weak}
    if not view.theirs or len(refused) != 1 or not all(claim.weak for claim in claims):
        return False
    left = view.theirs[-1] if refused == {SPEAKER} else rest_of(view.pool, view.theirs[-1])
    return {claim.item for claim in claims} == {item for item, n in enumerate(left) if n}


def _amends(words: Sequence[str], claim: Claim, pool: Triple) -> bool:
    """Whether a claim on one type changes the offer that stands: by a word such as "too", or by naming a part of the type."""
    if AMENDING & set(words):
        return True
    return claim.exact and 0 < claim.units < pool[claim.item] and not LIMITING & set(words)


def _adds(words: Sequence[str], claims: Sequence[Claim]) -> bool:
    """Whether several types are asked for on top of the offer that stands: "if you also give me a book and a hat"."""
    asked = all(claim.owner == SPEAKER and claim.item != REST and claim.units and not claim.weak for claim in claims)
    return asked and bool(ADDING & set(words))


def _distance(share: Triple, view: View) -> int:
    """How far a split is from what either side offered last."""
    offers = (*view.mine[-1:], *view.theirs[-1:])
    return sum(abs(a - b) for offer in offers for a, b in zip(share, offer, strict=True))


def _earlier_offer(words: Sequence[str], view: View) -> Offer | None:
    """An offer that is only named: "i agree to your first offer", "back to what you said originally", "my previous deal"."""
    named = EARLIER & set(words)
    if not named or not OFFER_WORDS & set(words):
        return None
    offers = view.theirs if {"your", "you"} & set(words) else view.mine if "my" in words else (*view.theirs[:1], *view.mine[:1])
    if not offers:
        return None
    recent = named & {"previous", "previously", "earlier"}
    return Offer(offers[-1] if recent else offers[0], Evidence.STANDING)
