"""A negotiation in the terminal: what is shown of it, how typed moves and sentences are read, and how it is left and taken up again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape

from edgeworth.cli.bargaining_tables import aftermath, context_table
from edgeworth.cli.console import print_json, print_page, tell
from edgeworth.cli.options import game_config
from edgeworth.dialogues.understanding import understand
from edgeworth.dialogues.wording import act_name, share_words
from edgeworth.envs.negotiation import NegotiationEnv
from edgeworth.errors import IllegalAction, InvalidOption, suggestion
from edgeworth.evaluation.statistics import counted
from edgeworth.games.bargaining.contexts import Triple, rest_of
from edgeworth.games.bargaining.history import ACTS_WITH_SHARE, Move, share_for_agent
from edgeworth.games.bargaining.vocabulary import Act, Outcome, Side
from edgeworth.seeding import fresh_seed

WORDS = {act.name.lower(): act for act in Act}
QUIT, HELP, YES, NO = ("quit", "q", "exit"), ("help", "h", "?"), ("", "y", "yes"), ("n", "no")


@dataclass(frozen=True)
class Opening:
    """The flags that a game was opened with."""

    command: str
    scenario: str
    partner: str | None
    settings: list[str] | None
    seed: int

    def again(self, moves: Sequence[str]) -> str:
        """The command that takes the game up again after these moves."""
        flags = [f"--scenario {self.scenario}", *([f"--partner {self.partner}"] if self.partner else [])]
        flags += [f"--set {shlex.quote(setting)}" for setting in self.settings or []]
        made = [f"--moves {shlex.quote('; '.join(moves))}"] if moves else []
        return " ".join(["edgeworth", self.command, *flags, f"--seed {self.seed}", *made])


class TerminalGame:
    """A person's side of a negotiation."""

    def __init__(
        self, command: str, scenario: str, partner: str | None, settings: list[str] | None, seed: int | None, screen: Console
    ) -> None:
        self.opening = Opening(command, scenario, partner, settings, fresh_seed() % 1_000_000 if seed is None else seed)
        self.config, self.screen = game_config(scenario, partner, settings), screen
        self.env = NegotiationEnv(**vars(self.config))
        self.observation, self.info = self.env.reset(seed=self.opening.seed)
        self.opener = Side(int(self.env.batch.state["opener"][0]))
        self.made: list[str] = []
        """The person's moves, as they could have been typed."""
        self.words: str | None = None
        """The sentence behind the last move that was asked for; None where it was typed as a command."""
        self.reward, self.ended = 0.0, False

    @property
    def pool(self) -> Triple:
        """The items to divide."""
        return self.env.context.counts

    @property
    def offered(self) -> Triple | None:
        """What the partner's standing offer gives to the person."""
        theirs = [move.share for move in self.info["history"] if move.side == Side.PARTNER and move.share is not None]
        return rest_of(self.pool, theirs[-1]) if theirs and self.info["action_mask"][Act.AGREE] else None

    def begin(self, moves: str | None) -> None:
        """Show the table, and make the moves of a game that is taken up again."""
        partner, scenario, seed = self.config.partner, self.opening.scenario, self.opening.seed
        self.screen.print(f"You divide a pool with the [bold]{escape(partner)}[/] partner (scenario {escape(scenario)}, seed {seed}).")
        if self.config.normalize:
            self.screen.print("Points are shown as they stand; the environment scales the whole pool to 10 for each side.")
        self.screen.print(context_table(self.env.context, partner_known=self.config.reveal_partner_utilities))
        for text in [part.strip() for part in (moves or "").split(";") if part.strip()]:
            move = typed_move(text)
            if self.ended or not isinstance(move, Move):
                raise InvalidOption(f"--moves: {text!r} is no move here; expected moves such as 'propose 1 0 2; insist 1 0 2'.")
            try:
                self.make(move)
            except IllegalAction as error:
                raise InvalidOption(f"--moves: {text!r} is not legal here. {error}") from error

    def make(self, move: Move) -> tuple[Move, ...]:
        """Make a move of the person's; the moves that followed, its own among them. One that is not legal is an IllegalAction."""
        before = len(self.info["history"])
        action = {"act_type": int(move.act), "oA": list(move.share or (0, 0, 0))}
        self.observation, paid, self.ended, _, self.info = self.env.step(action)
        self.reward += paid
        self.made.append(" ".join([Act(move.act).name.lower(), *map(str, move.share or ())]))
        return tuple(self.info["history"][before:])

    def points(self, share: Triple) -> int:
        """What a share is worth to the person."""
        return sum(n * u for n, u in zip(share, self.env.context.my_utilities, strict=True))

    def described(self, move: Move) -> str:
        """A move and what it would give the person."""
        if move.share is None:
            return act_name(move.act)
        mine = share_for_agent(self.pool, move)
        return f"{act_name(move.act)} — you get {share_words(mine)}: {counted(self.points(mine), 'point')} for you"

    # Typing

    def ask(self, prompt: str) -> Move | None:
        """Ask for a move until one is typed or said; None when the person leaves."""
        text = self._input(prompt)
        while text is not None and text.lower() not in QUIT:
            found = self._read(text)
            if isinstance(found, Move) and found.act in (Act.PROPOSE, Act.INSIST) and found.share == self.offered:
                act = Act(found.act).name
                self.screen.print(f"That is what the partner offers: [cyan]agree[/] takes it. Say {act} all the same? yes or no")
                found = self._answer(found)
            if isinstance(found, Move):
                return found
            text = found if isinstance(found, str) else self._input(prompt)
        return None

    def _input(self, prompt: str) -> str | None:
        try:
            return str(self.screen.input(prompt)).strip()
        except EOFError:
            self.screen.print()
            return None

    def _read(self, text: str) -> Move | str | None:
        """A typed line as a move, as another line that was typed instead, or as nothing, once its problem was shown."""
        if not text:
            return None
        if text.lower() in HELP:
            tell(self.help(), self.screen)
            return None
        move = typed_move(text)
        if isinstance(move, Move):
            self.words = None
            return move
        if move is not None:
            tell(f"[yellow]Not understood:[/] {escape(move)}", self.screen)
            return None
        return self._understood(text)

    def _understood(self, text: str) -> Move | str | None:
        """A sentence: shown as it was read, and confirmed, taken back or said in other words."""
        self.words, found = text, understand(text, self.pool, self.info["history"], self.info["action_mask"])
        move = found.move or found.guess
        if move is None:
            tell(f"[yellow]Not understood:[/] {escape(found.words)}", self.screen)
            return None
        worth = None if found.share is None else counted(self.points(found.share), "point")
        walks = " This ends the negotiation without a deal." if move.act == Act.DISAGREE and self.config.disagree == "ends" else ""
        if found.move is not None:
            read = f"Read as [bold]{found.words}[/]{f' ({worth})' if worth else ''}.{walks}"
            tell(f"{read} Enter makes this move, [cyan]no[/] takes it back; or say it in other words.", self.screen)
        else:
            asked = f"[yellow]{escape(found.words)}[/]{f' It would give you {worth}.' if worth else ''}{walks}"
            tell(f"{asked} Answer [cyan]yes[/] or [cyan]no[/]; or say it in other words.", self.screen)
        return self._answer(move, YES if found.move is not None else YES[1:])

    def _answer(self, move: Move, agreeing: Sequence[str] = YES[1:]) -> Move | str | None:
        """Whether a person wants a move: the move, nothing, or the line that was typed instead."""
        answer = self._input("[bold]Your answer:[/] ")
        if answer is None:
            return QUIT[0]
        if answer.lower() in agreeing:
            return move
        return None if answer.lower() in NO else answer or None

    def example(self, final: bool = False) -> str:
        """A share that can be asked for here; a final one is what the partner offers, if it offers something."""
        share = self.offered if final else None
        return " ".join(str(n) for n in share or ((n + 1) // 2 for n in self.pool))

    def help(self) -> str:
        """The five acts, by the rules of this game."""
        refusal = "walks away: the negotiation is over without a deal" if self.config.disagree == "ends" else "refuses and passes the turn"
        share = self.example()
        return "\n".join(
            (
                f"[cyan]propose[/] {share}   offer a split: these books, hats and balls for you,",
                "                the rest for the partner",
                f"[cyan]insist[/] {share}    said firmly; some partners then accept a little less",
                "[cyan]agree[/]           take the partner's last offer",
                f"[cyan]disagree[/]        {refusal}",
                f"[cyan]end[/] {self.example(final=True)}       your final selection, the last move: it pays only if the",
                "                partner's last offer leaves you exactly these; otherwise",
                "                nobody gets anything",
                "[cyan]quit[/]            leave; the command to take the game up again is shown",
                "Or say it in your own words: it is read, shown, and made once you confirm it.",
            )
        )

    # The end

    def leave(self) -> None:
        """Say how the game is taken up again."""
        self.screen.print(f"You left the game. Take it up again with: {escape(self.opening.again(self.made))}", soft_wrap=True)

    def result(self) -> dict[str, Any]:
        """The game as JSON; no outcome where it was left."""
        facts = {key: self.info.get(key) for key in ("partner_reward", "outcome", "deal")}
        return {"seed": self.opening.seed, "reward": self.reward, **facts}

    def finish(self, as_json: bool, **more: Any) -> None:
        """Print the result: as JSON, or with everything that was possible."""
        if as_json:
            print_json({**self.result(), **more})
        elif self.ended:
            outcome = Outcome[self.info["outcome"]]
            print_page(aftermath(self.env.context, self.env.config, self.opener, outcome, self.info["deal"], self.reward), self.screen)


def typed_move(text: str) -> Move | str | None:
    """A typed command as a move (`propose 1 0 2`), as what is wrong with it, or None where it is no command but a sentence."""
    head, *rest = text.replace(",", " ").lower().split() or [""]
    if not all(word.lstrip("-").isdigit() for word in rest):
        return None
    acts = [act for name, act in WORDS.items() if name.startswith(head)]
    if len(acts) != 1:
        return f"{head!r}. Begin with one of {', '.join(WORDS)}.{suggestion(head, WORDS)}" if rest else None
    if acts[0] not in ACTS_WITH_SHARE:
        return Move(Side.AGENT, acts[0], None)
    if len(rest) != 3:
        return f"{acts[0].name.lower()} needs your share as three whole numbers, such as: {acts[0].name.lower()} 1 0 2"
    return Move(Side.AGENT, acts[0], (int(rest[0]), int(rest[1]), int(rest[2])))
