"""Bundled files by population and number of bidders, schedules, and what designers do with them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from edgeworth.agents.designers import bundled
from edgeworth.agents.designers.adaptive import LIBRARY, Adaptive
from edgeworth.agents.designers.bundled import (
    POPULATIONS,
    bundled_file,
    bundled_mechanism,
    bundled_name,
    bundled_names,
    find_mechanism,
    find_schedule,
    format_folder,
)
from edgeworth.agents.designers.designer import play
from edgeworth.agents.designers.fixed import Fixed, Schedule, Uniform
from edgeworth.agents.designers.schedule_search import (
    ScheduleBudget,
    changed_schedule,
    schedule_changes,
    search_schedule,
    simplified,
    two_phases,
    undone,
)
from edgeworth.agents.designers.search import Contest
from edgeworth.config import AuctionConfig
from edgeworth.errors import DataError, UnknownName
from edgeworth.games.auction.action import action_of, check_rows, mechanism_rows, random_mechanisms, read_mechanisms
from edgeworth.games.auction.batch import constant_rows
from edgeworth.progress import silent
from edgeworth.seeding import generator

TINY = ScheduleBudget(
    candidates=12, first_markets=2, halvings=1, generations=3, parents=3, children=4, markets=4, finalists=2, final_markets=20
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Mechanisms for 3 and 8 bidders that differ in the reserve, and one for any number."""
    base = bundled_mechanism("mixed").model_dump()
    for name, reserve in (("mixed_n3", 0.03), ("mixed_n8", 0.08), ("any", 0.5)):
        (tmp_path / f"{name}.json").write_text(json.dumps({**base, "reserve_price": reserve}), encoding="utf-8")
    monkeypatch.setattr(bundled, "mechanism_folder", lambda: tmp_path)
    return tmp_path


def test_a_name_means_the_file_for_the_markets_number_of_bidders(folder: Path) -> None:
    designer = Fixed("mixed")
    assert designer.mechanism.reserve_price == 0.08, "where no market is known, eight bidders are meant"
    for n_agents, reserve in ((3, 0.03), (8, 0.08)):
        designer.begin(AuctionConfig(n_agents=n_agents), 2, 0)
        assert designer.rows["reserve_price"].tolist() == [reserve, reserve] and designer.assumed == ()


def test_the_nearest_number_stands_in_and_that_is_said(folder: Path) -> None:
    assert bundled_names(folder) == ["any", "mixed"]
    mechanism, notes = find_mechanism("mixed", 5)
    assert mechanism.reserve_price == 0.03 and "nothing is bundled for 5 bidders, so what was found for 3 is used" in notes[0]
    assert find_mechanism("mixed", 16)[0].reserve_price == 0.08
    assert find_mechanism("any", 16)[1] == ()
    assert bundled_file(folder, "mix", 8) is None


@pytest.mark.parametrize("stage", POPULATIONS)
def test_the_best_of_each_format_is_bundled_with_the_best_of_all_first(stage: str) -> None:
    found = bundled_file(format_folder(), bundled_name(stage), 8)
    assert found is not None
    mechanisms = read_mechanisms(found.path)
    assert {m.auction_type for m in mechanisms} == {"first_price", "second_price", "vcg"}
    assert mechanisms[0] == bundled_mechanism(bundled_name(stage))


def test_the_adaptive_designer_takes_up_the_forecasts_for_the_number_of_bidders() -> None:
    designer = Adaptive("mixed")
    designer.begin(AuctionConfig(n_agents=8), 1, 0)
    assert designer.assumed == () and np.array_equal(designer.library, mechanism_rows([bundled_mechanism(n) for n in LIBRARY]))
    designer.begin(AuctionConfig(n_agents=15), 1, 0)
    assert "15 bidders" in designer.assumed[0]


def test_two_cells_of_a_table_share_no_random_mechanisms() -> None:
    drawn = []
    for options in ({"stage": "0"}, {"stage": "1"}, {"stage": "0", "n_agents": 5}, {"mix": {"truthful": 1.0}}, {"stage": "0"}):
        designer = Uniform()
        designer.begin(AuctionConfig.from_options(**options), 1, 7)
        drawn.append(float(designer.rng.random()))
    assert len(set(drawn[:4])) == 4 and drawn[0] == drawn[4]


# Schedules


