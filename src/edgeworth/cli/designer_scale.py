"""The auction's scale on the screen: every designer on every population, and a language model among them where there is one."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table

from edgeworth.agents.designers.language_model import OPENING, LanguageModel
from edgeworth.agents.questions import OWN_CLIENT, client_name
from edgeworth.cli.console import auction_config, command_line, deliver, draw, err, out
from edgeworth.cli.progress import progress
from edgeworth.errors import DataError, FallbackUsed, InvalidOption, MissingExtra, ModelUnavailable
from edgeworth.evaluation.auction_yardstick import POPULATIONS, PlacedModel, Row, auction_yardstick
from edgeworth.games.auction.population import population_table
from edgeworth.games.auction.vocabulary import RULES

MODEL_EPISODES = 300
"""Episodes of a language model on every population: some thousand replies each."""


class AskedModel(NamedTuple):
    """The language model that the auction's scale is asked to hold."""

    client: str | None
    model: str | None
    episodes: int

    @property
    def label(self) -> str:
        """Its name in the table, and the rules that it was trained on where its card says that they are others."""
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
        """The model, ready to play, or why it has no row; one that was asked for by name must be there."""
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
    """Which model is meant, and how often it plays: never more often than those it is compared with."""
    if model_episodes is not None and model_episodes > episodes:
        raise InvalidOption(
            f"--model-episodes is {model_episodes}; expected at most the {episodes} of --episodes, which it is compared with."
        )
    return AskedModel(client, model, min(MODEL_EPISODES, episodes) if model_episodes is None else model_episodes)


def designer_scale(
    stages: list[str] | None,
    settings: list[str] | None,
    episodes: int,
    asked: AskedModel,
    seed: int,
    out_file: Path | None,
    figure: Path | None,
    as_json: bool,
) -> None:
    """Play the scale, and print, write and draw it."""
    configs = {name: auction_config(name, None, 8, settings) for name in stages or POPULATIONS}
    for config in configs.values():
        population_table(config.stage, config.mix)  # refuses what does not exist before anything long starts
    placed, tables, told = asked.placed(), {}, list[str]()
    model = None if isinstance(placed, str) else placed
    with progress() as task, warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackUsed)  # the notes hold all of them
        for name, config in configs.items():
            scale = auction_yardstick(config, episodes, seed, task(f"population {name}"), model)
            tables[name] = scale.rows
            told += [f"Population {name}: {note}" for note in scale.notes]
    missing = [placed] if isinstance(placed, str) else []
    notes = [f"A row is missing: {note}" for note in missing] + told + _unused_replies(tables)
    result = {
        "command": command_line(),
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

    def show() -> None:
        for name, rows in tables.items():
            out.print(_designer_table(name, rows))
            out.print()
        for note in notes:
            err.print(note, soft_wrap=True, markup=False)

    deliver(result, as_json, out_file, show)
    draw(result, figure, "edgeworth.evaluation.auction_figures:draw_designers")


def _about(model: PlacedModel) -> dict[str, Any]:
    """Which model has the row, and what was counted of it that another run repeats; seconds are no such thing."""
    counted = model.designer.counters
    kept = ("prompts", "prompt_tokens", "completion_tokens", "failures", "rejections", "posted")
    return {"name": model.designer.client.name, "episodes": model.episodes, **{name: counted[name] for name in kept}}


def _unused_replies(tables: dict[str, list[Row]]) -> list[str]:
    """Where replies of a language model were not used, and how many."""
    notes = []
    for name, rows in tables.items():
        for row in rows:
            unused = 0 if row.posted is None else sum(row.posted.values()) - row.posted["reply"]
            if row.posted is not None and unused:
                kept, opened = row.posted["kept"], row.posted["opening"]
                share = f"{unused:,} of {sum(row.posted.values()):,} mechanisms"
                notes.append(
                    f"{row.designer}, population {name}: {share} are not its own ({kept:,} kept, {opened:,} opened with {OPENING})."
                )
    return notes


def _designer_table(population: str, rows: list[Row]) -> Table:
    title = f"population {population}: mean score R per step"
    shown = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    shown.add_column("designer", no_wrap=True)
    for name in ("R", "95 % interval", "over best constant", "episodes"):
        shown.add_column(name, justify="right")
    for row in rows:
        e, d = row.score, row.over_best_constant
        gain = f"{d.value:+.3f} ±{(d.high - d.low) / 2:.3f}" if d.value else "–"
        shown.add_row(row.designer, f"{e.value:.3f}", f"{e.low:.3f} – {e.high:.3f}", gain, f"{e.n:,}")
    return shown
