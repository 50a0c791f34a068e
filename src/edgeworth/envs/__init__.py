"""Views of the games: Gymnasium, vector and PettingZoo environments over the same compiled rules."""

from __future__ import annotations

from gymnasium.envs.registration import register, registry

from edgeworth.catalog import ENVIRONMENTS, VECTOR_ENVIRONMENTS


def register_environments() -> None:
    """Make our environments known to `gymnasium.make` and `make_vec`; called by `import edgeworth`."""
    for name, single in ENVIRONMENTS.items():
        if name not in registry:
            register(id=name, entry_point=single, vector_entry_point=VECTOR_ENVIRONMENTS[name])
