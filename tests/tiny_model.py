"""A language model of seconds: a tokenizer trained on our own prompts, and a small Llama or Qwen that has learned nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

ROLES = ("<|pad|>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>")
TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
CONFIGS = Path(__file__).resolve().parents[1] / "configs"


def prompt_texts() -> list[str]:
    """Our prompts, with the examples of JSON as a model sees them."""
    files = [CONFIGS / name for name in ("llm_prompt.txt", "designer_prompt.txt")]
    return [path.read_text(encoding="utf-8").replace("{{", "{").replace("}}", "}") for path in files]


def trained_tokenizer(single_digits: bool = True, vocabulary: int = 1500) -> Any:
    """A byte-level BPE tokenizer; with `single_digits` every digit is a token of its own."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    split = [pre_tokenizers.Digits(individual_digits=True)] if single_digits else []
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*split, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=vocabulary, special_tokens=list(ROLES), initial_alphabet=alphabet, show_progress=False)
    numbers = [f'"oA": [{n}, 0, {n % 7}], "confidence": 0.{n}, {n}' for n in range(100)]
    tokenizer.train_from_iterator([*prompt_texts() * 20, *numbers], trainer)
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>", pad_token="<|pad|>")
    wrapped.chat_template = TEMPLATE
    return wrapped


def tiny_llama(tokenizer: Any, seed: int = 0, **changes: Any) -> Any:
    """A Llama of two layers."""
    return _tiny("Llama", tokenizer, seed, changes)


def tiny_qwen(tokenizer: Any, seed: int = 0, **changes: Any) -> Any:
    """A Qwen2 of two layers, the architecture of the published designer."""
    return _tiny("Qwen2", tokenizer, seed, changes)


def _tiny(kind: str, tokenizer: Any, seed: int, changes: dict[str, Any]) -> Any:
    """A model whose logits are spread enough that its choices differ."""
    import torch
    import transformers

    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128}
    ends = {"bos_token_id": None, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    options = {"vocab_size": len(tokenizer), "max_position_embeddings": 4096, "tie_word_embeddings": True, **sizes, **ends, **changes}
    torch.manual_seed(seed)
    model = getattr(transformers, f"{kind}ForCausalLM")(getattr(transformers, f"{kind}Config")(**options))
    for weights in model.parameters():
        weights.data.normal_(0.0, 0.25) if weights.dim() > 1 else None
    return model.eval()


def write_tiny_model(
    folder: Path,
    seed: int = 0,
    change: Callable[[Any], None] = lambda tokenizer: None,
    make: Callable[..., Any] = tiny_llama,
    **changes: Any,
) -> Path:
    """A folder as `save_pretrained` writes it, weights in bfloat16; `change` may spoil the tokenizer."""
    import torch
    from transformers.utils import logging

    logging.disable_progress_bar()
    tokenizer = trained_tokenizer()
    model = make(tokenizer, seed, **changes)
    change(tokenizer)
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def write_tiny_adapter(folder: Path, base: Path, named: str | None = None, seed: int = 0, rank: int = 4) -> Path:
    """A LoRA adapter of a tiny model, far from zero; `named` is what it calls its base."""
    import peft
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    model.config.name_or_path = str(base) if named is None else named
    config = peft.LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM")
    torch.manual_seed(seed)
    adapted = peft.get_peft_model(model, config)
    for name, weights in adapted.named_parameters():
        weights.data.normal_(0.0, 0.1) if "lora_" in name else None
    adapted.save_pretrained(folder)
    return folder
