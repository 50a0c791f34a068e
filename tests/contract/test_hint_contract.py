"""What every hint provider in the catalog owes: legal hints or a reason, features that say what the hint says, and blindness."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bargaining_table import all_bits, begun
from edgeworth import catalog
from edgeworth.errors import FallbackUsed
from edgeworth.games.bargaining import rules
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.hint_features import HINT_FEATURES
from edgeworth.games.bargaining.hints import Hints
from edgeworth.games.bargaining.history import ACTS_WITH_SHARE
from edgeworth.games.bargaining.legality import LEGAL, legality
from edgeworth.games.bargaining.vocabulary import AGENT
from edgeworth.protocol import Rejection
from replies import PROVIDER_OPTIONS

SCENARIOS: dict[str, dict[str, Any]] = {
    "classic": {},
    "one shot": {"scenario": "one_shot"},
    "lewis": {"scenario": "lewis"},
    "lewis keep all": {"scenario": "lewis_keep_all"},
    "walk away": {"scenario": "walkaway", "insist_price": 0.5},
    "discounted": {"scenario": "discounted", "reservation": (0.3, 0.3)},
    "normalized": {"normalize": True, "opens": "partner"},
    "passes, penalty": {"disagree": "passes", "max_turns": 5, "on_illegal": "penalty"},
    "empty types": {"min_count": 0},
}
EPISODES = 24
EVERYBODY = np.ones(EPISODES, np.bool_)

every_provider = pytest.mark.parametrize("name", sorted(catalog.HINTS))
every_scenario = pytest.mark.parametrize("scenario", SCENARIOS)


def provider(name: str, batch: BargainingBatch) -> Any:
    made = catalog.resolve("hint provider", name)(**PROVIDER_OPTIONS.get(name, {}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackUsed)
        made.check(batch)
    return made


def some(step: int) -> NDArray[np.bool_]:
    """Every third episode, another third with every step."""
    return np.arange(EPISODES) % 3 == step % 3


def same(one: Hints, other: Hints) -> bool:
    return one.features.tobytes() == other.features.tobytes() and one.given.tolist() == other.given.tolist()


@every_provider
@every_scenario
def test_its_hints_are_legal_and_only_for_those_that_are_due(name: str, scenario: str) -> None:
    batch = begun(EPISODES, seed=5, **SCENARIOS[scenario])
    giver = provider(name, batch)
    for step in range(12):
        due = some(step)
        hints = giver.give(batch, due)
        assert (hints.features.dtype, hints.features.shape, hints.given.dtype) == (np.float32, (EPISODES, HINT_FEATURES), np.bool_)
        assert not hints.given[~due].any() and not hints.features[~hints.given].any()
        assert due[list(hints.rejections)].all() and not hints.given[list(hints.rejections)].any()
        assert all(isinstance(rejection, Rejection) for rejection in hints.rejections.values())
        for slot in np.flatnonzero(hints.given).tolist():
            act, share, confidence = hints.at(slot)
            assert legality(batch.state[slot], AGENT, act, *share) == LEGAL
            assert 0.0 <= confidence <= 1.0 and (act in ACTS_WITH_SHARE or share == (0, 0, 0))
        batch.step(*batch.random_actions(), rules.SAME_STEP)


@every_provider
def test_its_features_say_what_its_hints_say(name: str) -> None:
    batch = begun(EPISODES, seed=6, min_count=0)
    hints = provider(name, batch).give(batch, EVERYBODY)
    for slot in range(EPISODES):
        hint, row = hints.at(slot), hints.features[slot]
        if hint is None:
            assert not row.any()
            continue
        parts = [n / cap if cap else 0.0 for n, cap in zip(hint.share, batch.views[slot, :3].tolist(), strict=True)]
        expected = [*np.eye(5)[hint.act], *parts, hint.confidence, 1.0]
        np.testing.assert_array_equal(row, np.array(expected, np.float32))
        assert (hints.acts[slot], hints.shares[slot].tolist()) == (hint.act, list(hint.share))


@every_provider
def test_asking_changes_nothing_and_asking_again_gives_the_same(name: str) -> None:
    batch = begun(EPISODES, seed=3)
    before, giver = all_bits(batch), provider(name, batch)
    assert same(giver.give(batch, EVERYBODY), giver.give(batch, EVERYBODY))
    assert all_bits(batch) == before


@every_provider
@pytest.mark.parametrize("scenario", ["classic", "lewis", "walk away"])
def test_it_is_as_blind_as_the_agent(name: str, scenario: str) -> None:
    batch, other = (begun(EPISODES, seed=4, **{**SCENARIOS[scenario], "opens": "agent"}) for _ in range(2))
    other.state["utilities"][:, 1] = np.random.default_rng(0).permutation(other.state["utilities"][:, 1])
    assert same(provider(name, batch).give(batch, EVERYBODY), provider(name, other).give(other, EVERYBODY))


@every_provider
def test_it_says_the_same_to_one_as_in_a_batch(name: str) -> None:
    together = begun(EPISODES, seed=8)
    hints = provider(name, together).give(together, EVERYBODY)
    for slot in range(EPISODES):
        alone = begun(1, seed=8 + slot)
        assert provider(name, alone).give(alone, np.ones(1, np.bool_)).features.tobytes() == hints.features[slot].tobytes()


@every_provider
def test_what_it_says_to_one_does_not_depend_on_who_else_asks(name: str) -> None:
    batch = begun(EPISODES, seed=8)
    giver = provider(name, batch)
    everybody, thirds = giver.give(batch, EVERYBODY), giver.give(batch, some(0))
    assert thirds.features[some(0)].tobytes() == everybody.features[some(0)].tobytes()


@every_provider
def test_it_can_be_used_under_one_rule_after_another(name: str) -> None:
    kept = None
    for options in ({"opens": "agent"}, {"opens": "agent", "max_turns": 2, "discount": 0.5, "partner_options": {"accept": 0.9}}):
        batch = begun(EPISODES, seed=2, **options)
        kept = kept or provider(name, batch)
        assert same(kept.give(batch, EVERYBODY), provider(name, batch).give(batch, EVERYBODY))


@every_provider
def test_its_counters_are_words_and_numbers(name: str) -> None:
    assert all(isinstance(value, int | str) for value in provider(name, begun()).counters.values())


@every_provider
def test_its_module_says_what_it_is(name: str) -> None:
    assert importlib.import_module(catalog.HINTS[name].partition(":")[0]).__doc__
