"""Bundled networks: the experts that PPO trained, one per scenario, the generalist, the clone of people, and the agent of self-play.

In a game that an expert was trained in, that expert plays; in another game, the one whose training game differs in the fewest options. The
generalist is the expert for the partners of its population: it remembers the negotiation and adapts to what it hears. A network reads pools
on the scale of the largest count it was trained for, so a game with another largest count is refused. `edgeworth study experts` trains the
experts, `edgeworth study memory` the generalist. Beside each network is a card with its command, seeds and scores.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.negotiators.learned import Learned
from edgeworth.agents.negotiators.negotiator import Moves
from edgeworth.errors import DataError, InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.partners.population import Population
from edgeworth.runlog import SUFFIX

CHECKPOINTS = Path(__file__).resolve().parents[2] / "checkpoints"
FOLDER = CHECKPOINTS / "experts"
REMEDY = "train one with `edgeworth train --config configs/ppo_expert.yaml` and this game's options, and give its folder as the checkpoint"
PARTNER_OPTIONS = ("partner", "partner_options")
GENERALIST = "generalist"
TRAINED_BY = {
    "human_clone": "edgeworth clone --data FOLDER --bundle {}",
    "self_play": "edgeworth self-play --bundle {}",
}
"""By the name of a bundled network: the command that trains it and puts it there."""


def bundled_checkpoint(name: str, folder: Path = CHECKPOINTS) -> Path:
    """The checkpoint of a bundled network; the error for a missing one names the command that trains it."""
    path = folder / name
    if not path.with_name(name + SUFFIX).is_file():
        raise DataError(path, f"the network {name!r} is not bundled here; `{TRAINED_BY[name].format(path)}` trains it and puts it there.")
    return path


def human_clone(sampled: bool = True, hint: str | None = None) -> Learned:
    """A network trained to imitate people; its moves are drawn at random from what it learnt."""
    return Learned(bundled_checkpoint("human_clone"), sampled, hint)


def self_play(sampled: bool = False, hint: str | None = None) -> Learned:
    """A network trained against itself and its earlier versions."""
    return Learned(bundled_checkpoint("self_play"), sampled, hint)


def generalist(sampled: bool = False, hint: str | None = None) -> Learned:
    """A network trained against a population of partners, which remembers every offer."""
    return Learned(FOLDER / GENERALIST, sampled, hint)


@cache
def experts(folder: Path = FOLDER) -> dict[str, Mapping[str, Any]]:
    """The facts of every expert, by the name of the scenario it was trained in."""
    return {path.stem: json.loads(path.with_suffix(".json").read_text(encoding="utf-8")) for path in sorted(folder.glob(f"*{SUFFIX}"))}


def expert_for(batch: BargainingBatch, folder: Path = FOLDER) -> str:
    """The name of the expert for a game."""
    known = experts(folder)
    if not known:
        raise InvalidOption(f"There is no expert in {folder}; `edgeworth study experts --bundle {folder}` trains them.")
    able = [name for name, facts in known.items() if facts["shape"]["units"] == batch.max_count]
    if not able:
        counts = " or ".join(map(str, sorted({facts["shape"]["units"] for facts in known.values()})))
        raise InvalidOption(f"No bundled expert knows pools with up to {batch.max_count} units of a type, only {counts}; {REMEDY}.")
    game = json.loads(json.dumps(asdict(batch.config)))
    return min(able, key=lambda name: _distance(known[name]["env"], game))


def _distance(trained: Mapping[str, Any], game: Mapping[str, Any]) -> tuple[int, bool, bool]:
    """How far a game is from the one that a network was trained in: in how many options, then by whether it met this partner, and others.

    A partner that is a member of the population that it was trained with is not another partner.
    """
    met, present = partners_in(trained), partners_in(game)
    options = [name for name in game if name not in PARTNER_OPTIONS]
    differing = sum(trained.get(name) != game[name] for name in options)
    stranger = not present <= met
    return differing + stranger, stranger, met != present


def partners_in(game: Mapping[str, Any]) -> set[str]:
    """The partners of a game: one, or the members of a population, each with its options."""
    partner, options = str(game.get("partner")), game.get("partner_options", {})
    if partner != "population":
        return {_labelled(partner, options)}
    entries = Population(**options).drawn()
    return {_labelled(name, entry if isinstance(entry, Mapping) else {}) for name, entry in entries.items()}


def _labelled(name: str, options: Mapping[str, Any]) -> str:
    """A partner with its options, as one word."""
    return json.dumps([options.get("partner", name), {key: options[key] for key in sorted({*options} - {"partner", "weight"})}])


@dataclass(frozen=True)
class Bundled:
    """The network trained for this game, or for the one most like it."""

    sampled: bool = False
    """Draw moves with the network's probabilities; otherwise make the likeliest."""
    hint: str | None = None
    """A hint provider for networks that were trained with hints."""
    folder: Path = FOLDER
    knows_partner: ClassVar[bool] = False
    _loaded: dict[str, Learned] = field(default_factory=dict, init=False, compare=False, repr=False)
    _games: dict[str, str] = field(default_factory=dict, init=False, compare=False, repr=False)

    @property
    def names(self) -> list[str]:
        """The experts that have been used."""
        return sorted(self._loaded)

    def expert(self, batch: BargainingBatch) -> Learned:
        """The expert for a game, read once."""
        game = repr((batch.config, batch.max_count))
        if game not in self._games:
            self._games[game] = expert_for(batch, self.folder)
        name = self._games[game]
        if name not in self._loaded:
            self._loaded[name] = Learned(self.folder / name, self.sampled, self.hint)
        return self._loaded[name]

    def check(self, batch: BargainingBatch) -> None:
        """Refuse a game that no expert can play."""
        self.expert(batch).check(batch)

    def choose(self, batch: BargainingBatch) -> Moves:
        return self.expert(batch).choose(batch)

    def advise(self, batch: BargainingBatch) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """A move for every episode, as acts and shares, and how likely the network is to make it."""
        return self.expert(batch).advise(batch)
