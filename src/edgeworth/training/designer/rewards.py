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


@dataclass(frozen=True)
class Verdict:
    """What one completion is paid for its state."""

    reason: Reason | None
    rewards: NDArray[np.float64]
    """In the order of `REWARDS`."""
    returns: NDArray[np.float64]


class Judge:
    """Judges completions by the market.

    Verdicts of the last batch are remembered: each reward function asks for them, and a batch in which groups were replaced is mostly the
    one before. A mechanism that a group has several times is tried once.
    """

    def __init__(self, states: States, settings: RewardSettings) -> None:
        self.states, self.settings = states, settings
        self.designer = named_designer(settings.continued_by) if settings.horizon > 1 else None
        self.seconds = 0.0
        """Time spent on judging."""
        self._known: dict[tuple[int, str], Verdict] = {}

    def judge(self, texts: Sequence[str], numbers: Sequence[int]) -> Judged:
        """The rewards of completions that were written for states, given by number."""
        began = time.perf_counter()
        asked = [(int(number), text) for number, text in zip(numbers, texts, strict=True)]
        if fresh := list(dict.fromkeys(pair for pair in asked if pair not in self._known)):
            self._known |= zip(fresh, self._verdicts(fresh), strict=True)
        verdicts = [self._known[pair] for pair in asked]
        self._known = dict(zip(asked, verdicts, strict=True))
        rewards = np.stack([verdict.rewards for verdict in verdicts], axis=1)
        reasons, returns = tuple(verdict.reason for verdict in verdicts), np.stack([verdict.returns for verdict in verdicts])
        self.seconds += time.perf_counter() - began
        return Judged(dict(zip(REWARDS, rewards, strict=True)), reasons, returns)

    def weighted(self, judged: Judged) -> NDArray[np.float64]:
        """The sum of the reward functions by their weights: what a completion is paid."""
        weights = self.settings.weights
        return sum((weights.get(name, 0.0) * judged.rewards[name] for name in REWARDS), np.zeros(len(judged.reasons)))

    def _verdicts(self, asked: Sequence[tuple[int, str]]) -> list[Verdict]:
        """Verdicts on completions, each for a state by number."""
        parsed = [parse_reply(text, MECHANISM_SCHEMA) for _, text in asked]
        reasons = [reply.reason if isinstance(reply, Rejection) else None for reply in parsed]
        legal = np.array([reason is None for reason in reasons], np.bool_)
        scores, returns = np.zeros((len(asked), len(SCORES))), np.zeros((len(asked), self.settings.draws))
        if legal.any():
            rows = mechanism_rows([reply.value for reply in parsed if not isinstance(reply, Rejection)])
            states, use = self.states.chosen(np.array([number for number, _ in asked], np.int64)[legal]), self.settings
            tried = try_mechanisms(states, rows, use.draws, use.horizon, use.discount, self.designer)
            scores[legal], returns[legal] = tried.scores.mean(axis=1), tried.returns
        found = {
            "format": np.array([format_reward(reason) for reason in reasons]),
            "welfare": scores[:, SCORES.index("welfare_ratio")],
            "fairness": scores[:, SCORES.index("fairness_score")],
            "composite": returns.mean(axis=1),
        }
        rewards = np.stack([found[name] for name in REWARDS], axis=1)
        return [Verdict(*each) for each in zip(reasons, rewards, returns, strict=True)]


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
