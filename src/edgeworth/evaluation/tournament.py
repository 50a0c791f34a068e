"""A tournament: every negotiator against every other, in both seats, in every scenario, on the same seeded episodes.

The scenario sets the pools, the clock, the prices and who opens; its partner is replaced by another negotiator, of which neither side is
informed. A negotiator that prepares for a partner plays what it prepared for the scenario's own: `bayes` its blind plan, `oracle` its best
response, `learned` the expert of this scenario. The scenario's own partner is one more opponent, which counts in no score.

| measure | over episodes |
|---|---|
| agent_share, partner_share | Σ reward / Σ worth of the whole pool, of either side |
| deal_rate | deals / episodes |
| pareto_rate | efficient deals / deals |
| nash_ratio | Σ Nash products of the deals (0 without one) / Σ largest Nash products |
| score | mean of a negotiator's share over all others and both seats |

Intervals are 95 % bootstraps over episodes. All pairs and scenarios share their seeds, so the resamples are the same for all and
differences of scores are paired. A rank is a range: behind those that are surely better, before those that are surely worse. Each
comparison is made at 95 %, with no correction for their number. One that cannot play a scenario is left out of it, with the reason.

A network is one of many that the same training could have given. Where a study has trained them with further seeds, everything is played
once more for each of these seeds, with the networks of that seed in the places of the bundled ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edgeworth.agents.negotiators.learned import negotiator_of
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.evaluation.pairings import Measured, Numbers, pairing_task, title
from edgeworth.evaluation.statistics import Estimate, from_resamples
from edgeworth.executor.execution import HERE, Executor
from edgeworth.executor.tasks import Task
from edgeworth.games.bargaining.vocabulary import AGENT, PARTNER
from edgeworth.progress import Progress, silent
from edgeworth.runlog import CHECKPOINTS, LAST, SUFFIX

QUANTITY = (
    "shares: sum of rewards / sum of the worth of the whole pool to that side; score: mean share over all other negotiators and both"
    " seats; 95 % bootstrap intervals over negotiations; ranks: by paired differences at 95 % each"
)


@dataclass(frozen=True)
class Score:
    """What a negotiator gets on average; with its samples, by which scores are compared."""

    name: str
    estimate: Estimate
    samples: Numbers


def check_names(names: Sequence[str]) -> None:
    """Refuse too few names, the same name twice, and unknown names."""
    twice = [name for number, name in enumerate(names) if name in names[:number]]
    if len(names) < 2 or twice:
        raise InvalidOption(f"A tournament needs two or more different negotiators; given: {', '.join(names)}.")
    for name in names:
        negotiator_of(name)


def run_tournament(
    scenarios: Mapping[str, BargainingConfig],
    names: Sequence[str],
    episodes: int,
    seed: int,
    run: Executor = HERE,
    progress: Progress = silent,
    trained: Path | None = None,
) -> dict[str, Any]:
    """Play all scenarios; a dictionary for JSON.

    `trained` is the folder of a study's runs, whose networks play in the places of the bundled ones, one training seed at a time.
    """
    check_names(names)
    again = {} if trained is None else {number: teams_of(trained, number, scenarios, names) for number in training_seeds(trained)}
    teams = [{scenario: {name: name for name in names} for scenario in scenarios}, *again.values()]
    absent = rehearse(scenarios, names, seed, run, progress)
    tasks: dict[str, Task] = {}
    for team, (scenario, config) in itertools.product(teams, scenarios.items()):
        present = [who for name, who in team[scenario].items() if name not in absent[scenario]]
        opponents: list[tuple[str, str | None]] = [*itertools.product(present, present), *((who, None) for who in present)]
        tasks |= {title(scenario, *both): pairing_task(scenario, config, *both, seed, episodes) for both in opponents}
    played = run(list(tasks.values()), progress)
    played.whole()
    tables, found = [], []
    for team in teams:
        both = [
            scenario_table(scenario, config, team[scenario], dict(absent[scenario]), played.values)
            for scenario, config in scenarios.items()
        ]
        tables.append([table for table, _ in both])
        found.append([scores for _, scores in both])
    return {
        "quantity": QUANTITY,
        "episodes": episodes,
        "seeds": f"{seed} to {seed + episodes - 1}",
        "negotiators": list(names),
        "scenarios": tables[0],
        "overall": [] if len(scenarios) < 2 else ranked(mean_scores([{score.name: score for score in scores} for scores in found[0]])),
        "again": [
            {"training_seed": number, "networks": replaced(team), "scenarios": table}
            for (number, team), table in zip(again.items(), tables[1:], strict=True)
        ],
    }


# Networks of further training seeds


def training_seeds(trained: Path) -> list[int]:
    """The training seeds of a study's runs."""
    found = sorted({int(run.name.removeprefix("seed")) for run in trained.glob("*/seed*")})
    if not found:
        raise InvalidOption(f"{trained} holds no runs of a study; `edgeworth study learners` trains the networks of a tournament.")
    return found


