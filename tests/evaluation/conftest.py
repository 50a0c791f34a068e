"""The commands, called in this process."""

from cli.conftest import called

__all__ = ["called"]
