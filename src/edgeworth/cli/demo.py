"""`edgeworth demo`: an episode played and explained by the best blind plan, or by beliefs where counter-offers reveal something."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console

from edgeworth.cli.bargaining_tables import aftermath, context_table
from edgeworth.cli.console import out, print_json, print_page, tell
from edgeworth.cli.options import AsJson, Partner, Scenario, Seed
from edgeworth.dialogues.wording import share_words
from edgeworth.envs.negotiation import NegotiationEnv
from edgeworth.evaluation.statistics import counted
from edgeworth.games.bargaining.belief_play import Advised, book_of, history_lines
from edgeworth.games.bargaining.blind_plan import Plan, bayes_plan, is_silent
from edgeworth.games.bargaining.contexts import Context
from edgeworth.games.bargaining.history import Move, share_for_agent
from edgeworth.games.bargaining.prior import partner_types, posterior
from edgeworth.games.bargaining.vocabulary import AGENT, Act, Outcome, Side


def demo(
    scenario: Scenario = "classic",
    partner: Partner = None,
    seed: Seed = 22,
    pause: Annotated[float, typer.Option(min=0.0, help="Seconds to wait between moves.")] = 0.0,
    as_json: AsJson = False,
) -> None:
    """Watch the best blind agent negotiate one episode, with its reasons.

    It does not see the partner's utilities. Where counter-offers reveal nothing about them it follows the best plan; elsewhere it makes
    the move with the highest expected payoff over all utilities that fit what it has heard.

    Example: edgeworth demo --scenario lewis --seed 4 --pause 2

    Example: edgeworth demo --partner boulware
    """
    screen = Console(quiet=True) if as_json else out
    env = NegotiationEnv(scenario=scenario, **({} if partner is None else {"partner": partner}))
    _, info = env.reset(seed=seed)
    opener = Side(int(env.batch.state["opener"][0]))
    half = env.context.half()
    plan = bayes_plan(half, env.batch, int(opener)) if is_silent(env.batch) else None
    screen.print(f"[bold]Dividing a pool with a partner whose utilities you cannot see[/] (scenario {scenario}, seed {seed})\n")
    screen.print(context_table(half, partner_known=False))
    tell(
        f"\nWhat is it worth to the partner? Before the negotiation {len(partner_types(half, env.batch)):,} different sets of utilities are"
        f" possible, all equally likely. {'You open' if opener == Side.AGENT else 'The partner opens'}, and there are"
        f" {env.config.max_turns} moves in all.",
        screen,
    )
    for move in info["history"]:
        screen.print(f"  [bold]Partner[/]: offers you {share_words(share_for_agent(half.counts, move))}")
    expected = _advised(env, half).value if plan is None else plan.value
    update = "You update what is possible after every reply"
    way = update if plan is None else f"You follow the best blind plan: {counted(len(plan.offers), 'offer')}"
    tell(f"{way}, worth {expected:.1f} of {half.my_maximum} points on average.", screen)
    ended, reward, step = False, 0.0, 0
    while not ended:
        time.sleep(pause)
        act, share = _shown(screen, _advised(env, half), half) if plan is None else _move(screen, plan, half, step)
        _, paid, ended, _, info = env.step({"act_type": int(act), "oA": share})
        reward += paid
        _show_reply(screen, info["history"], half, env)
        step += 1
    print_page(aftermath(env.context, env.config, opener, Outcome[info["outcome"]], info["deal"], reward), screen)
    if as_json:
        print_json(
            {
                "scenario": scenario,
                "seed": seed,
                "context": asdict(env.context),
                "opens": opener.name.lower(),
                "plan_value": expected,
                "moves": [{"side": Side(m.side).name.lower(), "act": Act(m.act).name, "share": m.share} for m in info["history"]],
                "outcome": info["outcome"],
                "deal": info["deal"],
                "reward": reward,
                "partner_reward": info["partner_reward"],
            }
        )
    screen.print(
        "\nYour turn: [bold]edgeworth play[/]. All reference scores, from random play to the oracle: [bold]edgeworth yardstick[/]."
    )


def _advised(env: NegotiationEnv, half: Context) -> Advised:
    """The move of the lookahead over beliefs."""
    return book_of(env.batch).advised(half, history_lines(env.batch, 0))


def _shown(screen: Console, advised: Advised, half: Context) -> tuple[Act, tuple[int, int, int]]:
    """Show and return a move of the lookahead, with what it expects."""
    screen.print()
    words = "" if advised.act in (Act.AGREE, Act.DISAGREE) else f" {share_words(advised.share)}"
    points = sum(n * u for n, u in zip(advised.share, half.my_utilities, strict=True))
    hoped = f" — {counted(points, 'point')}, accepted with probability {advised.chance:.2f}" if words else ""
    tell(f"  [bold]You[/]: {advised.act.name}{words}{hoped}; {advised.value:.1f} points expected", screen)
    return advised.act, advised.share


def _move(screen: Console, plan: Plan, half: Context, step: int) -> tuple[Act, tuple[int, int, int]]:
    """Show and return the plan's next move: an offer, or the end once there is none left."""
    screen.print()
    if step < len(plan.offers):
        offer = plan.offers[step]
        points = sum(n * u for n, u in zip(offer.share, half.my_utilities, strict=True))
        screen.print(f"  [bold]You[/]: {offer.act.name} {share_words(offer.share)} — {counted(points, 'point')}")
        return offer.act, offer.share
    screen.print("  [bold]You[/]: AGREE — no offer left that is worth the risk" if plan.agrees else "  [bold]You[/]: leave")
    return (Act.AGREE if plan.agrees else Act.DISAGREE), (0, 0, 0)


def _show_reply(screen: Console, history: list[Move], half: Context, env: NegotiationEnv) -> None:
    last = history[-1]
    if last.side == AGENT:
        return
    if last.share is None:
        screen.print(f"  [bold]Partner[/]: {Act(last.act).name}")
        return
    offer = share_words(share_for_agent(half.counts, last))
    silent = is_silent(env.batch)
    left = len(posterior(half, history, env.batch)) if silent else book_of(env.batch).belief(half, history_lines(env.batch, 0)).possible
    tell(f"  [bold]Partner[/]: refuses, and offers you {offer}. {left:,} sets of utilities are still possible.", screen)
