"""A library of mechanisms by composition: for every number of bidders of each type, the best constant mechanism known.

Candidates are the bundled mechanisms and some that are searched for cluster centres of the compositions that the training populations draw
(held-out mixes are not among them). All candidates are scored on every composition, on the same markets. Choosing by the highest mean would
mostly choose by luck, so a mean is first shrunk towards what a quadratic in the shares predicts, by an amount that follows from its
sampling error; the card scores the choices on other markets.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.bundled import open_arrays
from edgeworth.agents.designers.forecast import ridge_fit
from edgeworth.agents.designers.search import SearchBudget, distinct, mean_scores, rounded, search_mechanism
from edgeworth.config import AuctionConfig
from edgeworth.files import write_arrays
from edgeworth.games.auction.batch import MarketBatch, Rows
from edgeworth.games.auction.population import TYPES
from edgeworth.games.auction.state import MECHANISM
from edgeworth.games.auction.vocabulary import BIDDER_TYPES, COLLUDER
from edgeworth.progress import Progress, silent
from edgeworth.seeding import generator

Matrix = NDArray[np.float64]
LIBRARY_NAME = "compositions"
TRAINING_POPULATIONS = ("stages", "mixed", "dirichlet")
DRAWS = 3000
"""Compositions drawn from each of them, to find the clusters."""
MOST_COMPOSITIONS = 500
"""With more bidders there are more compositions than this; then so many of them are evaluated, drawn at random."""
RIDGE = 1.0
CLUSTER_ROUNDS = 20


@dataclass(frozen=True)
class CompositionLibrary:
    """Compositions, the mechanisms, and which mechanism is best for which composition."""

    compositions: NDArray[np.int64]
    """Bidders by type, shape (compositions, types)."""
    mechanisms: Rows
    choice: NDArray[np.int64]
    """The place of the best mechanism, by composition."""

    def mechanisms_for(self, counts: NDArray[np.int64]) -> Rows:
        """The best mechanism for each of these compositions; one that is not here takes that of the nearest shares."""
        shares, known = shares_of(counts), shares_of(self.compositions)
        each, where = np.unique(shares, axis=0, return_inverse=True)
        nearest = np.array([np.abs(known - one).sum(axis=1).argmin() for one in each])
        chosen: Rows = self.mechanisms[self.choice[nearest[where.ravel()]]]
        return chosen


def shares_of(counts: NDArray[np.int64]) -> Matrix:
    """Compositions as shares of the bidders."""
    shares: Matrix = counts / counts.sum(axis=1, keepdims=True)
    return shares


def compositions_of(n_agents: int) -> NDArray[np.int64]:
    """Every composition of so many bidders; none has a lone colluder, since a ring needs two."""
    bars = itertools.combinations(range(n_agents + TYPES - 1), TYPES - 1)
    all_of_them = np.array([np.diff([-1, *places, n_agents + TYPES - 1]) - 1 for places in bars])
    found: NDArray[np.int64] = all_of_them[all_of_them[:, COLLUDER] != 1]
    if len(found) > MOST_COMPOSITIONS:
        found = found[np.sort(generator(n_agents).choice(len(found), MOST_COMPOSITIONS, replace=False))]
    return found


def population_of(composition: NDArray[np.int64], n_agents: int) -> AuctionConfig:
    """Markets of exactly this composition."""
    shares = {name: count / n_agents for name, count in zip(BIDDER_TYPES, composition.tolist(), strict=True)}
    return AuctionConfig(mix=shares, n_agents=n_agents)


def drawn_compositions(n_agents: int, seed: int) -> NDArray[np.int64]:
    """Compositions as the training populations draw them."""
    drawn = []
    for stage in TRAINING_POPULATIONS:
        batch = MarketBatch(AuctionConfig(stage=stage, n_agents=n_agents), DRAWS)
        batch.seed(seed)
        batch.reset()
        drawn.append(batch.markets["count"].copy())
    return np.concatenate(drawn)


def cluster_centres(drawn: NDArray[np.int64], clusters: int, seed: int) -> NDArray[np.int64]:
    """Compositions in the middle of clusters of what is drawn (k-means from k-means++: Arthur and Vassilvitskii 2007)."""
    rng, points = generator(seed), drawn.astype(np.float64)
    centres = points[:1]
    for _ in range(clusters - 1):
        apart = _distances(points, centres).min(axis=1)
        if not apart.any():
            break
        centres = np.concatenate([centres, points[rng.choice(len(points), 1, p=apart / apart.sum())]])
    for _ in range(CLUSTER_ROUNDS):
        member = _distances(points, centres).argmin(axis=1)
        centres = np.stack([points[member == k].mean(axis=0) if (member == k).any() else centre for k, centre in enumerate(centres)])
    middle = drawn[_distances(points, centres).argmin(axis=0)]
    return np.unique(middle, axis=0)


def _distances(points: Matrix, centres: Matrix) -> Matrix:
    distances: Matrix = ((points[:, None] - centres[None]) ** 2).sum(axis=2)
    return distances


def searched_candidates(
    bundled: Rows, centres: NDArray[np.int64], budget: SearchBudget, seed: int, threads: int = 1, progress: Progress = silent
) -> Rows:
    """The bundled mechanisms, and the best one for each of these compositions."""
    found = [bundled]
    for place, composition in enumerate(centres):
        progress(f"composition {place + 1} of {len(centres)}", place, len(centres))
        config = population_of(composition, int(composition.sum()))
        found.append(search_mechanism(config, seed + place, budget, threads=threads, start=bundled).mechanisms[:1])
    return distinct(rounded(np.concatenate(found)))


def build_library(
    candidates: Rows, compositions: NDArray[np.int64], markets: int, seed: int, threads: int = 1, progress: Progress = silent
) -> CompositionLibrary:
    """Every candidate on every composition, and the best one by its shrunken mean."""
    n_agents, means, errors = int(compositions[0].sum()), [], []
    for place, composition in enumerate(compositions):
        scores = mean_scores(candidates, population_of(composition, n_agents), markets, seed + place * markets, threads)
        scores -= scores.mean(axis=0)  # luck that all candidates share
        means.append(scores.mean(axis=1))
        errors.append(scores.var(axis=1, ddof=1) / markets)
        progress(f"composition {place + 1} of {len(compositions)}", place + 1, len(compositions))
    estimates = shrunken(np.stack(means), np.stack(errors), shares_of(compositions))
    choice = estimates.argmax(axis=1)
    used, places = np.unique(choice, return_inverse=True)
    return CompositionLibrary(compositions, candidates[used], places.ravel())


def shrunken(means: Matrix, errors: Matrix, shares: Matrix) -> Matrix:
    """Means by (composition, candidate), drawn towards a quadratic in the shares as far as their sampling error calls for."""
    smooth = ridge_fit(shares[:, 1:], means, RIDGE).apply(shares[:, 1:])
    spread = np.maximum(((means - smooth) ** 2 - errors).mean(axis=0), 0.0)  # what the quadratic misses, by candidate
    weight = spread / np.maximum(spread + errors, 1e-12)
    estimates: Matrix = smooth + weight * (means - smooth)
    return estimates


def save_library(path: Path, library: CompositionLibrary) -> None:
    """Write a library into one file of arrays."""
    columns = {name: np.asarray(library.mechanisms[name]) for name in library.mechanisms.dtype.names or ()}
    write_arrays(path, {"compositions": library.compositions, "choice": library.choice, **columns})


def load_library(path: Path) -> CompositionLibrary:
    """Read what `save_library` wrote."""
    with open_arrays(path, "library of compositions", "edgeworth designer library") as arrays:
        mechanisms = np.zeros(len(arrays["auction_type"]), MECHANISM)
        for name in MECHANISM.names or ():
            mechanisms[name] = arrays[name]
        return CompositionLibrary(arrays["compositions"], mechanisms, arrays["choice"])
