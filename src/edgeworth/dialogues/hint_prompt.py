"""Hints from a language model: the variables of its prompt (`configs/llm_prompt.txt`), and the schema of its reply.

| variable | what it holds |
|---|---|
| `rules_str` | what differs from the usual rules, such as a discount or a partner with other thresholds, or `none` |
| `counts_csv` | the pool: books, hats, balls |
| `my_utils_csv` | points per unit for the side that asks |
| `last_partner_act_token` | the other side's last act, NONE before it has spoken |
| `last_offer_csv` | what its standing offer leaves the side that asks, or `none`: an offer of nothing is 0,0,0 |
| `turns` | moves left, both sides together |
| `p` | share of the whole pool's worth to it from which a partner is taken to agree |
| `history_str` | the moves so far, oldest first, every share being that of the side that asks; capped |

A reply is {"act_type": 0, "oA": [2, 0, 1], "confidence": 0.8}: an act from 0 to 4 (PROPOSE, INSIST, AGREE, DISAGREE, END), the agent's
own share, and a number from 0 to 1. All three keys are required. AGREE and DISAGREE state no share, so their `oA` is not compared with
the pool, and the hint has zeros there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.config import BargainingConfig, config_folder
from edgeworth.dialogues.wording import act_name
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import Triple, triple_of
from edgeworth.games.bargaining.hints import Hint, forbidden
from edgeworth.games.bargaining.history import ACTS_WITH_SHARE, Move, history_of
from edgeworth.games.bargaining.partners.heuristic import Heuristic, WalkAway
from edgeworth.games.bargaining.state import VIEW
from edgeworth.games.bargaining.vocabulary import AGENT, AGREE, BUDGET, END, ITEM_TYPES, PROPOSE, Act
from edgeworth.llm.prompt import NOTHING, Prompt, capped, load_prompt_or_own, numbers_csv
from edgeworth.protocol import Kind, Schema, Values, list_of, number, whole_number

VARIABLES = ("rules_str", "counts_csv", "my_utils_csv", "last_partner_act_token", "last_offer_csv", "turns", "p", "history_str")
REQUIRED = ("counts_csv", "my_utils_csv", "last_offer_csv", "turns")
"""Variables without which no good hint can be given."""

AGREES_FROM = 0.5
USUAL_MOVES = BargainingConfig().max_turns
USUAL_THRESHOLDS = (Heuristic().accept, Heuristic().accept_insist)
MOST_MOVES = 8
MOST_CHARS = 400

REPLY_KEYS: dict[str, Kind] = {
    "act_type": whole_number(PROPOSE, END),
    "oA": list_of(ITEM_TYPES, whole_number(0)),
    "confidence": number(0.0, 1.0),
}


def load_hint_prompt(path: Path | str | None = None) -> Prompt:
    """The prompt that asks for a hint: ours, or a user's own, with our system message where it has none."""
    return load_prompt_or_own(config_folder() / "llm_prompt.txt", path, VARIABLES, REQUIRED)


def hint_variables(
    observation: Mapping[str, Any],
    info: Mapping[str, Any],
    p: float = AGREES_FROM,
    side: int = AGENT,
    rules: str = NOTHING,
    most_moves: int = MOST_MOVES,
    most_chars: int = MOST_CHARS,
) -> dict[str, str]:
    """The variables for one observation and its `info`, as the environment gives them to the side that asks."""
    counts = triple_of(observation["counts"])
    spoken, offered = bool(info["partner_has_spoken"]), bool(info["action_mask"][AGREE])
    lines = [move_words(move, counts, side) for move in info["history"]]
    return {
        "rules_str": rules,
        "counts_csv": numbers_csv(counts),
        "my_utils_csv": numbers_csv(observation["my_utilities"]),
        "last_partner_act_token": Act(int(observation["last_partner_act"])).name if spoken else NOTHING.upper(),
        "last_offer_csv": numbers_csv(observation["last_partner_offer_for_me"]) if offered else NOTHING,
        "turns": str(int(observation["turns_remaining"])),
        "p": f"{p:g}",
        "history_str": capped(lines, most_moves, most_chars),
    }


