"""`edgeworth yardstick`: the reference scores of a game, of negotiators by scenario or of auction designers by population."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from edgeworth.agents.designers.language_model import OPENING, LanguageModel, bundled_designer
from edgeworth.agents.questions import OWN_CLIENT, client_name
from edgeworth.cli import options
from edgeworth.cli.console import command_line, deliver, progress, span, table
from edgeworth.config import scenario_names
from edgeworth.errors import DataError, FallbackUsed, InvalidOption, MissingExtra, ModelUnavailable, UnknownName
from edgeworth.evaluation.partner_yardstick import partner_yardstick
from edgeworth.evaluation.yardstick import POPULATIONS, PlacedModel, Row, auction_yardstick, exact_yardstick, yardstick
from edgeworth.executor.execution import Executor
from edgeworth.executor.tasks import Task
from edgeworth.games.auction.population import population_table
from edgeworth.games.auction.vocabulary import RULES

GAMES = ("bargaining", "auction")
MODEL_EPISODES = 300
"""Episodes of a language model on every population: some thousand replies each."""


def yardstick_command(
    context: typer.Context,
    game: Annotated[str, typer.Option(help="bargaining or auction.")] = "bargaining",
    scenario: options.Scenarios = None,
    stage: Annotated[list[str] | None, typer.Option(help="Auction: population; repeat for several. Default: all.")] = None,
    settings: options.Settings = None,
    partner: Annotated[
        list[str] | None,
        typer.Option(help="Bargaining: a partner whose counter-offers reveal something, instead of the scenario's; repeat for several."),
    ] = None,
    own_sides: Annotated[
        int,
        typer.Option(
            min=10, help="Bargaining, with --partner: own sides to draw where a game has more; each plays against all its partners."
        ),
    ] = 160,
    exact: Annotated[
        bool, typer.Option("--exact", help="Bargaining: every context that the game can draw, without sampling error; takes minutes.")
    ] = False,
    contexts: Annotated[int, typer.Option(min=100, help="Bargaining: contexts for the oracle and for agents that play.")] = 20_000,
    plan_contexts: Annotated[int, typer.Option(min=10, help="Bargaining: contexts for the blind plans.")] = 3_000,
    episodes: Annotated[int, typer.Option(min=100, help="Auction: episodes of every designer on every population.")] = 4_000,
    client: options.ClientName = None,
    model: options.ModelName = None,
    model_episodes: Annotated[
        int | None, typer.Option(min=0, help="Auction: episodes of the language model, 0 for none. Default: 300.")
    ] = None,
    seed: options.Seed = 0,
    engine: options.Engine = "local",
    address: options.Address = None,
    workers: options.MoreWorkers = None,
    out_file: options.OutFile = None,
    figure: options.Figure = None,
    as_json: options.AsJson = False,
) -> None:
    """Compute the reference scores of a game, from random play to the oracle.

    Bargaining: the share of the agent's maximum, by scenario. Auction: the mean score R of every designer, by population.

    Example: edgeworth yardstick --scenario lewis --exact

    Example: edgeworth yardstick --scenario lewis --partner boulware --partner tit_for_tat

    Example: edgeworth yardstick --game auction --stage 3

    Example: edgeworth yardstick --game auction --stage stages --model Qwen/Qwen2.5-1.5B-Instruct --model-episodes 100
    """
    if game not in GAMES:
        raise UnknownName("game", game, GAMES)
    if game == "auction":
        if scenario is not None:
            raise InvalidOption("--scenario belongs to bargaining; the auction has --stage.")
        model_episodes = min(MODEL_EPISODES, episodes) if model_episodes is None else model_episodes
        if model_episodes > episodes:
            raise InvalidOption(
                f"--model-episodes is {model_episodes}; expected at most the {episodes} of --episodes, which it is compared with."
            )
        with options.executed(engine, address, workers) as run:
            result, page, notes = _auction(stage or list(POPULATIONS), settings, episodes, client, model, model_episodes, seed, run)
        drawer = "edgeworth.evaluation.auction_figures:draw_designers"
    else:
        if stage is not None:
            raise InvalidOption("--stage belongs to the auction (--game auction); bargaining has --scenario.")
        for option, value in {"--client": client, "--model": model, "--model-episodes": model_episodes}.items():
            if value is not None:
                raise InvalidOption(f"{option} belongs to the auction (--game auction), whose designers it joins.")
        if exact:
            options.refuse_beside_exact(context, "contexts", "plan_contexts", "own_sides", "seed")
        if partner is not None:
            with options.executed(engine, address, workers) as run:
                result = _partners(scenario or ["classic", "lewis"], partner, settings, None if exact else own_sides, seed, run)
            return deliver({"command": command_line(), **result}, _partners_page(result), as_json, out_file)
        sizes = None if exact else (contexts, plan_contexts)
        with options.executed(engine, address, workers) as run:
            result, page, notes = _bargaining(scenario or scenario_names(), settings, sizes, seed, run)
        drawer = "edgeworth.evaluation.bargaining_figures:draw_yardsticks"
    deliver({"command": command_line(), **result}, page, as_json, out_file, figure, drawer, notes)


# Bargaining


def _bargaining(
    scenarios: list[str], settings: list[str] | None, sizes: tuple[int, int] | None, seed: int, run: Executor
) -> tuple[dict[str, Any], Iterator[RenderableType], list[str]]:
    """The scales of these scenarios: over so many contexts, for agents and for plans, or over all that there are."""
    configs = {name: options.game_config(name, None, settings) for name in scenarios}
    with progress() as task:
        if sizes is None:
            tables = [exact_yardstick(name, config, run, task(name)) for name, config in configs.items()]
            head = {"quantity": "sum of rewards / sum of the agent's maxima, over all contexts and openers", "seeds": "none: no sampling"}
        else:
            tables = [yardstick(name, config, *sizes, seed, run, task(name)) for name, config in configs.items()]
            head = {
                "quantity": "sum of rewards / sum of the agent's maxima; 95 % bootstrap interval over contexts",
                "seeds": f"{seed} to {seed + sizes[0] - 1} (blind plans: to {seed + sizes[1] - 1})",
            }
    result = {**head, "scenarios": tables}
    notes = [f"{found['scenario']}: {note}" for found in tables for note in found["notes"]]
    return result, _bargaining_page(tables), notes


def _bargaining_page(tables: list[dict[str, Any]]) -> Iterator[RenderableType]:
    for found in tables:
        shown = table("agent", "share", "95 % interval", "contexts", title=f"{found['scenario']}: share of the agent's maximum")
        for row in found["rows"]:
            shown.add_row(row["label"], f"{row['value']:.3f}", span(row, exact=found.get("exact", False)), f"{row['n']:,}")
        yield shown
        yield ""


def _partners(
    scenarios: list[str], partners: list[str], settings: list[str] | None, own_sides: int | None, seed: int, run: Executor
) -> dict[str, Any]:
    """The scales with partners that tell something; all own sides of a table of contexts are played."""
    tasks = []
    for name, partner in itertools.product(scenarios, partners):
        config = options.game_config(name, partner, settings)
        sides = own_sides if config.contexts == "uniform" else None
        tasks.append(Task(f"{name}, {partner}", partner_yardstick, (name, config, sides, seed)))
    with progress() as task:
        tables = run(tasks, task("partners")).whole()
    return {
        "quantity": "sum of rewards / sum of the agent's maxima, every own side against all its partners and both openers;"
        " 95 % bootstrap intervals over own sides, where not all are played",
        "seed": seed,
        "games": tables,
    }


def _partners_page(result: dict[str, Any]) -> Iterator[RenderableType]:
    for found in result["games"]:
        title = f"{found['scenario']}, {found['partner']}: share of the agent's maximum, {found['own_sides']:,} own sides"
        shown = table("agent", "share", "95 % interval", title=title)
        for row in found["rows"]:
            shown.add_row(row["label"], f"{row['value']:.3f}", span(row, exact=found["exact"]))
        yield shown
        yield ""


# Auction


def model_label(client: str | None, model: str | None) -> str:
    """The model's name in the table, with the rules it was trained on if its card names other ones than those in force."""
    from edgeworth.training.pocket_folder import market_rules, read_card

    model = bundled_designer() if client is None and model is None else model
    rules = RULES
    if client_name(client, model) == OWN_CLIENT:
        with suppress(DataError):  # a model without a card
            rules = market_rules(read_card(None if model is None else Path(model)))
    return f"language_model ({model or client or OWN_CLIENT}{'' if rules == RULES else f', trained on rules {rules}'})"


