"""Settings of the two trainings of a language model designer, SFT and GRPO, and the YAML files that set them.

A file says which trainer it is for (`trainer: sft` or `trainer: grpo`), so that a file for the one is refused by the other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from edgeworth.config import AuctionConfig, load_yaml
from edgeworth.errors import InvalidOption, UnknownName
from edgeworth.games.auction.population import population_names
from edgeworth.training.changes import merged
from edgeworth.training.settings import Count, Share, plain
from edgeworth.validation import between, build, settings

Trainer = Literal["sft", "grpo"]
HELD_OUT = "held_out"
TEACHERS = ("policy", "searched", "legal")
REWARDS = ("format", "welfare", "fairness", "composite")


@settings
class TuningSettings:
    """Which weights are trained, and in which precision."""

    method: Literal["lora", "full"] = "lora"
    """`lora` trains low-rank adapters on all attention and MLP layers (Hu et al. 2021), `full` every weight."""
    rank: Count = 16
    alpha: Count = 32
    dropout: Share = 0.0
    four_bit: bool = False
    """Load the base model in 4-bit NF4 through bitsandbytes; needs a GPU, and `method: lora`."""
    gradient_checkpointing: bool = False
    """Recompute activations in the backward pass: less memory, more time."""

    def __post_init__(self) -> None:
        if self.four_bit and self.method == "full":
            raise InvalidOption("four_bit is true with method: full; 4-bit weights cannot be trained. Use method: lora.")


def check_populations(names: tuple[str, ...]) -> None:
    """Refuse populations that do not exist, and those that are held out."""
    for name in names:
        if name.startswith(HELD_OUT):
            raise InvalidOption(f"populations has {name!r}; held-out populations are for evaluation, never for training.")
        if name not in population_names():
            raise UnknownName("population", name, [name for name in population_names() if not name.startswith(HELD_OUT)])


@settings
class MarketSettings:
    """Which markets are played to reach the states that a model is trained on."""

    populations: tuple[str, ...] = ("stages", "stages", "dirichlet", "mixed")
    """Lots of markets are dealt these in turn, shuffled; a name may be repeated."""
    n_agents: tuple[int, ...] = (8, 8, 8, 8, 3, 4, 5, 6, 10, 12, 16)
    episode_lengths: tuple[int, ...] = (10, 10, 10, 5, 20)
    players: tuple[str, ...] = ("policy",)
    """Designers that play, one for each lot: names of the catalog, or `student`, the model as it is before the training."""
    wandering: Share = 0.2
    """Share of the steps at which another mechanism is posted: a bundled one, a neighbour of one, or a random one."""
    opening_share: Share = 0.05
    """Share of the states before the first step, in which nothing has been seen yet."""

    def __post_init__(self) -> None:
        check_populations(self.populations)
        if not (self.populations and self.n_agents and self.episode_lengths and self.players):
            raise InvalidOption("populations, n_agents, episode_lengths and players need at least one entry each.")
        for n_agents in self.n_agents:
            for length in self.episode_lengths:
                AuctionConfig(n_agents=n_agents, episode_length=length)


@settings
class Optimization:
    """Batches, steps and the learning rate."""

    steps: Count = 300
    learning_rate: Annotated[float, Field(gt=0)] = 2e-4
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    warmup: Share = 0.05
    """Share of the steps in which the learning rate rises."""
    weight_decay: Annotated[float, between(0.0, 1.0)] = 0.0
    gradient_norm: Annotated[float, Field(gt=0)] = 1.0
    batch: Count = 8
    """Rows of one forward and backward pass on one device."""
    accumulation: Count = 1
    """Passes before a step of the optimiser."""
    log_every: Count = 10
    save_every: Count = 100


@settings
class ValidationSettings:
    """Greedy play on validation markets while a model is trained; what is kept at the end is the model that played best."""

    every: Count = 50
    """Steps between two validations."""
    episodes: Annotated[int, Field(ge=0)] = 100
    """Markets of each population; 0 does without validation, and keeps the last model."""
    populations: tuple[str, ...] = ("stages", "mixed", "dirichlet")

    def __post_init__(self) -> None:
        check_populations(self.populations)


@settings
class StageSettings:
    """What both trainings have."""

    model: str = "pocket"
    """`pocket` (bundled), a folder, a run's folder, or a name on the hub."""
    revision: str | None = None
    tuning: TuningSettings = field(default_factory=TuningSettings)
    markets: MarketSettings = field(default_factory=MarketSettings)
    optimization: Optimization = field(default_factory=Optimization)
    states: Count = 4_800
    """Market states to train on, each with its prompt."""
    validation: ValidationSettings = field(default_factory=ValidationSettings)
    seed: int = 0


