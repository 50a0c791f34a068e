"""Hints of a language model: the negotiation becomes a prompt, and what the model writes is judged before it is a hint.

All episodes that are due are asked in one call, every different prompt once, each with the JSON schema of the hints that are legal at its
moment, to which models and servers hold their reply where they can. `protocol.parse_reply` judges every reply all the same.

A model that fails under way stops nothing: its hints are neutral, counted as `no_reply`, and a `FallbackUsed` warning says so once.
`llm.retry` does not ask a failed server at every step, so that a run does not wait for it. What waiting cannot repair (no key, no server at
that address, no such model, a package that is not installed) is raised by `check`, before the first episode.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.hints.advice import hints_of
from edgeworth.agents.hints.plan_tree import Place, PlanTree
from edgeworth.agents.questions import Answer, ask, ask_once, client_for, outside_training
from edgeworth.dialogues.hint_prompt import (
    AGREES_FROM,
    MOST_CHARS,
    MOST_MOVES,
    batch_variables,
    game_facts,
    hint_schema,
    hint_variables,
    legal_json_schema,
    load_hint_prompt,
    rules_words,
)
from edgeworth.errors import FallbackUsed, InvalidOption, ModelUnavailable
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import Triple, triple_of
from edgeworth.games.bargaining.hints import Hint, Hints
from edgeworth.llm.client import Client, Counted, Failure, Sampling
from edgeworth.llm.prompt import Prompt
from edgeworth.llm.retry import WORTH_RETRYING
from edgeworth.protocol import Rejection

PASSES_BY_ITSELF = WORTH_RETRYING - {"unreachable"}
"""Failures of a check that may pass by themselves: the server is there and has the model, so a run may begin."""
Numbers = NDArray[np.int64]
OWN_OPTIONS = ("client", "model", "cache", "replay")
"""Options of the provider that do not belong among those of its client."""


class Moment(NamedTuple):
    """What the question of an episode depends on: the values of the prompt's variables, and what is legal."""

    values: tuple[str, ...]
    mask: tuple[int, ...]
    caps: Triple


Consultation: TypeAlias = Answer[Hint]
"""What was asked at one moment, what came back, and the hint in it, or why there is none."""


def laid_out(batch: BargainingBatch, due: NDArray[np.bool_], consultations: Sequence[Consultation]) -> Hints:
    """The hints that consultations for the episodes that are due came to, in their order."""
    return hints_of(batch, due, [consultation.verdict for consultation in consultations])


def turned_back(consultation: Consultation, order: NDArray[np.int64]) -> Consultation:
    """A consultation with the item types in this order, its verdict put back to the types as they stand."""
    verdict = consultation.verdict
    if isinstance(verdict, Rejection):
        return consultation
    share = triple_of([verdict.share[place] for place in np.argsort(order).tolist()])
    return dataclasses.replace(consultation, verdict=verdict._replace(share=share))


