"""The compiled bargaining rules laid beside the plain environment, transition by transition.

Both play the same seeds with the same random legal actions. Random talks are short, so every second slot prefers to go on offering and
sees the clock run out. At every transition the reward, the termination, the full observation, the mask and the history are compared,
and at every end also the outcome, the deal and the partner's reward; rewards must agree exactly. Where the config charges for illegal
actions, some are mixed in. The quick tests and `python -m benchmarks.env` share this one comparison.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.plain_env import AGREE, DISAGREE, INSIST, PROPOSE, CounterChance, PlainNegotiationEnv
from edgeworth import catalog
from edgeworth.config import BargainingConfig, scenario_names
from edgeworth.envs.negotiation_spaces import normalised
from edgeworth.errors import EpisodeOver, IllegalAction
from edgeworth.games.bargaining import rules
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.history import history_of
from edgeworth.games.bargaining.state import VIEW
from edgeworth.games.bargaining.vocabulary import Outcome

SLOTS = 32
ILLEGAL_SHARE = 0.15
STUBBORN_SHARE = 0.85
NOT_READ = 99
"""Written into `oA` beside AGREE and DISAGREE, which must not read it."""


@dataclass
class Comparison:
    """How far two implementations were played together, and where they first differed."""

    transitions: int = 0
    episodes: int = 0
    mismatches: int = 0
    first_mismatches: list[str] = field(default_factory=list)

    def expect(self, what: str, compiled: object, plain: object, where: str) -> None:
        """Count a difference, and keep the first few in words."""
        if not np.array_equal(np.asarray(compiled), np.asarray(plain)):
            self.differ(f"{where}: {what} is {compiled} compiled and {plain} plain")

    def differ(self, how: str) -> None:
        """Count a difference."""
        self.mismatches += 1
        if len(self.first_mismatches) < 5:
            self.first_mismatches.append(how)


def cases() -> Iterator[tuple[str, BargainingConfig]]:
    """Every partner and every scenario, with its default options."""
    for partner in sorted(catalog.PARTNERS):
        yield f"partner {partner}", BargainingConfig(partner=partner)
    for scenario in scenario_names():
        yield f"scenario {scenario}", BargainingConfig.from_options(scenario=scenario)


def compare(config: BargainingConfig, transitions: int, seed: int = 0, plain_config: BargainingConfig | None = None) -> Comparison:
    """Play both with the same seeds and actions for at least this many transitions; a game that falls apart is not played on."""
    batch = BargainingBatch(config, SLOTS)
    batch.seed(seed)
    batch.reset()
    result = Comparison()
    plains = {slot: plain_twin(batch, plain_config or config) for slot in range(SLOTS)}
    for slot, plain in plains.items():
        observation, info = plain.reset(seed=seed + slot)
        compare_view(result, batch, batch.views[slot], observation, info, f"slot {slot}, first reset")
        compare_ongoing(result, batch, slot, info, f"slot {slot}, first reset")
    disturbance = np.random.default_rng(seed)
    while plains and result.transitions < transitions:
        acts, shares = batch.random_actions()
        for slot, plain in plains.items():
            compare_random_action(result, plain, int(acts[slot]), shares[slot], f"slot {slot}")
        disturb(batch, acts, shares, disturbance)
        batch.step(acts, shares, rules.SAME_STEP)
        for slot, plain in list(plains.items()):
            if not compare_step(result, batch, slot, plain, int(acts[slot]), shares[slot]):
                del plains[slot]
    return result


def plain_twin(batch: BargainingBatch, config: BargainingConfig) -> PlainNegotiationEnv:
    """The plain environment with the contexts and the draws of a batch."""
    table = batch.table.tolist() if len(batch.table) else None
    return PlainNegotiationEnv(config, table, batch.max_count, CounterChance)


def disturb(batch: BargainingBatch, acts: NDArray[np.int64], shares: NDArray[np.int64], rng: np.random.Generator) -> None:
    """Keep every second slot talking, fill what is not read with nonsense and, where illegal actions only cost points, make some."""
    stubborn = (rng.random(batch.size) < STUBBORN_SHARE) & (np.arange(batch.size) % 2 == 1)
    to_offer = stubborn & (acts > INSIST)
    acts[to_offer] = rng.integers(PROPOSE, INSIST + 1, to_offer.sum())
    shares[to_offer] = rng.integers(0, batch.state["counts"][to_offer] + 1)
    if batch.config.on_illegal == "penalty":
        chosen = rng.random(batch.size) < ILLEGAL_SHARE
        acts[chosen] = rng.integers(-1, 7, chosen.sum())
        shares[chosen] = rng.integers(-1, batch.max_count + 2, (chosen.sum(), 3))
    shares[(acts == AGREE) | (acts == DISAGREE)] = NOT_READ


def compare_random_action(result: Comparison, plain: PlainNegotiationEnv, act: int, share: NDArray[np.int64], where: str) -> None:
    """Both samplers must draw the same legal action."""
    own = plain.random_action()
    result.expect("random act", act, own["act_type"], where)
    if act not in (AGREE, DISAGREE):
        result.expect("random share", share, own["oA"], where)


def compare_step(
    result: Comparison, batch: BargainingBatch, slot: int, plain: PlainNegotiationEnv, act: int, share: NDArray[np.int64]
) -> bool:
    """One transition of one slot, with the reset that follows an end; whether both are still in the same episode."""
    where = f"slot {slot}, transition {result.transitions}, act {act} {share.tolist()}"
    result.transitions += 1
    try:
        observation, reward, terminated, truncated, info = plain.step({"act_type": act, "oA": share})
    except (IllegalAction, EpisodeOver) as error:
        result.differ(f"{where}: only the plain environment refused: {error}")
        return False
    where = f"{where}, history {info['history']}"
    report = batch.reports[slot]
    ended = bool(report["outcome"] != Outcome.ONGOING)
    result.expect("reward", float(report["reward"]), reward, where)
    result.expect("termination", ended, terminated or truncated, where)
    if ended != terminated:
        return False
    if terminated:
        result.episodes += 1
        compare_view(result, batch, batch.outputs.final_views[slot], observation, info, where)
        compare_end(result, report, info, where)
        observation, info = plain.reset()
        where = f"reset after {where}"
    compare_view(result, batch, batch.views[slot], observation, info, where)
    compare_ongoing(result, batch, slot, info, where)
    return True


def compare_view(
    result: Comparison, batch: BargainingBatch, view: NDArray[np.int32], observation: dict[str, Any], info: dict[str, Any], where: str
) -> None:
    """Every column that a view shares with the observation and the info."""
    for key in ("counts", "last_partner_offer_for_me", "last_partner_act", "turns_remaining"):
        result.expect(key, view[VIEW[key]], observation[key], where)
    for key, maximum in (("my_utilities", "my_maximum"), ("partner_utilities", "partner_maximum")):
        utilities: NDArray[Any] = view[VIEW[key]]
        if batch.config.normalize:
            utilities = normalised(view[VIEW["counts"]], utilities, view[VIEW[maximum]])
        result.expect(key, utilities, observation[key], where)
    for key in ("my_last_offer", "partner_has_spoken"):
        result.expect(key, view[VIEW[key]], info[key], where)


def compare_ongoing(result: Comparison, batch: BargainingBatch, slot: int, info: dict[str, Any], where: str) -> None:
    """The mask, the caps and the history of talks that go on."""
    result.expect("action_mask", batch.masks[slot], info["action_mask"], where)
    result.expect("oA_max", batch.state["counts"][slot], info["oA_max"], where)
    history = history_of(batch.state["history"][slot], int(batch.state["turn"][slot]))
    if tuple(history) != info["history"]:
        result.differ(f"{where}: history is {history} compiled and {info['history']} plain")


def compare_end(result: Comparison, report: Any, info: dict[str, Any], where: str) -> None:
    """How the talks ended, when, and what they paid the partner."""
    result.expect("outcome", Outcome(int(report["outcome"])).name, info["outcome"], where)
    result.expect("partner_reward", float(report["partner_reward"]), info["partner_reward"], where)
    result.expect("turns", int(report["turns"]), len(info["history"]), where)
    if info["deal"] is not None:
        result.expect("deal", report["deal"], info["deal"], where)
