"""A hint as a model writes it: {"act_type": 0, "oA": [2, 0, 1], "confidence": 0.8}, judged against the mask and the pool of the moment.

`act_type` is a whole number, 0 to 4 for PROPOSE, INSIST, AGREE, DISAGREE and END, as in an action; `oA` is three whole numbers, 0 or
more, the agent's own share; `confidence` is a number from 0 to 1. Whatever the act, all three keys must be there and of their kind; but
AGREE and DISAGREE state no share, so what `oA` holds beside them is not judged against the pool, and the hint has zeros there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.games.bargaining.hints import Hint, forbidden
from edgeworth.games.bargaining.talks import ACTS_WITH_SHARE, triple_of
from edgeworth.games.bargaining.vocabulary import END, ITEM_TYPES, PROPOSE, Act
from edgeworth.protocol import Kind, Schema, Values, list_of, number, whole_number

KEYS: dict[str, Kind] = {
    "act_type": whole_number(PROPOSE, END),
    "oA": list_of(ITEM_TYPES, whole_number(0)),
    "confidence": number(0.0, 1.0),
}


def hint_schema(mask: NDArray[Any], caps: NDArray[Any]) -> Schema[Hint]:
    """What a hint must be at a moment with this mask (5) and this pool (3)."""
    return Schema("hint", KEYS, make=_hint_of, legal=lambda values: forbidden(_hint_of(values), mask, caps))


def legal_json_schema(mask: NDArray[Any], caps: NDArray[Any]) -> dict[str, Any]:
    """JSON Schema that only hints of this moment meet, so that constrained decoding cannot write another."""
    schema = hint_schema(mask, caps).json_schema()
    schema["properties"]["act_type"] = {"type": "integer", "enum": [int(act) for act in np.flatnonzero(mask)]}
    schema["properties"]["oA"] = {
        "type": "array",
        "prefixItems": [whole_number(0, int(cap)).json_schema for cap in caps],
        "items": False,
        "minItems": ITEM_TYPES,
        "maxItems": ITEM_TYPES,
    }
    return schema


def _hint_of(values: Values) -> Hint:
    act = Act(values["act_type"])
    return Hint(act, triple_of(values["oA"]) if act in ACTS_WITH_SHARE else (0, 0, 0), float(values["confidence"]))
