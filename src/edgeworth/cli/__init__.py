"""The command line: `edgeworth play | demo | analyse | yardstick | market | sensitivity | robustness | hint | hints | train |
evaluate | compare | curves | study | self-play | tournament | parse | clone | designers | pocket | serve | replay`.

Tables go to standard output, messages and progress to standard error; `--json` prints one object instead. Exit status 2 means a wrong call,
1 a run that failed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import typer

from edgeworth.cli.console import complain
from edgeworth.cli.lazy import STYLE, group_of
from edgeworth.errors import EdgeworthError, InvalidContext, InvalidOption

COMMANDS = {
    "play": (
        "edgeworth.cli.play:play",
        "Bargain against a partner whose utilities you cannot see; then see them, the frontier, and what you left on the table.",
    ),
    "demo": ("edgeworth.cli.demo:demo", "Watch the blind Bayes-optimal bargainer play one episode, with its reasons."),
    "analyse": (
        "edgeworth.cli.analyse:analyse",
        "Show a context's frontier, its Nash and other points, and what an agent could get from a partner.",
    ),
    "yardstick": (
        "edgeworth.cli.yardstick:yardstick_command",
        "Print a game's reference table: from random play to the oracle, with intervals.",
    ),
    "market": (
        "edgeworth.cli.market:market_command",
        "Hold a market and watch it being gamed: who came, who bid what, what the ring and the shills did, who paid for it.",
    ),
    "sensitivity": (
        "edgeworth.cli.sensitivity:sensitivity_command",
        "Move each of the eleven fields away from a base mechanism, one at a time, and measure the change of mean R.",
    ),
    "robustness": (
        "edgeworth.cli.robustness:robustness_command",
        "Halve and double the market's most influential constants, and count the worlds in which each conclusion survives.",
    ),
    "train": ("edgeworth.cli.train:train_command", "Teach a negotiator. Everything about the run goes into a folder; Ctrl-C saves first."),
    "evaluate": (
        "edgeworth.cli.evaluate:evaluate_command",
        "Measure how good negotiators are: reward, score between random and blind Bayes, deals, efficiency, each with its interval.",
    ),
    "compare": (
        "edgeworth.cli.evaluate:compare_command",
        "Compare two negotiators on the same episodes: paired differences, first less second, with intervals.",
    ),
    "curves": (
        "edgeworth.cli.curves:curves_command",
        "Put the learning curves of several runs together: the mean over seeds, with the lowest and the highest.",
    ),
    "study": (
        "edgeworth.cli.study:study_command",
        "Train agents with several settings and seeds, and compare what they earn. Interrupted, it goes on where it stopped.",
    ),
    "self-play": (
        "edgeworth.cli.self_play:self_play_command",
        "Train agents by self-play, with a pool of past selves and without, freeze them, and train best responses against them.",
    ),
    "tournament": (
        "edgeworth.cli.tournament:tournament_command",
        "Let negotiators meet each other: who gets what from whom, deals, efficiency, and ranks that say where they are not separated.",
    ),
    "parse": (
        "edgeworth.cli.parse:parse_command",
        "Read the acts and splits of a dialogue between people, or measure how often the deal is found.",
    ),
    "clone": (
        "edgeworth.cli.clone:clone_command",
        "Teach a network the moves of people from their dialogues, and measure it on dialogues that it has not seen.",
    ),
    "hint": (
        "edgeworth.cli.hint:hint_command",
        "Show one hint with everything that led to it: the prompt, the raw reply, the verdict and the ten features.",
    ),
    "serve": (
        "edgeworth.cli.serve:serve_command",
        "Serve both games: sessions over HTTP and WebSocket that survive the server, designers and hints on request.",
    ),
    "replay": ("edgeworth.cli.replay:replay_command", "Play an exported session again: what every step earned, and how it ended."),
    "hints": ("edgeworth.cli.hints:app", "Who gives hints: list them, measure what their hints are worth, ask for them beforehand."),
    "designers": (
        "edgeworth.cli.designers:app",
        "Who can set the rules of a market: list them, search mechanisms and schedules, fit the adaptive one.",
    ),
    "pocket": ("edgeworth.cli.pocket:app", "The language model in the box: train it, measure it, or read its card."),
}
"""Where each command is, and the first line of its help."""

app = typer.Typer(name="edgeworth", cls=group_of(COMMANDS), **STYLE)


@app.callback()
def edgeworth() -> None:
    """A laboratory for strategic agents: bargaining and auction design."""


def main(command: Callable[[], object] = app) -> None:
    """Run a command; our own errors become one sentence and an exit status."""
    try:
        command()
    except (InvalidOption, InvalidContext) as error:
        complain(str(error))
        sys.exit(2)
    except EdgeworthError as error:
        complain(str(error))
        sys.exit(1)
    except KeyboardInterrupt:
        complain("Stopped.")
        sys.exit(130)
