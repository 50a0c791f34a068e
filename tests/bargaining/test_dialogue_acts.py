"""Reading what people write: one test per group of rules, in invented sentences, and what must hold of any text at all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from edgeworth.dialogues.acts import Conversation, Reading, read_conversation
from edgeworth.dialogues.deal_or_no_dialog import read_dialogues
from edgeworth.dialogues.offers import Evidence
from edgeworth.dialogues.words import words_of
from edgeworth.errors import InvalidContext
from edgeworth.evaluation.labelled import measure_labelled, read_labelled
from edgeworth.evaluation.parsing import distinct
from edgeworth.games.bargaining.contexts import Triple
from edgeworth.games.bargaining.vocabulary import Act, Side

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "deal_or_no_dialog"
LABELLED = Path(__file__).resolve().parents[1] / "data" / "labelled_utterances.jsonl"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "dialogue_acts.md"
POOL = (1, 2, 3)


def reading(*said: str, pool: Triple = POOL) -> Reading:
    """What the last of these utterances is read as; they alternate, and the last is the agent's."""
    talk = Conversation(pool)
    for n, text in enumerate(said):
        talk.hear(Side.AGENT if (len(said) - n) % 2 else Side.PARTNER, text)
    return talk.readings[-1]


def share(*said: str, pool: Triple = POOL) -> Triple | None:
    return reading(*said, pool=pool).share


# Words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I'll take 2 hats!", ["i", "will", "take", "2", "hats", "!"]),
        ("cant do", ["can", "not", "do"]),
        ("gimme thehat & a bok", ["give", "me", "the", "hat", "and", "a", "book"]),
        ("two basketballs, u get everythign", ["2", "balls", ",", "you", "get", "everything"]),
        ("2balls", ["2", "balls"]),
        ("looks good", ["looks", "good"]),
        ("", []),
    ],
)
def test_words_come_in_one_spelling(text: str, words: list[str]) -> None:
    assert words_of(text) == words


# Mentions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i want the hats", (0, 2, 0)),
        ("i want a hat and one of the balls", (0, 1, 1)),
        ("i want both hats", (0, 2, 0)),
        ("i want all 3 balls", (0, 0, 3)),
        ("i want all the balls but one", (0, 0, 2)),
        ("i want everything but the book", (0, 2, 3)),
        ("i want all but one hat", (1, 1, 3)),
        ("i want one of each", (1, 1, 1)),
        ("i get one hat, you get the other hat", (0, 1, 0)),
        ("you can have the hats, i want everything else", (1, 0, 3)),
        ("i like hats so i take both", (0, 2, 0)),
        ("i get 7 balls", (0, 0, 3)),
    ],
)
def test_a_mention_says_which_items_and_how_many(text: str, expected: Triple) -> None:
    assert share(text) == expected


# Owners


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("can i have the book", (1, 0, 0)),
        ("you can have the book", (0, 2, 3)),
        ("i'll give you the balls", (1, 2, 0)),
        ("give me the balls", (0, 0, 3)),
        ("take the hats", (1, 0, 3)),
        ("let me get the hats", (0, 2, 0)),
        ("hats for me, balls and book for you", (0, 2, 0)),
        ("the balls are yours", (1, 2, 0)),
        ("you the hats, me the rest", (1, 0, 3)),
        ("i'll trade you the hats for the book and the balls", (1, 0, 3)),
        ("you get the rest, i only need the book", (1, 0, 0)),
        ("two hats and the book if i can have the balls", (0, 0, 3)),
        ("the balls are worth nothing to me, i want the book", (1, 0, 0)),
        ("no deal without the book", (1, 0, 0)),
        ("i don't need the balls but i want the book and the hats", (1, 2, 0)),
    ],
)
def test_items_go_to_whom_the_sentence_names(text: str, expected: Triple) -> None:
    assert share(text) == expected


def test_a_split_gives_each_side_half() -> None:
    assert share("split the hats, and i take the book, you take the balls") == (1, 1, 0)
    assert share("one hat each, the book for me and the balls for you") == (1, 1, 0)


