"""The talks that a learner practises on: a batch of episodes, the hints beside them, and what became of those that ended.

Episodes follow each other without a pause: where one ends, the next has begun by the time the learner looks again. All of it can be put
into arrays and taken up again, in the middle of an episode, to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.network.player import batch_uniforms
from edgeworth.agents.network.reading import read
from edgeworth.agents.policy_layout import PolicyShape
from edgeworth.config import BargainingConfig
from edgeworth.envs.hint_injector import HintFeed, provider_of
from edgeworth.errors import DataError
from edgeworth.games.bargaining import rules
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.outputs import Outputs
from edgeworth.games.bargaining.state import BASE_FEATURES, VIEW
from edgeworth.games.bargaining.vocabulary import AGENT, AGENT_AGREED, BUDGET, SELECTIONS_MATCHED
from edgeworth.training.fused.order import env_seeds
from edgeworth.training.learner import Metrics, State, let_go
from edgeworth.training.settings import HintSettings

Flags = NDArray[np.bool_]


class Practice:
    """`size` episodes side by side, for ever."""

    def __init__(self, game: BargainingConfig, hints: HintSettings, size: int, seed: int, shape: PolicyShape) -> None:
        self.batch = BargainingBatch(game, size)
        self.feed = HintFeed(self.batch, provider_of(hints.mode, hints.options), hints.cadence) if hints.given else None
        self.batch.seed(env_seeds(seed, size).tolist())
        self.batch.reset()
        if self.feed is not None:
            self.feed.ask()
        self.shape, self._features = shape, np.zeros((size, shape.features), np.float32)
        self.reward, self.moves = np.zeros(size), np.zeros(size, np.int64)
        self.ended: list[NDArray[np.float64]] = []
        self._show()

    @property
    def size(self) -> int:
        """How many episodes there are."""
        return self.batch.size

    @property
    def legal(self) -> NDArray[np.int8]:
        """Which acts are legal now, (N, 5)."""
        return self.batch.masks

    @property
    def caps(self) -> NDArray[np.int32]:
        """The pools, with the item types in the order in which they are read, (N, 3)."""
        return self.reading.caps

    @property
    def inputs(self) -> NDArray[np.float32]:
        """What the network reads of every episode."""
        return self.reading.inputs

    @property
    def hint_counts(self) -> dict[str, int | str]:
        """What the hints' giver counts, and the time it takes; empty without hints."""
        return {} if self.feed is None else self.feed.spent

    def uniforms(self) -> NDArray[np.float64]:
        """Four numbers in [0, 1) for every episode's next move, a function of the episode and its turn."""
        return batch_uniforms(self.batch.state)

    def step(self, acts: NDArray[np.int64], shares: NDArray[np.int64], chosen: Flags | None = None) -> tuple[NDArray[np.float64], Flags]:
        """A move of all agents, or of the chosen ones, and the replies; rewards in points, and which episodes ended.

        Shares have the item types in the order in which they were read.
        """
        shares = self.reading.by_type(shares)
        everybody = np.ones(self.size, np.bool_) if chosen is None else chosen
        batch = self.batch if chosen is None else self.batch.selected(chosen)
        batch.step(acts[everybody], shares[everybody], rules.SAME_STEP)
        if chosen is not None:
            self.batch.write_back(batch, chosen)
        rewards, ended = np.zeros(self.size), np.zeros(self.size, np.bool_)
        rewards[everybody], ended[everybody] = batch.outputs.rewards, batch.outputs.ended
        self.reward += rewards
        self.moves += everybody
        if ended.any():
            self._close(ended, batch.outputs)
        if self.feed is not None:
            self.feed.ask(chosen)
        self._show()
        return rewards, ended

    def _close(self, ended: Flags, out: Outputs) -> None:
        """Note what became of the episodes that ended."""
        reports, maximum = out.reports[out.ended], out.final_views[out.ended, VIEW["my_maximum"]]
        if self.batch.config.normalize:
            maximum = np.full(len(reports), BUDGET)
        deal = (reports["outcome"] >= AGENT_AGREED) & (reports["outcome"] <= SELECTIONS_MATCHED)
        self.ended.append(np.stack([self.reward[ended], maximum, deal, reports["turns"]]))
        self.reward[ended], self.moves[ended] = 0.0, 0

    def _show(self) -> None:
        self._features[:, :BASE_FEATURES] = self.batch.features()
        if self.feed is not None:
            self._features[:, BASE_FEATURES : BASE_FEATURES + self.feed.width] = self.feed.features
        self.reading = read(self.shape, self._features, self.batch.views[:, :3])

    def report(self) -> Metrics:
        """Means over the episodes that ended since the last report: reward in points, share of the maximum, deals, moves of both sides."""
        names = ("reward", "share_of_maximum", "deal_rate", "episode_length")
        if not self.ended:
            return {**dict.fromkeys(names, np.nan), "episodes": 0}
        reward, maximum, deal, turns = np.concatenate(self.ended, axis=1)
        self.ended = []
        numbers = (reward.mean(), reward.sum() / maximum.sum(), deal.mean(), turns.mean())
        return {**{name: float(number) for name, number in zip(names, numbers, strict=True)}, "episodes": len(reward)}

    def state(self) -> State:
        """The talks as arrays."""
        hints = np.zeros((self.size, 0), np.float32) if self.feed is None else self.feed.features
        return {
            "episodes": self.batch.state.view(np.uint8).reshape(self.size, -1).copy(),
            "returns_so_far": self.reward.copy(),
            "moves_so_far": self.moves.copy(),
            "hint_features": hints.copy(),
        }

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take up talks again."""
        batch, episodes = self.batch, state["episodes"]
        own = batch.state.view(np.uint8).reshape(batch.size, -1)
        hints = np.zeros((self.size, 0), np.float32) if self.feed is None else self.feed.features
        if episodes.shape != own.shape or state["hint_features"].shape != hints.shape:
            raise DataError(
                "The checkpoint",
                f"holds talks of shape {episodes.shape} with hints of shape {state['hint_features'].shape};"
                f" these settings play {own.shape} with {hints.shape}.",
            )
        own[:] = episodes
        batch.views[:], batch.masks[:] = batch.look(AGENT)
        self.reward, self.moves = state["returns_so_far"].copy(), state["moves_so_far"].copy()
        if self.feed is not None:
            self.feed.features = state["hint_features"].copy()
        self.ended = []
        self._show()

    def close(self) -> None:
        """Let go of what the hints' giver holds."""
        let_go(self.feed)
