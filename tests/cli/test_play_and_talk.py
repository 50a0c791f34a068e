"""`edgeworth play` and `edgeworth talk`: typed moves and sentences, questions back, and games that are taken up again."""

from __future__ import annotations

import io
import json
import re
import shlex
import sys
from collections.abc import Callable
from typing import Any

import pytest

from edgeworth.dialogues.acts import Conversation
from edgeworth.dialogues.sentences import TONES, conversation_of, sentence
from edgeworth.dialogues.speech import Speech
from edgeworth.games.bargaining.history import Move
from edgeworth.games.bargaining.vocabulary import Act, Side
from edgeworth.llm.client import Failure
from edgeworth.llm.scripted import Scripted

Typing = Callable[..., Any]


@pytest.fixture
def typing(monkeypatch: pytest.MonkeyPatch, called: Callable[..., Any]) -> Typing:
    """A command, and what a person types."""

    def run(*words: str, typed: str) -> Any:
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        return called(*words)

    return run


AGENT_OPENS = ("--seed", "4", "--set", "opens=agent")  # 1 book, 1 hat, 4 balls
PARTNER_OPENS = ("--seed", "3", "--set", "opens=partner")  # it offers the agent 1 of each


def test_moves_that_are_shown_as_legal_are_legal(typing: Typing) -> None:
    for seed in range(6):
        shown = typing("play", "--seed", str(seed), "--set", "opens=agent", typed="q\n").out
        examples = re.findall(r"(?:propose|insist|end)(?: \d){3}", shown)
        assert len(examples) == 3
        for example in examples:
            assert "Not possible" not in typing("play", "--seed", str(seed), "--set", "opens=agent", typed=f"{example}\nq\n").out


def test_help_explains_the_five_acts_by_the_rules_of_the_game(typing: Typing) -> None:
    run = typing("play", *AGENT_OPENS, typed="help\nq\n")
    for words in ("offer a split", "take the partner's last offer", "walks away", "final selection", "nobody gets anything"):
        assert words in run.out
    assert "passes the turn" in typing("play", *AGENT_OPENS, "--set", "disagree=passes", typed="help\nq\n").out


def test_a_deal_of_one_point_is_said_to_be_one_point(typing: Typing) -> None:
    run = typing("play", "--seed", "624", "--set", "opens=partner", typed="agree\n")
    assert "1 point for you" in run.out and "you get 1 point. books" in run.out


def test_a_sentence_is_read_shown_and_made_once_it_is_confirmed(typing: Typing) -> None:
    run = typing("play", *AGENT_OPENS, typed="i want the hat\n\n")
    assert "Read as PROPOSE: you get 1 hat (6 points)." in run.out and "You: PROPOSE — you get 1 hat" in run.out


def test_a_sentence_can_be_taken_back_or_said_in_other_words(typing: Typing) -> None:
    run = typing("play", *AGENT_OPENS, typed="i want the hat\nno\ni want the book\nno wait, i want everything\nyes\nq\n")
    assert (
        run.out.count("Read as") == 3
        and "You: PROPOSE — you get 1 book, 1 hat, 4 balls" in run.out
        and "You: PROPOSE — you get 1 hat:" not in run.out
    )


def test_an_unsure_sentence_is_asked_about_and_only_a_yes_makes_it_a_move(typing: Typing) -> None:
    run = typing("play", *AGENT_OPENS, typed="some balls\n\nsome balls\nyes\nq\n")
    assert run.out.count("I am not sure. Do you mean PROPOSE") == 2 and run.out.count("You: PROPOSE") == 1


def test_more_than_the_pool_has_is_asked_about_with_what_it_would_give(typing: Typing) -> None:
    run = typing("play", *AGENT_OPENS, typed="i want nine balls\nno\nq\n")
    assert (
        "I am not sure." in run.out and "does not add up" in run.out and "It would give you 4 points." in run.out and "You:" not in run.out
    )


def test_a_spoken_no_says_that_it_ends_the_negotiation_where_it_does(typing: Typing) -> None:
    ending = "This ends the negotiation without a deal."
    assert ending in typing("talk", *PARTNER_OPENS, typed="no way\nno\nq\n").out
    assert ending not in typing("talk", *PARTNER_OPENS, "--set", "disagree=passes", typed="no way\nno\nq\n").out


@pytest.mark.parametrize(("word", "act"), [("agreed", "AGREE"), ("nope", "DISAGREE")])
def test_a_single_word_that_is_no_command_is_a_sentence(typing: Typing, word: str, act: str) -> None:
    assert f"Read as {act}" in typing("play", *PARTNER_OPENS, typed=f"{word}\nno\nq\n").out


@pytest.mark.parametrize("text", ["in my opinion we should chat", "hello"])
def test_a_sentence_without_a_move_is_refused_and_not_read_as_an_act_that_begins_like_it(typing: Typing, text: str) -> None:
    run = typing("play", *AGENT_OPENS, typed=f"{text}\nq\n")
    assert "I read no move in this" in run.out and "You:" not in run.out


