"""Real prompts for local models: moments of talks and of markets, each with its schema and its judge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from edgeworth.agents.designers.design_prompt import MECHANISM_SCHEMA, design_variables, load_design_prompt
from edgeworth.config import BargainingConfig
from edgeworth.dialogues.hint_prompt import batch_variables, hint_schema, legal_json_schema, load_hint_prompt
from edgeworth.envs.daedalus import DaedalusEnv
from edgeworth.games.auction.action import action_of, random_mechanisms
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.rules import SAME_STEP
from edgeworth.llm.client import Messages
from edgeworth.protocol import Schema
from edgeworth.seeding import generator


@dataclass(frozen=True)
class Moment:
    """A prompt, what a reply must look like, and who judges it."""

    messages: Messages
    json_schema: dict[str, Any]
    schema: Schema[Any]


@cache
def hint_moments(count: int = 16, moves: int = 1) -> tuple[Moment, ...]:
    """That many talks, looked at before each of the first moves."""
    talks = BargainingBatch(BargainingConfig(), count)
    talks.seed(0)
    talks.reset()
    prompt, moments = load_hint_prompt(), []
    for move in range(moves):
        if move:
            talks.step(*talks.random_actions(), autoreset=SAME_STEP)
        for slot, variables in enumerate(batch_variables(talks, np.ones(count, np.bool_))):
            mask, caps = talks.masks[slot].copy(), np.array([int(n) for n in variables["counts_csv"].split(",")])
            moments.append(Moment(prompt.messages(variables), legal_json_schema(mask, caps), hint_schema(mask, caps)))
    return tuple(moments)


@cache
def mechanism_moments(count: int = 8) -> tuple[Moment, ...]:
    """That many markets, up to three steps in."""
    prompt, moments = load_design_prompt(), []
    for seed in range(count):
        env = DaedalusEnv()
        observation, _ = env.reset(seed=seed)
        for row in random_mechanisms(generator(seed), seed % 4):
            observation = env.step(action_of(row).model_dump())[0]
        moments.append(Moment(prompt.messages(design_variables(observation)), MECHANISM_SCHEMA.json_schema(), MECHANISM_SCHEMA))
    return tuple(moments)
