"""A trained designer beside those that it has to beat, on the same markets: the best constants and the adaptive designers."""

from __future__ import annotations

from typing import Any

from edgeworth.agents.designers.adaptive import PRIORS, Adaptive
from edgeworth.agents.designers.designer import Designer, play
from edgeworth.agents.designers.fixed import BestConstant
from edgeworth.config import AuctionConfig
from edgeworth.evaluation.statistics import mean, paired_difference
from edgeworth.progress import Progress, silent

POPULATIONS = ("stages", "mixed", "dirichlet", "held_out")


def designer_scores(
    designer: Designer, episodes: int, seed: int, n_agents: int = 8, episode_length: int = 10, progress: Progress = silent
) -> dict[str, Any]:
    """The mean score per step on each population, and its paired differences to the better constant and the better adaptive designer."""
    rows = {}
    for done, stage in enumerate(POPULATIONS):
        progress(stage, done, len(POPULATIONS))
        config = AuctionConfig(stage=stage, n_agents=n_agents, episode_length=episode_length)
        own, *others = (
            play(each, config, episodes, seed).mean(axis=1)
            for each in (designer, *(kind(name) for kind in (BestConstant, Adaptive) for name in PRIORS))
        )
        constant, adaptive = (max(pair, key=lambda scores: float(scores.mean())) for pair in (others[:2], others[2:]))
        rows[stage] = {
            "score": mean(own).as_dict(),
            "best_constant": mean(constant).as_dict(),
            "over_best_constant": paired_difference(own, constant).as_dict(),
            "adaptive": mean(adaptive).as_dict(),
            "over_adaptive": paired_difference(own, adaptive).as_dict(),
        }
    progress("done", len(POPULATIONS), len(POPULATIONS))
    return {"episodes": episodes, "evaluation_seeds": f"{seed} to {seed + episodes - 1}", "n_agents": n_agents, "populations": rows}
