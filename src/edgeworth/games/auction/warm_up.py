"""Fills the compile cache: runs a step of everything that is compiled, so that the first real call starts at once."""

from __future__ import annotations

import numpy as np

from edgeworth.config import AuctionConfig
from edgeworth.games.auction.action import action_of, random_mechanisms
from edgeworth.games.auction.batch import MarketBatch
from edgeworth.games.auction.sale_room import SaleRoom
from edgeworth.seeding import generator


def warm_up() -> None:
    """Compile every entry point once."""
    mechanisms = random_mechanisms(generator(0), 2)
    batch = MarketBatch(AuctionConfig(), 2)
    batch.seed(0)
    batch.reset()
    batch.step(mechanisms)
    batch.play_constant(mechanisms, 1)
    room = SaleRoom(AuctionConfig(), 0)
    room.post(action_of(mechanisms[0]))
    room.draw_values()
    room.run_sale_with_bids(np.zeros(8))
    while room.sales_left:
        room.run_sale()


if __name__ == "__main__":
    warm_up()
