"""A curriculum: the same learner in one game after another, by the number of moves it has made.

A stage says when it begins (`from`, in moves of the agent) and what differs from the run's own settings: any option of the game under `env`
(scenario, max_turns, contexts, partner mix) and any of the hints under `hints` (mode, cadence). Stages do not build on each other. Before
the first one, the run's own settings hold. A stage takes effect between two iterations: the episodes under way are left, new ones begin
under the new rules, and the network and its optimizer go on as they are.

One network serves all stages. Where any stage has hints, it has inputs for them throughout, all zero while there are none. The pool's
largest count sets the scale of the inputs and the size of the heads, so stages that differ in it are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from edgeworth.agents.policy_layout import PolicyShape
from edgeworth.config import BargainingConfig
from edgeworth.envs.hint_injector import provider_of
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.seeding import generator
from edgeworth.training.changes import merged_env, merged_hints
from edgeworth.training.learner import NO_HINTS, NegotiationLearner, shape_of, torch_device
from edgeworth.training.settings import HintSettings, PPOSettings, TrainSettings, game_of
from edgeworth.validation import build

STAGE_SEEDS = 7
"""Address of the seeds of later stages."""


@dataclass(frozen=True)
class StageEntry:
    """A stage as it stands in YAML."""

    begins: int
    env: Mapping[str, Any]
    hints: Mapping[str, Any]


@dataclass(frozen=True)
class Stage:
    """What is played from a number of moves on."""

    begins: int
    game: BargainingConfig
    hints: HintSettings


def stages_of(settings: TrainSettings) -> tuple[Stage, ...]:
    """The stages of a run in order; without a curriculum, one."""
    stages = [Stage(0, settings.game, settings.hints)]
    for number, entry in enumerate(settings.curriculum):
        stage = _stage(entry, settings, f"stage {number + 1} of the curriculum")
        if number == 0 and stage.begins == 0:
            stages = [stage]
        elif stage.begins <= stages[-1].begins:
            raise InvalidOption(
                f"Stage {number + 1} of the curriculum is from {stage.begins}; expected more than {stages[-1].begins}, as the one before."
            )
        else:
            stages.append(stage)
    return tuple(stages)


def _stage(entry: Mapping[str, Any], settings: TrainSettings, what: str) -> Stage:
    given = {"begins" if key == "from" else key: value for key, value in entry.items()}
    if "begins" not in given:
        raise InvalidOption(f"{what.capitalize()} does not say when it begins; give it `from:` and a number of moves.")
    read: StageEntry = build(StageEntry, {"env": {}, "hints": {}, **given}, what)
    if read.begins < 0:
        raise InvalidOption(f"{what.capitalize()} is from {read.begins}; expected 0 or more.")
    hints = build(HintSettings, merged_hints(asdict(settings.hints), read.hints), f"hints in {what}")
    return Stage(read.begins, game_of(merged_env(settings.env, read.env)), hints)


def stage_at(stages: tuple[Stage, ...], step: int) -> int:
    """The number of the stage that holds after so many moves."""
    return max(number for number, stage in enumerate(stages) if stage.begins <= step)


def check_later_stages(stages: tuple[Stage, ...]) -> None:
    """Refuse now what would otherwise be refused in the middle of the run: hints that a stage's game does not allow."""
    for stage in stages[1:]:
        if stage.hints.given:
            provider_of(stage.hints.mode, stage.hints.options).check(BargainingBatch(stage.game, 1))


def shape_for(settings: TrainSettings, stages: tuple[Stage, ...]) -> PolicyShape:
    """The network that serves every stage."""
    units = [BargainingBatch(stage.game, 1).max_count for stage in stages]
    for stage, most in zip(stages, units, strict=True):
        if most != units[0]:
            raise InvalidOption(
                f"The stage from {stage.begins} has up to {most} units of a type and the first one up to {units[0]};"
                " one network reads and writes one number of units, so give all stages the same max_count."
            )
    ages = {stage.hints.age for stage in stages if stage.hints.given}
    if len(ages) > 1:
        raise InvalidOption("Some stages with hints have the option `age` and others not; one network reads one kind, so make them agree.")
    hinted = [stage.hints for stage in stages if stage.hints.given]
    shape = shape_of(stages[0].game, settings.learner, hinted[0] if hinted else NO_HINTS)
    return replace(shape, foresight=settings.rehearsal is not None)


def make_learner(settings: TrainSettings, stages: tuple[Stage, ...], shape: PolicyShape, number: int) -> NegotiationLearner:
    """The learner that the settings name, in the game of a stage."""
    stage = stages[number]
    seed = settings.seed if number == 0 else int(generator(settings.seed, STAGE_SEEDS, number).integers(2**63))
    learner, total = settings.learner, settings.num_train_steps
    if settings.backend == "fused":
        if settings.device.startswith("cuda"):
            raise InvalidOption(f"device is {settings.device}, and the fused backend runs on the CPU; use --backend torch.")
        if isinstance(learner, PPOSettings) and settings.self_play is not None:
            from edgeworth.training.self_play import SelfPlay

            return SelfPlay(stage.game, learner, shape, seed, settings.self_play, total)
        from edgeworth.training.fused.learner import FusedLearner

        return FusedLearner(stage.game, learner, shape, seed, stage.hints, total)
    device = torch_device(settings.device)
    made = torch_algorithm(isinstance(learner, PPOSettings), device)
    return made(stage.game, learner, shape, seed, stage.hints, total, device)


def torch_algorithm(ppo: bool, device: str) -> Callable[..., NegotiationLearner]:
    """The class of PPO or REINFORCE for a device."""
    if device.startswith("cuda"):
        from edgeworth.training.gpu import GpuPPO, GpuReinforce

        return GpuPPO if ppo else GpuReinforce
    from edgeworth.training.ppo import PPO
    from edgeworth.training.reinforce import Reinforce

    return PPO if ppo else Reinforce
