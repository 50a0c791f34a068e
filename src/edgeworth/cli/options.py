"""Options that several commands share, and the settings they lead to."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import yaml

from edgeworth import catalog
from edgeworth.cli.console import say
from edgeworth.config import AuctionConfig, BargainingConfig, scenario_names
from edgeworth.errors import DataError, InvalidOption
from edgeworth.executor.execution import Executor, executor
from edgeworth.games.bargaining.contexts import Triple, checked_triple

if TYPE_CHECKING:
    from edgeworth.games.auction.action import DaedalusAction

# Output

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]
OutFile = Annotated[Path | None, typer.Option("--out", help="Also write the result to this JSON file.")]
Figure = Annotated[Path | None, typer.Option("--figure", help="Also draw the result to this PNG file.")]

# Both games

Seed = Annotated[int, typer.Option("--seed", help="Seed of all random numbers.")]
CORES = os.cpu_count() or 1
Workers = Annotated[
    int | None, typer.Option("--workers", min=1, help="Processes that run at a time. Default: one per core; on Ray, all CPUs.")
]
MoreWorkers = Annotated[
    int | None,
    typer.Option("--workers", min=1, help="Processes that run at a time. Default: this one alone; on Ray, all CPUs."),
]
Engine = Annotated[str, typer.Option("--engine", help="local: processes of this machine. ray: Ray, here or on a cluster.")]
Address = Annotated[str | None, typer.Option("--address", help="The Ray cluster, e.g. auto or 10.0.0.1:6379. Default: one started here.")]
CELLS = Path("runs") / "cells"
"""Where a command keeps what is finished until it has ended."""


@contextmanager
def executed(engine: str, address: str | None, workers: int | None, folder: Path = CELLS, usual: int = 1) -> Iterator[Executor]:
    """The executor that the three options ask for; without a number of workers the local engine has the usual one."""
    try:
        with executor(engine, usual if workers is None and engine == "local" else workers, address, folder) as run:
            yield run
    except KeyboardInterrupt:
        say("Stopped; what was finished is kept, and the same command continues from there.")
        raise


# Bargaining

Scenario = Annotated[
    str, typer.Option("--scenario", "-s", help="Scenario by name (classic, one_shot, discounted, walkaway, lewis, …) or YAML file.")
]
AgentsScenario = Annotated[
    str | None,
    typer.Option("--scenario", "-s", help="Scenario by name or YAML file. Default: that of the run's training, else classic."),
]
Scenarios = Annotated[
    list[str] | None, typer.Option("--scenario", "-s", help="Scenario by name or YAML file; repeat for several. Default: all named ones.")
]
Partner = Annotated[
    str | None, typer.Option("--partner", "-p", help="Partner by name, or the path of a checkpoint. Default: the scenario's.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="Set any option of the game, e.g. --set discount=0.9 --set partner_options.counter=keep_all."),
]
Counts = Annotated[str | None, typer.Option("--counts", help="Books, hats and balls in the pool, e.g. 3,2,1. Default: drawn with --seed.")]
Mine = Annotated[str | None, typer.Option("--mine", help="Your utilities per unit, e.g. 1,2,3. Default: drawn with --seed.")]
Theirs = Annotated[str | None, typer.Option("--theirs", help="The partner's utilities per unit, e.g. 2,0,4. Default: drawn with --seed.")]

# Auction

MarketSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="Set any option of the market, e.g. --set episode_length=20 --set freeze=learning --set model.ring.overbid=0.1."
    ),
]
Bidders = Annotated[int, typer.Option("--n-agents", help="Number of bidders, 2 to 16.")]

# Language models

ClientName = Annotated[
    str | None,
    typer.Option(
        "--client",
        help="Language model client: pocket, groq, ollama, vllm, … Default: pocket (the bundled model), or huggingface with --model.",
    ),
]
ModelName = Annotated[
    str | None, typer.Option("--model", help="Model name, e.g. Qwen/Qwen2.5-1.5B-Instruct, or a model folder. Default: the client's own.")
]
PromptFile = Annotated[Path | None, typer.Option("--prompt", help="Prompt template to use instead of the default one.")]
ClientOptions = Annotated[
    list[str] | None,
    typer.Option("--client-option", help="Set any option of the client, e.g. --client-option base_url=http://host:8000/v1."),
]
CacheFile = Annotated[Path | None, typer.Option("--cache", help="Store replies in this file and never ask the same question twice.")]
Replay = Annotated[bool, typer.Option("--replay", help="Take all replies from --cache and ask no model.")]
Temperature = Annotated[
    float | None, typer.Option("--temperature", min=0.0, max=2.0, help="Sampling temperature. Default: 0, which is greedy.")
]
MaxTokens = Annotated[int | None, typer.Option("--max-tokens", min=1, help="Longest reply, in tokens. Default: 128.")]


def client_options(given: list[str] | None) -> dict[str, Any]:
    """The client's options from every `--client-option NAME=VALUE`."""
    return changed({}, given, "timeout=10", "--client-option")


# Settings


