"""Where words go: results to standard output, everything else to standard error; and how options become settings."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.console import Console

from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

Scenario = Annotated[
    str, typer.Option("--scenario", "-s", help="A named scenario (classic, one_shot, discounted, walkaway, lewis, …) or a YAML file.")
]
Partner = Annotated[str | None, typer.Option("--partner", "-p", help="Partner by name; default: the scenario's.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="Any option of the game, e.g. --set discount=0.9 --set partner_options.counter=keep_all.")
]
Seed = Annotated[int, typer.Option("--seed", help="The seed that decides every draw.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]


def complain(message: str) -> None:
    """An error, in one sentence."""
    err.print(f"[bold red]edgeworth:[/] {message}", markup=True, soft_wrap=True)


def print_json(value: Any) -> None:
    """One machine-readable object."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_json(path: Path, value: Any) -> None:
    """Write a result file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    fresh.replace(path)
    err.print(f"Wrote {path}.")


def game_config(scenario: str, partner: str | None, settings: list[str] | None) -> BargainingConfig:
    """The options of a scenario, changed by flags."""
    options: dict[str, Any] = {}
    if partner is not None:
        options["partner"] = partner
    for setting in settings or []:
        name, sign, text = setting.partition("=")
        if not sign:
            raise InvalidOption(f"--set {setting}: expected NAME=VALUE, for example discount=0.9.")
        _place(options, name.strip(), yaml.safe_load(text))
    return BargainingConfig.from_options(scenario, **options)


def _place(options: dict[str, Any], name: str, value: Any) -> None:
    """Put `a.b=value` where it belongs."""
    head, _, rest = name.partition(".")
    if rest:
        _place(options.setdefault(head, {}), rest, value)
    else:
        options[head] = value
