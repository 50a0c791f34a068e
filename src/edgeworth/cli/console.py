"""Where words go: results to standard output, everything else to standard error; and how options become settings."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.console import Console
from rich.markup import escape

from edgeworth import catalog, files
from edgeworth.config import AuctionConfig, BargainingConfig
from edgeworth.errors import InvalidOption

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

Scenario = Annotated[
    str, typer.Option("--scenario", "-s", help="A named scenario (classic, one_shot, discounted, walkaway, lewis, …) or a YAML file.")
]
Partner = Annotated[str | None, typer.Option("--partner", "-p", help="Partner by name, or a checkpoint's path; default: the scenario's.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="Any option of the game, e.g. --set discount=0.9 --set partner_options.counter=keep_all.")
]
MarketSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="Any option of the market, e.g. --set episode_length=20 --set freeze=learning --set model.ring.overbid=0.1."
    ),
]
Bidders = Annotated[int, typer.Option("--n-agents", help="Bidders in the market, 2 to 16.")]
Seed = Annotated[int, typer.Option("--seed", help="The seed that decides every draw.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]


def complain(message: str) -> None:
    """An error, in one sentence."""
    err.print(f"[bold red]edgeworth:[/] {escape(message)}", markup=True, soft_wrap=True)


def command_line(*elsewhere: Path, program: str = "edgeworth") -> str:
    """The command that is running, as one would type it; paths from elsewhere by their last name, as others have them elsewhere."""

    def shown(arg: str) -> str:
        flag, sign, value = arg.partition("=") if arg.startswith("--") else ("", "", arg)
        names = [path.resolve().name for path in elsewhere if value and Path(value) == path]
        return f"{flag}{sign}{names[0]}" if names else arg

    return f"{program} " + " ".join(shlex.quote(shown(arg)) for arg in sys.argv[1:])


def print_json(value: Any) -> None:
    """One machine-readable object."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_json(path: Path, value: Any) -> None:
    """Write a result file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_json(path, value)
    err.print(f"Wrote {path}.")


def deliver(result: dict[str, Any], as_json: bool, out_file: Path | None, show: Callable[[], None]) -> None:
    """Hand over a finished result: into its file if one is named, and as one object or as tables for people."""
    if out_file is not None:
        write_json(out_file, result)
    if as_json:
        print_json(result)
    else:
        show()


def draw(result: dict[str, Any], figure: Path | None, drawer: str) -> None:
    """Draw a result into a file, if one is named, by `"module:function"`; the drawing library is loaded only then."""
    if figure is not None:
        catalog.load(drawer)(result, figure)
        err.print(f"Drew {figure}.")


def game_config(scenario: str, partner: str | None, settings: list[str] | None) -> BargainingConfig:
    """The options of a scenario, changed by flags."""
    options: dict[str, Any] = {}
    if partner is not None:
        options["partner"] = partner
    return BargainingConfig.from_options(scenario, **changed(options, settings, "discount=0.9"))


def auction_config(
    stage: str | None, mix: str | None, n_agents: int, settings: list[str] | None, default_stage: str = "mixed"
) -> AuctionConfig:
    """The options of a market, from flags; without a stage or a mix it is the default stage."""
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
    """`truthful=0.5,colluder=0.5` as shares by bidder type."""
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _, share = part.partition("=")
        try:
            shares[name.strip()] = float(share)
        except ValueError as error:
            raise InvalidOption(f"--mix {text}: expected TYPE=SHARE,…, for example truthful=0.5,colluder=0.5.") from error
    return shares


def changed(options: dict[str, Any], settings: list[str] | None, example: str, flag: str = "--set") -> dict[str, Any]:
    """The options with every `--set NAME=VALUE`, or what the flag is called, in its place."""
    for setting in settings or []:
        name, sign, text = setting.partition("=")
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise InvalidOption(f"{flag} {setting}: the value cannot be read; put words with special characters in quotes.") from error
        if not sign or not _place(options, name.strip(), value):
            raise InvalidOption(f"{flag} {setting}: expected NAME=VALUE, for example {example}.")
    return options


def _place(options: Any, name: str, value: Any) -> bool:
    """Put `a.b=value` where it belongs, if that is a place for settings."""
    if not isinstance(options, dict):
        return False
    head, _, rest = name.partition(".")
    if rest:
        return _place(options.setdefault(head, {}), rest, value)
    options[head] = value
    return True
