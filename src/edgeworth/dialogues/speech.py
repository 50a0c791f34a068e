"""Speech: the words of a side, by templates, or by a language model whose sentence is kept only where the parser reads it back.

A model is told the move and asked for a sentence. What it writes is read by our own parser; a sentence that is not read back as exactly
this move, and a model that does not answer, are replaced by a template, and the utterance says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from edgeworth.dialogues.acts import Conversation
from edgeworth.dialogues.sentences import Tone, meant_share, reads_back, sentence, units_said
from edgeworth.games.bargaining.contexts import rest_of
from edgeworth.games.bargaining.history import Move
from edgeworth.games.bargaining.vocabulary import LOST_TURN, Act
from edgeworth.llm.client import Client, Completion, Message, Sampling

LONGEST_SENTENCE = 300
"""Letters; a model that writes more has not written a sentence."""
TASK = (
    "You speak for one side of a negotiation over books, hats and balls. Put the move that you are given into one or two short sentences,"
    " in a {tone} tone. Say exactly who gets what, and nothing else. Answer with the sentences only."
)
MEANINGS = {
    Act.PROPOSE: "propose a split",
    Act.INSIST: "insist on a split (say that you insist)",
    Act.AGREE: "accept the other side's offer",
    Act.DISAGREE: "refuse the other side's offer, without another one",
    Act.END: "state your final selection (call it that)",
}


@dataclass(frozen=True)
class Utterance:
    """What was said with a move."""

    text: str
    source: Literal["template", "model"]
    rejected: str | None = None
    """Where a template took a model's place: what the model wrote, or why it wrote nothing."""


@dataclass(frozen=True)
class Speech:
    """A way of speaking."""

    tone: Tone = "plain"
    client: Client | None = None
    """The language model to ask; templates alone where there is none."""

    def say(self, move: Move, conversation: Conversation, key: int, number: int) -> Utterance:
        """What the speaker of a move says; `key` and `number` are those of `sentences.sentence`."""
        template = sentence(move, conversation, self.tone, key, number)
        if self.client is None or move.act == LOST_TURN:
            return Utterance(template, "template")
        (reply,) = self.client.complete([self._prompt(move, conversation, template)], Sampling(max_tokens=96))
        if not isinstance(reply, Completion):
            return Utterance(template, "template", reply.message)
        text = " ".join(reply.text.split()).strip('"')
        if len(text) <= LONGEST_SENTENCE and reads_back(text, move, conversation):
            return Utterance(text, "model")
        return Utterance(template, "template", text[:LONGEST_SENTENCE])

    def _prompt(self, move: Move, conversation: Conversation, example: str) -> list[Message]:
        lines = [f"Your move: {MEANINGS[Act(move.act)]}."]
        share = meant_share(move, conversation)
        if share is not None:
            mine, theirs = (units_said(units, conversation.pool) or "nothing" for units in (share, rest_of(conversation.pool, share)))
            lines.append(f"You get {mine}; the other side gets {theirs}.")
        return [Message("system", TASK.format(tone=self.tone)), Message("user", "\n".join([*lines, f"For example: {example}"]))]
