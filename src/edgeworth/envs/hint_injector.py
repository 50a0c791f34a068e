"""Hints beside the observation: wrappers that ask a provider and put its advice into `info`, for one episode or for many.

A provider (a name of the catalog's table `hint provider`, or an object like one) is asked when an episode begins and after every `k`-th
step while the negotiation goes on; all episodes of a vector environment that are due are asked in one call. Then `info` holds

- `hint_features`: act one-hot 5, `oA` over the pool 3, confidence, availability; with `age` an eleventh. All zero (neutral) where no hint
  is due, none was given, it was rejected, or the episode is over; with `hold_last` the last hint's until the next is due; with `dropout`
  a share of the episodes has no hints;
- `hint`, where one was given at this step: a mapping with `act_type`, `oA` and `confidence` that `step` takes as an action;
- `hint_rejection`, where one was refused: its reason and a sentence.

In a vector environment these are arrays over the episodes, where `_hint` and `_hint_rejection` say which of them have one. What was
asked, given and rejected is counted in `hint_counts`. A hint never changes the game: the same actions give the same episode.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper
from numpy.typing import NDArray

from edgeworth import catalog
from edgeworth.config import HintConfig
from edgeworth.errors import InvalidOption, UnknownKey
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.hint_features import (
    HINT_FEATURES,
    extend_features,
    find_due,
    find_kept,
    moves_since_asking,
)
from edgeworth.games.bargaining.hints import HintProvider, Hints, no_hints
from edgeworth.protocol import Rejection
from edgeworth.validation import build

Info = dict[str, Any]
Features = NDArray[np.float32]


class HintFeed:
    """Asks for the hints that are due, turns them into features, and keeps count."""

    def __init__(self, batch: BargainingBatch, provider: HintProvider, config: HintConfig) -> None:
        provider.check(batch)
        self.batch, self.provider, self.config = batch, provider, config
        self.width = HINT_FEATURES + config.age
        self.features = np.zeros((batch.size, self.width), np.float32)
        self.asked, self.given = 0, 0
        self.seconds = 0.0
        """Time spent on asking."""
        self._plain = not (config.hold_last or config.age)
        self.rejected: Counter[str] = Counter()
        self._max_turns, self._since = batch.config.max_turns, moves_since_asking(config.k)

    @property
    def counts(self) -> dict[str, int | str]:
        """How many hints were asked for and given, how many rejected by reason, and what the provider counts itself."""
        return {"asked": self.asked, "given": self.given, **self.rejected, **self.provider.counters}

    @property
    def spent(self) -> dict[str, int | str]:
        """The counts and the time that asking took."""
        return {**self.counts, "milliseconds": round(1000 * self.seconds)}

    def ask(self, chosen: NDArray[np.bool_] | None = None) -> Hints:
        """The hints that are due now, of all episodes or of the chosen ones; `features` then shows them, and the others as before."""
        batch, before = self.batch, self.features
        due = np.empty(batch.size, np.bool_)
        number = find_due(batch.views, batch.masks, self._max_turns, self._since, self.config.k, due)
        if chosen is not None:
            due &= chosen
            number = int(np.count_nonzero(due))
        wanted = due
        if self.config.dropout > 0.0:
            wanted = np.empty_like(due)
            number = find_kept(batch.state, self.config.dropout, due, wanted)
        began = time.perf_counter()
        hints = self.provider.give(batch, wanted) if number else no_hints(batch)
        self.seconds += time.perf_counter() - began
        self.features = hints.features if self._plain else self._extended(hints.features, due, before)
        if chosen is not None:
            self.features = np.where(chosen[:, None], self.features, before)
        self.asked += number
        self.given += number if hints.given is wanted else int(np.count_nonzero(hints.given))
        if hints.rejections:
            self.rejected.update(rejection.reason.value for rejection in hints.rejections.values())
        return hints

    def _extended(self, given: Features, due: NDArray[np.bool_], before: Features) -> Features:
        """The features with what the options add: hints held over from before, and their age."""
        batch = self.batch
        features = np.empty((batch.size, self.width), np.float32)
        config = self.config
        extend_features(batch.views, batch.masks, self._max_turns, self._since, config.k, config.hold_last, due, given, before, features)
        return features


class _WithHints:
    """Hints beside an environment: what both wrappers share."""

    wraps: type

    def __init__(
        self,
        env: Any,
        hint: str | HintProvider = "none",
        k: int = 1,
        hold_last: bool = False,
        age: bool = False,
        hint_options: Mapping[str, Any] | None = None,
        dropout: float = 0.0,
        **unknown: Any,
    ) -> None:
        given = {"k": k, "hold_last": hold_last, "age": age, "dropout": dropout}
        for name in unknown:
            raise UnknownKey("option", name, ("hint", "hint_options", *given))
        config: HintConfig = build(HintConfig, given, "option")
        if not isinstance(env, self.wraps):
            raise InvalidOption(f"env is {env!r}; HintInjectorEnv wraps a single environment, HintInjectorVectorEnv a vector environment.")
        self.feed = HintFeed(_batch_behind(env), provider_of(hint, hint_options), config)
        super().__init__(env)  # type: ignore[call-arg]

    @property
    def hint_counts(self) -> dict[str, int | str]:
        """How many hints were asked for and given, how many rejected by reason, and what the provider counts itself."""
        return self.feed.counts


class HintInjectorEnv(_WithHints, gymnasium.Wrapper[Any, Any, Any, Any]):
    """A bargaining environment whose `info` brings hints."""

    wraps = gymnasium.Env

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Begin an episode, with a first hint."""
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, {**info, **self._hint_info()}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """A step of the episode, with a hint where one is due."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if truncated:  # by a wrapper that the rules know nothing of
            return observation, reward, terminated, truncated, {**info, "hint_features": np.zeros(self.feed.width, np.float32)}
        return observation, reward, terminated, truncated, {**info, **self._hint_info()}

    def _hint_info(self) -> Info:
        hints = self.feed.ask()
        info: Info = {"hint_features": self.feed.features[0].copy()}
        if hints.given[0]:
            acts, shares = hints.moves()
            info["hint"] = {"act_type": acts.item(0), "oA": shares[0], "confidence": hints.confidences.item(0)}
        elif hints.rejections:
            info["hint_rejection"] = hints.rejections[0]
        return info


class HintInjectorVectorEnv(_WithHints, VectorWrapper):
    """A bargaining vector environment whose `infos` bring hints."""

    wraps = VectorEnv

    def reset(self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Begin new episodes, all or those that `options["reset_mask"]` names, with first hints for these."""
        observations, infos = self.env.reset(seed=seed, options=options)  # type: ignore[arg-type]
        chosen = (options or {}).get("reset_mask")
        self._add_hints(infos, None if chosen is None else np.asarray(chosen))
        return observations, infos

    def step(self, actions: Any) -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], Info]:
        """A step of every episode, with hints where they are due."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        self._add_hints(infos)
        return observations, rewards, terminated, truncated, infos

    def _add_hints(self, infos: Info, chosen: NDArray[np.bool_] | None = None) -> None:
        hints = self.feed.ask(chosen)
        infos["hint_features"] = self.feed.features.copy() if self.feed.config.hold_last else self.feed.features
        acts, shares = hints.moves()
        infos["hint"], infos["_hint"] = {"act_type": acts, "oA": shares, "confidence": hints.confidences}, hints.given
        if hints.rejections:
            infos["hint_rejection"], infos["_hint_rejection"] = _spread(hints.rejections, self.num_envs)


def _spread(rejections: Mapping[int, Rejection], size: int) -> tuple[NDArray[np.object_], NDArray[np.bool_]]:
    """Rejections as an array over the episodes, and where there are any."""
    array, there = np.full(size, None, object), np.zeros(size, np.bool_)
    for slot, rejection in rejections.items():
        array[slot], there[slot] = rejection, True
    return array, there


def provider_of(hint: str | HintProvider, hint_options: Mapping[str, Any] | None = None) -> HintProvider:
    """The provider by its name, with options, or as it is."""
    if isinstance(hint, str):
        provider: HintProvider = build(catalog.resolve("hint provider", hint), hint_options or {}, f"hint provider {hint}")
        return provider
    if hint_options:
        raise InvalidOption("hint_options belong to a hint provider that is given by name; set them on the object itself.")
    if not hasattr(hint, "give"):
        raise InvalidOption(f"hint is {hint!r}; expected one of {', '.join(catalog.names('hint provider'))}, or a provider.")
    return hint


def _batch_behind(env: Any) -> BargainingBatch:
    """The batch of episodes below an environment and its wrappers."""
    batch = getattr(getattr(env, "unwrapped", env), "batch", None)
    if not isinstance(batch, BargainingBatch):
        raise InvalidOption(f"Hints are for the bargaining environments (DealOrNoDialog-v0 and its views), not for {env!r}.")
    return batch
