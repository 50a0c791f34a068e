"""`edgeworth hints`: who gives hints, and what their hints are worth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from edgeworth import catalog
from edgeworth.agents.questions import client_name
from edgeworth.cli.console import (
    AsJson,
    Partner,
    Scenario,
    Seed,
    Settings,
    command_line,
    deliver,
    draw,
    err,
    game_config,
    out,
    print_json,
)
from edgeworth.cli.hint_fill import fill_command
from edgeworth.cli.hint_options import LLM, close, hint_provider
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
from edgeworth.cli.progress import progress
from edgeworth.errors import InvalidOption
from edgeworth.evaluation.hint_measures import (
    FREE_TEMPERATURE,
    QUANTITY,
    WITHOUT_HINT,
    Adviser,
    HintMeasure,
    choose_seeds,
    measure_hints,
)
from edgeworth.evaluation.statistics import Estimate

app = typer.Typer(help="Who gives hints: list them, measure what their hints are worth, ask for them beforehand.", no_args_is_help=True)
app.command("fill")(fill_command)

PROVIDERS = "random,expert,bayes,llm"
OWN_PROMPT = "configs/llm_prompt.txt"
LEGEND = "± is half of the 95 % interval. Same act, same move, value kept: against the Bayes plan, over the hints given."


@app.command("list")
def list_providers(as_json: AsJson = False) -> None:
    """List the hint providers.

    Example: edgeworth hints list
    """
    found = {name: (catalog.resolve("hint provider", name).__doc__ or "").splitlines()[0] for name in catalog.names("hint provider")}
    if as_json:
        print_json({"providers": found})
        return
    shown = Table(box=None, pad_edge=False, header_style="bold")
    shown.add_column("provider")
    shown.add_column("what it does")
    for name, words in found.items():
        shown.add_row(name, words)
    out.print(shown)


@app.command("measure")
def measure(
    scenario: Scenario = "classic",
    partner: Partner = None,
    settings: Settings = None,
    providers: Annotated[str, typer.Option(help="Whose hints, with commas between.")] = PROVIDERS,
    client: ClientName = None,
    model: ModelName = None,
    prompt: Annotated[
        list[Path] | None, typer.Option("--prompt", help="A prompt of your own; repeat for several. Default: configs/llm_prompt.txt.")
    ] = None,
    client_option: ClientOptions = None,
    cache: CacheFile = None,
    replay: Replay = False,
    temperature: Temperature = None,
    max_tokens: MaxTokens = None,
    free: Annotated[
        bool, typer.Option("--free", help="What the model does when nothing holds it: no schema, temperature 1 unless another is given.")
    ] = False,
    contexts: Annotated[str, typer.Option(help="all, or held_out: only contexts that the pocket model never saw in training.")] = "all",
    episodes: Annotated[int, typer.Option(min=10, help="Episodes per provider, the same for all.")] = 2_000,
    seed: Seed = 0,
    out_file: Annotated[Path | None, typer.Option("--out", help="Write the measures as JSON into this file.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw the measures into this PNG file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure hints: are they legal, are they what the Bayes plan says, and what does an agent earn that follows them at every move?

    All providers and prompts play the same seeds. Where there is no hint the agent agrees if it can, and else asks for everything.

    Example: edgeworth hints measure --providers random,bayes,llm --contexts held_out --episodes 500

    Example: edgeworth hints measure --providers llm --client ollama --model qwen2.5:1.5b --prompt a.txt --prompt b.txt --free
    """
    config = game_config(scenario, partner, settings)
    warmth = FREE_TEMPERATURE if free and temperature is None else temperature
    asking = {
        "client": client,
        "model": model,
        "client_options": client_options(client_option),
        "cache": cache,
        "replay": replay or None,
        "temperature": warmth,
        "max_tokens": max_tokens,
        "seed": seed if warmth else None,
    }
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
        "measures": [row.as_dict() for row in found],
    }
    deliver(result, as_json, out_file, lambda: _show(result, found))
    draw(result, figure, "edgeworth.evaluation.hint_figures:draw_hint_measures")
    for note in dict.fromkeys(note for row in found for note in row.notes):
        err.print(note, soft_wrap=True, markup=False)


def _advisers(providers: str, prompts: list[Path], asking: dict[str, Any], free: bool) -> list[Adviser]:
    """Everybody who is measured: the providers by name, the language model once for each prompt."""
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


# For people


def _show(result: dict[str, Any], found: list[HintMeasure]) -> None:
    out.print(_table(f"{result['scenario']}, {result['contexts']} contexts: what hints are worth", found))
    out.print(LEGEND, style="dim", soft_wrap=True)
    models = [row for row in found if row.model is not None]
    if models:
        out.print()
        out.print(_cost_table(models))
    rejected = {row.adviser: row.rejections for row in found if row.rejections}
    for adviser, reasons in rejected.items():
        out.print(
            f"{adviser} was rejected for {', '.join(f'{reason} ({number:,})' for reason, number in reasons.items())}.", soft_wrap=True
        )


def _table(title: str, found: list[HintMeasure]) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    table.add_column("provider")
    for name in ("legal", "same act", "same move", "value kept", "share of maximum", "of the plan's"):
        table.add_column(name, justify="right")
    for row in found:
        estimates = (row.legality, row.same_act, row.same_move, row.value_kept, row.share_of_maximum, row.over_bayes)
        table.add_row(row.adviser, *(_shown(estimate) for estimate in estimates))
    return table


def _shown(estimate: Estimate | None) -> str:
    if estimate is None:
        return "–"
    return f"{estimate.value:.3f}\n[dim]±{(estimate.high - estimate.low) / 2:.3f}[/]"


def _cost_table(found: list[HintMeasure]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("language model", overflow="fold")
    for name in ("hints", "replies", "different prompts", "from cache", "tokens in + out", "p50 ms", "p99 ms"):
        table.add_column(name, justify="right")
    for row in found:
        cost = row.cost
        tokens = "–" if cost.prompt_tokens is None else f"{cost.prompt_tokens:.0f} + {cost.completion_tokens:.0f}"
        times = [f"{1000 * cost.latency[name]:.0f}" if cost.latency else "–" for name in ("p50", "p99")]
        numbers = (row.asked, cost.replies, cost.distinct_prompts, cost.cached)
        table.add_row(row.model or "", *(f"{number:,}" for number in numbers), tokens, *times)
    return table
