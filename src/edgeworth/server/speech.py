"""Words behind the server: moves of negotiations as sentences of a language model, which runs in a process of its own.

The model is the one that the server was started with (`--speech-client`, `--speech-model`); without one there are templates only. What it
writes is kept where our parser reads it back as exactly the move (`dialogues/speech.py`), and replaced by a template elsewhere.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

from edgeworth import catalog
from edgeworth.agents.questions import client_for, client_name
from edgeworth.dialogues.acts import Conversation
from edgeworth.dialogues.sentences import Tone
from edgeworth.dialogues.speech import Speech, Utterance
from edgeworth.games.bargaining.history import Move
from edgeworth.server.model_process import ModelProcess, ProcessClient
from edgeworth.server.model_queue import Worker
from edgeworth.server.settings import ServerSettings


class ToSay(NamedTuple):
    """A move that is to be put into words."""

    move: Move
    conversation: Conversation
    tone: Tone
    key: int
    """What the words of the episode are drawn from."""
    number: int
    """How many moves were made before."""

    def by(self, speech: Speech) -> Utterance:
        """Its words."""
        return speech.say(self.move, self.conversation, self.key, self.number)


class SpeechWorker(Worker[ToSay, Utterance]):
    """A language model that speaks, behind its queue."""

    def __init__(self, process: ModelProcess) -> None:
        self.client = ProcessClient(process)

    @property
    def loaded(self) -> bool:
        return self.client.process.loaded

    def load(self) -> None:
        self.client.check()

    def answer(self, batch: Sequence[ToSay], stop_at: float) -> list[Utterance | Exception]:
        self.client.stop_at = stop_at
        return [wanted.by(Speech(wanted.tone, self.client)) for wanted in batch]


def speech_process(settings: ServerSettings) -> ModelProcess | None:
    """The process of the language model that speaks, where the settings name one."""
    client, model = settings.speech_client or None, settings.speech_model or None
    if client is None and model is None:
        return None
    name = client_name(client, model)
    catalog.resolve("language model client", name)  # a mistyped name is refused at the start
    return ModelProcess(model or name, functools.partial(client_for, Speech, name, model, **dict(settings.speech_options)))
