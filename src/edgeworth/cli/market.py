"""`edgeworth market`: hold a market in the terminal and tell the story of every sale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any

import typer

from edgeworth.agents.designers.bundled import find_mechanism
from edgeworth.cli.console import AsJson, Bidders, MarketSettings, Seed, auction_config, err, out, print_json
from edgeworth.cli.market_designer import poster, show_model_account, show_verdict
from edgeworth.cli.market_story import show_account, show_end, show_introduction, show_mechanism, show_sale
from edgeworth.cli.model_options import CacheFile, ClientName, ClientOptions, ModelName, PromptFile, Replay, Temperature, client_options
from edgeworth.errors import DataError, InvalidOption
from edgeworth.evaluation.sale_facts import SaleFacts, facts_of_sale
from edgeworth.evaluation.story import account_line, bidder_name, headline, sentences
from edgeworth.games.auction.action import DaedalusAction
from edgeworth.games.auction.sale_room import SaleRoom
from edgeworth.games.auction.state import DIAGNOSTICS, PROXIES, SCORES
from edgeworth.games.auction.vocabulary import BIDDER_TYPES, SALES_PER_STEP

LIVELY_STAGE = "4"
"""Every type of bidder at once."""

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
"""What a textbook reader might post: efficient, open, with a little of every penalty. Bidders find its gaps."""


def market_command(
    stage: Annotated[
        str | None, typer.Option(help="The population: 0 to 4, mixed, stages, dirichlet, held_out or held_out_0 to 19. Default: 4.")
    ] = None,
    mix: Annotated[str | None, typer.Option(help="A population of your own instead, e.g. truthful=0.5,colluder=0.5.")] = None,
    n_agents: Bidders = 8,
    steps: Annotated[int, typer.Option(min=1, help="Steps of the designer to show, five sales each; at most the episode.")] = 3,
    mechanism: Annotated[str | None, typer.Option(help="A mechanism: a JSON file, or a name from configs/mechanisms/.")] = None,
    designer: Annotated[str | None, typer.Option(help="Let this designer post the mechanisms instead.")] = None,
    client: ClientName = None,
    model: ModelName = None,
    prompt: PromptFile = None,
    options: ClientOptions = None,
    cache: CacheFile = None,
    replay: Replay = False,
    temperature: Temperature = None,
    settings: MarketSettings = None,
    seed: Seed = 7,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the account of every step.")] = False,
    as_json: AsJson = False,
) -> None:
    """Hold a market and watch it being gamed: who came, who bid what, what the ring and the shills did, who paid for it.

    Example: edgeworth market --stage 3 --steps 1 --seed 2

    Example: edgeworth market --designer language_model --quiet --steps 10
    """
    config = auction_config(stage, mix, n_agents, settings, LIVELY_STAGE)
    if steps > config.episode_length:
        raise InvalidOption(
            f"--steps is {steps}; the episode has {config.episode_length} steps. Make it longer with --set episode_length={steps}."
        )
    if mechanism is not None and designer is not None:
        raise InvalidOption("--mechanism and --designer exclude each other: a designer posts mechanisms of its own.")
    asking = {"client": client, "model": model, "prompt": prompt, "cache": cache, "replay": replay or None, "temperature": temperature}
    asking |= client_options(options)
    posts = poster(_fixed(mechanism, config.n_agents), designer, config, seed, asking)
    room = SaleRoom(config, seed)
    types = [BIDDER_TYPES[kind] for kind in room.market["type"][: config.n_agents]]
    tells = not (quiet or as_json)
    if tells:
        show_introduction(config, types, seed)
    accounts: list[dict[str, Any]] = []
    posted: DaedalusAction | None = None
    for step in range(1, steps + 1):
        chosen = posts.post(room)
        if tells:
            show_mechanism(chosen, step, chosen != posted)
        if not as_json:
            show_verdict(posts.verdict, step)
        judged = {} if posts.verdict is None else {"verdict": posts.verdict}
        accounts.append({**_play_step(room, chosen, show_sale if tells else None), **judged})
        posted = chosen
        if tells:
            show_account(accounts[-1:])
    posts.close()
    if as_json:
        about = {} if posts.account is None else {"language_model": posts.account}
        print_json({"seed": seed, "config": asdict(config), "bidders": _bidders(room, types), **about, "steps": accounts})
        return
    if quiet or steps > 1:
        show_account(accounts)
    show_end(accounts)
    show_model_account(posts.account)
    if tells:
        out.print("Which field would help: [bold]edgeworth sensitivity[/]. Another mechanism: [bold]--mechanism FILE.json[/].")


def _fixed(mechanism: str | None, n_agents: int) -> DaedalusAction:
    """The mechanism that stays in force."""
    try:
        posted, notes = (WELL_MEANT, ()) if mechanism is None else find_mechanism(mechanism, n_agents)
    except DataError as error:
        raise InvalidOption(f"--mechanism {error}") from error
    for note in notes:
        err.print(f"{note}.", markup=False)
    return posted


def _play_step(room: SaleRoom, mechanism: DaedalusAction, tell: Callable[[SaleFacts], None] | None) -> dict[str, Any]:
    """Five sales under a mechanism, told as they happen, and their account."""
    room.post(mechanism)
    sales = []
    for _ in range(SALES_PER_STEP):
        sale = facts_of_sale(room, room.run_sale())
        sales.append({**asdict(sale), "story": [headline(sale), *sentences(sale), account_line(sale)]})
        if tell is not None:
            tell(sale)
    tally, n = room.workspace["tally"], room.batch.config.n_agents
    return {
        "step": int(room.market["step"]),
        "mechanism": mechanism.model_dump(),
        **{name: float(room.outcome[name]) for name in (*SCORES, *PROXIES, *DIAGNOSTICS)},
        "profit": float(tally["profit"]),
        "competitive_profit": float(tally["competitive_profit"]),
        "surplus": float(tally["surplus"][:n].sum()),
        "entitlement": float(tally["entitlement"][:n].sum()),
        "welfare": float(tally["welfare"]),
        "first_best": float(tally["first_best"]),
        "sales": sales,
    }


def _bidders(room: SaleRoom, types: list[str]) -> list[dict[str, Any]]:
    return [
        {"seat": seat, "name": bidder_name(types, seat), "type": kind, "entry_cost": float(room.market["entry_cost"][seat])}
        for seat, kind in enumerate(types)
    ]