def test_a_constant_schedule_plays_like_the_constant(tmp_path: Path) -> None:
    path, config = tmp_path / "plan.json", AuctionConfig(stage="4")
    path.write_text(json.dumps([bundled_mechanism("mixed").model_dump()] * 10), encoding="utf-8")
    assert np.array_equal(play(Schedule(str(path)), config, 6, 3), play(Fixed("mixed"), config, 6, 3))


def test_a_schedule_changes_when_it_says_and_its_last_mechanism_stays(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps([bundled_mechanism(name).model_dump() for name in ("mixed", "informed_greedy")]), encoding="utf-8")
    designer = Schedule(str(path))
    scores = play(designer, AuctionConfig(episode_length=3), 4, 3)
    assert np.array_equal(scores[:, :1], play(Fixed("mixed"), AuctionConfig(episode_length=1), 4, 3))
    assert "its last mechanism stays" in designer.assumed[0]
    play(designer, AuctionConfig(episode_length=1), 4, 3)
    assert "it is cut" in designer.assumed[0]


def test_schedules_are_found_by_population_and_bad_ones_are_refused(tmp_path: Path) -> None:
    assert find_schedule("3", 8) == find_schedule("stage_3", 8)
    with pytest.raises(UnknownName, match="Did you mean 'mixed'"):
        Schedule("mixd")
    for text in ("{}", "[]", "[{}]", "nonsense"):
        (tmp_path / "bad.json").write_text(text, encoding="utf-8")
        with pytest.raises(DataError):
            Schedule(str(tmp_path / "bad.json"))


def test_a_changed_schedule_is_legal_and_differs_in_few_fields_or_repeats_a_step() -> None:
    rng = generator(3)
    differing = []
    for _ in range(60):
        schedule = random_mechanisms(rng, 6)
        changed = changed_schedule(schedule, rng, 1.0)
        check_rows(changed)
        steps = np.flatnonzero(changed != schedule)
        fields = {name for name in changed.dtype.names or () if (changed[name] != schedule[name]).any()}
        differing.append(1 if len(np.unique(changed[steps])) == 1 else len(fields))
    assert max(differing) <= 6 and differing.count(1) > 20


def test_a_random_opening_ends_after_three_steps_at_most() -> None:
    schedules = two_phases(generator(3), 40, 6, 2)
    assert (schedules[:, 3:] == schedules[:, -1:]).all() and (schedules["auction_type"][:, 3:] == 2).all()
    assert (schedules[:, 0] != schedules[:, -1]).all() and schedules.shape == (40, 6)


def test_a_schedule_search_is_reproducible_and_never_much_worse_than_its_start() -> None:
    config, start = AuctionConfig(stage="4", episode_length=3), mechanism_rows([bundled_mechanism("stage_4"), bundled_mechanism("stage_0")])
    found, again = (search_schedule(config, start, 5, TINY) for _ in range(2))
    assert np.array_equal(found.schedule, again.schedule) and np.array_equal(found.scores, again.scores)
    assert found.schedule.shape == (3,) and found.scores.shape == found.constant_scores.shape == (20,)
    assert found.constant == start[0]


def test_a_change_is_undone_until_the_next_one() -> None:
    schedule = constant_rows(mechanism_rows([bundled_mechanism("mixed")])[0], 5)
    schedule["reserve_price"] = [0.1, 0.2, 0.2, 0.3, 0.3]
    assert [copy["reserve_price"].tolist() for copy in undone(schedule)] == [[0.1, 0.1, 0.1, 0.3, 0.3], [0.1, 0.2, 0.2, 0.2, 0.2]]
    assert undone(schedule[:1]) == []


def test_changes_without_effect_do_not_stay_in_a_schedule() -> None:
    config = AuctionConfig(stage="0", episode_length=4)
    schedule = constant_rows(mechanism_rows([bundled_mechanism("stage_0")])[0], 4)
    schedule["coalition_policy"] = 0
    schedule["collusion_penalty"] = [0.0, 1.0, 2.0, 0.0]
    found = simplified(Contest(config, 3, 1, 1, silent), schedule, TINY)
    assert len(schedule_changes(found)) == 4 and schedule_changes(found)[1:] == [{}, {}, {}]


def test_of_a_schedule_only_what_changes_is_told() -> None:
    schedule = constant_rows(mechanism_rows([bundled_mechanism("mixed")])[0], 3)
    schedule["reserve_price"][1:] = 0.77
    first, *others = schedule_changes(schedule)
    assert first == action_of(schedule[0]).model_dump() and others == [{"reserve_price": 0.77}, {}]
