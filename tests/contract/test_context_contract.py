"""What every context source in the catalog owes: contexts that can be played."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bargaining_table import begun
from edgeworth import catalog
from edgeworth.envs.negotiation import NegotiationEnv
from edgeworth.errors import UnknownKey
from edgeworth.games.bargaining.contexts import Context
from edgeworth.validation import build

every_source = pytest.mark.parametrize("name", sorted(catalog.CONTEXTS))


@pytest.fixture
def options(name: str, tmp_path: Path) -> dict[str, Any]:
    """What a source needs to be built offline."""
    if name != "dataset":
        return {}
    rows = [{"counts": [1, 2, n], "my_utilities": [4, 3, 0], "partner_utilities": [1, 0, 3]} for n in (1, 2, 3)]
    (tmp_path / "contexts.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    return {"path": str(tmp_path / "contexts.jsonl")}


@every_source
def test_its_table_holds_contexts(name: str, options: dict[str, Any]) -> None:
    table = build(catalog.resolve("context source", name), options, name).table()
    if table is not None:
        assert table.dtype == np.int16 and table.ndim == 2
        for row in table[:: max(1, len(table) // 100)]:
            Context.from_row(row)


@every_source
def test_its_contexts_can_be_played(name: str, options: dict[str, Any]) -> None:
    batch = begun(200, contexts=name, context_options=options)
    assert (batch.state["counts"].sum(axis=1) > 0).all() and batch.state["counts"].max() <= batch.max_count
    assert (batch.random_rollout(50)[:, 0] > 0).all()


@every_source
def test_the_same_seed_draws_the_same_contexts(name: str, options: dict[str, Any]) -> None:
    one, other = (begun(100, seed=6, contexts=name, context_options=options).state for _ in range(2))
    np.testing.assert_array_equal(one["utilities"], other["utilities"])
    assert len(np.unique(one["utilities"].reshape(100, -1), axis=0)) > 1 or name == "dataset"


@every_source
def test_its_observations_lie_in_the_space(name: str, options: dict[str, Any]) -> None:
    env = NegotiationEnv(contexts=name, context_options=options)
    assert all(env.observation_space.contains(env.reset(seed=seed)[0]) for seed in range(50))


@every_source
def test_it_refuses_an_unknown_option(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(UnknownKey, match=f"Unknown setting of {name} 'zzzz'"):
        NegotiationEnv(contexts=name, context_options={**options, "zzzz": 1})


@every_source
def test_its_module_says_what_it_is(name: str) -> None:
    assert importlib.import_module(catalog.CONTEXTS[name].partition(":")[0]).__doc__
