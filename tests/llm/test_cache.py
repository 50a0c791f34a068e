"""The cache: every question is asked once, by any number of processes, and a recording can be played back offline."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import sqlite3
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from conversations import GREEDY, ask, texts

from edgeworth.errors import DataError, NotRecorded
from edgeworth.llm.cache import Cache, ReplyStore, questions
from edgeworth.llm.client import Client, Completion, Failure, Message, Messages, Sampling, TokenLogprob
from edgeworth.llm.scripted import Scripted

PROCESSES, QUESTIONS = 4, 60


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "replies.sqlite"


def echo(messages: Messages) -> str:
    return f"reply to {messages[-1].content}"


def test_a_question_is_asked_once_ever(path: Path) -> None:
    for _ in range(2):
        client = Scripted(echo)
        with Cache(client, path) as cache:
            assert texts(cache.complete(ask("a", "b"), GREEDY)) == ["reply to a", "reply to b"]
    assert client.calls == 0


def test_a_reply_from_the_cache_is_the_one_that_was_given_and_says_that_it_is_cached(path: Path) -> None:
    given = Completion("é\ud800 {\n", "length", 12, 3, (TokenLogprob("é", -0.25), TokenLogprob("}", float("-inf"))), "m-1", seconds=1.5)
    cache = Cache(Scripted([given]), path)
    assert cache.complete(ask("a"), GREEDY) == [given]
    assert cache.complete(ask("a"), GREEDY) == [replace(given, cached=True)]


def test_only_what_is_missing_is_asked_and_the_order_is_kept(path: Path) -> None:
    client = Scripted(echo)
    cache = Cache(client, path)
    cache.complete(ask("b"), GREEDY)
    assert texts(cache.complete(ask("a", "b", "c"), GREEDY)) == ["reply to a", "reply to b", "reply to c"]
    assert client.asked == ask("b", "a", "c")


def test_the_same_prompt_twice_in_a_batch_is_asked_once(path: Path) -> None:
    client = Scripted(["one", "two"])
    replies = Cache(client, path).complete(ask("a", "b", "a"), GREEDY)
    assert texts(replies) == ["one", "two", "one"] and client.asked == ask("a", "b")
    assert [isinstance(reply, Completion) and reply.cached for reply in replies] == [False, False, True]


def test_a_failure_is_never_kept(path: Path) -> None:
    cache = Cache(Scripted([Failure("timeout", "Late."), "good", "good"]), path)
    assert texts(cache.complete(ask("a", "b", "a"), GREEDY)) == ["timeout", "good", "timeout"]
    assert texts(cache.complete(ask("a"), GREEDY)) == ["good"]


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=0.5),
        Sampling(max_tokens=9),
        Sampling(stop=("x",)),
        Sampling(seed=1),
        Sampling(top_p=0.5),
        Sampling(json_schema={"type": "object"}),
        Sampling(logprobs=True),
    ],
    ids=str,
)
def test_another_sampling_is_another_question(path: Path, sampling: Sampling) -> None:
    cache = Cache(Scripted(["one", "two"]), path)
    assert texts(cache.complete(ask("a"), GREEDY) + cache.complete(ask("a"), sampling)) == ["one", "two"]


def test_another_model_is_another_question(path: Path) -> None:
    assert texts(Cache(Scripted(["one"], "first"), path).complete(ask("a"), GREEDY)) == ["one"]
    assert texts(Cache(Scripted(["two"], "second"), path).complete(ask("a"), GREEDY)) == ["two"]


def test_another_role_is_another_question(path: Path) -> None:
    cache = Cache(Scripted(["one", "two"]), path)
    replies = cache.complete([[Message("user", "a")], [Message("system", "a")]], GREEDY)
    assert texts(replies) == ["one", "two"]


def test_the_order_of_a_schema_does_not_matter() -> None:
    one, two = Sampling(json_schema={"a": 1, "b": 2}), Sampling(json_schema={"b": 2, "a": 1})
    assert questions("m", one, ask("a"))[0].key == questions("m", two, ask("a"))[0].key


def test_the_key_is_the_hash_of_one_canonical_json_object() -> None:
    (question,) = questions("m", GREEDY, ask("é"))
    content = {"model": "m", "sampling": vars(GREEDY), "messages": [["user", "é"]]}
    written = json.dumps(content, sort_keys=True, separators=(",", ":"))
    assert question.key == hashlib.sha256(written.encode()).digest()


def test_a_cache_is_a_record_of_what_was_asked(path: Path) -> None:
    sampling = Sampling(seed=3, stop=("x",))
    Cache(Scripted(["one"], "m"), path).complete([[Message("system", "s\ud800"), Message("user", "u")]], sampling)
    (record,) = ReplyStore(path).records()
    assert (record.model, record.reply.text) == ("m", "one") and Sampling(**record.sampling) == sampling
    assert record.messages == [Message("system", "s\ud800"), Message("user", "u")]


def test_a_text_that_many_prompts_share_is_kept_once(path: Path) -> None:
    shared = Message("system", "x" * 10_000)
    with Cache(Scripted(echo), path) as cache:
        cache.complete([[shared, Message("user", str(n))] for n in range(100)], GREEDY)
    assert path.stat().st_size < 100_000


def test_every_conversation_of_a_batch_may_have_its_own_sampling(path: Path) -> None:
    client = Scripted(["one", "two"])
    cache = Cache(client, path)
    assert texts(cache.complete(ask("a", "a"), [GREEDY, Sampling(seed=1)])) == ["one", "two"]
    assert texts(cache.complete(ask("a"), Sampling(seed=1))) == ["two"] and client.calls == 1


def test_a_recording_is_played_back_without_asking(path: Path) -> None:
    with Cache(Scripted(echo), path) as cache:
        cache.complete(ask("a"), GREEDY)
    silent = Scripted([])
    with Cache(silent, path, replay=True) as replayed:
        replayed.check()
        assert texts(replayed.complete(ask("a", "a"), GREEDY)) == ["reply to a"] * 2
    assert silent.calls == 0


def test_a_prompt_that_was_not_recorded_is_an_error_that_shows_it_and_the_remedy(path: Path) -> None:
    Cache(Scripted(echo), path).complete(ask("a"), GREEDY)
    with pytest.raises(NotRecorded, match=r"2 of 3 prompts.*'b' \(key [0-9a-f]{12}\).*Run once without replay") as refused:
        Cache(Scripted(echo), path, replay=True).complete(ask("a", "b", "c"), GREEDY)
    assert len(refused.value.key) == 64


def test_a_recording_of_another_model_says_whose_it_is(path: Path) -> None:
    Cache(Scripted(echo, "groq/large"), path).complete(ask("a"), GREEDY)
    with pytest.raises(NotRecorded, match=r"no reply of groq/small .* It holds replies of groq/large"):
        Cache(Scripted(echo, "groq/small"), path, replay=True).complete(ask("a"), GREEDY)


def test_replaying_what_was_never_recorded_is_refused_and_creates_nothing(path: Path) -> None:
    with pytest.raises(DataError, match="no recording to replay; run once without replay"):
        Cache(Scripted(echo), path, replay=True)
    assert not path.parent.exists()


def test_a_replay_writes_nothing(path: Path) -> None:
    with Cache(Scripted(echo), path) as cache:
        cache.complete(ask("a"), GREEDY)
    before = path.read_bytes()
    with Cache(Scripted(echo), path, replay=True) as replayed:
        replayed.complete(ask("a"), GREEDY)
    assert path.read_bytes() == before and [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("content", [b"hello", b"x" * 5000, b"SQLite format 3\0" + b"z" * 9000], ids=["text", "long", "header"])
@pytest.mark.parametrize("replay", [False, True])
def test_a_damaged_file_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes, replay: bool) -> None:
    path = tmp_path / "replies.sqlite"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"replies.sqlite: is damaged or no cache of replies .*move it away or give another path"):
        Cache(Scripted(echo), path, replay)
    assert path.read_bytes() == content


def test_a_cache_damaged_in_the_middle_is_refused_when_it_is_read(path: Path) -> None:
    with Cache(Scripted(lambda messages: "x" * 3000), path) as cache:
        cache.complete(ask(*map(str, range(50))), GREEDY)
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * len(content[4096:])
    path.write_bytes(content)
    with pytest.raises(DataError, match="is damaged"):
        Cache(Scripted(echo), path).complete(ask(*map(str, range(50))), GREEDY)
    assert path.read_bytes() == content


@pytest.mark.parametrize("replay", [False, True])
def test_the_database_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path, replay: bool) -> None:
    path = tmp_path / "photos.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE photos (name TEXT)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(DataError, match="is a database, but not a cache of replies"):
        Cache(Scripted(echo), path, replay)
    assert path.read_bytes() == before


def test_a_folder_is_no_cache(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be used"):
        Cache(Scripted(echo), tmp_path)


def test_where_two_ask_at_the_same_time_the_first_reply_stays(path: Path) -> None:
    class Overtaken(Scripted):
        """While it thinks, another process records its own reply."""

        def complete(self, batch, sampling, within=None):  # type: ignore[no-untyped-def]
            Cache(Scripted(["first"]), path).complete(batch, sampling)
            return super().complete(batch, sampling, within)

    (reply,) = Cache(Overtaken(["second"]), path).complete(ask("a"), GREEDY)
    assert isinstance(reply, Completion) and (reply.text, reply.cached) == ("first", False)


def hammer(path: Path, number: int, results: multiprocessing.Queue[list[str]]) -> None:
    """One of several processes that ask the same questions, each in its own order and with its own replies."""
    client: Client = Scripted(lambda messages: f"{messages[-1].content} by {number}")
    cache = Cache(client, path)
    order = [str((7 * k + 13 * number) % QUESTIONS) for k in range(QUESTIONS)]
    for prompt in order:
        cache.complete(ask(prompt, str(int(prompt) // 2)), GREEDY)
    results.put(texts(cache.complete(ask(*map(str, range(QUESTIONS))), GREEDY)))


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_several_processes_share_one_cache(path: Path, method: str) -> None:
    if method == "fork":
        inherited = Cache(Scripted(echo), path)  # a connection that the children must not use
        inherited.complete(ask("before"), GREEDY)
    context = multiprocessing.get_context(method)
    results: multiprocessing.Queue[list[str]] = context.Queue()
    workers = [context.Process(target=hammer, args=(path, number, results)) for number in range(PROCESSES)]
    for worker in workers:
        worker.start()
    seen = [results.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join()
    assert all(worker.exitcode == 0 for worker in workers)
    assert all(one == seen[0] for one in seen), "every process sees the same reply to the same question"
    assert len(ReplyStore(path)) == QUESTIONS + (method == "fork")


def test_a_cache_survives_a_fork_while_it_is_open(path: Path) -> None:
    cache = Cache(Scripted(echo), path)
    cache.complete(ask("a"), GREEDY)
    if (child := os.fork()) == 0:
        same = texts(cache.complete(ask("a", "b"), GREEDY)) == ["reply to a", "reply to b"]
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert texts(cache.complete(ask("b"), GREEDY)) == ["reply to b"]


def test_threads_share_one_cache(path: Path) -> None:
    cache = Cache(Scripted(echo), path)
    wrong: list[str] = []

    def work() -> None:
        for k in range(30):
            if texts(cache.complete(ask(str(k)), GREEDY)) != [f"reply to {k}"]:
                wrong.append(str(k))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and len(cache.store) == 30