def teams_of(trained: Path, training_seed: int, scenarios: Iterable[str], names: Sequence[str]) -> dict[str, dict[str, str]]:
    """By scenario and name, who plays: the network that was trained with this seed, for the scenario or for all; else the name itself."""
    team = {scenario: {name: name for name in names} for scenario in scenarios}
    for (scenario, players), name in itertools.product(team.items(), names):
        for cell in (name, f"{name}_{scenario}"):
            checkpoint = trained / cell / f"seed{training_seed}" / CHECKPOINTS / LAST
            if checkpoint.with_name(LAST + SUFFIX).is_file():
                players[name] = str(checkpoint)
    return team


def replaced(team: Mapping[str, Mapping[str, str]]) -> list[str]:
    """The names in whose place a network of another training seed played, in some scenario at least."""
    return sorted({name for players in team.values() for name, who in players.items() if who != name})


def rehearse(
    scenarios: Mapping[str, BargainingConfig], names: Sequence[str], seed: int, run: Executor, progress: Progress
) -> dict[str, dict[str, str]]:
    """Who cannot play and why, by scenario: all are tried on one episode against themselves, before the long play begins."""
    pairs = list(itertools.product(scenarios, names))
    tasks = [pairing_task(scenario, scenarios[scenario], name, name, seed, 1) for scenario, name in pairs]
    absent: dict[str, dict[str, str]] = {scenario: {} for scenario in scenarios}
    for (scenario, name), found in zip(pairs, run(tasks, progress).whole(), strict=True):
        if "reason" in found:
            absent[scenario][name] = found["reason"]
    return absent


def scenario_table(
    scenario: str, config: BargainingConfig, players: Mapping[str, str], absent: dict[str, str], played: Mapping[str, Any]
) -> tuple[dict[str, Any], list[Score]]:
    """The table of one scenario, and what each negotiator gets in it; one that turned out to be unable to play becomes absent."""
    tried = [name for name in players if name not in absent]
    names = {who: name for name, who in players.items()}
    pairs: dict[tuple[str, str], Measured] = {}
    for agent, partner in itertools.product(tried, repeat=2):
        found = played[title(scenario, players[agent], players[partner])]
        if {agent, partner} & absent.keys():
            continue
        if "reason" in found:
            absent[names[found["who"]]] = found["reason"]
        else:
            pairs[agent, partner] = Measured.from_dict(found)
    pairs = {both: found for both, found in pairs.items() if not set(both) & absent.keys()}
    present = [name for name in tried if name not in absent]
    own = {name: Measured.from_dict(played[title(scenario, players[name], None)]) for name in present}
    scores = [mean_over_others(name, pairs) for name in present] if len(present) > 1 else []
    table = {
        "scenario": scenario,
        "own_partner": config.partner,
        "absent": absent,
        "scores": [{**row, **parts_of_score(row["name"], pairs)} for row in ranked(scores)],
        "pairs": [{"agent": agent, "partner": partner, **found.as_dict()} for (agent, partner), found in pairs.items()],
        "with_own_partner": [{"agent": name, **found.as_dict()} for name, found in own.items()],
    }
    return table, scores


# Scores and ranks


