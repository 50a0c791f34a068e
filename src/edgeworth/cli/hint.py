"""`edgeworth hint`: one hint with its prompt, the raw reply, the verdict and the ten features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from edgeworth.agents.hints.bayes import Bayes
from edgeworth.agents.hints.llm import Consultation, LanguageModelHints, laid_out
from edgeworth.cli import options
from edgeworth.cli.bargaining_tables import context_table
from edgeworth.cli.console import deliver, table
from edgeworth.cli.situation import after_history, after_moves, given_context
from edgeworth.dialogues.hint_prompt import move_words, rules_words
from edgeworth.dialogues.wording import share_words
from edgeworth.envs.hint_injector import provider_of
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import context_of
from edgeworth.games.bargaining.hint_features import FEATURE_NAMES
from edgeworth.games.bargaining.hints import HintProvider, Hints
from edgeworth.games.bargaining.history import ACTS_WITH_SHARE, history_of
from edgeworth.games.bargaining.vocabulary import Act
from edgeworth.llm.prompt import NOTHING
from edgeworth.llm.scripted import Scripted

LLM = "llm"
DUE = np.ones(1, np.bool_)


def hint_command(
    scenario: options.Scenario = "classic",
    partner: options.Partner = None,
    counts: options.Counts = None,
    mine: options.Mine = None,
    theirs: options.Theirs = None,
    history: Annotated[str | None, typer.Option(help="Moves so far, with your shares: 'me PROPOSE 2,1,0; partner PROPOSE 1,1,1'.")] = None,
    moves: Annotated[int, typer.Option(min=0, help="Play this many moves before the hint, instead of giving --history.")] = 0,
    player: Annotated[str, typer.Option(help="Negotiator that makes your --moves.")] = "concession",
    provider: Annotated[str, typer.Option(help="Hint provider: llm, bayes, expert, random or none.")] = LLM,
    client: options.ClientName = None,
    model: options.ModelName = None,
    prompt: options.PromptFile = None,
    client_option: options.ClientOptions = None,
    cache: options.CacheFile = None,
    replay: options.Replay = False,
    temperature: options.Temperature = None,
    max_tokens: options.MaxTokens = None,
    reply: Annotated[str | None, typer.Option(help="Judge this reply instead of asking a model.")] = None,
    settings: options.Settings = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
) -> None:
    """Show one hint with its prompt, reply, verdict and features.

    The hint is for the first move in a context that is drawn with --seed or given by --counts and --mine, or for the move after --history
    or --moves.

    Example: edgeworth hint --counts 3,2,1 --mine 1,2,3 --history 'me INSIST 2,2,1; partner PROPOSE 1,1,1'

    Example: edgeworth hint --seed 7 --reply '{"act_type": 2, "oA": [0, 0, 0], "confidence": 0.9}'
    """
    config = options.game_config(scenario, partner, settings)
    others = {"client": client, "model": model, "cache": cache, "max_tokens": max_tokens}
    asking = model_options(client_option, replay, temperature, seed, **others)
    giver = _provider(provider, reply, prompt, asking)
    if history is not None and moves:
        raise InvalidOption("--history and --moves exclude each other: the moves are given, or played.")
    context, config = given_context(config, seed, counts, mine, theirs, needs_theirs=False)
    batch = after_moves(config, context, seed, moves, player) if history is None else after_history(config, context, history)
    giver.check(batch)
    found = _ask(giver, batch)
    close(giver)
    planned = _plan(batch)
    result = _result(batch, provider, giver, found, planned)
    deliver(result, _page(batch, result, found, planned), as_json)


def model_options(client_option: list[str] | None, replay: bool, temperature: float | None, seed: int, **others: Any) -> dict[str, Any]:
    """The options of the provider llm, from flags; None where a flag was not given."""
    sampling = {"temperature": temperature, "seed": seed if temperature else None}
    return {**others, "client_options": options.client_options(client_option), "replay": replay or None, **sampling}


def hint_provider(name: str, **asking: Any) -> HintProvider:
    """A provider by name, with the options that were given; only a language model has any."""
    given = {option: value for option, value in asking.items() if value is not None and value != {}}
    if given and name != LLM:
        flag = "--" + next(iter(given)).replace("_", "-").removesuffix("s")
        raise InvalidOption(f"{flag} belongs to the provider llm; {name} asks no model.")
    return provider_of(name, given)


def _provider(name: str, reply: str | None, prompt: Path | None, asking: dict[str, Any]) -> HintProvider:
    if reply is None:
        return hint_provider(name, prompt=prompt, **asking)
    if name != LLM or any(asking.values()):
        raise InvalidOption(
            "--reply is judged as it stands and nobody is asked; leave the provider, client, model, cache and sampling out."
        )
    return LanguageModelHints(client=Scripted(lambda messages: reply, model="the reply given"), prompt=prompt)


def close(*providers: HintProvider) -> None:
    """Close the connections and files of providers."""
    for provider in providers:
        if isinstance(provider, LanguageModelHints):
            provider.close()


class Answer(NamedTuple):
    """A provider's answer: the verdict on its hint, the features, and the prompt and reply of a language model."""

    verdict: dict[str, Any]
    features: list[float]
    consultation: Consultation | None


