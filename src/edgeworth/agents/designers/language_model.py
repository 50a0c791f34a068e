"""Language model designer: shows a model what the market has shown, and posts the mechanism that it writes.

All markets of a batch are asked for in one call, each different prompt once. `protocol.parse_reply` judges a reply: it is a legal mechanism
or a rejection with its reason, and nothing in it is corrected. A model that decodes by the schema (`pocket`, `huggingface`) always writes a
legal one. After a rejection the mechanism in force stays; before the first step the market opens under `informed_greedy`, the published
baseline, so that no model scores above it by being refused. `verdicts` holds what became of every reply of the last step, `counters` the
sums, and the first reply that was not used gives a `FallbackUsed` warning.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.bundled import bundled_mechanism, find_mechanism
from edgeworth.agents.designers.design_prompt import MECHANISM_SCHEMA, batch_variables, load_design_prompt
from edgeworth.agents.designers.designer import Designer
from edgeworth.agents.questions import Answer, ask, ask_once, client_for, outside_training
from edgeworth.config import AuctionConfig
from edgeworth.errors import FallbackUsed, IllegalAction, ModelUnavailable, UnknownName
from edgeworth.games.auction.action import DaedalusAction, mechanism_rows
from edgeworth.games.auction.batch import Rows, constant_rows
from edgeworth.games.auction.market_view import MarketView
from edgeworth.games.auction.vocabulary import RULES
from edgeworth.llm.client import Client, Failure, Reply, Sampling
from edgeworth.llm.local.folders import BUNDLED
from edgeworth.protocol import Rejection
from edgeworth.seeding import generator

OnRejection = Literal["keep", "error"]
Whose = Literal["reply", "kept", "opening"]
"""Whose mechanism was posted: the model's, the one in force, or the opening one."""
OPENING = "informed_greedy"
TRAINED = "pocket_designer"
"""The bundled model that was trained to design."""
MAX_TOKENS = 400
"""A mechanism takes about 130 tokens of a usual vocabulary, and 330 letters."""


def bundled_designer() -> str | None:
    """The bundled model that was trained to design, if there is one."""
    return TRAINED if BUNDLED[TRAINED].is_dir() else None


@dataclass(frozen=True)
class Verdict:
    """What became of the reply for one market."""

    reply: Reply
    fault: Rejection | None
    """Why the reply was not used, if it was not."""
    posted: Whose

    @property
    def reason(self) -> str | None:
        """Why the reply was not used, in a word: the failure's reason where nothing came back, else the rejection's."""
        if isinstance(self.reply, Failure):
            return self.reply.reason
        return None if self.fault is None else self.fault.reason.value

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        fault = {} if self.fault is None else {"reason": self.reason, "sentence": self.fault.sentence, "field": self.fault.field}
        return {"posted": self.posted, **fault}


