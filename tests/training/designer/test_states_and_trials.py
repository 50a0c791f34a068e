"""States are reached by play on training seeds, and mechanisms are tried from exactly these states."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.training.designer.conftest import MARKETS

from edgeworth.agents.designers.adaptive import library_rows
from edgeworth.agents.designers.designer import Designer
from edgeworth.errors import IllegalAction, InvalidOption, UnknownName
from edgeworth.games.auction.batch import Rows, constant_rows
from edgeworth.games.auction.market_view import SCORE_COLUMNS, outcome_table
from edgeworth.training.designer import trials
from edgeworth.training.designer.settings import MarketSettings
from edgeworth.training.designer.states import TRAINING_SEEDS, VALIDATION_SEEDS, States, kinds_of_lots, named_designer, play_states
from edgeworth.training.designer.teachers import targets
from edgeworth.training.designer.trials import COMPOSITE, mechanism_share, redrawn_keys, try_mechanisms
from edgeworth.training.designer.variations import any_mechanisms


def test_states_come_from_training_seeds_and_validation_from_others(states: States) -> None:
    assert states.markets["seed"].min() >= TRAINING_SEEDS
    other = play_states(MARKETS, 8, seed=3, first_seed=VALIDATION_SEEDS)
    assert not set(other.markets["seed"].tolist()) & set(states.markets["seed"].tolist())


@pytest.mark.parametrize("name", ["held_out", "held_out_7"])
def test_held_out_populations_are_never_trained_on(name: str) -> None:
    with pytest.raises(InvalidOption, match="never for training"):
        MarketSettings(populations=("stages", name))


def test_a_mistyped_population_gets_a_suggestion_without_the_held_out_ones() -> None:
    with pytest.raises(UnknownName, match=r"Did you mean 'dirichlet'\?") as error:
        MarketSettings(populations=("dirichlt",))
    assert "held_out" not in str(error.value)


def test_every_entry_of_the_settings_has_its_share_of_the_lots() -> None:
    settings = MarketSettings(populations=("stages", "stages", "dirichlet", "mixed"), n_agents=(8, 8, 3), players=("policy",))
    lots = list(itertools.islice(kinds_of_lots(settings, np.random.default_rng(0)), 60))
    assert Counter(config.stage for config, _ in lots) == {"stages": 30, "dirichlet": 15, "mixed": 15}
    assert Counter(config.n_agents for config, _ in lots) == {8: 40, 3: 20}
    assert all(len({config.stage for config, _ in lots[first : first + 4]}) == 3 for first in range(0, 60, 4)), "never left out for long"


def test_designers_that_know_the_population_do_not_play() -> None:
    with pytest.raises(InvalidOption, match="only sees the market"):
        named_designer("oracle")


def test_the_same_seed_gives_the_same_states(states: States) -> None:
    again = play_states(MARKETS, 48, seed=3)
    assert (again.markets == states.markets).all() and again.prompts.tolist() == states.prompts.tolist()


def test_a_state_continues_as_the_market_that_it_was_taken_from(states: States) -> None:
    lot = max(states.lots(), key=len)
    batch, history = states.chosen(lot).opened()
    fresh, _ = states.chosen(lot).opened()
    rows = constant_rows(library_rows()[0], batch.size)
    assert (outcome_table(batch.step(rows)) == outcome_table(fresh.step(rows))).all()
    assert (states.markets[lot]["step"] + 1 == batch.markets["step"]).all(), "the state itself is unchanged"
    assert history.view().round_number == int(batch.markets["step"][0])


def test_a_draw_changes_what_comes_and_nothing_that_was(states: States) -> None:
    some = states.chosen(states.lots()[0])
    batch, _ = some.opened()
    batch.markets["key"] = redrawn_keys(batch.markets["key"], np.zeros(batch.size, np.int64))
    assert (batch.markets["key"] != some.markets["key"]).all()
    assert all((batch.markets[name] == some.markets[name]).all() for name in ("belief", "shading", "type", "ring_score", "step"))


def test_all_mechanisms_of_a_group_meet_the_same_draws(states: States) -> None:
    twice = states.chosen(np.zeros(2, np.int64))
    row = constant_rows(library_rows()[2], 2)
    tried = try_mechanisms(twice, row, draws=5)
    assert (tried.scores[0] == tried.scores[1]).all()
    assert len(np.unique(tried.scores[0, :, -1])) == 5, "draws differ from each other"


def test_a_trial_does_not_depend_on_what_else_is_tried(states: States) -> None:
    rows = library_rows()[np.arange(len(states)) % 7]
    whole = try_mechanisms(states, rows, draws=3, horizon=3, discount=0.5, designer=named_designer("best_constant"))
    part = try_mechanisms(states.chosen(np.array([7, 21])), rows[[7, 21]], 3, 3, 0.5, named_designer("best_constant"))
    assert (whole.returns[[7, 21]] == part.returns).all()


@pytest.fixture(scope="module")
def mixed() -> States:
    """States of several kinds and steps."""
    return play_states(MarketSettings(players=("adaptive",), n_agents=(8, 4), episode_lengths=(4, 7)), 40, seed=4)


@pytest.mark.parametrize("designer", ["policy", "adaptive", None])
@pytest.mark.parametrize(("horizon", "discount"), [(1, 1.0), (3, 0.7), (10, 1.0), (10, 0.9)])
def test_playing_all_steps_of_a_kind_together_changes_no_bit(
    mixed: States, designer: str | None, horizon: int, discount: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "MARKETS", 12)
    rows = any_mechanisms(np.random.default_rng(0), library_rows(), len(mixed))
    player = None if designer is None else named_designer(designer)
    tried = try_mechanisms(mixed, rows, 3, horizon, discount, player)
    for lot in mixed.lots():
        for draw in range(3):
            first, returns = played_plainly(mixed.chosen(lot), rows[lot], draw, horizon, discount, player)
            assert (tried.scores[lot, draw] == first).all() and (tried.returns[lot, draw] == returns).all()


def played_plainly(
    states: States, posted: Rows, draw: int, horizon: int, discount: float, designer: Designer | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """One draw for states of one kind and step: the scores of the first step, and returns."""
    batch, history = states.opened()
    batch.markets["key"] = redrawn_keys(batch.markets["key"], np.full(len(states), draw))
    if designer is not None:
        designer.begin(batch.config, batch.size, 0)
    scores, weights, weight = [], [], 1.0
    for step in range(min(horizon, batch.config.episode_length - int(batch.markets["step"][0]))):
        if step and designer is not None:
            posted = designer.design(history.view())
        scores.append(outcome_table(batch.step(posted))[:, SCORE_COLUMNS].copy())
        weights.append(weight)
        weight *= discount
        history.add(posted)
    returns = sum(weight * each[:, COMPOSITE] for weight, each in zip(weights, scores, strict=True)) / sum(weights)
    return scores[0], np.asarray(returns)


def test_a_mechanism_that_no_market_takes_is_refused(states: States) -> None:
    rows = constant_rows(library_rows()[0], len(states))
    rows["reserve_price"][5] = 2.0
    with pytest.raises(IllegalAction, match=r"reserve_price is 2\.0"):
        try_mechanisms(states, rows, 1)


def test_later_steps_are_discounted_and_end_with_the_episode(states: States) -> None:
    last = states.chosen(states.markets["step"] == 3)
    rows = constant_rows(library_rows()[0], len(last))
    one, many = try_mechanisms(last, rows, 2), try_mechanisms(last, rows, 2, horizon=9, discount=0.5)
    assert (one.returns == many.returns).all(), "the last step has none after it"
    before = states.chosen(states.markets["step"] == 2)
    rows = constant_rows(library_rows()[0], len(before))
    one, two = try_mechanisms(before, rows, 2), try_mechanisms(before, rows, 2, horizon=2, discount=0.5)
    second = 3.0 * two.returns - 2.0 * one.returns  # (first + second / 2) / (3 / 2)
    assert ((second >= 0.0) & (second <= 1.0)).all() and not np.allclose(one.returns, two.returns)


def test_the_share_of_the_mechanisms_is_found_by_the_analysis_of_variance() -> None:
    rng = np.random.default_rng(0)
    groups, mechanisms, draws = 4_000, 6, 8
    effect, common = rng.normal(0.0, 1.0, (groups, mechanisms, 1)), rng.normal(0.0, 5.0, (groups, 1, draws))
    noise = rng.normal(0.0, 2.0, (groups, mechanisms, draws))
    expected = 1.0 / (1.0 + 4.0 / draws)
    assert mechanism_share(effect + common + noise) == pytest.approx(expected, abs=0.01)
    assert mechanism_share(common + 0.0 * noise + effect) == pytest.approx(1.0)
    assert np.isnan(mechanism_share(effect))


def test_the_search_teacher_is_at_least_as_good_as_every_bundled_mechanism(states: States) -> None:
    some = states.chosen(np.arange(6))
    found = targets(some, {"searched": 1.0}, seed=0)
    worth = try_mechanisms(some, found, 16, 10).returns.mean(axis=1)
    for row in library_rows():
        other = try_mechanisms(some, constant_rows(row, len(some)), 16, 10).returns.mean(axis=1)
        assert (worth >= other - 2e-3).all(), "up to the rounding of its numbers"


def test_teachers_are_mixed_by_their_shares(states: States) -> None:
    mixed = targets(states, {"legal": 1.0, "searched": 0.0}, seed=1)
    outcomes = try_mechanisms(states, mixed, 1).scores
    assert outcomes.shape == (len(states), 1, SCORE_COLUMNS.stop)
    assert len(np.unique(mixed["reserve_price"])) > len(states) // 2, "random mechanisms differ"
