"""`edgeworth hints`: list hint providers, measure what their hints are worth, and ask a language model for hints in advance."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.table import Table

from edgeworth.agents.hints.llm import LanguageModelHints
from edgeworth.agents.hints.plan_fill import fill
from edgeworth.agents.questions import LOCAL_CLIENTS, client_name
from edgeworth.cli import options
from edgeworth.cli.console import command_line, deliver, listed, progress, say, table
from edgeworth.cli.hint import LLM, close, hint_provider, model_options
from edgeworth.errors import InvalidOption
from edgeworth.evaluation.hint_measures import FREE_TEMPERATURE, QUANTITY, WITHOUT_HINT, Adviser, HintMeasure, choose_seeds, measure_hints
from edgeworth.evaluation.statistics import Estimate

app = typer.Typer(help="List hint providers, measure their hints, or ask for hints in advance.", no_args_is_help=True)

PROVIDERS = "random,expert,bayes,llm"
OWN_PROMPT = "configs/llm_prompt.txt"


@app.command("list")
def list_providers(as_json: options.AsJson = False) -> None:
    """List the hint providers.

    Example: edgeworth hints list
    """
    names, found = listed("hint provider", "provider")
    deliver({"providers": names}, [found], as_json)


@app.command("measure")
def measure(
    scenario: options.Scenario = "classic",
    partner: options.Partner = None,
    settings: options.Settings = None,
    providers: Annotated[str, typer.Option(help="Hint providers to measure, separated by commas.")] = PROVIDERS,
    client: options.ClientName = None,
    model: options.ModelName = None,
    prompt: Annotated[list[Path] | None, typer.Option(help=f"Prompt template; repeatable. Default: {OWN_PROMPT}.")] = None,
    client_option: options.ClientOptions = None,
    cache: options.CacheFile = None,
    replay: options.Replay = False,
    temperature: options.Temperature = None,
    max_tokens: options.MaxTokens = None,
    free: Annotated[bool, typer.Option("--free", help="Ask without a schema, at temperature 1 unless --temperature is given.")] = False,
    contexts: Annotated[str, typer.Option(help="all, or held_out for contexts that the bundled model was not trained on.")] = "all",
    episodes: Annotated[int, typer.Option(min=10, help="Episodes per provider; all providers play the same ones.")] = 2_000,
    seed: options.Seed = 0,
    out_file: options.OutFile = None,
    figure: options.Figure = None,
    as_json: options.AsJson = False,
) -> None:
    """Measure hints: how many are legal, how often they agree with the Bayes plan, and what an agent earns that follows every one.

    Without a hint the agent agrees if it can, and otherwise asks for everything.

    Example: edgeworth hints measure --providers random,bayes,llm --contexts held_out --episodes 500

    Example: edgeworth hints measure --providers llm --client ollama --model qwen2.5:1.5b --prompt a.txt --prompt b.txt --free
    """
    config = options.game_config(scenario, partner, settings)
    temperature = FREE_TEMPERATURE if free and temperature is None else temperature
    others = {"client": client, "model": model, "cache": cache, "max_tokens": max_tokens}
    asking = model_options(client_option, replay, temperature, seed, **others)
    advisers = _advisers(providers, prompt or [], asking, free)
    seeds = choose_seeds(config, contexts, episodes, seed)
    with progress() as task:
        found = measure_hints(config, advisers, seeds, task("following"))
    close(*(adviser.provider for adviser in advisers))
    result = {
        "command": command_line(),
        "quantity": QUANTITY,
        "scenario": scenario,
        "contexts": contexts,
        "free": free,
        "seeds": _seed_words(contexts, seeds.tolist()),
        "without_hint": WITHOUT_HINT,
        "measures": [asdict(row) for row in found],
    }
    deliver(result, _page(result, found), as_json, out_file, figure, "edgeworth.evaluation.hint_figures:draw_hint_measures")
    for note in dict.fromkeys(note for row in found for note in row.notes):
        say(note)


def _advisers(providers: str, prompts: list[Path], asking: dict[str, Any], free: bool) -> list[Adviser]:
    """The providers by name; the language model once for each prompt."""
    names = list(dict.fromkeys(name.strip() for name in providers.split(",") if name.strip()))
    if not names:
        raise InvalidOption(f"--providers is {providers!r}; expected names with commas between, such as {PROVIDERS}.")
    advisers = []
    for name in names:
        if name != LLM:
            advisers.append(Adviser(name, hint_provider(name)))
            continue
        files: list[Path | None] = [*prompts] or [None]
        for prompt in files:
            provider = hint_provider(name, prompt=prompt, constrained=False if free else None, **asking)
            advisers.append(Adviser(_label(asking, prompt, free), provider, OWN_PROMPT if prompt is None else str(prompt)))
    if LLM not in names and (prompts or free or any(asking.values())):
        raise InvalidOption("The flags for prompt, client, model, cache and sampling belong to the provider llm; add it to --providers.")
    return advisers


def _label(asking: dict[str, Any], prompt: Path | None, free: bool) -> str:
    model = asking["model"] and (Path(asking["model"]).name if Path(asking["model"]).is_dir() else asking["model"])
    facts = [client_name(asking["client"], asking["model"]), model, prompt and prompt.name, free and "free"]
    return f"{LLM} ({', '.join(str(fact) for fact in facts if fact)})"


def _seed_words(contexts: str, seeds: list[int]) -> str:
    if contexts == "all":
        return f"{seeds[0]} to {seeds[-1]}"
    return f"{len(seeds):,} seeds from {seeds[0]} to {seeds[-1]}: those whose first context was kept back from the pocket model's training"


def _page(result: dict[str, Any], found: list[HintMeasure]) -> Iterator[RenderableType]:
    title = f"{result['scenario']}, {result['contexts']} contexts: what hints are worth"
    worth = table("provider", "legal", "same act", "same move", "value kept", "share of maximum", "of the plan's", title=title)
    for row in found:
        estimates = (row.legality, row.same_act, row.same_move, row.value_kept, row.share_of_maximum, row.over_bayes)
        worth.add_row(row.adviser, *map(_shown, estimates))
    yield worth
    yield "[dim]± is half of the 95 % interval. Same act, same move, value kept: against the Bayes plan, over the hints given.[/]"
    models = [row for row in found if row.model is not None]
    if models:
        yield ""
        yield _cost_table(models)
    for row in found:
        if row.rejections:
            reasons = ", ".join(f"{reason} ({number:,})" for reason, number in row.rejections.items())
            yield f"{row.adviser} was rejected for {reasons}."


def _shown(estimate: Estimate | None) -> str:
    return "–" if estimate is None else f"{estimate.value:.3f}\n[dim]±{(estimate.high - estimate.low) / 2:.3f}[/]"


def _cost_table(found: list[HintMeasure]) -> Table:
    costs = table("language model", "hints", "replies", "different prompts", "from cache", "tokens in + out", "p50 ms", "p99 ms")
    for row in found:
        cost = row.cost
        tokens = "–" if cost.prompt_tokens is None else f"{cost.prompt_tokens:.0f} + {cost.completion_tokens:.0f}"
        times = [f"{1000 * cost.latency[name]:.0f}" if cost.latency else "–" for name in ("p50", "p99")]
        numbers = (row.asked, cost.replies, cost.distinct_prompts, cost.cached)
        costs.add_row(row.model or "", *(f"{number:,}" for number in numbers), tokens, *times)
    return costs


@app.command("fill")
def fill_command(
    cache: Annotated[Path, typer.Option(help="File for the replies; questions that it already answers are not asked again.")],
    scenario: options.Scenario = "classic",
    partner: options.Partner = None,
    settings: options.Settings = None,
    client: options.ClientName = None,
    model: options.ModelName = None,
    prompt: options.PromptFile = None,
    client_option: options.ClientOptions = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Pools to ask about together, and prompts that a local model reads at once.")] = 64,
    limit: Annotated[int | None, typer.Option(min=1, help="Ask about only this many pools, evenly spread. Default: all.")] = None,
    engine: options.Engine = "local",
    address: options.Address = None,
    workers: options.MoreWorkers = None,
    out_file: options.OutFile = None,
    as_json: options.AsJson = False,
) -> None:
    """Ask a language model for hints in advance, for all pools and utilities of a game, so that training finds them in the cache.

    The hints are those of the provider llm with `as_plan`. If interrupted, call it again to continue.

    Example: edgeworth hints fill --scenario lewis --cache runs/replies.sqlite --limit 10

    Example: edgeworth hints fill --scenario classic --cache runs/replies.sqlite --batch-size 1024 --client-option device=cuda
    """
    config = options.game_config(scenario, partner, settings)
    asking = options.client_options(client_option)
    if client_name(client, model) in LOCAL_CLIENTS:
        asking.setdefault("batch_size", batch_size)
    provider = LanguageModelHints(client, model, prompt, cache=cache, as_plan=True, client_options=asking)
    began = time.perf_counter()
    try:
        with options.executed(engine, address, workers) as run, progress() as task:
            alone = engine == "local" and workers in (None, 1)
            found = fill(provider, config, batch_size, limit, task("asking"), None if alone else run)
    finally:
        provider.close()
    facts, seconds = asdict(found), round(time.perf_counter() - began, 3)
    result = {"command": command_line(), "scenario": scenario, "model": provider.asked.name, **facts, "seconds": seconds}
    page = [
        f"{scenario}: {facts['own_sides']:,} pools with utilities, {facts['openers']} way{'s' * (facts['openers'] > 1)} to open,"
        f" {facts['hints']:,} hints, {facts['prompts']:,} different questions. {cache} did not know {facts['calls']:,} of them;"
        f" {provider.asked.name} answered in {seconds:.0f} s, {facts['calls'] / seconds:.0f} a second.",
        f"Rejected replies: {facts['rejected']:,}; plans with moves left after them, where a run may ask more: {facts['beyond']:,}.",
    ]
    deliver(result, page, as_json, out_file)
