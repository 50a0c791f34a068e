"""The designer that asks a language model: what it is told, what becomes of its replies, and what is posted where there is none."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auction_house import opened
from edgeworth.agents.designers.bundled import bundled_mechanism
from edgeworth.agents.designers.design_prompt import MECHANISM_SCHEMA, design_variables, load_design_prompt
from edgeworth.agents.designers.designer import play
from edgeworth.agents.designers.fixed import Fixed
from edgeworth.agents.designers.language_model import OPENING, LanguageModel
from edgeworth.agents.questions import client_name
from edgeworth.config import AuctionConfig
from edgeworth.envs.daedalus import DaedalusEnv
from edgeworth.errors import DataError, FallbackUsed, IllegalAction, InvalidOption, ModelUnavailable, NotRecorded, UnknownKey, UnknownName
from edgeworth.games.auction.action import action_of, mechanism_rows
from edgeworth.games.auction.batch import MarketBatch
from edgeworth.games.auction.market_view import StepHistory
from edgeworth.games.auction.vocabulary import RULES
from edgeworth.llm.client import Completion, Failure, Messages, Reply, Sampling, Samplings
from edgeworth.llm.scripted import Scripted
from edgeworth.protocol import Reason
from replies import MECHANISM, said

SHORT = AuctionConfig(stage="stages", episode_length=3)
FAULTS: dict[str, tuple[str | Reply, str]] = {
    "failure": (Failure("timeout", "No answer in 5 s."), "timeout"),
    "garbage": ("I would rather sell by lottery.", "no_json"),
    "nothing": ("", "no_json"),
    "broken off": (said(MECHANISM)[:50], "bad_json"),
    "out of range": (said(MECHANISM, reserve_price=7), "out_of_range"),
    "not finite": (said(MECHANISM).replace("0.15", "NaN"), "not_finite"),
    "another word": (said(MECHANISM, auction_type="dutch"), "unknown_word"),
    "another kind": (said(MECHANISM, reveal_reserve="yes"), "bad_type"),
    "a field too few": (said(MECHANISM, coalition_policy=...), "missing_key"),
    "a field too many": (said(MECHANISM, tax=1), "unknown_key"),
    "two mechanisms": (said(MECHANISM) + said(MECHANISM, reserve_price=0.2), "several_objects"),
}
every_fault = pytest.mark.parametrize(("reply", "reason"), FAULTS.values(), ids=FAULTS.keys())


def by_length(messages: Messages) -> str:
    """A legal mechanism that depends on what was told."""
    return said(MECHANISM, reserve_price=len(messages[-1].content) % 90 / 100)


def first_then(reply: str | Reply) -> Scripted:
    """A model that writes one legal mechanism and then always this."""
    return Scripted(lambda messages: said(MECHANISM) if "Steps played: 0 of" in messages[-1].content else reply)


def quietly(designer: LanguageModel, config: AuctionConfig = SHORT, episodes: int = 2) -> Any:
    """Play on, whatever is told on the way."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackUsed)
        return play(designer, config, episodes, seed=3)


# What is asked


def test_what_the_model_writes_is_posted() -> None:
    designer = LanguageModel(Scripted(lambda messages: f"Here it is: {said(MECHANISM)}"))
    constant = Fixed(bundled_mechanism("mixed").model_copy(update=MECHANISM))
    assert np.array_equal(play(designer, SHORT, 4, seed=3), play(constant, SHORT, 4, seed=3))
    assert {verdict.posted for verdict in designer.verdicts} == {"reply"} and designer.counters["posted"]["reply"] == 12


def test_all_markets_of_a_step_go_out_in_one_call_and_each_different_prompt_once() -> None:
    model = Scripted(by_length)
    play(LanguageModel(model), AuctionConfig(stage="stages", episode_length=2), 50, seed=3)
    first, second = model.asked[:1], model.asked[1:]
    assert model.calls == 2 and "Steps played: 0 of 2" in first[0][-1].content
    assert 40 < len(second) <= 50 and all("Steps played: 1 of 2" in messages[-1].content for messages in second)


