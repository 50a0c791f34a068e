"""What runs in a model's own process: loads a client by name and answers line by line, until its input ends.

The first line names the client; the answer is its model's name. Every further line is a batch of conversations, and the answer their
replies. Standard output belongs to the answers alone: whatever else is printed goes to standard error.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import asdict
from typing import Any, TextIO

from edgeworth.errors import EdgeworthError, MissingExtra, ModelUnavailable
from edgeworth.llm.client import Client, Message, Sampling
from edgeworth.llm.stack import make_client

BEHIND = 5
"""How far the process stands back when others want the processor too."""


def loaded(opening: dict[str, Any]) -> tuple[Client | None, dict[str, Any]]:
    """The client, ready to be asked, and what is said of it."""
    try:
        client = make_client(opening["client"], **opening["options"])
        client.check()
    except ModelUnavailable as error:
        return None, {"unavailable": error.reason, "message": str(error)}
    except MissingExtra as error:
        return None, {"missing": ["A local language model", "an optional package", error.extra]}
    except EdgeworthError as error:
        return None, {"unavailable": "bad_request", "message": str(error)}
    return client, {"name": client.name}


def answered(client: Client, question: dict[str, Any]) -> dict[str, Any]:
    """The replies to a batch."""
    batch = [[Message(**message) for message in conversation] for conversation in question["conversations"]]
    samplings = [Sampling(**fields) for fields in question["samplings"]]
    try:
        return {"replies": [asdict(reply) for reply in client.complete(batch, samplings, question["within"])]}
    except EdgeworthError as error:
        return {"unavailable": "bad_request", "message": str(error)}


def serve(questions: TextIO, answers: TextIO) -> None:
    """Answer until the questions end."""
    client: Client | None = None
    for line in questions:
        question = json.loads(line)
        if client is None:
            client, answer = loaded(question)
        else:
            answer = answered(client, question)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def main() -> None:
    """Keep standard output for the answers, and leave it to the server when to stop."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(BEHIND)
    serve(sys.stdin, answers)


if __name__ == "__main__":
    main()
