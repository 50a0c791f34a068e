"""Hints of a language model: what it is asked, what becomes of its replies, and what happens when it does not answer."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bargaining_table import POOL, begun, begun_with, fixed
from edgeworth.agents.hints.llm import LanguageModelHints
from edgeworth.dialogues.hint_prompt import REQUIRED, batch_variables, legal_json_schema
from edgeworth.envs.hint_injector import HintInjectorEnv, HintInjectorVectorEnv
from edgeworth.envs.negotiation import NegotiationEnv
from edgeworth.envs.negotiation_vector import NegotiationVectorEnv
from edgeworth.errors import DataError, FallbackUsed, InvalidOption, ModelUnavailable, NotRecorded, UnknownKey, UnknownName
from edgeworth.games.bargaining import rules
from edgeworth.games.bargaining.hints import Hint
from edgeworth.games.bargaining.vocabulary import Act
from edgeworth.llm.client import Client, Completion, Counted, Failure, Sampling
from edgeworth.llm.retry import Retry
from edgeworth.llm.scripted import Scripted
from edgeworth.protocol import Reason
from replies import HINT, asks_for_everything, said

DEAD = Failure("unreachable", "No server answers.")


def everybody(size: int) -> Any:
    return np.ones(size, np.bool_)


class Noted(Scripted):
    """A scripted client that also remembers how it was asked."""

    samplings: list[Sampling]

    def complete(self, batch: Any, sampling: Any, within: float | None = None) -> Any:
        self.samplings = list(sampling)
        return super().complete(batch, sampling, within)


@pytest.fixture
def quiet() -> Iterator[list[warnings.WarningMessage]]:
    """Warnings, written down instead of shown."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        yield told


# Asking


def test_all_that_are_due_are_asked_in_one_call_and_the_same_prompt_once() -> None:
    client = Scripted(asks_for_everything)
    batch = begun_with(POOL, size=40)
    due = np.arange(40) % 2 == 0
    hints = LanguageModelHints(client).give(batch, due)
    assert (client.calls, len(client.asked)) == (1, 1) and hints.given.tolist() == due.tolist()
    assert hints.at(0) == Hint(Act.PROPOSE, POOL.counts, 0.75)


def test_one_step_of_an_environment_is_one_call() -> None:
    client = Scripted(asks_for_everything)
    env = HintInjectorVectorEnv(NegotiationVectorEnv(30), LanguageModelHints(client))
    env.reset(seed=0)
    for _ in range(5):
        env.step(env.unwrapped.random_actions())
    assert client.calls == 6 and len(client.asked) <= 180


def test_every_prompt_is_sent_with_the_schema_of_its_own_moment() -> None:
    client = Noted(asks_for_everything)
    batch = begun(50, seed=3)
    LanguageModelHints(client, temperature=0.3, max_tokens=40, seed=9).give(batch, everybody(50))
    wanted = [legal_json_schema(mask, view[:3]) for mask, view in zip(batch.masks, batch.views, strict=True)]
    assert all(sampling.json_schema in wanted for sampling in client.samplings)
    assert {(s.temperature, s.max_tokens, s.seed) for s in client.samplings} == {(0.3, 40, 9)}
    moments = {(mask.tobytes(), view[:3].tobytes()) for mask, view in zip(batch.masks, batch.views, strict=True)}
    assert len({id(sampling) for sampling in client.samplings}) == len(moments), "one object for one schema"


def test_without_constraint_the_form_is_left_to_the_prompt() -> None:
    client = Noted(asks_for_everything)
    LanguageModelHints(client, constrained=False).give(begun(5), everybody(5))
    assert {sampling.json_schema for sampling in client.samplings} == {None}


def test_what_a_prompt_must_tell_decides_what_is_legal() -> None:
    """So the text of a prompt is enough to know its mask and its pool, and episodes may share a reply."""
    legal: dict[tuple[str, ...], tuple[bytes, bytes]] = {}
    batch = begun(300, seed=1, max_turns=4, min_count=0, max_count=2)
    for _ in range(8):
        for slot, values in enumerate(batch_variables(batch, everybody(300))):
            told = tuple(values[name] for name in REQUIRED)
            moment = (batch.masks[slot].tobytes(), batch.views[slot, :3].tobytes())
            assert legal.setdefault(told, moment) == moment
        batch.step(*batch.random_actions(), rules.SAME_STEP)


