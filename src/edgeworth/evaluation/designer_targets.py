"""What an evaluation of designers found: tables, paired differences and the targets of the trained designers, for JSON.

g is the share of the way from the best constant mechanism (0) to being told the stage (1), on the same markets. *Not below* means that the
95 % interval of a paired difference reaches 0 or more, *above* that all of it lies above 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.evaluation.designer_evaluation import ADAPTIVE, CONSTANT, FOR_EIGHT, GREEDY, Cell, CellScores, Played
from edgeworth.evaluation.statistics import Estimate, as_json, mean, paired_difference, ratio
from edgeworth.evaluation.yardstick import TOLD_STAGE

POLICY, BEFORE, AFTER, FREE = "policy", "language model before GRPO", "language model after GRPO", ", free"
"""How the rows of trained designers begin; a row of free replies ends with the last."""
STAGES, HELD_OUT = Cell("stages"), Cell("held_out")
STAGE_FOUR = "4"
POLICY_SHARE, MODEL_SHARE, HELD_OUT_LOSS, FREE_LEGAL, ALLOW_SHARE = 0.65, 0.50, 0.01, 0.995, 0.01


@dataclass(frozen=True)
class Target:
    """A target, what was found, and whether it is met."""

    target: str
    found: Estimate
    wanted: str
    met: bool

    def as_dict(self) -> dict[str, Any]:
        """For JSON; the number is in words too."""
        return {
            "target": self.target,
            "found": f"{self.found:.4f}",
            "wanted": self.wanted,
            "met": self.met,
            "estimate": self.found.as_dict(),
        }


# Quantities


def difference(scores: CellScores, one: str, other: str) -> Estimate:
    """One designer's score less another's, on the episodes that both played."""
    first, second = scores.played[one].scores, scores.played[other].scores
    both = min(len(first), len(second))
    return paired_difference(first[:both], second[:both])


def share_of_the_way(scores: CellScores, name: str) -> Estimate | None:
    """g of a designer, where being told the stage is worth something."""
    constant = scores.best(CONSTANT)
    if TOLD_STAGE not in scores.played or constant is None:
        return None
    own = scores.played[name].scores
    low, high = (scores.played[each].scores[: len(own)] for each in (constant, TOLD_STAGE))
    return ratio(own - low, high - low)


def by_population(scores: CellScores, name: str, other: str) -> dict[str, Estimate]:
    """A designer's score less another's in every population of a family that was met at least twice."""
    own, less = scores.played[name].scores, scores.played[other].scores
    both = min(len(own), len(less))
    found = {}
    for recipe, population in enumerate(scores.recipe_names):
        here = np.flatnonzero(scores.recipes[:both] == recipe)
        if len(here) > 1:
            found[population] = paired_difference(own[here], less[here])
    return found


def allow_share(scores: CellScores, played: Played) -> Estimate | None:
    """The share of mechanisms that allow coalitions, in markets of stage 4."""
    if STAGE_FOUR not in scores.recipe_names:
        return None
    here = scores.recipes[: len(played.allows)] == scores.recipe_names.index(STAGE_FOUR)
    return mean(played.allows[here]) if here.any() else None


def legal_share(played: Played) -> Estimate | None:
    """The share of a language model's replies that are legal."""
    return None if played.legal is None else mean(played.legal)


# The result


def result_of(found: Sequence[CellScores]) -> dict[str, Any]:
    """Tables, differences by held-out population, and targets."""
    return {
        "populations": {scores.cell.name: [_row(scores, name) for name in _ordered(scores)] for scores in found},
        "over_informed_greedy_by_population": {
            name: {population: estimate.as_dict() for population, estimate in by_population(scores, name, GREEDY).items()}
            for scores in found
            if scores.cell == HELD_OUT
            for name in trained(scores)
        },
        "targets": [target.as_dict() for target in targets(found)],
        "notes": [
            f"{scores.cell.name}: {name}: {note}" for scores in found for name, played in scores.played.items() for note in played.notes
        ],
    }


def trained(scores: CellScores) -> list[str]:
    """The trained designers of a cell."""
    return [name for name in scores.played if name.startswith((POLICY, BEFORE, AFTER))]


def _ordered(scores: CellScores) -> list[str]:
    """Best first."""
    return sorted(scores.played, key=lambda name: -float(scores.played[name].scores.mean()))


