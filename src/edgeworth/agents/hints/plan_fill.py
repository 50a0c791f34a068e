"""Plans for all own sides of a game, asked of a language model beforehand and many at a time, so that a cache holds what runs will ask.

Every own side plays negotiations in which all its offers are refused, once for each side that may open. Where the partner's counter-offers
depend on the pool alone, a plan can come to no others (`plan_tree.py`), except after a reply that was no hint, where the agent's real move
counts; such replies are counted as `beyond`, and a run asks what follows itself. What the cache holds already is not asked again.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.hints.llm import LanguageModelHints
from edgeworth.agents.hints.plan_tree import seen_points, wanted_order
from edgeworth.agents.negotiators.scripted import Greedy
from edgeworth.agents.questions import gpus_for
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.executor.execution import Executor
from edgeworth.executor.tasks import Task, at_hand
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.blind_plan import check_silent_partner
from edgeworth.games.bargaining.contexts import own_sides
from edgeworth.games.bargaining.vocabulary import ONGOING, UTILITY_LIMIT
from edgeworth.llm.cache import Cache, ReplyStore, questions, read_reply, written_reply
from edgeworth.llm.client import Message, Sampling
from edgeworth.progress import Progress, silent

Opens = Literal["agent", "partner"]

EITHER: tuple[Opens, ...] = ("agent", "partner")
ANYTHING = (UTILITY_LIMIT, UTILITY_LIMIT, UTILITY_LIMIT)
"""The utilities of a partner that refuses whatever leaves it nothing."""


@dataclass(frozen=True)
class Filled:
    """What was asked."""

    own_sides: int
    """Own sides, whatever the order of their item types."""
    openers: int
    """Sides that may open."""
    hints: int
    """Hints that were due."""
    prompts: int
    """Different questions among them."""
    calls: int
    """Questions that the cache did not know."""
    rejected: int
    """Replies that were no hints."""
    beyond: int
    """Replies that were no hints and left moves to make, after which a run may come to negotiations that were not played here."""


def different_sides(config: BargainingConfig, grain: float = 0.0) -> NDArray[np.int16]:
    """One context for every own side of a game, the most wanted item type first, with a partner that refuses what leaves it nothing.

    Of own sides that share their plans (`plan_tree.seen_points`) there is one, where contexts are drawn and not from a table.
    """
    batch = BargainingBatch(config, 1)
    check_silent_partner(batch)
    from_table = bool(batch.rules[0]["from_table"])
    sides = own_sides(config, batch.table if from_table else None)
    if grain and not from_table and not config.normalize:
        sides = np.concatenate([sides[:, :3], seen_points(sides[:, :3], sides[:, 3:], grain)], axis=1)
    orders = wanted_order(sides[:, :3], sides[:, 3:])
    there = np.unique(np.concatenate([np.take_along_axis(part, orders, axis=1) for part in (sides[:, :3], sides[:, 3:])], axis=1), axis=0)
    if config.normalize:
        there = there[(there[:, :3] * there[:, 3:]).sum(axis=1) > 0]
    return np.concatenate([there, np.tile(ANYTHING, (len(there), 1))], axis=1).astype(np.int16)


def expected_hints(config: BargainingConfig, grain: float = 0.0) -> int:
    """How many hints the plans of a game have at most."""
    openers = (0, 1) if config.opens == "random" else (EITHER.index(config.opens),)
    return len(different_sides(config, grain)) * sum(_moves(config.max_turns, opener) for opener in openers)


def fill(
    provider: LanguageModelHints,
    config: BargainingConfig,
    at_once: int,
    limit: int | None = None,
    progress: Progress = silent,
    run: Executor | None = None,
) -> Filled:
    """Ask for the plans of a game, `at_once` own sides at a time; with a limit, of that many own sides, evenly spread.

    With an executor its workers ask, each with a client of its own; without one, this process does.
    """
    if not provider.as_plan:
        raise InvalidOption("Only plans can be asked for beforehand; make the provider with as_plan.")
    sides = different_sides(config, provider.grain)
    if limit is not None and limit < len(sides):
        sides = sides[np.linspace(0, len(sides) - 1, limit).round().astype(int)]
    games = [replace(config, opens=opens) for opens in (EITHER if config.opens == "random" else (config.opens,))]
    parts = [(game, sides[begin : begin + at_once]) for game in games for begin in range(0, len(sides), at_once)]
    if run is None:
        counted = _ask_parts(provider, parts, progress)
    else:
        settings, gpus = provider.__getstate__(), gpus_for(provider.client_options)
        tasks = [Task(f"hints {n}", ask_apart, (settings, *part), asks=True, gpus=gpus) for n, part in enumerate(parts)]
        counted = run(tasks, progress).whole()
        keep_replies(provider, counted)
    total = {name: sum(part[name] for part in counted) for name in ("hints", "prompts", "calls", "rejected", "beyond")}
    return Filled(len(sides), len(games), **total)


Part = tuple[BargainingConfig, NDArray[np.int16]]
"""A game with its opener, and some own sides."""


def _ask_parts(provider: LanguageModelHints, parts: Sequence[Part], progress: Progress) -> list[dict[str, Any]]:
    """Ask for part after part, and show how many hints there are."""
    total, done = sum(len(sides) * _moves(game.max_turns, EITHER.index(game.opens)) for game, sides in parts), 0

    def show(hints: int) -> None:
        progress(f"{done + hints:,} of {total:,} hints", done + hints, total)

    counted = []
    for part in parts:
        counted.append(ask_part(provider, *part, show))
        done += counted[-1]["hints"]
    return counted


def _moves(max_turns: int, opener: int) -> int:
    """How many moves an agent makes at most."""
    return (max_turns - opener + 1) // 2


def ask_part(
    provider: LanguageModelHints, game: BargainingConfig, sides: NDArray[np.int16], show: Callable[[int], object] = int
) -> dict[str, Any]:
    """Ask for the plans of some own sides, and show the hints so far after every move; what was asked and what came of it."""
    before, hints, rejected, beyond = provider.asked.counters.snapshot(), 0, 0, 0
    for due, given, last in _refused_games(provider, game, sides):
        hints, rejected, beyond = hints + due, rejected + due - given, beyond + last
        show(hints)
    after = provider.asked.counters.snapshot()
    asked = {name: after[name] - before[name] for name in ("prompts", "calls")}
    return {"hints": hints, "rejected": rejected, "beyond": beyond, **asked}


def ask_apart(settings: dict[str, Any], game: BargainingConfig, sides: NDArray[np.int16]) -> dict[str, Any]:
    """Ask in a worker, which makes the provider once.

    On a machine that does not have the cache's folder the replies go to a file of its own, and back with the result.
    """
    cache = settings["cache"]
    if cache is None or Path(cache).absolute().parent.is_dir():
        return ask_part(at_hand(LanguageModelHints, settings), game, sides)
    with tempfile.TemporaryDirectory() as folder:
        provider = at_hand(LanguageModelHints, {**settings, "cache": None})
        client = Cache(provider.asked.client, Path(folder) / "replies.sqlite")
        found = ask_part(dataclasses.replace(provider, client=client, model=None, client_options={}), game, sides)
        replies = [
            [model, sampling, [[message.role, message.content] for message in messages], written_reply(reply)]
            for model, sampling, messages, reply in client.store.records()
        ]
        client.store.close()
    return {**found, "replies": replies}


def keep_replies(provider: LanguageModelHints, counted: Sequence[Mapping[str, Any]]) -> None:
    """Put replies that came back from other machines into the cache."""
    if provider.cache is not None:
        store = ReplyStore(provider.cache)
        for part in counted:
            for model, sampling, messages, reply in part.get("replies", ()):
                asked = questions(model, Sampling(**sampling), [[Message(role, text) for role, text in messages]])
                store.keep(model, [(asked[0], read_reply(reply))])
        store.close()


def _refused_games(provider: LanguageModelHints, game: BargainingConfig, contexts: NDArray[np.int16]) -> Iterator[tuple[int, int, int]]:
    """Play an agent that asks for everything: at every move, how many hints were due, given, and missing with moves left."""
    batch = BargainingBatch(game, len(contexts))
    batch.rules["sudden_end"] = 0.0  # to play to the last move; the prompt still states the chance
    batch.seed(0)
    batch.reset(contexts)
    while (going := batch.state["outcome"] == ONGOING).any():
        hints = provider.give(batch, going)
        part = batch.selected(going)
        acts, shares = Greedy().choose(part)
        part.step(acts, shares)
        batch.write_back(part, going)
        later = batch.state["outcome"] == ONGOING
        yield int(going.sum()), int(hints.given.sum()), int((going & later & ~hints.given).sum())
