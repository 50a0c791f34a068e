"""The command line `edgeworth`: a table of the commands, loaded on demand, and the exit status of errors.

Tables go to standard output, messages and progress bars to standard error; `--json` prints one JSON object instead of tables. Exit status 2
means a wrong call, 1 a run that failed. Importing a command's module can take seconds, so `edgeworth --help` reads only the table below.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from edgeworth import __version__, catalog
from edgeworth.cli.console import complain, fallbacks_as_messages, say
from edgeworth.errors import EdgeworthError, InvalidContext, InvalidOption
from edgeworth.progress import COMPILING, ON_COMPILING

COMMANDS = {
    "play": ("play:play", "Negotiate against a partner in the terminal."),
    "talk": ("play:talk", "Negotiate against a partner in English."),
    "demo": ("demo:demo", "Watch the best blind agent negotiate one episode, with its reasons."),
    "analyse": ("analyse:analyse", "Show the Pareto frontier of a context and what an agent could get."),
    "yardstick": ("yardstick:yardstick_command", "Compute the reference scores of a game, from random play to the oracle."),
    "market": ("market:market_command", "Run a market in the terminal and describe every sale."),
    "sensitivity": ("sensitivity:sensitivity_command", "Measure what each field of a mechanism does to the score."),
    "robustness": ("sensitivity:robustness_command", "Count the changed markets in which each conclusion holds."),
    "train": ("train:train_command", "Train a negotiator."),
    "evaluate": ("evaluate:evaluate_command", "Measure how well negotiators play."),
    "compare": ("evaluate:compare_command", "Compare two negotiators on the same episodes."),
    "curves": ("study:curves_command", "Summarise the learning curves of several runs."),
    "study": ("studies:app", "Train agents with several settings and seeds, and compare them."),
    "self-play": ("study:self_play_command", "Train agents by self-play and measure how far they can be exploited."),
    "tournament": ("evaluate:tournament_command", "Let negotiators play against each other and rank them."),
    "parse": ("parse:parse_command", "Find the acts and offers in a dialogue between people."),
    "clone": ("clone:clone_command", "Train a negotiator to imitate people, from their dialogues."),
    "hint": ("hint:hint_command", "Show one hint with its prompt, reply, verdict and features."),
    "serve": (
        "serve:serve_command",
        "Serve both games over HTTP and WebSocket: sessions that survive restarts, designers, hints.",
    ),
    "replay": ("serve:replay_command", "Replay a session that was exported from the server."),
    "import": ("sessions:import_command", "Import an exported session into a store, even while a server uses it."),
    "store": ("store:app", "Copy, check or shrink a store of sessions, even while a server uses it."),
    "hints": ("hints:app", "List hint providers, measure their hints, or ask for hints in advance."),
    "designer": ("designer:app", "List auction designers; search, fit or train them."),
    "pocket": ("pocket:app", "Train, measure or describe the bundled language model."),
}
"""Each command's function or group in this package, as "module:name", and the first line of its help."""

ALIASES = {"designers": "designer"}
"""Other names of commands."""

FIRST = (
    *("--host", "--port", "--store", "--game", "--scenario", "--stage", "--mix", "--n-agents", "--cell"),
    *("--counts", "--mine", "--theirs", "--partner", "--history", "--moves", "--player"),
    *("--agent", "--negotiator", "--algo", "--config", "--hint", "--provider", "--providers"),
    *("--mechanism", "--designer", "--before", "--after", "--policy"),
    *("--client", "--model", "--prompt", "--client-option", "--cache", "--replay", "--temperature", "--max-tokens"),
)
"""Options that come first in every command's help: what is played, then who plays it."""
LAST = (
    *("--steps", "--response-steps", "--contexts", "--plan-contexts", "--markets", "--effort"),
    *("--episodes", "--yardstick-episodes", "--model-episodes", "--set", "--seed"),
    *("--engine", "--address", "--workers", "--threads", "--device"),
    *("--runs", "--results", "--name", "--out", "--resume", "--result", "--figure", "--bundle", "--quiet", "--brief", "--json", "--help"),
)
"""Those that come last: how much, further settings, how it is computed, where the result goes. A command's own stand in between."""
STYLE: dict[str, Any] = {"no_args_is_help": True, "add_completion": False, "pretty_exceptions_enable": False, "rich_markup_mode": "rich"}


def in_order(options: list[Any]) -> list[Any]:
    """Options as help lists them: those of every command in one order, and no type beside flags, which take no value."""
    for option in options:
        if getattr(option, "is_flag", False) and option.metavar is None:
            option.metavar = ""
    return sorted(options, key=_place)


def _place(option: Any) -> int:
    name = option.opts[0]
    if name in LAST:
        return 1 + LAST.index(name)
    return FIRST.index(name) - len(FIRST) if name in FIRST else 0


class Command(TyperCommand):
    """A command with its options in order, and help whose lines end where the terminal does."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.help = re.sub(r"(?<!\n)\n(?!\n)", " ", self.help or "")

    def get_params(self, ctx: Any) -> list[Any]:
        """The options."""
        return in_order(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands with its options in order."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options."""
        return in_order(super().get_params(ctx))


class LazyCommand(TyperCommand):
    """A command, or a group of commands, whose module is not imported yet."""

    def __init__(self, name: str) -> None:
        self.place, summary = COMMANDS[name]
        super().__init__(name=name, short_help=summary)

    def load(self) -> Any:
        """Import the module and build the command."""
        found, parent = catalog.load(f"{__name__}.{self.place}"), typer.Typer(**STYLE)
        ON_COMPILING[:] = [lambda: say(COMPILING)]
        parent.callback()(lambda: None)  # makes it a group, even with a single command
        if isinstance(found, typer.Typer):
            for command in found.registered_commands:
                command.cls = Command
            own = found.info.cls
            parent.add_typer(found, name=self.name, cls=own if isinstance(own, type) else Group)
        else:
            parent.command(self.name, cls=Command)(found)
        group: Any = typer.main.get_command(parent)
        return group.commands[self.name]


class LazyGroup(Group):
    """The group of all commands; imports the one that is called."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = {name: LazyCommand(name) for name in COMMANDS}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the called command and load it."""
        first = ALIASES.get(args[0], args[0])
        name, command, rest = super().resolve_command(ctx, [first, *args[1:]])
        return name, command.load() if isinstance(command, LazyCommand) else command, rest


app = typer.Typer(name="edgeworth", cls=LazyGroup, **STYLE)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"edgeworth {__version__}")
        raise typer.Exit


@app.callback()
def edgeworth(
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")] = False,
) -> None:
    """A laboratory for strategic agents: bargaining and auction design."""


def main(command: Callable[[], object] = app) -> None:
    """Run a command; warnings and our own errors become sentences, errors an exit status too."""
    try:
        with fallbacks_as_messages():
            command()
    except EdgeworthError as error:
        complain(str(error))
        sys.exit(2 if isinstance(error, InvalidOption | InvalidContext) else 1)