def test_asking_for_what_the_partner_offers_gets_the_hint_that_agree_takes_it(typing: Typing) -> None:
    run = typing("play", *PARTNER_OPENS, typed="propose 1 1 1\nno\nagree\n")
    assert "agree takes it" in run.out and "you accepted" in run.out
    insisted = typing("play", *PARTNER_OPENS, typed="propose 1 1 1\nyes\nq\n")
    assert "You: PROPOSE — you get 1 book, 1 hat, 1 ball" in insisted.out
    instead = typing("play", *PARTNER_OPENS, typed="propose 1 1 1\ni want everything\n\nq\n")
    assert "You: PROPOSE — you get 2 books, 4 hats, 3 balls" in instead.out


@pytest.mark.parametrize("command", ["play", "talk"])
def test_a_game_that_was_left_is_taken_up_where_it_stood(typing: Typing, command: str) -> None:
    left = typing(command, *PARTNER_OPENS, typed="propose 2 4 3\ninsist 2 4 2\nquit\n")
    again = shlex.split(left.out.split("Take it up again with: edgeworth ")[1])
    assert again[-2:] == ["--moves", "propose 2 4 3; insist 2 4 2"]
    taken_up = typing(*again, typed="agree\n")
    assert taken_up.status == 0 and "5 moves left" in taken_up.out and "you accepted" in taken_up.out


@pytest.mark.parametrize("moves", ["propose 9 9 9", "i want the hats", "agree; agree; agree"])
def test_moves_that_cannot_be_made_are_refused(typing: Typing, moves: str) -> None:
    run = typing("play", *PARTNER_OPENS, "--moves", moves, typed="")
    assert run.status == 2 and "--moves: " in run.err


@pytest.mark.parametrize("tone", TONES)
def test_a_partner_answers_in_words_that_say_its_move(typing: Typing, tone: str) -> None:
    found = json.loads(typing("talk", *PARTNER_OPENS, "--tone", tone, "--json", typed="i want everything\n\ndeal\n\n").out)
    assert found["outcome"] == "AGENT_AGREED" and [one["act"] for one in found["said"]] == ["PROPOSE", "PROPOSE", "PROPOSE", "AGREE"]
    assert [one["text"] for one in found["said"] if one["side"] == "agent"] == ["i want everything", "deal"]
    listener = Conversation((2, 4, 3))
    for one in found["said"]:
        if one["side"] == "partner":
            read = listener.read(Side.PARTNER, one["text"])
            assert (read.act, read.share, one["source"]) == (Act[one["act"]], tuple(one["share"]), "template")
        if one["share"] is not None:
            listener.note_offer(Side[one["side"].upper()], tuple(one["share"]))


def test_an_unknown_tone_is_named_with_the_known_ones(typing: Typing) -> None:
    run = typing("talk", "--tone", "frendly", typed="")
    assert run.status != 0 and "Did you mean 'friendly'?" in run.err


# A language model that speaks

OFFER = Move(Side.PARTNER, Act.PROPOSE, (1, 1, 0))


def test_a_models_sentence_is_kept_where_it_says_the_move() -> None:
    model = Scripted(['"Could I have the book and one hat? You would get one hat and all three balls."'])
    said = Speech("friendly", model).say(OFFER, Conversation((1, 2, 3)), 7, 0)
    assert (said.source, said.rejected) == ("model", None) and said.text.startswith("Could I have")
    (prompt,) = model.asked
    assert (
        "friendly" in prompt[0].content
        and "You get the book and one hat; the other side gets one hat and all three balls." in prompt[1].content
    )


@pytest.mark.parametrize(
    "reply", ["I want everything!", "As a language model I cannot.", "words " * 100, Failure("timeout", "No answer in time.")]
)
def test_a_model_that_says_something_else_is_replaced_by_a_template_and_the_record_says_so(reply: Any) -> None:
    said = Speech("plain", Scripted([reply])).say(OFFER, Conversation((1, 2, 3)), 7, 0)
    assert said.text == sentence(OFFER, Conversation((1, 2, 3)), "plain", 7, 0)
    assert said.source == "template" and said.rejected and len(said.rejected) <= 300


def test_a_model_is_asked_about_acts_without_a_share_too() -> None:
    conversation = conversation_of((1, 2, 3), [OFFER])
    said = Speech("casual", Scripted(["sounds good, deal"])).say(Move(Side.AGENT, Act.AGREE, None), conversation, 7, 1)
    assert (said.text, said.source) == ("sounds good, deal", "model")


def test_talk_asks_the_model_that_is_named(monkeypatch: pytest.MonkeyPatch, typing: Typing) -> None:
    model = Scripted(lambda messages: "no comment")
    monkeypatch.setattr("edgeworth.agents.questions.client_for", lambda *_, **__: model)
    run = typing("talk", *PARTNER_OPENS, "--client", "pocket", "--json", typed="propose 2 4 3\nq\n")
    found = json.loads(run.out)
    assert found["said"][0]["source"] == "template" and found["said"][0]["rejected"] == "no comment" and len(model.asked) == 2
    assert run.err.count("Where the language model does not say exactly the partner's move, a template does") == 1
