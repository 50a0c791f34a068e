"""Trained designers and those that they have to beat, on the same markets: who plays where, and what is kept of it.

A cell is a population with a number of bidders. All designers of a cell play the same seeds, which no training uses, so that differences
are paired, episode by episode. Cheap designers play all episodes side by side. A language model plays them in slices, so that progress can
be shown and a run that was stopped finds its replies in the cache; what it plays does not depend on the slices.
"""

from __future__ import annotations

import dataclasses
import itertools
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.bundled import USUAL_BIDDERS, bundled_mechanism
from edgeworth.agents.designers.designer import Designer, play
from edgeworth.agents.designers.fixed import Fixed
from edgeworth.agents.designers.language_model import LanguageModel
from edgeworth.agents.designers.search import QUICK
from edgeworth.agents.questions import gpus_for
from edgeworth.config import AuctionConfig
from edgeworth.errors import FallbackUsed
from edgeworth.evaluation.yardstick import POLICY, SCHEDULE, TOLD_STAGE, makers
from edgeworth.executor.execution import Executor
from edgeworth.executor.tasks import Task, at_hand
from edgeworth.games.auction.batch import MarketBatch, Rows
from edgeworth.games.auction.population import recipe_names
from edgeworth.games.auction.vocabulary import COALITION_POLICIES
from edgeworth.progress import Progress, silent

ALLOW = COALITION_POLICIES.index("allow")
CONSTANT, ADAPTIVE, GREEDY = "best constant", "adaptive", "informed_greedy"
"""How the names of rows begin, or what they are."""
FOR_EIGHT = f", n = {USUAL_BIDDERS}"
"""The end of the name of a best constant that was found for another number of bidders."""
SLICE = 200
"""Episodes that a language model plays side by side."""


@dataclass(frozen=True)
class Cell:
    """A population and a number of bidders."""

    population: str
    n_agents: int = USUAL_BIDDERS

    @property
    def name(self) -> str:
        """What tables call it."""
        return f"{self.population}, n = {self.n_agents}"

    @property
    def config(self) -> AuctionConfig:
        """Its market."""
        return AuctionConfig(stage=self.population, n_agents=self.n_agents)


CELLS = (Cell("stages"), Cell("held_out"), Cell("stages", 4), Cell("stages", 16))


@dataclass(frozen=True)
class Played:
    """What a designer did in a cell, episode by episode."""

    scores: NDArray[np.float64]
    """The mean score of an episode."""
    allows: NDArray[np.float64]
    """The share of an episode's mechanisms that allow coalitions."""
    legal: NDArray[np.float64] | None = None
    """The share of a language model's replies that hold a legal mechanism."""
    reasons: Mapping[str, int] = field(default_factory=dict)
    """Why replies were not used, by reason."""
    notes: tuple[str, ...] = ()
    """What the designer had to assume."""


@dataclass(frozen=True)
class ModelOptions:
    """Options of a language model: those that a worker loads it with, and those of another designer that asks the same client."""

    loaded: Mapping[str, Any]
    asked: Mapping[str, Any] = field(default_factory=dict)

    def designer(self) -> LanguageModel:
        """The designer in this process; the cache of replies is left out on a machine that does not have its folder."""
        cache = self.loaded.get("cache")
        there = cache is not None and Path(cache).absolute().parent.is_dir()
        model = at_hand(LanguageModel, {**self.loaded, "cache": cache if there else None})
        return LanguageModel(model.client, **self.asked) if self.asked else model


@dataclass(frozen=True)
class Entrant:
    """A trained designer: the name of its row, how it is made, and on which cells it plays."""

    name: str
    make: Callable[[], Designer]
    episodes: int
    cells: tuple[Cell, ...]
    slow: bool = False
    """A language model, whose mechanisms count for the progress."""
    model: ModelOptions | None = None
    """How a worker makes the language model."""


@dataclass(frozen=True)
class CellScores:
    """All designers of a cell, by the names of their rows."""

    cell: Cell
    played: Mapping[str, Played]
    recipes: NDArray[np.int64]
    """The row of the population table that each market was drawn from."""

    @property
    def recipe_names(self) -> tuple[str, ...]:
        """What the rows of the population table are called."""
        return recipe_names(self.cell.population)

    def best(self, beginning: str, ending: str = "") -> str | None:
        """The best by its mean of the designers whose names begin and end so; without an ending, those for this number of bidders."""
        found = [name for name in self.played if name.startswith(beginning) and name.endswith(ending)]
        found = [name for name in found if ending or not name.endswith(FOR_EIGHT)]
        return max(found, key=lambda name: float(self.played[name].scores.mean()), default=None)


def references(cell: Cell) -> dict[str, Callable[[], Designer]]:
    """The designers that trained ones are compared with; in cells with another number of bidders also the constants for eight."""
    rows = {name: made for name, made in makers(cell.config, QUICK).items() if not isinstance(made, str) and name not in (SCHEDULE, POLICY)}
    if cell.population != "stages":
        del rows[TOLD_STAGE]  # elsewhere it would have to be searched for
    if cell.n_agents != USUAL_BIDDERS:
        for name in ("stages", "mixed"):
            row = f"{CONSTANT} for {'the stages' if name == 'stages' else name}{FOR_EIGHT}"
            rows[row] = lambda name=name: Fixed(bundled_mechanism(name))  # type: ignore[misc]
    return rows


