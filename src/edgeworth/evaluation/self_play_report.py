"""What self-play achieves: pool and naive, several seeds each, in the classic game and in one of three moves.

Every agent is trained, then frozen, and from then on makes its likeliest moves. It plays itself in the two-player game; a best response is
trained against it, and where episodes are short the exact one is computed (`exploitability.py`); and it plays opponents that it did not
train with: partners of the rules, the clone of people, and the agent of another seed. The bundled expert, which was trained against the
heuristic partner alone, is measured too. All play the same seeds. Every run has its own folder, so an interrupted report goes on where it
stopped.

Means over training seeds come with a 95 % t interval over seeds, single seeds with a 95 % bootstrap interval over episodes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.negotiators.bundled import FOLDER
from edgeworth.agents.negotiators.learned import Learned
from edgeworth.errors import RunStopped
from edgeworth.evaluation.episodes import Episodes, Player, consecutive, opened, play_pair, play_seeds
from edgeworth.evaluation.exploitability import LONGEST, both_roles, exact_gains, last_offer_share, trained_gains
from edgeworth.evaluation.negotiators import play_measures
from edgeworth.evaluation.statistics import Estimate, as_json, over_seeds, ratio, within_one
from edgeworth.evaluation.study import Study, checkpoint_of, game_of_cell, run_folder, run_name, train_all, training_facts
from edgeworth.evaluation.study_cells import Cell
from edgeworth.evaluation.study_report import write_network
from edgeworth.executor.execution import HERE, Executor, failure_text
from edgeworth.executor.tasks import Task
from edgeworth.games.bargaining.vocabulary import AGENT, PARTNER, Side
from edgeworth.progress import Progress, silent
from edgeworth.training.changes import merged

QUANTITY = (
    "likeliest moves of the last checkpoint; shares are sums of rewards / sums of the agent's maxima; pareto_rate: efficient deals / deals;"
    " nash_ratio: sum of Nash products / sum of largest ones; exploitability: what a best response earns against the frozen agent less what"
    " the agent earns against itself, as a share of the maximum, over both roles; means over training seeds with 95 % t intervals"
)
CONFIG = "self_play.yaml"
GAMES: dict[str, dict[str, Any]] = {
    "classic": {"env": {"scenario": "classic"}},
    "short": {"env": {"scenario": "classic", "max_turns": LONGEST}, "num_train_steps": 4_000_000, "self_play": {"snapshot_every": 250_000}},
}
"""The classic game, and the same game with three moves, whose best response can be computed."""
KINDS: dict[str, dict[str, Any]] = {"pool": {}, "naive": {"self_play": {"past_selves": 0, "latest": 1.0}}}
BUNDLED = ("pool", "classic")
"""The kind and the game whose first seed is bundled."""
OPPONENTS = ("heuristic", "conceder", "human_clone")
"""Opponents that no agent was trained with."""
STRANGER = "another_seed"
LAST_OFFERS = 2_000
"""Most contexts for which the last offer's value is computed."""
EXPERT, EXPERTS_GAME = "expert", "classic"
"""The reference, and the game in which it was trained."""
RATES = ("share_of_maximum", "opener_share", "responder_share", "deal_rate", "pareto_rate", "nash_ratio")
WITH_ITSELF = (*RATES, "length")


@dataclass(frozen=True)
class Plan:
    """How much is trained and played."""

    seeds: tuple[int, ...] = (0, 1, 2)
    steps: int | None = None
    """Moves per run, instead of those in the settings: for a trial."""
    response_steps: int = 4_000_000
    """Moves of a best response's training."""
    episodes: int = 20_000
    contexts: int = 100
    """Contexts in which the exact best response is computed."""
    evaluation_seed: int = 1_000_000

    @property
    def played(self) -> NDArray[np.int64]:
        """The seeds of the episodes."""
        return consecutive(self.evaluation_seed, self.episodes)


# Training


def cell_of(kind: str, game: str) -> Cell:
    """One kind of self-play in one game."""
    return Cell(f"{kind}, {game}", CONFIG, merged(GAMES[game], KINDS[kind]))


def response_cell(kind: str, game: str, agent: Path, plan: Plan) -> Cell:
    """A best response to a frozen agent: self-play whose pool is that agent and stays so."""
    opponent = {"past_selves": 0, "latest": 0.0, "members": [str(agent)], "likeliest": True}
    change = merged(GAMES[game], {"num_train_steps": plan.response_steps, "self_play": opponent})
    return Cell(f"best response to {kind}, {game}", CONFIG, change)


