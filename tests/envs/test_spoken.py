"""Words beside the acts: an agent that reads and writes English plays through every kind of environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest

import edgeworth
from edgeworth.dialogues.acts import Conversation
from edgeworth.dialogues.sentences import TONES, note
from edgeworth.dialogues.understanding import understand
from edgeworth.envs.negotiation import NegotiationEnv
from edgeworth.errors import IllegalAction, InvalidOption, UnknownName
from edgeworth.games.bargaining.history import Move
from edgeworth.games.bargaining.vocabulary import Act, Side
from edgeworth.server.openenv_games import BargainingOpenEnv, MoveAction

CONTEXT = {"counts": [2, 2, 2], "my_utilities": [3, 1, 1], "partner_utilities": [1, 3, 1]}


def table(**options: Any) -> NegotiationEnv:
    return NegotiationEnv(**{"opens": "partner", "utterances": "plain", **options})


@pytest.mark.parametrize("tone", TONES)
def test_everything_that_is_said_says_the_move_it_stands_beside(tone: str) -> None:
    env = gymnasium.make("DealOrNoDialog-v0", utterances=tone, disable_env_checker=True)
    for seed in range(20):
        _, info = env.reset(seed=seed)
        ended = False
        while not ended:
            act = int(env.np_random.choice(info["action_mask"].nonzero()[0]))
            _, _, ended, _, info = env.step({"act_type": act, "oA": info["oA_max"] // 2})
        pool = env.unwrapped.context.counts  # type: ignore[attr-defined]
        listener = Conversation(pool)
        assert [said.side for said in info["utterances"]] == [move.side for move in info["history"]]
        for said, move in zip(info["utterances"], info["history"], strict=True):
            read = listener.read(Side(said.side), said.text)
            assert read.act == move.act and (move.share is None or read.share == move.share)
            note(listener, move)


def test_a_seed_gives_the_same_words() -> None:
    said = [table().reset(seed=5, options=CONTEXT)[1]["utterances"] for _ in range(2)]
    assert said[0] == said[1] and len(said[0]) == 1


def test_without_the_option_there_are_no_words_and_no_sentences() -> None:
    env = NegotiationEnv()
    _, info = env.reset(seed=1)
    assert "utterances" not in info
    with pytest.raises(IllegalAction, match="expected a mapping"):
        env.step("i want the hats")


def test_a_sentence_is_an_action_and_stands_in_the_agents_own_words() -> None:
    env, same = table(), table()
    env.reset(seed=5, options=CONTEXT)
    same.reset(seed=5, options=CONTEXT)
    spoken = env.step("gimme both books, u can keep the rest")
    typed = same.step({"act_type": Act.PROPOSE, "oA": [2, 0, 0]})
    assert spoken[1:4] == typed[1:4] and spoken[4]["history"] == typed[4]["history"]
    assert spoken[4]["utterances"][1] == (Side.AGENT, "gimme both books, u can keep the rest")


def test_an_unsure_sentence_is_an_error_with_the_question_back_and_changes_nothing() -> None:
    env = table()
    env.reset(seed=5, options=CONTEXT)
    with pytest.raises(IllegalAction, match="Do you mean PROPOSE") as refused:
        env.step("i want some books")
    assert refused.value.rule == "not_understood"
    *_, info = env.step("ok, deal")
    assert info["outcome"] == "AGENT_AGREED" and [said.text for said in info["utterances"]][1] == "ok, deal"


def test_an_unsure_sentence_costs_the_turn_where_illegal_actions_do() -> None:
    env = table(on_illegal="penalty")
    env.reset(seed=5, options=CONTEXT)
    _, reward, _, _, info = env.step("lovely weather")
    assert reward == -1.0 and info["utterances"][1].text == "lovely weather"


def test_an_unknown_tone_gets_a_suggestion_and_the_vector_environment_has_no_words() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'plain'"):
        NegotiationEnv(utterances="plan")
    with pytest.raises(InvalidOption, match="single environments"):
        gymnasium.make_vec("DealOrNoDialog-v0", num_envs=2, utterances="plain")


def test_two_text_agents_bargain_through_pettingzoo() -> None:
    env = edgeworth.bargaining_aec(opens="agent", utterances="firm")
    env.reset(seed=3, options=CONTEXT)
    said = ["i want everything", "no way. both hats for me and you get the rest", "fine, deal"]
    for text in said:
        env.step(text)
    assert env.infos["player_0"]["deal"] == (2, 0, 2)
    assert env.infos["player_1"]["utterances"] == tuple((n % 2, text) for n, text in enumerate(said))


def test_a_text_agent_bargains_through_openenv() -> None:
    env = BargainingOpenEnv()
    seen = env.reset(seed=5, opens="partner", utterances="friendly", **CONTEXT)
    (first,) = seen.metadata["utterances"]
    assert first["side"] == Side.PARTNER and first["text"]
    moves = [Move(move["side"], move["act"], None if move["share"] is None else tuple(move["share"])) for move in seen.metadata["history"]]
    found = understand("that works for me", tuple(seen.counts), moves, seen.metadata["action_mask"])
    assert found.move is not None
    seen = env.step(MoveAction(act_type=int(found.move.act), oA=list(found.move.share or (0, 0, 0))))
    assert seen.metadata["outcome"] == "AGENT_AGREED" and len(seen.metadata["utterances"]) == 2
