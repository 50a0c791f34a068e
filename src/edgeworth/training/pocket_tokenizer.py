"""The pocket model's tokenizer: byte-level BPE learned from its own texts, every digit a token of its own, and a chat template.

Digits stand alone so that 10 and 0.38 are spelled the same way wherever they occur. Any text can be encoded, since the alphabet is bytes.
A conversation is `<|system|>…<|end|><|user|>…<|end|><|assistant|>…<|end|>`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from edgeworth.errors import MissingExtra

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

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
