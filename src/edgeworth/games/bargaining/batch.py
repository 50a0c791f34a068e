"""A batch of bargaining episodes: the arrays, and the calls of the compiled rules on them.

Environments, trainers and searches all stand on this one object. Its arrays are allocated once and written in place; with `out` a call
writes what it shows into other arrays, for environments that hand them to their users.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth import catalog
from edgeworth.config import BargainingConfig
from edgeworth.errors import EpisodeOver, IllegalAction, InvalidContext, InvalidOption
from edgeworth.games.bargaining import rules
from edgeworth.games.bargaining.contexts import ContextSource, ContextTable, largest_count
from edgeworth.games.bargaining.legality import EPISODE_IS_OVER, LEGAL, NOTHING_TO_AGREE_TO, RULES_BROKEN, UNKNOWN_ACT, legality
from edgeworth.games.bargaining.outputs import Outputs
from edgeworth.games.bargaining.partners.named import partner_of
from edgeworth.games.bargaining.partners.outside import OutsidePartner, Seated
from edgeworth.games.bargaining.payoffs import REWARD_PARTS
from edgeworth.games.bargaining.state import (
    BASE_FEATURES,
    EPISODE,
    RULES,
    SOLO,
    VIEW,
    rules_record,
)
from edgeworth.games.bargaining.vocabulary import AGENT, COUNT_LIMIT, ONGOING, PARTNER, UTILITY_LIMIT
from edgeworth.seeding import seed_streams, slot_seeds
from edgeworth.validation import build

NO_CONTEXTS = np.zeros((0, 9), np.int16)


class BargainingBatch:
    """`size` episodes played side by side, each with a seed of its own."""

    def __init__(self, config: BargainingConfig, size: int, two_player: bool = False) -> None:
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
            raise InvalidOption(f"The number of environments is {size!r}; expected a whole number, 1 or more.")
        source: ContextSource = build(catalog.resolve("context source", config.contexts), config.context_options, config.contexts)
        partner = partner_of(config.partner, config.partner_options)
        table = source.table()
        self.config = config
        self.max_count = largest_count(config, table)
        self.partners = partner.programs(config)
        self.table: ContextTable = NO_CONTEXTS if table is None else table
        self.started = False
        self.solo: NDArray[np.void] | None = np.zeros(1, SOLO) if size == 1 else None
        self.state, self.rules = np.zeros(size, EPISODE), np.zeros(1, RULES)
        self._allocate(size)
        self._bind_solo()
        self.rules[0] = rules_record(config, self.max_count, from_table=table is not None, two_player=two_player)[0]
        if config.normalize and table is not None:
            self._refuse_worthless(table)
        self.outside: Seated | None = partner.seated(self) if isinstance(partner, OutsidePartner) else None

    def _allocate(self, size: int) -> None:
        self.size = size
        self.everybody = np.ones(size, np.bool_)
        self._take(Outputs.of(size, turns=0))

    def _take(self, outputs: Outputs) -> None:
        self.outputs = outputs
        self.reports, self.views, self.masks = outputs.reports, outputs.views, outputs.masks

    def _bind_solo(self) -> None:
        """Let the arrays of a batch of one be parts of its single record."""
        if self.solo is not None:
            self.state, self.rules = self.solo["episode"], self.solo["rules"]
            views, masks = self.solo["seen"], self.solo["mask"]
            self._take(self.outputs._replace(reports=self.solo["report"], views=views, masks=masks))

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        self.__dict__.update(attributes)
        self._bind_solo()

    def seed(self, seeds: int | Sequence[int | None] | None, chosen: NDArray[np.bool_] | None = None) -> None:
        """Give every chosen slot a seed: one number counts up from itself, a list names each (None keeps or draws one)."""
        placed = slot_seeds(seeds, self.size, self.started)
        if placed is None:
            return
        values, where = placed
        where = where & (self.everybody if chosen is None else chosen)
        streams = np.empty_like(values)
        seed_streams(values, streams)
        self.state["seed"][where] = values[where]
        self.state["stream"][where] = streams[where]
        self.state["episode"][where] = 0

    def reset(self, contexts: ContextTable = NO_CONTEXTS, chosen: NDArray[np.bool_] | None = None, out: Outputs | None = None) -> None:
        """Begin the next episode of all, or of the chosen ones; with one row of context per slot, or drawn.

        What is shown goes to `out` from here on, where it is given; the arrays before it stay as they are.
        """
        if len(contexts):
            self.check_contexts(contexts)
        if out is not None:
            self._take(out)
        everybody = self.everybody if chosen is None else chosen
        rules.reset_batch(
            self.state, self.rules, self.partners, self.table, contexts, everybody, self.views, self.masks, self.outputs.histories
        )
        self.started = True
        if self.outside is not None and self._hear(self.outside, everybody):
            rules.show_batch(self.state, self.rules, *self._shown(self.outputs))

    def check_contexts(self, contexts: ContextTable) -> None:
        """Refuse contexts that this batch cannot play."""
        if contexts.shape != (self.size, 9):
            raise InvalidContext(f"Contexts have shape {contexts.shape}; expected ({self.size}, 9).")
        counts, utilities = contexts[:, :3], contexts[:, 3:]
        if counts.min() < 0 or counts.max() > self.max_count:
            raise InvalidContext(
                f"counts reach from {counts.min()} to {counts.max()}; expected 0 to {self.max_count}"
                f" (raise `max_count`, up to {COUNT_LIMIT}, for larger pools)."
            )
        if (counts.sum(axis=1) == 0).any():
            raise InvalidContext("counts are 0,0,0; expected at least one item to divide.")
        if utilities.min() < 0 or utilities.max() > UTILITY_LIMIT:
            raise InvalidContext(f"utilities reach from {utilities.min()} to {utilities.max()}; expected 0 to {UTILITY_LIMIT}.")
        if self.config.normalize:
            self._refuse_worthless(contexts)

    def _refuse_worthless(self, contexts: ContextTable) -> None:
        """Nothing can scale a pool that a side does not value at all."""
        for side in (contexts[:, 3:6], contexts[:, 6:9]):
            worthless = np.flatnonzero((contexts[:, :3] * side).sum(axis=1) == 0)
            if worthless.size:
                raise InvalidContext(
                    f"Context {contexts[worthless[0]].tolist()} (row {worthless[0]}) cannot be normalised: a side values nothing in it."
                )

    def step(self, acts: NDArray[np.int64], shares: NDArray[np.int64], autoreset: int = rules.NEVER, out: Outputs | None = None) -> None:
        """One step of every episode, or an error before anything has changed; `out` as in `reset`."""
        self._refuse_before_reset()
        out = self.outputs if out is None else out
        if self.outside is not None:
            self._step_with(self.outside, acts, shares, out, autoreset)
        else:
            illegal = rules.step_batch(self.state, self.rules, self.partners, self.table, acts, shares, *out, autoreset)
            if illegal != rules.ALL_LEGAL:
                raise self.illegal_action(illegal, AGENT, int(acts[illegal]), shares[illegal])
        self._take(out)

    def _step_with(self, partner: Seated, acts: NDArray[np.int64], shares: NDArray[np.int64], out: Outputs, autoreset: int) -> None:
        """The step of `rules.step_batch` with a partner outside the rules: one call of it for the replies, one for openings."""
        charges, begun, before = np.empty(self.size), np.empty(self.size, np.bool_), self._bytes().copy()
        game = self.state, self.rules, self.partners, self.table
        illegal = rules.move_agents(*game, acts, shares, charges, begun, autoreset)
        if illegal != rules.ALL_LEGAL:
            raise self.illegal_action(illegal, AGENT, int(acts[illegal]), shares[illegal])
        try:
            self._hear(partner, self.everybody)
            rules.close_step(*game, charges, begun, *out, autoreset)
            if autoreset == rules.SAME_STEP and self._hear(partner, out.ended):
                rules.show_batch(self.state, self.rules, *self._shown(out))
        except BaseException:
            self._bytes()[:] = before
            raise

    def _hear(self, partner: Seated, chosen: NDArray[np.bool_]) -> bool:
        """Let a partner outside the rules move in the chosen episodes where it is its turn; whether there was any."""
        state = self.state
        waiting = chosen & (state["outcome"] == ONGOING) & ((state["opener"] + state["turn"]) % 2 == PARTNER)
        if self.rules[0]["two_player"] or not waiting.any():
            return False
        part = self.over(self._bytes()[waiting].view(EPISODE))
        part.move(PARTNER, *partner.reply(part))
        self._bytes()[waiting] = part._bytes()
        return True

    def _bytes(self) -> NDArray[np.void]:
        """The episodes without their fields, one by one of which NumPy would copy them otherwise."""
        return self.state.view(np.dtype((np.void, EPISODE.itemsize)))

    def _shown(self, out: Outputs) -> tuple[NDArray[np.bool_], NDArray[np.int32], NDArray[np.int8], NDArray[np.int8]]:
        return out.spoken, out.views, out.masks, out.histories

    def _refuse_before_reset(self) -> None:
        if not self.started:
            raise EpisodeOver("The talks have not begun; call reset() first.")

    def step_single(self, act: int, share: Sequence[int]) -> None:
        """The step of a batch of one, with little to unpack."""
        self._refuse_before_reset()
        if self.outside is not None:
            self.step(np.array([act], np.int64), np.array([share], np.int64))
            return
        a, b, c = share
        if rules.step_single(self.solo, self.partners, act, a, b, c) != LEGAL:
            raise self.illegal_action(0, AGENT, act, share)

    def reward_parts(self) -> dict[str, float]:
        """The parts of the last reward in a batch of one, by name."""
        parts = np.empty(len(REWARD_PARTS))
        rules.single_reward_parts(self.solo, parts)
        return dict(zip(REWARD_PARTS, parts.tolist(), strict=True))

    def move(self, side: int, acts: NDArray[np.int64], shares: NDArray[np.int64]) -> NDArray[np.float64]:
        """One move of one side in every episode, or an error before anything has changed; returns what each move cost at once."""
        self._refuse_before_reset()
        charges = np.zeros(self.size)
        illegal = rules.move_batch(self.state, self.rules, side, acts, shares, charges)
        if illegal != rules.ALL_LEGAL:
            raise self.illegal_action(illegal, side, int(acts[illegal]), shares[illegal])
        return charges

    def replies(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """What each episode's partner says now; of the state, only its memory changes."""
        if self.outside is not None:
            return self.outside.reply(self)
        acts, shares = np.empty(self.size, np.int64), np.empty((self.size, 3), np.int64)
        rules.reply_batch(self.state, self.rules, self.partners, acts, shares)
        return acts, shares

    def look(self, side: int) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        """What one side may know of every episode, and its mask, in fresh arrays."""
        self._refuse_before_reset()
        views, masks = np.empty_like(self.views), np.empty_like(self.masks)
        rules.view_batch(self.state, self.rules, side, views, masks)
        return views, masks

    def final_features(self) -> NDArray[np.float32]:
        """The base features at the end of the episodes that the last step closed; elsewhere they mean nothing."""
        features = np.empty((self.size, BASE_FEATURES), np.float32)
        rules.recalled_features(self.outputs.final_views, self.rules, np.zeros(1, EPISODE), features)
        return features

    def selected(self, chosen: NDArray[np.bool_]) -> BargainingBatch:
        """A batch of copies of the chosen episodes under the same rules, for playing on with some or searching from them."""
        part = self.over(self.state[chosen])
        part.views[:], part.masks[:] = self.views[chosen], self.masks[chosen]
        return part

    def over(self, state: NDArray[np.void]) -> BargainingBatch:
        """A batch of these episodes under the same rules and partners, writing to `state` in place."""
        part = copy.copy(self)
        part.state, part.solo = state, None
        part._allocate(len(state))
        part.started = True
        return part

    def write_back(self, part: BargainingBatch, chosen: NDArray[np.bool_]) -> None:
        """Put the episodes of a selected batch back where they came from."""
        self.state[chosen] = part.state
        self.views[chosen], self.masks[chosen] = part.views, part.masks

    def features(self, side: int = AGENT, out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """The 18 base features of every episode."""
        self._refuse_before_reset()
        out = np.empty((self.size, BASE_FEATURES), np.float32) if out is None else out
        rules.features_batch(self.state, self.rules, side, out)
        return out

    @property
    def least_counts(self) -> NDArray[np.int16]:
        """The fewest units of each type that a context of this source can hold."""
        if len(self.table):
            return np.asarray(self.table[:, :3].min(axis=0), np.int16)
        return np.full(3, self.config.min_count, np.int16)

    def random_actions(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """A legal action for every episode, drawn from its own randomness."""
        self._refuse_before_reset()
        acts, shares = np.empty(self.size, np.int64), np.empty((self.size, 3), np.int64)
        rules.random_actions(self.state, acts, shares)
        return acts, shares

    def random_rollout(self, steps: int, threads: int = 1) -> NDArray[np.float64]:
        """Random legal play with the loop inside the rules; per slot: finished episodes, reward, maximum, steps."""
        self._refuse_before_reset()
        totals = np.zeros((self.size, 4))
        if self.outside is not None:
            for _ in range(steps):
                self.step(*self.random_actions(), rules.SAME_STEP)
                out = self.outputs
                totals += np.stack([out.ended, out.rewards, out.final_views[:, VIEW["my_maximum"]], self.everybody], axis=1)
            return totals
        features = np.empty((self.size, BASE_FEATURES), np.float32)
        cuts = np.linspace(0, self.size, threads + 1).astype(int)

        def play(begin: int, end: int) -> None:
            part = slice(begin, end)
            rules.random_rollout(
                self.state[part],
                self.rules,
                self.partners,
                self.table,
                self.reports[part],
                features[part],
                self.masks[part],
                steps,
                totals[part],
            )

        if threads == 1:
            play(0, self.size)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(play, cuts[:-1], cuts[1:]))
        return totals

    def illegal_action(self, slot: int, side: int, act: int, share: Sequence[int] | NDArray[np.int64]) -> Exception:
        """The error that names the rule an action would break."""
        a, b, c = (int(n) for n in share)
        broken = int(legality(self.state[slot], side, act, a, b, c))
        counts = ",".join(str(int(n)) for n in self.state["counts"][slot])
        index = slot if self.size > 1 else None
        if broken == EPISODE_IS_OVER:
            which = f"Environment {slot}: the" if self.size > 1 else "The"
            return EpisodeOver(f"{which} episode is over; call reset() to begin the next one.")
        message = {
            UNKNOWN_ACT: f"act_type is {act}; expected 0 to 4 (PROPOSE, INSIST, AGREE, DISAGREE, END).",
            NOTHING_TO_AGREE_TO: "AGREE needs an offer of the partner, and it has made none; propose, or wait for its offer.",
        }.get(broken, f"oA is {a},{b},{c}; expected 0 up to the pool {counts}.")
        return IllegalAction(message, RULES_BROKEN[broken], index)