def train_agents(plan: Plan, runs: Path, run: Executor, progress: Progress = silent) -> dict[tuple[str, str, int], Path]:
    """Train all agents, then a best response to each; returns the responses' checkpoints by kind, game and seed."""
    pairs = [(kind, game) for game in GAMES for kind in KINDS]

    def train(cells: Sequence[Cell], seeds: tuple[int, ...], steps: int | None = None) -> None:
        failures = train_all(Study("self-play", tuple(cells), seeds, steps=steps), runs, run, progress)
        if failures:
            raise RunStopped(failure_text(failures, len(cells) * len(seeds) - len(failures)))

    train([cell_of(*pair) for pair in pairs], plan.seeds, plan.steps)
    responses: dict[tuple[str, str, int], Path] = {}
    for seed in plan.seeds:
        cells = {pair: response_cell(*pair, checkpoint_of(runs, cell_of(*pair), seed), plan) for pair in pairs}
        if seed == plan.seeds[0]:
            cells[EXPERT, EXPERTS_GAME] = response_cell(EXPERT, EXPERTS_GAME, FOLDER / EXPERTS_GAME, plan)
        train(list(cells.values()), (seed,))
        responses |= {(*pair, seed): checkpoint_of(runs, cell, seed) for pair, cell in cells.items()}
    return responses


# Measuring


@dataclass(frozen=True)
class Measured:
    """One agent: the numbers of its row, and what it earned against each opponent, to be compared with another's."""

    row: dict[str, Any]
    against: Mapping[str, Episodes]


def player(checkpoint: Path) -> Player:
    """A frozen agent, for either seat."""
    return Player(str(checkpoint), {side: Learned(checkpoint) for side in (AGENT, PARTNER)})


def play_with_itself(episodes: Episodes, opener: NDArray[np.bool_], reservation: tuple[float, float]) -> dict[str, Estimate | None]:
    """Every measure of an agent's play with itself; `opener` says where the agent, not the partner, makes the first move."""
    found = play_measures(episodes, reservation)
    found["opener_share"] = ratio(episodes.reward[opener], episodes.maximum[opener])
    found["responder_share"] = ratio(episodes.reward[~opener], episodes.maximum[~opener])
    return {name: found[name] for name in WITH_ITSELF}


def measure_agent(plan: Plan, cell: Cell, agent: Path, stranger: Path | None, response: Path) -> Measured:
    """All numbers of one agent."""
    game, seeds = game_of_cell(cell), plan.played
    itself = play_pair(game, player(agent), player(agent), seeds)
    opener = opened(game, seeds, two_player=True).state["opener"] == AGENT
    numbers = play_with_itself(itself, opener, game.reservation)
    gains = trained_gains(play_pair(game, player(response), player(agent), seeds), itself)
    against = {name: play_seeds(replace(game, partner=name), Learned(agent), seeds) for name in OPPONENTS}
    if stranger is not None:
        against[STRANGER] = play_pair(game, player(agent), player(stranger), seeds)
    row: dict[str, Any] = {
        **{name: as_json(number) for name, number in numbers.items()},
        "exploitability_trained": gains.share().as_dict(),
        "exploitability_exact": None,
        "against": {name: ratio(played.reward, played.maximum).as_dict() for name, played in against.items()},
    }
    if game.max_turns <= LONGEST:
        exact = exact_gains(game, Learned(agent), plan.contexts, plan.evaluation_seed)
        row["exploitability_exact"] = both_roles(exact).share().as_dict()
        row["exact_by_role"] = {role: exact[side].share().as_dict() for role, side in (("opener", Side.AGENT), ("responder", Side.PARTNER))}
    return Measured(row, against)


def measure_parts(plan: Plan, cell: Cell, agent: Path, stranger: Path | None, response: Path) -> dict[str, Any]:
    """All numbers of one agent, as a task returns them."""
    found = measure_agent(plan, cell, agent, stranger, response)
    return {"row": found.row, "against": {name: episodes.as_arrays() for name, episodes in found.against.items()}}


def measure_tasks(plan: Plan, runs: Path, responses: Mapping[tuple[str, str, int], Path]) -> Iterator[Task]:
    """Everything that is measured: every agent, the two kinds of a seed head to head, and the bundled expert."""
    for game, kind in itertools.product(GAMES, KINDS):
        cell = cell_of(kind, game)
        agents = [checkpoint_of(runs, cell, seed) for seed in plan.seeds]
        for number, seed in enumerate(plan.seeds):
            stranger = agents[(number + 1) % len(agents)] if len(agents) > 1 else None
            yield Task(run_name(cell, seed), measure_parts, (plan, cell, agents[number], stranger, responses[kind, game, seed]))
    for game, seed in itertools.product(GAMES, plan.seeds):
        yield Task(f"{game}, seed {seed}, head to head", head_to_head, (plan, runs, game, seed))
    yield Task(EXPERT, reference, (plan, responses[EXPERT, EXPERTS_GAME, plan.seeds[0]]))


