"""Constrained completions are legal, repeatable, and scored by the softmax over the tokens that the grammar allowed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from edgeworth.agents.designers.design_prompt import MECHANISM_SCHEMA
from edgeworth.llm.local.decoding import unpacked
from edgeworth.llm.local.folders import find
from edgeworth.llm.local.grammar import allowed_tokens
from edgeworth.protocol import Rejection, parse_reply
from edgeworth.training.designer.constrained import Rollouts, hidden_states, score, shared_length
from edgeworth.training.designer.models import load_student
from edgeworth.training.designer.settings import TuningSettings
from edgeworth.training.designer.states import States


@pytest.fixture(scope="module")
def rollouts(qwen: Path) -> Rollouts:
    model, tokenizer = load_student(find(str(qwen)), TuningSettings(method="full"), "cpu")
    return Rollouts.of(model, tokenizer, 1.0, 200, 8)


@pytest.fixture(scope="module")
def prompts(rollouts: Rollouts, states: States) -> list[list[int]]:
    return rollouts.prompts([states.prompts[n] for n in (0, 0, 5, 9)])


@pytest.fixture(scope="module")
def batch(rollouts: Rollouts, prompts: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Tokens, mask and labels as TRL lays them out: prompts padded on the left, completions on the right."""
    written = rollouts.write(prompts, list("abcd"), seed=1)
    pad, left, right = rollouts.local.tokenizer.pad_token_id, max(map(len, prompts)), max(map(len, written))
    rows = [[pad] * (left - len(p)) + p + c + [pad] * (right - len(c)) for p, c in zip(prompts, written, strict=True)]
    seen = [[0] * (left - len(p)) + [1] * (len(p) + len(c)) + [0] * (right - len(c)) for p, c in zip(prompts, written, strict=True)]
    tokens, mask = torch.tensor(rows), torch.tensor(seen)
    labels = tokens.masked_fill(mask == 0, -100)
    labels[:, :left] = -100
    return tokens, mask, labels


def test_every_completion_is_a_legal_mechanism_and_a_function_of_seed_and_key(rollouts: Rollouts, prompts: list[list[int]]) -> None:
    written = rollouts.write(prompts, list("abcd"), seed=1)
    assert not any(isinstance(parse_reply(rollouts.local.text(reply), MECHANISM_SCHEMA), Rejection) for reply in written)
    assert written[0] != written[1], "other keys give other completions of one prompt"
    assert rollouts.write(prompts[2:], list("cd"), seed=1) == written[2:] and rollouts.write(prompts, list("abcd"), seed=2) != written
    assert not rollouts.local.model.training and rollouts.local.model.config._attn_implementation == "sdpa"


def test_prompts_are_tokenized_together_as_each_would_be_alone(rollouts: Rollouts, prompts: list[list[int]], states: States) -> None:
    tokenizer = rollouts.local.tokenizer
    text = tokenizer.apply_chat_template(states.prompts[5], tokenize=False, add_generation_prompt=True)
    assert prompts[2] == tokenizer(text, add_special_tokens=False)["input_ids"] and prompts[0] == prompts[1] != prompts[2]
    assert rollouts.prompts([]) == []


def expected_scores(rollouts: Rollouts, tokens: torch.Tensor, mask: torch.Tensor, begin: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probabilities and entropies, token by token from whole logits."""
    logs, spread = torch.zeros((len(tokens), tokens.shape[1] - begin)), torch.zeros((len(tokens), tokens.shape[1] - begin))
    for row in range(len(tokens)):
        real = tokens[row][mask[row].bool()]
        first = int(mask[row, :begin].sum())
        logits = rollouts.local.model(input_ids=real[None]).logits[0].float() / rollouts.temperature
        reply = tuple(real[first:].tolist())
        constraint, place = rollouts.grammar.constraints.begin(rollouts.grammar.schema), 0
        while True:
            place += len(constraint.forced())
            if constraint.finished():
                break
            open_now = unpacked(torch.from_numpy(allowed_tokens([constraint])), logits.shape[1])[0]
            shares = torch.log_softmax(logits[first + place - 1].masked_fill(~open_now, -torch.inf), dim=-1)
            logs[row, place] = shares[reply[place]]
            spread[row, place] = torch.distributions.Categorical(logits=shares[open_now]).entropy()
            constraint.consume(reply[place])
            place += 1
    return logs, spread


def test_scores_are_those_of_the_softmax_over_allowed_tokens(rollouts: Rollouts, batch: Any) -> None:
    tokens, mask, labels = batch
    begin = int((labels != -100).any(dim=0).int().argmax())
    with torch.no_grad():
        found = score(rollouts.local.model, rollouts.grammar, rollouts.temperature, tokens, mask, labels)
        logs, spread = expected_scores(rollouts, tokens, mask, begin)
    assert found.log_probs is not None and found.entropy is not None
    torch.testing.assert_close(found.log_probs, logs, atol=2e-4, rtol=1e-4)
    torch.testing.assert_close(found.entropy, spread, atol=2e-4, rtol=1e-3)
    assert (found.log_probs <= 0).all() and (found.log_probs == 0).float().mean() > 0.5, "most tokens are forced"


def test_the_shared_prefix_changes_neither_states_nor_gradients(rollouts: Rollouts, batch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens, mask, labels = batch
    begin, model = int((labels != -100).any(dim=0).int().argmax()), rollouts.local.model

    def gradient() -> tuple[torch.Tensor, torch.Tensor]:
        model.zero_grad()
        model.requires_grad_(True)
        log_probs = score(model, rollouts.grammar, 1.0, tokens, mask, labels).log_probs
        assert log_probs is not None
        log_probs.sum().backward()
        return log_probs.detach(), model.base_model.layers[0].mlp.up_proj.weight.grad.clone()

    assert shared_length(tokens, mask[:, :begin].sum(dim=1), begin) > 200
    shared = gradient()
    monkeypatch.setattr("edgeworth.training.designer.constrained.WORTH_SHARING", 10**6)
    apart = gradient()
    torch.testing.assert_close(shared[0], apart[0], atol=2e-4, rtol=1e-4)
    torch.testing.assert_close(shared[1], apart[1], atol=2e-3, rtol=2e-3)
    assert hidden_states(model, tokens, mask, begin).shape[1] == tokens.shape[1] - begin


def test_the_end_token_after_the_grammar_is_no_choice(rollouts: Rollouts, prompts: list[list[int]]) -> None:
    reply = rollouts.write(prompts[:1], ["a"], seed=1)[0]
    choices = rollouts.grammar.choices(tuple(reply))
    rollouts.grammar.known.clear()
    again = rollouts.grammar.choices(tuple(reply))
    assert (again.places == choices.places).all() and (again.allowed == choices.allowed).all(), "recorded and followed are the same"
    assert choices.places.max() < len(reply) - 1 and len(choices.allowed) == len(choices.places)
    assert all(np.unpackbits(row).sum() > 1 for row in choices.allowed)
