"""Settings of a training run: what is learnt, with which algorithm, with which hints, and what is written down.

The defaults are the published ones. YAML files in `configs/` set them, flags change them, and typos get a suggestion. Both backends
give every setting the same meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic_core import to_jsonable_python

from edgeworth import catalog
from edgeworth.agents.policy_layout import Activation, Memory, Reading
from edgeworth.config import BargainingConfig, HintConfig, load_yaml
from edgeworth.errors import InvalidOption, UnknownName
from edgeworth.games.bargaining.hint_features import HINT_FEATURES
from edgeworth.seeding import checked_seed
from edgeworth.training.changes import merged
from edgeworth.validation import between, build, settings

Schedule = Literal["constant", "linear"]

GAME = "DealOrNoDialog-v0"
DEVICES = ("auto", "cpu", "cuda")
SECTIONS = ("hints", "ppo", "reinforce", "logging")

Positive = Annotated[float, Field(gt=0.0)]
Share = Annotated[float, between(0.0, 1.0)]
Count = Annotated[int, Field(gt=0)]


@settings
class LearnerSettings:
    """What both algorithms share."""

    learning_rate: Positive = 3e-4
    lr_schedule: Schedule = "constant"
    """`linear` falls to 0 at the last step."""
    gamma: Share = 0.99
    """Discount per move of the agent."""
    entropy: Annotated[float, Field(ge=0.0)] = 0.0
    """Weight of the entropy bonus."""
    entropy_schedule: Schedule = "constant"
    """`linear` falls to 0 at the last step, so that exploration comes first."""
    value: Annotated[float, Field(ge=0.0)] = 0.5
    """Weight of the value loss."""
    gradient_norm: Positive = 0.5
    """Largest norm of a gradient; longer ones are scaled down."""
    num_envs: Count = 64
    """Episodes played side by side."""
    rollout: Count = 128
    """Moves of each between two updates."""
    minibatch: Count = 64
    """Samples of one gradient."""
    normalize_advantages: bool = True
    """Per minibatch, to mean 0 and deviation 1."""
    reward_scale: Positive | None = None
    """Factor on rewards for the learner; by default one over the mean worth of the whole pool in this game, a constant, so that the
    learner's aim stays the mean reward in points."""
    hidden: Count = 64
    layers: Count = 2
    reading: Reading = "ordered"
    """How the network reads a situation: `plain`, `ordered` (the most wanted item type first) or `fine` (numbers spread over knots too)."""
    memory: Memory = "none"
    """What it remembers: `none`, the partner's last offer only, or `history`, every offer of both sides."""
    shortcut: bool = False
    """Whether the heads also read the inputs, past the layers."""
    activation: Activation = "tanh"
    """What a layer makes of its sums: `tanh`, or `relu`, which learns faster in wide networks."""

    def __post_init__(self) -> None:
        if self.minibatch > self.num_envs * self.rollout:
            raise InvalidOption(
                f"minibatch is {self.minibatch}, more than the {self.num_envs} × {self.rollout} samples of an iteration; make it smaller."
            )


@settings
class PPOSettings(LearnerSettings):
    """Proximal policy optimisation (Schulman et al. 2017)."""

    gae_lambda: Share = 0.95
    clip: Positive = 0.2
    """How far the probability of a move may change before its gradient stops."""
    epochs: Count = 4
    """Passes over the samples of an iteration."""
    clip_value: Positive | None = None
    """Clip the change of values too; off by default."""
    target_kl: Positive | None = None
    """Stop the passes of an iteration once the policy has moved this far; off by default."""


@settings
class ReinforceSettings(LearnerSettings):
    """REINFORCE (Williams 1992): every sample once, its return less a baseline."""

    entropy: Annotated[float, Field(ge=0.0)] = 0.01
    baseline: Literal["learned", "running", "none"] = "learned"
    """The value head, a running mean of returns by the number of moves made, or nothing."""


