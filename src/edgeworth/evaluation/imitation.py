"""How well a cloned negotiator predicts the moves of people, and how it plays.

It is compared with predictions that know nothing of the situation but what is legal: `marginal`, the frequencies of acts and of units by
how many there are, in the training dialogues; `uniform`, an act uniform over the legal ones and each type's units uniform up to all of
them; and `majority`, the commonest act. Likelihoods are in nats per move, the share counting where the act states one. Moves of one
dialogue are not independent, so intervals are bootstraps over dialogues.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.negotiators.learned import Learned
from edgeworth.agents.negotiators.negotiator import Negotiator
from edgeworth.agents.negotiators.scripted import RandomLegal
from edgeworth.agents.network.player import NetworkPlayer
from edgeworth.config import BargainingConfig
from edgeworth.dialogues.lines import Dialogue
from edgeworth.dialogues.moves import DialogueMoves, LeftOut, Source
from edgeworth.evaluation.episodes import play_episodes
from edgeworth.evaluation.negotiators import Ends, deal_quality, measured
from edgeworth.evaluation.statistics import Estimate, mean, rate, ratio
from edgeworth.games.bargaining.legality import STATES_SHARE
from edgeworth.games.bargaining.vocabulary import Act
from edgeworth.training.behaviour_cloning import Samples

QUANTITY = (
    "log_likelihood: log-probability of people's moves, nats per move, the share counting where the act states one; marginal: frequencies"
    " of acts and of units by pool on train; uniform: over what is legal; majority: the commonest act of train; share_accuracy: all three"
    " numbers right, given the act; 95 % bootstrap intervals over dialogues, of play over episodes"
)
PLAYED = ("reward", "share_of_maximum", "deal_rate", "pareto_rate", "nash_ratio", "advantage", "length")
NEVER = -1e9


# Predictions


class Guess(NamedTuple):
    """Log-probabilities of moves: of the acts (N, 5), and of 0 to `units` units of each type (N, 3, units + 1)."""

    acts: NDArray[np.float64]
    shares: NDArray[np.float64]


def clone_guess(player: NetworkPlayer, samples: Samples) -> Guess:
    """The predictions of a network."""
    outlook = player.outlook(samples.features, samples.legal, samples.pools)
    return Guess(outlook.acts.astype(np.float64), outlook.shares.astype(np.float64))


def uniform_guess(samples: Samples, units: int) -> Guess:
    """Uniform over what is legal."""
    acts = np.where(samples.legal > 0, 0.0, NEVER)
    levels = np.arange(units + 1)
    shares = np.where(levels <= samples.pools[:, :, None], 0.0, NEVER)
    return Guess(_normalised(acts), _normalised(shares))


@dataclass(frozen=True)
class Marginal:
    """How often people made each act, and took each number of units of a type by how many of it there were."""

    acts: NDArray[np.float64]
    units: NDArray[np.float64]
    """(units there are, units taken)."""

    @classmethod
    def of(cls, samples: Samples, units: int) -> Marginal:
        """The frequencies in samples, with one made-up case for each possibility."""
        acts = np.bincount(samples.acts, minlength=len(Act)) + 1.0
        taken = np.tril(np.ones((units + 1, units + 1)))
        stated = STATES_SHARE[samples.acts] > 0
        np.add.at(taken, (samples.pools[stated], samples.shares[stated]), 1.0)
        return cls(acts / acts.sum(), taken / taken.sum(axis=1, keepdims=True))

    def guess(self, samples: Samples) -> Guess:
        """The same frequencies in every situation, as far as they are legal there."""
        acts = np.where(samples.legal > 0, np.log(self.acts), NEVER)
        units = np.where(self.units > 0.0, np.log(np.maximum(self.units, np.finfo(float).tiny)), NEVER)
        return Guess(_normalised(acts), units[samples.pools])

    @property
    def majority(self) -> Act:
        """The commonest act."""
        return Act(int(self.acts.argmax()))


def _normalised(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(logs - np.log(np.exp(logs).sum(axis=-1, keepdims=True)))


# Held-out moves


def log_likelihood(guess: Guess, samples: Samples) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log-probabilities of the acts made, and of the shares stated (0 where there is none)."""
    of_act = np.take_along_axis(guess.acts, samples.acts[:, None], 1)[:, 0]
    of_share = np.take_along_axis(guess.shares, samples.shares[:, :, None], 2)[:, :, 0].sum(1)
    return of_act, STATES_SHARE[samples.acts] * of_share


