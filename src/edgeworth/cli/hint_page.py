"""A hint taken apart, for `edgeworth hint`: on screen as panels, or as one object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from edgeworth.agents.hints.bayes import Bayes
from edgeworth.agents.hints.llm import Consultation, LanguageModelHints, laid_out
from edgeworth.cli.console import out
from edgeworth.cli.frontier_table import context_table
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import context_of
from edgeworth.games.bargaining.hint_features import FEATURE_NAMES, HINT_FEATURES
from edgeworth.games.bargaining.hint_prompt import move_words, rules_words
from edgeworth.games.bargaining.hints import Hint, HintProvider
from edgeworth.games.bargaining.talks import ACTS_WITH_SHARE, history_of, share_words, triple_of
from edgeworth.games.bargaining.vocabulary import Act
from edgeworth.llm.client import Completion, Failure
from edgeworth.llm.prompt import NOTHING
from edgeworth.protocol import Rejection

DUE = np.ones(1, np.bool_)


@dataclass(frozen=True)
class Answer:
    """What became of a question for one hint."""

    hint: Hint | None
    rejection: Rejection | None
    features: Sequence[float]
    consultation: Consultation | None = None
    """Prompt and reply, where a language model was asked."""


def ask(giver: HintProvider, batch: BargainingBatch) -> Answer:
    """Ask for the one hint that is due."""
    if isinstance(giver, LanguageModelHints):
        (consultation,) = giver.consult(batch, DUE)
        hints = laid_out(batch, DUE, [consultation])
    else:
        consultation, hints = None, giver.give(batch, DUE)
    return Answer(hints.at(0), hints.rejections.get(0), hints.features[0].tolist(), consultation)


def _planned(batch: BargainingBatch) -> Answer | str:
    """What the Bayes plan says at this moment, or why it says nothing."""
    try:
        Bayes().check(batch)
    except InvalidOption as error:
        return str(error)
    return ask(Bayes(), batch)


# For people


def show(batch: BargainingBatch, provider: str, found: Answer) -> None:
    """The whole page."""
    _panel("The moment", _moment_words(batch))
    asked = found.consultation
    if asked is None:
        _panel("Prompt and reply", f"{provider} asks no language model: there is no prompt and no reply.")
    else:
        for message in asked.messages:
            _panel(f"Prompt: {message.role}", Text(message.content))
        _panel("Reply", _reply_words(asked))
    planned = _planned(batch)
    _panel("Verdict", _verdict_words(batch, found), "red" if found.rejection else "green" if found.hint else "none")
    _panel("Features", _feature_table(found, planned))
    _panel("The Bayes plan", _comparison_words(batch, found, planned))


def _panel(title: str, content: RenderableType, style: str = "none") -> None:
    out.print(Panel(content, title=title, title_align="left", border_style=style))


def _moment_words(batch: BargainingBatch) -> RenderableType:
    context, turn = context_of(batch.state[0]), int(batch.state["turn"][0])
    history = history_of(batch.state["history"][0], turn)
    talks = "\n".join(f"  {move_words(move, context.counts)}" for move in history) or "  none yet"
    legal = ", ".join(act.name for act in Act if batch.masks[0, act])
    lines = f"\nMoves so far, every share being mine:\n{talks}\nMoves left: {batch.config.max_turns - turn}. Legal now: {legal}."
    rules = rules_words(batch.config)
    return Group(context_table(context, partner_known=False), Text(lines + (f" House rules: {rules}." if rules != NOTHING else "")))


def _reply_words(asked: Consultation) -> RenderableType:
    reply = asked.reply
    if isinstance(reply, Failure):
        return Text(f"No reply ({reply.reason}): {reply.message}", style="red")
    facts = [reply.model or "a model"]
    if reply.finish_reason != "stop":
        facts.append(f"ended by {reply.finish_reason}")
    if reply.prompt_tokens or reply.completion_tokens:
        facts.append(f"{reply.prompt_tokens} + {reply.completion_tokens} tokens")
    if reply.seconds:
        facts.append(f"{reply.seconds:.3g} s")
    facts += ["from the cache"] * reply.cached
    return Group(Text(reply.text or "(nothing)", style="bold"), Text("\n" + ", ".join(facts), style="dim"))


def _verdict_words(batch: BargainingBatch, found: Answer) -> Text:
    if found.hint is not None:
        return Text(f"Accepted: {_hint_words(batch, found.hint)}")
    if found.rejection is None:
        return Text("No hint: the provider has nothing to say, and the features are neutral.")
    where = f", about {found.rejection.field}" if found.rejection.field else ""
    return Text(f"Rejected ({found.rejection.reason.value}{where}): {found.rejection.sentence}\nThe features are neutral.")


def _hint_words(batch: BargainingBatch, hint: Hint) -> str:
    words, sure = hint.act.name, f"confidence {hint.confidence:.3g}"
    if hint.act not in ACTS_WITH_SHARE:
        return f"{words}, {sure}"
    points = sum(n * u for n, u in zip(hint.share, triple_of(batch.views[0, 3:6]), strict=True))
    return f"{words} {share_words(hint.share)} for me, worth {points} of {int(batch.state['maximum'][0, 0])} points to me; {sure}"


def _feature_table(found: Answer, planned: Answer | str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("feature")
    table.add_column("this hint", justify="right")
    beside = [] if isinstance(planned, str) else planned.features
    if beside:
        table.add_column("the plan's", justify="right", style="dim")
    for number in range(HINT_FEATURES):
        value = found.features[number]
        cells = [f"{column[number]:.3g}" for column in ([found.features, beside] if beside else [found.features])]
        table.add_row(FEATURE_NAMES[number], *cells, style="bold" if value else None)
    return table


def _comparison_words(batch: BargainingBatch, found: Answer, planned: Answer | str) -> Text:
    if isinstance(planned, str):
        return Text(f"No plan to compare with: {planned}")
    if planned.hint is None:
        return Text(planned.rejection.sentence if planned.rejection else "There is no plan.")
    same = found.hint is not None and found.hint[:2] == planned.hint[:2]
    return Text(f"{_hint_words(batch, planned.hint)}.{' The hint says the same.' if same else ''}")


# For programs


def as_dict(batch: BargainingBatch, provider: str, giver: HintProvider, found: Answer) -> dict[str, Any]:
    """The whole page as one object."""
    context, planned = context_of(batch.state[0]), _planned(batch)
    history = history_of(batch.state["history"][0], int(batch.state["turn"][0]))
    asked = found.consultation
    return {
        "context": {"counts": context.counts, "my_utilities": context.my_utilities},
        "history": [move_words(move, context.counts) for move in history],
        "legal_acts": [act.name for act in Act if batch.masks[0, act]],
        "provider": provider,
        "model": giver.asked.name if isinstance(giver, LanguageModelHints) else None,
        "messages": None if asked is None else [{"role": message.role, "content": message.content} for message in asked.messages],
        "reply": None if asked is None else _reply_dict(asked),
        "verdict": _verdict_dict(found),
        "features": {name: round(value, 6) for name, value in zip(FEATURE_NAMES, found.features, strict=True)},
        "bayes": {"note": planned} if isinstance(planned, str) else _verdict_dict(planned),
    }


def _reply_dict(asked: Consultation) -> dict[str, Any]:
    reply = asked.reply
    names = ("text", "finish_reason", "prompt_tokens", "completion_tokens", "model", "cached", "seconds")
    return {name: getattr(reply, name) for name in (names if isinstance(reply, Completion) else ("reason", "message", "seconds"))}


def _verdict_dict(found: Answer) -> dict[str, Any]:
    if found.hint is not None:
        hint = found.hint
        return {
            "accepted": True,
            "act": hint.act.name,
            "act_type": int(hint.act),
            "oA": hint.share,
            "confidence": round(hint.confidence, 6),
        }
    if found.rejection is None:
        return {"accepted": False, "reason": None, "field": None, "sentence": "The provider has nothing to say."}
    rejection = found.rejection
    return {"accepted": False, "reason": rejection.reason.value, "field": rejection.field, "sentence": rejection.sentence}