def _placed_model(client: str | None, model: str | None, episodes: int) -> PlacedModel | str:
    """The model, ready to play, or why it has no row; a model that was named by the user must be available."""
    label = model_label(client, model)
    if episodes == 0:
        return f"{label}: left out, as --model-episodes 0 asks."
    try:
        designer = LanguageModel(client, model)
        designer.check()
    except (MissingExtra, ModelUnavailable, DataError) as error:
        if client is not None or model is not None:
            raise
        return f"{label}: {error}"
    return PlacedModel(label, designer, episodes)


def _auction(
    stages: list[str],
    settings: list[str] | None,
    episodes: int,
    client: str | None,
    model_name: str | None,
    model_episodes: int,
    seed: int,
    run: Executor,
) -> tuple[dict[str, Any], Iterator[RenderableType], list[str]]:
    configs = {name: options.auction_config(name, None, 8, settings) for name in stages}
    for config in configs.values():
        population_table(config.stage, config.mix)  # refuses unknown populations before the long computation starts
    placed, tables, notes = _placed_model(client, model_name, model_episodes), dict[str, list[Row]](), list[str]()
    model = None if isinstance(placed, str) else placed
    with progress() as task, warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackUsed)  # the notes hold all of them
        for name, config in configs.items():
            scale = auction_yardstick(config, episodes, seed, task(f"population {name}"), model, run=run)
            tables[name] = scale.rows
            notes += [f"Population {name}: {note}" for note in scale.notes]
    notes = [f"A row is missing: {placed}"] * isinstance(placed, str) + notes + _unused_replies(tables)
    result = {
        "quantity": "mean score R per step over whole episodes; 95 % bootstrap interval over episodes; differences paired by seed",
        "score_of_the_model": "the best constant's score on all episodes + the paired difference to it on the model's own",
        "seeds": f"{seed} to {seed + episodes - 1}" + ("" if model is None else f" (language_model: to {seed + model.episodes - 1})"),
        "episodes": episodes,
        "model": None if model is None else _about(model),
        "notes": notes,
        "schedule_over_best_constant": {
            name: row["over_own_constant"] for name, rows in tables.items() for row in rows if "over_own_constant" in row
        },
        "populations": tables,
    }
    return result, _auction_page(tables), notes


