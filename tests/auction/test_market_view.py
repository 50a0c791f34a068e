"""What a designer sees: the same through a batch, through an environment, and in a prompt."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from auction_house import opened
from edgeworth.agents.designers.design_prompt import batch_variables, design_variables, mechanism_json
from edgeworth.agents.designers.designer import Designer, play
from edgeworth.config import AuctionConfig
from edgeworth.envs.daedalus import DaedalusEnv
from edgeworth.envs.designed_markets import DesignedMarkets
from edgeworth.errors import InvalidOption
from edgeworth.games.auction.action import FIELDS, action_of, random_mechanisms
from edgeworth.games.auction.batch import MarketBatch, Rows
from edgeworth.games.auction.market_view import RECENT_STEPS, MarketView, StepHistory, mechanism_table, observation_of, rows_of_table
from edgeworth.games.auction.state import SCORES
from edgeworth.seeding import generator

STEPS = RECENT_STEPS + 3
SEED = 21


def chance(step: int, size: int) -> Rows:
    return random_mechanisms(generator(step), size)


class Watching(Designer):
    """Posts by chance, and keeps what it was shown."""

    def __init__(self) -> None:
        self.views: list[MarketView] = []

    def design(self, view: MarketView) -> Rows:
        self.views.append(view)
        return chance(view.round_number, view.size)


def shown(config: AuctionConfig, size: int) -> list[MarketView]:
    """What a designer is shown in a whole episode."""
    designer = Watching()
    play(designer, config, size, SEED)
    return designer.views


def observed(config: AuctionConfig, slot: int) -> list[dict[str, Any]]:
    """The observations of the same episode of one market in the environment, under the same mechanisms."""
    env = DaedalusEnv(**{field.name: getattr(config, field.name) for field in dataclasses.fields(config) if field.name != "mix"})
    observation, _ = env.reset(seed=SEED + slot)
    observations = [observation]
    for step in range(STEPS):
        observation, *_ = env.step(action_of(chance(step, slot + 1)[slot]))
        observations.append(observation)
    return observations


@pytest.mark.parametrize("slot", [0, 3])
def test_a_designer_sees_in_a_batch_what_it_sees_in_the_environment(slot: int) -> None:
    size, config = slot + 1, AuctionConfig(stage="stages", episode_length=STEPS)
    for view, observation in zip(shown(config, size), observed(config, slot), strict=False):
        seen = observation_of(view, slot)
        assert seen.keys() == observation.keys()
        for name, value in observation.items():
            np.testing.assert_equal(seen[name], value)
        assert batch_variables(view)[slot] == design_variables(observation)


def test_a_designer_that_remembers_is_told_the_mechanisms_that_were_posted() -> None:
    view = shown(AuctionConfig(stage="3", episode_length=STEPS), 2)[7]
    for slot, told in enumerate(batch_variables(view, remembers=True)):
        for step, line in zip(range(3, 7), told["history_str"].splitlines(), strict=True):
            assert line.startswith(f"step {step}: ") and line.endswith(f" under {mechanism_json(chance(step - 1, 2)[slot])}")


def test_the_last_five_steps_are_seen_whole_with_mechanisms_scores_and_proxies() -> None:
    views = shown(AuctionConfig(stage="4", episode_length=STEPS), 3)
    assert not views[0].recent_mechanisms.any() and not views[0].recent_proxies.any()
    for played, view in enumerate(views):
        for back in range(1, RECENT_STEPS + 1):
            then = views[played - back + 1] if played >= back else views[0]
            np.testing.assert_array_equal(view.recent[:, -back], then.outcomes)
            np.testing.assert_array_equal(view.recent_proxies[:, -back], then.proxies)
            posted = mechanism_table(chance(played - back, 3)) if played >= back else np.zeros((3, len(FIELDS)))
            np.testing.assert_array_equal(view.recent_mechanisms[:, -back], posted)
            assert rows_of_table(view.recent_mechanisms[:, -back]).tobytes() == then.mechanisms.tobytes()


def test_the_last_outcomes_stand_last_and_steps_not_played_are_zeros() -> None:
    views = shown(AuctionConfig(stage="1", episode_length=STEPS), 3)
    assert not views[0].recent.any() and not views[0].proxies.any() and views[0].outcomes.shape == (3, len(SCORES))
    for played, view in enumerate(views):
        assert view.round_number == played
        assert (view.recent[:, : max(0, RECENT_STEPS - played)] == 0.0).all()
        if played:
            np.testing.assert_array_equal(view.recent[:, :-1], views[played - 1].recent[:, 1:])


def test_a_view_stays_as_it_was_shown() -> None:
    batch = opened(2)
    history = StepHistory(batch)
    view = history.view()
    rows = chance(0, 2)
    batch.step(rows)
    history.add(rows)
    assert not view.recent.any() and not view.proxies.any() and view.mechanisms.tobytes() == bytes(view.mechanisms.nbytes)
    assert history.view().mechanisms.tobytes() == rows.tobytes()


def test_markets_at_different_steps_have_no_view_in_common() -> None:
    markets = DesignedMarkets(AuctionConfig(), 2)
    markets.batch.seed(0)
    markets.begin()
    markets.step(chance(0, 2))
    markets.begin(np.array([True, False]))
    with pytest.raises(InvalidOption, match="0 to 1 steps"):
        markets.history.view()
    assert (markets.view(0).round_number, markets.view(1).round_number) == (0, 1)


def test_a_fresh_episode_opens_a_fresh_page() -> None:
    batch = MarketBatch(AuctionConfig(), 2)
    batch.seed(0)
    batch.reset()
    history = StepHistory(batch)
    batch.step(chance(0, 2))
    history.add(chance(0, 2))
    batch.reset()
    history.clear()
    assert not history.lines.any() and history.view().round_number == 0
