"""Providers of language models over the chat-completions protocol: addresses, keys, peculiarities, and their failures in a sentence.

Facts from the providers' own pages: console.groq.com/docs (openai, structured-outputs), platform.openai.com/docs/api-reference/chat,
docs.vllm.ai (OpenAI-compatible server), docs.ollama.com/api/openai-compatibility, and the README of llama.cpp's `llama-server`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from edgeworth.llm.chat_format import shown
from edgeworth.llm.client import Failure, Reason, Structured


@dataclass(frozen=True)
class Provider:
    """A kind of server of language models."""

    name: str
    base_url: str
    key_variable: str
    """The environment variable that the provider documents for its key."""
    remedy_unreachable: str
    """What to do when no server answers."""
    remedy_model: str
    """What to do when the server does not have the model."""
    needs_key: bool = False
    structured: Structured = "json_schema"
    in_flight: int = 4
    """Requests at the same time that suit it."""
    length_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    has_logprobs: bool = True
    checks_names: bool = True
    """Whether it checks the model's name; a server of a single model may not."""


GROQ = Provider(
    "groq",
    "https://api.groq.com/openai/v1",
    "GROQ_API_KEY",
    remedy_unreachable="look at the network connection and at groqstatus.com",
    remedy_model="console.groq.com/docs/models lists its models",
    needs_key=True,
    structured="json_object",  # schemas work with some of its models only, JSON objects with all
    in_flight=8,
    length_field="max_completion_tokens",
    has_logprobs=False,
)
OPENAI = Provider(
    "openai",
    "https://api.openai.com/v1",
    "OPENAI_API_KEY",
    remedy_unreachable="look at the network connection and at status.openai.com",
    remedy_model="platform.openai.com/docs/models lists its models",
    needs_key=True,
    in_flight=8,
    length_field="max_completion_tokens",
)
VLLM = Provider(
    "vllm",
    "http://localhost:8000/v1",
    "VLLM_API_KEY",
    remedy_unreachable="start it with `vllm serve MODEL`, or name its address with base_url",
    remedy_model="it serves the model that `vllm serve` was started with",
    in_flight=64,
)
OLLAMA = Provider(
    "ollama",
    "http://localhost:11434/v1",
    "OLLAMA_API_KEY",
    remedy_unreachable="start it with `ollama serve`, or name its address with base_url",
    remedy_model="`ollama pull` fetches a model, `ollama list` shows those that are there",
)
LLAMA_CPP = Provider(
    "llama_cpp",
    "http://localhost:8080/v1",
    "LLAMA_API_KEY",
    remedy_unreachable="start it with `llama-server -m MODEL.gguf`, or name its address with base_url",
    remedy_model="it serves the model that `llama-server` was started with",
    checks_names=False,
)


@dataclass(frozen=True)
class Server:
    """The server in a sentence: who it is, where, for which model, and the key that must not be shown."""

    provider: Provider
    base_url: str
    model: str
    key_variable: str
    key: str | None = field(repr=False)

    def without_key(self, text: str) -> str:
        """The text, and the key nowhere in it, plain or as some write it in JSON."""
        if not self.key:
            return text
        return text.replace(self.key, "[key]").replace(self.key.replace("/", "\\/"), "[key]")

    def failure(self, reason: Reason, seconds: float, status: int | None = None, says: str = "", wait: float | None = None) -> Failure:
        """A failure in a sentence, with the server's own words where it has any."""
        sentence = self._sentence(reason, f" (HTTP {status})" if status else "", seconds)
        quoted = f" It says {shown(self.without_key(says))}." if says and reason != "unauthorized" else ""  # some repeat half the key
        return Failure(reason, self.without_key(sentence) + quoted, status, wait, seconds)

    def _sentence(self, reason: Reason, status: str, seconds: float) -> str:
        name, model, provider = self.provider.name, repr(self.model), self.provider
        sentences: dict[Reason, str] = {
            "timeout": f"{name} did not answer in {seconds:.3g} s{status}; allow more time (`timeout`, `deadline`) or ask fewer at a time.",
            "rate_limited": f"{name} limits the rate of requests{status}; lower `in_flight` or wait.",
            "server_error": f"{name} failed with an error of its own{status}; try again later.",
            "conflict": f"{name} could not serve the request beside another{status}.",
            "dropped": f"{name} closed the connection before the reply was complete.",
            "unreachable": f"No server answers at {self.base_url}; {provider.remedy_unreachable}.",
            "unauthorized": f"{name} does not accept the key{status}; put a valid one into {self.key_variable}.",
            "unknown_model": f"{name} has no model {model} at {self.base_url}{status}; {provider.remedy_model}.",
            "out_of_quota": f"The account at {name} has no credit left{status}; top it up or choose another provider.",
            "too_long": f"The prompt is longer than the context of {model}{status}; shorten it or its history.",
            "bad_reply": f"{name} answered with something that is no chat completion{status}.",
            "refused": f"{name} refused to answer{status}.",
        }
        return sentences.get(reason, f"{name} does not accept the request{status}.")
