"""`edgeworth demo`: a short episode that plays and explains itself."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Console

from edgeworth.cli.aftermath import show_aftermath
from edgeworth.cli.console import AsJson, Scenario, Seed, game_config, out, print_json
from edgeworth.cli.frontier_table import context_table
from edgeworth.envs.negotiation import NegotiationEnv
from edgeworth.games.bargaining.blind_plan import Offer, Plan, bayes_plan
from edgeworth.games.bargaining.contexts import Context
from edgeworth.games.bargaining.prior import partner_types, posterior
from edgeworth.games.bargaining.talks import Move, share_words
from edgeworth.games.bargaining.vocabulary import AGENT, Act, Outcome, Side


def demo(
    scenario: Scenario = "classic",
    seed: Seed = 22,
    pause: Annotated[float, typer.Option(min=0.0, help="Seconds to wait between moves.")] = 0.0,
    as_json: AsJson = False,
) -> None:
    """Watch the blind Bayes-optimal bargainer play one episode, with its reasons.

    Example: edgeworth demo --scenario lewis --seed 4 --pause 2
    """
    screen = Console(quiet=True) if as_json else out
    config = game_config(scenario, None, None)
    env = NegotiationEnv(scenario=scenario)
    _, info = env.reset(seed=seed)
    opener = Side(int(env.batch.state["opener"][0]))
    half = env.context.half()
    plan = bayes_plan(half, env.batch, int(opener))
    _introduce(screen, env, scenario, seed, opener, half, info["history"])
    ended, reward, step = False, 0.0, 0
    while not ended:
        time.sleep(pause)
        offer = plan.offers[step] if step < len(plan.offers) else None
        _explain(screen, offer, plan, half, step)
        act, share = (offer.act, offer.share) if offer else (Act.AGREE if plan.agrees else Act.DISAGREE, (0, 0, 0))
        _, paid, ended, _, info = env.step({"act_type": int(act), "oA": share})
        reward += paid
        _answer(screen, info["history"], half, env)
        step += 1
    show_aftermath(screen, env.context, config, opener, Outcome[info["outcome"]], info["deal"], reward)
    screen.print()
    if as_json:
        print_json(_as_dict(env, scenario, seed, opener, plan, info, reward))
    screen.print("Your turn: [bold]edgeworth play[/]. The whole scale, from random play to the oracle: [bold]edgeworth yardstick[/].")


def _as_dict(
    env: NegotiationEnv, scenario: str, seed: int, opener: Side, plan: Plan, info: dict[str, Any], reward: float
) -> dict[str, Any]:
    return {
        "scenario": scenario,
        "seed": seed,
        "context": asdict(env.context),
        "opens": opener.name.lower(),
        "plan_value": plan.value,
        "moves": [{"side": Side(m.side).name.lower(), "act": Act(m.act).name, "share": m.share} for m in info["history"]],
        "outcome": info["outcome"],
        "deal": info["deal"],
        "reward": reward,
        "partner_reward": info["partner_reward"],
    }


def _introduce(
    screen: Console, env: NegotiationEnv, scenario: str, seed: int, opener: Side, half: Context, history: Sequence[Move]
) -> None:
    screen.print(f"[bold]Dividing a pool with someone you cannot read[/] (scenario {scenario}, seed {seed})")
    screen.print()
    screen.print(context_table(half, partner_known=False))
    screen.print()
    types = len(partner_types(half, env.batch))
    opener_words = "You open," if opener == Side.AGENT else "The partner opens,"
    screen.print(
        f"What is it worth to the partner? Before the talks {types:,} different sets of utilities are possible, all equally likely."
        f" {opener_words} and there are {env.config.max_turns} moves in all.",
        soft_wrap=True,
    )
    for move in history:
        screen.print(f"  [bold]Partner[/]: offers you {share_words(_mine(half, move))}")


def _explain(screen: Console, offer: Offer | None, plan: Plan, half: Context, step: int) -> None:
    if step == 0:
        screen.print(
            f"You follow the best blind plan: {len(plan.offers)} offers, worth {plan.value:.1f} of {half.my_maximum} points on average.",
            soft_wrap=True,
        )
    screen.print()
    if offer is None:
        screen.print("  [bold]You[/]: AGREE — no offer left that is worth the risk" if plan.agrees else "  [bold]You[/]: leave")
        return
    points = sum(n * u for n, u in zip(offer.share, half.my_utilities, strict=True))
    screen.print(f"  [bold]You[/]: {offer.act.name} {share_words(offer.share)} — {points} points")


def _answer(screen: Console, history: Sequence[Move], half: Context, env: NegotiationEnv) -> None:
    last = history[-1]
    if last.side == AGENT:
        return
    if last.share is None:
        screen.print(f"  [bold]Partner[/]: {Act(last.act).name}")
        return
    left = len(posterior(half, history, env.batch))
    screen.print(
        f"  [bold]Partner[/]: refuses, and offers you {share_words(_mine(half, last))}. {left:,} sets of utilities are still possible.",
        soft_wrap=True,
    )


def _mine(half: Context, move: Move) -> tuple[int, int, int]:
    share = move.share or (0, 0, 0)
    return (half.counts[0] - share[0], half.counts[1] - share[1], half.counts[2] - share[2])
