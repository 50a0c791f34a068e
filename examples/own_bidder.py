# %% [markdown]
# # A bidder of your own
#
# `edgeworth.auction_parallel` is the bidders' side of the auction game, for PettingZoo: every bidder is an agent, and the mechanism is
# fixed. Here seven bidders bid their value, and the eighth looks for the share of its value that it should bid.
#
# Theory says what it should find. With VCG pricing, bidding one's value is best whatever the others do. Where winners pay their bid, it
# is not: a bidder that bids its value gains nothing, so it must bid less.

# %%
from __future__ import annotations

import numpy as np

import edgeworth

SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
STEADY = {"withdrawals": {"shock_chance": 0.0}}
"""What is won keeps its value; otherwise a bidder bids a little less, since one in twelve winners' values fall after the sale."""
MECHANISM = {
    "reserve_price": 0.1,
    "reveal_reserve": True,
    "reveal_competing_bids": False,
    "reveal_winner_identity": False,
    "reveal_clearing_price": True,
    "reveal_bid_distribution": False,
    "shill_penalty": 0.0,
    "withdrawal_penalty": 1.0,
    "collusion_penalty": 0.0,
    "coalition_policy": "allow",
}

# %% [markdown]
# A bidder is anything that turns its observation into a bid. (A learner of PettingZoo or RLlib would take its place as it is; the
# observation has its value, the reserve and whatever the mechanism discloses.) Random numbers depend on the seed only, so every share
# meets the same values, sale for sale, and differences are the shares' own.


# %%
class Shader:
    """Bids a fixed share of its value."""

    def __init__(self, share: float) -> None:
        self.share = share

    def bid(self, seen: dict[str, np.ndarray]) -> np.ndarray:
        return (self.share * seen["value"]).astype(np.float32)


def surplus_per_sale(bidder: Shader, auction_type: str, episodes: int = 20) -> float:
    """What the bidder earns in a sale, on average, against seven that bid their value."""
    market = edgeworth.auction_parallel({**MECHANISM, "auction_type": auction_type}, n_agents=8, model=STEADY)
    me, earned = market.possible_agents[0], []
    for episode in range(episodes):
        seen, _ = market.reset(seed=episode)
        while market.agents:
            bids = {name: seen[name]["value"] for name in market.agents} | {me: bidder.bid(seen[me])}
            seen, rewards, *_ = market.step(bids)
            earned.append(rewards[me])
    return float(np.mean(earned))


# %%
FORMATS = ("vcg", "first_price")
found = {name: [surplus_per_sale(Shader(share), name) for share in SHARES] for name in FORMATS}
print("surplus per sale, by the share of its value that the bidder bids (1,000 sales, seven others bid their value)\n")
print(f"{'share':>6}{'vcg':>10}{'first price':>14}")
for row, share in enumerate(SHARES):
    cells = [f"{found[name][row]:z.4f}{'*' if row == int(np.argmax(found[name])) else ' '}" for name in FORMATS]
    print(f"{share:>6.2f}{cells[0]:>10}{cells[1]:>14}")
print("\n* its best response")