def test_identical_markets_are_asked_for_once_and_share_the_reply() -> None:
    model = Scripted(by_length)
    designer = LanguageModel(model)
    batch = MarketBatch(AuctionConfig(), 3)
    batch.seed([7, 8, 7])
    batch.reset()
    history = StepHistory(batch)
    designer.begin(batch.config, 3, 0)
    for asked in (1, 3):
        rows = designer.design(history.view())
        batch.step(rows)
        history.add(rows)
        assert len(model.asked) == asked and rows[0] == rows[2]
    assert designer.counters["prompts"] == 3 and designer.counters["posted"] == {"reply": 6, "kept": 0, "opening": 0}


def test_the_prompt_is_that_of_the_environment_s_observation() -> None:
    model = Scripted(by_length)
    play(LanguageModel(model), SHORT, 1, seed=3)
    env = DaedalusEnv(stage="stages", episode_length=3)
    observation, _ = env.reset(seed=3)
    for messages in model.asked:
        assert tuple(messages) == load_design_prompt().messages(design_variables(observation))
        observation, *_ = env.step(json.loads(by_length(messages)))


def test_a_designer_that_remembers_tells_its_earlier_mechanisms() -> None:
    told = {}
    for remembers in (False, True):
        model = Scripted(by_length)
        designer = LanguageModel(model, remembers=remembers)
        play(designer, SHORT, 1, seed=3)
        play(designer, SHORT, 1, seed=3)  # an episode begins with an empty memory
        told[remembers] = model.asked[-1][-1].content
    assert " under {" not in told[False]
    assert 'under {"auction_type": "second_price"' in told[True]


class Noting(Scripted):
    """Also remembers how it was asked."""

    def complete(self, batch: Any, sampling: Samplings, within: float | None = None) -> list[Reply]:
        self.samplings = [sampling] * len(batch) if isinstance(sampling, Sampling) else list(sampling)
        return super().complete(batch, sampling, within)


def test_the_reply_is_held_to_the_schema_of_a_mechanism() -> None:
    model = Noting(by_length)
    play(LanguageModel(model, max_tokens=77), SHORT, 2, seed=3)
    sampling = model.samplings[0]
    assert (sampling.temperature, sampling.max_tokens, sampling.seed) == (0.0, 77, None)
    assert sampling.json_schema == MECHANISM_SCHEMA.json_schema()


def test_above_temperature_zero_every_market_draws_for_itself_whatever_batch_it_is_in() -> None:
    drawn = {}
    for size, seed in ((5, 3), (1, 6)):
        model = Noting(by_length)
        play(LanguageModel(model, temperature=0.8), AuctionConfig(episode_length=1), size, seed)
        drawn[size] = [sampling.seed for sampling in model.samplings]
    assert len(set(drawn[5])) == 5 and drawn[5][3] == drawn[1][0]


# What becomes of a reply that is no mechanism


@every_fault
def test_without_a_legal_reply_the_mechanism_in_force_stays(reply: str | Reply, reason: str) -> None:
    designer = LanguageModel(first_then(reply))
    assert np.array_equal(quietly(designer), play(LanguageModel(Scripted(lambda messages: said(MECHANISM))), SHORT, 2, seed=3))
    assert {(verdict.posted, verdict.reason) for verdict in designer.verdicts} == {("kept", reason)}
    assert designer.counters["posted"] == {"reply": 2, "kept": 4, "opening": 0}


@every_fault
def test_without_a_legal_first_reply_the_market_opens_under_the_published_baseline(reply: str | Reply, reason: str) -> None:
    designer = LanguageModel(Scripted(lambda messages: reply))
    assert np.array_equal(quietly(designer), play(Fixed(OPENING), SHORT, 2, seed=3))
    assert designer.counters["posted"] == {"reply": 0, "kept": 4, "opening": 2}


def test_the_opening_mechanism_can_be_chosen() -> None:
    designer = LanguageModel(Scripted(lambda messages: "no"), opening="stage_0")
    assert np.array_equal(quietly(designer), play(Fixed("stage_0"), SHORT, 2, seed=3))