def refuse_beside_exact(context: typer.Context, *names: str) -> None:
    """Refuse options that say what to draw, where every context is played."""
    sources = {"--" + name.replace("_", "-"): context.get_parameter_source(name) for name in names}
    if given := [flag for flag, source in sources.items() if source is not None and source.name == "COMMANDLINE"]:
        raise InvalidOption(f"{' and '.join(given)} cannot be combined with --exact, which plays every context.")


def game_config(scenario: str, partner: str | None, settings: list[str] | None) -> BargainingConfig:
    """The options of a scenario, changed by flags."""
    options: dict[str, Any] = {} if partner is None else {"partner": partner}
    return BargainingConfig.from_options(scenario, **changed(options, settings, "discount=0.9"))


def game_of_agents(
    agents: Sequence[str], scenario: str | None, partner: str | None, settings: list[str] | None
) -> tuple[str, BargainingConfig]:
    """The game in which negotiators are measured, and its name.

    Without a scenario it is the one that the run or checkpoint among them was trained in; with neither it is `classic`.
    """
    own = {} if scenario is not None else {name: _trained_in(name) for name in agents if _is_path(name)}
    if not own:
        scenario = scenario or "classic"
        return scenario, game_config(scenario, partner, settings)
    (first, game), *others = own.items()
    for name, other in others:
        if other != game:
            raise InvalidOption(f"{first} and {name} were trained in different games; name the one to play with --scenario.")
    options = dict(game) if partner in (None, game["partner"]) else {**game, "partner": partner, "partner_options": {}}
    config = BargainingConfig.from_options(**changed(options, settings, "discount=0.9"))
    known = _scenario_of(config)
    say(f"Playing the game that {first} was trained in: {known or 'no named scenario'}, partner {config.partner}.")
    return known or f"the game of {first}", config


def _scenario_of(config: BargainingConfig) -> str | None:
    """The scenario that a game is, with its own partner or, as with `--scenario NAME --partner OTHER`, with another."""
    changes: tuple[dict[str, Any], ...] = ({}, {"partner": config.partner})
    tried = ((name, BargainingConfig.from_options(name, **change)) for change in changes for name in scenario_names())
    return next((name for name, other in tried if vars(other) == vars(config)), None)


def _is_path(agent: str) -> bool:
    return agent not in catalog.names("negotiator") and ("/" in agent or Path(agent).exists())


def _trained_in(path: str) -> dict[str, Any]:
    """The options of the game that the network behind a path was trained in."""
    from edgeworth.agents.trained_network import read_network

    return dict(read_network(path).facts["env"])


def auction_config(
    stage: str | None, mix: str | None, n_agents: int, settings: list[str] | None, default_stage: str = "mixed"
) -> AuctionConfig:
    """The options of a market from flags; without a stage, a mix or a curriculum it is the default stage."""
    options: dict[str, Any] = {"n_agents": n_agents}
    if stage is not None:
        options["stage"] = stage
    if mix is not None:
        options["mix"] = _mix(mix)
    changed(options, settings, "episode_length=20")
    if not {"stage", "mix", "curriculum"} & options.keys():
        options["stage"] = default_stage
    return AuctionConfig.from_options(**options)


def _mix(text: str) -> dict[str, float]:
    """Parse `truthful=0.5,colluder=0.5` into shares by bidder type."""
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _, share = part.partition("=")
        try:
            shares[name.strip()] = float(share)
        except ValueError as error:
            raise InvalidOption(f"--mix {text}: expected TYPE=SHARE,…, for example truthful=0.5,colluder=0.5.") from error
    return shares


def changed(options: dict[str, Any], settings: list[str] | None, example: str, flag: str = "--set") -> dict[str, Any]:
    """Put the value of every `--set NAME=VALUE` into the options; `a.b=VALUE` goes into the options of `a`."""
    for setting in settings or []:
        name, sign, text = setting.partition("=")
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise InvalidOption(f"{flag} {setting}: the value cannot be read; put words with special characters in quotes.") from error
        *parents, last = name.strip().split(".")
        place: Any = options
        for parent in parents:
            place = place.setdefault(parent, {}) if isinstance(place, dict) else None
        if not sign or not isinstance(place, dict):
            raise InvalidOption(f"{flag} {setting}: expected NAME=VALUE, for example {example}.")
        place[last] = value
    return options


def mechanism_option(name: str, n_agents: int) -> DaedalusAction:
    """The mechanism of `--mechanism`: a bundled one by name, or one from a JSON file."""
    from edgeworth.agents.designers.bundled import find_mechanism

    try:
        mechanism, notes = find_mechanism(name, n_agents)
    except DataError as error:
        raise InvalidOption(f"--mechanism {error}") from error
    for note in notes:
        say(f"{note}.")
    return mechanism


def triple(flag: str, text: str | None, limit: int) -> Triple:
    """Parse three whole numbers."""
    try:
        return checked_triple(flag, [int(part) for part in (text or "").replace(" ", ",").split(",") if part], limit)
    except (ValueError, TypeError) as error:
        arrived = "missing" if text is None else repr(text)
        raise InvalidOption(f"{flag} is {arrived}; expected three whole numbers from 0 to {limit}, such as 3,2,1.") from error
