"""The exact best response to a partner whose utilities are known, by backward induction through the rules themselves.

Against a deterministic partner the negotiation is a tree: every agent move leads to one reply. The search plays all moves of all open
states through the compiled rules, layer by layer, and merges states that the rest of the negotiation cannot tell apart. Against the
random partner the value has a closed recursion, since its replies do not depend on what it is offered. A sudden end is averaged over, not
sampled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import Context, Triple, triple_of
from edgeworth.games.bargaining.frontier import all_shares
from edgeworth.games.bargaining.history import Move
from edgeworth.games.bargaining.partners.program import RANDOM, check_answers_alike
from edgeworth.games.bargaining.vocabulary import AGENT, AGREE, BUDGET, DISAGREE, END, INSIST, ONGOING, PARTNER, PROPOSE, Side

States = NDArray[np.void]


@dataclass(frozen=True)
class Response:
    """What the best response earns on average, and the agent's moves along its path."""

    value: float
    moves: tuple[Move, ...]
    agree_from: Mapping[int, tuple[Triple, ...]] = field(default_factory=dict)
    """Against a random partner: the offers worth accepting after each number of moves; otherwise ask as in `moves`."""
    leaves_at: frozenset[int] = frozenset()
    """Against a random partner: after how many moves walking away beats asking on."""

    def move_at(self, turn: int, offer: Triple | None) -> Move:
        """The agent's move after this many moves, given what the partner's standing offer leaves it."""
        if offer is not None and offer in self.agree_from.get(turn, ()):
            return Move(AGENT, AGREE, None)
        if turn in self.leaves_at:
            return Move(AGENT, DISAGREE, None)
        return self.moves[min(turn // 2, len(self.moves) - 1)]


def best_response(context: Context, config: BargainingConfig, opens: Side = Side.AGENT) -> Response:
    """The most an agent can earn from this partner in this context, and how."""
    batch = BargainingBatch(config, 1)
    if len(batch.partners) > 1:
        raise InvalidOption("The best response needs one partner; a population has several.")
    check_answers_alike(batch, "The best response")
    if batch.partners[0]["kind"] == RANDOM:
        return _response_to_random(context, batch, opens)
    batch.rules["opens"] = int(opens)
    batch.rules["sudden_end"] = 0.0
    batch.seed(0)
    batch.reset(np.array([context.row()], np.int16))
    return _Search(batch, config).response()


class _Search:
    """Backward induction over the states that one partner can lead to."""

    def __init__(self, batch: BargainingBatch, config: BargainingConfig) -> None:
        self.batch = batch
        self.sudden_end = config.sudden_end
        self.passes = config.disagree == "passes"
        self.shares = all_shares(triple_of(batch.state["counts"][0]))

    def response(self) -> Response:
        values, choices, children = self._solve(self.batch.state.copy())
        moves: list[Move] = []
        slot, layer = 0, 0
        while True:
            act, *share = (int(n) for n in choices[layer][slot])
            stated = act in (PROPOSE, INSIST, END)
            moves.append(Move(AGENT, act, (share[0], share[1], share[2]) if stated else None))
            slot = int(children[layer][slot])
            layer += 1
            if slot < 0:
                return Response(float(values[0]), tuple(moves))

    def _solve(self, layer: States) -> tuple[NDArray[np.float64], list[NDArray[np.int64]], list[NDArray[np.int64]]]:
        """Values of a layer of agent states, with the best move and its child state in every layer from here on."""
        owners, acts, shares = self._moves(layer)
        played = layer[owners]
        values, settled = self._play(played, acts, shares)
        open_moves = np.flatnonzero(~settled)
        child_of = np.full(len(owners), -1, np.int64)
        choices: list[NDArray[np.int64]] = []
        children: list[NDArray[np.int64]] = []
        if open_moves.size:
            following, index = self._merged(played[open_moves])
            child_of[open_moves] = index
            later, choices, children = self._solve(following)
            nothing = self._no_deal(played[open_moves])
            stay = self._survives(played["turn"][open_moves] - 1) * self._survives(played["turn"][open_moves])
            values[open_moves] += stay * later[index] + (1.0 - stay) * nothing
        best = np.full(len(layer), -1, np.int64)
        order = np.lexsort((-np.arange(len(owners)), settled, values, owners))
        best[owners[order]] = order  # the last of each owner: the highest value, and of equals one that closes now
        moves = np.concatenate([acts[best, None], shares[best]], axis=1)
        return values[best], [moves, *choices], [child_of[best], *children]

    def _moves(self, layer: States) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Every move worth considering in every state: all offers both ways, AGREE, DISAGREE, and the one END that can match."""
        n, size = len(layer), len(self.shares)
        per_state = 2 * size + 3
        owners = np.repeat(np.arange(n), per_state)
        acts = np.tile(np.concatenate([np.full(size, PROPOSE), np.full(size, INSIST), [AGREE, DISAGREE, END]]), n)
        shares = np.tile(np.concatenate([self.shares, self.shares, np.zeros((3, 3), np.int64)]), (n, 1))
        claimed = np.where(layer["offered"][:, PARTNER, None] > 0, layer["offer"][:, PARTNER], layer["counts"])
        shares[per_state - 1 :: per_state] = layer["counts"] - claimed
        legal = (acts != AGREE) | (layer["offered"][owners, PARTNER] > 0)
        return owners[legal], acts[legal], shares[legal]

    def _play(self, states: States, acts: NDArray[np.int64], shares: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Make the moves and hear the replies, in place; what each has paid so far, and whether it has ended."""
        values = -self.batch.over(states).move(AGENT, acts, shares)
        ended = states["outcome"] != ONGOING
        values[ended] += states["payoff"][ended, AGENT]
        going = np.flatnonzero(~ended)
        if going.size:
            rest = self.batch.over(states[going])
            rest.move(PARTNER, *rest.replies())
            states[going] = rest.state
            closed = going[rest.state["outcome"] != ONGOING]
            heard = self._survives(states["turn"][closed] - 1)
            values[closed] += heard * states["payoff"][closed, AGENT] + (1.0 - heard) * self._no_deal(states[closed])
            ended[closed] = True
        return values, ended

    def _survives(self, moves: NDArray[np.integer]) -> NDArray[np.float64]:
        """Probability that the negotiation outlives this move, given that it left it open."""
        return np.where(moves > 1, 1.0 - self.sudden_end, 1.0)

    def _no_deal(self, states: States) -> NDArray[np.float64]:
        rules = self.batch.rules[0]
        whole = np.full(len(states), float(BUDGET)) if rules["normalize"] else states["maximum"][:, AGENT].astype(np.float64)
        return np.asarray(rules["reservation"][AGENT] * whole)

    def _merged(self, states: States) -> tuple[States, NDArray[np.int64]]:
        """One state for all that the rest of the negotiation cannot tell apart, and where each went.

        A refused offer of the agent's is forgotten unless a pass can leave it standing.
        """
        forgotten = np.zeros_like(states["offer"][:, AGENT])
        mine = states["offer"][:, AGENT] if self.passes else forgotten
        insisted = states["insisted"][:, AGENT] if self.passes else forgotten[:, 0]
        key = np.column_stack(
            [states["turn"], states["memory"], states["offer"][:, PARTNER], states["offered"][:, PARTNER], mine, insisted]
        )
        _, first, index = np.unique(key, axis=0, return_index=True, return_inverse=True)
        return states[first], index.reshape(-1)


def _response_to_random(context: Context, batch: BargainingBatch, opens: Side) -> Response:
    """Ask for everything until the random partner's own offer beats what asking on is worth."""
    config = batch.config
    if config.disagree == "passes":
        raise InvalidOption('The best response to the random partner is worked out for disagree="ends" only.')
    shares = all_shares(context.counts)
    scale = BUDGET / max(context.my_maximum, 1) if config.normalize else 1.0
    worths = scale * (shares @ np.array(context.my_utilities))
    nothing = config.reservation[AGENT] * scale * context.my_maximum
    asking = _values_of_asking(batch, worths, nothing)
    agreed = {turn: float(batch.rules[0]["discount_at"][turn + 1]) * worths for turn in asking}
    accepted = {turn: tuple(triple_of(s) for s in shares[agreed[turn] >= value]) for turn, value in asking.items()}
    everything = (Move(AGENT, PROPOSE, context.counts),)
    value = asking[0] if opens == Side.AGENT else float(np.maximum(agreed[1], asking[1]).mean())
    leaves = frozenset(turn for turn, worth in asking.items() if worth == nothing and turn < config.max_turns - 1)
    return Response(value, everything, accepted, leaves if nothing > 0 else frozenset())


def _values_of_asking(batch: BargainingBatch, worths: NDArray[np.float64], nothing: float) -> dict[int, float]:
    """What asking for everything is worth after each number of moves, from the last move back.

    The reply is AGREE, DISAGREE, END with a matching or another selection, or an offer (PROPOSE or INSIST) that may be accepted.
    """
    config, discount = batch.config, batch.rules[0]["discount_at"]
    stay = 1.0 - config.sudden_end
    whole = float(worths.max())
    asking: dict[int, float] = {config.max_turns - 1: nothing}
    for turn in range(config.max_turns - 2, -1, -1):
        closed = float(discount[turn + 2]) * whole
        matched = (closed + (len(worths) - 1) * nothing) / len(worths)
        offered = nothing
        if turn + 2 < config.max_turns:
            offered = stay * float(np.maximum(discount[turn + 3] * worths, asking[turn + 2]).mean()) + (1.0 - stay) * nothing
        reply = (closed + nothing + matched + 2.0 * offered) / 5.0
        heard = stay if turn + 1 > 1 else 1.0
        asking[turn] = max(nothing, heard * reply + (1.0 - heard) * nothing)
    return asking