def test_a_prompt_that_tells_less_is_asked_less_often(tmp_path: Path) -> None:
    short = tmp_path / "short.txt"
    short.write_text("{counts_csv} {my_utils_csv} {last_offer_csv} {turns}", encoding="utf-8")
    client = Scripted(lambda messages: said(HINT, oA=[0, 0, 0]))
    batch = begun_with(POOL, size=2)
    batch.step(np.zeros(2, np.int64), np.array([[2, 1, 3], [2, 1, 2]]))
    LanguageModelHints(client, prompt=short).give(batch, everybody(2))
    assert len(client.asked) == 1 and client.asked[0][-1].content == "2,1,3 1,5,1 1,1,1 8"


def test_a_prompt_without_a_system_message_gets_ours(tmp_path: Path) -> None:
    own = tmp_path / "prompt.txt"
    own.write_text("My prompt. {counts_csv} {my_utils_csv} {last_offer_csv} {turns}")
    [consultation] = LanguageModelHints(Scripted(lambda asked: "{}"), prompt=own).consult(begun(1), everybody(1))
    assert [message.role for message in consultation.messages] == ["system", "user"]
    assert "exactly one JSON object" in consultation.messages[0].content


def test_how_much_of_the_negotiation_a_prompt_tells_is_a_setting() -> None:
    batch = begun_with(POOL)
    for _ in range(3):
        batch.step(np.array([Act.INSIST]), np.array([POOL.counts]))
    prompts: list[str] = []
    client = Scripted(lambda asked: prompts.append(asked[-1].content) or asks_for_everything(asked))
    for options in ({}, {"history_moves": 2}, {"history_characters": 60}):
        LanguageModelHints(client, **options).give(batch, everybody(1))
    told = [prompt.count("INSIST") for prompt in prompts]
    assert told[0] == 3 and told[1] < 3 and told[2] < 3 and "(4 earlier left out)" in prompts[1]
    with pytest.raises(InvalidOption, match="history_moves is -1; expected 0 or more"):
        LanguageModelHints(client, history_moves=-1)


def test_the_prompt_says_from_where_the_partner_is_taken_to_agree() -> None:
    client = Scripted(asks_for_everything)
    LanguageModelHints(client, p=0.35).give(begun(1), everybody(1))
    assert "worth about 0.35 of the whole pool" in client.asked[0][0].content


# Replies


REPLIES: dict[str, str] = {
    "no_json": "Take the hat!",
    "bad_json": '{"act_type": 1, "oA": [1',
    "masked_act": said(HINT, act_type=2),
    "over_cap": said(HINT, oA=[3, 0, 0]),
    "several_objects": said(HINT) + said(HINT, act_type=1),
    "out_of_range": said(HINT, confidence=1.5),
}


@pytest.mark.parametrize("reason", REPLIES)
def test_a_reply_that_is_no_hint_yields_neutral_features_and_is_counted(reason: str) -> None:
    env = HintInjectorEnv(NegotiationEnv(opens="agent"), LanguageModelHints(Scripted([REPLIES[reason]])))
    _, info = env.reset(seed=0, options=fixed(POOL))
    assert not info["hint_features"].any() and info["hint_rejection"].reason == Reason(reason)
    assert env.hint_counts[reason] == 1 and env.hint_counts[f"rejected_{reason}"] == 1


def test_the_counters_tell_calls_cache_hits_tokens_and_latency(tmp_path: Path) -> None:
    def answer(messages: Any) -> Completion:
        return Completion(asks_for_everything(messages), prompt_tokens=300, completion_tokens=20, seconds=0.25)

    provider = LanguageModelHints("scripted", cache=tmp_path / "replies.sqlite", client_options={"replies": answer})
    batch = begun_with(POOL, size=7)
    for _ in range(3):
        provider.give(batch, everybody(7))
    counted = provider.counters
    assert (counted["prompts"], counted["cache_hits"], counted["calls"]) == (3, 2, 1)
    assert (counted["prompt_tokens"], counted["completion_tokens"], counted["latency_p50_ms"]) == (300, 20, 250)
    assert counted["model"] == "scripted"


def test_a_consultation_shows_prompt_reply_and_verdict() -> None:
    (consulted,) = LanguageModelHints(Scripted(["?"])).consult(begun(1), everybody(1))
    assert consulted.messages[-1].content.startswith("House rules: none") and consulted.reply.text == "?"
    assert consulted.verdict.reason is Reason.NO_JSON