# Ordinary chat


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 book, zero hats, 2 balls", (1, 0, 2)),
        ("you get no book, no hats and one ball", (1, 2, 2)),
        ("none of the hats, just the book", (1, 0, 0)),
        ("the book and not a single hat or ball", (1, 0, 0)),
        ("everything but a hat", (1, 1, 3)),
        ("everything save a ball for me", (1, 2, 2)),
        ("you have everything apart from the book", (1, 0, 0)),
        ("i want the hats. scratch that, the book", (1, 0, 0)),
        ("i want the book and two hats, i mean one hat", (1, 1, 0)),
        ("you get the ball. no, you get the hats", (1, 0, 3)),
        ("two out of the three balls", (0, 0, 2)),
        ("the book and a third of the balls", (1, 0, 1)),
        ("i don't want anything but the book", (1, 0, 0)),
        ("i want it all", (1, 2, 3)),
        ("you can have everything", (0, 0, 0)),
        ("imma take teh htas, rest is urs", (0, 2, 0)),
        ("i don't want any balls, just one hat and the book", (1, 1, 0)),
        ("i'm not interested in the balls, only the book", (1, 0, 0)),
        ("you can have none of the hats but every ball and the book", (0, 2, 0)),
        ("you would end up with both hats and one ball", (1, 0, 2)),
        ("for me: 1 book, 2 balls. for you: 2 hats, 1 ball", (1, 0, 2)),
        ("book: 1, hats: 0, balls: 2 for me", (1, 0, 2)),
        ("i get balls x2 and 1x hat", (0, 1, 2)),
        ("take whatever you want, other than the book", (1, 0, 0)),
        ("i want the book and a hat, on second thought just the book", (1, 0, 0)),
        ("i want both hats. forget the hats, i take the book", (1, 0, 0)),
        ("the book and two balls for me, forget the balls", (1, 0, 0)),
        ("anything but the balls is yours", (0, 0, 3)),
        ("all the balls bar one", (0, 0, 2)),
        ("the book and the hats, i mean the balls, not the hats", (1, 0, 3)),
        ("both hats. sorry, meant to write the book", (1, 0, 0)),
        ("balls 2 hats 0 book 1 for me", (1, 0, 2)),
        ("my share would be: hats 2, balls 0", (0, 2, 0)),
        ("you get no book and one of everything else", (1, 1, 2)),
        ("i don't need a book, the hats are what i want", (0, 2, 0)),
        ("gotta have the hats", (0, 2, 0)),
        ("no way am i not getting the book", (1, 0, 0)),
    ],
)
def test_chat_says_who_gets_what(text: str, expected: Triple) -> None:
    assert share(text) == expected


@pytest.mark.parametrize(
    "text", ["let's split everything evenly", "50/50?", "half for you, half for me", "we share everything equally", "an equal division?"]
)
def test_an_even_split_halves_the_pool_where_it_can_be_halved(text: str) -> None:
    assert share(text, pool=(2, 4, 2)) == (1, 2, 1)
    assert not reading(text, pool=(1, 2, 3)).sure


@pytest.mark.parametrize(
    "text",
    [
        "then i'd be left with the book and the balls, so no",
        "both hats for you? no way",
        "the book and three balls is not enough for me",
        "you keeping both hats is unfair",
        "giving you both hats is out of the question",
        "i only get the book and the balls, so i'll pass",
        "giving you both hats isn't something i can do",
        "nothing but the book and the balls for me? get lost",
        "if you get both hats and i get the rest i lose, so sorry no",
    ],
)
def test_an_offer_repeated_to_refuse_it_is_a_refusal(text: str) -> None:
    assert reading("i want both hats, you get the rest", text).act is Act.DISAGREE


@pytest.mark.parametrize("text", ["both hats for you is not going to fly", "the book and the balls, that's a no from me"])
def test_a_refusal_is_known_without_the_word_deal(text: str) -> None:
    assert reading("i want both hats, you get the rest", text).act is Act.DISAGREE


@pytest.mark.parametrize("text", ["my offer stands", "i'm sticking with my offer"])
def test_ones_own_offer_is_insisted_on_by_its_name(text: str) -> None:
    conversation = Conversation((1, 2, 3))
    conversation.note_offer(Side.AGENT, (1, 0, 2))
    found = conversation.hear(Side.AGENT, text)
    assert (found.act, found.share) == (Act.INSIST, (1, 0, 2)) and found.sure


@pytest.mark.parametrize(
    "text",
    [
        "i can't refuse that",
        "no objections",
        "i don't mind that",
        "not bad at all",
        "i won't say no",
        "there's no reason not to accept",
        "never would i turn that down",
        "i won't not take it",
        "i'd be crazy not to take it",
        "i don't see why i wouldn't accept",
        "it's not like i can refuse",
    ],
)
def test_two_negations_assent(text: str) -> None:
    assert reading("i want both hats, you get the rest", text).act is Act.AGREE


@pytest.mark.parametrize("text", ["sorry, no", "i'll have to turn that down", "pass", "too steep for me"])
def test_a_refusal_may_be_all_that_is_said(text: str) -> None:
    assert reading("i want both hats, you get the rest", text).act is Act.DISAGREE


