"""Questions to a language model: which client is asked, each different question once, and how its replies are judged.

Shared by hints and by the designer that asks a language model. A client is given by name, or follows from the model: without a model it is
the bundled one (`pocket`), a name from the hub or a folder is loaded in this process (`huggingface`).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from edgeworth import catalog
from edgeworth.errors import InvalidOption, UnknownKey
from edgeworth.llm.client import Client, Counted, Failure, Messages, Reply, Samplings
from edgeworth.llm.stack import open_client
from edgeworth.protocol import Reason, Rejection, Schema, parse_reply

OWN_CLIENT = "pocket"
HUB_CLIENT = "huggingface"
LOCAL_CLIENTS = (OWN_CLIENT, HUB_CLIENT)
"""Models in this process, whose batches have no deadline."""

Question = TypeVar("Question", bound=Hashable)
Found = TypeVar("Found")
Value = TypeVar("Value")


@dataclass(frozen=True)
class Answer(Generic[Value]):
    """What was asked, what came back, and the value in it, or why there is none."""

    messages: Messages
    reply: Reply
    verdict: Value | Rejection


def ask_once(questions: Sequence[Question], answer: Callable[[list[Question]], Sequence[Found]]) -> list[Found]:
    """The answer to every question; each different question is asked once, all in one call."""
    different = list(dict.fromkeys(questions))
    if not different:
        return []
    answers = dict(zip(different, answer(different), strict=True))
    return [answers[question] for question in questions]


def ask(client: Counted, batch: Sequence[Messages], sampling: Samplings, schemas: Sequence[Schema[Value]]) -> list[Answer[Value]]:
    """Ask a model and judge its replies: a failure is a missing reply, and other replies without a value are counted by reason."""
    answers = []
    for messages, reply, schema in zip(batch, client.complete(batch, sampling), schemas, strict=True):
        if isinstance(reply, Failure):
            answers.append(Answer[Value](messages, reply, Rejection(Reason.NO_REPLY, reply.message)))
            continue
        judged = parse_reply(reply.text, schema)
        if isinstance(judged, Rejection):
            client.counters.rejected(judged.reason.value)
        answers.append(Answer[Value](messages, reply, judged if isinstance(judged, Rejection) else judged.value))
    return answers


def outside_training(client: Client, game: str, asked: Mapping[str, float | str]) -> str | None:
    """What is asked of a model that its training text of this game did not have; None where all is known or it has no card."""
    strange = []
    for name, known in client.trained_on.get(game, {}).items():
        value = asked.get(name, known[0])
        if isinstance(value, str) and value not in known:
            strange.append(f"{name} is {value!r} (trained on {', '.join(known)})")
        elif not isinstance(value, str) and not known[0] <= value <= known[-1]:
            strange.append(f"{name} is {value:g} (trained on {known[0]:g} to {known[-1]:g})")
    return f"{client.name} is asked for more than it was trained on: {'; '.join(strange)}" if strange else None


def client_name(client: str | None, model: str | None) -> str:
    """The name of the client: the one given, else `huggingface` where a model is given, else `pocket`."""
    if client is not None:
        return client
    return OWN_CLIENT if model is None else HUB_CLIENT


def gpus_for(options: Mapping[str, Any]) -> float:
    """How many GPUs a client with these options needs."""
    return float(str(options.get("device", "")).startswith("cuda"))


def client_for(asker: Callable[..., Any], client: str | Client | None, model: str | None, **options: Any) -> Counted:
    """A client by name, or one that is open already; typos in its options get a suggestion."""
    if isinstance(client, Client):
        if given := [key for key, value in {"model": model, **options}.items() if value]:
            raise InvalidOption(f"{given[0]} belongs to a client that is opened by name; the client {client.name} is open already.")
        return client if isinstance(client, Counted) else Counted(client)
    name = client_name(client, model)
    if model is not None:
        options["model"] = model
    _refuse_mistyped(asker, name, options)
    if name in LOCAL_CLIENTS:
        options.setdefault("deadline", math.inf)
    return open_client(name, **options)


def _refuse_mistyped(asker: Callable[..., Any], name: str, options: dict[str, Any]) -> None:
    makers = (asker, open_client, catalog.resolve("language model client", name))
    known = [
        parameter.name
        for maker in makers
        for parameter in inspect.signature(maker).parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
    ]
    for key in options:
        if key != "model" and key not in known:
            raise UnknownKey(f"option for the client {name}", key, dict.fromkeys(known))
