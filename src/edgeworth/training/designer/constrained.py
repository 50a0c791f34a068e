"""Constrained completions: decoding under the schema, and the log-probabilities of the choices that were left to the model.

Where the grammar allows one token only, nothing is chosen: the token has log-probability 0 and no part in the loss. Elsewhere the softmax
runs over the allowed tokens, in the loss as in the decoder, so that updates are on-policy. The prompts of a batch share their system
message, which is read once for all rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from llguidance import LLMatcher
from numpy.typing import NDArray
from torch import Tensor
from transformers.utils.generic import ModelOutput

from edgeworth.agents.designers.design_prompt import MECHANISM_SCHEMA, batch_variables, load_design_prompt
from edgeworth.agents.designers.designer import Designer
from edgeworth.errors import InvalidOption
from edgeworth.games.auction.action import mechanism_rows
from edgeworth.games.auction.batch import Rows
from edgeworth.games.auction.market_view import MarketView
from edgeworth.llm.local.attention import ATTENTION
from edgeworth.llm.local.decoding import Decoder, Row, Sampler, Vocabulary, unpacked
from edgeworth.llm.local.grammar import Constraint, allowed_tokens
from edgeworth.llm.local.loading import LocalModel, is_packable, kinds_of_layers
from edgeworth.llm.local.prefixes import WORTH_SHARING
from edgeworth.protocol import Accepted, parse_reply
from edgeworth.training.designer.states import Messages
from edgeworth.training.shared_prefix import read_prefix, use_plain_causal_attention

TRAINING_ATTENTION = "sdpa"
"""The attention of a model in training; the decoder has its own."""
KEPT = 2**16
"""Completions whose choices are remembered."""
IGNORED = -100
"""The label of a token that is not scored."""


@dataclass(frozen=True)
class Choices:
    """The places of a completion at which the model had a choice, and the tokens that were allowed there."""

    places: NDArray[np.int64]
    allowed: NDArray[np.uint8]
    """Packed bits, the lowest first, (places, bytes)."""


class Recording(Constraint):
    """A constraint that remembers the choices of its reply."""

    def __init__(self, matcher: LLMatcher, vocabulary: int) -> None:
        super().__init__(matcher, vocabulary)
        self.length = 0
        self.places: list[int] = []
        self.open: list[NDArray[np.uint8]] = []

    def forced(self) -> list[int]:
        tokens = super().forced()
        self.length += len(tokens)
        return tokens

    def note(self, allowed: NDArray[np.uint8]) -> None:
        self.places.append(self.length)
        self.open.append(allowed)

    def consume(self, token: int) -> None:
        super().consume(token)
        self.length += 1

    def choices(self) -> Choices:
        """What was chosen so far."""
        return Choices(np.array(self.places, np.int64), np.array(self.open, np.uint8))


class Grammar:
    """The schema of a mechanism for one model, and the choices of completions that were written under it."""

    def __init__(self, local: LocalModel) -> None:
        self.constraints, self.schema = local.constraints, MECHANISM_SCHEMA.json_schema()
        self.known: dict[tuple[int, ...], Choices] = {}

    def begin(self) -> Recording:
        """The constraint of a new completion."""
        return self.constraints.begin(self.schema, Recording)

    def remember(self, tokens: Sequence[int], constraint: Recording) -> None:
        """Keep the choices of a completion that has been written."""
        if len(self.known) >= KEPT:
            self.known.clear()
        self.known[tuple(tokens)] = constraint.choices()

    def choices(self, tokens: tuple[int, ...]) -> Choices:
        """The choices of a completion; what comes after its end, such as the end token, is none."""
        if tokens not in self.known:
            self.remember(tokens, self._followed(tokens))
        return self.known[tokens]

    def _followed(self, tokens: tuple[int, ...]) -> Recording:
        """A constraint that has followed a completion from its beginning."""
        constraint = self.begin()
        while True:
            constraint.forced()
            if constraint.length >= len(tokens) or constraint.finished():
                return constraint
            allowed_tokens([constraint])
            constraint.consume(tokens[constraint.length])


# Log-probabilities


@dataclass
class Scored(ModelOutput):
    """What TRL reads of a model that is called with `fused_lm_head=True`."""

    log_probs: Tensor | None = None
    entropy: Tensor | None = None
    aux_loss: Tensor | None = None


def constrain(model: Any, grammar: Grammar, temperature: float) -> None:
    """Let a model score completions under the grammar when TRL asks for log-probabilities; all other calls stay as they are."""
    plain = model.forward

    def forward(*args: Any, fused_lm_head: bool = False, **kwargs: Any) -> Any:
        if not fused_lm_head:
            return plain(*args, **kwargs)
        return score(model, grammar, temperature, kwargs["input_ids"], kwargs["attention_mask"], kwargs["labels"])

    model.forward = forward


def score(model: Any, grammar: Grammar, temperature: float, tokens: Tensor, mask: Tensor, labels: Tensor) -> Scored:
    """Log-probability and entropy of every token of the completions, which fill the columns that have labels."""
    scored = labels != IGNORED
    begin = int(scored.any(dim=0).int().argmax())
    replies = zip(tokens[:, begin:].tolist(), scored[:, begin:].tolist(), strict=True)
    found = [grammar.choices(tuple(itertools.compress(row, keep))) for row, keep in replies]
    rows = torch.from_numpy(np.repeat(np.arange(len(found)), [len(each.places) for each in found])).to(tokens.device)
    places = torch.from_numpy(np.concatenate([each.places for each in found])).to(tokens.device)
    states = hidden_states(model, tokens, mask, begin)[rows, places]
    logits = model.get_output_embeddings()(states).float() / temperature
    bits = torch.from_numpy(np.concatenate([each.allowed for each in found if len(each.places)])).to(tokens.device)
    logits = logits.masked_fill(~unpacked(bits, logits.shape[1]), -torch.inf)
    logs = torch.log_softmax(logits, dim=-1)
    chosen = logs.gather(1, tokens[rows, begin + places][:, None])[:, 0]
    spread = -(logs.exp() * logs.masked_fill(logs == -torch.inf, 0.0)).sum(dim=-1)
    empty = chosen.new_zeros((len(tokens), tokens.shape[1] - begin))
    return Scored(log_probs=empty.index_put((rows, places), chosen), entropy=empty.index_put((rows, places), spread))


def hidden_states(model: Any, tokens: Tensor, mask: Tensor, begin: int) -> Tensor:
    """Last hidden states from which the tokens from column `begin` on are predicted.

    Prompts are padded on the left. Where they share a prefix, it is read once, and the rest of each row is moved to the left, so that
    padding stands behind it, where nothing looks.
    """
    lengths = mask[:, :begin].sum(dim=1)
    shared = shared_length(tokens, lengths, begin)
    if shared < WORTH_SHARING or model.is_gradient_checkpointing:
        states: Tensor = model.base_model(input_ids=tokens, attention_mask=mask, use_cache=False).last_hidden_state
        return states[:, begin - 1 : -1]
    first = begin - lengths + shared
    columns = torch.arange(tokens.shape[1] - int(first.min()), device=tokens.device)
    own = tokens.gather(1, (first[:, None] + columns).clamp_max(tokens.shape[1] - 1))
    with plain_causal_attention(model):
        past = read_prefix(model.base_model, tokens[0, int(first[0]) - shared :][:shared], len(tokens))
        states = model.base_model(input_ids=own, past_key_values=past, use_cache=True).last_hidden_state
    before = (begin - 1 - first)[:, None] + torch.arange(tokens.shape[1] - begin, device=tokens.device)
    return states[torch.arange(len(tokens), device=tokens.device)[:, None], before]


@contextmanager
def plain_causal_attention(model: Any) -> Iterator[None]:
    """While inside, a GPU needs no mask in memory, if all layers see everything before them."""
    if model.device.type != "cuda" or kinds_of_layers(model) != {"full_attention"}:
        yield
        return
    use_plain_causal_attention(model)
    try:
        yield
    finally:
        model.set_attn_implementation(TRAINING_ATTENTION)


def shared_length(tokens: Tensor, lengths: Tensor, begin: int) -> int:
    """How many tokens all prompts share, from the first; at least one of every prompt is left."""
    most = int(lengths.min()) - 1
    places = (begin - lengths)[:, None] + torch.arange(max(most, 0), device=tokens.device)
    read = tokens.gather(1, places)
    same = (read == read[:1]).all(dim=0)
    return int(same.long().cumprod(dim=0).sum())


# Decoding


class Rollouts:
    """Writes completions with the model in training, by our decoder."""

    def __init__(self, local: LocalModel, grammar: Grammar, temperature: float, most: int) -> None:
        self.local, self.grammar, self.temperature, self.most = local, grammar, temperature, most

    @classmethod
    def of(cls, model: Any, tokenizer: Any, temperature: float, most: int, batch: int) -> Rollouts:
        """Rollouts of a transformers model; `batch` completions are written side by side."""
        local = LocalModel("the model in training", model, tokenizer, batch, is_packable(model))
        return cls(local, Grammar(local), temperature, most)

    def prompts(self, conversations: Sequence[Messages]) -> list[list[int]]:
        """Conversations as tokens, up to where the completion begins; many are tokenized side by side."""
        if not conversations:
            return []
        tokenizer = self.local.tokenizer
        texts = tokenizer.apply_chat_template(list(conversations), tokenize=False, add_generation_prompt=True)
        tokens: list[list[int]] = tokenizer(texts, add_special_tokens=False)["input_ids"]
        return tokens

    def write(self, prompts: Sequence[Sequence[int]], keys: Sequence[str], seed: int, greedy: bool = False) -> list[list[int]]:
        """A completion of each prompt with its end token; a pure function of the weights, the seed and the key of each."""
        local, model = self.local, self.local.model
        temperature, constraints = 0.0 if greedy else self.temperature, [self.grammar.begin() for _ in prompts]
        rows = [
            Row(prompt, Sampler.of(temperature, None, seed, key), self.most, constraint)
            for prompt, key, constraint in zip(prompts, keys, constraints, strict=True)
        ]
        trains = model.training
        model.eval()
        if local.packed:
            model.set_attn_implementation(ATTENTION)
        try:
            Decoder(Vocabulary(local.ends, len(local.tokenizer), local.text), local.new_cache, local.batch_size).write(rows)
        finally:
            model.train(trains)
            model.set_attn_implementation(TRAINING_ATTENTION)
        written = [[*row.tokens, local.tokenizer.eos_token_id] for row in rows]
        for tokens, constraint in zip(written, constraints, strict=True):
            self.grammar.remember(tokens, constraint)
        return written


class Student(Designer):
    """The model in training as a designer: greedy, under the schema."""

    def __init__(self, rollouts: Rollouts) -> None:
        self.rollouts, self.template = rollouts, load_design_prompt()

    def design(self, view: MarketView) -> Rows:
        return self.design_all([view])[0]

    def design_all(self, views: Sequence[MarketView]) -> list[Rows]:
        """Mechanisms for several batches of markets, all written side by side."""
        seen = [batch_variables(view) for view in views]
        conversations = [self.template.messages(values) for batch in seen for values in batch]
        prompts = self.rollouts.prompts([[{"role": part.role, "content": part.content} for part in each] for each in conversations])
        written = self.rollouts.write(prompts, [""] * len(prompts), 0, greedy=True)
        parsed = [parse_reply(self.rollouts.local.text(reply), MECHANISM_SCHEMA) for reply in written]
        legal = [reply.value for reply in parsed if isinstance(reply, Accepted)]
        if len(legal) < len(parsed):
            raise InvalidOption(f"A mechanism does not fit into {self.rollouts.most} tokens of this model; raise max_tokens.")
        rows = mechanism_rows(legal)
        return np.split(rows, np.cumsum([len(batch) for batch in seen])[:-1])
