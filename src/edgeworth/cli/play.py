"""`edgeworth play`: negotiate in the terminal against any partner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from edgeworth.cli.console import err, out, print_json, print_page
from edgeworth.cli.options import AsJson, Partner, Scenario, Settings, game_config
from edgeworth.dialogues.wording import act_name, share_words
from edgeworth.errors import IllegalAction, nearest
from edgeworth.games.bargaining.history import Move, share_for_agent
from edgeworth.games.bargaining.vocabulary import Act, Outcome, Side

if TYPE_CHECKING:
    from edgeworth.games.bargaining.contexts import Context

WORDS = {"propose": Act.PROPOSE, "insist": Act.INSIST, "agree": Act.AGREE, "disagree": Act.DISAGREE, "end": Act.END}
QUIT = ("quit", "q", "exit")


def play(
    scenario: Scenario = "classic",
    partner: Partner = None,
    settings: Settings = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the episode, to play it again. Default: a new one.")] = None,
    as_json: AsJson = False,
) -> None:
    """Negotiate against a partner in the terminal.

    You cannot see the partner's utilities. At the end you see them, the Pareto frontier, and what was left on the table.

    Example: edgeworth play --partner boulware --scenario lewis --seed 3
    """
    from edgeworth.cli.bargaining_tables import aftermath, context_table  # --help should not load the compiled game
    from edgeworth.envs.negotiation import NegotiationEnv
    from edgeworth.seeding import fresh_seed

    config = game_config(scenario, partner, settings)
    env = NegotiationEnv(**vars(config))
    seed = fresh_seed() % 1_000_000 if seed is None else seed
    observation, info = env.reset(seed=seed)
    opener = Side(int(env.batch.state["opener"][0]))
    screen = err if as_json else out
    screen.print(f"You divide a pool with the [bold]{config.partner}[/] partner (scenario {scenario}, seed {seed}).")
    if config.normalize:
        screen.print("Points are shown as they stand; the environment scales the whole pool to 10 for each side.")
    screen.print(context_table(env.context, partner_known=config.reveal_partner_utilities))
    _show_moves(screen, info["history"], env.context)
    reward, ended = 0.0, False
    while not ended:
        _show_choices(screen, observation, info)
        action = _ask(screen)
        if action is None:
            flags = [f"--scenario {scenario}", *([f"--partner {partner}"] if partner else []), *(f"--set {s}" for s in settings or [])]
            screen.print(f"You left the game. Play it again with: edgeworth play {' '.join(flags)} --seed {seed}", soft_wrap=True)
            if as_json:
                print_json({"seed": seed, "reward": reward, "partner_reward": None, "outcome": None, "deal": None})
            return
        shown = len(info["history"])
        try:
            observation, paid, ended, _, info = env.step(action)
        except IllegalAction as error:
            screen.print(f"[yellow]Not possible:[/] {error}", soft_wrap=True)
            continue
        reward += paid
        _show_moves(screen, info["history"][shown:], env.context)
    outcome, deal = Outcome[info["outcome"]], info["deal"]
    if as_json:
        print_json({"seed": seed, "reward": reward, "partner_reward": info["partner_reward"], "outcome": outcome.name, "deal": deal})
    else:
        print_page(aftermath(env.context, env.config, opener, outcome, deal, reward))


def _show_moves(screen: Console, moves: Sequence[Move], context: Context) -> None:
    for move in moves:
        words = f"  [bold]{'You' if move.side == Side.AGENT else 'Partner'}[/]: {act_name(move.act)}"
        if move.share is not None:
            mine = share_for_agent(context.counts, move)
            points = sum(n * u for n, u in zip(mine, context.my_utilities, strict=True))
            words += f" — you get {share_words(mine)}: {points} points for you"
        screen.print(words)


def _show_choices(screen: Console, observation: dict[str, Any], info: dict[str, Any]) -> None:
    caps = "  ".join(f"0–{int(n)}" for n in info["oA_max"])
    screen.print()
    screen.print(f"{observation['turns_remaining']} moves left. Your share is three numbers (books hats balls: {caps}).")
    choices = ["[cyan]propose[/] 1 0 2", "[cyan]insist[/] 1 0 2"]
    if info["action_mask"][Act.AGREE]:
        choices.append("[cyan]agree[/]")
    choices += ["[cyan]disagree[/]", "[cyan]end[/] 1 0 2", "[cyan]quit[/]"]
    screen.print("Legal moves: " + " | ".join(choices))


def _ask(screen: Console) -> dict[str, Any] | None:
    """Ask for a move until it can be read; None when the person leaves."""
    while True:
        try:
            words = screen.input("[bold]Your move:[/] ").replace(",", " ").lower().split()
        except EOFError:
            screen.print()
            return None
        if not words:
            continue
        if words[0] in QUIT:
            return None
        matches = [act for name, act in WORDS.items() if name.startswith(words[0])]
        if len(matches) != 1:
            near = nearest(words[0], WORDS)
            hint = f" Did you mean {near!r}?" if near else ""
            screen.print(f"[yellow]Not understood:[/] {words[0]!r}. Begin with one of {', '.join(WORDS)}.{hint}", soft_wrap=True)
            continue
        act, numbers = matches[0], words[1:]
        if act in (Act.AGREE, Act.DISAGREE):
            return {"act_type": int(act), "oA": [0, 0, 0]}
        if len(numbers) == 3 and all(n.lstrip("-").isdigit() for n in numbers):
            return {"act_type": int(act), "oA": [int(n) for n in numbers]}
        screen.print(
            f"[yellow]Not understood:[/] {act.name.lower()} needs your share as three whole numbers, such as: propose 1 0 2", soft_wrap=True
        )
