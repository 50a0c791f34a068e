"""A negotiator by name: one of the catalog, or the path of a checkpoint."""

from __future__ import annotations

from pathlib import Path

from edgeworth import catalog
from edgeworth.agents.negotiators.learned import Learned
from edgeworth.agents.negotiators.negotiator import Negotiator
from edgeworth.errors import InvalidOption, UnknownName

NETWORKS = ("human_clone", "learned", "self_play")
"""Names of the catalog behind which a network plays."""


def is_learned(name: str) -> bool:
    """Whether a network plays: one in the box, or one by its path."""
    return name in NETWORKS or name not in catalog.NEGOTIATORS


def negotiator_of(name: str, sampled: bool = False, hint: str | None = None) -> Negotiator:
    """The negotiator that is meant; only a learned one can be sampled or be given other hints."""
    if name not in catalog.NEGOTIATORS:
        if "/" not in name and not Path(name).exists():
            known = [*catalog.NEGOTIATORS, "or the path of a checkpoint"]
            raise UnknownName("negotiator", name, known)
        return Learned(name, sampled, hint)
    kind = catalog.resolve("negotiator", name)
    if name in NETWORKS:
        network: Negotiator = kind(hint=hint, **({"sampled": True} if sampled else {}))
        return network
    if sampled or hint is not None:
        raise InvalidOption(f"{'--sampled' if sampled else '--hint'} is for learned negotiators; {name} plays by a rule.")
    negotiator: Negotiator = kind()
    return negotiator
