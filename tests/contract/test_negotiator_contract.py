"""What every negotiator in the catalog owes: legal moves, and blindness where it claims to be blind."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from bargaining_table import begun, bits_of
from edgeworth import catalog
from edgeworth.config import BargainingConfig
from edgeworth.evaluation.episodes import play_episodes
from edgeworth.games.bargaining.legality import LEGAL, legality
from edgeworth.games.bargaining.vocabulary import AGENT, ONGOING

SCENARIOS: dict[str, dict[str, Any]] = {
    "classic": {},
    "one shot": {"scenario": "one_shot"},
    "lewis": {"scenario": "lewis"},
    "walk away": {"scenario": "walkaway", "insist_price": 0.5},
    "discounted": {"scenario": "discounted", "reservation": (0.3, 0.3)},
    "normalized": {"normalize": True, "opens": "partner", "partner_options": {"counter": "keep_all"}},
    "passes": {"disagree": "passes", "max_turns": 5},
    "two moves": {"max_turns": 2},
}
EPISODES = 40

every_negotiator = pytest.mark.parametrize("name", sorted(catalog.NEGOTIATORS))


def negotiator(name: str) -> Any:
    return catalog.resolve("negotiator", name)()


def moves(name: str, batch: Any) -> list[tuple[int, ...]]:
    acts, shares = negotiator(name).choose(batch)
    return [(int(act), *share) for act, share in zip(acts, shares.tolist(), strict=True)]


@every_negotiator
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_it_makes_only_legal_moves(name: str, scenario: str) -> None:
    batch = begun(EPISODES, seed=21, **SCENARIOS[scenario])
    chooser = negotiator(name)
    while (going := batch.state["outcome"] == ONGOING).any():
        acts, shares = chooser.choose(batch)
        assert (acts.dtype, acts.shape, shares.dtype, shares.shape) == (np.int64, (EPISODES,), np.int64, (EPISODES, 3))
        for slot in np.flatnonzero(going):
            assert legality(batch.state[slot], AGENT, acts[slot], *shares[slot]) == LEGAL
        part = batch.selected(going)
        part.step(acts[going], shares[going])
        batch.write_back(part, going)


@every_negotiator
def test_choosing_changes_nothing(name: str) -> None:
    batch = begun(EPISODES, seed=3)
    before = [bits_of(batch.state), batch.views.tobytes(), batch.masks.tobytes()]
    moves(name, batch)
    assert [bits_of(batch.state), batch.views.tobytes(), batch.masks.tobytes()] == before


@every_negotiator
@pytest.mark.parametrize("scenario", ["classic", "lewis", "walk away"])
def test_a_blind_one_chooses_the_same_whatever_the_partner_values(name: str, scenario: str) -> None:
    if negotiator(name).knows_partner:
        pytest.skip("it knows the partner")
    batch, other = (begun(EPISODES, seed=4, **{**SCENARIOS[scenario], "opens": "agent"}) for _ in range(2))
    other.state["utilities"][:, 1] = np.random.default_rng(0).permutation(other.state["utilities"][:, 1])
    assert moves(name, batch) == moves(name, other)


def test_one_that_knows_the_partner_does_not() -> None:
    batch, other = (begun(EPISODES, seed=4, opens="agent") for _ in range(2))
    other.state["utilities"][:, 1] = np.roll(other.state["utilities"][:, 1], 1, axis=0)
    assert moves("oracle", batch) != moves("oracle", other)


@every_negotiator
def test_it_chooses_the_same_alone_as_in_a_batch(name: str) -> None:
    batch = begun(10, seed=8)
    alone = [moves(name, begun(1, seed=8 + i))[0] for i in range(10)]
    assert moves(name, batch) == alone


@every_negotiator
def test_it_can_be_used_under_one_rule_after_another(name: str) -> None:
    configs = [BargainingConfig(opens="agent"), BargainingConfig(opens="agent", max_turns=2, discount=0.5, partner_options={"accept": 0.9})]
    kept = negotiator(name)
    for config in configs:
        fresh = play_episodes(config, negotiator(name), 30, seed=2)
        np.testing.assert_array_equal(play_episodes(config, kept, 30, seed=2).reward, fresh.reward)


@every_negotiator
def test_its_module_says_what_it_is(name: str) -> None:
    assert importlib.import_module(catalog.NEGOTIATORS[name].partition(":")[0]).__doc__