# Nobody answers


def test_a_dead_provider_is_told_once_and_the_environment_goes_on(quiet: list[warnings.WarningMessage]) -> None:
    client = Scripted(lambda messages: DEAD)
    env = HintInjectorVectorEnv(NegotiationVectorEnv(8), LanguageModelHints(client))
    env.reset(seed=0)
    for _ in range(20):
        *_, infos = env.step(env.unwrapped.random_actions())
        assert not infos["hint_features"].any() and {r.reason for r in infos["hint_rejection"]} == {Reason.NO_REPLY}
    assert [warning.category for warning in quiet] == [FallbackUsed]
    assert "No server answers. Where scripted does not answer, hints are neutral" in str(quiet[0].message)
    counts = env.hint_counts
    assert counts["given"] == 0 and counts["no_reply"] == counts["asked"] == 8 * 21
    assert counts["failed_unreachable"] == len(client.asked)


def test_a_dead_server_is_left_in_peace_not_waited_for_at_every_step(quiet: list[warnings.WarningMessage]) -> None:
    now = [0.0]
    client = Scripted(lambda messages: DEAD)
    patient = Retry(client, attempts=3, seed=1, clock=lambda: now[0], sleep=lambda seconds: now.__setitem__(0, now[0] + seconds))
    env = HintInjectorVectorEnv(NegotiationVectorEnv(8), LanguageModelHints(Counted(patient)))
    env.reset(seed=0)
    for _ in range(50):
        env.step(env.unwrapped.random_actions())
    assert client.calls == 3 and now[0] < 3.0 and len(quiet) == 1


def test_a_provider_that_comes_back_gives_hints_again(quiet: list[warnings.WarningMessage]) -> None:
    replies: list[Any] = [DEAD, said(HINT, oA=[0, 0, 0]), DEAD]
    provider = LanguageModelHints(Scripted(lambda messages: replies.pop(0)))
    batch = begun(1)
    assert [provider.give(batch, everybody(1)).given[0] for _ in range(3)] == [False, True, False] and len(quiet) == 1


class Unavailable(Client):
    """Says at once why it cannot be asked."""

    name = "unavailable"

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def check(self) -> None:
        raise ModelUnavailable(self.reason, "It cannot be asked.")


@pytest.mark.parametrize("reason", ["unauthorized", "unknown_model", "unreachable", "out_of_quota"])
def test_what_waiting_cannot_mend_is_raised_before_the_first_episode(reason: str) -> None:
    with pytest.raises(ModelUnavailable, match="It cannot be asked"):
        HintInjectorEnv(NegotiationEnv(), LanguageModelHints(Unavailable(reason)))


@pytest.mark.parametrize("reason", ["rate_limited", "server_error", "timeout"])
def test_a_server_that_is_only_busy_does_not_keep_a_run_from_beginning(reason: str) -> None:
    with pytest.warns(FallbackUsed, match="It cannot be asked"):
        HintInjectorEnv(NegotiationEnv(), LanguageModelHints(Unavailable(reason)))


def test_a_missing_key_is_named_before_the_first_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    with pytest.raises(ModelUnavailable, match="GROQ_API_KEY"):
        HintInjectorEnv(NegotiationEnv(), "llm", hint_options={"client": "groq", "model": "llama-3.1-8b-instant"})


# Replay, copies


