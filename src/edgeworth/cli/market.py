"""`edgeworth market`: run a market in the terminal and describe every sale."""

from __future__ import annotations

import json
import textwrap
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any, ClassVar

import typer
from rich.highlighter import RegexHighlighter
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from edgeworth import catalog
from edgeworth.agents.designers.designer import Designer, known_to
from edgeworth.agents.designers.fixed import Fixed
from edgeworth.agents.designers.language_model import OPENING, LanguageModel
from edgeworth.cli import options
from edgeworth.cli.console import out, print_json, say, table
from edgeworth.config import AuctionConfig
from edgeworth.envs.designed_markets import mechanism_lines
from edgeworth.errors import FallbackUsed, InvalidOption
from edgeworth.evaluation.sale_facts import SaleFacts
from edgeworth.evaluation.sensitivity import best_change
from edgeworth.evaluation.statistics import Estimate, counted
from edgeworth.evaluation.story import account_line, award_rows, bidder_name, cast_line, headline, losing_bids, play_step, sentences
from edgeworth.games.auction.action import DaedalusAction, action_of
from edgeworth.games.auction.market_view import StepHistory
from edgeworth.games.auction.sale_room import SaleRoom
from edgeworth.games.auction.vocabulary import BIDDER_TYPES, SALES_PER_STEP

ALL_TYPES = "4"
"""The stage with every type of bidder at once, for a lively market."""

WELL_MEANT = DaedalusAction(
    auction_type="vcg",
    reserve_price=0.2,
    reveal_reserve=True,
    reveal_competing_bids=False,
    reveal_winner_identity=True,
    reveal_clearing_price=True,
    reveal_bid_distribution=False,
    shill_penalty=0.5,
    withdrawal_penalty=0.5,
    collusion_penalty=1.0,
    coalition_policy="penalize_confirmed",
)
"""A textbook mechanism: efficient, open, with a little of every penalty. Bidders find its gaps."""


PARTS = {
    "welfare_ratio": "welfare",
    "fairness_score": "fairness",
    "participation_rate": "participation",
    "stability_score": "stability",
}
COSTS = {
    "welfare_ratio": "lots stay unsold or go to bidders who value them less, and taking part costs something",
    "fairness_score": "the gains are split otherwise than competition would, between seller and bidders or among the bidders",
    "participation_rate": "bidders who would be welcome stay away",
    "stability_score": "welfare and profit move more from sale to sale than demand explains",
}
"""What a low part means."""
TRIED_EPISODES = 64


