"""A training run of a policy designer: settings, learner, folder, and the choice of the best network.

The loop is `run_loop.py`. At every regular checkpoint the likeliest choices of the network play markets that it does not practise on, from
the range of seeds for training; `best` holds the network with the best score there, weighted as the populations are in training.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from edgeworth.agents.designers.designer import play
from edgeworth.agents.designers.policy import GAME, DesignerPlayer, Policy
from edgeworth.agents.designers.policy_layout import DesignerShape
from edgeworth.config import AuctionConfig, load_yaml
from edgeworth.runlog import BEST, LAST, STEP, Line, RunLog, last_checkpoint, refuse_existing, write_config
from edgeworth.training.changes import merged
from edgeworth.training.learner import Learner, torch_device
from edgeworth.training.market_practice import VALIDATION_SEED, MarketMix
from edgeworth.training.practice import Metrics
from edgeworth.training.run_loop import RunLoop, Spent, learner_state
from edgeworth.training.settings import Count, LogSettings, PPOSettings, plain
from edgeworth.validation import between, build, settings

SECTIONS = ("markets", "network", "ppo", "logging")


@settings
class NetworkSettings:
    """How finely the network chooses numbers; its trunk is in the settings of PPO."""

    reserve_levels: Annotated[int, between(2, 1_000)] = 46
    """Levels of the reserve price, from 0 to 0.9."""
    penalty_levels: Annotated[int, between(2, 1_000)] = 31
    """Levels of each of the three penalties, from 0 to 3."""
    cosines: Annotated[int, between(1, 1_000)] = 8
    """Cosines in the logits of a number."""
    without_allow: bool = False
    """Leave `allow` out of the coalition policies that it chooses from."""


@settings
class DesignerSettings:
    """A whole run."""

    num_train_steps: Count = 2_000_000
    """Steps of the designer, over all markets."""
    seed: Annotated[int, between(0, 2**20)] = 0
    markets: MarketMix = field(default_factory=MarketMix)
    network: NetworkSettings = field(default_factory=NetworkSettings)
    ppo: PPOSettings = field(default_factory=PPOSettings)
    validation: Count = 1_000
    """Markets of each population that the best network is chosen on."""
    logging: LogSettings = field(default_factory=LogSettings)

    @property
    def shape(self) -> DesignerShape:
        """The network."""
        return DesignerShape(self.ppo.hidden, self.ppo.layers, **asdict(self.network))


def load_settings(path: Path, changes: Mapping[str, Any] | None = None) -> DesignerSettings:
    """The settings of a file, changed by the ones given."""
    return settings_of(merged(load_yaml(path), changes or {}))


def settings_of(given: Mapping[str, Any]) -> DesignerSettings:
    """Settings from nested mappings; a section that is left empty has its defaults."""
    given = {name: {} if value is None and name in SECTIONS else value for name, value in given.items()}
    if isinstance(markets := given.get("markets"), Mapping) and isinstance(lengths := markets.get("lengths"), list):
        given["markets"] = {**markets, "lengths": tuple(lengths)}
    checked: DesignerSettings = build(DesignerSettings, given, "the policy designer")
    return checked


def as_mapping(settings: DesignerSettings) -> dict[str, Any]:
    """The settings as nested mappings, for JSON and YAML, that `settings_of` turns into the same settings again."""
    found: dict[str, Any] = plain(asdict(settings))
    return found


class MarketRun(RunLoop):
    """One run, begun or continued: see `begin` and `resume`."""

    settings: DesignerSettings
    shape: DesignerShape

    @classmethod
    def begin(cls, settings: DesignerSettings, folder: Path, command: str) -> MarketRun:
        """A new run in a new folder."""
        refuse_existing(folder)
        learner = make_learner(settings)
        log = RunLog.begin(folder, as_mapping(settings), command, settings.logging.csv, settings.logging.tensorboard)
        run = cls(settings, settings.shape, learner, Spent(), log)
        run.save(LAST)
        return run

    @classmethod
    def resume(cls, settings: DesignerSettings, folder: Path) -> MarketRun:
        """A run taken up where its last checkpoint left it; one that goes on further than it was to go remembers how far."""
        checkpoint = last_checkpoint(folder)
        learner = make_learner(settings)
        learner.load_state(learner_state(checkpoint, settings.shape))
        log = RunLog.reopen(folder, learner.steps, settings.logging.csv, settings.logging.tensorboard)
        run = cls(settings, settings.shape, learner, Spent(**checkpoint.facts["progress"]), log)
        if not run.over:
            write_config(folder, as_mapping(settings))
        return run

    def line(self, metrics: Metrics, times: Mapping[str, float]) -> Line:
        """The line of an iteration, with the scores of the validation where a checkpoint is due."""
        line = super().line(metrics, times)
        if self.learner.iteration % self.settings.logging.save_every == 0 or self.over:
            line |= self.validation()
        return line

    def validation(self) -> dict[str, float]:
        """What the likeliest choices score on every population in training and, weighted, on all; a new best network is kept."""
        weights = self.settings.markets.populations
        designer = Policy(player=DesignerPlayer(self.learner.parameters, self.shape))
        scores = {
            name: float(play(designer, AuctionConfig(stage=name), self.settings.validation, VALIDATION_SEED).mean()) for name in weights
        }
        score = float(np.average(list(scores.values()), weights=list(weights.values())))
        if self.progress.best is None or score > self.progress.best:
            self.progress.best = score
            self.save(BEST, whole=False)
        return {"validation": score, **{f"validation_{name}": value for name, value in scores.items()}}

    def facts(self) -> dict[str, Any]:
        """What a checkpoint says of itself."""
        return {
            "game": GAME,
            "algo": "ppo",
            STEP: self.learner.steps,
            "iteration": self.learner.iteration,
            "shape": asdict(self.shape),
            "progress": asdict(self.progress),
            "settings": as_mapping(self.settings),
        }


def make_learner(settings: DesignerSettings) -> Learner:
    """The learner that the settings describe."""
    torch_device("cpu")
    from edgeworth.training.market_learner import MarketPPO

    return MarketPPO(settings.markets, settings.ppo, settings.shape, settings.seed, settings.num_train_steps)