@settings
class HintSettings:
    """Which hints the agent gets while it learns."""

    mode: str = "none"
    """none, random, expert, bayes or llm."""
    k: int = 1
    """A hint when an episode begins, and after every k-th move."""
    hold_last: bool = False
    age: bool = False
    dropout: Share = 0.0
    """The share of episodes without hints, so that the agent also learns to do without."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the provider: client, model, prompt, cache, …"""

    def __post_init__(self) -> None:
        if self.mode not in catalog.HINTS:
            raise UnknownName("hint provider", self.mode, catalog.HINTS)
        _ = self.cadence

    @property
    def given(self) -> bool:
        """Whether there are hints at all."""
        return self.mode != "none"

    @property
    def width(self) -> int:
        """How many features the hints have."""
        return HINT_FEATURES + self.age if self.given else 0

    @property
    def cadence(self) -> HintConfig:
        """When hints are asked for and what is shown of them."""
        return HintConfig(self.k, self.hold_last, self.age, self.dropout)


@settings
class LogSettings:
    """What is written down, and how often."""

    output_dir: str = "runs"
    csv: bool = True
    tensorboard: bool = True
    log_every: Count = 1
    """Iterations between two lines."""
    save_every: Count = 20
    """Iterations between two checkpoints."""


@settings
class SelfPlaySettings:
    """The opponents of the learner in self-play."""

    past_selves: Annotated[int, Field(ge=0)] = 16
    """Most past selves in the pool; 0 with `latest: 1` is naive self-play, against the present self alone."""
    latest: Share = 0.5
    """The share of episodes against the present self, in which both sides learn; in the rest a member of the pool, each as likely."""
    snapshot_every: Count = 500_000
    """Moves of the learner between two past selves."""
    members: tuple[str, ...] = ()
    """Checkpoints, or folders of them, that are in the pool throughout."""
    likeliest: bool = False
    """Members of the pool make their likeliest moves; otherwise they draw them."""

    def __post_init__(self) -> None:
        if self.latest < 1.0 and not self.past_selves and not self.members:
            raise InvalidOption(
                f"The pool is empty: latest is {self.latest:g}, so that {1.0 - self.latest:.0%} of the episodes need a member of the pool,"
                " and past_selves is 0 and no members are named. Set past_selves or members, or latest to 1 for naive self-play."
            )


@settings
class RehearsalSettings:
    """How a network learns from what every offer would have been worth, in place of rewards (`training/fused/rehearsal.py`)."""

    negotiations: Count = 6_000_000
    own_offers: Share = 0.5
    """In which share of them the agent makes the network's own offers; in the others it asks for everything."""
    passes: Count = 1
    """Passes over the situations of each negotiation; fresh negotiations teach more than a second pass."""
    learning_rate: Positive = 0.002
    """Falls to 0 at the last negotiation, as does the entropy bonus."""
    entropy: Annotated[float, Field(ge=0.0)] = 0.01
    minibatch: Count = 128
    acceptance: Positive = 0.02
    """Weight of learning which offers are accepted; with much more of it, the network learns too little about waiting."""
    waiting: Positive = 0.1
    """Weight of learning what waiting brings."""