def test_a_recording_gives_the_same_hints_offline(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    options = {"client": "scripted", "cache": path, "client_options": {"replies": asks_for_everything}}

    def played(**changes: Any) -> tuple[list[bytes], Any]:
        env = HintInjectorVectorEnv(NegotiationVectorEnv(6), "llm", hint_options={**options, **changes})
        shown = [env.reset(seed=4)[1]["hint_features"].tobytes()]
        shown += [env.step(env.unwrapped.random_actions())[4]["hint_features"].tobytes() for _ in range(8)]
        return shown, env.feed.provider

    recorded, provider = played()
    provider.close()
    replayed, offline = played(replay=True, client_options={"replies": []})
    assert replayed == recorded and offline.counters["calls"] == 0
    with pytest.raises(NotRecorded):
        offline.give(begun(1, seed=999), everybody(1))


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copied", "pickled"])
def test_a_copy_opens_a_client_of_its_own(twin: Any) -> None:
    env = HintInjectorEnv(NegotiationEnv(), "llm", hint_options={"client": "scripted", "client_options": {"replies": asks_for_everything}})
    _, info = env.reset(seed=2)
    other = twin(env)
    assert other.reset(seed=2)[1]["hint_features"].tobytes() == info["hint_features"].tobytes()
    assert other.feed.provider.asked is not env.feed.provider.asked and other.feed.provider.counters["prompts"] == 1


def test_a_copy_shares_a_client_that_was_given_as_an_object() -> None:
    client = Scripted(asks_for_everything)
    env = HintInjectorEnv(NegotiationEnv(), LanguageModelHints(client))
    env.reset(seed=2)
    copy.deepcopy(env).reset(seed=2)
    assert client.calls == 2


# Options


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"clint": "groq"}, UnknownKey, "Unknown setting of hint provider llm 'clint'.*Did you mean 'client'"),
        ({"client": "grok", "model": "m"}, UnknownName, "Unknown language model client 'grok'.*Did you mean 'groq'"),
        ({"client": "groq", "model": "m", "client_options": {"base_ur": "x"}}, UnknownKey, "'base_ur'.*Did you mean 'base_url'"),
        ({"client": "groq"}, InvalidOption, "The client groq needs the option 'model'"),
        ({"client": "groq", "client_options": {"model": "m"}}, InvalidOption, "give model beside client_options"),
        ({"client": Scripted([]), "model": "m"}, InvalidOption, "model belongs to a client that is opened by name"),
        ({"client": Scripted([]), "p": 1.5}, InvalidOption, "p is 1.5; expected 0.0 to 1.0"),
        ({"client": Scripted([]), "temperature": 3}, InvalidOption, "temperature is 3.0; expected 0.0 to 2.0"),
        ({"client": Scripted([]), "max_tokens": 0}, InvalidOption, "max_tokens is 0"),
        ({"client": Scripted([]), "max_tokens": "many"}, InvalidOption, "max_tokens is 'many'; expected a whole number"),
        ({"client": 3}, InvalidOption, "client is 3; expected a name"),
        ({"client": Scripted([]), "prompt": "/nowhere/prompt.txt"}, DataError, "cannot be read"),
        ({"client": "scripted", "replay": True, "client_options": {"replies": []}}, InvalidOption, "replay needs the path of a cache"),
    ],
    ids=str,
)
def test_options_are_checked_when_the_environment_is_made(options: dict[str, Any], error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        HintInjectorEnv(NegotiationEnv(), "llm", hint_options=options)


def test_the_client_is_our_own_model_unless_another_is_named() -> None:
    assert LanguageModelHints().asked.name.startswith("pocket@")


def test_the_pocket_model_gives_legal_hints() -> None:
    batch = begun(4, seed=0)
    provider = LanguageModelHints()
    provider.check(batch)
    hints = provider.give(batch, everybody(4))
    assert hints.given.all() and not hints.rejections


# What a model was trained on


class Carded(Scripted):
    """A scripted client with the card of a model that knows ten moves, pools of four, and one partner."""

    @property
    def trained_on(self) -> dict[str, Any]:
        return {"hint": {"max_turns": [2, 10], "max_count": [1, 4], "accept": [0.3, 0.9], "partner": ["heuristic"]}}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_turns": 12}, "max_turns is 12 (trained on 2 to 10)"),
        ({"max_count": 5}, "max_count is 5 (trained on 1 to 4)"),
        ({"partner_options": {"accept": 0.95}}, "accept is 0.95 (trained on 0.3 to 0.9)"),
        ({"partner": "conceder"}, "partner is 'conceder' (trained on heuristic)"),
    ],
    ids=str,
)
def test_a_game_that_the_model_was_not_trained_on_is_said_once(
    quiet: list[warnings.WarningMessage], options: dict[str, Any], words: str
) -> None:
    hints = LanguageModelHints(Carded(asks_for_everything))
    for _ in range(2):
        hints.check(begun_with(POOL, **options))
    (told,) = quiet
    assert told.category is FallbackUsed and words in str(told.message) and str(told.message).count("trained on") == 2


def test_within_what_it_was_trained_on_and_without_a_card_nothing_is_said(quiet: list[warnings.WarningMessage]) -> None:
    LanguageModelHints(Carded(asks_for_everything)).check(begun_with(POOL))
    LanguageModelHints(Scripted(asks_for_everything)).check(begun_with(POOL, max_turns=50))
    assert not quiet
