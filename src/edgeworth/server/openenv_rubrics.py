"""The rewards of both games as trees of OpenEnv's rubrics.

A market's reward is the product of four scores, which `Product` multiplies; OpenEnv's own `Sequential` gives the last score instead. Every
leaf reads one part of the reward out of the observation's metadata, so that the tree can be evaluated wherever the observation is.
"""

from __future__ import annotations

from typing import Any

from openenv.core.rubrics import Rubric

from edgeworth.envs.designed_markets import COMPONENTS
from edgeworth.games.bargaining.payoffs import REWARD_PARTS


class Part(Rubric):
    """One part of the reward, by its name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def forward(self, action: Any, observation: Any) -> float:
        """The part as the server measured it; 0 before the first step."""
        return float(observation.metadata.get("components", {}).get(self.name, 0.0))


class Product(Rubric):
    """The product of parts, in their order."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        for name in names:
            setattr(self, name, Part(name))

    def forward(self, action: Any, observation: Any) -> float:
        """All of them, so that each has its score, also where one is 0."""
        product = 1.0
        for score in [part(action, observation) for part in self.children()]:
            product *= score
        return product


class MarketRubric(Product):
    """welfare · fairness · participation · stability."""

    def __init__(self) -> None:
        super().__init__(*COMPONENTS)


class TalksRubric(Rubric):
    """agreed · worth · patience, or the reservation value; less what was charged for the move."""

    def __init__(self) -> None:
        super().__init__()
        self.deal = Product(*REWARD_PARTS[:3])
        self.reservation, self.charge = Part("reservation"), Part("charge")

    def forward(self, action: Any, observation: Any) -> float:
        """The reward of a move."""
        paid = self.deal(action, observation) + self.reservation(action, observation)
        return float(paid - self.charge(action, observation))