def _ask(giver: HintProvider, batch: BargainingBatch) -> Answer:
    """Ask for the one hint that is due."""
    if isinstance(giver, LanguageModelHints):
        (consultation,) = giver.consult(batch, DUE)
        hints = laid_out(batch, DUE, [consultation])
    else:
        consultation, hints = None, giver.give(batch, DUE)
    return Answer(_verdict(hints), hints.features[0].tolist(), consultation)


def _plan(batch: BargainingBatch) -> Answer | str:
    """The move of the Bayes plan, or why there is none."""
    try:
        Bayes().check(batch)
    except InvalidOption as error:
        return str(error)
    return _ask(Bayes(), batch)


def _verdict(hints: Hints) -> dict[str, Any]:
    hint, rejection = hints.at(0), hints.rejections.get(0)
    if hint is not None:
        act = {"act": hint.act.name, "act_type": int(hint.act)}
        return {"accepted": True, **act, "oA": hint.share, "confidence": round(hint.confidence, 6)}
    if rejection is None:
        return {"accepted": False, "reason": None, "field": None, "sentence": "The provider has nothing to say."}
    return {"accepted": False, "reason": rejection.reason.value, "field": rejection.field, "sentence": rejection.sentence}


def _result(batch: BargainingBatch, provider: str, giver: HintProvider, found: Answer, planned: Answer | str) -> dict[str, Any]:
    context, asked = context_of(batch.state[0]), found.consultation
    history = history_of(batch.state["history"][0], int(batch.state["turn"][0]))
    return {
        "context": {"counts": context.counts, "my_utilities": context.my_utilities},
        "history": [move_words(move, context.counts) for move in history],
        "legal_acts": [act.name for act in Act if batch.masks[0, act]],
        "provider": provider,
        "model": giver.asked.name if isinstance(giver, LanguageModelHints) else None,
        "messages": None if asked is None else [asdict(message) for message in asked.messages],
        "reply": None if asked is None else _reply(asked),
        "verdict": found.verdict,
        "features": {name: round(value, 6) for name, value in zip(FEATURE_NAMES, found.features, strict=True)},
        "bayes": {"note": planned} if isinstance(planned, str) else planned.verdict,
    }


def _reply(asked: Consultation) -> dict[str, Any]:
    left_out = ("logprobs", "status", "retry_after")
    return {name: value for name, value in asdict(asked.reply).items() if name not in left_out}


# The page


