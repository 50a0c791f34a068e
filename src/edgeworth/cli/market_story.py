"""A market on the screen: its bidders, its mechanism, every sale as a table with sentences, and the account of every step."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, ClassVar

from rich.highlighter import RegexHighlighter
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from edgeworth.agents.designers.language_model import OPENING
from edgeworth.cli.console import out, table
from edgeworth.config import AuctionConfig
from edgeworth.envs.designed_markets import mechanism_lines
from edgeworth.evaluation.sale_facts import SaleFacts
from edgeworth.evaluation.story import account_line, award_rows, cast_line, headline, losing_bids, sentences
from edgeworth.games.auction.action import DaedalusAction
from edgeworth.games.auction.vocabulary import SALES_PER_STEP

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


def show_end(accounts: Sequence[dict[str, Any]]) -> None:
    """The mean score, and how to read an account."""
    mean = sum(a["composite"] for a in accounts) / len(accounts)
    out.print(f"Mean R {mean:.3f}. R = W·F·P·S: welfare, fairness, participation, stability.")
    out.print("Profit is the seller's, surplus the bidders'. After the slash: the first best, with R = 1.", style="dim")


def show_verdict(verdict: dict[str, Any], step: int) -> None:
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
    parts = [f"{prompts:,} prompts", *([f"{cached:,} from the cache"] if cached else [])]
    if prompts > cached:
        parts.append(f"{account['prompt_tokens']:,} + {account['completion_tokens']:,} tokens read and written")
    if account["latency"]:
        parts.append(f"{account['latency']['p50']:.2g} s a reply (p90 {account['latency']['p90']:.2g} s)")
    unused = account["posted"]["kept"] + account["posted"]["opening"]
    parts.append(f"{unused} of {sum(account['posted'].values())} replies not used" if unused else "every reply a legal mechanism")
    out.print(f"{account['model']}: {', '.join(parts)}.", markup=False)
