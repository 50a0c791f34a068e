"""How long steps take while a language model writes for somebody else, against how long they take while it is idle.

A few sessions play on one server, each sending its next step when the last one is answered. In every second turn questions to the
designer that is a language model are kept in flight, each about another market, so that the model never rests. Turns alternate, and the
ratio of the 99th percentiles is taken within a round. Where the model cannot be asked, the result says why.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from benchmarks.load import HttpSession, Script, Tally, load
from benchmarks.measuring import summary, target
from edgeworth.progress import Progress, silent

SESSIONS = 4
"""Sessions that play."""
QUESTIONS = 4
"""Questions in flight while the model writes."""
TURNS = ("idle", "writing")
WARM_UP_SECONDS = 0.5
ASK_SECONDS = 120.0
DESIGNER = "language_model"
TARGET = "p99 of /step, while a language model writes / idle"


def measure(port: int, scripts: list[Script], repeats: int, seconds: float, progress: Progress = silent) -> dict[str, Any]:
    """Rounds of an idle and a writing turn at a server, after a short round to warm up; the scripts are those of sessions over HTTP."""
    progress("loading the language model", 0, 1)
    first = ask(port, 0)
    if "mechanism" not in first:
        return not_measured(first["message"])
    turns: dict[str, list[Tally]] = {name: [] for name in TURNS}
    asked = Asked()
    for lap in range(repeats + 1):
        for place, name in enumerate(TURNS):
            progress(f"steps, model {name}, round {lap} of {repeats}", lap * len(TURNS) + place, (repeats + 1) * len(TURNS))
            with asking(port, asked) if name == "writing" else contextlib.nullcontext():
                tally = load(HttpSession, port, scripts, seconds if lap else WARM_UP_SECONDS)
            if lap:
                turns[name].append(tally)
    ratios = [writing.quantile(0.99) / idle.quantile(0.99) for idle, writing in zip(turns["idle"], turns["writing"], strict=True)]
    return {
        "quantity": "milliseconds from sending a step over HTTP to its answer; ratios of the 99th percentiles within a round",
        "model": first["model"],
        "sessions": len(scripts),
        "questions_in_flight": QUESTIONS,
        "questions_answered": asked.answered,
        "problems": [*asked.problems, *(problem for name in TURNS for tally in turns[name] for problem in tally.problems)],
        "turns": {name: entry(name, tallies) for name, tallies in turns.items()},
        "ratio": summary(ratios),
    }


def not_measured(why: str) -> dict[str, Any]:
    """A result that there is none."""
    return {"not_measured": why}


def entry(name: str, tallies: list[Tally]) -> dict[str, Any]:
    """A kind of turn over all rounds; latencies in milliseconds."""
    label = "the model is idle" if name == "idle" else f"the model writes, {QUESTIONS} questions in flight"
    quantiles = {key: summary(tally.quantile(share) for tally in tallies) for key, share in (("p50", 0.5), ("p99", 0.99))}
    return {"label": label, "steps": sum(len(tally.latencies) for tally in tallies), **quantiles}


def targets(result: dict[str, Any]) -> list[dict[str, Any]]:
    """The target with what was measured; no row where nothing was."""
    return [target(TARGET, result["ratio"]["values"], "<=", 3.0, "")] if "ratio" in result else []


@dataclass
class Asked:
    """What has become of the questions to the model."""

    answered: int = 0
    problems: list[str] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next_number(self) -> int:
        """A market that nobody has asked about."""
        with self.lock:
            return next(self.numbers)

    def note(self, reply: dict[str, Any]) -> None:
        """Count an answer."""
        with self.lock:
            if "mechanism" in reply:
                self.answered += 1
            else:
                self.problems.append(reply["message"])


@contextlib.contextmanager
def asking(port: int, asked: Asked) -> Iterator[None]:
    """Questions in flight as long as this lasts; the last of them are waited for at the end, so that the next turn is idle."""
    stop = threading.Event()

    def keep_asking() -> None:
        while not stop.is_set():
            asked.note(ask(port, asked.next_number()))

    threads = [threading.Thread(target=keep_asking, daemon=True) for _ in range(QUESTIONS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(ASK_SECONDS)


def ask(port: int, number: int) -> dict[str, Any]:
    """What the model says to a market that no other number has, or why it does not; its prompt shows three digits."""
    scores = [0.5, *(number // 100**place % 100 / 100 for place in range(4))]
    body = orjson.dumps({"round_number": 1, "episode_length": 10, "market_outcomes": [scores], "designer": DESIGNER})
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/design", body, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=ASK_SECONDS) as answer:
            told: dict[str, Any] = orjson.loads(answer.read())
    except urllib.error.HTTPError as refused:
        told = orjson.loads(refused.read())
    except (OSError, TimeoutError) as error:
        told = {"message": f"The server did not answer: {error}"}
    return told
