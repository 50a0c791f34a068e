"""What the pocket model learns from: who is kept back, who teaches, and that every reply it is shown is legal."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator

import numpy as np
import pytest

from edgeworth.agents.designers.adaptive import library_rows
from edgeworth.agents.designers.bundled import BIDDERS
from edgeworth.agents.designers.design_prompt import MECHANISM_SCHEMA
from edgeworth.agents.hints.bayes import planned_hints
from edgeworth.config import BargainingConfig
from edgeworth.dialogues.hint_prompt import hint_schema
from edgeworth.games.auction.action import FIELDS, mechanism_rows
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.vocabulary import AGREE
from edgeworth.protocol import Accepted, Rejection, parse_reply
from edgeworth.training import pocket_hints, pocket_mechanisms
from edgeworth.training.pocket_corpus import MARKET_SEEDS, CorpusSettings, Teachers, examples_of, jobs_of, make_teachers, system_messages
from edgeworth.training.pocket_hints import ANY_REPLY, Example, Negotiations, PlanTable, held_out, lessons, make_table
from edgeworth.training.pocket_mechanisms import MOVED_BY

SMALL = CorpusSettings(talks=260, markets=24, plans=250, watched=300, random_share=0.2, held_out_talks=60, held_out_markets=8)
UTILITIES = np.array(list(itertools.product(range(11), repeat=3)))


@pytest.fixture(scope="module")
def teachers() -> Teachers:
    return make_teachers(SMALL)


@pytest.fixture(scope="module")
def classic() -> PlanTable:
    return make_table(BargainingConfig(), most=120)


def half_of(user: str) -> tuple[list[int], list[int]]:
    """The pool and the utilities that a prompt tells."""
    pool, points = re.search(r"balls\): ([\d,]+)", user), re.search(r"per unit: ([\d,]+)", user)
    assert pool is not None and points is not None
    return [int(n) for n in pool[1].split(",")], [int(n) for n in points[1].split(",")]


def written(kept_back: bool, teachers: Teachers) -> Iterator[tuple[str, Example]]:
    for job in jobs_of(SMALL, kept_back):
        for example in examples_of(job, teachers, SMALL):
            yield job.game, example


def test_one_half_context_in_ten_is_kept_back() -> None:
    counts = np.tile([2, 1, 3], (len(UTILITIES), 1))
    assert 0.06 < held_out(counts, UTILITIES).mean() < 0.14


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_context_by_another_name_is_on_the_same_side_of_the_split(order: tuple[int, ...]) -> None:
    counts = np.tile([2, 1, 3], (len(UTILITIES), 1))
    assert (held_out(counts, UTILITIES) == held_out(counts[:, order], UTILITIES[:, order])).all()


def test_training_and_evaluation_contexts_never_meet(teachers: Teachers) -> None:
    for kept_back in (False, True):
        halves = [half_of(example.user) for game, example in written(kept_back, teachers) if game == "hint"]
        sides = held_out(np.array([counts for counts, _ in halves]), np.array([points for _, points in halves]))
        assert len(sides) > 50 and (sides == kept_back).all()


def test_training_markets_have_seeds_that_no_evaluation_uses(monkeypatch: pytest.MonkeyPatch, teachers: Teachers) -> None:
    seeds: dict[bool, set[int]] = {False: set(), True: set()}
    for kept_back in (False, True):
        monkeypatch.setattr(
            pocket_mechanisms,
            "market_examples",
            lambda _lesson, _watcher, size, seed, *_, k=kept_back: seeds[k].update(range(seed, seed + size)),
        )
        for job in jobs_of(SMALL, kept_back):
            if job.game == "mechanism":
                examples_of(job, teachers, SMALL)
    assert min(seeds[False]) >= MARKET_SEEDS > max(seeds[True])
    jobs = [job for job in jobs_of(SMALL, False) if job.game == "mechanism"]
    assert len(seeds[False]) == sum(job.size for job in jobs)


def test_a_table_gives_the_bayes_plan_in_any_order_of_the_types(classic: PlanTable) -> None:
    batch, order = BargainingBatch(BargainingConfig(), 1), [2, 0, 1]
    for number in (3, 40, 77, 110):
        opener, *codes = (int(n) for n in np.argwhere(classic.index == number)[0])
        counts, points = np.divmod(np.array(codes), 16)
        hints = planned_hints((opener, tuple(counts.tolist()), tuple(points.tolist())), batch, None)
        assert not isinstance(hints, Rejection)
        for made, hint in enumerate(hints):
            args = (np.array([opener]), np.array([made]))
            act, share, confidence = classic.hints(counts[None], points[None], *args)
            turned = classic.hints(counts[None, order], points[None, order], *args)
            assert (act[0], tuple(share[0].tolist())) == (hint.act, hint.share) and confidence[0] == pytest.approx(hint.confidence)
            assert turned[0][0] == act[0] and (turned[1][0] * points[order]).sum() == (share[0] * points).sum()


def test_every_reply_that_is_taught_is_legal(teachers: Teachers) -> None:
    marked = {"hint": 0, "mechanism": 0}
    for game, (user, reply) in written(False, teachers):
        marked[game] += user.endswith(ANY_REPLY)
        if game == "mechanism":
            assert isinstance(parse_reply(reply, MECHANISM_SCHEMA), Accepted)
        else:
            mask = np.ones(5)
            mask[AGREE] = "leaves me: none" not in user
            assert isinstance(parse_reply(reply, hint_schema(mask, np.array(half_of(user)[0]))), Accepted), (user, reply)
    assert min(marked.values()) > 10


def test_evaluation_text_is_never_marked(teachers: Teachers) -> None:
    assert not any(example.user.endswith(ANY_REPLY) for _, example in written(True, teachers))


def test_talks_cover_every_scenario_and_every_partner() -> None:
    partners = {talks.config().partner for talks in lessons()}
    assert {"heuristic", "walk_away", "boulware", "conceder", "linear", "tit_for_tat", "random", "population"} == partners
    assert {"classic", "one_shot", "discounted", "walkaway", "lewis", "lewis_keep_all"} == {talks.scenario for talks in lessons()}
    assert sum(talks.share for talks in lessons()) == pytest.approx(1.0)
    assert sum(markets.share for markets in pocket_mechanisms.lessons()) == pytest.approx(1.0)


def test_against_a_partner_that_concedes_an_offer_as_good_as_the_plan_is_taken(classic: PlanTable) -> None:
    kind = Negotiations(1.0, options={"partner": "conceder"})
    taken = [e for e in pocket_hints.negotiation_examples(kind, classic, 300, seed=1) if json.loads(e.reply)["act_type"] == AGREE]
    assert len(taken) > 20
    rejected = 0
    for user, _ in taken:
        counts, points = (np.array([half]) for half in half_of(user))
        offer, left = re.search(r"leaves me: ([\d,]+)", user), re.search(r"Moves left: (\d+)", user)
        assert offer is not None and left is not None
        made = 10 - int(left[1])
        act, share, _ = classic.hints(counts, points, np.array([made % 2]), np.array([made // 2]))
        worth = int(np.array([int(n) for n in offer[1].split(",")]) @ points[0])
        assert act[0] == AGREE or worth >= int(share[0] @ points[0])
        rejected += act[0] != AGREE
    assert rejected > 10, "the plan for another partner would have asked for something"


def test_the_teachers_mechanisms_come_from_the_box_or_lie_near_one(teachers: Teachers) -> None:
    library = np.concatenate([library_rows(n) for n in BIDDERS])  # the adaptive teacher has one for every number of bidders
    farthest = 5.0 * np.array(list(MOVED_BY.values()))
    words = [name for name in FIELDS if name not in MOVED_BY]
    for game, (user, reply) in written(False, teachers):
        if game == "mechanism" and not user.endswith(ANY_REPLY):
            row = mechanism_rows([json.loads(reply)])[0]
            alike = library[[all(row[name] == other[name] for name in words) for other in library]]
            distances = [[abs(row[name] - other[name]) for name in MOVED_BY] for other in alike]
            assert any((np.array(distance) <= farthest).all() for distance in distances), user


def test_the_system_messages_are_those_of_the_prompts() -> None:
    messages = system_messages()
    assert "0 PROPOSE" in messages["hint"] and "agrees if its part is worth about 0.5" in messages["hint"]
    assert "eleven fields" in messages["mechanism"] and "{" not in messages["hint"].replace('{"', "")