def test_an_offer_repeated_in_words_that_no_rule_knows_is_asked_about() -> None:
    found = reading("i want both hats, you get the rest", "you get both hats? bonkers")
    assert found.act in (None, Act.DISAGREE) or not found.sure
    assert not reading("i want both hats, you get the rest", "the hats for you would be bonkers").sure


def test_asking_for_everything_is_no_assent() -> None:
    found = reading("i want both hats, you get the rest", "i want everything")
    assert (found.act, found.share) == (Act.PROPOSE, (1, 2, 3))


@pytest.mark.parametrize("text", ["i want a fair deal", "propose something fair", "give me a better deal", "let's be fair"])
def test_what_the_speaker_would_like_is_no_assent_without_asking(text: str) -> None:
    assert not reading("i want both hats, you get the rest", text).sure
    assert reading("i want both hats, you get the rest", "that would be a fair deal").act is Act.AGREE


@pytest.mark.parametrize(
    "text",
    ["i want some balls", "the hats or the book for me", "most of the balls", "a hat for me, the book for you", "the book and 2 blas"],
)
def test_what_could_mean_several_things_is_not_sure(text: str) -> None:
    assert not reading(text).sure


@pytest.mark.parametrize("text", ["i want two books", "you get 3 hats and i get the rest", "i can't give you all the hats"])
def test_more_than_the_pool_has_and_a_part_that_is_refused_are_asked_back(text: str) -> None:
    assert reading(text).act is Act.PROPOSE and not reading(text).sure


def test_one_more_comes_on_top_of_the_standing_offer() -> None:
    offered = "you get one hat and one ball, i take the rest"
    assert share(offered, "give me one more ball") == (0, 1, 2)
    assert share(offered, "you can have another ball") == (0, 1, 0)
    assert share("one more ball for me and the rest for you") == (0, 0, 1)
    assert not reading(offered, "i need three more balls").sure


def test_an_unknown_word_or_a_negation_makes_a_reading_less_sure() -> None:
    plain, odd, negated = (reading(f"{word} i want the book and you get the rest") for word in ("well", "gadzooks", "no"))
    assert plain.confidence > 0.95 > odd.confidence and negated.confidence < 0.95


def test_sentences_outside_development_are_read_right_and_the_surest_of_them_nearly_always() -> None:
    names = ("held_out", "fresh", "fresh_2", "fresh_3", "fresh_4", "fresh_5", "fresh_6")
    measured = measure_labelled([one for name in names for one in read_labelled(LABELLED.with_name(f"{name}_utterances.jsonl"))])
    assert measured["utterances"] >= 910 and measured["accuracy"]["value"] >= 0.93
    assert measured["very_sure"]["n"] >= 140 and measured["very_sure"]["value"] >= 0.95


# Offers in the light of the talk


def test_an_amendment_changes_one_part_of_the_offer_that_stands() -> None:
    assert share("you get the book, i take the rest", "can i have one hat too?") == (1, 1, 0)
    assert share("you get the book, i take the rest", "ok but i need one ball") == (1, 0, 1)


def test_the_rest_alone_is_what_the_other_side_did_not_claim() -> None:
    found = reading("i want the hats", "then i take the rest")
    assert (found.share, found.act) == ((1, 0, 3), Act.AGREE)


def test_a_bare_list_is_for_the_side_that_it_fits() -> None:
    assert share("i want the hats and the balls", "how about the hats and 2 balls?") == (1, 0, 1)
    assert share("i want the book", "ok, the hats and the balls") == (0, 2, 3)


def test_an_offer_named_by_its_place_is_that_offer() -> None:
    found = reading("i want the hats", "i want one hat", "then i want the balls too", "ok, i agree to your first offer")
    assert (found.share, found.act) == ((1, 0, 3), Act.AGREE)


def test_an_odd_number_or_a_vague_one_lowers_the_confidence() -> None:
    sure, vague = reading("i want the book and 1 hat"), reading("i want the book and the hat")
    assert sure.evidence is Evidence.REMAINDER and vague.evidence is Evidence.VAGUE
    assert vague.confidence < sure.confidence


# Acts


