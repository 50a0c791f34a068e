"""Views of the games: Gymnasium, vector and PettingZoo environments over the same compiled rules."""

from __future__ import annotations

from gymnasium.envs.registration import register, registry

BARGAINING_ID = "DealOrNoDialog-v0"


def register_environments() -> None:
    """Make our environments known to `gymnasium.make` and `make_vec`; called by `import edgeworth`."""
    if BARGAINING_ID not in registry:
        register(
            id=BARGAINING_ID,
            entry_point="edgeworth.envs.negotiation:NegotiationEnv",
            vector_entry_point="edgeworth.envs.negotiation_vector:NegotiationVectorEnv",
        )