@dataclass(frozen=True, eq=False)
class LanguageModelHints:
    """Asks a language model. Episodes in the same situation share one reply."""

    client: str | Client | None = None
    """Who is asked: a name of the catalog's table `language model client`, or a client that is open already. By default `pocket`, our own
    small model; where only a model is named, `huggingface`."""
    model: str | None = None
    """The model's name at the client."""
    prompt: str | Path | None = None
    """A file with a prompt of your own; `configs/llm_prompt.txt` by default."""
    history_moves: int = MOST_MOVES
    """The most moves that the prompt tells of; earlier ones are left out, and the prompt says how many."""
    history_characters: int = MOST_CHARS
    """The most characters that these moves may take."""
    p: float = AGREES_FROM
    """What the prompt says of the partner: from which share of the whole pool's worth to it, it is assumed to agree."""
    cache: str | Path | None = None
    """Where replies are kept, so that every question is asked once, ever."""
    replay: bool = False
    """Answer from the cache alone, without a model."""
    temperature: float | None = 0.0
    """0 is greedy; None leaves it to the server."""
    max_tokens: int = 128
    """Longest reply."""
    seed: int | None = None
    """For clients that honour one."""
    constrained: bool = True
    """Hold the reply to the hints that are legal now, where the client can; otherwise leave the form to the prompt."""
    as_plan: bool = False
    """Ask for a plan: the prompt describes the negotiation as if earlier advice had been followed, with the item type that is worth most
    to the agent first, so that a reply depends only on the own side, the partner's offers and the number of moves, and is shared by all
    negotiations that agree in these (`plan_tree.py`)."""
    grain: float = 0.0
    """Plans are shared by own sides whose points per unit are the same multiples of this, and asked for with these multiples; with 0, the
    default, every own side has its own."""
    client_options: Mapping[str, Any] = field(default_factory=dict)
    """Further options of the client (`base_url`, `timeout`, …) and of asking again (`attempts`, `deadline`)."""
    _is_missing: bool = field(default=False, init=False, repr=False)
    """Whether it was said that hints are missing."""
    _is_outside: bool = field(default=False, init=False, repr=False)
    """Whether it was said that the game is not what the model was trained on."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.p <= 1.0:
            raise InvalidOption(f"p is {self.p}; expected 0.0 to 1.0.")
        for option in ("history_moves", "history_characters"):
            if getattr(self, option) < 0:
                raise InvalidOption(f"{option} is {getattr(self, option)}; expected 0 or more.")
        if self.grain < 0.0 or (self.grain and not self.as_plan):
            raise InvalidOption(f"grain is {self.grain:g}, as_plan {self.as_plan}; expected 0, or with as_plan a number of points.")
        for option in OWN_OPTIONS:
            if option in self.client_options:
                raise InvalidOption(f"client_options holds {option!r}; give {option} beside client_options instead.")
        _ = self.asked, self.template, self._unconstrained  # mistakes in them are found now, not in the first episode

    @cached_property
    def asked(self) -> Counted:
        """The client behind the hints, with its counters."""
        return client_for(LanguageModelHints, self.client, self.model, cache=self.cache, replay=self.replay, **self.client_options)

    @cached_property
    def template(self) -> Prompt:
        """The prompt, to be filled."""
        return load_hint_prompt(self.prompt)

    @property
    def _cap(self) -> dict[str, Any]:
        """How much of the negotiation a prompt tells."""
        return {"most_moves": self.history_moves, "most_chars": self.history_characters}

    @cached_property
    def _names(self) -> list[str]:
        return sorted(self.template.names)

    @cached_property
    def _unconstrained(self) -> Sampling:
        return Sampling(self.temperature, self.max_tokens, seed=self.seed)

    @cached_property
    def _samplings(self) -> dict[tuple[tuple[int, ...], Triple], Sampling]:
        return {}

    @cached_property
    def _trees(self) -> dict[str, PlanTree]:
        return {}

    @property
    def counters(self) -> Mapping[str, int | str]:
        """Which model was asked how often, what it cost, how long it took, and how many different replies were no hints, by reason."""
        counted = self.asked.counters.snapshot()
        latency, failures, rejections = counted.pop("latency"), counted.pop("failures"), counted.pop("rejections")
        return {
            "model": self.asked.name,
            **counted,
            **{f"latency_{name}_ms": round(1000 * seconds) for name, seconds in latency.items()},
            **{f"failed_{reason}": number for reason, number in failures.items()},
            **{f"rejected_{reason}": number for reason, number in rejections.items()},
        }

    def check(self, batch: BargainingBatch) -> None:
        """Any game will do; but the model must be there."""
        try:
            self.asked.check()
        except ModelUnavailable as error:
            if error.reason not in PASSES_BY_ITSELF:
                raise
            self._warn(f"{error}{self._neutral}")
        if (note := outside_training(self.asked, "hint", game_facts(batch.config, batch.max_count))) is not None:
            self._warn(f"{note}. Its hints may be poor; this is said once.", "_is_outside")

    def give(self, batch: BargainingBatch, due: NDArray[np.bool_]) -> Hints:
        if self.as_plan:
            tree, numbers, orders, _ = self._planned(batch, due)
            return tree.advice.lay_out(batch, due, numbers, orders)
        return laid_out(batch, due, self.consult(batch, due))

    def _planned(self, batch: BargainingBatch, due: NDArray[np.bool_]) -> tuple[PlanTree, Numbers, Numbers, list[Place]]:
        """The tree of plans for this game, and where the episodes that are due stand in it."""
        tree = self._trees.setdefault(repr(batch.config), PlanTree(self.grain))

        def ask(places: list[Place]) -> list[Hint | Rejection]:
            return [consultation.verdict for consultation in self._consult_at(places, batch)]

        return tree, *tree.numbers(batch, due, ask)

    def _consult_at(self, places: Sequence[Place], batch: BargainingBatch) -> list[Consultation]:
        """Question, reply and verdict for places in a tree of plans, in the tree's own order of item types."""
        rules = rules_words(batch.config)
        variables = [hint_variables(*place.observed(), self.p, rules=rules, **self._cap) for place in places]
        return self._consult(variables, [place.mask for place in places], [place.side.counts for place in places])

    def consult(self, batch: BargainingBatch, due: NDArray[np.bool_]) -> list[Consultation]:
        """Question, reply and verdict for every episode that is due; episodes in the same situation share theirs.

        As a plan, questions and replies have the item types in the plan's order, verdicts in that of the episode.
        """
        if self.as_plan:
            _, _, orders, places = self._planned(batch, due)
            return [turned_back(each, order) for each, order in zip(self._consult_at(places, batch), orders, strict=True)]
        masks, pools = (tuple(map(tuple, rows.tolist())) for rows in (batch.masks[due], batch.views[due, 0:3]))
        return self._consult(batch_variables(batch, due, self.p, **self._cap), masks, pools)

    def _consult(
        self, variables: Sequence[Mapping[str, str]], masks: Sequence[tuple[int, ...]], pools: Sequence[Triple]
    ) -> list[Consultation]:
        """Question, reply and verdict for moments with these variables of the prompt, legal acts and pools."""
        names = self._names
        asked = zip(variables, masks, pools, strict=True)
        return ask_once([Moment(tuple(values[name] for name in names), mask, caps) for values, mask, caps in asked], self._ask)

    def _ask(self, moments: Sequence[Moment]) -> list[Consultation]:
        batch = [self.template.messages(dict(zip(self._names, moment.values, strict=True))) for moment in moments]
        schemas = [hint_schema(np.array(moment.mask), np.array(moment.caps)) for moment in moments]
        answers = ask(self.asked, batch, [self._sampling_of(moment) for moment in moments], schemas)
        for answer in answers:
            if isinstance(answer.reply, Failure):
                self._warn(f"{answer.reply.message}{self._neutral}")
        return answers

    def _sampling_of(self, moment: Moment) -> Sampling:
        """How the reply is drawn; one object for all moments with the same legal hints, so that its schema is written once."""
        if not self.constrained or not any(moment.mask):
            return self._unconstrained
        key = (moment.mask, moment.caps)
        if key not in self._samplings:
            schema = legal_json_schema(np.array(moment.mask), np.array(moment.caps))
            self._samplings[key] = dataclasses.replace(self._unconstrained, json_schema=schema)
        return self._samplings[key]

    @property
    def _neutral(self) -> str:
        return f" Where {self.asked.name} does not answer, hints are neutral and counted as no_reply; this is said once."

    def _warn(self, what: str, mark: str = "_is_missing") -> None:
        """Warn once of each kind."""
        if not getattr(self, mark):
            object.__setattr__(self, mark, True)
            warnings.warn(what, FallbackUsed, stacklevel=4)

    def close(self) -> None:
        """Close connections and files."""
        self.asked.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> LanguageModelHints:
        """A provider with equal settings; a client that was given as an object is shared, one by name is opened again."""
        return dataclasses.replace(self)

    def __getstate__(self) -> dict[str, Any]:
        """The settings alone: a worker that is sent a provider opens a client of its own."""
        return {setting.name: getattr(self, setting.name) for setting in dataclasses.fields(self) if setting.init}
