"""Who serves language models over the chat-completions protocol: addresses, keys and peculiarities.

Facts from the providers' own pages: console.groq.com/docs (openai, structured-outputs), platform.openai.com/docs/api-reference/chat,
docs.vllm.ai (OpenAI-compatible server), docs.ollama.com/api/openai-compatibility, and the README of llama.cpp's `llama-server`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Structured = Literal["json_schema", "json_object", "none"]
"""How a server is asked for JSON: by schema, as any JSON object, or by the prompt alone."""


@dataclass(frozen=True)
class Provider:
    """A server of language models, as far as we need to know it."""

    name: str
    base_url: str
    key_variable: str
    """The environment variable that the provider documents for its key."""
    needs_key: bool
    structured: Structured
    in_flight: int
    """Requests at the same time that suit it."""
    remedy_unreachable: str
    """What to do when no server answers."""
    remedy_model: str
    """What to do when the server does not have the model."""
    length_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    has_logprobs: bool = True
    checks_names: bool = True
    """Whether it looks at the model's name at all; a server of a single model may not."""


GROQ = Provider(
    name="groq",
    base_url="https://api.groq.com/openai/v1",
    key_variable="GROQ_API_KEY",
    needs_key=True,
    structured="json_object",  # schemas work with some of its models only, JSON objects with all
    in_flight=8,
    remedy_unreachable="look at the network connection and at groqstatus.com",
    remedy_model="console.groq.com/docs/models lists its models",
    length_field="max_completion_tokens",
    has_logprobs=False,
)

OPENAI = Provider(
    name="openai",
    base_url="https://api.openai.com/v1",
    key_variable="OPENAI_API_KEY",
    needs_key=True,
    structured="json_schema",
    in_flight=8,
    remedy_unreachable="look at the network connection and at status.openai.com",
    remedy_model="platform.openai.com/docs/models lists its models",
    length_field="max_completion_tokens",
)

VLLM = Provider(
    name="vllm",
    base_url="http://localhost:8000/v1",
    key_variable="VLLM_API_KEY",
    needs_key=False,
    structured="json_schema",
    in_flight=64,
    remedy_unreachable="start it with `vllm serve MODEL`, or name its address with base_url",
    remedy_model="it serves the model that `vllm serve` was started with",
)

OLLAMA = Provider(
    name="ollama",
    base_url="http://localhost:11434/v1",
    key_variable="OLLAMA_API_KEY",
    needs_key=False,
    structured="json_schema",
    in_flight=4,
    remedy_unreachable="start it with `ollama serve`, or name its address with base_url",
    remedy_model="`ollama pull` fetches a model, `ollama list` shows those that are there",
)

LLAMA_CPP = Provider(
    name="llama_cpp",
    base_url="http://localhost:8080/v1",
    key_variable="LLAMA_API_KEY",
    needs_key=False,
    structured="json_schema",
    in_flight=4,
    remedy_unreachable="start it with `llama-server -m MODEL.gguf`, or name its address with base_url",
    remedy_model="it serves the model that `llama-server` was started with",
    checks_names=False,
)