def batch_variables(
    batch: BargainingBatch, due: NDArray[np.bool_], p: float = AGREES_FROM, most_moves: int = MOST_MOVES, most_chars: int = MOST_CHARS
) -> list[dict[str, str]]:
    """The variables for the agent of every episode of a batch that is due, in order."""
    points, variables, rules = batch.own_points(), [], rules_words(batch.config)
    for slot in np.flatnonzero(due).tolist():
        seen = {name: batch.views[slot][column] for name, column in VIEW.items()}
        moves = history_of(batch.state["history"][slot], int(batch.state["turn"][slot]))
        info = {"partner_has_spoken": seen["partner_has_spoken"], "action_mask": batch.masks[slot], "history": moves}
        observation = {**seen, "my_utilities": points[slot]}
        variables.append(hint_variables(observation, info, p, rules=rules, most_moves=most_moves, most_chars=most_chars))
    return variables


def threshold_partner(config: BargainingConfig) -> Heuristic | None:
    """The options of a partner with two fixed thresholds; None for the others."""
    kinds = {"heuristic": Heuristic, "walk_away": WalkAway}
    return kinds[config.partner](**config.partner_options) if config.partner in kinds else None


def rules_words(config: BargainingConfig) -> str:
    """How the rules of this game differ from the usual ones."""
    partner = threshold_partner(config) or Heuristic()
    leaves = partner.patience + 1 if isinstance(partner, WalkAway) else 0
    thresholds = partner.accept, partner.accept_insist
    facts = {
        f"the partner agrees from {thresholds[0]:g} of its points, after INSIST from {thresholds[1]:g}": thresholds != USUAL_THRESHOLDS,
        "its offers leave me nothing": partner.counter == "keep_all",
        f"the partner leaves at refusal {leaves}": leaves > 0,
        f"{config.max_turns} moves in all": config.max_turns != USUAL_MOVES,
        f"the whole pool is worth {BUDGET} points to each side": config.normalize,
        f"every move after the second multiplies a deal by {config.discount:g}": config.discount < 1.0,
        f"after every move the negotiation may break off, chance {config.sudden_end:g}": config.sudden_end > 0.0,
        f"no deal pays me {config.reservation[AGENT]:g} of my whole pool": config.reservation[AGENT] > 0.0,
        f"INSIST costs me {config.insist_price:g} points": config.insist_price > 0.0,
        "DISAGREE only passes the turn": config.disagree == "passes",
    }
    return "; ".join(fact for fact, holds in facts.items() if holds) or NOTHING


def game_facts(config: BargainingConfig, max_count: int) -> dict[str, float | str]:
    """What a hint depends on beside the state, to be compared with what a model was trained on."""
    facts: dict[str, float | str] = {"max_count": max_count, "reservation": config.reservation[AGENT]}
    facts |= {name: getattr(config, name) for name in ("max_turns", "discount", "sudden_end", "insist_price", "contexts", "partner")}
    return facts | dataclasses.asdict(threshold_partner(config) or Heuristic())


def move_words(move: Move | Sequence[Any], counts: Triple, side: int = AGENT) -> str:
    """One move for the side that asks: who, which act, and what it would give that side."""
    speaker, act, share = move
    mine = share if share is None or speaker == side else [n - s for n, s in zip(counts, share, strict=True)]
    return " ".join(["me" if speaker == side else "partner", act_name(act), *([numbers_csv(mine)] if mine is not None else [])])


def hint_schema(mask: NDArray[Any], caps: NDArray[Any]) -> Schema[Hint]:
    """What a hint must be at a moment with this mask (5) and this pool (3)."""
    return Schema("hint", REPLY_KEYS, make=_hint_of, legal=lambda values: forbidden(_hint_of(values), mask, caps))


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
