"""The reference scales of both games: negotiators on every scenario, and designers on every population.

Negotiators, from random play to the oracle: every row is Σ reward / Σ maximum, over all contexts that the game can draw or over seeded
ones. The oracle and the blind plan are computed exactly for each context (the plan averages over the partner's possible utilities); the
others are played. All rows of a scenario use the same contexts.

Designers, from mechanisms drawn at random (`uniform`) to the `oracle`, which knows the composition of the market: R is the mean score per
step over whole episodes, averaged over seeds. All designers play the same seeds, so differences are paired, market by market. Between the
ends stand designers that know the stage only, adaptive designers, the best fixed sequence of mechanisms (a schedule), and the best
constants. A language model is slow, so it plays the first of these seeds only; its row says how many. Its difference is to the best
constant on the same ones, and its score is that constant's on all seeds plus this difference (a control variate), so that it can stand
beside scores on all seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.adaptive import Adaptive
from edgeworth.agents.designers.bundled import POPULATIONS as BUNDLED
from edgeworth.agents.designers.bundled import bundled_file, bundled_name, schedule_folder
from edgeworth.agents.designers.designer import Designer, play
from edgeworth.agents.designers.fixed import BestConstant, Fixed, InformedGreedy, Schedule, Uniform
from edgeworth.agents.designers.informed import Oracle, ToldStage
from edgeworth.agents.designers.language_model import LanguageModel
from edgeworth.agents.designers.policy import Policy
from edgeworth.agents.designers.search import QUICK, SearchBudget
from edgeworth.agents.negotiators.negotiator import Negotiator
from edgeworth.agents.negotiators.scripted import AgreeFirst, Concession, Greedy, RandomLegal
from edgeworth.config import AuctionConfig, BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.evaluation.episodes import CHUNK, consecutive, maximum_rewards, opened
from edgeworth.evaluation.exact import oracle_share, plan_shares, random_share
from edgeworth.evaluation.negotiators import SLOW_CHUNK, Wanted, play_wanted
from edgeworth.evaluation.statistics import Estimate, counted, exactly, mean, paired_difference, ratio
from edgeworth.evaluation.whole_population import parts, play_population
from edgeworth.executor.execution import HERE, Executor
from edgeworth.executor.tasks import Task
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.blind_plan import bayes_plan, check_silent_partner, offers_before_agreeing
from edgeworth.games.bargaining.bounds import oracle_values
from edgeworth.games.bargaining.contexts import context_of
from edgeworth.progress import Progress, silent

Row = dict[str, Any]
"""One agent of a scale, for JSON."""


# Negotiators

ORACLE_LABEL, PLAN_LABEL = "oracle: knows the partner's utilities", "blind Bayes: best plan of offers"
PLAYED: dict[str, tuple[str, Negotiator]] = {
    "concession": ("concede 0.9, 0.8, 0.7, 0.6, then AGREE", Concession()),
    "agree_first": ("AGREE at first chance", AgreeFirst()),
    "random": ("random legal", RandomLegal()),
    "greedy": ("always ask for everything", Greedy()),
}


def _agent_row(agent: str, label: str, rewards: NDArray[np.float64], maximum: NDArray[np.float64], seed: int) -> Row:
    return {"agent": agent, "label": label, **ratio(rewards, maximum, seed).as_dict()}


def yardstick(
    scenario: str, config: BargainingConfig, contexts: int, plan_contexts: int, seed: int, run: Executor = HERE, progress: Progress = silent
) -> dict[str, Any]:
    """Compute the scale of a scenario, exact bounds and simple agents; for JSON, with a note where a row is missing."""
    maximum = maximum_rewards(opened(config, consecutive(seed, contexts)))
    rows: list[Row] = []
    notes: list[str] = []
    try:
        oracle = _computed("oracle", oracle_part, config, contexts, CHUNK, seed, run, progress)
        rows.append(_agent_row("oracle", ORACLE_LABEL, oracle["value"], maximum, seed))
        plan_rows, plan_notes = _plan_rows(config, plan_contexts, seed, run, progress)
        rows, notes = rows + plan_rows, notes + plan_notes
    except InvalidOption as error:
        notes.append(str(error))
    played = play_wanted(config, {name: Wanted(negotiator, contexts) for name, (_, negotiator) in PLAYED.items()}, seed, run, progress)
    rows += [_agent_row(name, PLAYED[name][0], found.reward, found.maximum, seed) for name, found in played.items()]
    return {"scenario": scenario, "notes": notes, "rows": rows}


def _computed(
    name: str, part: Callable[..., Any], config: BargainingConfig, contexts: int, size: int, seed: int, run: Executor, progress: Progress
) -> dict[str, NDArray[np.float64]]:
    """What a function computes for the contexts of consecutive seeds, `size` in a task."""
    places = parts(contexts, size)
    tasks = [Task(f"{name}, seed {seed + begin}", part, (config, end - begin, seed + begin)) for begin, end in places]
    found = run(tasks, progress).whole()
    return {key: np.concatenate([values[key] for values in found]) for key in found[0]}


def oracle_part(config: BargainingConfig, contexts: int, seed: int) -> dict[str, NDArray[np.float64]]:
    """The oracle's value in the contexts of some seeds."""
    return {"value": oracle_values(opened(config, consecutive(seed, contexts)))}


