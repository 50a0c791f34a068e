"""Markets as the environments hold them: a batch, what its designers have seen of the episode, a curriculum, and the last step as text.

The rules keep what the *bidders* remember; a designer sees the last five steps: the mechanisms, their scores, and what was seen of the
bidders. Where a curriculum chooses the population, all markets of a batch are at the same stage: they have one learner.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.config import AuctionConfig
from edgeworth.errors import EpisodeOver
from edgeworth.games.auction.action import DaedalusAction, action_of
from edgeworth.games.auction.batch import MarketBatch, Rows, step_markets
from edgeworth.games.auction.market_view import FIRST_DIAGNOSTIC, MarketView, StepHistory, outcome_table
from edgeworth.games.auction.population import STAGES, population_table, recipe_names
from edgeworth.games.auction.state import COMPONENTS, DIAGNOSTICS, PROXIES, SCORES
from edgeworth.games.auction.vocabulary import BIDDER_TYPES, RULES

PRICING = {
    "first_price": "winners pay their own bid",
    "second_price": "winners pay the next bid",
    "vcg": "winners pay what their presence costs the others",
}
PUBLISHED = {
    "reveal_competing_bids": "all bids with names",
    "reveal_winner_identity": "the winners",
    "reveal_clearing_price": "the prices paid",
    "reveal_bid_distribution": "a histogram of bids",
}
POLICIES = {
    "allow": "legal",
    "restrict": "hindered",
    "penalize_suspected": "fined on suspicion",
    "penalize_confirmed": "fined on proof",
}
LABEL_WIDTH = 11
PROXIES_PER_LINE = 4


class Curriculum:
    """The stage that a learner has reached, and its recent scores there.

    It begins at stage 0, with honest bidders, and moves on when the mean score of the last `curriculum_window` episodes that ended at the
    current stage reaches `curriculum_threshold`; then it counts afresh. It ends at stage 4 and never goes back.
    """

    def __init__(self, config: AuctionConfig) -> None:
        self.threshold = config.curriculum_threshold
        self.window = config.curriculum_window
        self.stage = 0
        self.scores: deque[float] = deque(maxlen=self.window)

    def populations(self) -> NDArray[np.void]:
        """The recipe rows of the current stage, for `MarketBatch.reset`."""
        return population_table(self.stage)

    def record(self, stage: int, score: float) -> bool:
        """Count the mean score of an episode finished at `stage`; whether that opened the next one.

        An episode begun before the last advance says nothing about the current stage and is not counted.
        """
        if stage != self.stage:
            return False
        self.scores.append(score)
        mastered = len(self.scores) == self.window and sum(self.scores) / self.window >= self.threshold
        if not mastered or self.stage == STAGES - 1:
            return False
        self.stage += 1
        self.scores.clear()
        return True


class DesignedMarkets:
    """A batch of markets, and what the designer of each has seen."""

    def __init__(self, config: AuctionConfig, size: int) -> None:
        self.batch = MarketBatch(config, size)
        self.curriculum = Curriculum(config) if config.curriculum else None
        self.history = StepHistory(self.batch)
        self.returns = np.zeros(self.batch.size)
        self.stages = np.zeros(self.batch.size, "<U12")

    @property
    def config(self) -> AuctionConfig:
        """The options in force."""
        return self.batch.config

    @property
    def steps(self) -> NDArray[np.int64]:
        """The designer's steps played in each episode."""
        played: NDArray[np.int64] = self.batch.markets["step"]
        return played

    def reconfigure(self, config: AuctionConfig) -> None:
        """Play the episodes to come under other options."""
        if config is not self.batch.config:
            self.batch.populations = population_table(config.stage, config.mix)
            self.batch.config = config

    def begin(self, chosen: NDArray[np.bool_] | None = None) -> None:
        """Begin the next episode of all markets, or of the chosen ones."""
        chosen = np.ones(self.batch.size, np.bool_) if chosen is None else chosen
        self.batch.reset(chosen, None if self.curriculum is None else self.curriculum.populations())
        self.history.clear(chosen)
        self.returns[chosen] = 0.0
        if self.curriculum is not None:
            self.stages[chosen] = str(self.curriculum.stage)
        else:
            names = np.array(recipe_names(self.config.stage, self.config.mix))
            self.stages[chosen] = names[self.batch.markets["stage"][chosen]]

    def step(self, mechanisms: Rows, playing: NDArray[np.bool_] | None = None) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """One step of every market, or of those `playing` while the rest has just begun: the scores, and which episodes have ended.

        The caller has checked the mechanisms.
        """
        batch = self.batch
        if playing is None:
            batch.check_steps(1)
            batch.run(mechanisms)
        else:
            batch.markets[playing], batch.outcomes[playing] = step_markets(batch.markets[playing], mechanisms[playing], batch.model)
        self.history.add(mechanisms, slice(None) if playing is None else playing)
        scores = batch.outcomes["composite"].copy()  # 0 where an episode has just begun
        self.returns += scores
        ended = self.steps >= self.config.episode_length
        if self.curriculum is not None:
            for slot in np.flatnonzero(ended):
                self.curriculum.record(int(self.stages[slot]), float(self.returns[slot]) / self.config.episode_length)
        return scores, ended

    @property
    def lines(self) -> NDArray[np.float64]:
        """The last steps of every market, oldest first: scores, proxies, and the mechanism as numbers."""
        return self.history.lines

    def view(self, slot: int = 0) -> MarketView:
        """What the designer of one market sees."""
        return self.history.view(slice(slot, slot + 1))

    def components(self) -> dict[str, NDArray[np.float64]]:
        """The four parts of every market's last score."""
        return {name: self.batch.outcomes[name].copy() for name in COMPONENTS}

    def truth(self) -> dict[str, NDArray[Any]]:
        """What no designer sees: the bidders' types (their number in BIDDER_TYPES), the population, and what really happened."""
        facts: dict[str, NDArray[Any]] = {name: self.batch.outcomes[name].copy() for name in DIAGNOSTICS}
        types = self.batch.markets["type"][:, : self.config.n_agents].copy()
        return {"types": types, "stage": self.stages.copy(), **facts}

    def info(self, slot: int = 0) -> dict[str, Any]:
        """Rules in force, components and truth of one market in plain types, bidders by name."""
        numbers = outcome_table(self.batch.outcomes)[slot].tolist()
        types = self.batch.markets["type"][slot, : self.config.n_agents].tolist()
        truth = {"types": tuple(BIDDER_TYPES[kind] for kind in types), "stage": str(self.stages[slot])}
        return {
            "rules": RULES,
            "components": dict(zip(COMPONENTS, numbers, strict=False)),
            "truth": {**truth, **dict(zip(DIAGNOSTICS, numbers[FIRST_DIAGNOSTIC:], strict=True))},
        }

    def mechanism(self, slot: int = 0) -> DaedalusAction | None:
        """The mechanism in force, if one has been posted."""
        return action_of(self.view(slot).mechanisms[0]) if self.steps[slot] else None

    def notice(self, slot: int = 0) -> str:
        """The last step of one market as text."""
        if not self.batch.started:
            raise EpisodeOver("There is nothing to show yet; call reset() before render().")
        outcome = dict(zip((*SCORES, *PROXIES), outcome_table(self.batch.outcomes)[slot].tolist(), strict=False))
        step, config = int(self.steps[slot]), self.config
        return step_notice(step, config.episode_length, config.n_agents, self.mechanism(slot), outcome)


