"""`edgeworth hint`: one hint, taken apart: the prompt, the raw reply, the verdict and the ten features."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from edgeworth.agents.hints.llm import LanguageModelHints
from edgeworth.cli.console import AsJson, Partner, Scenario, Seed, Settings, err, game_config, print_json
from edgeworth.cli.hint_options import LLM, close, hint_provider
from edgeworth.cli.hint_page import as_dict, ask, show
from edgeworth.cli.hint_situation import Asked, moment
from edgeworth.cli.model_options import (
    CacheFile,
    ClientName,
    ClientOptions,
    MaxTokens,
    ModelName,
    Replay,
    Temperature,
    client_options,
)
from edgeworth.errors import FallbackUsed, InvalidOption
from edgeworth.games.bargaining.hints import HintProvider
from edgeworth.llm.scripted import Scripted


def hint_command(
    counts: Annotated[str | None, typer.Option(help="The pool, e.g. 3,2,1.")] = None,
    mine: Annotated[str | None, typer.Option(help="My utilities per unit, e.g. 1,2,3.")] = None,
    theirs: Annotated[str | None, typer.Option(help="The partner's, which no hint knows; drawn by the seed by default.")] = None,
    history: Annotated[
        str | None, typer.Option(help="The talks so far, every share being mine: 'me PROPOSE 2,1,0; partner PROPOSE 1,1,1'.")
    ] = None,
    moves: Annotated[int, typer.Option(min=0, help="Or so many moves of mine, played, with the partner's replies.")] = 0,
    player: Annotated[str, typer.Option(help="Which negotiator plays them.")] = "concession",
    provider: Annotated[str, typer.Option(help="Who gives the hint: llm, bayes, expert, random or none.")] = LLM,
    client: ClientName = None,
    model: ModelName = None,
    prompt: Annotated[Path | None, typer.Option("--prompt", help="A prompt of your own; default: configs/llm_prompt.txt.")] = None,
    client_option: ClientOptions = None,
    cache: CacheFile = None,
    replay: Replay = False,
    temperature: Temperature = None,
    max_tokens: MaxTokens = None,
    reply: Annotated[str | None, typer.Option(help="Judge this text instead of asking anybody.")] = None,
    scenario: Scenario = "classic",
    partner: Partner = None,
    settings: Settings = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Show one hint with everything that led to it: the prompt, the raw reply, the verdict and the ten features.

    The moment is the first move of a context that is drawn by --seed, or given by --counts and --mine, after the moves that --history
    tells or --moves plays.

    Example: edgeworth hint --counts 3,2,1 --mine 1,2,3 --history 'me INSIST 2,2,1; partner PROPOSE 1,1,1'

    Example: edgeworth hint --seed 7 --reply '{"act_type": 2, "oA": [0, 0, 0], "confidence": 0.9}'
    """
    config = game_config(scenario, partner, settings)
    options = {
        "client": client,
        "model": model,
        "client_options": client_options(client_option),
        "cache": cache,
        "replay": replay or None,
        "temperature": temperature,
        "max_tokens": max_tokens,
        "seed": seed if temperature else None,
    }
    giver = _giver(provider, reply, prompt, options)
    batch = moment(config, Asked(counts, mine, theirs, history, moves, player, seed))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", FallbackUsed)
        giver.check(batch)
        found = ask(giver, batch)
    close(giver)
    for warning in told:
        err.print(str(warning.message), soft_wrap=True, markup=False)
    if as_json:
        print_json(as_dict(batch, provider, giver, found))
    else:
        show(batch, provider, found)


def _giver(provider: str, reply: str | None, prompt: Path | None, options: dict[str, Any]) -> HintProvider:
    if reply is None:
        return hint_provider(provider, prompt=prompt, **options)
    if provider != LLM or any(options.values()):
        raise InvalidOption(
            "--reply is judged as it stands and nobody is asked; leave the provider, client, model, cache and sampling out."
        )
    return LanguageModelHints(client=Scripted(lambda messages: reply, model="the reply given"), prompt=prompt)