def exact_yardstick(scenario: str, config: BargainingConfig, run: Executor = HERE, progress: Progress = silent) -> dict[str, Any]:
    """The scale of a scenario over its whole population, without sampling error; the partner's counter-offers must reveal nothing."""
    batch = BargainingBatch(config, 1)
    check_silent_partner(batch)
    oracle, fixed = oracle_share(config, progress), _fixed_offers(batch)
    plans = plan_shares(config, fixed, run, progress)
    values = {
        ("oracle", ORACLE_LABEL): oracle.value,
        ("bayes", PLAN_LABEL): plans.best,
        (f"bayes_{fixed}", _fixed_label(fixed)): plans.fixed,
        ("random", PLAYED["random"][0]): random_share(config),
    }
    for name, (label, negotiator) in PLAYED.items():
        if name != "random":
            values[name, label] = play_population(config, negotiator, run, progress, name).share_of_maximum
    rows = [{"agent": agent, "label": label, **exactly(value, oracle.n).as_dict()} for (agent, label), value in values.items()]
    rows.sort(key=lambda row: ["oracle", "bayes", f"bayes_{fixed}", *PLAYED].index(row["agent"]))
    return {"scenario": scenario, "exact": True, "notes": [] if plans.note is None else [plans.note], "rows": rows}


def _fixed_label(offers: int) -> str:
    return f"blind Bayes: {counted(offers, 'offer')}, then AGREE"


def plan_part(config: BargainingConfig, contexts: int, seed: int) -> dict[str, NDArray[np.float64]]:
    """In the contexts of some seeds: the value of the best blind plan, how much more it could be, and the value with fixed offers."""
    batch = opened(config, consecutive(seed, contexts))
    fixed = _fixed_offers(batch)
    plans: dict[tuple[int, ...], tuple[float, float, float]] = {}
    rows = np.zeros((3, batch.size))
    for slot in range(batch.size):
        state = batch.state[slot]
        opener = int(state["opener"])
        context = context_of(state).half()
        key = (opener, *context.row())
        if key not in plans:
            plan = bayes_plan(context, batch, opener)
            plans[key] = (plan.value, plan.gap, bayes_plan(context, batch, opener, fixed).value)
        rows[:, slot] = plans[key]
    return {"best": rows[0], "gap": rows[1], "short": rows[2]}


def _plan_rows(config: BargainingConfig, contexts: int, seed: int, run: Executor, progress: Progress) -> tuple[list[Row], list[str]]:
    """The best blind plan, and the one that makes a fixed number of offers and then agrees; with a note where the best is not proved."""
    batch = opened(config, consecutive(seed, contexts))
    fixed, maximum = _fixed_offers(batch), maximum_rewards(batch)
    found = _computed("blind plans", plan_part, config, contexts, SLOW_CHUNK, seed, run, progress)
    gaps = found["gap"]
    unproved, more = counted(int((gaps > 0).sum()), "blind plan"), gaps.sum() / maximum.sum()
    rows = [
        _agent_row("bayes", PLAN_LABEL, found["best"], maximum, seed),
        _agent_row(f"bayes_{fixed}", _fixed_label(fixed), found["short"], maximum, seed),
    ]
    return rows, [f"{unproved} not proved to be the best; blind Bayes is at most {more:.6f} higher."] if gaps.any() else []


def _fixed_offers(batch: BargainingBatch) -> int:
    """How many offers the plan of a fixed number makes."""
    return min(offers_before_agreeing(batch, opener) for opener in _openers(batch))


def _openers(batch: BargainingBatch) -> list[int]:
    return {"agent": [0], "partner": [1], "random": [0, 1]}[batch.config.opens]


# Designers

POPULATIONS = ("0", "1", "2", "3", "4", "stages", "mixed", "dirichlet", "held_out")
FRESH = 2**41
"""The first seed of the markets on which the score of a card is measured."""
ORACLE, TOLD_STAGE, SCHEDULE, POLICY = "oracle (told the composition)", "told the stage", "best schedule", "policy (trained by PPO)"


def makers(config: AuctionConfig, budget: SearchBudget) -> dict[str, Callable[[], Designer] | str]:
    """The designers on the scale of a population, by the name of the row, best informed first; or why a row is missing.

    `budget` is for the designer that knows the stage, where no mechanism is bundled: a held-out mix, or a mix of one's own.
    """
    rows: dict[str, Callable[[], Designer] | str] = {
        ORACLE: Oracle,
        TOLD_STAGE: lambda: ToldStage(budget),
        "adaptive (prior: stages)": lambda: Adaptive("stages"),
        "adaptive (prior: mixed)": lambda: Adaptive("mixed"),
        POLICY: Policy,
        SCHEDULE: lambda: Schedule(config.stage),
        "best constant for the stages": lambda: BestConstant("stages"),
        "best constant for mixed": lambda: BestConstant("mixed"),
        "informed_greedy": InformedGreedy,
        "uniform": Uniform,
    }
    if config.mix is None and config.stage == "dirichlet":
        rows[TOLD_STAGE] = "every episode draws shares of its own, so there is no stage to be told."
    if config.mix is not None or bundled_file(schedule_folder(), bundled_name(config.stage), config.n_agents) is None:
        rows[SCHEDULE] = "no schedule is bundled for this population; `edgeworth designer search --schedule` finds one."
    return rows


