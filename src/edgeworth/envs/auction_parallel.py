"""The bidders' side of the auction game for PettingZoo: the agents are bidders, and the mechanism is fixed.

Every bidder `bidder_0 … bidder_n-1` bids for one of the graded lots, sale after sale, and sees afterwards what the mechanism discloses and
nothing else. One step is one sale. The action is a bid per unit of quality, 0 to stay away. The reward is the surplus of the sale: worth
of the lot less payment, after withdrawals and fines; a winner whose value collapses withdraws where the charge is the smaller loss.

| observation | what | not known or not disclosed |
|---|---|---|
| `value` | own value of the coming sale, per unit of quality | 0 after the last sale |
| `reserve` | the reserve price, if announced | -1 |
| `sales_left` | sales to come, the next one included | |
| `qualities` | quality of every lot | |
| `last_lot`, `last_payment` | lot knocked down to this bidder in the last sale, and its price | -1 and 0 without a lot |
| `bids` | every bid of the last sale, by seat; 0 stayed away (`reveal_competing_bids`) | -1 |
| `winners` | the seat that each lot was knocked down to, n if unsold (`reveal_winner_identity`) | -1 |
| `clearing_price` | lowest price paid per unit of quality, 0 if nothing was sold (`reveal_clearing_price`) | -1 |
| `bid_histogram` | bids in bins of 0.1, those who stayed away left out (`reveal_bid_distribution`) | -1 |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from edgeworth.config import AuctionConfig
from edgeworth.envs.daedalus_spaces import action_from
from edgeworth.envs.designed_markets import mechanism_lines
from edgeworth.envs.options import checked_render_mode
from edgeworth.errors import EpisodeOver, IllegalAction, InvalidOption
from edgeworth.games.auction.action import MAX_RESERVE, DaedalusAction, read_mechanism
from edgeworth.games.auction.sale_room import SaleRoom
from edgeworth.games.auction.vocabulary import SALES_PER_STEP
from edgeworth.seeding import checked_seed
from edgeworth.validation import array_of

Observation = dict[str, Any]
HIDDEN = -1
"""The value of everything that is not disclosed."""
NO_LOT = -1

ABOUT_THE_MODELS_BIDDERS = ("stage", "mix", "freeze", "curriculum", "curriculum_threshold", "curriculum_window")

EFFICIENT_MECHANISM = DaedalusAction(
    auction_type="vcg",
    reserve_price=0.12,
    reveal_reserve=True,
    reveal_competing_bids=False,
    reveal_winner_identity=False,
    reveal_clearing_price=True,
    reveal_bid_distribution=True,
    shill_penalty=0.0,
    withdrawal_penalty=1.0,
    collusion_penalty=0.0,
    coalition_policy="allow",
)
"""VCG with the seller's own value as the reserve, prices and histogram published, nothing punished."""


def mechanism_from(mechanism: DaedalusAction | Mapping[str, Any] | str | Path | None) -> DaedalusAction:
    """The mechanism by itself, as a mapping, or from a JSON file."""
    if mechanism is None:
        return EFFICIENT_MECHANISM
    return read_mechanism(mechanism) if isinstance(mechanism, str | Path) else action_from(mechanism)


def checked_bids(actions: Any, bidders: Sequence[str], highest: float) -> NDArray[np.float64]:
    """One bid per seat, or an error that names the bidder whose bid is not valid."""
    if not isinstance(actions, Mapping):
        raise IllegalAction(f"The bids are {actions!r}; expected a mapping from bidder to bid.", "bid")
    for name in actions:
        if name not in bidders:
            raise IllegalAction(f"There is no bidder {name!r}; expected {bidders[0]} to {bidders[-1]}.", "bidder")
    return np.array([_checked_bid(name, actions.get(name), highest) for name in bidders])


def _checked_bid(bidder: str, bid: Any, highest: float) -> float:
    array = array_of(bid)
    if array.shape not in ((), (1,)) or array.dtype.kind not in "fiu":
        raise IllegalAction(f"{bidder} bids {bid!r}; expected a number from 0 to {highest:g}, 0 to stay away.", "bid")
    number = float(array.reshape(-1)[0])
    if not 0.0 <= number <= highest:
        raise IllegalAction(f"{bidder} bids {number:g}; expected a number from 0 to {highest:g}, 0 to stay away.", "bid")
    return number