@settings
class SFTSettings(StageSettings):
    """Supervised fine-tuning on (prompt, mechanism) pairs."""

    targets: Mapping[str, float] = field(default_factory=lambda: {"policy": 1.0})
    """Teachers and their shares: `policy`, `searched` or `legal`."""
    bare: Share = 0.0
    """Share of the pairs without the system message: a model that knows the task learns the numbers sooner from short prompts."""
    validation_states: Count = 256
    """Pairs of other markets, for the validation loss."""

    def __post_init__(self) -> None:
        for name, share in self.targets.items():
            if name not in TEACHERS:
                raise UnknownName("teacher", name, TEACHERS)
            if not isinstance(share, int | float) or isinstance(share, bool) or share < 0:
                raise InvalidOption(f"targets: the share of {name} is {share!r}; expected 0 or more.")
        if sum(self.targets.values()) <= 0:
            raise InvalidOption("targets: the shares add up to 0; expected at least one teacher with a share above 0.")


@settings
class RewardSettings:
    """What a mechanism is paid for."""

    draws: Count = 16
    """Continuations that a mechanism's score is averaged over; all mechanisms of a group meet the same ones."""
    horizon: Count = 3
    """Steps that count: the mechanism's own, and those after it, in which `continued_by` posts."""
    discount: Share = 0.6
    """Weight of each later step, relative to the one before."""
    continued_by: str = "policy"
    """The designer that posts after the mechanism's own step: one that needs nothing but what a designer sees."""
    weights: Mapping[str, float] = field(default_factory=lambda: {"format": 0.2, "welfare": 0.0, "fairness": 0.0, "composite": 1.0})
    """Weights of the four reward functions."""

    def __post_init__(self) -> None:
        for name, weight in self.weights.items():
            if name not in REWARDS:
                raise UnknownName("reward function", name, REWARDS)
            if not isinstance(weight, int | float) or isinstance(weight, bool):
                raise InvalidOption(f"weights: {name} is {weight!r}; expected a number.")


@settings
class GRPOSettings(StageSettings):
    """Group relative policy optimisation (Shao et al. 2024) on the market's own scores."""

    optimization: Optimization = field(default_factory=lambda: Optimization(steps=50, learning_rate=5e-6))
    reward: RewardSettings = field(default_factory=RewardSettings)
    generations: Annotated[int, Field(ge=2)] = 8
    """Completions of each prompt: a group."""
    constrained: bool = True
    """Decode under the schema, with the log-probabilities of the constrained choice; otherwise free, with the format reward."""
    temperature: Annotated[float, Field(gt=0)] = 1.0
    max_tokens: Count = 256
    beta: Annotated[float, Field(ge=0)] = 0.0
    """Weight of the KL divergence from the model before the training."""
    scale: Literal["group", "batch", "none"] = "group"
    """What a reward's distance from the mean of its group is divided by: the group's standard deviation, that of all rewards, nothing."""
    iterations: Count = 1
    """Updates on the same completions."""
    replacements: Annotated[int, Field(ge=0)] = 1
    """Rounds in which groups whose rewards are all equal are replaced by groups of other states (constrained mode)."""
    vllm: bool = False
    """Generate through vLLM, where it is installed (free mode)."""

    def __post_init__(self) -> None:
        rows = self.optimization.batch * self.optimization.accumulation
        if rows % self.generations:
            raise InvalidOption(
                f"A step has {rows} completions on each device (batch x accumulation), and a group has {self.generations};"
                " expected a whole number of groups."
            )
        if self.vllm and self.constrained:
            raise InvalidOption("vllm is true with constrained: true; constrained completions are decoded here. Use one of the two.")


COMMON: dict[str, type[Any]] = {
    "tuning": TuningSettings,
    "markets": MarketSettings,
    "optimization": Optimization,
    "validation": ValidationSettings,
}
KINDS: dict[str, tuple[type[Any], dict[str, type[Any]]]] = {
    "sft": (SFTSettings, COMMON),
    "grpo": (GRPOSettings, {**COMMON, "reward": RewardSettings}),
}


def load_settings(path: Path, trainer: Trainer, changes: Mapping[str, Any] | None = None) -> Any:
    """Settings of a trainer from a YAML file, changed by the ones given."""
    return settings_of(merged(load_yaml(path), changes or {}), trainer, str(path))


def settings_of(given: Mapping[str, Any], trainer: Trainer, source: str = "the settings") -> Any:
    """Settings of a trainer from a mapping."""
    named = given.get("trainer")
    if named != trainer:
        found = "names no trainer" if named is None else f"is for the trainer {named!r}"
        raise InvalidOption(f"{source} {found}; expected `trainer: {trainer}`.")
    kind, parts = KINDS[trainer]
    values = {key: value for key, value in given.items() if key != "trainer"}
    built = {key: build(part, values[key], f"{trainer}.{key}") for key, part in parts.items() if key in values}
    return build(kind, {**values, **built}, trainer)


def as_mapping(trainer: Trainer, chosen: StageSettings) -> dict[str, Any]:
    """Settings as they are written into a run's folder."""
    return {"trainer": trainer, **plain(dataclasses.asdict(chosen))}