class LanguageModel(Designer):
    """Asks a language model for every mechanism: the small one in the package, one from the hub, or a server's."""

    def __init__(
        self,
        client: str | Client | None = None,
        model: str | None = None,
        prompt: Path | str | None = None,
        cache: Path | str | None = None,
        replay: bool = False,
        temperature: float | None = 0.0,
        seed: int | None = None,
        max_tokens: int = MAX_TOKENS,
        remembers: bool = False,
        constrained: bool = True,
        on_rejection: OnRejection = "keep",
        opening: str | DaedalusAction = OPENING,
        **client_options: Any,
    ) -> None:
        """`remembers` also shows the model its mechanisms of earlier steps; without `constrained` decoding does not follow the schema.

        Without a client and a model the bundled designer is asked. Further options go to the client.
        """
        if on_rejection not in get_args(OnRejection):
            raise UnknownName("answer to a rejection", on_rejection, get_args(OnRejection))
        schema = MECHANISM_SCHEMA.json_schema() if constrained else None
        self.sampling = Sampling(temperature, max_tokens, seed=seed, json_schema=schema)
        self.prompt = load_design_prompt(prompt)
        self._names = sorted(self.prompt.names)
        self.remembers = remembers
        self.on_rejection = on_rejection
        self._given_opening = opening
        self.opening = opening if isinstance(opening, DaedalusAction) else bundled_mechanism(opening)
        model = bundled_designer() if client is None and model is None else model
        self.client = client_for(LanguageModel, client, model, cache=cache, replay=replay, **client_options)
        self.verdicts: tuple[Verdict, ...] = ()
        """What became of the replies of the last step, market by market."""
        self._tally: Counter[str] = Counter()
        self._episode_seed = 0
        self._is_checked = self._has_warned = False

    @property
    def counters(self) -> dict[str, Any]:
        """Everything counted so far: of the client, and whose mechanisms were posted, over all markets and steps."""
        posted = {whose: self._tally[whose] for whose in get_args(Whose)}
        return {**self.client.counters.snapshot(), "posted": posted}

    def check(self) -> None:
        """Raise ModelUnavailable, or MissingExtra, if asking is bound to fail; a local model is loaded now. Once is enough."""
        if not self._is_checked:
            self.client.check()
            self._is_checked = True

    def begin(self, config: AuctionConfig, size: int, seed: int, known: NDArray[np.int64] | None = None) -> None:
        self.check()
        self.assumed = self.outside_training(config)
        if isinstance(self._given_opening, str):
            self.opening, notes = find_mechanism(self._given_opening, config.n_agents)
            self.assumed += notes
        self._episode_seed, self.verdicts = seed, ()

    def outside_training(self, config: AuctionConfig) -> tuple[str, ...]:
        """A note where the market is not of the kind that the model was trained on."""
        facts = {"rules": RULES, "n_agents": config.n_agents, "episode_length": config.episode_length}
        note = outside_training(self.client, "mechanism", facts)
        return () if note is None else (note,)

    def design(self, view: MarketView) -> Rows:
        answers = self.ask(batch_variables(view, self.remembers), self._seeds(view))
        kept: Whose = "kept" if view.round_number else "opening"
        faults = [answer.verdict if isinstance(answer.verdict, Rejection) else None for answer in answers]
        self.verdicts = tuple(
            Verdict(answer.reply, fault, kept if fault else "reply") for answer, fault in zip(answers, faults, strict=True)
        )
        self._report_faults(view.round_number)
        rows = view.mechanisms.copy() if view.round_number else constant_rows(mechanism_rows([self.opening])[0], view.size)
        rows[[fault is None for fault in faults]] = mechanism_rows(
            [answer.verdict for answer in answers if not isinstance(answer.verdict, Rejection)]
        )
        return rows

    def ask(self, variables: Sequence[dict[str, str]], seeds: Sequence[int | None] | None = None) -> list[Answer[DaedalusAction]]:
        """What the model writes for each set of prompt variables, judged; each different one is asked once, all in one call."""
        seeds = [self.sampling.seed] * len(variables) if seeds is None else seeds
        questions = [(*(values[name] for name in self._names), seed) for values, seed in zip(variables, seeds, strict=True)]
        return ask_once(questions, self._answer)

    def close(self) -> None:
        """Close the client's connections and files."""
        self.client.close()

    def _answer(self, questions: list[tuple[Any, ...]]) -> list[Answer[DaedalusAction]]:
        batch = [self.prompt.messages(dict(zip(self._names, question, strict=False))) for question in questions]
        seeds = [question[-1] for question in questions]
        each = self.sampling if set(seeds) == {self.sampling.seed} else [replace(self.sampling, seed=seed) for seed in seeds]
        return ask(self.client, batch, each, [MECHANISM_SCHEMA] * len(batch))

    def _seeds(self, view: MarketView) -> list[int | None]:
        """A seed per market: above temperature 0 it depends on the market alone, not on its batch; at 0 nothing is drawn."""
        if self.sampling.temperature == 0.0:
            return [self.sampling.seed] * view.size
        base, step = self.sampling.seed or 0, view.round_number
        return [int(generator(base, self._episode_seed + slot, step).integers(2**31)) for slot in range(view.size)]

    def _report_faults(self, step: int) -> None:
        """Count whose mechanisms are posted; the first that is not the model's gives a warning, or every one is an error."""
        for slot, verdict in enumerate(self.verdicts):
            if verdict.fault is not None and self.on_rejection == "error":
                raise self._refusal(verdict, slot)
            if verdict.fault is not None and not self._has_warned:
                self._has_warned = True
                stays = "the mechanism in force stays" if step else "the market opens under the mechanism `opening` names"
                warnings.warn(
                    f"{self._sentence(verdict)} So {stays}; others like it are counted."
                    " on_rejection='error' stops instead, and `verdicts` holds every one.",
                    FallbackUsed,
                    stacklevel=3,
                )
        self._tally.update(verdict.posted for verdict in self.verdicts)

    def _sentence(self, verdict: Verdict) -> str:
        what = "did not answer" if isinstance(verdict.reply, Failure) else "wrote no legal mechanism"
        return f"{self.client.name} {what} ({verdict.reason}): {verdict.fault and verdict.fault.sentence}"

    def _refusal(self, verdict: Verdict, slot: int) -> Exception:
        if isinstance(verdict.reply, Failure):
            return ModelUnavailable(verdict.reply.reason, self._sentence(verdict))
        return IllegalAction(self._sentence(verdict), verdict.reason or "", slot if len(self.verdicts) > 1 else None)
