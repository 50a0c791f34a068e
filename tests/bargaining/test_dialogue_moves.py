"""Talks between people become moves of the game; the talks here are invented."""

from __future__ import annotations

import pytest

from edgeworth.dialogues.lines import Dialogue, DialogueOutcome
from edgeworth.dialogues.moves import DialogueMoves, LeftOut, Source, dialogue_moves
from edgeworth.games.bargaining.contexts import Context, Triple
from edgeworth.games.bargaining.vocabulary import Side

POOL: Triple = (1, 2, 3)
CONTEXT = Context(POOL, (4, 3, 0), (1, 0, 3))


def told(*said: str, outcome: DialogueOutcome = "agreed", deal: Triple | None = None, turns: int = 10) -> DialogueMoves:
    """Utterances from YOU and THEM in turn; the deal is YOUR share."""
    theirs = None if deal is None else (POOL[0] - deal[0], POOL[1] - deal[1], POOL[2] - deal[2])
    utterances = tuple(("YOU" if number % 2 == 0 else "THEM", text) for number, text in enumerate(said))
    return dialogue_moves(Dialogue(CONTEXT, utterances, outcome, deal, theirs, 1), turns)  # type: ignore[arg-type]


def lines(talk: DialogueMoves) -> list[tuple[str, str, Triple]]:
    return [(move.side.name, move.act.name, move.share) for move in talk.moves]


def test_an_offer_carries_the_share_of_its_speaker() -> None:
    talk = told("i want the book and one hat", "i want the book and the balls", "deal", deal=(0, 2, 0))
    assert lines(talk) == [("AGENT", "PROPOSE", (1, 1, 0)), ("PARTNER", "PROPOSE", (1, 0, 3)), ("AGENT", "AGREE", (0, 0, 0))]
    assert not talk.left_out.total()


def test_what_is_said_after_the_deal_is_left_out_and_counted() -> None:
    talk = told("i want the book and both hats", "deal", "great, thanks", deal=(1, 2, 0))
    assert [act for _, act, _ in lines(talk)] == ["PROPOSE", "AGREE"]
    assert talk.left_out == {LeftOut.AFTER: 1}


def test_a_refusal_in_words_insists_on_ones_own_offer() -> None:
    talk = told("i want the book and both hats", "i want the book", "no way", "ok, deal", deal=(1, 2, 0))
    assert lines(talk)[2] == ("AGENT", "INSIST", (1, 2, 0)) and talk.moves[2].source is Source.REFUSED
    assert lines(talk)[3] == ("PARTNER", "AGREE", (0, 0, 0))


def test_a_refusal_without_an_offer_of_ones_own_is_no_move() -> None:
    talk = told("i want the book and both hats", "no way", "i want the book and one hat", "deal", deal=(1, 1, 0))
    assert [act for _, act, _ in lines(talk)] == ["PROPOSE", "PROPOSE", "AGREE"]
    assert talk.left_out == {LeftOut.NO_OWN_OFFER: 1}


def test_a_refusal_as_the_last_word_walks_away_where_no_deal_came() -> None:
    talk = told("i want the book and both hats", "no deal", outcome="no_agreement")
    assert lines(talk)[-1] == ("PARTNER", "DISAGREE", (0, 0, 0))


def test_giving_up_without_a_word_walks_away() -> None:
    talk = told("i want everything", "i want everything", outcome="no_agreement")
    assert lines(talk)[-1] == ("AGENT", "DISAGREE", (0, 0, 0)) and talk.moves[-1].source is Source.SELECTED


def test_a_selection_that_takes_the_last_offer_agrees() -> None:
    talk = told("hello", "i want the balls", "thank you for the chat", deal=(1, 2, 0))
    assert lines(talk) == [("PARTNER", "PROPOSE", (0, 0, 3)), ("AGENT", "AGREE", (0, 0, 0))]
    assert talk.moves[1].source is Source.SELECTED and talk.left_out == {LeftOut.NO_ACT: 2}


def test_a_selection_that_nobody_offered_is_a_final_one() -> None:
    talk = told("i want the book and both hats", deal=(1, 0, 0))
    assert lines(talk)[-1] == ("PARTNER", "END", (0, 2, 3))


def test_an_assent_that_the_talk_went_on_from_is_no_move() -> None:
    talk = told("i want the book and both hats", "ok", "actually i want one hat and all the balls", "deal", deal=(0, 1, 3))
    assert [act for _, act, _ in lines(talk)] == ["PROPOSE", "PROPOSE", "AGREE"]
    assert talk.left_out == {LeftOut.WENT_ON: 1}


def test_talks_whose_selections_clash_stay_open() -> None:
    assert [act for _, act, _ in lines(told("i want the hats", "i want the hats", outcome="disagreed"))] == ["PROPOSE", "PROPOSE"]


def test_moves_after_the_last_turn_are_cut_and_counted() -> None:
    talk = told("i want the book", "i want the hats", "i want the balls", "deal", deal=(0, 0, 3), turns=3)
    assert len(talk.moves) == 3 and talk.left_out == {LeftOut.LATE: 1}


@pytest.mark.parametrize("outcome", ["agreed", "disagreed", "no_agreement", "disconnected"])
def test_every_utterance_is_a_move_or_is_counted(outcome: DialogueOutcome) -> None:
    said = ("hi", "i want the hats", "no", "ok?", "i want the book and a hat", "ok", "no deal", "submit it", "deal", "thanks")
    for length in range(1, len(said) + 1):
        talk = told(*said[:length], outcome=outcome, deal=(1, 0, 3) if outcome == "agreed" else None, turns=50)
        spoken = sum(move.source is not Source.SELECTED for move in talk.moves)
        assert spoken + talk.left_out.total() == length
        assert all(move.side in (Side.AGENT, Side.PARTNER) for move in talk.moves)