def _row(scores: CellScores, name: str) -> dict[str, Any]:
    played, constant = scores.played[name], scores.best(CONSTANT)
    assert constant is not None, "every cell has best constants"
    return {
        "designer": name,
        "score": mean(played.scores).as_dict(),
        "over_best_constant": difference(scores, name, constant).as_dict(),
        "g": as_json(share_of_the_way(scores, name)) if scores.cell == STAGES else None,
        "allow_on_stage_4": as_json(allow_share(scores, played)),
        "legal": as_json(legal_share(played)),
        "reasons": dict(played.reasons),
    }


# Targets


def targets(found: Sequence[CellScores]) -> Iterator[Target]:
    """All targets that can be judged by what was played."""
    for scores in found:
        for name in trained(scores):
            if name.endswith(FREE):
                yield from _free_targets(name, scores)
            elif name.startswith(POLICY):
                yield from _policy_targets(name, scores)
            elif name.startswith(AFTER):
                yield from _model_targets(name, scores)
    yield from _constrained_targets(found)


def _policy_targets(name: str, scores: CellScores) -> Iterator[Target]:
    if scores.cell == STAGES:
        yield from _share_target(name, scores, POLICY_SHARE)
        yield from _not_below(name, scores, scores.best(ADAPTIVE))
    elif scores.cell == HELD_OUT:
        yield from _not_below(name, scores, scores.best(CONSTANT))


def _model_targets(name: str, scores: CellScores) -> Iterator[Target]:
    before = next((other for other in scores.played if other.startswith(BEFORE) and not other.endswith(FREE)), None)
    if scores.cell in (STAGES, HELD_OUT) and before is not None:
        gain = difference(scores, name, before)
        yield Target(f"{name}, {scores.cell.name}: over {before}", gain, "above 0", gain.low > 0.0)
    if scores.cell == STAGES:
        yield from _share_target(name, scores, MODEL_SHARE)
        allows = allow_share(scores, scores.played[name])
        if allows is not None:
            yield Target(f"{name}: coalitions allowed on stage 4", allows, f"below {ALLOW_SHARE:g}", allows.value < ALLOW_SHARE)
    elif scores.cell == HELD_OUT:
        yield from _held_out_targets(name, scores)
    elif (constant := scores.best(CONSTANT, FOR_EIGHT)) is not None:
        yield from _not_below(name, scores, constant)


def _held_out_targets(name: str, scores: CellScores) -> Iterator[Target]:
    constant = scores.best(CONSTANT)
    if constant is not None:
        loss = difference(scores, name, constant)
        yield Target(f"{name}, {scores.cell.name}: over {constant}", loss, f"at least -{HELD_OUT_LOSS:g}", loss.value >= -HELD_OUT_LOSS)
    each = by_population(scores, name, GREEDY)
    if each:
        worst = min(each, key=lambda population: each[population].value)
        text = f"{name}: over {GREEDY} in each of {len(each)} held-out populations, worst {worst}"
        yield Target(text, each[worst], "at least 0", each[worst].value >= 0.0)


def _constrained_targets(found: Sequence[CellScores]) -> Iterator[Target]:
    """Constrained replies of a language model over all cells."""
    for name in dict.fromkeys(name for scores in found for name in trained(scores) if name.startswith(AFTER) and not name.endswith(FREE)):
        shares = [scores.played[name].legal for scores in found if name in scores.played]
        legal = mean(np.concatenate([share for share in shares if share is not None]))
        yield Target(f"{name}: legal replies, constrained", legal, "1", legal.value == 1.0)


def _free_targets(name: str, scores: CellScores) -> Iterator[Target]:
    legal = legal_share(scores.played[name])
    if legal is not None and name.startswith(AFTER):
        yield Target(f"{name}: legal replies", legal, f"at least {FREE_LEGAL:g}", legal.value >= FREE_LEGAL)


def _share_target(name: str, scores: CellScores, wanted: float) -> Iterator[Target]:
    share = share_of_the_way(scores, name)
    if share is not None:
        yield Target(f"{name}, {scores.cell.name}: g", share, f"at least {wanted:g}", share.value >= wanted)


def _not_below(name: str, scores: CellScores, other: str | None) -> Iterator[Target]:
    if other is not None:
        gain = difference(scores, name, other)
        yield Target(f"{name}, {scores.cell.name}: over {other}", gain, "not below 0", gain.high >= 0.0)


def quartiles(values: NDArray[np.float64]) -> dict[str, float]:
    """The quartiles of some scores, and the distance between the outer two."""
    low, middle, high = (float(value) for value in np.quantile(values, (0.25, 0.5, 0.75)))
    return {"low": low, "median": middle, "high": high, "iqr": high - low}
