"""The command line: `edgeworth play | demo | analyse | yardstick | market | sensitivity | hint | hints | train | evaluate |
compare | curves | study | self-play | tournament | parse | clone | designers | pocket | bench | serve | replay`.

Tables go to standard output, messages and progress to standard error; `--json` prints one object instead. Exit status 2 means a wrong call,
1 a run that failed.
"""

from __future__ import annotations

import sys

import typer

from edgeworth.cli import (
    analyse,
    bench,
    bench_server,
    clone,
    curves,
    demo,
    designers,
    evaluate,
    hint,
    hints,
    market,
    parse,
    play,
    pocket,
    replay,
    self_play,
    sensitivity,
    serve,
    study,
    tournament,
    train,
    yardstick,
)
from edgeworth.cli.console import complain
from edgeworth.errors import EdgeworthError, InvalidContext, InvalidOption

app = typer.Typer(
    name="edgeworth",
    help="A laboratory for strategic agents: bargaining and auction design.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command("play")(play.play)
app.command("demo")(demo.demo)
app.command("analyse")(analyse.analyse)
app.command("yardstick")(yardstick.yardstick_command)
app.command("market")(market.market_command)
app.command("sensitivity")(sensitivity.sensitivity_command)
app.command("train")(train.train_command)
app.command("evaluate")(evaluate.evaluate_command)
app.command("compare")(evaluate.compare_command)
app.command("curves")(curves.curves_command)
app.command("study")(study.study_command)
app.command("self-play")(self_play.self_play_command)
app.command("tournament")(tournament.tournament_command)
app.command("parse")(parse.parse_command)
app.command("clone")(clone.clone_command)
app.command("hint")(hint.hint_command)
app.command("serve")(serve.serve_command)
app.command("replay")(replay.replay_command)
app.add_typer(hints.app, name="hints")
app.add_typer(designers.app, name="designers")
app.add_typer(pocket.app, name="pocket")
bench.app.command("server")(bench_server.server_command)
bench.app.command("soak")(bench_server.soak_command)
app.add_typer(bench.app, name="bench")


def main() -> None:
    """Run a command; our own errors become one sentence and an exit status."""
    try:
        app()
    except (InvalidOption, InvalidContext) as error:
        complain(str(error))
        sys.exit(2)
    except EdgeworthError as error:
        complain(str(error))
        sys.exit(1)
    except KeyboardInterrupt:
        complain("Stopped.")
        sys.exit(130)
