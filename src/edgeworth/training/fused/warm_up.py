"""Fills the compile cache of the trainer: a tiny iteration of every learner, and a few moves, so that the first run starts at once."""

from __future__ import annotations

from edgeworth.agents.network.player import NetworkPlayer, batch_uniforms
from edgeworth.config import BargainingConfig
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.training.fused.learner import FusedLearner
from edgeworth.training.learner import shape_of
from edgeworth.training.self_play import SelfPlay
from edgeworth.training.settings import HintSettings, PPOSettings, ReinforceSettings, SelfPlaySettings


def warm_up() -> None:
    """Compile every entry point once."""
    config = BargainingConfig()
    ppo = PPOSettings(num_envs=2, rollout=4, minibatch=4, epochs=1)
    for baseline in ("learned", "running", "none"):
        learn_once(config, ReinforceSettings(num_envs=2, rollout=4, minibatch=4, baseline=baseline))
    learn_once(config, ppo, HintSettings("random"), stepwise=True)
    SelfPlay(config, ppo, shape_of(config, ppo), 0, SelfPlaySettings()).iterate()
    learner = learn_once(config, ppo)
    batch = BargainingBatch(config, 2)
    batch.seed(0)
    batch.reset()
    player, situations = NetworkPlayer(learner.parameters, learner.shape), (batch.features(), batch.masks, batch.views[:, :3])
    for uniforms in (None, batch_uniforms(batch.state)):
        player.choose_from(*situations, uniforms)
    player.outlook(*situations)


def learn_once(
    config: BargainingConfig, settings: PPOSettings | ReinforceSettings, hints: HintSettings | None = None, stepwise: bool = False
) -> FusedLearner:
    """One iteration of a fresh learner."""
    hints = hints or HintSettings()
    learner = FusedLearner(config, settings, shape_of(config, settings, hints), 0, hints, stepwise=stepwise)
    learner.iterate()
    return learner


if __name__ == "__main__":
    warm_up()
