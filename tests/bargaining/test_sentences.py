"""Moves as sentences."""

from __future__ import annotations

import itertools

import pytest

from edgeworth.dialogues.acts import Conversation
from edgeworth.dialogues.sentences import sentence
from edgeworth.games.bargaining.contexts import Triple, rest_of
from edgeworth.games.bargaining.history import Move
from edgeworth.games.bargaining.vocabulary import Act, Side

POOLS = [(1, 2, 3), (4, 1, 1), (2, 2, 2)]
SEEDS = range(8)


def shares_of(pool: Triple) -> list[Triple]:
    return list(itertools.product(*(range(n + 1) for n in pool)))


@pytest.mark.parametrize("pool", POOLS)
def test_the_parser_reads_every_offer_back_from_its_sentence(pool: Triple) -> None:
    for share, seed, act in itertools.product(shares_of(pool), SEEDS, (Act.PROPOSE, Act.INSIST, Act.END)):
        said = sentence(Move(Side.PARTNER, act, share), pool, seed, 3)
        read = Conversation(pool).hear(Side.PARTNER, said)
        assert (read.act, read.share) == (Act.PROPOSE, share), said


def test_an_offer_said_again_is_read_as_insisting() -> None:
    conversation = Conversation((1, 2, 3))
    for number, act in enumerate((Act.PROPOSE, Act.INSIST)):
        read = conversation.hear(Side.PARTNER, sentence(Move(Side.PARTNER, act, (1, 1, 0)), (1, 2, 3), 7, number))
    assert read.act is Act.INSIST


@pytest.mark.parametrize("act", [Act.AGREE, Act.DISAGREE])
def test_acceptance_and_refusal_are_read_back(act: Act) -> None:
    for seed in SEEDS:
        conversation = Conversation((1, 2, 3))
        conversation.note_offer(Side.AGENT, (1, 1, 0))
        read = conversation.hear(Side.PARTNER, sentence(Move(Side.PARTNER, act, None), (1, 2, 3), seed, 1))
        assert read.act is act


def test_a_seed_gives_the_same_words_and_seeds_vary_them() -> None:
    move = Move(Side.PARTNER, Act.PROPOSE, (1, 1, 0))
    said = [sentence(move, (1, 2, 3), seed, 0) for seed in range(40)]
    assert said == [sentence(move, (1, 2, 3), seed, 0) for seed in range(40)] and len(set(said)) == 4


def test_an_offer_noted_without_words_can_be_accepted_in_words() -> None:
    conversation = Conversation((2, 2, 2))
    conversation.note_offer(Side.PARTNER, (2, 1, 0))
    read = conversation.hear(Side.AGENT, "ok, deal")
    assert (read.act, read.share) == (Act.AGREE, rest_of((2, 2, 2), (2, 1, 0)))
