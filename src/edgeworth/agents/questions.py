"""Questions to a language model: which model, every different question once, and every reply judged on one road.

What negotiators' hints and designers' mechanisms share on their way through a model. A client is named, or follows from the model: none is
our own small one (`pocket`), a name from the hub or a folder is loaded here (`huggingface`).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

from edgeworth import catalog
from edgeworth.errors import InvalidOption, UnknownKey
from edgeworth.llm.client import Client, Counted, Failure, Reply
from edgeworth.llm.stack import open_client
from edgeworth.protocol import Accepted, Reason, Rejection, Schema, parse_reply

OWN_CLIENT = "pocket"
HUB_CLIENT = "huggingface"
LOCAL_CLIENTS = (OWN_CLIENT, HUB_CLIENT)
"""Models in this process: nobody else is waiting for them, so a batch may take the time that it takes."""

Question = TypeVar("Question", bound=Hashable)
Answer = TypeVar("Answer")
Value = TypeVar("Value")


def ask_once(questions: Sequence[Question], answer: Callable[[list[Question]], Sequence[Answer]]) -> list[Answer]:
    """The answer to every question, of which each different one is put once, all in one call; for answers that depend on nothing else."""
    different = list(dict.fromkeys(questions))
    if not different:
        return []
    answers = dict(zip(different, answer(different), strict=True))
    return [answers[question] for question in questions]


def judged(reply: Reply, schema: Schema[Value]) -> Accepted[Value] | Rejection:
    """The value that a reply holds, or why there is none; a failure is a reply that never came, with its own sentence."""
    if isinstance(reply, Failure):
        return Rejection(Reason.NO_REPLY, reply.message)
    return parse_reply(reply.text, schema)


def client_name(client: str | None, model: str | None) -> str:
    """The client that is meant where none is named: a model of one's own is loaded here, without one it is ours."""
    if client is not None:
        return client
    return OWN_CLIENT if model is None else HUB_CLIENT


def client_for(asker: Callable[..., Any], client: str | Client | None, model: str | None, **options: Any) -> Counted:
    """A client by name, or one that is ready; a mistyped option is answered with its neighbour among all that `asker` understands."""
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
