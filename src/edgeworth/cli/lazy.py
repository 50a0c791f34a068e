"""Commands that are loaded when they are called: until then only their name, their place and their line of help are known.

Most of a command's modules compile or draw something, which takes longer to import than a page of help takes to read.
"""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from edgeworth import catalog

STYLE: dict[str, Any] = {
    "no_args_is_help": True,
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": "rich",
}


class Unloaded(TyperCommand):
    """A command, or a group of them, that nobody has called yet."""

    def __init__(self, name: str, place: str, says: str) -> None:
        """`place` is "module:name" of a function or of a `typer.Typer`, as in the catalog."""
        super().__init__(name=name, short_help=says)
        self.place = place

    def load(self) -> Any:
        """The command itself."""
        found, around = catalog.load(self.place), typer.Typer(**STYLE)
        around.callback()(lambda: None)  # so that it is a group, even with a single command
        if isinstance(found, typer.Typer):
            around.add_typer(found, name=self.name)
        else:
            around.command(self.name)(found)
        group: Any = typer.main.get_command(around)
        return group.commands[self.name]


class OnDemand(TyperGroup):
    """A group that lists its commands unloaded and loads the one that is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called, loaded."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, Unloaded) else command, rest


def group_of(table: dict[str, tuple[str, str]]) -> type[OnDemand]:
    """The group of these commands: by name, the place of each and its line of help."""

    class Group(OnDemand):
        def __init__(self, **given: Any) -> None:
            super().__init__(**given)
            self.commands = {name: Unloaded(name, place, says) for name, (place, says) in table.items()}

    return Group
