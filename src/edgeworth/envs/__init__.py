"""Views of the games: Gymnasium, vector and PettingZoo environments over the same compiled rules."""

from __future__ import annotations

from gymnasium.envs.registration import register, registry

ENVIRONMENTS = {
    "DealOrNoDialog-v0": ("edgeworth.envs.negotiation:NegotiationEnv", "edgeworth.envs.negotiation_vector:NegotiationVectorEnv"),
    "DealOrNoDialogFlat-v0": ("edgeworth.envs.flat_action:FlatActionEnv", "edgeworth.envs.flat_action:FlatActionVectorEnv"),
}
"""Environment id → single and vector entry point."""


def register_environments() -> None:
    """Make our environments known to `gymnasium.make` and `make_vec`; called by `import edgeworth`."""
    for name, (single, vector) in ENVIRONMENTS.items():
        if name not in registry:
            register(id=name, entry_point=single, vector_entry_point=vector)
