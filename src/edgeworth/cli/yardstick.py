"""`edgeworth yardstick`: the reference scores of a game, of negotiators by scenario or of auction designers by population."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import RenderableType

from edgeworth.agents.designers.language_model import OPENING, LanguageModel
from edgeworth.agents.questions import OWN_CLIENT, client_name
from edgeworth.cli.console import command_line, deliver, progress, span, table
from edgeworth.cli.options import (
    AsJson,
    ClientName,
    Figure,
    ModelName,
    OutFile,
    Scenarios,
    Seed,
    Settings,
    auction_config,
    game_config,
)
from edgeworth.config import scenario_names
from edgeworth.errors import DataError, FallbackUsed, InvalidOption, MissingExtra, ModelUnavailable, UnknownName
from edgeworth.evaluation.auction_yardstick import POPULATIONS, PlacedModel, Row, auction_yardstick
from edgeworth.evaluation.yardstick import Yardstick, yardstick
from edgeworth.games.auction.population import population_table
from edgeworth.games.auction.vocabulary import RULES

GAMES = ("bargaining", "auction")
MODEL_EPISODES = 300
"""Episodes of a language model on every population: some thousand replies each."""


def yardstick_command(
    game: Annotated[str, typer.Option("--game", help="bargaining or auction.")] = "bargaining",
    scenario: Scenarios = None,
    stage: Annotated[
        list[str] | None,
        typer.Option("--stage", help="Auction: population; repeat for several. Default: 0–4, stages, mixed, dirichlet, held_out."),
    ] = None,
    settings: Settings = None,
    contexts: Annotated[int, typer.Option(min=100, help="Bargaining: contexts for the oracle and for agents that play.")] = 20_000,
    plan_contexts: Annotated[int, typer.Option(min=10, help="Bargaining: contexts for the blind plans.")] = 3_000,
    episodes: Annotated[int, typer.Option(min=100, help="Auction: episodes of every designer on every population.")] = 4_000,
    client: ClientName = None,
    model: ModelName = None,
    model_episodes: Annotated[
        int | None, typer.Option(min=0, help="Auction: episodes of the language model, on the first seeds; 0 leaves it out. Default: 300.")
    ] = None,
    seed: Seed = 0,
    out_file: OutFile = None,
    figure: Figure = None,
    as_json: AsJson = False,
) -> None:
    """Compute the reference scores of a game, from random play to the oracle.

    Bargaining: the share of the agent's maximum, by scenario. Auction: the mean score R of every designer, by population.

    Example: edgeworth yardstick --scenario lewis

    Example: edgeworth yardstick --game auction --stage 3

    Example: edgeworth yardstick --game auction --stage stages --model Qwen/Qwen2.5-1.5B-Instruct --model-episodes 100
    """
    if game not in GAMES:
        raise UnknownName("game", game, GAMES)
    if game == "auction":
        if scenario is not None:
            raise InvalidOption("--scenario belongs to bargaining; the auction has --stage.")
        asked = asked_model(client, model, model_episodes, episodes)
        result, page, notes = _auction(stage or list(POPULATIONS), settings, episodes, asked, seed)
        drawer = "edgeworth.evaluation.auction_figures:draw_designers"
    else:
        if stage is not None:
            raise InvalidOption("--stage belongs to the auction (--game auction); bargaining has --scenario.")
        for option, value in {"--client": client, "--model": model, "--model-episodes": model_episodes}.items():
            if value is not None:
                raise InvalidOption(f"{option} belongs to the auction (--game auction), whose designers it joins.")
        result, page, notes = _bargaining(scenario or scenario_names(), settings, contexts, plan_contexts, seed)
        drawer = "edgeworth.evaluation.bargaining_figures:draw_yardsticks"
    deliver({"command": command_line(), **result}, page, as_json, out_file, figure, drawer, notes)


# Bargaining


def _bargaining(
    scenarios: list[str], settings: list[str] | None, contexts: int, plan_contexts: int, seed: int
) -> tuple[dict[str, Any], Iterator[RenderableType], list[str]]:
    configs = {name: game_config(name, None, settings) for name in scenarios}
    with progress() as task:
        tables = [yardstick(name, config, contexts, plan_contexts, seed, task(name)) for name, config in configs.items()]
    result = {
        "quantity": "sum of rewards / sum of the agent's maxima; 95 % bootstrap interval over contexts",
        "seeds": f"{seed} to {seed + contexts - 1} (blind plans: to {seed + plan_contexts - 1})",
        "scenarios": [found.as_dict() for found in tables],
    }
    notes = [f"A row is missing: {note}" for found in tables for note in found.notes]
    return result, _bargaining_page(tables), notes


def _bargaining_page(tables: list[Yardstick]) -> Iterator[RenderableType]:
    for found in tables:
        shown = table("agent", "share", "95 % interval", "contexts", title=f"{found.scenario}: share of the agent's maximum")
        for row in found.rows:
            share = row.share_of_maximum
            shown.add_row(row.label, f"{share.value:.3f}", span(share.as_dict()), f"{share.n:,}")
        yield shown
        yield ""


# Auction


class AskedModel(NamedTuple):
    """The language model that takes part in the auction's reference scores."""

    client: str | None
    model: str | None
    episodes: int

    @property
    def label(self) -> str:
        """Its name in the table, and the rules it was trained on if its card names other ones than those in force."""
        return f"language_model ({self.model or self.client or OWN_CLIENT}{self._trained_on()})"

    def _trained_on(self) -> str:
        from edgeworth.training.pocket import market_rules, read_card

        if client_name(self.client, self.model) != OWN_CLIENT:
            return ""
        try:
            rules = market_rules(read_card(None if self.model is None else Path(self.model)))
        except DataError:  # a model without a card
            return ""
        return "" if rules == RULES else f", trained on rules {rules}"

    def placed(self) -> PlacedModel | str:
        """The model, ready to play, or why it has no row; a model that was named by the user must be available."""
        if self.episodes == 0:
            return f"{self.label}: left out, as --model-episodes 0 asks."
        try:
            designer = LanguageModel(self.client, self.model)
            designer.check()
        except (MissingExtra, ModelUnavailable, DataError) as error:
            if self.client is not None or self.model is not None:
                raise
            return f"{self.label}: {error}"
        return PlacedModel(self.label, designer, self.episodes)