@pytest.mark.parametrize(
    ("said", "act"),
    [
        (("i want the hats",), Act.PROPOSE),
        (("i want the hats", "no, i want the hats"), Act.PROPOSE),
        (("i want the hats", "no", "i need both hats"), Act.INSIST),
        (("i want the hats", "deal"), Act.AGREE),
        (("i want the hats", "you take the hats, i take book and balls"), Act.AGREE),
        (("i want the hats", "not great, but fine"), Act.AGREE),
        (("i want the hats", "no way"), Act.DISAGREE),
        (("i want the hats", "i can't agree to that"), Act.DISAGREE),
        (("i want the hats", "no problem"), Act.AGREE),
        (("i want the hats", "no deal then", "ok"), Act.DISAGREE),
        (("i want the hats", "hm", "deal?"), Act.INSIST),
        (("i want the hats", "let us end this and submit"), Act.END),
        (("i want the hats", "i'm leaving the table"), Act.END),
        (("ok",), None),
        (("hello, what would you like?",), None),
    ],
)
def test_an_utterance_has_the_act_that_the_talk_gives_it(said: tuple[str, ...], act: Act | None) -> None:
    assert reading(*said).act == act


def test_an_agreement_carries_the_share_that_was_agreed_to() -> None:
    assert share("i want the hats", "deal") == (1, 0, 3)
    assert share("i want the hats", "no way") is None


def test_labelled_utterances_are_read_as_labelled() -> None:
    measured = measure_labelled(read_labelled(LABELLED))
    assert measured["utterances"] >= 150
    assert measured["act_accuracy"]["value"] >= 0.95
    assert measured["split_accuracy"]["value"] >= 0.95


def test_the_misses_that_the_page_tells_are_still_read_so() -> None:
    rows = re.findall(r"^\| (\d,\d,\d) \| (.*?) \| (\d,\d,\d) \| (\d,\d,\d) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) == 10
    for pool, said, read, deal in rows:
        talk = Conversation(triple(pool))
        for utterance in said.split(" · "):
            speaker, words = utterance.split(": ", 1)
            talk.hear(Side.AGENT if speaker == "A" else Side.PARTNER, words)
        assert talk.last_offer == triple(read) != triple(deal), said


def triple(text: str) -> Triple:
    a, b, c = (int(n) for n in text.split(","))
    return (a, b, c)


# Any text

VOCABULARY = (
    "i you me we the a all both no not but and or for to if 1 2 3 book books hat hats ball balls rest everything else other one each of"
    " them it take give have need want get keep split deal ok yes ? . , without except half mine yours then too 0 99"
)
WORDS = st.sampled_from(VOCABULARY.split())
TEXTS = st.one_of(st.text(max_size=60), st.lists(WORDS, max_size=14).map(" ".join))
TALKS = st.lists(st.tuples(st.sampled_from(("YOU", "THEM")), TEXTS), max_size=8)
POOLS = st.tuples(*[st.integers(0, 10)] * 3)


@given(POOLS, TALKS)
@example((0, 0, 0), [("YOU", "all but all but 1"), ("THEM", "the other 1 of them")])
@example((1, 2, 3), [("YOU", "²① 1000000000000000000000 hats")])
def test_any_text_is_read_the_same_way_twice_and_within_the_pool(pool: Triple, said: list[tuple[str, str]]) -> None:
    talk, again = read_conversation(pool, said), read_conversation(pool, said)  # type: ignore[arg-type]
    assert talk.readings == again.readings and len(talk.readings) == len(said)
    for found in talk.readings:
        assert 0 <= found.confidence <= 1
        assert found.share is None or all(0 <= units <= count for units, count in zip(found.share, pool, strict=True))


@given(POOLS, TALKS)
def test_both_sides_read_the_same_talk(pool: Triple, said: list[tuple[str, str]]) -> None:
    turned = [("THEM" if speaker == "YOU" else "YOU", text) for speaker, text in said]
    mine, theirs = read_conversation(pool, said), read_conversation(pool, turned)  # type: ignore[arg-type]
    assert [(r.act, r.share, r.confidence) for r in mine.readings] == [(r.act, r.share, r.confidence) for r in theirs.readings]
    if mine.last_offer is not None and theirs.last_offer is not None:
        assert tuple(a + b for a, b in zip(mine.last_offer, theirs.last_offer, strict=True)) == pool


def test_a_pool_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidContext, match="pool is"):
        Conversation((1, 2, -3))


# People


@pytest.mark.skipif(not DATA.is_dir(), reason="the public dialogues are not at hand")
@pytest.mark.parametrize(("split", "every"), [("train", 4), ("val", 1)])
def test_the_last_offer_of_an_agreed_dialogue_is_mostly_the_deal(split: str, every: int) -> None:
    agreed = [d for d in distinct(read_dialogues(DATA, split)) if d.outcome == "agreed"][::every]
    right = sum(read_conversation(d.context.counts, d.utterances).last_offer == d.my_share for d in agreed)
    assert right / len(agreed) >= 0.93
