"""The server's log: one JSON object a line, on standard error, without anybody's secrets.

A request has a line with its method, route, status, milliseconds, owner, session and request id. Bodies, headers and query strings are
never written, and the route stands for the path, so that nothing a client sends by mistake ends up here.
"""

from __future__ import annotations

import logging
import sys
import time
import traceback
from typing import Any

import orjson

FOREIGN = ("uvicorn", "edgeworth.server")
"""Loggers of the library's own kind, whose records become lines too."""
_least = logging.ERROR
"""The least important level that is written; until `set_up` only errors are."""


def set_up(level: int = logging.INFO) -> None:
    """Write lines of this level and above; uvicorn's log too."""
    global _least
    _least = level
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in FOREIGN:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)


def note(level: int, event: str, /, error: BaseException | None = None, **facts: Any) -> None:
    """Write a line; without the detours of a logger, since every request has one."""
    if level >= _least:
        sys.stderr.write(_line(time.time(), level, {"event": event, **facts}, error) + "\n")


def _line(when: float, level: int, facts: dict[str, Any], error: BaseException | None) -> str:
    line: dict[str, Any] = {"time": round(when, 3), "level": logging.getLevelName(level).lower(), **facts}
    if error is not None:
        line["traceback"] = "".join(traceback.format_exception(error))
    return orjson.dumps(line, default=str).decode()


class JsonLines(logging.Formatter):
    """A record of somebody else's as such a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        error = record.exc_info[1] if record.exc_info else None
        return _line(record.created, record.levelno, {"event": "message", "logger": record.name, "message": record.getMessage()}, error)
