"""Moves as sentences, and sentences as moves: what the lab writes is read back as exactly what it came from."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from edgeworth.dialogues.acts import Conversation
from edgeworth.dialogues.sentences import SILENCE, TONES, Tone, conversation_of, meant_share, reads_back, sentence, sentences, units_said
from edgeworth.dialogues.understanding import Understood, understand
from edgeworth.games.bargaining.contexts import Triple, rest_of
from edgeworth.games.bargaining.history import Move
from edgeworth.games.bargaining.vocabulary import LOST_TURN, Act, Side

POOLS = list(itertools.product(range(1, 5), repeat=3))
ODD_POOLS = [(0, 3, 1), (10, 1, 0), (5, 6, 7)]
SHARED = (Act.PROPOSE, Act.INSIST, Act.END)
LEGAL = (True,) * 5


def shares_of(pool: Triple) -> list[Triple]:
    return list(itertools.product(*(range(n + 1) for n in pool)))


def standings(pool: Triple, share: Triple) -> Iterator[Conversation]:
    """Where a negotiation can stand when the partner says a share: nothing offered, its own offer, the agent's, and others."""
    mine, theirs = Move(Side.PARTNER, Act.PROPOSE, share), Move(Side.AGENT, Act.PROPOSE, rest_of(pool, share))
    everything, nothing = Move(Side.AGENT, Act.PROPOSE, pool), Move(Side.PARTNER, Act.INSIST, (0, 0, 0))
    for before in ((), (mine,), (theirs,), (everything, nothing), (mine, theirs), (theirs, nothing, everything)):
        yield conversation_of(pool, before)


def check(conversation: Conversation, move: Move, tone: Tone, key: int) -> None:
    said = sentence(move, conversation, tone, key, 3)
    read = conversation.read(Side(move.side), said)
    assert (read.act, read.share, read.sure) == (move.act, meant_share(move, conversation), True), said


@pytest.mark.parametrize("pool", POOLS)
def test_every_share_of_every_pool_is_read_back_from_its_sentence(pool: Triple) -> None:
    turn = itertools.count()
    for share, act in itertools.product(shares_of(pool), SHARED):
        number = next(turn)
        conversation = list(standings(pool, share))[number % 6]
        check(conversation, Move(Side.PARTNER, act, share), TONES[number % len(TONES)], number)


@pytest.mark.parametrize("tone", TONES)
@pytest.mark.parametrize("pool", [(1, 2, 3), *ODD_POOLS[:2]])
def test_every_wording_of_every_tone_is_read_back_wherever_the_negotiation_stands(pool: Triple, tone: Tone) -> None:
    for share in shares_of(pool):
        for conversation, act, key in itertools.product(standings(pool, share), Act, (1, 2)):
            if act is not Act.AGREE or conversation.offers_of(Side.AGENT):
                check(conversation, Move(Side.PARTNER, act, share if act in SHARED else None), tone, key)


def test_large_pools_are_read_back_too() -> None:
    pool = ODD_POOLS[2]
    for number, share in enumerate(shares_of(pool)):
        check(Conversation(pool), Move(Side.AGENT, Act.PROPOSE, share), TONES[number % len(TONES)], number)


def test_a_sentence_about_another_split_is_not_read_back() -> None:
    assert not reads_back("I get the hats.", Move(Side.AGENT, Act.PROPOSE, (1, 2, 0)), Conversation((1, 2, 3)))


def test_a_lost_turn_says_nothing() -> None:
    assert sentence(Move(Side.AGENT, LOST_TURN, None), Conversation((1, 2, 3)), "plain", 1, 0) == SILENCE


def test_a_key_gives_the_same_words_and_keys_and_tones_vary_them() -> None:
    moves = [Move(Side.PARTNER, Act.PROPOSE, (1, 1, 0)), Move(Side.AGENT, Act.AGREE, None)]
    said = {(tone, key): sentences((1, 2, 3), moves, tone, key) for tone in TONES for key in range(20)}
    assert all(sentences((1, 2, 3), moves, tone, key) == words for (tone, key), words in said.items())
    assert all(len({said[tone, key] for key in range(20)}) >= 3 for tone in TONES)
    assert len({said[tone, 1] for tone in TONES}) == len(TONES)


def test_a_share_is_said_as_people_say_it() -> None:
    assert units_said((2, 1, 0), (2, 3, 1)) == "both books and one hat"
    assert units_said((1, 3, 2), (1, 3, 4)) == "the book, all three hats and two balls"
    assert units_said((0, 0, 0), (1, 2, 3)) == ""


# Sentences as moves


def understood(text: str, *moves: Move, legal: tuple[bool, ...] = LEGAL) -> Understood:
    return understand(text, (1, 2, 3), moves, legal)


THEIRS = Move(Side.PARTNER, Act.PROPOSE, (0, 2, 0))


def test_a_sure_sentence_is_a_move() -> None:
    found = understood("i want the book and one hat")
    assert found.move == Move(Side.AGENT, Act.PROPOSE, (1, 1, 0)) and found.words == "PROPOSE: you get 1 book, 1 hat"
    accepted = understood("ok, deal", THEIRS)
    assert accepted.move == Move(Side.AGENT, Act.AGREE, None) and accepted.share == (1, 0, 3)


def test_an_unsure_sentence_is_asked_about() -> None:
    found = understood("some balls please")
    assert found.move is None and found.guess is not None and found.guess.act == Act.PROPOSE
    assert found.words.startswith("I am not sure. Do you mean PROPOSE") and "how many" in found.words


@pytest.mark.parametrize("text", ["hello there", "deal"])
def test_a_sentence_without_a_legal_move_says_why(text: str) -> None:
    found = understood(text, legal=(True, True, False, True, True))
    assert (found.move, found.guess) == (None, None) and found.words


@pytest.mark.parametrize(
    "text", ["good morning", "what a lovely day", "good luck", "what's the deal?", "ok let me think", "i don't know", "no idea"]
)
def test_small_talk_and_asking_for_time_are_no_moves(text: str) -> None:
    found = understood(text, THEIRS)
    assert (found.move, found.guess) == (None, None) and "I read no move" in found.words


@pytest.mark.parametrize("text", ["good morning, deal", "good day to you, i accept"])
def test_assent_beside_small_talk_is_assent(text: str) -> None:
    assert understood(text, THEIRS).move == Move(Side.AGENT, Act.AGREE, None)


def test_assent_to_ones_own_offer_offers_it_again() -> None:
    own = Move(Side.AGENT, Act.PROPOSE, (1, 1, 0))
    found = understood("yes", THEIRS, own)
    assert found.move == Move(Side.AGENT, Act.PROPOSE, (1, 1, 0))


def test_a_sentence_of_the_partner_is_understood_from_its_side() -> None:
    found = understand("i want both hats", (1, 2, 3), (), LEGAL, Side.PARTNER)
    assert found.move == Move(Side.PARTNER, Act.PROPOSE, (0, 2, 0))
