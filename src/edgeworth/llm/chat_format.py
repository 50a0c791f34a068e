"""The chat-completions format: what a request says, and what a body that came back means.

What comes back is data from outside: any body at all becomes a `Completion` or a `Failure`, and nothing is raised.
"""

from __future__ import annotations

import json
from typing import Any

from edgeworth.llm.client import Completion, Failure, Messages, Reply, Sampling, TokenLogprob
from edgeworth.llm.providers import Provider, Structured

SHOWN = 80
SCHEMA_NAME = "reply"


def request_of(provider: Provider, structured: Structured, model: str, messages: Messages, sampling: Sampling) -> dict[str, Any]:
    """The request for one conversation; what the sampling leaves open is not mentioned."""
    request: dict[str, Any] = {
        "model": model,
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        provider.length_field: sampling.max_tokens,
    }
    optional = {"temperature": sampling.temperature, "seed": sampling.seed, "top_p": sampling.top_p}
    request |= {name: value for name, value in optional.items() if value is not None}
    if sampling.stop:
        request["stop"] = list(sampling.stop)
    if sampling.logprobs:
        request["logprobs"] = True
    if sampling.json_schema is not None and structured != "none":
        request["response_format"] = response_format(structured, sampling.json_schema)
    return request


def response_format(structured: Structured, schema: Any) -> dict[str, Any]:
    """How to ask for JSON."""
    if structured == "json_object":
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": SCHEMA_NAME, "schema": schema, "strict": True}}


def completion_of(body: str, server: str, seconds: float) -> Reply:
    """What a body says, whatever it is."""
    try:
        content = json.loads(body)
        choice = content["choices"][0]
        message, finish = choice["message"], str(choice.get("finish_reason") or "stop")
        text = message.get("content")
        if message.get("refusal") or finish == "content_filter":
            return Failure("refused", f"{server} refused to answer: {shown(message.get('refusal') or finish)}.", seconds=seconds)
        if text is None and finish == "length":
            text = ""  # everything went into reasoning
        if isinstance(text, str):
            model, used = str(content.get("model") or ""), content.get("usage") or {}
            tokens = [int(used.get(name) or 0) for name in ("prompt_tokens", "completion_tokens")]
            return Completion(text, finish, tokens[0], tokens[1], logprobs_of(choice), model, seconds=seconds)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError, RecursionError):
        pass
    return Failure("bad_reply", f"{server} answered with something that is no chat completion: {shown(body)}.", seconds=seconds)


def logprobs_of(choice: dict[str, Any]) -> tuple[TokenLogprob, ...] | None:
    """The log-probabilities of a choice, where it has any."""
    tokens = (choice.get("logprobs") or {}).get("content")
    return None if tokens is None else tuple(TokenLogprob(str(token["token"]), float(token["logprob"])) for token in tokens)


def listed_models(body: str) -> list[str] | None:
    """The names in a list of models, or None where it is no such list."""
    try:
        return sorted(str(model["id"]) for model in json.loads(body)["data"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def shown(value: object) -> str:
    """The beginning of what came, on one line and in quotes."""
    text = " ".join(str(value).split())
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "…")
