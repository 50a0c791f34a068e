# %% [markdown]
# # A partner of your own
#
# A partner outside the rules is an ordinary Python object. It is asked once for the moves of all episodes that wait for it, sees the
# game from its own seat, and works in every environment, command and table under the name it is registered with.

# %%
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import gymnasium
import numpy as np

import edgeworth
from edgeworth import Act, BargainingBatch, BargainingConfig, catalog
from edgeworth.agents.negotiators.learned import negotiator_of
from edgeworth.evaluation.episodes import play_episodes
from edgeworth.evaluation.statistics import ratio
from edgeworth.games.bargaining.frontier import all_shares
from edgeworth.games.bargaining.partners.program import outside_program
from edgeworth.games.bargaining.state import VIEW
from edgeworth.games.bargaining.vocabulary import PARTNER

# %% [markdown]
# This partner wants `least` of its own maximum. It accepts any offer that gives it so much. Otherwise it asks for as few units as are
# worth that much to it, which leaves the other side as many as possible.


# %%
@dataclass(frozen=True)
class Modest:
    """Asks for the fewest units that are worth enough to it."""

    least: float = 0.6
    sampled: ClassVar[bool] = False

    def programs(self, config: BargainingConfig) -> np.ndarray:
        return outside_program(config)

    def seated(self, batch: BargainingBatch) -> Modest:
        return self

    def reply(self, batch: BargainingBatch) -> tuple[np.ndarray, np.ndarray]:
        views, masks = batch.look(PARTNER)
        acts, shares = np.full(len(views), int(Act.PROPOSE)), np.zeros((len(views), 3), np.int64)
        for row, (view, mask) in enumerate(zip(views, masks, strict=True)):
            utilities, offered = view[VIEW["my_utilities"]], view[VIEW["last_partner_offer_for_me"]]
            wanted = self.least * view[VIEW["my_maximum"]]
            if mask[Act.AGREE] and utilities @ offered >= wanted:
                acts[row] = Act.AGREE
            else:
                every = all_shares(tuple(view[VIEW["counts"]].tolist()))
                enough = every[every @ utilities >= wanted]
                shares[row] = enough[enough.sum(axis=1).argmin()]
        return acts, shares


catalog.register("partner", "modest", f"{__name__}:Modest")

# %% [markdown]
# One episode in Gymnasium:

# %%
env = gymnasium.make("DealOrNoDialog-v0", partner="modest", opens="agent", render_mode="ansi")
observation, info = env.reset(seed=7)
env.step({"act_type": int(Act.PROPOSE), "oA": observation["counts"]})
print(env.render())

# %% [markdown]
# How agents fare against it, over 1,000 episodes each, beside the partner of the scenario `classic`:

# %%
print(f"\nedgeworth {edgeworth.__version__}: share of the agent's maximum, 95 % interval\n")
print(f"{'agent':14}{'against modest':>24}{'against heuristic':>24}")
for agent in ("random", "agree_first", "concession", "learned"):
    cells = []
    for partner in ("modest", "heuristic"):
        played = play_episodes(BargainingConfig.from_options(partner=partner), negotiator_of(agent), episodes=1000, seed=0)
        cells.append(ratio(played.reward, played.maximum))
    print(f"{agent:14}" + "".join(f"{f'{cell:.3f}':>24}" for cell in cells))
