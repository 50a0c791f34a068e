# %% [markdown]
# # A mechanism against a ring
#
# At stage 3 of the market some of the eight bidders form a ring: they agree on who should win, and the others bid low. The designer never
# sees who they are. Four sets of rules meet the same 500 markets; each market draws its own members, values and chances.

# %%
from __future__ import annotations

import numpy as np

from edgeworth import AuctionConfig, DaedalusAction, MarketBatch
from edgeworth.evaluation.statistics import mean, paired_difference
from edgeworth.games.auction.action import mechanism_rows

MARKETS = 500
PARTS = ("welfare_ratio", "fairness_score", "participation_rate", "stability_score")
LAX = DaedalusAction(
    auction_type="vcg",
    reserve_price=0.12,
    reveal_reserve=True,
    reveal_competing_bids=False,
    reveal_winner_identity=True,
    reveal_clearing_price=True,
    reveal_bid_distribution=True,
    shill_penalty=0.0,
    withdrawal_penalty=1.0,
    collusion_penalty=0.0,
    coalition_policy="allow",
)
RULES = {
    "rings allowed": LAX,
    "suspects punished": LAX.model_copy(update={"coalition_policy": "penalize_suspected", "collusion_penalty": 0.9}),
    "and no names": LAX.model_copy(
        update={"coalition_policy": "penalize_suspected", "collusion_penalty": 0.9, "reveal_winner_identity": False}
    ),
    "and a higher reserve": LAX.model_copy(
        update={
            "coalition_policy": "penalize_suspected",
            "collusion_penalty": 0.9,
            "reveal_winner_identity": False,
            "reserve_price": 0.4,
        }
    ),
}


# %%
def episode(mechanism: DaedalusAction) -> dict[str, np.ndarray]:
    """Every market's score and its four parts, on average over ten steps of five sales each."""
    batch = MarketBatch(AuctionConfig.from_options(stage=3), MARKETS)
    batch.seed(0)
    batch.reset()
    rows = np.repeat(mechanism_rows([mechanism]), MARKETS)
    steps = []
    for _ in range(batch.config.episode_length):
        steps.append(batch.step(rows).copy())
    return {name: np.mean([step[name] for step in steps], axis=0) for name in ("composite", *PARTS)}


# %%
found = {name: episode(mechanism) for name, mechanism in RULES.items()}
print(f"{'rules':22}{'score R':>9}" + "".join(f"{part.partition('_')[0]:>15}" for part in PARTS) + f"{'gain in R, 95 % interval':>30}")
for name, scores in found.items():
    gain = "" if name == "rings allowed" else f"{paired_difference(scores['composite'], found['rings allowed']['composite']):+.3f}"
    print(f"{name:22}{mean(scores['composite']).value:>9.3f}" + "".join(f"{scores[part].mean():>15.3f}" for part in PARTS) + f"{gain:>30}")
print("\nR is the product of the four parts in each step; 1 is the competitive market without a ring.")