SHARES = {AGENT: "agent_share", PARTNER: "partner_share"}
"""By seat: what is a negotiator's own share."""
PARTS_OF_SCORE: dict[str, Mapping[int, str]] = {
    "as_agent": {AGENT: "agent_share"},
    "as_partner": {PARTNER: "partner_share"},
    "deal_rate": {AGENT: "deal_rate", PARTNER: "deal_rate"},
    "nash_ratio": {AGENT: "nash_ratio", PARTNER: "nash_ratio"},
}
"""What is reported with a score, as means over all others too: its two halves, the deals and their quality."""


def mean_over_others(name: str, pairs: Mapping[tuple[str, str], Measured], measures: Mapping[int, str] = SHARES) -> Score:
    """The mean of a negotiator's measures, named by seat, over all others; by default its score."""
    met = [
        (found.values[measure], found.samples[measure])
        for seat, measure in measures.items()
        for both, found in pairs.items()
        if both[seat] == name and both[1 - seat] != name
    ]
    known = [(estimate, samples) for estimate, samples in met if estimate is not None]
    samples = np.mean([samples for _, samples in known], axis=0)
    value = float(np.mean([estimate.value for estimate, _ in known]))
    return Score(name, from_resamples(value, samples, known[0][0].n), samples)


def parts_of_score(name: str, pairs: Mapping[tuple[str, str], Measured]) -> dict[str, Any]:
    """What is reported with a score."""
    return {label: mean_over_others(name, pairs, measures).estimate.as_dict() for label, measures in PARTS_OF_SCORE.items()}


def mean_scores(scenarios: Sequence[Mapping[str, Score]]) -> list[Score]:
    """The mean over scenarios, of those who played them all."""
    everywhere = [name for name in scenarios[0] if all(name in scores for scores in scenarios)]
    means = []
    for name in everywhere:
        scores = [found[name] for found in scenarios]
        samples = np.mean([score.samples for score in scores], axis=0)
        value = float(np.mean([score.estimate.value for score in scores]))
        means.append(Score(name, from_resamples(value, samples, scores[0].estimate.n), samples))
    return means


def score_difference(score: Score, other: Score) -> Estimate:
    """What one score has over another, resample by resample."""
    return from_resamples(score.estimate.value - other.estimate.value, score.samples - other.samples, score.estimate.n)


def ranked(scores: Sequence[Score]) -> list[dict[str, Any]]:
    """Best first, each with the ranks it may have: only those surely better stand before it, only those surely worse behind it."""
    order = sorted(scores, key=lambda score: -score.estimate.value)
    rows = []
    for score in order:
        ahead = [score_difference(score, other) for other in order if other is not score]
        better, worse = sum(difference.high < 0.0 for difference in ahead), sum(difference.low > 0.0 for difference in ahead)
        rows.append({"name": score.name, "score": score.estimate.as_dict(), "ranks": [1 + better, len(order) - worse]})
    return rows


# Tables of a result


def cross_table(scenario: Mapping[str, Any]) -> dict[str, dict[str, float | None]]:
    """By row and column, best first: the row's share of its maximum with the column, the mean of both seats; None where none is known."""
    as_agent, as_partner = {}, {}
    for pair in scenario["pairs"]:
        as_agent[pair["agent"], pair["partner"]] = _value(pair["agent_share"])
        as_partner[pair["partner"], pair["agent"]] = _value(pair["partner_share"])
    order = [row["name"] for row in scenario["scores"]]
    return {row: {column: _mean(as_agent[row, column], as_partner[row, column]) for column in order} for row in order}


def own_partner_column(scenario: Mapping[str, Any]) -> dict[str, float | None]:
    """What each negotiator gets from the scenario's own partner."""
    return {row["agent"]: _value(row["agent_share"]) for row in scenario["with_own_partner"]}


def shown_ranks(ranks: list[int]) -> str:
    """`2`, or `2–4` where the intervals overlap."""
    first, last = ranks
    return str(first) if first == last else f"{first}–{last}"


def _value(estimate: Mapping[str, float] | None) -> float | None:
    return None if estimate is None else estimate["value"]


def _mean(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else (one + other) / 2
