"""`DealOrNoDialog-v0` as a vector environment: N episodes per call of the compiled rules.

`gymnasium.make_vec("DealOrNoDialog-v0", num_envs=N)` returns it. Episode *i* of seed s plays exactly what a single environment with
seed s + i plays. By default an episode that ends is followed at once by the next (same-step autoreset): observations and masks show
the new episode, `infos["final_obs"]` and `infos["final_info"]` the end of the old one, valid where `infos["_final_obs"]` is true.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from edgeworth.config import BargainingConfig
from edgeworth.envs.negotiation_spaces import (
    action_space,
    batch_action_space,
    begin_episodes,
    checked_acts,
    checked_shares,
    observation_of,
    observation_space,
    table_of,
)
from edgeworth.envs.options import RENDER_MODES, checked_autoreset_mode, checked_render_mode, checked_reset_mask
from edgeworth.errors import IllegalAction, InvalidOption
from edgeworth.games.bargaining import rules
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import Context, context_of
from edgeworth.games.bargaining.state import VIEW, Outputs

ENDINGS = ("outcome", "partner_reward", "deal")
"""The fields of a report that say how an episode ended."""
HAS_ENDINGS = tuple(f"_{name}" for name in ENDINGS)
RULE_OF_MODE = {
    AutoresetMode.SAME_STEP: rules.SAME_STEP,
    AutoresetMode.NEXT_STEP: rules.NEXT_STEP,
    AutoresetMode.DISABLED: rules.NEVER,
}


class NegotiationVectorEnv(VectorEnv[Any, Any, NDArray[Any]]):
    """Many bargaining episodes side by side."""

    def __init__(
        self,
        num_envs: int = 1,
        scenario: str | None = None,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        utterances: str | None = None,
        **options: Any,
    ) -> None:
        self.autoreset_mode = checked_autoreset_mode(autoreset_mode)
        self._autoreset = RULE_OF_MODE[self.autoreset_mode]
        self.metadata = {"render_modes": RENDER_MODES, "autoreset_mode": self.autoreset_mode}
        if utterances is not None:
            raise InvalidOption(
                'utterances belong to single environments; use make_vec(..., vectorization_mode="sync") for several of those.'
            )
        self.config = BargainingConfig.from_options(scenario, **options)
        self.batch = BargainingBatch(self.config, num_envs, keeps_histories=True)
        self.num_envs = num_envs
        self.render_mode = checked_render_mode(render_mode)
        self.single_observation_space: spaces.Space[Any] = observation_space(self.config, self.batch.max_count)
        self.single_action_space: spaces.Space[Any] = action_space(self.batch)
        self.observation_space: spaces.Space[Any] = batch_space(self.single_observation_space, num_envs)
        self.action_space: spaces.Space[Any] = batch_action_space(self.batch)

    def reset(self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin new episodes: all of them, or those that `options["reset_mask"]` names."""
        chosen = checked_reset_mask((options or {}).get("reset_mask"), self.num_envs, self.batch.started)
        begin_episodes(self.batch, seed, options, chosen, also_known=("reset_mask",))
        if isinstance(seed, int | np.integer):
            super().reset(seed=int(seed))
        return self._observations(), self._infos()

    def step(self, actions: Any) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """One step of every episode, or an error before any has moved."""
        try:
            acts, shares = actions["act_type"], actions["oA"]
        except (KeyError, TypeError, IndexError) as error:
            raise IllegalAction(f"The actions are {actions!r}; expected a mapping with act_type and oA.", "action_shape") from error
        self.batch.step(checked_acts(acts, self.num_envs), checked_shares(shares, self.num_envs), self._autoreset)
        out = self.batch.outputs
        infos = self._infos()
        if np.count_nonzero(out.ended):
            self._add_endings(infos, out)
        return self._observations(), out.rewards, out.ended, np.zeros(self.num_envs, np.bool_), infos

    def random_actions(self) -> Any:
        """A legal action for every episode, drawn from the episode's own randomness."""
        acts, shares = self.batch.random_actions()
        return {"act_type": acts, "oA": shares}

    def features(self, out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """The 18 base features of every episode, written into `out` where it is given."""
        return self.batch.features(out=out)

    def contexts(self) -> list[Context]:
        """The contexts in play, the partners' utilities included; for measurements, not for the agent."""
        return [context_of(episode) for episode in self.batch.state]

    def render(self) -> tuple[str, ...] | None:
        """The negotiation of every episode as a table of text."""
        if self.render_mode is None:
            return None
        return tuple(table_of(self.batch, slot) for slot in range(self.num_envs))

    def _observations(self) -> Any:
        return observation_of(self.batch.views, self.config.normalize)

    def _final_observations(self) -> Any:
        """The end of the episodes that were followed at once by the next."""
        return observation_of(self.batch.outputs.final_views, self.config.normalize)

    def _infos(self) -> dict[str, Any]:
        out, views = self.batch.outputs, self.batch.views
        return {
            "action_mask": out.masks,
            "oA_max": views[:, VIEW["counts"]],
            "partner_has_spoken": views[:, VIEW["partner_has_spoken"]].astype(np.bool_),
            "my_last_offer": views[:, VIEW["my_last_offer"]],
            "history": out.histories,
        }

    def _add_endings(self, infos: dict[str, Any], out: Outputs) -> None:
        endings: dict[str, Any] = {name: out.reports[name] for name in ENDINGS}
        endings |= dict.fromkeys(HAS_ENDINGS, out.ended)
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            infos["final_obs"], infos["final_info"] = self._final_observations(), endings
            infos["_final_obs"] = infos["_final_info"] = out.ended
        else:
            infos.update(endings)
