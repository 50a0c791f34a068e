"""A negotiator by name: one of the catalog, or the path of a checkpoint."""

from __future__ import annotations

from pathlib import Path

from edgeworth import catalog
from edgeworth.agents.negotiators.boxed import Boxed
from edgeworth.agents.negotiators.learned import Learned
from edgeworth.agents.negotiators.negotiator import Negotiator
from edgeworth.errors import InvalidOption, UnknownName

LEARNED = "learned"


def is_learned(name: str) -> bool:
    """Whether a network plays: one in the box, or one by its path."""
    return name == LEARNED or name not in catalog.NEGOTIATORS


def negotiator_of(name: str, sampled: bool = False, hint: str | None = None) -> Negotiator:
    """The negotiator that is meant; only a learned one can be sampled or be given other hints."""
    if name not in catalog.NEGOTIATORS:
        if "/" not in name and not Path(name).exists():
            known = [*catalog.NEGOTIATORS, "or the path of a checkpoint"]
            raise UnknownName("negotiator", name, known)
        return Learned(name, sampled, hint)
    if name == LEARNED:
        return Boxed(sampled, hint)
    if sampled or hint is not None:
        raise InvalidOption(f"{'--sampled' if sampled else '--hint'} is for learned negotiators; {name} plays by a rule.")
    negotiator: Negotiator = catalog.resolve("negotiator", name)()
    return negotiator
