"""A partner by name: one of the catalog, or a trained network by the path of its checkpoint."""

from __future__ import annotations

import os
from collections.abc import Mapping

from edgeworth import catalog
from edgeworth.errors import InvalidOption, UnknownName
from edgeworth.games.bargaining.partners.program import Partner
from edgeworth.validation import build

PATH_OPTION = "checkpoint"


def is_path(name: object) -> bool:
    """Whether a name that the catalog does not hold is meant as a path."""
    return isinstance(name, str) and name != "" and ("/" in name or os.path.exists(name))


def partner_of(name: str, options: Mapping[str, object], label: str | None = None) -> Partner:
    """The partner that is meant, with these options."""
    owner = f"partner {label or name}"
    if name not in catalog.names("partner") and is_path(name):
        if PATH_OPTION in options:
            raise InvalidOption(f"{owner}: the path is the checkpoint; leave the option {PATH_OPTION!r} out.")
        partner: Partner = build(catalog.load(catalog.CHECKPOINT_PARTNER), {PATH_OPTION: name, **options}, owner)
        return partner
    try:
        kind = catalog.resolve("partner", name)
    except UnknownName as error:
        raise UnknownName("partner", name, error.known, also="the path of a checkpoint") from None
    partner = build(kind, options, owner)
    return partner
