"""The options of both games, and the YAML files that set them.

Scenarios are YAML files in `configs/scenarios/`; a wheel carries them inside the package. `validation.py` checks options: typos get a
suggestion, and errors say what was expected.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import yaml

from edgeworth.errors import DataError, InvalidOption, UnknownName
from edgeworth.validation import at_most, between, build, settings

TURN_RANGE = (2, 50)
COUNT_RANGE = (0, 10)
BIDDER_RANGE = (2, 16)
STEP_RANGE = (1, 10_000)
ADAPTING = ("learning", "ring", "entry")
"""What adapts in a market, and can be frozen."""


@settings
class BargainingConfig:
    """Every option of the bargaining game; the defaults are the scenario `classic`."""

    max_turns: Annotated[int, between(*TURN_RANGE)] = 10
    """Moves of both sides together; reaching it without a deal pays the reservation value."""
    opens: Literal["random", "agent", "partner"] = "random"
    """Who moves first; `random` is drawn by the seed."""
    disagree: Literal["ends", "passes"] = "ends"
    """Whether DISAGREE walks away or only passes the turn."""
    on_illegal: Literal["error", "penalty"] = "error"
    """Whether an illegal action raises and changes nothing, or costs `illegal_penalty` and the turn."""
    illegal_penalty: Annotated[float, between(0.0, 1e6)] = 1.0
    """Points charged for an illegal action under `on_illegal="penalty"`."""
    contexts: str = "uniform"
    """Where pools and utilities come from: uniform, lewis or dataset."""
    context_options: Mapping[str, Any] = field(default_factory=dict)
    """Options of that source."""
    min_count: Annotated[int, between(*COUNT_RANGE)] = 1
    """Fewest units of a type in a uniform context."""
    max_count: int | None = None
    """Most units of a type: drawn by `uniform` (default 4), and the size of the observation and action spaces."""
    normalize: bool = False
    """Scale utilities so that the whole pool is worth exactly 10 to each side."""
    partner: str = "heuristic"
    """The agent's partner: a name of the catalog, or the path of a checkpoint."""
    partner_options: Mapping[str, Any] = field(default_factory=dict)
    """Options of that partner."""
    reveal_partner_utilities: bool = False
    """Show the partner's utilities in the observation; zeros otherwise."""
    discount: Annotated[float, between(0.0, 1.0)] = 1.0
    """Factor on a deal for every move after the second: a deal closed by move t pays discount ** max(0, t - 2)."""
    sudden_end: Annotated[float, between(0.0, 1.0)] = 0.0
    """Probability that the negotiation breaks off after a move, from the second move on."""
    reservation: tuple[float, float] = (0.0, 0.0)
    """What no deal pays the agent and the partner, as a share of the worth of the whole pool to each."""
    insist_price: Annotated[float, between(0.0, 1e6)] = 0.0
    """Points an INSIST costs its speaker."""

    def __post_init__(self) -> None:
        fewest, most = max(1, self.min_count), COUNT_RANGE[1]
        if self.max_count is not None and not fewest <= self.max_count <= most:
            raise InvalidOption(f"max_count is {self.max_count}; expected {fewest} to {most}.")
        if self.contexts != "uniform" and self.min_count != 1:
            raise InvalidOption(f"min_count belongs to uniform contexts; {self.contexts!r} has its own pools.")
        if self.normalize and self.min_count == 0 and self.contexts == "uniform":
            raise InvalidOption("normalize needs every type in the pool; set min_count to 1 or more.")
        for side, value in zip(("agent", "partner"), self.reservation, strict=True):
            if not 0.0 <= value <= 1.0:
                raise InvalidOption(f"reservation of the {side} is {value}; expected 0.0 to 1.0.")

    @classmethod
    def from_options(cls, scenario: str | None = None, **options: Any) -> BargainingConfig:
        """The options of a scenario, changed by the ones given; naming another partner or source drops the options of the old one."""
        chosen = dict(load_scenario(scenario)) if scenario is not None else {}
        for choice, its_options in (("partner", "partner_options"), ("contexts", "context_options")):
            if choice in options and options[choice] != chosen.get(choice, getattr(cls, choice)):
                chosen.pop(its_options, None)
        config: BargainingConfig = build(cls, {**chosen, **options}, "option")
        return config


@settings
class HintConfig:
    """When hints are asked for and what is shown of them."""

    k: Annotated[int, between(1, TURN_RANGE[1])] = 1
    """A hint when an episode begins, and after every k-th move of the agent while the negotiation goes on."""
    hold_last: bool = False
    """Show the last hint until the next is due; otherwise a hint is shown once."""
    age: bool = False
    """An eleventh feature: the moves since the hint was asked for, over k."""
    dropout: Annotated[float, between(0.0, 1.0)] = 0.0
    """The share of episodes without hints, drawn by their seeds, so that a learner also learns to do without."""


