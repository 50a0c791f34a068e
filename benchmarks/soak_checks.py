"""What a soak finds out at its end: whether the store has every acknowledged step, and how long steps and recoveries took."""

from __future__ import annotations

from collections import Counter

import numpy as np
import orjson

from benchmarks.soak_disturbances import Event
from benchmarks.soak_players import OWNER, Episode, Ledger
from edgeworth.server.live import replayed
from edgeworth.server.store import Store


def check_store(url: str, ledger: Ledger) -> dict[str, int]:
    """The store's logs against what was acknowledged, and played again."""
    store, found = Store(url), Counter[str]()
    for episode in ledger.episodes:
        found.update(check_episode(store, episode))
    store.close()
    return {key: found[key] for key in ("episodes", "steps", "missing", "different", "unheard_at_the_end", "replays_that_differ")}


def check_episode(store: Store, episode: Episode) -> Counter[str]:
    """One session's log."""
    stored = store.find(OWNER, episode.name)
    log = [] if stored is None else store.actions(stored.generation)
    ours = [orjson.loads(action) for action in episode.actions]
    extra = len(log) - len(ours)
    same = sum(a == b for a, b in zip(ours, log, strict=False))
    live = replayed(episode.opening, log[: len(ours)])
    end = [live.observation(), live.info(), live.steps]
    return Counter(
        episodes=1,
        steps=same,
        missing=max(0, -extra),
        different=min(len(log), len(ours)) - same + max(0, extra - 1),
        unheard_at_the_end=int(extra == 1),  # under way when the time was up
        replays_that_differ=int(end != [episode.live.observation(), episode.live.info(), episode.live.steps]),
    )


def step_seconds(heard: list[tuple[float, float]]) -> dict[str, float]:
    """How long acknowledged steps took, from sending to the answer."""
    taken = np.array([answered - sent for sent, answered in heard])
    return {"p50": float(np.quantile(taken, 0.5)), "p99": float(np.quantile(taken, 0.99)), "longest": float(taken.max())}


def recovery_seconds(events: list[Event], heard: list[tuple[float, float]]) -> dict[str, dict[str, float]]:
    """By kind of event: seconds from it to the first answer to a step that was sent after it."""
    times: dict[str, list[float]] = {}
    sent = np.array([moment for moment, _ in heard])
    answered = np.array([moment for _, moment in heard])
    for when, how in events:
        later = answered[sent > when]
        if len(later):
            times.setdefault(how, []).append(float(later.min() - when))
    return {how: {"median": float(np.median(each)), "longest": max(each), "counted": len(each)} for how, each in sorted(times.items())}