def _page(batch: BargainingBatch, result: dict[str, Any], found: Answer, planned: Answer | str) -> Iterator[Panel]:
    yield _panel("The situation", _situation(batch, result))
    if result["messages"] is None:
        yield _panel("Prompt and reply", f"{result['provider']} asks no language model: there is no prompt and no reply.")
    else:
        for message in result["messages"]:
            yield _panel(f"Prompt: {message['role']}", Text(message["content"]))
        yield _panel("Reply", _reply_words(result["reply"]))
    verdict, plan = result["verdict"], result["bayes"]
    yield _panel("Verdict", _verdict_words(batch, verdict), "green" if verdict["accepted"] else "red" if verdict["reason"] else "none")
    yield _panel("Features", _feature_table(found.features, [] if isinstance(planned, str) else planned.features))
    if "note" in plan or not plan["accepted"]:
        words = f"No plan to compare with: {plan['note']}" if "note" in plan else plan["sentence"]
    else:
        same = verdict["accepted"] and (verdict["act"], verdict["oA"]) == (plan["act"], plan["oA"])
        words = f"{_hint_words(batch, plan)}.{' The hint says the same.' if same else ''}"
    yield _panel("The Bayes plan", Text(words))


def _panel(title: str, content: RenderableType, style: str = "none") -> Panel:
    return Panel(content, title=title, title_align="left", border_style=style)


def _situation(batch: BargainingBatch, result: dict[str, Any]) -> RenderableType:
    moves = "\n".join(f"  {words}" for words in result["history"]) or "  none yet"
    left, rules = batch.config.max_turns - int(batch.state["turn"][0]), rules_words(batch.config)
    lines = f"\nMoves so far, every share being mine:\n{moves}\nMoves left: {left}. Legal now: {', '.join(result['legal_acts'])}."
    table = context_table(context_of(batch.state[0]), partner_known=False)
    return Group(table, Text(lines + (f" House rules: {rules}." if rules != NOTHING else "")))


def _reply_words(reply: dict[str, Any]) -> RenderableType:
    if "message" in reply:
        return Text(f"No reply ({reply['reason']}): {reply['message']}", style="red")
    facts = [reply["model"] or "a model"]
    if reply["finish_reason"] != "stop":
        facts.append(f"ended by {reply['finish_reason']}")
    if reply["prompt_tokens"] or reply["completion_tokens"]:
        facts.append(f"{reply['prompt_tokens']} + {reply['completion_tokens']} tokens")
    if reply["seconds"]:
        facts.append(f"{reply['seconds']:.3g} s")
    facts += ["from the cache"] * reply["cached"]
    return Group(Text(reply["text"] or "(nothing)", style="bold"), Text("\n" + ", ".join(facts), style="dim"))


def _verdict_words(batch: BargainingBatch, verdict: dict[str, Any]) -> Text:
    if verdict["accepted"]:
        return Text(f"Accepted: {_hint_words(batch, verdict)}")
    if verdict["reason"] is None:
        return Text("No hint: the provider has nothing to say, and the features are neutral.")
    where = f", about {verdict['field']}" if verdict["field"] else ""
    return Text(f"Rejected ({verdict['reason']}{where}): {verdict['sentence']}\nThe features are neutral.")


def _hint_words(batch: BargainingBatch, hint: dict[str, Any]) -> str:
    sure = f"confidence {hint['confidence']:.3g}"
    if hint["act_type"] not in ACTS_WITH_SHARE:
        return f"{hint['act']}, {sure}"
    context = context_of(batch.state[0])
    points = sum(n * u for n, u in zip(hint["oA"], context.my_utilities, strict=True))
    return f"{hint['act']} {share_words(hint['oA'])} for me, worth {points} of {context.my_maximum} points to me; {sure}"


def _feature_table(features: list[float], planned: list[float]) -> Table:
    found = table("feature", "this hint")
    if planned:
        found.add_column("the plan's", justify="right", style="dim")
    for number, (name, value) in enumerate(zip(FEATURE_NAMES, features, strict=True)):
        found.add_row(name, f"{value:.3g}", *(f"{other:.3g}" for other in planned[number : number + 1]), style="bold" if value else None)
    return found
