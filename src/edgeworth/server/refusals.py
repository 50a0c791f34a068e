"""What the server refuses, in one shape: a code for programs, a sentence for people, what to do, and the field that is meant.

`Refused` is raised anywhere behind a route or a socket. What the games refuse by their own errors becomes one here, so that a client sees
no difference between a rule of the game and a rule of the house.
"""

from __future__ import annotations

from typing import Any

from edgeworth.errors import (
    EdgeworthError,
    EpisodeOver,
    IllegalAction,
    InvalidContext,
    InvalidOption,
    MissingExtra,
    ModelUnavailable,
    OtherRules,
    UnknownName,
)


class Refused(Exception):
    """A request that is not carried out; nothing has changed."""

    def __init__(
        self, status: int, code: str, message: str, remedy: str, field: str | None = None, retry_after: int | None = None, **facts: Any
    ) -> None:
        self.status, self.code, self.message, self.remedy, self.field = status, code, message, remedy, field
        self.retry_after, self.facts = retry_after, facts
        super().__init__(message)

    def body(self) -> dict[str, Any]:
        """What is sent."""
        return {"code": self.code, "message": self.message, "remedy": self.remedy, "field": self.field, **self.facts}


def unknown_session(session_id: str) -> Refused:
    """Nobody has opened it, it belongs to somebody else, or it has expired; which of these is not told."""
    return Refused(404, "unknown_session", f"There is no session {session_id!r}.", "Open one with POST /reset.", "session_id")


def refusal_of(error: EdgeworthError) -> Refused:
    """What a game, a model or a setting refused, as an answer to a client."""
    said = str(error)
    if isinstance(error, IllegalAction):
        return Refused(422, "illegal_action", said, "Send an action that the rules allow now; the session is unchanged.", error.rule)
    if isinstance(error, OtherRules):
        remedy = "Open a new session with POST /reset; this one can still be exported and deleted."
        return Refused(409, "other_rules", error.what, remedy, "session_id", found=error.found, expected=error.expected)
    if isinstance(error, EpisodeOver):
        return Refused(409, "episode_over", said, "Open the next episode with POST /reset.", "session_id")
    if isinstance(error, UnknownName):
        return Refused(422, "unknown_name", said, "Use one of the known names.", None)
    if isinstance(error, InvalidOption | InvalidContext):
        return Refused(422, "invalid_option", said, "Change the option as the message says.", None)
    if isinstance(error, ModelUnavailable):
        return Refused(503, "model_unavailable", said, "Ask for another one, or set it up on the server.", None)
    if isinstance(error, MissingExtra):
        return Refused(501, "not_installed", said, "Install the extra on the server.", None)
    return Refused(422, "refused", said, "Change the request as the message says.", None)