def measure_imitation(player: NetworkPlayer, marginal: Marginal, samples: Samples, seed: int = 0) -> dict[str, Any]:
    """How well the moves of samples are predicted."""
    guesses = {
        "clone": clone_guess(player, samples),
        "marginal": marginal.guess(samples),
        "uniform": uniform_guess(samples, player.shape.units),
    }
    logs = {name: log_likelihood(guess, samples) for name, guess in guesses.items()}
    moves = {name: of_act + of_share for name, (of_act, of_share) in logs.items()}
    everywhere, stated = np.ones(len(samples.acts)), STATES_SHARE[samples.acts].astype(np.float64)
    guessed = guesses["clone"].acts.argmax(1)
    right = {"clone": guessed == samples.acts, "majority": samples.acts == int(marginal.majority)}
    hits = {name: (guess.shares.argmax(2) == samples.shares).all(1) & (stated > 0) for name, guess in guesses.items() if name != "uniform"}

    def per(values: NDArray[Any], weights: NDArray[np.float64] = everywhere) -> dict[str, Any]:
        return over_dialogues(samples.dialogues, values.astype(np.float64), weights, seed).as_dict()

    return {
        "talks": len(np.unique(samples.dialogues)),
        "moves": len(samples.acts),
        "log_likelihood": {name: per(values) for name, values in moves.items()},
        "over_marginal": per(moves["clone"] - moves["marginal"]),
        "over_uniform": per(moves["clone"] - moves["uniform"]),
        "act_accuracy": {name: per(values) for name, values in right.items()},
        "act_accuracy_over_majority": per(right["clone"].astype(np.float64) - right["majority"]),
        "share_accuracy": {name: per(values, stated) for name, values in hits.items()},
        "by_act": [_of_act(act, samples, guessed, logs, hits) for act in Act],
    }


def over_dialogues(dialogues: NDArray[np.int64], values: NDArray[np.float64], weights: NDArray[np.float64], seed: int) -> Estimate:
    """Σ value / Σ weight over moves, with an interval over their dialogues."""
    sums, counts = (np.asarray(np.bincount(dialogues, numbers), np.float64) for numbers in (values, weights))
    spoken = np.bincount(dialogues) > 0
    return ratio(sums[spoken], counts[spoken], seed)


def _of_act(
    act: Act,
    samples: Samples,
    guessed: NDArray[np.int64],
    logs: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]],
    hits: Mapping[str, NDArray[np.bool_]],
) -> dict[str, Any]:
    """The moves of one act: how many, how often predicted, and how likely they were."""
    made = samples.acts == int(act)
    states, some = bool(STATES_SHARE[int(act)]), bool(made.any())
    return {
        "act": act.name,
        "made": int(made.sum()),
        "guessed": int((guessed == int(act)).sum()),
        "found": float((guessed[made] == int(act)).mean()) if some else None,
        "act_log_likelihood": {name: float(of_act[made].mean()) for name, (of_act, _) in logs.items()} if some else None,
        "share_accuracy": {name: float(hit[made].mean()) for name, hit in hits.items()} if some and states else None,
    }


# The training data


def count_moves(dialogues: Sequence[DialogueMoves]) -> dict[str, Any]:
    """What became of the utterances of some dialogues, and where their moves come from."""
    made = Counter((move.act, move.source) for each in dialogues for move in each.moves)
    left = sum((each.left_out for each in dialogues), Counter[LeftOut]())
    in_a_row = sum(a.side == b.side for each in dialogues for a, b in zip(each.moves, each.moves[1:], strict=False))
    return {
        "talks": len(dialogues),
        "utterances": sum(len(each.dialogue.utterances) for each in dialogues),
        "moves": sum(len(each.moves) for each in dialogues),
        "moves_by_act": {act.name: {source.value: made[act, source] for source in Source if made[act, source]} for act in Act},
        "left_out": {reason.value: left[reason] for reason in LeftOut},
        "moves_after_ones_own": in_a_row,
        "talks_without_moves": sum(not each.moves for each in dialogues),
        "talks_cut_short": sum(each.left_out[LeftOut.LATE] > 0 for each in dialogues),
    }


def measure_people(dialogues: Sequence[Dialogue], seed: int = 0) -> dict[str, Any]:
    """What people earned in their dialogues, over both sides: points, deals, efficient deals."""
    agreed = np.array([dialogue.outcome == "agreed" for dialogue in dialogues])
    contexts = np.array([dialogue.context.row() for dialogue in dialogues], np.int64)
    deals = np.array([dialogue.my_share or (0, 0, 0) for dialogue in dialogues], np.int64)
    mine, theirs = (deals * contexts[:, 3:6]).sum(1), ((contexts[:, :3] - deals) * contexts[:, 6:]).sum(1)
    pareto = deal_quality(contexts, deals, agreed, (0.0, 0.0)).pareto
    return {
        "reward": mean(agreed * (mine + theirs) / 2.0, seed).as_dict(),
        "deal_rate": rate(agreed).as_dict(),
        "pareto_rate": rate(pareto[agreed]).as_dict() if agreed.any() else None,
    }


# Play


def measure_play(checkpoint: Path, game: BargainingConfig, episodes: int, seed: int) -> dict[str, Any]:
    """How the clone plays against the partner of a game: its likeliest moves, and moves drawn; random legal play beside it."""
    players: dict[str, Negotiator] = {
        "likeliest": Learned(checkpoint),
        "sampled": Learned(checkpoint, sampled=True),
        "random": RandomLegal(),
    }
    ends = Ends(play_episodes(game, RandomLegal(), episodes, seed), None)
    rows = {name: asdict(measured(name, game, play_episodes(game, player, episodes, seed), ends)) for name, player in players.items()}
    return {
        "partner": game.partner,
        "episodes": episodes,
        "seeds": f"{seed} to {seed + episodes - 1}",
        "agents": {name: {measure: row[measure] for measure in PLAYED} for name, row in rows.items()},
    }
