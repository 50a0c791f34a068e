"""A market on the screen: its people, its mechanism, every sale as a ladder with sentences, and the account of a step."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, ClassVar

from rich.highlighter import RegexHighlighter
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from edgeworth.cli.console import out
from edgeworth.config import AuctionConfig
from edgeworth.envs.designed_markets import mechanism_lines
from edgeworth.evaluation.sale_facts import SaleFacts
from edgeworth.evaluation.story import account_line, award_rows, cast_line, headline, losing_bids, sentences
from edgeworth.games.auction.action import DaedalusAction
from edgeworth.games.auction.vocabulary import SALES_PER_STEP

NO_BREAK = "\N{NO-BREAK SPACE}"
SEATS = r"\d+(?:(?:, | and )\d+)*\b(?!\.\d)"


class BidderColours(RegexHighlighter):
    """Gives every type of bidder a colour of its own; the words alone say the same."""

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
    """Where we are, and who is in the room."""
    population = "a mix of its own" if config.mix is not None else f"stage {config.stage}"
    out.print(f"[bold]A market of {config.n_agents} bidders[/] ({population}, seed {seed})")
    out.print(coloured(Text(cast_line(types))))
    out.print("The designer cannot see who is who. Bids, values and prices are per unit of a lot's quality.", style="dim")


def show_mechanism(mechanism: DaedalusAction, step: int, is_new: bool) -> None:
    """The head of a step: which sales, under which rules."""
    last = step * SALES_PER_STEP
    out.print()
    out.rule(f"[bold]Step {step}[/]: sales {last - SALES_PER_STEP + 1} to {last}", align="left", characters="─", style="dim")
    if not is_new:
        out.print("The same mechanism as before.")
        return
    for line in mechanism_lines(mechanism):
        out.print(line)


def show_sale(sale: SaleFacts) -> None:
    """One sale: the day, the ladder, and what went on."""
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
    """The losing bids, wrapped between them and never within one."""
    whole = " · ".join(bid.replace(" ", NO_BREAK) for bid in bids) or "no other bid"
    lines = textwrap.wrap(f"below: {whole}", out.width - 2, subsequent_indent="       ", break_on_hyphens=False)
    return "\n".join(lines).replace(NO_BREAK, " ")


def show_account(accounts: Sequence[dict[str, Any]]) -> None:
    """The score of every step, and its money beside the first best."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("step")
    for name in ("W", "F", "P", "S", "R", "profit", "surplus", "fines", "welfare"):
        table.add_column(name, justify="right", no_wrap=True)
    for a in accounts:
        scores = [f"{a[name]:.2f}" for name in ("welfare_ratio", "fairness_score", "participation_rate", "stability_score")]
        money = [
            f"{a[got]:.2f} / {a[best]:.2f}"
            for got, best in (("profit", "competitive_profit"), ("surplus", "entitlement"), ("welfare", "first_best"))
        ]
        table.add_row(str(a["step"]), *scores, f"[bold]{a['composite']:.3f}[/]", money[0], money[1], f"{a['fines']:.2f}", money[2])
    out.print()
    out.print(table)


def show_end(accounts: Sequence[dict[str, Any]]) -> None:
    """The mean score, and how to read an account."""
    mean = sum(a["composite"] for a in accounts) / len(accounts)
    out.print(f"Mean R {mean:.3f}. R = W·F·P·S: welfare, fairness, participation, stability.")
    out.print("Profit is the seller's, surplus the bidders'. After the slash: the first best, with R = 1.", style="dim")
