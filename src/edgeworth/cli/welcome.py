"""What `edgeworth serve` tells whoever started it: the address, and when the models that it warms are loaded; and it opens the browser."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import urllib.error
import urllib.request
import webbrowser
from typing import TYPE_CHECKING, Any

from edgeworth.cli.console import err

if TYPE_CHECKING:
    from edgeworth.server.settings import ServerSettings

LISTS = {"/api/designers": "designers", "/bargaining/hints": "providers"}
"""Where the server lists what it can warm."""
TITLES = {"llm": "the language model", "language_model": "the language model"}
LOOK_SECONDS, ANSWER_SECONDS, MOST_SECONDS = 0.25, 5.0, 300.0


def welcome(address: str, settings: ServerSettings, browser: bool) -> None:
    """Print the address; the rest happens beside the server, once it answers."""
    err.print(f"edgeworth: serving on {address}; open it in a browser. Stop with Ctrl-C.", soft_wrap=True)
    if browser or settings.warm:
        threading.Thread(target=_accompany, args=(address, settings, browser), daemon=True).start()


def _accompany(address: str, settings: ServerSettings, browser: bool) -> None:
    token = settings.tokens[0][1] if settings.tokens else ""
    until = time.monotonic() + MOST_SECONDS
    while _asked(f"{address}/ready", token) is None:
        if time.monotonic() > until:
            return
        time.sleep(LOOK_SECONDS)
    if browser and has_browser():
        webbrowser.open(f"{address}/")
    cold = set(settings.warm)
    while cold and time.monotonic() < until:
        for name in sorted(cold):
            sentence = told(name, _state(address, name, token))
            if sentence:
                err.print(sentence, soft_wrap=True)
                cold.remove(name)
        time.sleep(LOOK_SECONDS)


def told(name: str, state: dict[str, Any] | None) -> str:
    """What there is to say of something that is being warmed; nothing while it loads."""
    title = TITLES.get(name, name)
    if state is not None and state["state"] == "loaded":
        return f"edgeworth: {title} is warm."
    if state is not None and state["state"] == "failed":
        return f"edgeworth: {title} cannot be loaded: {state['reason']}"
    return ""


def has_browser() -> bool:
    """Whether a browser with a window can be opened; a text browser would take the terminal."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def _state(address: str, name: str, token: str) -> dict[str, Any] | None:
    """How far the server is with loading something, as it lists it."""
    for path, key in LISTS.items():
        found = _asked(f"{address}{path}", token) or {}
        for each in found.get(key, ()):
            if each["name"] == name:
                return dict(each)
    return None


def _asked(url: str, token: str) -> dict[str, Any] | None:
    """The server's answer; None where it does not answer yet."""
    request = urllib.request.Request(url, headers={"authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as answer:
            content: dict[str, Any] = json.load(answer)
            return content
    except (OSError, ValueError):
        return None
