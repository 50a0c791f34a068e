"""The pocket model itself: its tokenizer, its network, batches of rows, and the loss.

The tokenizer is byte-level BPE learnt from the model's own texts; any text can be encoded, since the alphabet is bytes. Every digit is a
token of its own, so that 10 and 0.38 are spelled the same way wherever they occur. A conversation is
`<|system|>…<|end|><|user|>…<|end|><|assistant|>…<|end|>`.

The network is a small Llama. Only the tokens of replies count in the loss. All exchanges of a game stand behind the same system message, so
a batch computes that message once, with gradients, and every row attends to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from edgeworth.errors import MissingExtra
from edgeworth.training.shared_prefix import read_prefix

if TYPE_CHECKING:
    import torch
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

    from edgeworth.training.pocket import PocketSettings

END, PAD = "<|end|>", "<|pad|>"
ROLES = {role: f"<|{role}|>" for role in ("system", "user", "assistant")}
SPECIAL = (PAD, END, *ROLES.values())
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] not in ['system', 'user', 'assistant'] %}"
    "{{ raise_exception('The pocket model knows the roles system, user and assistant, not ' + message['role'] + '.') }}{% endif %}"
    "{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


# The tokenizer


def train_tokenizer(texts: Iterable[str], vocabulary: int, context: int) -> PreTrainedTokenizerFast:
    """Learn the merges from texts."""
    try:
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
        from transformers import PreTrainedTokenizerFast
    except ImportError as error:
        raise MissingExtra("Training the pocket model", "transformers", "llm") from error
    tokenizer = Tokenizer(models.BPE())
    alone = pre_tokenizers.Digits(individual_digits=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([alone, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=vocabulary, special_tokens=list(SPECIAL), initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=END, pad_token=PAD, model_max_length=context, clean_up_tokenization_spaces=False
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast


def turn(role: str, content: str) -> str:
    """One message as the template writes it."""
    return f"{ROLES[role]}{content}{END}"


def encode(tokenizer: PreTrainedTokenizerFast, texts: Sequence[str]) -> list[list[int]]:
    """Token numbers of every text, with special tokens read as such."""
    return [encoding.ids for encoding in tokenizer.backend_tokenizer.encode_batch(list(texts), add_special_tokens=False)]


# The network


def build_model(settings: PocketSettings, tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """An untrained model of the size and vocabulary that are wanted."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=settings.hidden,
        intermediate_size=settings.intermediate,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        num_key_value_heads=settings.key_value_heads,
        max_position_embeddings=settings.corpus.context,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return LlamaForCausalLM(config)


# Batches

EVEN = 8
"""What the model reads of a batch has a multiple of so many columns: a compiled network is compiled once, for aligned rows."""


@dataclass(frozen=True)
class Rows:
    """Exchanges as tokens, one after the other."""

    tokens: NDArray[np.uint16]
    starts: NDArray[np.int64]
    """Where each row begins, and the end of the last."""
    replies: NDArray[np.int64]
    """Where the reply begins within each row."""

    def __len__(self) -> int:
        return len(self.replies)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of every row."""
        return np.diff(self.starts)


def batches(rows: Rows, size: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Numbers of rows for ever, in batches of similar lengths, every row once in a round."""
    while True:
        order = np.argsort(rows.lengths + rng.uniform(0.0, 8.0, len(rows)))
        rng.shuffle(cuts := np.arange(0, max(len(order) - size, 0) + 1, size) + rng.integers(len(order) % size + 1))
        for cut in cuts:
            yield order[cut : cut + size]


@dataclass(frozen=True)
class DeviceRows:
    """Rows where the model is. What the size of a batch depends on stays with the processor, so that it never waits for a GPU."""

    rows: Rows
    tokens: torch.Tensor
    starts: torch.Tensor

    @classmethod
    def of(cls, rows: Rows, device: torch.device) -> DeviceRows:
        """The rows, moved."""
        import torch

        return cls(rows, torch.from_numpy(rows.tokens.astype(np.int32)).to(device), torch.from_numpy(rows.starts[:-1]).to(device))

    def padded(self, chosen: NDArray[np.int64], pad: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Some rows side by side, and the places, counted through all rows, from which the tokens of their replies are predicted."""
        import torch

        lengths, replies = self.rows.starts[chosen + 1] - self.rows.starts[chosen], self.rows.replies[chosen]
        width, counts = 1 + EVEN * -(-(int(lengths.max()) - 1) // EVEN), lengths - replies
        firsts = np.arange(len(chosen)) * (width - 1) + replies - 1
        places = np.arange(counts.sum()) + np.repeat(firsts - np.cumsum(counts) + counts, counts)
        column = torch.arange(width, device=self.tokens.device)
        starts = self.starts[self._moved(chosen)][:, None]
        tokens = self.tokens[(starts + column).clamp_max(len(self.tokens) - 1)].long()
        return torch.where(column < self._moved(lengths)[:, None], tokens, pad), self._moved(places)

    def _moved(self, numbers: NDArray[np.int64]) -> torch.Tensor:
        """Numbers on the device, without waiting for what it computes."""
        import torch

        there, device = torch.from_numpy(numbers), self.tokens.device
        return there.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else there


# The loss


def reply_states(model: LlamaForCausalLM, system: torch.Tensor | None, tokens: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """Last hidden states at the wanted places (`DeviceRows.padded`); padding stands behind the rows, where nothing looks."""
    past = None if system is None else read_prefix(model.model, system, len(tokens))
    states = model.model(input_ids=tokens[:, :-1], past_key_values=past, use_cache=past is not None).last_hidden_state
    chosen: torch.Tensor = states.flatten(0, 1)[wanted]
    return chosen


def reply_loss(model: LlamaForCausalLM, system: torch.Tensor | None, tokens: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy of the tokens of the replies."""
    import torch

    logits = model.lm_head(reply_states(model, system, tokens, wanted))
    return torch.nn.functional.cross_entropy(logits.float(), tokens[:, 1:].flatten()[wanted])


def agreement(
    model: LlamaForCausalLM, system: torch.Tensor, tokens: torch.Tensor, wanted: torch.Tensor, unjudged: int
) -> tuple[float, float]:
    """On rows with known replies: mean loss, and how many replies have the likeliest token right at every place but the last few."""
    import torch

    logits = model.lm_head(reply_states(model, system, tokens, wanted)).float()
    target = tokens[:, 1:].flatten()[wanted]
    loss = torch.nn.functional.cross_entropy(logits, target)
    wrong = torch.zeros_like(tokens[:, 1:], dtype=torch.bool)
    left = torch.zeros_like(wrong)
    wrong.view(-1)[wanted], left.view(-1)[wanted] = logits.argmax(-1) != target, True
    left = left.flip(1).cumsum(1).flip(1)
    wrong &= left > unjudged
    return float(loss), 1.0 - float(wrong.any(dim=1).float().mean())