def mechanism_lines(action: DaedalusAction) -> list[str]:
    """A mechanism in words, a line per subject."""
    published = [words for flag, words in PUBLISHED.items() if getattr(action, flag)]
    reserve = "announced" if action.reveal_reserve else "secret"
    fines = f"{action.shill_penalty:.3g} for false names, {action.collusion_penalty:.3g} for bidding as a ring (in unit fines)"
    matters = {
        "sale": f"{action.auction_type}, {PRICING[action.auction_type]}; reserve {action.reserve_price:.3g}, {reserve}",
        "published": ", ".join(published) or "nothing",
        "rings": POLICIES[action.coalition_policy],
        "fines": fines,
        "withdrawing": f"costs {action.withdrawal_penalty:.3g} times the seller's loss",
    }
    return [f"{label:<{LABEL_WIDTH}} {words}" for label, words in matters.items()]


def step_notice(step: int, episode_length: int, n_agents: int, mechanism: DaedalusAction | None, outcome: Mapping[str, float]) -> str:
    """The last step of an episode: the mechanism in force, its scores as a table, and what was seen of the bidders."""
    lines = [f"Step {step} of {episode_length}, {n_agents} bidders", ""]
    if mechanism is None:
        return "\n".join([*lines, "No mechanism has been posted yet."])
    names = [name.removesuffix("_ratio").removesuffix("_score").removesuffix("_rate") for name in SCORES]
    lines += [*mechanism_lines(mechanism), ""]
    lines += ["".join(f"{name:>15}" for name in names), "".join(f"{outcome[name]:>15.3f}" for name in SCORES), ""]
    seen = [f"{name.replace('_', ' '):<21}{outcome[name]:>6.3f}" for name in PROXIES]
    lines += ["   ".join(seen[k : k + PROXIES_PER_LINE]) for k in range(0, len(seen), PROXIES_PER_LINE)]
    return "\n".join(lines)
