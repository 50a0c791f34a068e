"""`edgeworth play`: bargain in the terminal against any partner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgeworth.cli.console import AsJson, Partner, Scenario, Settings, err, game_config, out, print_json
from edgeworth.errors import IllegalAction, nearest
from edgeworth.games.bargaining.contexts import Triple
from edgeworth.games.bargaining.talks import Move, act_name, share_words
from edgeworth.games.bargaining.vocabulary import Act, Outcome, Side

if TYPE_CHECKING:
    from edgeworth.envs.negotiation import NegotiationEnv

WORDS = {"propose": Act.PROPOSE, "insist": Act.INSIST, "agree": Act.AGREE, "disagree": Act.DISAGREE, "end": Act.END}
QUIT = ("quit", "q", "exit")


def play(
    scenario: Scenario = "classic",
    partner: Partner = None,
    settings: Settings = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Replay a certain episode; a new one is drawn by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Bargain against a partner whose utilities you cannot see; then see them, the frontier, and what you left on the table.

    Example: edgeworth play --partner boulware --scenario lewis --seed 3
    """
    from edgeworth.cli.aftermath import show_aftermath  # what is compiled is loaded for playing, not for --help
    from edgeworth.cli.frontier_table import context_table
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
    _show_moves(screen, info["history"], env)
    reward = 0.0
    while True:
        _show_choices(screen, observation, info)
        action = _ask(screen)
        if action is None:
            flags = [f"--scenario {scenario}", *([f"--partner {partner}"] if partner else []), *(f"--set {s}" for s in settings or [])]
            screen.print(f"You left the game. Take it up again with: edgeworth play {' '.join(flags)} --seed {seed}", soft_wrap=True)
            if as_json:
                print_json({"seed": seed, "reward": reward, "partner_reward": None, "outcome": None, "deal": None})
            raise typer.Exit(0)
        heard = len(info["history"])
        try:
            observation, paid, ended, _, info = env.step(action)
        except IllegalAction as error:
            screen.print(f"[yellow]Not possible:[/] {error}", soft_wrap=True)
            continue
        reward += paid
        _show_moves(screen, info["history"][heard:], env)
        if ended:
            break
    outcome = Outcome[info["outcome"]]
    if as_json:
        print_json(
            {"seed": seed, "reward": reward, "partner_reward": info["partner_reward"], "outcome": outcome.name, "deal": info["deal"]}
        )
    else:
        show_aftermath(out, env.context, env.config, opener, outcome, info["deal"], reward)


def _show_moves(screen: Any, moves: Sequence[Move], env: NegotiationEnv) -> None:
    for move in moves:
        who = "You" if move.side == Side.AGENT else "Partner"
        verb = act_name(move.act)
        if move.share is None:
            screen.print(f"  [bold]{who}[/]: {verb}")
            continue
        context = env.context
        mine: Triple = (
            move.share
            if move.side == Side.AGENT
            else (context.counts[0] - move.share[0], context.counts[1] - move.share[1], context.counts[2] - move.share[2])
        )
        points = sum(n * u for n, u in zip(mine, context.my_utilities, strict=True))
        screen.print(f"  [bold]{who}[/]: {verb} — you get {share_words(mine)}: {points} points for you")


def _show_choices(screen: Any, observation: dict[str, Any], info: dict[str, Any]) -> None:
    caps = "  ".join(f"0–{int(n)}" for n in info["oA_max"])
    screen.print()
    screen.print(f"{observation['turns_remaining']} moves left. Your share is three numbers (books hats balls: {caps}).")
    choices = ["[cyan]propose[/] 1 0 2", "[cyan]insist[/] 1 0 2"]
    if info["action_mask"][Act.AGREE]:
        choices.append("[cyan]agree[/]")
    choices += ["[cyan]disagree[/]", "[cyan]end[/] 1 0 2", "[cyan]quit[/]"]
    screen.print("Legal moves: " + " | ".join(choices))


def _ask(screen: Any) -> dict[str, Any] | None:
    """A move as typed, asked for until it can be read; None when the person leaves."""
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
        action = _action(matches[0], words[1:])
        if action is not None:
            return action
        screen.print(
            f"[yellow]Not understood:[/] {matches[0].name.lower()} needs your share as three whole numbers, such as: propose 1 0 2",
            soft_wrap=True,
        )


def _action(act: Act, numbers: list[str]) -> dict[str, Any] | None:
    if act in (Act.AGREE, Act.DISAGREE):
        return {"act_type": int(act), "oA": [0, 0, 0]}
    if len(numbers) != 3 or not all(n.lstrip("-").isdigit() for n in numbers):
        return None
    return {"act_type": int(act), "oA": [int(n) for n in numbers]}
