"""A batch of bargaining episodes: the arrays, and the calls of the compiled rules on them.

Environments, trainers and searches all use this one object. State and reports are allocated once and written in place; what a step or a
reset shows (views and masks) is written into fresh arrays, so that a caller may keep them.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth import catalog
from edgeworth.config import BargainingConfig
from edgeworth.errors import EpisodeOver, IllegalAction, InvalidContext
from edgeworth.games.bargaining import rules
from edgeworth.games.bargaining.contexts import ContextSource, ContextTable, largest_count
from edgeworth.games.bargaining.history_features import HISTORY_FEATURES
from edgeworth.games.bargaining.legality import EPISODE_IS_OVER, NOTHING_TO_AGREE_TO, RULES_BROKEN, UNKNOWN_ACT, legality
from edgeworth.games.bargaining.moves import REWARD_PARTS, write_reward_parts
from edgeworth.games.bargaining.partners.population import partner_of
from edgeworth.games.bargaining.partners.program import OutsidePartner, Seated
from edgeworth.games.bargaining.state import (
    BASE_FEATURES,
    EPISODE,
    HISTORY_LINE,
    MY_UTILITIES_FEATURE,
    PARTNER_UTILITIES_FEATURE,
    VIEW,
    Outputs,
    rules_record,
)
from edgeworth.games.bargaining.vocabulary import AGENT, COUNT_LIMIT, ONGOING, PARTNER, UTILITY_LIMIT
from edgeworth.seeding import seed_records
from edgeworth.validation import build, checked_size

NO_CONTEXTS = np.zeros((0, 9), np.int16)
NO_HISTORIES = np.zeros((0, 0, HISTORY_LINE), np.int8)
Actions = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Acts (N,) and shares (N, 3)."""