def _about(model: PlacedModel) -> dict[str, Any]:
    """The model's name and the counts that another run would repeat; times are left out."""
    counted = model.designer.counters
    kept = ("prompts", "prompt_tokens", "completion_tokens", "failures", "rejections", "posted")
    return {"name": model.designer.client.name, "episodes": model.episodes, **{name: counted[name] for name in kept}}


def _unused_replies(tables: dict[str, list[Row]]) -> list[str]:
    """How many replies of a language model were not used, by population."""
    notes = []
    for name, rows in tables.items():
        for row in rows:
            posted = row.get("posted", {"reply": 0})
            total, unused = sum(posted.values()), sum(posted.values()) - posted["reply"]
            if unused:
                notes.append(
                    f"{row['designer']}, population {name}: {unused:,} of {total:,} mechanisms are not its own"
                    f" ({posted['kept']:,} kept, {posted['opening']:,} opened with {OPENING})."
                )
    return notes


def _auction_page(tables: dict[str, list[Row]]) -> Iterator[RenderableType]:
    for population, rows in tables.items():
        title = f"population {population}: mean score R per step"
        shown = table("designer", "R", "95 % interval", "over best constant", "episodes", title=title)
        shown.columns[0].no_wrap = True
        for row in rows:
            score, over = row["score"], row["over_best_constant"]
            gain = f"{over['value']:+.3f} ±{(over['high'] - over['low']) / 2:.3f}" if over["value"] else "–"
            shown.add_row(row["designer"], f"{score['value']:.3f}", span(score), gain, f"{score['n']:,}")
        yield shown
        yield ""
