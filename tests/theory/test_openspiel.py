"""OpenSpiel's `bargaining` and ours are the same game where they overlap: offers and AGREE on Lewis contexts.

What was found by playing both (OpenSpiel 2.0.2):

- The same: an offer is the proposer's own share; every share of the pool may be offered on every turn; AGREE is legal from the second
  move on and pays both sides the worth of their shares. `max_turns` counts the moves of both: the tenth move may still be an AGREE, and
  pays; a tenth *offer* cannot be answered and ends the talks with nothing for either side. In theirs the game is simply over, ours is
  called TIMED_OUT: nothing differs about the last offer.
- Their `discount` begins after the second move, as ours does: a deal closed by the t-th move pays discount ** max(0, t - 2). The payoffs
  agree up to rounding (1e-12), not always bit for bit.
- Different, and outside this test: INSIST, DISAGREE and END, which OpenSpiel has not. Their first player always opens, as our agent does
  only with `opens="agent"`. Their `prob_end` is a chance node between moves, our `sudden_end` a draw from the episode's seed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from edgeworth.config import BargainingConfig
from edgeworth.errors import IllegalAction
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.legality import LEGAL, legality
from edgeworth.games.bargaining.vocabulary import AGREE, ONGOING, PROPOSE, Outcome

pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel comes with the `dev` extra")

PLAYTHROUGHS = 1_000
MAX_TURNS = 10
AGREE_PROBABILITY = 0.12
MAX_COUNT = 7


class BothGames:
    """One OpenSpiel state beside one episode of ours, on the same instance."""

    def __init__(self, game: Any, instance_index: int, discount: float = 1.0) -> None:
        self.game = game
        self.state = game.new_initial_state()
        self.state.apply_action(instance_index)
        instance = self.state.instance()
        self.pool = [int(n) for n in instance.pool]
        config = BargainingConfig(opens="agent", max_count=MAX_COUNT, max_turns=MAX_TURNS, discount=discount)
        self.batch = BargainingBatch(config, 1)
        self.batch.seed(0)
        self.batch.reset(np.array([[*self.pool, *instance.values[0], *instance.values[1]]], np.int16))
        self.turn = 0

    @property
    def side(self) -> int:
        return self.turn % 2

    @property
    def over(self) -> tuple[bool, bool]:
        return self.state.is_terminal(), bool(self.batch.state["outcome"][0] != ONGOING)

    def their_offers(self) -> dict[tuple[int, ...], int]:
        offers = self.game.all_offers()
        return {tuple(offers[a].quantities): a for a in self.state.legal_actions() if a != self.state.agree_action()}

    def their_agree_is_legal(self) -> bool:
        return self.state.agree_action() in self.state.legal_actions()

    def we_allow(self, act: int, share: tuple[int, ...]) -> bool:
        return bool(legality(self.batch.state[0], self.side, act, *share) == LEGAL)

    def offer(self, share: tuple[int, ...]) -> None:
        self.state.apply_action(self.their_offers()[share])
        self.move(PROPOSE, share)

    def agree(self) -> None:
        self.state.apply_action(self.state.agree_action())
        self.move(AGREE, (0, 0, 0))

    def move(self, act: int, share: tuple[int, ...]) -> None:
        self.batch.move(self.side, np.array([act]), np.array([share]))
        self.turn += 1

    def payoffs(self) -> tuple[list[float], list[float]]:
        return list(self.state.returns()), self.batch.state["payoff"][0].tolist()

    def assert_same_moves_are_legal(self) -> None:
        assert self.state.current_player() == self.side
        offers = self.their_offers()
        assert len(offers) == np.prod([count + 1 for count in self.pool])
        assert all(self.we_allow(PROPOSE, share) for share in offers)
        beyond = [tuple(count + (k == j) for j, count in enumerate(self.pool)) for k in range(3)]
        assert not any(self.we_allow(PROPOSE, share) or share in offers for share in beyond)
        assert self.their_agree_is_legal() == self.we_allow(AGREE, (0, 0, 0))


def play_randomly(both: BothGames, rng: np.random.Generator) -> None:
    while not both.over[0]:
        both.assert_same_moves_are_legal()
        if both.their_agree_is_legal() and rng.random() < AGREE_PROBABILITY:
            both.agree()
        else:
            offers = list(both.their_offers())
            both.offer(offers[rng.integers(len(offers))])
        assert both.over[0] == both.over[1]


def test_random_playthroughs_end_alike_and_pay_alike() -> None:
    game = pyspiel.load_game("bargaining")
    rng = np.random.default_rng(0)
    lengths, outcomes = set(), set()
    for index in rng.permutation(len(game.all_instances()))[:PLAYTHROUGHS]:
        both = BothGames(game, int(index))
        play_randomly(both, rng)
        theirs, ours = both.payoffs()
        assert theirs == ours
        lengths.add(both.turn)
        outcomes.add(Outcome(int(both.batch.state["outcome"][0])))
    assert lengths == set(range(2, MAX_TURNS + 1))
    assert outcomes == {Outcome.AGENT_AGREED, Outcome.PARTNER_AGREED, Outcome.TIMED_OUT}


@pytest.mark.parametrize("moves_before_agree", range(1, MAX_TURNS))
def test_a_deal_at_every_move_is_discounted_alike(moves_before_agree: int) -> None:
    game = pyspiel.load_game("bargaining", {"discount": 0.9})
    rng = np.random.default_rng(moves_before_agree)
    for index in rng.integers(len(game.all_instances()), size=20):
        both = BothGames(game, int(index), discount=0.9)
        share: tuple[int, ...] = (0, 0, 0)
        for _ in range(moves_before_agree):
            offers = list(both.their_offers())
            share = offers[rng.integers(len(offers))]
            both.offer(share)
        proposer = 1 - both.side
        both.agree()
        theirs, ours = both.payoffs()
        assert theirs == pytest.approx(ours, rel=1e-12)
        worth = float(np.dot(both.batch.state["utilities"][0, proposer], share))
        assert ours[proposer] == pytest.approx(worth * 0.9 ** (moves_before_agree - 1), rel=1e-12)


def test_the_tenth_move_may_accept_in_both() -> None:
    both = BothGames(pyspiel.load_game("bargaining"), 0)
    for _ in range(MAX_TURNS - 1):
        both.offer((0, 0, 0))
    assert both.over == (False, False)
    both.agree()
    theirs, ours = both.payoffs()
    assert both.over == (True, True)
    assert theirs == ours and max(ours) > 0


def test_a_tenth_offer_ends_both_with_nothing() -> None:
    both = BothGames(pyspiel.load_game("bargaining"), 0)
    for _ in range(MAX_TURNS):
        both.offer((0, 0, 0))
    assert both.over == (True, True)
    assert both.payoffs() == ([0.0, 0.0], [0.0, 0.0])
    assert both.batch.state["outcome"][0] == Outcome.TIMED_OUT


def test_neither_lets_the_first_move_accept() -> None:
    both = BothGames(pyspiel.load_game("bargaining"), 0)
    assert not both.their_agree_is_legal()
    with pytest.raises(IllegalAction):
        both.batch.move(0, np.array([AGREE]), np.array([[0, 0, 0]]))
