"""Forecasts of how each mechanism of a library would do in a market from here on.

After every step the forecast is revised: a ridge regression on all products of two features predicts, from the last forecast and from
what was just seen of the market (scores and proxies), the mean score of every mechanism of the library if it stayed in force to the end.
There is one regression per step and mechanism in force, fitted on markets that were played in the same way: the first step under a probe,
each later one under the mechanism with the best forecast. A designer remembers nothing but its last forecast.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.bundled import open_arrays
from edgeworth.config import AuctionConfig
from edgeworth.files import write_arrays
from edgeworth.games.auction.batch import MarketBatch, Rows, constant_rows
from edgeworth.games.auction.market_view import MarketView
from edgeworth.games.auction.state import COMPONENTS, PROXIES
from edgeworth.progress import Progress, silent

Matrix = NDArray[np.float64]

SEEN = (*COMPONENTS, *PROXIES)
"""What a forecast looks at: the four components of the score and the proxies."""
LEAST_MARKETS = 400
"""Fewer markets than this are not enough to fit a revision on; the forecast then stays as it was."""


@dataclass(frozen=True)
class Revision:
    """How a forecast changes with what was seen under one mechanism at one step."""

    centre: Matrix
    scale: Matrix
    coefficients: Matrix

    def apply(self, features: Matrix) -> Matrix:
        """The new forecast for each market, one column per mechanism of the library."""
        return products((features - self.centre) / self.scale) @ self.coefficients


Revisions = dict[tuple[int, int], Revision]
"""By step and by the library's number of the mechanism in force."""


def products(features: Matrix) -> Matrix:
    """A constant, the features, and all products of two of them."""
    one, other = np.triu_indices(features.shape[1])
    return np.concatenate([np.ones((len(features), 1)), features, features[:, one] * features[:, other]], axis=1)


def revise(revisions: Revisions, step: int, in_force: NDArray[np.int64], forecast: Matrix, seen: Matrix) -> Matrix:
    """The forecast after a step; markets under a mechanism without a revision keep theirs."""
    revised = forecast.copy()
    for mechanism in np.unique(in_force):
        revision = revisions.get((step, int(mechanism)))
        if revision is not None:
            here = in_force == mechanism
            past = forecast[here] if step > 0 else forecast[here, :0]
            revised[here] = revision.apply(np.concatenate([past, seen[here]], axis=1))
    return revised


@dataclass(frozen=True)
class FitSettings:
    """How a forecast is fitted."""

    markets: int = 30_000
    """Markets that are played."""
    steps: int = 5
    """Steps after which the forecast is revised."""
    ridge: float = 30.0
    """Penalty on the coefficients, in markets."""


def fit_revisions(
    library: Rows, probe: int, config: AuctionConfig, settings: FitSettings, seed: int, threads: int = 1, progress: Progress = silent
) -> Revisions:
    """Play markets from this population as a designer would, and fit a revision for each step and mechanism that occurs."""
    size = settings.markets
    batch = MarketBatch(config, size)
    batch.seed(np.arange(seed, seed + size))
    batch.reset()
    in_force, forecast, revisions = np.full(size, probe), np.zeros((size, len(library))), Revisions()
    for step in range(settings.steps):
        outcomes = batch.step(library[in_force])
        seen = seen_of(np.stack([outcomes[name] for name in SEEN], axis=1), config.n_agents)
        future = mean_futures(batch, library, config.episode_length - step - 1, threads)
        for mechanism in np.unique(in_force):
            here = in_force == mechanism
            if here.sum() >= LEAST_MARKETS:
                past = forecast[here] if step > 0 else forecast[here, :0]
                features = np.concatenate([past, seen[here]], axis=1)
                revisions[step, int(mechanism)] = ridge_fit(features, future[here], settings.ridge)
        forecast = revise(revisions, step, in_force, forecast, seen)
        in_force = forecast.argmax(axis=1)
        progress(f"step {step + 1}", step + 1, settings.steps)
    return revisions


def mean_futures(batch: MarketBatch, library: Rows, steps: int, threads: int) -> Matrix:
    """The mean score of every market over its next steps under each mechanism of the library, (markets, mechanisms)."""
    played = [batch.copy().play_constant(constant_rows(row, batch.size), steps, threads) for row in library]
    return np.stack([scores.mean(axis=1) for scores in played], axis=1)


def ridge_fit(features: Matrix, targets: Matrix, penalty: float) -> Revision:
    """Least squares on all products of two standardised features, with a penalty on all but the constant."""
    centre, scale = features.mean(axis=0), features.std(axis=0) + 1e-9
    x = products((features - centre) / scale)
    weights = np.full(x.shape[1], penalty)
    weights[0] = 0.0
    solution: Matrix = np.linalg.solve(x.T @ x + np.diag(weights), x.T @ targets).astype(np.float64)
    return Revision(centre, scale, solution)


def seen_of(columns: Matrix, n_agents: int) -> Matrix:
    """What was seen of a step, with entrants as a share of those invited."""
    seen = columns.copy()
    seen[:, SEEN.index("entrants")] /= n_agents
    return seen


def seen_in(view: MarketView) -> Matrix:
    """What was seen of the last step of a view."""
    return seen_of(np.concatenate([view.outcomes[:, : len(COMPONENTS)], view.proxies], axis=1), view.n_agents)


def save_revisions(path: Path, revisions: Revisions) -> None:
    """Write the revisions into one file of arrays, in single precision."""
    arrays: dict[str, NDArray[np.float32]] = {}
    for (step, mechanism), revision in revisions.items():
        for name in ("centre", "scale", "coefficients"):
            arrays[f"{step}/{mechanism}/{name}"] = getattr(revision, name).astype(np.float32)
    write_arrays(path, arrays)


def load_revisions(path: Path) -> Revisions:
    """Read what `save_revisions` wrote."""
    parts: dict[tuple[int, int], dict[str, Matrix]] = {}
    with open_arrays(path, "file of forecasts", "edgeworth designer fit") as arrays:
        for name in arrays:
            step, mechanism, part = name.split("/")
            parts.setdefault((int(step), int(mechanism)), {})[part] = arrays[name].astype(np.float64)
        return {key: Revision(**part) for key, part in parts.items()}
