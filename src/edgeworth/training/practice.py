"""The episodes that a learner practises on: a batch, the hints beside it, and what became of the episodes that ended.

Each episode is followed by the next within the same step. All of it can be saved as arrays and taken up again, in the middle of an episode,
to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.network.player import batch_uniforms
from edgeworth.agents.network.reading import read
from edgeworth.agents.policy_layout import PolicyShape
from edgeworth.config import BargainingConfig
from edgeworth.envs.hint_injector import HintFeed, provider_of
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining import rules
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.state import VIEW, Outputs
from edgeworth.games.bargaining.vocabulary import AGENT, AGENT_AGREED, BUDGET, SELECTIONS_MATCHED
from edgeworth.training.fused.order import env_seeds
from edgeworth.training.settings import HintSettings

Flags = NDArray[np.bool_]
Metrics = dict[str, float]
State = dict[str, NDArray[Any]]


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


def episode_metrics(episodes: float, reward: float, maximum: float, deals: float, turns: float) -> Metrics:
    """Means over episodes from totals: reward in points, share of the maximum, deals, moves of both sides; NaN where there are none."""
    return {
        "reward": reward / episodes if episodes else nan,
        "share_of_maximum": reward / maximum if maximum else nan,
        "deal_rate": deals / episodes if episodes else nan,
        "episode_length": turns / episodes if episodes else nan,
        "episodes": episodes,
    }


class Practice:
    """`size` episodes side by side, without end."""

    def __init__(
        self, game: BargainingConfig, hints: HintSettings, size: int, seed: int, shape: PolicyShape, two_player: bool = False
    ) -> None:
        self.batch = BargainingBatch(game, size, two_player)
        hint_width = shape.features - shape.unhinted
        if self.batch.max_count != shape.units or (hint_width != hints.width and hints.given) or hint_width < 0:
            raise InvalidOption(
                f"The network is for {shape.features} features and up to {shape.units} units of a type; the game has"
                f" {shape.unhinted + hints.width} and {self.batch.max_count}."
            )
        self.feed = HintFeed(self.batch, provider_of(hints.mode, hints.options), hints.cadence) if hints.given else None
        self.batch.seed(env_seeds(seed, size).tolist())
        self.batch.reset()
        self.shape, self._features = shape, np.zeros((size, shape.features), np.float32)
        self.hint_features = np.zeros((size, hint_width), np.float32)
        """The features of the hints in force; zeros without hints."""
        self.reward, self.moves = np.zeros(size), np.zeros(size, np.int64)
        self.ended: list[NDArray[np.float64]] = []
        self._ask()
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
        self._ask(chosen)
        self._show()
        return rewards, ended

    def _ask(self, chosen: Flags | None = None) -> None:
        """Ask for the hints that are due, of all episodes or of the chosen ones."""
        if self.feed is not None:
            self.feed.ask(chosen)
            self.hint_features[:] = self.feed.features

    def _show(self) -> None:
        self._features[:, : self.shape.unhinted] = self.batch.features(memory=self.shape.remembers)
        self._features[:, self.shape.unhinted :] = self.hint_features
        self.reading = read(self.shape, self._features, self.batch.views[:, :3])

    def report(self) -> Metrics:
        """Means over the episodes that ended since the last report."""
        ended = np.concatenate([np.zeros((4, 0)), *self.ended], axis=1)
        self.ended = []
        return episode_metrics(ended.shape[1], *ended.sum(axis=1).tolist())

    def state(self) -> State:
        """The episodes as arrays."""
        return {
            "returns_so_far": self.reward.copy(),
            "moves_so_far": self.moves.copy(),
            "hint_features": self.hint_features.copy(),
            "episodes": self.batch.state.view(np.uint8).reshape(self.size, -1).copy(),
        }

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take up episodes again; the arrays have the shapes of this one's own state."""
        batch = self.batch
        batch.state.view(np.uint8).reshape(batch.size, -1)[:] = state["episodes"]
        batch.views[:], batch.masks[:] = batch.look(AGENT)
        self.reward[:], self.moves[:], self.hint_features[:] = (state[name] for name in ("returns_so_far", "moves_so_far", "hint_features"))
        if self.feed is not None:
            self.feed.features = state["hint_features"].copy()
        self.ended = []
        self._show()

    def close(self) -> None:
        """Close a hint provider that can be closed."""
        close = getattr(self.feed and self.feed.provider, "close", None)
        if close is not None:
            close()