def asked_model(client: str | None, model: str | None, model_episodes: int | None, episodes: int) -> AskedModel:
    """The model of the flags and how many episodes it plays: at most as many as the designers it is compared with."""
    if model_episodes is not None and model_episodes > episodes:
        raise InvalidOption(
            f"--model-episodes is {model_episodes}; expected at most the {episodes} of --episodes, which it is compared with."
        )
    return AskedModel(client, model, min(MODEL_EPISODES, episodes) if model_episodes is None else model_episodes)


def _auction(
    stages: list[str], settings: list[str] | None, episodes: int, asked: AskedModel, seed: int
) -> tuple[dict[str, Any], Iterator[RenderableType], list[str]]:
    configs = {name: auction_config(name, None, 8, settings) for name in stages}
    for config in configs.values():
        population_table(config.stage, config.mix)  # refuses unknown populations before the long computation starts
    placed, tables, notes = asked.placed(), dict[str, list[Row]](), list[str]()
    model = None if isinstance(placed, str) else placed
    with progress() as task, warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackUsed)  # the notes hold all of them
        for name, config in configs.items():
            scale = auction_yardstick(config, episodes, seed, task(f"population {name}"), model)
            tables[name] = scale.rows
            notes += [f"Population {name}: {note}" for note in scale.notes]
    notes = [f"A row is missing: {placed}"] * isinstance(placed, str) + notes + _unused_replies(tables)
    result = {
        "quantity": "mean score R per step over whole episodes; 95 % bootstrap interval over episodes; differences paired by seed",
        "seeds": f"{seed} to {seed + episodes - 1}" + ("" if model is None else f" (language_model: to {seed + model.episodes - 1})"),
        "episodes": episodes,
        "model": None if model is None else _about(model),
        "notes": notes,
        "schedule_over_best_constant": {
            name: row.over_own_constant.as_dict() for name, rows in tables.items() for row in rows if row.over_own_constant is not None
        },
        "populations": {name: [row.as_dict() for row in rows] for name, rows in tables.items()},
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
            posted = row.posted or {"reply": 0}
            total, unused = sum(posted.values()), sum(posted.values()) - posted["reply"]
            if unused:
                notes.append(
                    f"{row.designer}, population {name}: {unused:,} of {total:,} mechanisms are not its own"
                    f" ({posted['kept']:,} kept, {posted['opening']:,} opened with {OPENING})."
                )
    return notes


def _auction_page(tables: dict[str, list[Row]]) -> Iterator[RenderableType]:
    for population, rows in tables.items():
        title = f"population {population}: mean score R per step"
        shown = table("designer", "R", "95 % interval", "over best constant", "episodes", title=title)
        shown.columns[0].no_wrap = True
        for row in rows:
            score, over = row.score, row.over_best_constant
            gain = f"{over.value:+.3f} ±{(over.high - over.low) / 2:.3f}" if over.value else "–"
            shown.add_row(row.designer, f"{score.value:.3f}", span(score.as_dict()), gain, f"{score.n:,}")
        yield shown
        yield ""