def test_one_rejected_reply_leaves_the_other_markets_alone() -> None:
    batch = opened(2)
    history = StepHistory(batch)
    rows = mechanism_rows([bundled_mechanism("mixed"), bundled_mechanism("stages")])
    batch.step(rows)
    history.add(rows)
    replies = iter(["no", said(MECHANISM)])
    designer = LanguageModel(Scripted(lambda messages: next(replies)))
    designer.begin(batch.config, 2, 0)
    with pytest.warns(FallbackUsed):
        posted = designer.design(history.view())
    assert posted[0] == rows[0] and action_of(posted[1]).model_dump() == MECHANISM
    assert [verdict.posted for verdict in designer.verdicts] == ["kept", "reply"]


@every_fault
def test_rejections_and_failures_are_counted_by_reason_each_different_prompt_once(reply: str | Reply, reason: str) -> None:
    designer = LanguageModel(Scripted(lambda messages: reply))
    quietly(designer, AuctionConfig(episode_length=1), 9)
    kind, other = ("failures", "rejections") if isinstance(reply, Failure) else ("rejections", "failures")
    assert designer.counters[kind] == {reason: 1} and designer.counters[other] == {}
    assert designer.counters["posted"]["opening"] == 9


@every_fault
def test_the_first_fallback_is_told_with_its_reason_and_the_rest_is_counted(reply: str | Reply, reason: str) -> None:
    designer = LanguageModel(Scripted(lambda messages: reply))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        play(designer, SHORT, 2, seed=3)
        play(designer, SHORT, 2, seed=4)
    assert len(told) == 1 and issubclass(told[0].category, FallbackUsed)
    assert f"({reason})" in str(told[0].message) and "on_rejection='error'" in str(told[0].message)


@pytest.mark.parametrize("name", list(FAULTS))
def test_a_rejection_can_be_an_error_instead(name: str) -> None:
    reply, reason = FAULTS[name]
    expected = ModelUnavailable if isinstance(reply, Failure) else IllegalAction
    with pytest.raises(expected, match=reason):
        play(LanguageModel(Scripted(lambda messages: reply), on_rejection="error"), SHORT, 2, seed=3)


def test_a_verdict_is_told_to_programs_with_reason_sentence_and_field() -> None:
    designer = LanguageModel(Scripted(lambda messages: said(MECHANISM, reserve_price=7)))
    quietly(designer)
    verdict = designer.verdicts[0]
    assert verdict.fault is not None and verdict.fault.reason is Reason.OUT_OF_RANGE
    assert verdict.as_dict() == {
        "posted": "kept",
        "reason": "out_of_range",
        "sentence": "reserve_price is 7; expected a number from 0 to 0.9.",
        "field": "reserve_price",
    }


def test_a_caller_with_prompts_of_its_own_gets_replies_and_judgements() -> None:
    designer = LanguageModel(Scripted(lambda messages: Completion(said(MECHANISM), completion_tokens=9)))
    (answer,) = designer.ask([design_variables(DaedalusEnv().reset(seed=1)[0])])
    assert answer.reply == Completion(said(MECHANISM), completion_tokens=9)
    assert not hasattr(answer.verdict, "reason")


# Which model, and with which options


