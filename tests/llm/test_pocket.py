"""The pocket model itself: in the package, offline, and always with a legal reply."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from conversations import texts
from local_prompts import hint_moments, mechanism_moments

from edgeworth.agents.designers.bundled import bundled_mechanism
from edgeworth.agents.designers.design_prompt import design_variables, load_design_prompt
from edgeworth.dialogues.hint_prompt import hint_variables, load_hint_prompt
from edgeworth.games.bargaining.vocabulary import Act
from edgeworth.llm.client import Completion, Sampling
from edgeworth.llm.huggingface import Pocket
from edgeworth.protocol import Accepted, parse_reply

MOMENTS = [*hint_moments(16, 2), *mechanism_moments(4)]


@pytest.fixture(scope="module")
def pocket() -> Iterator[Pocket]:
    with Pocket() as client:
        client.check()
        yield client


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_every_constrained_reply_is_legal(pocket: Pocket, temperature: float) -> None:
    samplings = [Sampling(temperature, 200, seed=1, json_schema=moment.json_schema) for moment in MOMENTS]
    for moment, reply in zip(MOMENTS, pocket.complete([moment.messages for moment in MOMENTS], samplings), strict=True):
        assert isinstance(reply, Completion) and reply.finish_reason == "stop"
        assert isinstance(parse_reply(reply.text, moment.schema), Accepted)


def test_free_greedy_replies_are_legal_and_mostly_what_constrained_ones_are(pocket: Pocket) -> None:
    batch = [moment.messages for moment in MOMENTS]
    free = texts(pocket.complete(batch, Sampling(max_tokens=200)))
    held = texts(pocket.complete(batch, [Sampling(max_tokens=200, json_schema=moment.json_schema) for moment in MOMENTS]))
    assert all(isinstance(parse_reply(text, moment.schema), Accepted) for text, moment in zip(free, MOMENTS, strict=True))
    assert sum(one == other for one, other in zip(free, held, strict=True)) >= 0.9 * len(free)


def test_prompts_with_long_histories_fit_into_the_context(pocket: Pocket) -> None:
    loaded = pocket._loaded
    assert loaded is not None
    moves = [(k % 2, Act.PROPOSE, (1, 1, 1)) for k in range(9)]
    talks = {
        "observation": {**dict.fromkeys(("counts", "my_utilities", "last_partner_offer_for_me"), (10, 10, 10)), "turns_remaining": 41},
        "info": {"partner_has_spoken": True, "action_mask": np.ones(5), "history": moves},
    }
    talks["observation"]["last_partner_act"] = Act.DISAGREE
    market = {
        "market_outcomes": np.full((5, 5), 0.123),
        "population_proxies": np.full(8, 0.123),
        "current_mechanism": bundled_mechanism("stage_4"),
        "recent_mechanisms": [bundled_mechanism("stage_4")] * 5,
        **{"round_number": 10, "episode_length": 100, "n_agents": 16},
    }
    told = [
        load_hint_prompt().messages(hint_variables(**talks, rules="every move after the second multiplies a deal by 0.9; " * 3)),
        load_design_prompt().messages(design_variables(market, remembers=True)),
    ]
    for tokens in loaded.encode([loaded.conversation(messages) for messages in told]):
        assert len(tokens) + 120 <= loaded.context


def test_the_first_hint_comes_without_a_network() -> None:
    code = (
        "import socket; socket.socket.connect = lambda *_: (_ for _ in ()).throw(OSError('no network'))\n"
        "import gymnasium, edgeworth; from edgeworth.envs.hint_injector import HintInjectorEnv\n"
        "env = HintInjectorEnv(gymnasium.make('DealOrNoDialog-v0'), hint='llm')\n"
        "print(env.reset(seed=7)[1]['hint_features'][9])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "1.0"
