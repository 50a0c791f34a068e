"""`edgeworth play` and `edgeworth talk`: negotiate in the terminal against any partner, by moves or in English."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from edgeworth.cli import options
from edgeworth.cli.console import err, out, tell
from edgeworth.dialogues.wording import act_name
from edgeworth.errors import FallbackUsed, IllegalAction, UnknownName
from edgeworth.evaluation.statistics import counted
from edgeworth.games.bargaining.vocabulary import Act, Side

if TYPE_CHECKING:
    from edgeworth.cli.terminal_game import TerminalGame
    from edgeworth.dialogues.speech import Speech, Utterance
    from edgeworth.games.bargaining.history import Move

GameSeed = Annotated[int | None, typer.Option("--seed", help="Seed of the episode, to play it again. Default: a new one.")]
Moves = Annotated[
    str | None, typer.Option("--moves", help="Your moves so far, to continue a game that you left, e.g. 'propose 1 0 2; insist 1 0 2'.")
]


def play(
    scenario: options.Scenario = "classic",
    partner: options.Partner = None,
    settings: options.Settings = None,
    seed: GameSeed = None,
    moves: Moves = None,
    as_json: options.AsJson = False,
) -> None:
    """Negotiate against a partner in the terminal.

    You cannot see the partner's utilities. At the end you see them, the Pareto frontier, and what was left on the table. Type moves, or
    say what you want in your own words.

    Example: edgeworth play --partner boulware --scenario lewis --seed 3
    """
    from edgeworth.cli.terminal_game import TerminalGame  # --help should not load the compiled game

    screen = err if as_json else out
    game = TerminalGame("play", scenario, partner, settings, seed, screen)
    game.begin(moves)
    _show(game, game.info["history"])
    while not game.ended:
        _show_choices(game)
        move = game.ask("[bold]Your move:[/] ")
        if move is None:
            game.leave()
            break
        try:
            _show(game, game.make(move))
        except IllegalAction as error:
            tell(f"[yellow]Not possible:[/] {escape(str(error))}", screen)
    game.finish(as_json)


def _show(game: TerminalGame, moves: Iterable[Move]) -> None:
    for move in moves:
        game.screen.print(f"  [bold]{'You' if move.side == Side.AGENT else 'Partner'}[/]: {game.described(move)}")


def _show_choices(game: TerminalGame) -> None:
    caps, share = "  ".join(f"0–{int(n)}" for n in game.info["oA_max"]), game.example()
    game.screen.print()
    game.screen.print(
        f"{counted(game.observation['turns_remaining'], 'move')} left. Your share is three numbers (books hats balls: {caps})."
    )
    choices = [f"[cyan]propose[/] {share}", f"[cyan]insist[/] {share}"]
    if game.info["action_mask"][Act.AGREE]:
        choices.append("[cyan]agree[/]")
    choices += ["[cyan]disagree[/]", f"[cyan]end[/] {game.example(final=True)}", "[cyan]help[/]", "[cyan]quit[/]"]
    game.screen.print("Legal moves: " + " | ".join(choices))


def talk(
    scenario: options.Scenario = "classic",
    partner: options.Partner = None,
    settings: options.Settings = None,
    tone: Annotated[str, typer.Option(help="How the partner speaks: plain, friendly, firm or casual.")] = "plain",
    client: options.ClientName = None,
    model: options.ModelName = None,
    client_option: options.ClientOptions = None,
    cache: options.CacheFile = None,
    seed: GameSeed = None,
    moves: Moves = None,
    as_json: options.AsJson = False,
) -> None:
    """Negotiate against a partner in English.

    Say what you want in your own words: it is shown as it was understood, and you confirm or correct it. The partner answers in words,
    from templates, or from a language model that is named with --client or --model; a model's sentence that does not say exactly the
    partner's move is replaced by a template.

    Example: edgeworth talk --partner tit_for_tat --tone friendly --seed 3
    """
    from edgeworth.agents.questions import client_for
    from edgeworth.cli.terminal_game import TerminalGame
    from edgeworth.dialogues.sentences import TONES
    from edgeworth.dialogues.speech import Speech

    if tone not in TONES:
        raise UnknownName("tone", tone, TONES)
    asked = None
    if client is not None or model is not None:
        asked = client_for(Speech, client, model, cache=cache, **options.client_options(client_option))
        asked.check()
    screen = err if as_json else out
    game = TerminalGame("talk", scenario, partner, settings, seed, screen)
    table = _Table(game, Speech(tone, asked))
    game.begin(moves)
    screen.print("Say what you want, for example: i want the hats, you can have the rest. [cyan]help[/] explains, [cyan]quit[/] leaves.")
    table.hear(game.info["history"])
    while not game.ended:
        move = game.ask(f"[bold]You[/] ({counted(game.observation['turns_remaining'], 'move')} left): ")
        if move is None:
            game.leave()
            break
        try:
            table.hear(game.make(move))
        except IllegalAction as error:
            tell(f"[yellow]Not possible:[/] {escape(str(error))}", screen)
    game.finish(as_json, said=table.said)


class _Table:
    """What is said at the table."""

    def __init__(self, game: TerminalGame, speech: Speech) -> None:
        from edgeworth.dialogues.acts import Conversation

        self.game, self.speech, self.conversation = game, speech, Conversation(game.pool)
        self.said: list[dict[str, Any]] = []
        """The record: who said what with which move, and whether a template or a model worded it."""

    def hear(self, moves: Iterable[Move]) -> None:
        """Moves in words; the person's own were said already, so only the partner's are shown."""
        from edgeworth.dialogues.sentences import note

        key = int(self.game.env.batch.state["key"][0])
        for move in moves:
            utterance = self.speech.say(move, self.conversation, key, len(self.said)) if move.side == Side.PARTNER else None
            note(self.conversation, move)
            self._keep(move, utterance)

    def _keep(self, move: Move, utterance: Utterance | None) -> None:
        worded = {"text": self.game.words, "source": "person"} if utterance is None else vars(utterance)
        self.said.append({"side": Side(move.side).name.lower(), "act": act_name(move.act), "share": move.share, **worded})
        if utterance is not None:
            if utterance.rejected is not None:
                what = "Where the language model does not say exactly the partner's move, a template does; --json records what it wrote."
                warnings.warn(what, FallbackUsed, stacklevel=2)
            tell(f"  [bold]Partner[/]: {escape(utterance.text)}", self.game.screen)
            tell(f"           [dim]{self.game.described(move)}[/]", self.game.screen)
