"""Rewards of GRPO: what the market makes of a completion, continued from exactly the state that it was written for.

Four reward functions are paid, weighted and logged apart: `format` (1 for a legal mechanism, else less by how far the reply is from one),
`welfare` and `fairness` of the step under the mechanism, and `composite`, the product of all four components, over the steps that count
(`RewardSettings`). A reply that is no legal mechanism earns nothing but its format reward.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.design_prompt import MECHANISM_SCHEMA
from edgeworth.games.auction.action import mechanism_rows
from edgeworth.games.auction.state import SCORES
from edgeworth.protocol import Reason, Rejection, parse_reply
from edgeworth.training.designer.settings import REWARDS, RewardSettings
from edgeworth.training.designer.states import States, named_designer
from edgeworth.training.designer.trials import mechanism_share, try_mechanisms

NEARLY = (Reason.OUT_OF_RANGE, Reason.UNKNOWN_WORD, Reason.BAD_TYPE, Reason.NOT_FINITE, Reason.UNKNOWN_KEY, Reason.MISSING_KEY)
"""Faults of an object that has the right shape or nearly so."""
SOME_JSON = (Reason.SEVERAL_OBJECTS, Reason.DUPLICATE_KEY, Reason.NOT_AN_OBJECT, Reason.TOO_DEEP)
"""Faults of JSON that is not one object."""


def format_reward(reason: Reason | None) -> float:
    """What a reply is paid for its form."""
    if reason is None:
        return 1.0
    return 0.3 if reason in NEARLY else 0.1 if reason in SOME_JSON else 0.0


@dataclass(frozen=True)
class Judged:
    """Completions, judged."""

    rewards: dict[str, NDArray[np.float64]]
    """By reward function."""
    reasons: tuple[Reason | None, ...]
    """Why each completion is no mechanism; None where it is one."""
    returns: NDArray[np.float64]
    """What `composite` is the mean of, (completions, draws); zeros for completions that are no mechanism."""


class Judge:
    """Judges completions by the market; the last batch is remembered, since each reward function asks for it."""

    def __init__(self, states: States, settings: RewardSettings) -> None:
        self.states, self.settings = states, settings
        self.designer = named_designer(settings.continued_by) if settings.horizon > 1 else None
        self.seconds = 0.0
        """Time spent on judging."""
        self._last: tuple[tuple[Any, ...], Judged] | None = None

    def judge(self, texts: Sequence[str], numbers: Sequence[int]) -> Judged:
        """The rewards of completions that were written for states, given by number."""
        key = (tuple(texts), tuple(int(number) for number in numbers))
        if self._last is None or self._last[0] != key:
            began = time.perf_counter()
            self._last = key, self._judge(texts, np.array(key[1], np.int64))
            self.seconds += time.perf_counter() - began
        return self._last[1]

    def weighted(self, judged: Judged) -> NDArray[np.float64]:
        """The sum of the reward functions by their weights: what a completion is paid."""
        weights = self.settings.weights
        return sum((weights.get(name, 0.0) * judged.rewards[name] for name in REWARDS), np.zeros(len(judged.reasons)))

    def _judge(self, texts: Sequence[str], numbers: NDArray[np.int64]) -> Judged:
        parsed = [parse_reply(text, MECHANISM_SCHEMA) for text in texts]
        reasons = tuple(reply.reason if isinstance(reply, Rejection) else None for reply in parsed)
        legal = np.array([reason is None for reason in reasons], np.bool_)
        scores, returns = np.zeros((len(texts), len(SCORES))), np.zeros((len(texts), self.settings.draws))
        if legal.any():
            rows = mechanism_rows([reply.value for reply in parsed if not isinstance(reply, Rejection)])
            use = self.settings
            tried = try_mechanisms(self.states.chosen(numbers[legal]), rows, use.draws, use.horizon, use.discount, self.designer)
            scores[legal], returns[legal] = tried.scores.mean(axis=1), tried.returns
        rewards = {
            "format": np.array([format_reward(reason) for reason in reasons]),
            "welfare": scores[:, SCORES.index("welfare_ratio")],
            "fairness": scores[:, SCORES.index("fairness_score")],
            "composite": returns.mean(axis=1),
        }
        return Judged(rewards, reasons, returns)


def reward_functions(judge: Judge, generations: int) -> list[Callable[..., list[float]]]:
    """The four reward functions as TRL calls them; the dataset's column `state` says which state a completion was written for."""

    def made(name: str) -> Callable[..., list[float]]:
        def reward(
            completions: list[Any], state: list[int], log_metric: Callable[[str, float], None] | None = None, **_: Any
        ) -> list[float]:
            judged = judge.judge([text_of(completion) for completion in completions], state)
            if name == "composite" and log_metric is not None:
                log_metric("invalid", float(np.mean([reason is not None for reason in judged.reasons])))
                log_metric("group_std", float(judge.weighted(judged).reshape(-1, generations).std(axis=1, ddof=1).mean()))
                log_metric("mechanism_share", mechanism_share(judged.returns.reshape(-1, generations, judged.returns.shape[1])))
            return [float(value) for value in judged.rewards[name]]

        reward.__name__ = name
        return reward

    return [made(name) for name in REWARDS]


def text_of(completion: Any) -> str:
    """The text of a completion, which is a string or a list of messages."""
    return completion if isinstance(completion, str) else str(completion[-1]["content"])