class BargainingBatch:
    """`size` episodes played side by side, each with a seed of its own."""

    def __init__(self, config: BargainingConfig, size: int, two_player: bool = False, keeps_histories: bool = False) -> None:
        source: ContextSource = build(catalog.resolve("context source", config.contexts), config.context_options, config.contexts)
        partner = partner_of(config.partner, config.partner_options)
        table = source.table()
        self.config = config
        self.max_count = largest_count(config, table)
        self.partners = partner.programs(config)
        self.table: ContextTable = NO_CONTEXTS if table is None else table
        self.started = False
        self._history_turns = config.max_turns if keeps_histories else 0
        self.rules = rules_record(config, self.max_count, from_table=table is not None, two_player=two_player)
        self._hold(np.zeros(checked_size(size), EPISODE))
        if config.normalize and table is not None:
            self._refuse_worthless(table)
        self.outside: Seated | None = partner.seated(self) if isinstance(partner, OutsidePartner) else None

    def _hold(self, state: NDArray[np.void]) -> None:
        """Take these episodes, with outputs of their own."""
        self.state, self.size = state, len(state)
        self.everybody = np.ones(self.size, np.bool_)
        self.outputs = Outputs.zeros(self.size, self._history_turns)

    @property
    def reports(self) -> NDArray[np.void]:
        """The results of the last step."""
        return self.outputs.reports

    @property
    def views(self) -> NDArray[np.int32]:
        """What each agent may know now, in the columns of `state.VIEW`."""
        return self.outputs.views

    @property
    def masks(self) -> NDArray[np.int8]:
        """The acts that are legal for each agent now."""
        return self.outputs.masks

    def seed(self, seeds: int | Sequence[int | None] | None, chosen: NDArray[np.bool_] | None = None) -> None:
        """Give every chosen slot a seed: one number counts up from itself, a list names each (None keeps or draws one)."""
        seed_records(self.state, seeds, self.started, chosen)

    def reset(self, contexts: ContextTable = NO_CONTEXTS, chosen: NDArray[np.bool_] | None = None) -> None:
        """Begin the next episode of all, or of the chosen ones; with one row of context per slot, or drawn."""
        if len(contexts):
            self.check_contexts(contexts)
        chosen = self.everybody if chosen is None else chosen
        rules.reset_batch(self.state, self.rules, self.partners, self.table, contexts, chosen)
        self.started = True
        self._ask_partner(chosen)
        self.outputs = Outputs.zeros(self.size, self._history_turns)
        self.refresh()

    def refresh(self) -> None:
        """Bring what the agents may know up to date with the state, in place."""
        self._show(self.outputs)

    def _show(self, out: Outputs) -> None:
        rules.view_batch(self.state, self.rules, AGENT, out.views, out.masks, out.histories)

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

    def step(self, acts: NDArray[np.int64], shares: NDArray[np.int64], autoreset: int = rules.NEVER) -> None:
        """One step of every episode, or an error before anything has changed."""
        self._refuse_before_reset()
        charges, over, out = np.empty(self.size), np.empty(self.size, np.bool_), Outputs.empty(self.size, self._history_turns)

        def run(half: int) -> None:
            game = self.state, self.rules, self.partners, self.table
            illegal = rules.step_batch(*game, acts, shares, charges, over, *out, autoreset, half)
            if illegal != rules.ALL_LEGAL:
                raise self.illegal_action(illegal, AGENT, int(acts[illegal]), shares[illegal])

        if self.outside is None:
            run(rules.WHOLE)
        else:
            before = self._bytes().copy()
            try:
                run(rules.MOVES)
                self._ask_partner(self.everybody)
                run(rules.CLOSE)
                if autoreset != rules.NEVER and self._ask_partner(out.ended if autoreset == rules.SAME_STEP else over):
                    self._show(out)
            except BaseException:
                self._bytes()[:] = before
                raise
        self.outputs = out

    def _ask_partner(self, chosen: NDArray[np.bool_]) -> bool:
        """Make the moves of a partner outside the rules in the chosen episodes where it is its turn; whether there were any."""
        if self.outside is None or self.rules[0]["two_player"]:
            return False
        state = self.state
        waiting = chosen & (state["outcome"] == ONGOING) & ((state["opener"] + state["turn"]) % 2 == PARTNER)
        if not waiting.any():
            return False
        part = self.over(self._bytes()[waiting].view(EPISODE))
        part.move(PARTNER, *self.outside.reply(part))
        self._bytes()[waiting] = part._bytes()
        return True

    def _bytes(self) -> NDArray[np.void]:
        """The episodes as plain bytes; NumPy copies records field by field otherwise."""
        return self.state.view(np.dtype((np.void, EPISODE.itemsize)))

    def _refuse_before_reset(self) -> None:
        if not self.started:
            raise EpisodeOver("The negotiation has not begun; call reset() first.")

    def reward_parts(self) -> dict[str, float]:
        """The parts of the last reward in a batch of one, by name."""
        parts = np.empty(len(REWARD_PARTS))
        write_reward_parts(self.state[0], self.rules[0], float(self.reports["charge"][0]), parts)
        return dict(zip(REWARD_PARTS, parts.tolist(), strict=True))

    def move(self, side: int, acts: NDArray[np.int64], shares: NDArray[np.int64]) -> NDArray[np.float64]:
        """One move of one side in every episode, or an error before anything has changed; returns the immediate cost of each."""
        self._refuse_before_reset()
        charges = np.zeros(self.size)
        illegal = rules.move_batch(self.state, self.rules, side, acts, shares, charges)
        if illegal != rules.ALL_LEGAL:
            raise self.illegal_action(illegal, side, int(acts[illegal]), shares[illegal])
        return charges

    def replies(self) -> Actions:
        """What each episode's partner would reply now; of the state, only its memory changes."""
        if self.outside is not None:
            return self.outside.reply(self)
        acts, shares = np.empty(self.size, np.int64), np.empty((self.size, 3), np.int64)
        rules.reply_batch(self.state, self.rules, self.partners, acts, shares)
        return acts, shares

    def look(self, side: int) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        """What one side may know of every episode, and its mask, in fresh arrays."""
        self._refuse_before_reset()
        views, masks = np.empty_like(self.views), np.empty_like(self.masks)
        rules.view_batch(self.state, self.rules, side, views, masks, NO_HISTORIES)
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
        part._hold(state)
        part.started = True
        return part

    def write_back(self, part: BargainingBatch, chosen: NDArray[np.bool_]) -> None:
        """Put the episodes of a selected batch back where they came from."""
        self.state[chosen] = part.state
        self.views[chosen], self.masks[chosen] = part.views, part.masks

    def features(self, side: int = AGENT, out: NDArray[np.float32] | None = None, memory: bool = False) -> NDArray[np.float32]:
        """The 18 base features of every episode; with `memory`, also those of the negotiation so far (`history_features.py`)."""
        self._refuse_before_reset()
        out = np.empty((self.size, BASE_FEATURES + memory * HISTORY_FEATURES), np.float32) if out is None else out
        rules.features_batch(self.state, self.rules, side, out)
        return out

    def own_points(self) -> NDArray[Any]:
        """The agents' utilities as they observe them; on the budget of 10 where contexts are normalised."""
        if self.config.normalize:
            return self.features()[:, MY_UTILITIES_FEATURE:PARTNER_UTILITIES_FEATURE] * UTILITY_LIMIT
        return self.views[:, VIEW["my_utilities"]]

    @property
    def least_counts(self) -> NDArray[np.int16]:
        """The fewest units of each type that a context of this source can hold."""
        if len(self.table):
            return np.asarray(self.table[:, :3].min(axis=0), np.int16)
        return np.full(3, self.config.min_count, np.int16)

    def random_actions(self) -> Actions:
        """A legal action for every episode, drawn from its own randomness."""
        self._refuse_before_reset()
        acts, shares = np.empty(self.size, np.int64), np.empty((self.size, 3), np.int64)
        rules.random_actions(self.state, acts, shares)
        return acts, shares

    def random_rollout(self, steps: int) -> NDArray[np.float64]:
        """Random legal play with the loop inside the rules; per slot: finished episodes, reward, maximum, steps."""
        self._refuse_before_reset()
        totals = np.zeros((self.size, 4))
        if self.outside is not None:
            for _ in range(steps):
                self.step(*self.random_actions(), rules.SAME_STEP)
                out = self.outputs
                totals += np.stack([out.ended, out.rewards, out.final_views[:, VIEW["my_maximum"]], self.everybody], axis=1)
            return totals
        features, game = np.empty((self.size, BASE_FEATURES), np.float32), (self.state, self.rules, self.partners, self.table)
        rules.random_rollout(*game, self.reports, features, self.masks, steps, totals)
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