@settings
class AuctionConfig:
    """Every option of the auction game; the defaults are the published ones."""

    stage: str = "mixed"
    """The population: 0 to 4, mixed, stages (any of the five), dirichlet, held_out or held_out_0 to held_out_19."""
    mix: Mapping[str, Any] | None = None
    """A population of your own instead: shares by bidder type that add up to 1, rounded to whole bidders."""
    n_agents: Annotated[int, between(*BIDDER_RANGE)] = 8
    """Bidders in the market."""
    episode_length: Annotated[int, between(*STEP_RANGE)] = 10
    """The designer's steps in an episode; each is five sales."""
    model: Mapping[str, Any] = field(default_factory=dict)
    """Changes to the market model by module, for example {"ring": {"overbid": 0.1}}."""
    freeze: Annotated[tuple[str, ...], at_most(len(ADAPTING))] = ()
    """What does not adapt: any of learning, ring, entry."""
    curriculum: bool = False
    """Begin at stage 0 and advance a stage whenever the recent mean score passes the threshold."""
    curriculum_threshold: Annotated[float, between(0.0, 1.0)] = 0.55
    """Mean score that advances the curriculum."""
    curriculum_window: Annotated[int, between(1, 100_000)] = 20
    """Episodes over which that mean is taken."""

    def __post_init__(self) -> None:
        if self.curriculum and self.mix is not None:
            raise InvalidOption("curriculum walks through the stages; it cannot be combined with a mix of your own.")

    @classmethod
    def from_options(cls, **options: Any) -> AuctionConfig:
        """The options given, checked; a stage may be a number or a name."""
        if "stage" in options and options.get("mix") is not None:
            raise InvalidOption("A population is a stage or a mix of your own; both were given.")
        if "stage" in options and options.get("curriculum"):
            raise InvalidOption("curriculum walks through the stages by itself; leave `stage` out.")
        stage = options.get("stage")
        if isinstance(stage, int | np.integer) and not isinstance(stage, bool):
            options["stage"] = str(stage)
        if isinstance(options.get("freeze"), str):
            options["freeze"] = (options["freeze"],)
        config: AuctionConfig = build(cls, options, "option")
        return config


def config_folder() -> Path:
    """Where the YAML files and prompts are: inside an installed package, or at the root of a checkout."""
    package = Path(__file__).resolve().parent
    for folder in (package / "configs", package.parents[1] / "configs"):
        if folder.is_dir():
            return folder
    raise DataError(package / "configs", "the folder of configuration files is missing; reinstall edgeworth.")


def scenario_names() -> list[str]:
    """The named scenarios of the bargaining game."""
    return sorted(path.stem for path in (config_folder() / "scenarios").glob("*.yaml"))


def load_scenario(name: str) -> Mapping[str, Any]:
    """The options of a named scenario, or of a scenario file given by its path."""
    if isinstance(name, str) and name.endswith((".yaml", ".yml")):
        found = load_yaml(Path(name))
        if "env" in found:
            raise InvalidOption(f"{name} holds settings of a training, not options of a game; name it with --config {name} instead.")
        return found
    if name not in scenario_names():
        raise UnknownName("scenario", name, scenario_names())
    return load_yaml(config_folder() / "scenarios" / f"{name}.yaml")


def scenario_note(name: str) -> str:
    """What a scenario's file says of itself in its first line."""
    path = config_folder() / "scenarios" / f"{name}.yaml"
    return path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("#").strip()


def found_config(path: Path) -> Path:
    """A file of settings: at this path, or by its name among those that come with the package (`ppo_fast`, `configs/ppo_fast.yaml`)."""
    named = path.with_suffix(".yaml") if not path.suffix else path
    bundled = config_folder() / (named.relative_to("configs") if named.parts[:1] == ("configs",) else named)
    return bundled if not path.exists() and not named.is_absolute() and bundled.is_file() else path


def load_yaml(path: Path) -> Mapping[str, Any]:
    """A YAML file that holds a mapping."""
    path = found_config(path)
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        bundled = sorted(file.stem for file in config_folder().glob("*.yaml"))
        raise DataError(path, f"cannot be read ({error.strerror}). By name there are {', '.join(bundled)}.") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise DataError(path, f"is not valid YAML: {error}", mark.line + 1 if mark else None) from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise DataError(path, f"expected settings as 'key: value' lines, found {type(content).__name__}.")
    return content
