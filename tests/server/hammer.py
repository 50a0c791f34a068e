"""A process that plays sessions of a store as fast as it can, and says on its standard output what was acknowledged.

Arguments: the store's URL, a seed for its choices, how many sessions there are, and how many steps to make (0: until it is killed).
Sessions are called s0, s1, … and are the owner `ann`'s. A line is a session, the number of the step, and its reward in hexadecimal.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections import Counter

from edgeworth.server.refusals import Refused
from edgeworth.server.sessions import Sessions
from edgeworth.server.store import Store

MECHANISM = {
    "auction_type": "vcg",
    "reveal_reserve": True,
    "reveal_competing_bids": False,
    "reveal_winner_identity": False,
    "reveal_clearing_price": True,
    "reveal_bid_distribution": False,
    "shill_penalty": 1.0,
    "withdrawal_penalty": 0.5,
    "collusion_penalty": 0.0,
    "coalition_policy": "allow",
}


async def play(url: str, seed: int, count: int, steps: int) -> None:
    sessions, chance, refused, made = Sessions(Store(url)), random.Random(seed), Counter[str](), 0
    while not steps or made < steps:
        name = f"s{chance.randrange(count)}"
        try:
            turn, number = await sessions.step("ann", name, {**MECHANISM, "reserve_price": chance.random() * 0.9})
        except Refused as refusal:
            refused[refusal.code] += 1
        else:
            print(name, number - 1, turn.reward.hex(), flush=True)
        made += 1
    print("refused", dict(refused), flush=True)


if __name__ == "__main__":
    asyncio.run(play(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