class AuctionParallel(ParallelEnv[str, Observation, NDArray[np.float32]]):
    """Learners bid against each other in a market with a fixed mechanism."""

    metadata = {"render_modes": ["ansi"], "name": "daedalus_bidders_v0", "render_fps": 1}  # noqa: RUF012 - PettingZoo's own way

    def __init__(
        self, mechanism: DaedalusAction | Mapping[str, Any] | str | Path | None = None, render_mode: str | None = None, **options: Any
    ) -> None:
        for name in ABOUT_THE_MODELS_BIDDERS:
            if name in options:
                raise InvalidOption(f"{name} is about the bidders of the model; here the bidders come from outside, so leave it away.")
        self.config = AuctionConfig.from_options(**options)
        self.mechanism = mechanism_from(mechanism)
        self.render_mode = checked_render_mode(render_mode)
        self.room = SaleRoom(self.config)
        self.room.post(self.mechanism)
        model = self.room.batch.model[0]
        self.qualities = self.room.terms["quality"][: self.room.terms["lots"]].astype(np.float32)
        self.highest_bid = float(np.float32(1.0 + model["demand"]["half_width"]))
        self.bin_width = float(model["disclosure"]["bin_width"])
        self.possible_agents = [f"bidder_{seat}" for seat in range(self.config.n_agents)]
        self.agents: list[str] = []
        self.sales_left = 0
        self.last_sale: np.void | None = None

    @cache  # noqa: B019 - PettingZoo asks for the same object every time
    def observation_space(self, agent: str) -> spaces.Dict:
        """What a bidder sees from its own seat."""
        lots, bidders, highest = len(self.qualities), len(self.possible_agents), self.highest_bid
        return spaces.Dict(
            {
                "value": spaces.Box(0.0, highest, (1,), np.float32),
                "reserve": spaces.Box(HIDDEN, MAX_RESERVE, (1,), np.float32),
                "sales_left": spaces.Discrete(self.config.episode_length * SALES_PER_STEP + 1),
                "qualities": spaces.Box(0.0, 1.0, (lots,), np.float32),
                "last_lot": spaces.Discrete(lots + 1, start=NO_LOT),
                "last_payment": spaces.Box(0.0, highest, (1,), np.float32),
                "bids": spaces.Box(HIDDEN, highest, (bidders,), np.float32),
                "winners": spaces.Box(HIDDEN, bidders, (lots,), np.int64),
                "clearing_price": spaces.Box(HIDDEN, highest, (1,), np.float32),
                "bid_histogram": spaces.Box(HIDDEN, bidders, (self._bins,), np.int64),
            },
            sort_keys=False,
        )

    @cache  # noqa: B019
    def action_space(self, agent: str) -> spaces.Box[Any]:
        """A bid per unit of quality, up to the highest value that a bidder can have."""
        return spaces.Box(0.0, self.highest_bid, (1,), np.float32)

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Begin the seed's first episode, or without a seed the next one."""
        self.room.begin(None if seed is None else checked_seed(seed))
        self.agents = list(self.possible_agents)
        self.sales_left = self.config.episode_length * SALES_PER_STEP
        self.last_sale = None
        self._open_sale()
        return self._observations(), {bidder: {} for bidder in self.agents}

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Hold one sale, or an error before anything has changed."""
        if not self.agents:
            raise EpisodeOver("There is no sale to bid in; call reset() to begin an episode.")
        bids = checked_bids(actions, self.agents, self.highest_bid)
        sale = self.last_sale = self.room.run_sale_with_bids(bids)
        self.sales_left -= 1
        self._open_sale()
        bidders, over = list(self.agents), self.sales_left == 0
        rewards = {bidder: float(sale["surplus"][seat]) for seat, bidder in enumerate(bidders)}
        infos: dict[str, dict[str, Any]] = {bidder: {"took_lot": bool(sale["won"][seat])} for seat, bidder in enumerate(bidders)}
        observations = self._observations()
        if over:
            self.agents = []
        return observations, rewards, dict.fromkeys(bidders, over), dict.fromkeys(bidders, False), infos

    def render(self) -> str | None:
        """The mechanism and the last sale as a table, with nothing hidden."""
        if self.render_mode is None:
            return None
        lines = mechanism_lines(self.mechanism)
        if self.last_sale is None:
            return "\n".join([*lines, "", "No sale has been held yet."])
        sale = self.last_sale
        lines += ["", f"{'bidder':<10}{'value':>8}{'bid':>8}{'lot':>5}{'price':>8}{'surplus':>9}"]
        for seat, bidder in enumerate(self.possible_agents):
            lot, payment = self._award(seat)
            award = f"{lot + 1:>5}{payment:>8.3f}" if lot != NO_LOT else f"{'':>13}"
            bid = f"{sale['competitive'][seat]:>8.3f}" if sale["present"][seat] else f"{'away':>8}"
            lines.append(f"{bidder:<10}{sale['value'][seat]:>8.3f}{bid}{award}{sale['surplus'][seat]:>z9.3f}")
        return "\n".join(lines)

    def close(self) -> None:
        """Nothing is held open."""

    @property
    def _bins(self) -> int:
        return int(self.highest_bid / self.bin_width) + 1

    def _open_sale(self) -> None:
        """Post the mechanism again where a step has ended, and draw the values of the coming sale."""
        self.values = np.zeros(self.config.n_agents)
        if self.sales_left:
            if not self.room.sales_left:
                self.room.post(self.mechanism)
            self.values = self.room.draw_values()

    def _award(self, seat: int) -> tuple[int, float]:
        """The lot knocked down to a seat in the last sale, and its price."""
        if self.last_sale is not None:
            ladder = self.last_sale["ladder"]
            for lot in range(ladder["sold"]):
                if ladder["seat"][lot] == seat:
                    return lot, float(ladder["payment"][lot])
        return NO_LOT, 0.0

    def _observations(self) -> dict[str, Observation]:
        return {bidder: {**self._own_facts(seat), **self._disclosed()} for seat, bidder in enumerate(self.agents)}

    def _own_facts(self, seat: int) -> Observation:
        lot, payment = self._award(seat)
        return {
            "value": np.array([self.values[seat]], np.float32),
            "reserve": np.array([self.mechanism.reserve_price if self.mechanism.reveal_reserve else HIDDEN], np.float32),
            "sales_left": self.sales_left,
            "qualities": self.qualities.copy(),
            "last_lot": lot,
            "last_payment": np.array([payment], np.float32),
        }

    def _disclosed(self) -> Observation:
        """What the mechanism discloses of the last sale, in new arrays."""
        shown: Observation = {
            "bids": np.full(len(self.possible_agents), HIDDEN, np.float32),
            "winners": np.full(len(self.qualities), HIDDEN, np.int64),
            "clearing_price": np.full(1, HIDDEN, np.float32),
            "bid_histogram": np.full(self._bins, HIDDEN, np.int64),
        }
        if self.last_sale is None:
            return shown
        bids, ladder = self.last_sale["competitive"][: len(self.possible_agents)], self.last_sale["ladder"]
        sold = int(ladder["sold"])
        if self.mechanism.reveal_competing_bids:
            shown["bids"][:] = bids
        if self.mechanism.reveal_winner_identity:
            shown["winners"][:] = len(self.possible_agents)
            shown["winners"][:sold] = ladder["seat"][:sold]
        if self.mechanism.reveal_clearing_price:
            prices = ladder["payment"][:sold] / self.room.terms["quality"][:sold]
            shown["clearing_price"][:] = prices.min() if sold else 0.0
        if self.mechanism.reveal_bid_distribution:
            places = (bids[bids > 0.0] / self.bin_width).astype(np.int64)
            shown["bid_histogram"][:] = np.bincount(places, minlength=self._bins)
        return shown


auction_parallel = AuctionParallel
"""PettingZoo's way to name an environment; `mechanism` is one, a mapping of its fields or a JSON file."""