def test_the_client_follows_from_the_model_where_none_is_named() -> None:
    assert client_name(None, None) == "pocket"
    assert client_name(None, "Qwen/Qwen2.5-1.5B-Instruct") == "huggingface"
    assert client_name("groq", "llama-3.1-8b-instant") == "groq"


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"client": "pockt"}, UnknownName, "Unknown language model client 'pockt'"),
        ({"client": "vllm", "model": "m", "temprature": 0.5}, UnknownKey, "Did you mean 'temperature'"),
        ({"client": "vllm", "model": "m", "bas_url": "http://x"}, UnknownKey, "Did you mean 'base_url'"),
        ({"client": "vllm", "model": "m", "dedline": 5}, UnknownKey, "Did you mean 'deadline'"),
        ({"client": "vllm"}, InvalidOption, "needs the option 'model'"),
        ({"client": Scripted([]), "model": "m"}, InvalidOption, "model belongs to a client that is opened by name"),
        ({"client": Scripted([]), "cache": "replies.sqlite"}, InvalidOption, "cache belongs to"),
        ({"client": "scripted", "replies": [], "replay": True}, InvalidOption, "replay needs the path"),
        ({"client": Scripted([]), "on_rejection": "kep"}, UnknownName, "Did you mean 'keep'"),
        ({"client": Scripted([]), "opening": "mixd"}, UnknownName, "Did you mean 'mixed'"),
        ({"client": Scripted([]), "temperature": 3.0}, InvalidOption, "temperature is 3.0; expected 0.0 to 2.0"),
        ({"client": Scripted([]), "max_tokens": 0}, InvalidOption, "max_tokens is 0"),
        ({"client": Scripted([]), "prompt": "nowhere.txt"}, DataError, "nowhere.txt: cannot be read"),
    ],
    ids=lambda value: str(value)[:30] if isinstance(value, str) else None,
)
def test_wrong_options_are_answered_at_once(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        LanguageModel(**options)


class Absent(Scripted):
    def check(self) -> None:
        raise ModelUnavailable("unreachable", "Nobody is there; start the server.")


def test_a_model_that_cannot_be_asked_stops_everything_before_the_first_step() -> None:
    with pytest.raises(ModelUnavailable, match="start the server"):
        play(LanguageModel(Absent([])), SHORT, 2, seed=3)


def test_a_recording_plays_again_without_a_model(tmp_path: Path) -> None:
    def opened_with(replies: Callable[[Messages], str], **options: Any) -> LanguageModel:
        return LanguageModel("scripted", replies=replies, cache=tmp_path / "replies.sqlite", **options)

    recording = opened_with(by_length)
    scores = play(recording, SHORT, 3, seed=3)
    recording.close()
    replaying = opened_with(lambda messages: pytest.fail("a model was asked"), replay=True)
    assert np.array_equal(play(replaying, SHORT, 3, seed=3), scores)
    assert replaying.counters["cache_hits"] == replaying.counters["prompts"] > 0
    with pytest.raises(NotRecorded, match="Run once without replay"):
        play(replaying, SHORT, 3, seed=99)


def test_a_prompt_of_ones_own_is_used(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("Scores {outcomes_csv}; seen {proxies_csv}; in force {current_mechanism_json}.", encoding="utf-8")
    model = Scripted(by_length)
    play(LanguageModel(model, prompt=tmp_path / "mine.txt"), AuctionConfig(episode_length=1), 5, seed=3)
    assert model.asked == [
        load_design_prompt(tmp_path / "mine.txt").messages(dict.fromkeys(("outcomes_csv", "proxies_csv", "current_mechanism_json"), "none"))
    ]


# The model in the package


def test_the_pocket_model_always_writes_a_legal_mechanism() -> None:
    designer = LanguageModel()
    scores = play(designer, SHORT, 8, seed=3)
    assert designer.counters["posted"] == {"reply": 24, "kept": 0, "opening": 0} and (scores >= 0.0).all()
    assert np.array_equal(play(LanguageModel(), SHORT, 8, seed=3), scores)
    wild = LanguageModel(temperature=1.5)
    play(wild, SHORT, 8, seed=3)
    assert wild.counters["posted"]["reply"] == 24


def test_a_market_that_the_model_was_not_trained_on_is_noted_in_every_episode_once() -> None:
    class Carded(Scripted):
        @property
        def trained_on(self) -> dict[str, Any]:
            return {"mechanism": {"n_agents": [3, 12], "rules": [RULES, RULES]}}

    designer = LanguageModel(Carded(said(MECHANISM)), opening=action_of(mechanism_rows([MECHANISM])[0]))
    for n_agents, notes in ((12, 0), (16, 1), (16, 1)):
        designer.begin(AuctionConfig(n_agents=n_agents), 1, 0)
        assert len(designer.assumed) == notes
    assert "n_agents is 16 (trained on 3 to 12)" in designer.assumed[0]