@settings
class TrainSettings:
    """A whole run."""

    algo: Literal["ppo", "reinforce"] = "ppo"
    backend: Literal["fused", "torch"] = "fused"
    device: str = "auto"
    """For the torch backend: auto, cpu or cuda."""
    num_train_steps: Annotated[int, Field(ge=0)] = 2_000_000
    """Moves of the agent, over all episodes; 0 with a rehearsal, which is then all of the training."""
    seed: int = 0
    env: Mapping[str, Any] = field(default_factory=dict)
    """`id`, `scenario`, and every option of the game."""
    hints: HintSettings = field(default_factory=HintSettings)
    ppo: PPOSettings = field(default_factory=PPOSettings)
    reinforce: ReinforceSettings = field(default_factory=ReinforceSettings)
    logging: LogSettings = field(default_factory=LogSettings)
    curriculum: tuple[Mapping[str, Any], ...] = ()
    """Stages, each with the step it begins at (`from`) and what it changes; off by default."""
    self_play: SelfPlaySettings | None = None
    """Against itself and a pool of past selves, instead of the game's partner; off by default."""
    rehearsal: RehearsalSettings | None = None
    """Learn from what every offer would have been worth, instead of from rewards; off by default."""

    def __post_init__(self) -> None:
        if self.self_play is not None:
            self._check_self_play()
        if self.rehearsal is not None and (self.self_play is not None or self.hints.given or self.curriculum):
            raise InvalidOption(
                "A rehearsal is for runs without hints and without self-play, and all of it is in one game, so without a curriculum;"
                " leave out one section or the other."
            )
        if (self.num_train_steps == 0) != (self.rehearsal is not None):
            expected = "more than 0" if self.rehearsal is None else "0, since a rehearsal is all of the training"
            raise InvalidOption(f"num_train_steps is {self.num_train_steps}; expected {expected}.")
        checked_seed(self.seed)
        if self.device.partition(":")[0] not in DEVICES:
            raise UnknownName("device", self.device, DEVICES)
        _ = self.game

    def _check_self_play(self) -> None:
        if (self.algo, self.backend, self.hints.mode) != ("ppo", "fused", "none") or self.curriculum or self.ppo.rollout < 2:
            raise InvalidOption(
                f"Self-play needs algo ppo, backend fused, no hints, no curriculum and a rollout of 2 moves at least; these settings have"
                f" {self.algo}, {self.backend}, hints {self.hints.mode}, {len(self.curriculum)} stages, rollout {self.ppo.rollout}."
                " Change them, or leave the section self_play out."
            )
        if "partner" in self.env:
            raise InvalidOption(
                f"partner is {self.env['partner']!r}, and in self-play the opponents are the learner and its pool; name a checkpoint in"
                " self_play.members instead, or leave the partner out."
            )

    @property
    def game(self) -> BargainingConfig:
        """The options of the game."""
        return game_of(self.env)

    @property
    def learner(self) -> PPOSettings | ReinforceSettings:
        """The settings of the algorithm that runs."""
        return self.ppo if self.algo == "ppo" else self.reinforce


# From files and flags


def game_of(env: Mapping[str, Any]) -> BargainingConfig:
    """The options of the game that an `env` section means."""
    options = dict(env)
    name = options.pop("id", GAME)
    if name != GAME:
        raise UnknownName("environment for a negotiator", name, [GAME])
    return BargainingConfig.from_options(options.pop("scenario", None), **options)


def load_settings(path: Path | None = None, changes: Mapping[str, Any] | None = None) -> TrainSettings:
    """The settings of a file, changed by the ones given; without a file, the defaults."""
    return settings_of(merged({} if path is None else load_yaml(path), changes or {}))


def settings_of(given: Mapping[str, Any]) -> TrainSettings:
    """Settings from nested mappings; a section that is left empty has its defaults."""
    given = {name: {} if value is None and name in SECTIONS else value for name, value in merged({}, given).items()}
    if isinstance(pool := given.get("self_play"), Mapping):
        given["self_play"] = {**pool, "members": pool.get("members") or ()}
    checked: TrainSettings = build(TrainSettings, given, "training")
    return checked


def as_mapping(settings: TrainSettings) -> dict[str, Any]:
    """The settings as nested mappings, for JSON and YAML, that `settings_of` turns into the same settings again."""
    return {name: value for name, value in plain(asdict(settings)).items() if value is not None}


def plain(value: Any) -> Any:
    """A value made of what JSON and YAML know: tuples become lists; paths, clients and the like become words."""
    return to_jsonable_python(value, fallback=str)