def market_command(
    stage: Annotated[
        str | None, typer.Option(help="Population: 0 to 4, mixed, stages, dirichlet, held_out or held_out_0 to 19. Default: 4.")
    ] = None,
    mix: Annotated[str | None, typer.Option(help="Shares of bidder types, instead of --stage, e.g. truthful=0.5,colluder=0.5.")] = None,
    n_agents: options.Bidders = 8,
    steps: Annotated[int, typer.Option(min=1, help="Steps to show, of five sales each; at most the length of the episode.")] = 3,
    mechanism: Annotated[str | None, typer.Option(help="JSON file, or name from configs/mechanisms/. Default: a textbook VCG.")] = None,
    designer: Annotated[str | None, typer.Option(help="Designer that chooses a mechanism every step, instead of --mechanism.")] = None,
    client: options.ClientName = None,
    model: options.ModelName = None,
    prompt: options.PromptFile = None,
    client_option: options.ClientOptions = None,
    cache: options.CacheFile = None,
    replay: options.Replay = False,
    temperature: options.Temperature = None,
    settings: options.MarketSettings = None,
    seed: options.Seed = 7,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show only the account of every step, and the verdict.")] = False,
    brief: Annotated[bool, typer.Option("--brief", help="Show only the verdict.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Run a market in the terminal and describe every sale.

    Shows who bids what, what colluders and shills do, and who pays for it. --client, --model, --prompt, --client-option, --cache, --replay
    and --temperature are for --designer language_model.

    Example: edgeworth market --stage 3 --steps 1 --seed 2

    Example: edgeworth market --designer language_model --quiet --steps 10
    """
    config = options.auction_config(stage, mix, n_agents, settings, ALL_TYPES)
    if steps > config.episode_length:
        length = counted(config.episode_length, "step")
        raise InvalidOption(f"--steps is {steps}; the episode has {length}. Make it longer with --set episode_length={steps}.")
    asking = {"client": client, "model": model, "prompt": prompt, "cache": cache, "replay": replay or None, "temperature": temperature}
    author = _designer(mechanism, designer, config.n_agents, asking | options.client_options(client_option))
    room = SaleRoom(config, seed)
    author.begin(config, 1, seed, known_to(author, room.batch.markets))
    for note in author.assumed:
        say(f"{note}.")
    types = [BIDDER_TYPES[kind] for kind in room.market["type"][: config.n_agents]]
    in_full = not (quiet or brief or as_json)
    if in_full:
        show_introduction(config, types, seed)
    accounts = _play(author, room, steps, in_full, not as_json)
    model_account = {"model": author.client.name, **author.counters} if isinstance(author, LanguageModel) else None
    if isinstance(author, LanguageModel):
        author.close()
    if as_json:
        about = {} if model_account is None else {"language_model": model_account}
        print_json({"seed": seed, "config": asdict(config), "bidders": _bidders(room, types), **about, "steps": accounts})
        return
    if not brief and (quiet or steps > 1):
        show_account(accounts)
        out.print("Profit is the seller's, surplus the bidders'. After the slash: the first best, with R = 1.", style="dim")
    if not brief:
        out.print()
    show_verdict(accounts, best_change(DaedalusAction(**accounts[-1]["mechanism"]), config, TRIED_EPISODES, seed))
    if model_account is not None:
        show_model_account(model_account)
    if in_full:
        out.print("All fields: [bold]edgeworth sensitivity[/]. Another mechanism: [bold]--mechanism FILE.json[/].")


def _designer(mechanism: str | None, designer: str | None, n_agents: int, model_options: dict[str, Any]) -> Designer:
    """The designer by name, or one that always chooses the given mechanism; options of a language model are refused for any other."""
    if mechanism is not None and designer is not None:
        raise InvalidOption("--mechanism and --designer exclude each other: a designer chooses mechanisms of its own.")
    given = {option: value for option, value in model_options.items() if value is not None}
    if given and designer != "language_model":
        raise InvalidOption(f"--{next(iter(given))} is about a language model; add --designer language_model.")
    if designer is None:
        return Fixed(WELL_MEANT if mechanism is None else options.mechanism_option(mechanism, n_agents))
    found: Designer = catalog.resolve("designer", designer)(**given)
    if isinstance(found, LanguageModel):
        found.check()
    return found


def _play(author: Designer, room: SaleRoom, steps: int, in_full: bool, verdicts: bool) -> list[dict[str, Any]]:
    """Play the steps, show them as they happen, and return their accounts."""
    accounts: list[dict[str, Any]] = []
    history, last = StepHistory(room.batch), None
    for step in range(1, steps + 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FallbackUsed)  # every verdict is shown
            mechanism = action_of(author.design(history.view())[0])
        if in_full:
            show_mechanism(mechanism, step, mechanism != last)
        judged = {"verdict": author.verdicts[0].as_dict()} if isinstance(author, LanguageModel) else {}
        if judged and verdicts:
            show_rejection(judged["verdict"], step)
        accounts.append({**play_step(room, mechanism, show_sale if in_full else None), **judged})
        history.add(room.mechanisms)
        last = mechanism
        if in_full:
            show_account(accounts[-1:])
    return accounts


def _bidders(room: SaleRoom, types: list[str]) -> list[dict[str, Any]]:
    return [
        {"seat": seat, "name": bidder_name(types, seat), "type": kind, "entry_cost": float(room.market["entry_cost"][seat])}
        for seat, kind in enumerate(types)
    ]


# On the screen

NO_BREAK = "\N{NO-BREAK SPACE}"
SEATS = r"\d+(?:(?:, | and )\d+)*\b(?!\.\d)"


class BidderColours(RegexHighlighter):
    """Gives every type of bidder its own colour."""

    base_style = ""
    highlights: ClassVar[list[str]] = [
        rf"(?i)(?P<green>\btruthful {SEATS})",
        rf"(?i)(?P<blue>\bshaders? {SEATS})",
        rf"(?i)(?P<red>\bcolluders? {SEATS})",
        rf"(?i)(?P<yellow>\bdropouts? {SEATS})",
        rf"(?i)(?P<magenta>\bexploiters? {SEATS})",
        r"(?i)(?P<bold>\b(?:wrongly|price war|goes to war|expelled)\b)",
    ]


coloured = BidderColours()


def show_introduction(config: AuctionConfig, types: Sequence[str], seed: int) -> None:
    """The market and its bidders."""
    population = "its own mix" if config.mix is not None else f"stage {config.stage}"
    out.print(f"[bold]A market of {config.n_agents} bidders[/] ({population}, seed {seed})")
    out.print(coloured(Text(cast_line(types))))
    out.print("The designer cannot see who is who. Bids, values and prices are per unit of a lot's quality.", style="dim")


def show_mechanism(mechanism: DaedalusAction, step: int, is_new: bool) -> None:
    """The heading of a step: its sales and its mechanism."""
    last = step * SALES_PER_STEP
    out.print()
    out.rule(f"[bold]Step {step}[/]: sales {last - SALES_PER_STEP + 1} to {last}", align="left", characters="─", style="dim")
    if not is_new:
        out.print("The mechanism is unchanged.")
        return
    for line in mechanism_lines(mechanism):
        out.print(line)


def show_sale(sale: SaleFacts) -> None:
    """One sale: its headline, the units sold, the losing bids, and what happened."""
    out.print()
    out.print(coloured(Text(headline(sale), style="bold")))
    ladder = Table(box=None, show_header=True, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("", "quality", "won by", "", "value", "bid", "price"):
        ladder.add_column(name, justify="right" if name in ("value", "bid", "price") else "left", no_wrap=True)
    for row in award_rows(sale):
        ladder.add_row(*(coloured(Text(cell)) for cell in row))
    out.print(Padding(ladder, (0, 0, 0, 2), expand=False))
    out.print(Padding(coloured(Text(_below(losing_bids(sale)))), (0, 0, 0, 2), expand=False))
    story = Table.grid(padding=(0, 1, 0, 0))
    for sentence in [*sentences(sale), account_line(sale)]:
        story.add_row("·", coloured(Text(sentence)))
    out.print(Padding(story, (0, 0, 0, 2), expand=False))


def _below(bids: Sequence[str]) -> str:
    """The losing bids, with line breaks only between them."""
    whole = " · ".join(bid.replace(" ", NO_BREAK) for bid in bids) or "no other bid"
    lines = textwrap.wrap(f"below: {whole}", out.width - 2, subsequent_indent="       ", break_on_hyphens=False)
    return "\n".join(lines).replace(NO_BREAK, " ")


def show_account(accounts: Sequence[dict[str, Any]]) -> None:
    """The score of every step, and its money beside the first best."""
    found = table("step", "W", "F", "P", "S", "R", "profit", "surplus", "fines", "welfare", wrap=False, gap=1)
    for a in accounts:
        scores = [f"{a[name]:.2f}" for name in ("welfare_ratio", "fairness_score", "participation_rate", "stability_score")]
        money = [
            f"{a[got]:.2f} / {a[best]:.2f}"
            for got, best in (("profit", "competitive_profit"), ("surplus", "entitlement"), ("welfare", "first_best"))
        ]
        found.add_row(str(a["step"]), *scores, f"[bold]{a['composite']:.3f}[/]", money[0], money[1], f"{a['fines']:.2f}", money[2])
    out.print()
    out.print(found)


def show_verdict(accounts: Sequence[dict[str, Any]], change: tuple[str, Any, Estimate] | None) -> None:
    """The mean score, its four parts, the one that cost most, and what to try."""
    means = {name: sum(a[name] for a in accounts) / len(accounts) for name in (*PARTS, "composite")}
    parts = ", ".join(f"{word} {means[name]:.2f}" for name, word in PARTS.items())
    out.print(f"[bold]R {means['composite']:.3f}[/] on average, with {parts}; in every step R is their product.")
    worst = min(PARTS, key=lambda name: means[name])
    out.print(f"{PARTS[worst].capitalize()} cost most: {COSTS[worst]}.")
    if change is None:
        out.print("To try: no change of a single field is clearly better for this population.")
    else:
        field, value, gain = change
        out.print(
            f"To try: {field} = {json.dumps(value)}, worth {gain.value:+.3f} in R ({gain.low:+.3f} to {gain.high:+.3f},"
            f" {TRIED_EPISODES} episodes of this population)."
        )


def show_rejection(verdict: dict[str, Any], step: int) -> None:
    """Why a language model's reply was not used, and which mechanism is in force instead."""
    if verdict["posted"] == "reply":
        return
    instead = "the mechanism in force stays" if verdict["posted"] == "kept" else f"the market opens under {OPENING}"
    out.print(
        f"Step {step}: no mechanism from the model ({verdict['reason']}), so {instead}. {verdict['sentence']}", style="bold", markup=False
    )


def show_model_account(account: dict[str, Any]) -> None:
    """The number of prompts, their tokens and seconds, and how many replies were used."""
    prompts, cached = account["prompts"], account["cache_hits"]
    parts = [counted(prompts, "prompt"), *([f"{cached:,} from the cache"] if cached else [])]
    if prompts > cached:
        parts.append(f"{account['prompt_tokens']:,} + {account['completion_tokens']:,} tokens read and written")
    if account["latency"]:
        parts.append(f"{account['latency']['p50']:.2g} s a reply (p90 {account['latency']['p90']:.2g} s)")
    unused = account["posted"]["kept"] + account["posted"]["opening"]
    parts.append(f"{unused} of {sum(account['posted'].values())} replies not used" if unused else "every reply a legal mechanism")
    out.print(f"{account['model']}: {', '.join(parts)}.", markup=False)
