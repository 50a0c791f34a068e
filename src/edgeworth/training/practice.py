"""The episodes that a learner practises on: a batch, the hints beside it, and what became of the episodes that ended.

Each episode is followed by the next within the same step. All of it can be saved as arrays and taken up again, in the middle of an episode,
to the last bit.
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
from edgeworth.games.bargaining.state import BASE_FEATURES, VIEW, Outputs
from edgeworth.games.bargaining.vocabulary import AGENT, AGENT_AGREED, BUDGET, SELECTIONS_MATCHED
from edgeworth.training.fused.order import env_seeds
from edgeworth.training.learner import Metrics, State, close_provider, episode_metrics
from edgeworth.training.settings import HintSettings

Flags = NDArray[np.bool_]


def step_chosen(
    batch: BargainingBatch, acts: NDArray[np.int64], shares: NDArray[np.int64], chosen: Flags, autoreset: int = rules.SAME_STEP
) -> Outputs:
    """A move of the chosen agents and the replies; by default the next episode follows at once. The outputs are of the chosen alone."""
    part = batch if chosen.all() else batch.selected(chosen)
    part.step(np.ascontiguousarray(acts[chosen]), np.ascontiguousarray(shares[chosen]), autoreset)
    if part is not batch:
        batch.write_back(part, chosen)
    return part.outputs


def ended_episodes(config: BargainingConfig, out: Outputs) -> NDArray[np.float64]:
    """Of the episodes that a step ended: the most that could be earned, whether there was a deal, and moves of both sides, (3, ended)."""
    reports, maximum = out.reports[out.ended], out.final_views[out.ended, VIEW["my_maximum"]]
    if config.normalize:
        maximum = np.full(len(reports), BUDGET)
    deal = (reports["outcome"] >= AGENT_AGREED) & (reports["outcome"] <= SELECTIONS_MATCHED)
    return np.stack([maximum, deal, reports["turns"]]).astype(np.float64)


class Practice:
    """`size` episodes side by side, without end."""

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
        """What the hint provider counts, and the time it takes; empty without hints."""
        return {} if self.feed is None else self.feed.spent

    def uniforms(self) -> NDArray[np.float64]:
        """Four numbers in [0, 1) for every episode's next move, a function of the episode and its turn."""
        return batch_uniforms(self.batch.state)

    def step(self, acts: NDArray[np.int64], shares: NDArray[np.int64], chosen: Flags | None = None) -> tuple[NDArray[np.float64], Flags]:
        """A move of all agents, or of the chosen ones, and the replies; rewards in points, and which episodes ended.

        Shares have the item types in the order in which they were read.
        """
        moved = np.ones(self.size, np.bool_) if chosen is None else chosen
        out = step_chosen(self.batch, acts, self.reading.by_type(shares), moved)
        rewards, ended = np.zeros(self.size), np.zeros(self.size, np.bool_)
        rewards[moved], ended[moved] = out.rewards, out.ended
        self.reward += rewards
        self.moves += moved
        if ended.any():
            self.ended.append(np.concatenate([self.reward[None, ended], ended_episodes(self.batch.config, out)]))
            self.reward[ended], self.moves[ended] = 0.0, 0
        if self.feed is not None:
            self.feed.ask(chosen)
        self._show()
        return rewards, ended

    def _show(self) -> None:
        self._features[:, :BASE_FEATURES] = self.batch.features()
        if self.feed is not None:
            self._features[:, BASE_FEATURES : BASE_FEATURES + self.feed.width] = self.feed.features
        self.reading = read(self.shape, self._features, self.batch.views[:, :3])

    def report(self) -> Metrics:
        """Means over the episodes that ended since the last report."""
        ended = np.concatenate([np.zeros((4, 0)), *self.ended], axis=1)
        self.ended = []
        return episode_metrics(ended.shape[1], *ended.sum(axis=1).tolist())

    def state(self) -> State:
        """The episodes as arrays."""
        hints = np.zeros((self.size, 0), np.float32) if self.feed is None else self.feed.features
        return {
            "episodes": self.batch.state.view(np.uint8).reshape(self.size, -1).copy(),
            "returns_so_far": self.reward.copy(),
            "moves_so_far": self.moves.copy(),
            "hint_features": hints.copy(),
        }

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take up episodes again."""
        batch, episodes, own = self.batch, state["episodes"], self.state()
        if episodes.shape != own["episodes"].shape or state["hint_features"].shape != own["hint_features"].shape:
            raise DataError(
                "The checkpoint",
                f"holds episodes of shape {episodes.shape} with hints of shape {state['hint_features'].shape};"
                f" these settings play {own['episodes'].shape} with {own['hint_features'].shape}.",
            )
        batch.state.view(np.uint8).reshape(batch.size, -1)[:] = episodes
        batch.views[:], batch.masks[:] = batch.look(AGENT)
        self.reward, self.moves = state["returns_so_far"].copy(), state["moves_so_far"].copy()
        if self.feed is not None:
            self.feed.features = state["hint_features"].copy()
        self.ended = []
        self._show()

    def close(self) -> None:
        """Close the hint provider."""
        close_provider(self.feed)
