"""What every designer and every type of bidder owes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from edgeworth import catalog
from edgeworth.agents.designers.designer import Designer, known_to, play
from edgeworth.agents.designers.search import SearchBudget
from edgeworth.config import AuctionConfig
from edgeworth.games.auction.action import check_rows
from edgeworth.games.auction.batch import MarketBatch
from edgeworth.games.auction.bidders import BidderProfile
from edgeworth.games.auction.market_view import StepHistory
from edgeworth.games.auction.vocabulary import BIDDER_TYPES
from edgeworth.llm.client import Messages
from edgeworth.llm.scripted import Scripted
from replies import MECHANISM, said

pytestmark = pytest.mark.filterwarnings("ignore::edgeworth.errors.FallbackUsed")

every_designer = pytest.mark.parametrize("name", catalog.names("designer"))
every_bidder = pytest.mark.parametrize("name", catalog.names("bidder"))


def half_sensible(messages: Messages) -> str:
    """A model that now and then writes something else: a reserve by the length of what it was told, beyond 0.9 for some."""
    return said({**MECHANISM, "reserve_price": len(messages[-1].content) % 14 / 14})


OPTIONS: dict[str, dict[str, Any]] = {
    "fixed": {"mechanism": "informed_greedy"},
    "language_model": {"client": Scripted(half_sensible)},
}


def made(name: str) -> Designer:
    designer: Designer = catalog.resolve("designer", name)(**OPTIONS.get(name, {}))
    return designer


@every_designer
@pytest.mark.parametrize("stage", ["0", "mixed", "stages"])
def test_it_plays_whole_episodes_with_scores_in_range(name: str, stage: str) -> None:
    scores = play(made(name), AuctionConfig(stage=stage, episode_length=6), 20, seed=3)
    assert scores.shape == (20, 6) and (scores >= 0.0).all() and (scores <= 1.0).all() and scores.std() > 0.0


@every_designer
def test_it_does_the_same_twice(name: str) -> None:
    config = AuctionConfig(stage="stages")
    assert np.array_equal(play(made(name), config, 10, seed=4), play(made(name), config, 10, seed=4))


@every_designer
def test_one_designer_serves_episode_after_episode(name: str) -> None:
    designer, config = made(name), AuctionConfig(stage="stages", episode_length=3)
    first = play(designer, config, 7, seed=5)
    play(designer, config, 12, seed=6)
    assert np.array_equal(play(designer, config, 7, seed=5), first)


@every_designer
def test_it_posts_a_legal_mechanism_for_every_market_at_every_step_and_says_what_it_is(name: str) -> None:
    designer, config, size = made(name), AuctionConfig(stage="stages", episode_length=3), 25
    batch = MarketBatch(config, size)
    batch.seed(0)
    batch.reset()
    designer.begin(config, size, 0, known_to(designer, batch.markets))
    history = StepHistory(batch)
    for _ in range(config.episode_length):
        rows = designer.design(history.view())
        assert rows.shape == (size,)
        check_rows(rows)
        batch.step(rows)
        history.add(rows)
    assert type(designer).__doc__


@every_designer
def test_it_plays_with_any_number_of_bidders_and_says_what_it_lacks(name: str) -> None:
    designer = made(name)
    scores = play(designer, AuctionConfig(stage="stages", n_agents=11, episode_length=2), 5, seed=3)
    assert scores.shape == (5, 2)
    if name in ("adaptive", "best_constant", "oracle", "schedule", "told_stage"):
        assert any("11 bidders" in note for note in designer.assumed)


def test_only_the_oracle_and_told_stage_are_told_anything() -> None:
    knows = {name: catalog.resolve("designer", name).knows for name in catalog.names("designer")}
    assert {name: what for name, what in knows.items() if what != "nothing"} == {"oracle": "composition", "told_stage": "stage"}


def test_told_the_stage_searches_populations_that_are_not_bundled() -> None:
    budget = SearchBudget(
        restarts=1, candidates=60, first_markets=2, halvings=1, generations=1, parents=6, markets=4, finalists=3, final_markets=16
    )
    heard: list[str] = []
    designer = catalog.resolve("designer", "told_stage")(budget, progress=lambda what, done, total: heard.append(what))
    play(designer, AuctionConfig(mix={"truthful": 0.5, "shader": 0.5}, episode_length=2), 4, seed=0)
    assert "vcg, breeding" in heard


@every_bidder
def test_a_bidder_is_one_class_with_its_behaviour_and_source_in_the_docstring(name: str) -> None:
    profile = catalog.resolve("bidder", name)
    header = profile.__doc__ or ""
    assert profile.__name__.lower() == name and issubclass(profile, BidderProfile)
    assert any(str(year) in header for year in range(1950, 2027)) or "FCC" in header
    for setting in dataclasses.fields(BidderProfile):
        assert 0.0 < getattr(profile(), setting.name) <= 1.0


def test_the_catalog_knows_every_type() -> None:
    assert catalog.names("bidder") == sorted(BIDDER_TYPES)
