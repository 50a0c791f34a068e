"""States of markets, reached by play: what the designer sees there, and the market itself, ready to be continued.

Markets are played in lots. A lot has one population, number of bidders, episode length and designer, dealt from the settings so that each
has its share of the lots; now and then another mechanism is posted than the designer's, so that states off its path are met too. Every
step of every market is a state. Its market record can be continued any number of times, each time with other draws, while nothing that
happened before changes.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from edgeworth import catalog
from edgeworth.agents.designers.adaptive import library_rows
from edgeworth.agents.designers.design_prompt import batch_variables, load_design_prompt
from edgeworth.agents.designers.designer import Designer, Game, fresh_markets, play_together
from edgeworth.config import AuctionConfig
from edgeworth.errors import InvalidOption
from edgeworth.games.auction.batch import MarketBatch, Rows
from edgeworth.games.auction.market_view import StepHistory
from edgeworth.progress import Progress, silent
from edgeworth.seeding import generator
from edgeworth.training.designer.settings import MarketSettings
from edgeworth.training.designer.variations import any_mechanisms

if TYPE_CHECKING:
    from edgeworth.training.designer.constrained import Student

TRAINING_SEEDS = 2**44
"""The first seed of a market to train on; seeds of evaluations are smaller."""
VALIDATION_SEEDS = 2**45
"""The first seed of a market to validate on."""
STUDENT = "student"
"""The player that is the model in training, as it is now."""
LOT, AT_ONCE = 16, 32
"""Markets of one lot, and lots that the model in training plays at once."""

Messages = list[dict[str, str]]


@dataclass(frozen=True)
class States:
    """States before a step, one entry each."""

    n_agents: NDArray[np.int64]
    episode_length: NDArray[np.int64]
    markets: Rows
    lines: NDArray[np.float64]
    """What each designer was shown (`market_view.StepHistory.lines`)."""
    prompts: NDArray[np.object_]
    """The prompt of each state, as chat messages."""
    posted: Rows
    """What the designer that played there posted."""

    def __len__(self) -> int:
        return len(self.markets)

    @classmethod
    def joined(cls, parts: Sequence[States]) -> States:
        """Several lots as one."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in dataclasses.fields(cls)))

    def chosen(self, numbers: NDArray[np.int64] | NDArray[np.bool_]) -> States:
        """Some of the states, in this order."""
        return States(*(getattr(self, field.name)[numbers] for field in dataclasses.fields(self)))

    def lots(self, by_step: bool = True) -> list[NDArray[np.int64]]:
        """The states by number, in lots that can be played side by side: as many bidders, an episode as long, the same step (or any)."""
        keys = np.stack([self.n_agents, self.episode_length, self.markets["step"] * by_step], axis=1)
        _, lot = np.unique(keys, axis=0, return_inverse=True)
        return [np.flatnonzero(lot == number) for number in range(lot.max() + 1)]

    def opened(self) -> tuple[MarketBatch, StepHistory]:
        """Copies of the markets of one lot, ready to be played on, and what their designers were shown."""
        batch = MarketBatch(AuctionConfig(n_agents=int(self.n_agents[0]), episode_length=int(self.episode_length[0])), len(self))
        batch.markets[:] = self.markets
        batch.seeded = batch.started = True
        history = StepHistory(batch)
        history.lines[:] = self.lines
        return batch, history


def named_designer(name: str) -> Designer:
    """A designer of the catalog that sees no more than the market shows."""
    designer: Designer = catalog.resolve("designer", name)()
    if designer.knows != "nothing":
        raise InvalidOption(f"The designer {name!r} is told the {designer.knows}; name one that only sees the market.")
    return designer


def play_states(
    settings: MarketSettings,
    count: int,
    seed: int,
    first_seed: int = TRAINING_SEEDS,
    progress: Progress = silent,
    student: Student | None = None,
) -> States:
    """Play markets until there are `count` states; their seeds begin at `first_seed`."""
    rng = generator(seed, first_seed)
    designers = {name: named_designer(name) for name in settings.players if name != STUDENT or student is None}
    parts, kinds = list[States](), enumerate(kinds_of_lots(settings, rng))
    while (reached := sum(len(part) for part in parts)) < count:
        progress("markets", reached, count)
        own: list[Game[States]] = []
        lots = min(AT_ONCE, -(-(count - reached) // (LOT * max(settings.episode_lengths))))
        for number, (config, player) in itertools.islice(kinds, lots):
            lot_seed, lot_rng = first_seed + seed * 2**24 + number * LOT, generator(seed, first_seed, number)
            if student is not None and player == STUDENT:
                own.append(lot_in_play(fresh_markets(config, LOT, lot_seed), settings, lot_rng))
            else:
                parts.append(play_lot(config, designers[player], settings, lot_seed, lot_rng))
        parts += play_together(own, student.design_all) if student is not None else []
    states = States.joined(parts)
    return states.chosen(rng.permutation(len(states))[:count])


def kinds_of_lots(settings: MarketSettings, rng: np.random.Generator) -> Iterator[tuple[AuctionConfig, str]]:
    """The kind of markets of each lot, and who plays it."""
    decks = (settings.populations, settings.n_agents, settings.episode_lengths, settings.players)
    for stage, n_agents, length, player in zip(*(dealt(deck, rng) for deck in decks), strict=True):
        yield AuctionConfig(stage=stage, n_agents=n_agents, episode_length=length), player


def dealt(deck: Sequence[Any], rng: np.random.Generator) -> Iterator[Any]:
    """The entries of a setting, shuffled anew each time that all have been dealt: a few draws may leave some of them out for long."""
    while True:
        yield from (deck[place] for place in rng.permutation(len(deck)))


def drawn_market(settings: MarketSettings, rng: np.random.Generator) -> AuctionConfig:
    """The kind of one market, drawn."""
    return AuctionConfig(
        stage=str(rng.choice(settings.populations)),
        n_agents=int(rng.choice(settings.n_agents)),
        episode_length=int(rng.choice(settings.episode_lengths)),
    )


def play_lot(
    config: AuctionConfig, designer: Designer, settings: MarketSettings, seed: int, rng: np.random.Generator, size: int = LOT
) -> States:
    """The states of some markets that are played to their end."""
    designer.begin(config, size, seed)
    (states,) = play_together([lot_in_play(fresh_markets(config, size, seed), settings, rng)], lambda views: [designer.design(views[0])])
    return states


def lot_in_play(batch: MarketBatch, settings: MarketSettings, rng: np.random.Generator) -> Game[States]:
    """Markets that are played to their end; their states are returned."""
    history, library, parts = StepHistory(batch), library_rows(), []
    for step in range(batch.config.episode_length):
        chosen = yield history.view()
        kept = rng.random(batch.size) < (1.0 if step else settings.opening_share * batch.config.episode_length)
        parts.append(_states_of(history, chosen).chosen(kept))
        wanders = rng.random(batch.size) < settings.wandering
        posted = np.where(wanders, any_mechanisms(rng, library, batch.size), chosen)
        batch.step(posted)
        history.add(posted)
    return States.joined(parts)


def _states_of(history: StepHistory, chosen: Rows) -> States:
    """The states of a lot at its present step."""
    batch, prompt = history.batch, load_design_prompt()
    prompts = np.empty(batch.size, object)
    for slot, values in enumerate(batch_variables(history.view())):
        prompts[slot] = [{"role": message.role, "content": message.content} for message in prompt.messages(values)]
    bidders, length = (np.full(batch.size, number) for number in (batch.config.n_agents, batch.config.episode_length))
    return States(bidders, length, batch.markets.copy(), history.lines.copy(), prompts, chosen.copy())