@dataclass(frozen=True)
class PlacedModel:
    """A language model that is placed on the scale."""

    label: str
    designer: LanguageModel
    episodes: int
    """Episodes that it plays on every population."""


def _designer_row(designer: str, values: NDArray[np.float64], best: NDArray[np.float64], **more: Any) -> Row:
    """The mean score, and the paired difference to the better of the two constants on the same markets.

    A schedule's row also has the difference to the best constant of the very population.
    """
    return {"designer": designer, "score": mean(values).as_dict(), "over_best_constant": paired_difference(values, best).as_dict(), **more}


class Scale(NamedTuple):
    """The rows of one population, and notes about them."""

    rows: list[Row]
    notes: list[str]


def play_designer(config: AuctionConfig, name: str, episodes: int, seed: int, budget: SearchBudget) -> Row:
    """The scores of a designer's episodes, and what it had to assume, as a task returns them."""
    make = makers(config, budget)[name]
    if isinstance(make, str):
        raise InvalidOption(f"{name}: {make}")
    designer = make()
    return {"scores": play(designer, config, episodes, seed).mean(axis=1), "assumed": designer.assumed}


def auction_yardstick(
    config: AuctionConfig,
    episodes: int,
    seed: int,
    progress: Progress = silent,
    placed: PlacedModel | None = None,
    budget: SearchBudget = QUICK,
    run: Executor = HERE,
) -> Scale:
    """Every designer on one population, and a language model where one is given."""
    wanted = makers(config, budget)
    notes = [f"A row is missing: {name}: {made}" for name, made in wanted.items() if isinstance(made, str)]
    present = {name: made for name, made in wanted.items() if not isinstance(made, str)}
    tasks = [Task(f"{config.stage}: {name}", play_designer, (config, name, episodes, seed, budget)) for name in present]
    found = dict(zip(present, run(tasks, progress).whole(), strict=True))
    scores = {name: values["scores"] for name, values in found.items()}
    notes += [f"{name}: {note}." for name, values in found.items() for note in values["assumed"]]
    best = max((scores[name] for name in present if name.startswith("best constant")), key=lambda values: float(values.mean()))
    rows = [
        _designer_row(name, values, best, **(_over_own(config, values, seed) if name == SCHEDULE else {}))
        for name, values in scores.items()
    ]
    if placed is not None:
        rows.append(_model_row(placed, config, seed, best, progress))
    return Scale(rows, notes)


def _over_own(config: AuctionConfig, values: NDArray[np.float64], seed: int) -> Row:
    """What a schedule gains over the best constant of its population, on the same markets, where one is bundled."""
    if config.stage not in BUNDLED:
        return {}
    own = play(Fixed(bundled_name(config.stage)), config, len(values), seed).mean(axis=1)
    return {"over_own_constant": paired_difference(values, own).as_dict()}


def _model_row(placed: PlacedModel, config: AuctionConfig, seed: int, best: NDArray[np.float64], progress: Progress) -> Row:
    """The language model on the first of the seeds, all its episodes in one call per step; `posted` counts whose mechanisms were posted."""
    steps, before = config.episode_length, placed.designer.counters["posted"]

    def stepped(step: int, _posted: object = None) -> None:
        progress(f"{placed.label}, step {min(step + 1, steps)} of {steps}", step, steps)

    stepped(0)
    values = play(placed.designer, config, placed.episodes, seed, stepped).mean(axis=1)
    posted = {whose: number - before[whose] for whose, number in placed.designer.counters["posted"].items()}
    difference = paired_difference(values, best[: placed.episodes])
    score = on_all_seeds(difference, float(best.mean()))
    return {"designer": placed.label, "score": score.as_dict(), "over_best_constant": difference.as_dict(), "posted": posted}


def on_all_seeds(difference: Estimate, best: float) -> Estimate:
    """A score on all seeds, from the difference to the best constant on some of them and that constant's score on all."""
    return Estimate(best + difference.value, best + difference.low, best + difference.high, difference.n)


def score_on_fresh_markets(designer: Designer, config: AuctionConfig, episodes: int) -> Row:
    """A designer's score on markets that no search or fit has used, and what it gains there over the population's best constant."""
    scores = play(designer, config, episodes, FRESH).mean(axis=1)
    constant = play(BestConstant(config.stage), config, episodes, FRESH).mean(axis=1)
    return {
        "evaluation_seeds": f"{FRESH} to {FRESH + episodes - 1}",
        "score": mean(scores).as_dict(),
        "over_best_constant": paired_difference(scores, constant).as_dict(),
    }