def game_row(plan: Plan, runs: Path, game: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a game: both kinds of self-play, and what the pool gains over naive against each opponent."""
    found: dict[str, list[Measured]] = {}
    for kind in KINDS:
        parts = [values[run_name(cell_of(kind, game), seed)] for seed in plan.seeds]
        found[kind] = [Measured(part["row"], {name: Episodes(**arrays) for name, arrays in part["against"].items()}) for part in parts]
    return {
        "game": game,
        "max_turns": game_of_cell(cell_of("pool", game)).max_turns,
        "kinds": {kind: summary(plan, cell_of(kind, game), runs, agents) for kind, agents in found.items()},
        "pool_less_naive": differences(found["pool"], found["naive"]),
        "head_to_head": over_seeds([values[f"{game}, seed {seed}, head to head"] for seed in plan.seeds]).as_dict(),
    }


def summary(plan: Plan, cell: Cell, runs: Path, agents: Sequence[Measured]) -> dict[str, Any]:
    """One kind of self-play in one game: means over seeds, and every seed."""
    names = (*WITH_ITSELF, "exploitability_trained", "exploitability_exact")
    return {
        **{name: _over([one.row[name] for one in agents], rate=name in RATES) for name in names},
        "against": {name: _over([one.row["against"][name] for one in agents]) for name in agents[0].against},
        "settings": {"config": CONFIG, "change": dict(cell.change), "moves": cell.settings(0, plan.steps).num_train_steps},
        "seeds": [
            {"seed": seed, **training_facts(run_folder(runs, cell, seed)), **one.row} for seed, one in zip(plan.seeds, agents, strict=True)
        ],
    }


def head_to_head(plan: Plan, runs: Path, game: str, seed: int) -> float:
    """What the pool's agent earns less what the naive one does, when the two of the same seed play each other."""
    pool, naive = (player(checkpoint_of(runs, cell_of(kind, game), seed)) for kind in ("pool", "naive"))
    played = play_pair(game_of_cell(cell_of("pool", game)), pool, naive, plan.played)
    return played.share_over(played.partner_reward)


def reference(plan: Plan, response: Path) -> dict[str, Any]:
    """The bundled expert, measured like the others."""
    cell = cell_of("pool", EXPERTS_GAME)
    return {"name": EXPERT, "game": EXPERTS_GAME, **measure_agent(plan, cell, FOLDER / EXPERTS_GAME, None, response).row}


def differences(pool: Sequence[Measured], naive: Sequence[Measured]) -> dict[str, Any]:
    """What the pool earns more than naive self-play against each opponent, on the same episodes, seed by seed; and its exploitability."""
    gained = {
        name: over_seeds([a.against[name].share_over(b.against[name].reward) for a, b in zip(pool, naive, strict=True)]).as_dict()
        for name in pool[0].against
    }
    less = {}
    for name in ("exploitability_trained", "exploitability_exact"):
        if pool[0].row[name] is not None:
            pairs = [a.row[name]["value"] - b.row[name]["value"] for a, b in zip(pool, naive, strict=True)]
            less[name] = over_seeds(pairs).as_dict()
    return {"against": gained, **less}


def _over(numbers: Sequence[dict[str, Any] | None], rate: bool = True) -> dict[str, Any] | None:
    """The mean over seeds of a number that every one of them has."""
    known = [number["value"] for number in numbers if number is not None]
    if len(known) < len(numbers):
        return None
    return (within_one(over_seeds(known)) if rate else over_seeds(known)).as_dict()


def run_report(plan: Plan, runs: Path, run: Executor = HERE, progress: Progress = silent) -> dict[str, Any]:
    """Train, freeze, exploit and compare; a dictionary for JSON."""
    responses = train_agents(plan, runs, run, progress)
    measured = run(list(measure_tasks(plan, runs, responses)), progress)
    measured.whole()
    classic = game_of_cell(cell_of("pool", EXPERTS_GAME))
    return {
        "quantity": QUANTITY,
        "training_seeds": list(plan.seeds),
        "episodes": plan.episodes,
        "evaluation_seeds": f"{plan.evaluation_seed} to {plan.evaluation_seed + plan.episodes - 1}",
        "exact_contexts": plan.contexts,
        "response_moves": plan.response_steps,
        "last_offer_share": last_offer_share(classic, min(plan.episodes, LAST_OFFERS), plan.evaluation_seed).as_dict(),
        "games": [game_row(plan, runs, game, measured.values) for game in GAMES],
        "reference": measured.values[EXPERT],
    }


def write_bundled(plan: Plan, runs: Path, result: Mapping[str, Any], bundle: Path, command: str) -> None:
    """Write the network of the pool's first seed in the classic game, with its card."""
    kind, game = BUNDLED
    row = next(row for row in result["games"] if row["game"] == game)["kinds"][kind]
    card = {
        "what": f"A negotiator that learnt by self-play with a pool of past selves, both sides of the table, in the scenario {game}.",
        "what_it_is_not": "It was never shown the partners of the rules, nor people; what it earns against them is below.",
        "config": CONFIG,
        "command": command,
        "episodes": result["episodes"],
        "evaluation_seeds": result["evaluation_seeds"],
        "quantity": result["quantity"],
        **{name: value for name, value in row["seeds"][0].items() if value is not None},
    }
    write_network(bundle, checkpoint_of(runs, cell_of(kind, game), plan.seeds[0]), card)
