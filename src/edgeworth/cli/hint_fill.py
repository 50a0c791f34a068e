"""`edgeworth hints fill`: ask a language model for the plans of all own sides of a game, so that runs find its hints in the cache."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from edgeworth.agents.hints.llm import LanguageModelHints
from edgeworth.agents.hints.plan_fill import fill
from edgeworth.agents.questions import LOCAL_CLIENTS, client_name
from edgeworth.cli.console import AsJson, Partner, Scenario, Settings, command_line, deliver, game_config, out
from edgeworth.cli.model_options import ClientName, ClientOptions, ModelName, PromptFile, client_options
from edgeworth.cli.progress import progress


def fill_command(
    cache: Annotated[Path, typer.Option("--cache", help="The file that keeps the replies; what it holds is not asked again.")],
    scenario: Scenario = "classic",
    partner: Partner = None,
    settings: Settings = None,
    client: ClientName = None,
    model: ModelName = None,
    prompt: PromptFile = None,
    client_option: ClientOptions = None,
    batch_size: Annotated[
        int, typer.Option(min=1, help="Own sides asked about together; a model that runs here also reads so many prompts at a time.")
    ] = 64,
    limit: Annotated[int | None, typer.Option(min=1, help="Ask about so many own sides only, evenly spread: for a trial.")] = None,
    out_file: Annotated[Path | None, typer.Option("--out", help="Write what was asked as JSON into this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Ask for plans beforehand: the hints of the provider llm with `as_plan`, for all pools and utilities of a game, into a cache.

    Interrupted, it goes on where it stopped, less the questions under way.

    Example: edgeworth hints fill --scenario lewis --cache runs/replies.sqlite --limit 10

    Example: edgeworth hints fill --scenario classic --cache runs/replies.sqlite --batch-size 1024 --client-option device=cuda
    """
    config = game_config(scenario, partner, settings)
    options = client_options(client_option)
    if client_name(client, model) in LOCAL_CLIENTS:
        options.setdefault("batch_size", batch_size)
    provider = LanguageModelHints(client, model, prompt, cache=cache, as_plan=True, client_options=options)
    began = time.perf_counter()
    try:
        with progress() as task:
            found = fill(provider, config, batch_size, limit, task("asking"))
    finally:
        provider.close()
    result = {
        "command": command_line(),
        "scenario": scenario,
        "model": provider.asked.name,
        **asdict(found),
        "seconds": round(time.perf_counter() - began, 3),
    }
    deliver(result, as_json, out_file, lambda: _show(result, cache))


def _show(result: dict[str, Any], cache: Path) -> None:
    rate = result["calls"] / result["seconds"]
    out.print(
        f"{result['scenario']}: {result['own_sides']:,} own sides, {result['openers']} way{'s' * (result['openers'] > 1)} to open,"
        f" {result['hints']:,} hints, {result['prompts']:,} different questions. {cache} did not know {result['calls']:,} of them;"
        f" {result['model']} answered in {result['seconds']:.0f} s, {rate:.0f} a second.",
        soft_wrap=True,
    )
    out.print(
        f"Replies that were no hints: {result['rejected']:,}; with moves left, so that a run may ask more: {result['beyond']:,}.",
        soft_wrap=True,
    )