def evaluate(
    entrants: Sequence[Entrant],
    cells: Sequence[Cell],
    episodes: int,
    seed: int,
    progress: Progress = silent,
    finished: Callable[[Cell, str, Played], None] = lambda cell, name, played: None,
) -> list[CellScores]:
    """Every reference and every entrant in every cell; `finished` is called after each entrant."""
    asked = _Asked(entrants, cells, progress)
    found = []
    for cell in cells:
        played = {name: play_cell(make(), cell, episodes, seed) for name, make in references(cell).items()}
        for entrant in entrants:
            if cell in entrant.cells:
                played[entrant.name] = play_cell(entrant.make(), cell, entrant.episodes, seed, asked.of(cell, entrant))
                finished(cell, entrant.name, played[entrant.name])
        found.append(CellScores(cell, played, market_recipes(cell, episodes, seed)))
    return found


def evaluate_apart(
    entrants: Sequence[Entrant],
    cells: Sequence[Cell],
    episodes: int,
    seed: int,
    run: Executor,
    progress: Progress = silent,
    finished: Callable[[Cell, str, Played], None] = lambda cell, name, played: None,
) -> list[CellScores]:
    """The same evaluation on workers: references one per task, language models `SLICE` episodes per task."""
    cheap = [Task(f"{cell.name}: {name}", play_reference, (cell, name, episodes, seed)) for cell in cells for name in references(cell)]
    values = run(cheap, progress)
    values.whole()
    slices = []
    for cell, entrant in itertools.product(cells, entrants):
        if cell in entrant.cells and entrant.model is not None:
            for first in range(0, entrant.episodes, SLICE):
                part = (entrant.model, cell, min(SLICE, entrant.episodes - first), seed + first)
                name, gpus = f"{cell.name}: {entrant.name}, {first}", gpus_for(entrant.model.loaded)
                slices.append(Task(name, play_slice, part, asks=True, gpus=gpus))
    asked = run(slices, progress) if slices else values
    asked.whole()
    found = []
    for cell in cells:
        played = {name: Played(**values.values[f"{cell.name}: {name}"]) for name in references(cell)}
        for entrant in entrants:
            if cell in entrant.cells:
                starts = range(0, entrant.episodes, SLICE)
                played[entrant.name] = (
                    play_cell(entrant.make(), cell, entrant.episodes, seed)
                    if entrant.model is None
                    else joined([Played(**asked.values[f"{cell.name}: {entrant.name}, {first}"]) for first in starts])
                )
                finished(cell, entrant.name, played[entrant.name])
        found.append(CellScores(cell, played, market_recipes(cell, episodes, seed)))
    return found


def play_reference(cell: Cell, name: str, episodes: int, seed: int) -> dict[str, Any]:
    """What a reference did in a cell, as a task returns it."""
    return dict(vars(play_cell(references(cell)[name](), cell, episodes, seed)))


def play_slice(model: ModelOptions, cell: Cell, episodes: int, seed: int) -> dict[str, Any]:
    """What a language model did in some episodes of a cell, as a task returns it."""
    return dict(vars(play_cell(model.designer(), cell, episodes, seed)))


class _Asked:
    """Counts the mechanisms that language models were asked for, over all cells."""

    def __init__(self, entrants: Sequence[Entrant], cells: Sequence[Cell], progress: Progress) -> None:
        slow = [(entrant.episodes, cell) for entrant in entrants if entrant.slow for cell in cells if cell in entrant.cells]
        self.total = sum(episodes * cell.config.episode_length for episodes, cell in slow)
        self.done, self.progress = 0, progress

    def of(self, cell: Cell, entrant: Entrant) -> Callable[[int], None]:
        """To be called with the number of mechanisms of every step."""

        def count(mechanisms: int) -> None:
            if entrant.slow:
                self.done += mechanisms
                self.progress(f"{entrant.name}, {cell.name}", self.done, self.total)

        return count


def play_cell(designer: Designer, cell: Cell, episodes: int, seed: int, count: Callable[[int], None] = lambda mechanisms: None) -> Played:
    """Let a designer play a cell; `count` is called at every step with the number of its mechanisms."""
    model = designer if isinstance(designer, LanguageModel) else None
    size = episodes if model is None else SLICE
    parts: list[Played] = []
    for first in range(0, episodes, size):
        parts.append(_play_slice(designer, model, cell.config, min(size, episodes - first), seed + first, count))
    return dataclasses.replace(joined(parts), notes=designer.assumed)


def joined(parts: Sequence[Played]) -> Played:
    """Several lots of episodes as one."""
    reasons = sum((Counter(part.reasons) for part in parts), Counter[str]())
    legal = [part.legal for part in parts if part.legal is not None]
    return Played(
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.allows for part in parts]),
        np.concatenate(legal) if legal else None,
        dict(sorted(reasons.items())),
        tuple(parts[-1].notes),
    )


def _play_slice(
    designer: Designer, model: LanguageModel | None, config: AuctionConfig, episodes: int, seed: int, count: Callable[[int], None]
) -> Played:
    allows, legal = np.zeros(episodes), np.zeros(episodes)
    reasons: Counter[str] = Counter()

    def stepped(_step: int, posted: Rows) -> None:
        allows[:] += posted["coalition_policy"] == ALLOW
        if model is not None:
            legal[:] += [verdict.fault is None for verdict in model.verdicts]
            reasons.update(verdict.reason for verdict in model.verdicts if verdict.reason is not None)
        count(episodes)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackUsed)  # rejections are counted
        scores = play(designer, config, episodes, seed, stepped).mean(axis=1)
    steps = config.episode_length
    return Played(scores, allows / steps, None if model is None else legal / steps, dict(reasons))


def market_recipes(cell: Cell, episodes: int, seed: int) -> NDArray[np.int64]:
    """The row of the population table that each market of a cell was drawn from."""
    batch = MarketBatch(cell.config, episodes)
    batch.seed(seed)
    batch.reset()
    drawn: NDArray[np.int64] = batch.markets["stage"].copy()
    return drawn
