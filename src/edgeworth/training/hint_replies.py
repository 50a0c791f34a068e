"""Hints of a language model for a training run: what is asked by default, and asking it before the run begins.

A model that were asked at every move would take days over the published number of moves. By default a run asks for plans instead
(`agents/hints/plan_tree.py`), with points per unit rounded to multiples of three, and keeps the replies in a file. Where the partner's
counter-offers depend on the pool alone, all questions are known, and a run long enough to need most of them has them answered before its
first move, many at a time; if it is interrupted, the file has what was answered.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from time import perf_counter

from edgeworth.agents.hints.llm import LanguageModelHints
from edgeworth.agents.hints.plan_fill import expected_hints, fill
from edgeworth.agents.questions import LOCAL_CLIENTS, client_name
from edgeworth.config import BargainingConfig
from edgeworth.envs.hint_injector import provider_of
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.blind_plan import check_silent_partner
from edgeworth.progress import Progress, silent
from edgeworth.training.curriculum import stages_of
from edgeworth.training.settings import HintSettings, TrainSettings

LLM = "llm"
GRAIN = 3.0
REPLIES = "hint_replies.sqlite"
AT_ONCE = 64
"""Own sides that are asked about together."""


def practical(settings: TrainSettings) -> TrainSettings:
    """The settings with what a language model is asked by default; whatever the options say stays as it is."""
    hints = settings.hints
    if hints.mode != LLM:
        return settings
    shared = {"as_plan": True, "grain": GRAIN} if hints.options.get("as_plan", True) else {}
    options = {**shared, "cache": f"{settings.logging.output_dir}/{REPLIES}", **hints.options}
    return dataclasses.replace(settings, hints=dataclasses.replace(hints, options=options))


def prepare(settings: TrainSettings, say: Callable[[str], object], progress: Progress = silent) -> None:
    """Ask what the run will need of a language model, where all questions are known and the run is long enough for most of them."""
    stages = stages_of(settings)
    ends = [*(stage.begins for stage in stages[1:]), settings.num_train_steps]
    for stage, end in zip(stages, ends, strict=True):
        asks = stage.hints.mode == LLM and stage.hints.options.get("as_plan") and not stage.hints.options.get("replay")
        if asks and _is_silent(stage.game) and end - stage.begins >= _questions(stage.game, stage.hints):
            _ask(stage.game, stage.hints, say, progress)


def _is_silent(game: BargainingConfig) -> bool:
    """Whether the partner's counter-offers depend on the pool alone."""
    try:
        check_silent_partner(BargainingBatch(game, 1))
    except InvalidOption:
        return False
    return True


def _questions(game: BargainingConfig, hints: HintSettings) -> int:
    return expected_hints(game, float(hints.options.get("grain", 0.0)))


def _ask(game: BargainingConfig, hints: HintSettings, say: Callable[[str], object], progress: Progress) -> None:
    """Have all plans of a game in the file."""
    options = dict(hints.options)
    if client_name(options.get("client"), options.get("model")) in LOCAL_CLIENTS:
        options["client_options"] = {"batch_size": AT_ONCE, **options.get("client_options", {})}
    provider = provider_of(hints.mode, options)
    assert isinstance(provider, LanguageModelHints)
    total, began = _questions(game, hints), perf_counter()
    say(f"Asking for hints first: up to {total:,} questions to {provider.asked.name}, less those answered in {options.get('cache')}.")
    asked: list[tuple[int, float]] = []
    """The questions so far and the time, after the first ones, which wait until the model is loaded, and after the next."""

    def show(words: str, done: int, of: int) -> None:
        now = provider.asked.counters.snapshot()["calls"], perf_counter()
        if len(asked) < 2 and now[0] > (asked[-1][0] if asked else 0):
            asked.append(now)
            if len(asked) == 2:
                left = (of - done) * (now[1] - asked[0][1]) / (now[0] - asked[0][0])
                say(f"About {max(1, round(left / 60))} min for the rest of the questions; Ctrl-C keeps what was answered.")
        progress(words, done, of)

    try:
        found = fill(provider, game, AT_ONCE, progress=show)
    except KeyboardInterrupt:
        say(f"Stopped; {options.get('cache')} holds what was answered so far, which is not asked again.")
        raise
    finally:
        provider.close()
    say(f"{found.hints:,} hints are ready; {found.calls:,} were asked in {perf_counter() - began:.0f} s.")
