"""Decoding against a slow reference: a plain model asked anew for every token, one conversation at a time, without any memory."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import llguidance
import numpy as np
import pytest
import torch
from conversations import ask, texts
from llguidance.hf import from_tokenizer
from local_prompts import Moment, hint_moments, mechanism_moments
from transformers import AutoModelForCausalLM, AutoTokenizer

from edgeworth.llm.client import Client, Completion, Failure, Message, Sampling
from edgeworth.llm.huggingface import HuggingFace
from edgeworth.llm.local.grammar import grammar_of, schema_text
from edgeworth.llm.local.kv_cache import PackedCache
from edgeworth.protocol import Accepted, parse_reply

MANY = Sampling(max_tokens=400)


class Reference:
    """The same model as transformers loads it."""

    def __init__(self, folder: Path) -> None:
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.table = from_tokenizer(self.tokenizer)

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        said = [{"role": message.role, "content": message.content} for message in messages]
        tokens: list[int] = self.tokenizer.apply_chat_template(said, add_generation_prompt=True, return_dict=False)
        return tokens

    @torch.inference_mode()
    def logits(self, tokens: list[int]) -> torch.Tensor:
        answer: torch.Tensor = self.model(torch.tensor([tokens]), use_cache=False).logits[0, -1]
        return answer

    def constrained(self, moment: Moment) -> tuple[str, list[float]]:
        """The greedy reply under a grammar, and the log-probability of each of its tokens."""
        matcher = llguidance.LLMatcher(self.table, grammar_of(schema_text(moment.json_schema)))
        prompt, reply, scores = self.prompt(moment.messages), list[int](), list[float]()
        while True:
            forced = matcher.compute_ff_tokens()[:1]
            if forced:
                token, score = forced[0], 0.0
            elif matcher.is_stopped():
                return self.tokenizer.decode(reply), scores
            else:
                bits = np.unpackbits(np.frombuffer(matcher.compute_bitmask(), np.uint8), bitorder="little")
                allowed = torch.from_numpy(bits[: len(self.tokenizer)].astype(bool))
                shares = torch.log_softmax(self.logits(prompt + reply).masked_fill(~allowed, -torch.inf), dim=0)
                token = int(shares.argmax())
                score = float(shares[token])
            matcher.consume_token(token)
            reply.append(token)
            scores.append(score)

    def free(self, messages: Sequence[Message], count: int) -> tuple[list[int], list[float]]:
        """The greedy reply without a grammar."""
        prompt, reply, scores = self.prompt(messages), list[int](), list[float]()
        while len(reply) < count:
            shares = torch.log_softmax(self.logits(prompt + reply), dim=0)
            token = int(shares.argmax())
            if token == self.tokenizer.eos_token_id:
                break
            reply.append(token)
            scores.append(float(shares[token]))
        return reply, scores


@pytest.fixture(scope="module")
def reference(tiny_folder: Path) -> Reference:
    return Reference(tiny_folder)


def asked(client: Client, moments: Sequence[Moment], sampling: Sampling = MANY) -> list[Completion]:
    replies = client.complete([m.messages for m in moments], [replace(sampling, json_schema=m.json_schema) for m in moments])
    assert all(isinstance(reply, Completion) for reply in replies), replies
    return replies  # type: ignore[return-value]


MIXED = [*hint_moments(6), *mechanism_moments(3)]


def test_constrained_replies_and_their_probabilities_are_those_of_the_reference(tiny: HuggingFace, reference: Reference) -> None:
    for moment, reply in zip(MIXED, asked(tiny, MIXED, replace(MANY, logprobs=True)), strict=True):
        text, scores = reference.constrained(moment)
        assert (reply.text, reply.finish_reason) == (text, "stop")
        assert reply.logprobs is not None and "".join(token for token, _ in reply.logprobs) == text
        assert [score for _, score in reply.logprobs] == pytest.approx(scores, abs=1e-4)
        assert reply.completion_tokens == len(scores) and reply.prompt_tokens == len(reference.prompt(moment.messages))


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_batch_writes_what_each_would_write_alone(tiny: HuggingFace, temperature: float) -> None:
    sampling = replace(MANY, temperature=temperature, seed=3, logprobs=True)
    together = asked(tiny, MIXED, sampling)
    alone = [asked(tiny, [moment], sampling)[0] for moment in reversed(MIXED)][::-1]
    assert texts(together) == texts(alone)
    for one, other in zip(together, alone, strict=True):
        assert one.logprobs is not None and other.logprobs is not None
        assert [p for _, p in one.logprobs] == pytest.approx([p for _, p in other.logprobs], abs=1e-4)


def test_a_prompt_that_is_asked_several_times_is_read_once_and_answered_as_alone(
    tiny: HuggingFace, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampling, read = replace(MANY, temperature=1.0, seed=3), list[int]()
    alone = asked(tiny, MIXED, sampling)
    run = PackedCache.run
    monkeypatch.setattr(PackedCache, "run", lambda cache, runs: read.append(sum(len(tokens) for _, tokens in runs)) or run(cache, runs))
    asked(tiny, MIXED, sampling)
    once = max(read)
    read.clear()
    repeated = asked(tiny, [moment for moment in MIXED for _ in range(4)], sampling)
    assert texts(repeated) == [text for text in texts(alone) for _ in range(4)]
    assert max(read) <= once


@pytest.mark.parametrize("batch_size", [1, 3])
def test_the_size_of_a_batch_changes_nothing(tiny: HuggingFace, tiny_folder: Path, batch_size: int) -> None:
    assert texts(asked(HuggingFace(tiny_folder, batch_size=batch_size), MIXED)) == texts(asked(tiny, MIXED))


def test_free_replies_are_those_of_the_reference(tiny: HuggingFace, reference: Reference) -> None:
    batch = ask("hello", "Pool (books, hats, balls): 1,2,3", "")
    for messages, reply in zip(batch, tiny.complete(batch, Sampling(max_tokens=24, logprobs=True)), strict=True):
        tokens, scores = reference.free(messages, 24)
        assert isinstance(reply, Completion) and reply.logprobs is not None
        assert reply.text == reference.tokenizer.decode(tokens, skip_special_tokens=True)
        assert [score for _, score in reply.logprobs] == pytest.approx(scores, abs=1e-4)
        assert reply.finish_reason == ("length" if len(tokens) == 24 else "stop")


@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_an_untrained_model_always_meets_its_schema(tiny_folder: Path, temperature: float) -> None:
    moments = [*hint_moments(60, 4), *mechanism_moments(8)]
    written, client = set(), HuggingFace(tiny_folder, batch_size=128)
    for seed in range(4):
        for moment, reply in zip(moments, asked(client, moments, Sampling(temperature, 400, seed=seed)), strict=True):
            assert reply.finish_reason == "stop"
            assert isinstance(parse_reply(reply.text, moment.schema), Accepted), reply.text
            written.add(reply.text)
    assert len(written) > 500


def test_a_seed_repeats_a_reply_and_another_seed_changes_it(tiny: HuggingFace) -> None:
    drawn = [texts(asked(tiny, MIXED, replace(MANY, temperature=1.0, seed=seed))) for seed in (1, 1, 2, None, None)]
    assert drawn[0] == drawn[1] != drawn[2] and drawn[3] != drawn[4]


def test_half_precision_meets_its_schema_too(tiny_folder: Path) -> None:
    with HuggingFace(tiny_folder, dtype="bfloat16") as client:
        for moment, reply in zip(MIXED, asked(client, MIXED, replace(MANY, temperature=1.0, seed=1)), strict=True):
            assert isinstance(parse_reply(reply.text, moment.schema), Accepted)


def test_top_p_near_zero_is_greedy(tiny: HuggingFace) -> None:
    assert texts(asked(tiny, MIXED, replace(MANY, temperature=1.0, top_p=1e-6, seed=1))) == texts(asked(tiny, MIXED))


def test_a_temperature_that_is_left_open_is_the_models_own(tiny: HuggingFace) -> None:
    assert texts(asked(tiny, MIXED, replace(MANY, temperature=None))) == texts(asked(tiny, MIXED))


def test_a_reply_that_is_too_long_is_cut_off_and_says_so(tiny: HuggingFace) -> None:
    whole = asked(tiny, MIXED[:2])
    for full, cut in zip(whole, asked(tiny, MIXED[:2], Sampling(max_tokens=9)), strict=True):
        assert (cut.finish_reason, cut.completion_tokens) == ("length", 9) and full.text.startswith(cut.text)
    exactly = asked(tiny, MIXED[:1], Sampling(max_tokens=whole[0].completion_tokens))[0]
    assert (exactly.text, exactly.finish_reason) == (whole[0].text, "stop")


def test_a_stop_text_ends_a_reply_before_it(tiny: HuggingFace) -> None:
    (whole,) = asked(tiny, MIXED[:1], replace(MANY, logprobs=True))
    (cut,) = asked(tiny, MIXED[:1], replace(MANY, stop=("nowhere", ', "conf'), logprobs=True))
    assert cut.text == whole.text.partition(', "conf')[0] and cut.finish_reason == "stop"
    assert cut.logprobs is not None and whole.logprobs is not None and "".join(t for t, _ in cut.logprobs).startswith(cut.text)
    assert len(cut.logprobs) == cut.completion_tokens < len(whole.logprobs)


def test_the_end_token_ends_a_free_reply(tiny: HuggingFace, reference: Reference) -> None:
    sampling = Sampling(temperature=2.0, max_tokens=3000)
    replies = [tiny.complete(ask("hello"), replace(sampling, seed=seed))[0] for seed in range(3)]
    assert all(isinstance(reply, Completion) for reply in replies)
    ended = [reply for reply in replies if isinstance(reply, Completion) and reply.finish_reason == "stop"]
    assert ended and all("<|end|>" not in reply.text and reply.completion_tokens < 3000 for reply in ended)


def test_prompts_with_and_without_a_schema_can_be_mixed(tiny: HuggingFace) -> None:
    batch = [MIXED[0].messages, ask("hello")[0], MIXED[-1].messages]
    samplings = [replace(MANY, json_schema=MIXED[0].json_schema), Sampling(max_tokens=5), replace(MANY, json_schema=MIXED[-1].json_schema)]
    together = tiny.complete(batch, samplings)
    assert texts(together) == [texts(tiny.complete([messages], one))[0] for messages, one in zip(batch, samplings, strict=True)]


def test_what_is_not_finished_in_time_is_a_timeout_with_its_remedy(tiny: HuggingFace) -> None:
    started = time.monotonic()
    (reply,) = tiny.complete(ask("hello"), Sampling(max_tokens=4000, temperature=2.0, seed=1), within=0.002)
    assert isinstance(reply, Failure) and reply.reason == "timeout" and time.monotonic() - started < 2.0
    assert "No finished reply of" in reply.message and "`max_tokens`" in reply.message
    assert texts(tiny.complete(ask("a", "b"), Sampling(), within=0.0)) == ["timeout", "timeout"]


def test_a_reply_ends_where_the_context_ends(tiny_folder: Path, tiny: HuggingFace) -> None:
    room = 30
    with HuggingFace(tiny_folder) as client:
        client.check()
        loaded: Any = client._loaded
        loaded.context = len(loaded.encode([loaded.conversation(ask("hello")[0])])[0]) + room
        (reply,) = client.complete(ask("hello"), Sampling(max_tokens=500))
        assert isinstance(reply, Completion) and reply.completion_tokens <= room
        (long,) = client.complete(ask("hello " * 200), Sampling(max_tokens=500))
        assert isinstance(long, Failure) and long.reason == "too_long"
