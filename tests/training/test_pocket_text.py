"""What the pocket model learns from: who is kept back, who teaches, and that every reply it is shown is legal."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from edgeworth.agents.designers.design_prompt import MECHANISM_SCHEMA
from edgeworth.agents.hints.bayes import planned_hints
from edgeworth.agents.questions import outside_training
from edgeworth.config import BargainingConfig
from edgeworth.dialogues.hint_prompt import game_facts, hint_schema, load_hint_prompt
from edgeworth.games.auction.action import mechanism_rows
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.vocabulary import AGREE
from edgeworth.llm.scripted import Scripted
from edgeworth.protocol import Accepted, Rejection, parse_reply
from edgeworth.seeding import generator
from edgeworth.training import pocket_games, pocket_mechanisms
from edgeworth.training.designer.states import TRAINING_SEEDS, drawn_market, named_designer, play_lot
from edgeworth.training.designer.teachers import targets
from edgeworth.training.pocket_corpus import CorpusSettings, examples_of, jobs_of, system_messages
from edgeworth.training.pocket_games import VARIANTS, Negotiations, draw_halves, held_out, lessons, standard_order
from edgeworth.training.pocket_hints import ANY_REPLY, REORDERED, Example, negotiation_examples, plan_negotiations, reordered
from edgeworth.training.pocket_mechanisms import MARKETS, market_examples

SMALL = CorpusSettings(negotiations=260, markets=24, random_share=0.2, held_out_negotiations=60, held_out_markets=8)
UTILITIES = np.array(list(itertools.product(range(11), repeat=3)))


def half_of(user: str) -> tuple[list[int], list[float]]:
    """The pool and the points that a prompt tells."""
    pool, points = re.search(r"balls\): ([\d,]+)", user), re.search(r"per unit: ([\d.,]+)", user)
    assert pool is not None and points is not None
    return [int(n) for n in pool[1].split(",")], [float(n) for n in points[1].split(",")]


def written(kept_back: bool) -> Iterator[tuple[str, Example]]:
    for job in jobs_of(SMALL, kept_back):
        for example in examples_of(job, SMALL):
            yield job.game, example


def test_one_half_context_in_ten_is_kept_back() -> None:
    counts = np.tile([2, 1, 3], (len(UTILITIES), 1))
    assert 0.06 < held_out(counts, UTILITIES).mean() < 0.14


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_context_by_another_name_is_on_the_same_side_of_the_split(order: tuple[int, ...]) -> None:
    counts = np.tile([2, 1, 3], (len(UTILITIES), 1))
    assert (held_out(counts, UTILITIES) == held_out(counts[:, order], UTILITIES[:, order])).all()


@pytest.mark.parametrize("factor", [2, 3])
def test_a_context_and_its_multiples_are_on_the_same_side_of_the_split(factor: int) -> None:
    utilities = UTILITIES[(UTILITIES * factor).max(axis=1) <= 10]
    counts = np.tile([2, 1, 3], (len(utilities), 1))
    assert (held_out(counts, utilities) == held_out(counts, utilities * factor)).all()


def test_training_and_evaluation_contexts_never_meet() -> None:
    for kept_back in (False, True):
        users = [example.user for game, example in written(kept_back) if game == "hint"]
        halves = [half_of(user) for user in users if "the whole pool is worth" not in user]
        sides = held_out(np.array([counts for counts, _ in halves]), np.array([points for _, points in halves]).astype(np.int64))
        assert len(sides) > 50 and (sides == kept_back).all()


@pytest.mark.parametrize("options", [{"scenario": "lewis"}, {"normalize": True}, {"max_count": 10}], ids=str)
@pytest.mark.parametrize("kept_back", [False, True])
def test_a_game_s_half_contexts_are_all_held_out_or_none(options: dict[str, Any], kept_back: bool) -> None:
    batch = BargainingBatch(BargainingConfig.from_options(**options), 1)
    halves = draw_halves(batch, 300, np.random.default_rng(0), kept_back)
    counts, utilities = halves[:, :3], halves[:, 3:]
    assert len(halves) == 300 and (held_out(counts, utilities) == kept_back).all()
    assert (standard_order(counts, utilities) == [0, 1, 2]).all()
    assert not batch.config.normalize or (counts * utilities).sum(axis=1).min() > 0
    assert counts.max() <= batch.max_count and (options.get("max_count") != 10 or counts.max() == 10)


def test_training_markets_have_seeds_that_no_evaluation_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: dict[bool, set[int]] = {False: set(), True: set()}
    for kept_back in (False, True):
        monkeypatch.setattr(
            pocket_mechanisms,
            "market_examples",
            lambda size, seed, *_, k=kept_back: seeds[k].update(range(seed, seed + size)),
        )
        for job in jobs_of(SMALL, kept_back):
            if job.game == "mechanism":
                examples_of(job, SMALL)
    assert min(seeds[False]) >= TRAINING_SEEDS > max(seeds[True])
    jobs = [job for job in jobs_of(SMALL, False) if job.game == "mechanism"]
    assert len(seeds[False]) == sum(job.size for job in jobs)


@pytest.mark.parametrize("options", [{}, *VARIANTS.values(), {"scenario": "lewis"}, {"max_turns": 30}], ids=str)
def test_every_negotiation_has_the_bayes_plan_in_its_own_order_of_the_types(options: dict[str, Any]) -> None:
    config = dataclasses.replace(BargainingConfig.from_options(**options), opens="agent")
    planned, batch = plan_negotiations(config, 12, 4, np.random.default_rng(1)), BargainingBatch(config, 12)
    batch.reset(planned.contexts)
    assert len(np.unique(np.sort(planned.contexts[:, :3], axis=1), axis=0)) <= 3 < len(np.unique(planned.contexts, axis=0))
    for slot, context in enumerate(planned.contexts.astype(np.int64)):
        order = standard_order(context[None, :3], context[None, 3:6])[0]
        hints = planned_hints((0, tuple(context[:3][order].tolist()), tuple(context[3:6][order].tolist())), batch, None)
        assert not isinstance(hints, Rejection)
        for made, hint in enumerate(hints):
            act, share, confidence = (each[slot] for each in planned.hints(np.full(12, made)))
            assert (act, confidence) == (hint.act, pytest.approx(hint.confidence))
            assert share @ context[3:6] == np.array(hint.share) @ context[3:6][order]


def test_every_reply_that_is_taught_is_legal() -> None:
    marked = {"hint": 0, "mechanism": 0}
    for game, (user, reply) in written(False):
        marked[game] += user.endswith(ANY_REPLY)
        if game == "mechanism":
            assert isinstance(parse_reply(reply, MECHANISM_SCHEMA), Accepted)
        else:
            mask = np.ones(5)
            mask[AGREE] = "leaves me: none" not in user
            assert isinstance(parse_reply(reply, hint_schema(mask, np.array(half_of(user)[0]))), Accepted), (user, reply)
    assert min(marked.values()) > 10


def test_evaluation_text_is_never_marked() -> None:
    assert not any(example.user.endswith(ANY_REPLY) for _, example in written(True))


def test_negotiations_cover_every_scenario_every_partner_and_every_variant() -> None:
    partners = {lesson.game(np.random.default_rng(0)).partner for lesson in lessons() if not lesson.drawn}
    assert partners == {"heuristic", "walk_away", "boulware", "conceder", "linear", "tit_for_tat", "random", "population"}
    assert {"classic", "one_shot", "discounted", "walkaway", "lewis", "lewis_keep_all"} == {lesson.scenario for lesson in lessons()}
    assert all(any(lesson.options == variant for lesson in lessons()) for variant in VARIANTS.values())
    assert sum(lesson.share for lesson in lessons()) == pytest.approx(1.0)


class Carded(Scripted):
    """A client whose model has a card."""

    trained_on = {"hint": pocket_games.trained_on()}  # noqa: RUF012


def test_games_that_are_drawn_fill_the_ranges_of_the_card_and_do_not_leave_them() -> None:
    rng, found = np.random.default_rng(0), []
    for _ in range(1_500):
        config = Negotiations(1.0, drawn=True).game(rng)
        found.append(game_facts(config, config.max_count or 0))
        assert outside_training(Carded("-"), "hint", found[-1]) is None
    for name, known in pocket_games.trained_on().items():
        if name not in ("contexts", "partner"):
            values = [facts[name] for facts in found if name in facts]
            assert (min(values), max(values)) == (known[0], known[1]), name


def test_lines_of_a_prompt_change_places_and_the_moves_stay_last() -> None:
    section, rng = load_hint_prompt().sections[-1], np.random.default_rng(0)
    lines = section.text.split("\n")
    turned = [reordered(section, rng).text.split("\n") for _ in range(20)]
    assert all(sorted(each) == sorted(lines) and each[-2:] == lines[-2:] for each in turned)
    assert len({tuple(each) for each in turned}) > 15
    first = [example.user.split(":")[0] for example in negotiation_examples(Negotiations(1.0), 200, 50, seed=1)]
    assert 0.5 * REORDERED < np.mean([words != "House rules" for words in first]) < 1.2 * REORDERED


def test_against_a_partner_that_concedes_an_offer_as_good_as_the_plan_is_taken() -> None:
    kind = Negotiations(1.0, options={"partner": "conceder"})
    examples = list(negotiation_examples(kind, 300, 10, seed=1))
    taken = [example for example in examples if json.loads(example.reply)["act_type"] == AGREE]
    assert len(taken) > 20
    batch, rejected = BargainingBatch(BargainingConfig(), 1), 0
    for user, _ in taken:
        counts, points = (np.array([half]).astype(np.int64) for half in half_of(user))
        offer, left = re.search(r"leaves me: ([\d,]+)", user), re.search(r"Moves left: (\d+)", user)
        assert offer is not None and left is not None
        made, order = 10 - int(left[1]), standard_order(counts, points)[0]
        hints = planned_hints((made % 2, tuple(counts[0][order].tolist()), tuple(points[0][order].tolist())), batch, None)
        assert not isinstance(hints, Rejection)
        hint = hints[min(made // 2, len(hints) - 1)]
        worth = int(np.array([int(n) for n in offer[1].split(",")]) @ points[0])
        assert hint.act == AGREE or worth >= int(np.array(hint.share) @ points[0][order])
        rejected += hint.act != AGREE
    assert rejected > 10, "the plan for another partner would have asked for something"


def test_the_mechanisms_that_are_taught_are_the_policys() -> None:
    rng = generator(TRAINING_SEEDS, 1)
    states = play_lot(drawn_market(MARKETS, rng), named_designer("policy"), MARKETS, TRAINING_SEEDS, rng, 6)
    taught = [json.loads(reply) for _, reply in market_examples(6, TRAINING_SEEDS)]
    assert (mechanism_rows(taught) == targets(states, {"policy": 1.0}, seed=0)).all() and len(taught) > 20


def test_the_system_messages_are_those_of_the_prompts() -> None:
    messages = system_messages()
    assert "0 PROPOSE" in messages["hint"] and "agrees if its part is worth about 0.5" in messages["hint"]
    assert "eleven fields" in messages["mechanism"] and "{" not in messages["hint"].replace('{"', "")
