"""PPO as it is mostly written: a distribution object for every head, and Adam in plain Python loops. Meant as a yardstick of speed.

Everything else is the torch backend, and so is what it learns.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.distributions import Categorical

from edgeworth.agents.policy import NEVER, Policy
from edgeworth.agents.policy_layout import ACTS
from edgeworth.games.bargaining.vocabulary import ITEM_TYPES
from edgeworth.training.fused.update import ADAM_EPSILON
from edgeworth.training.ppo import PPO, normalised, value_loss_of
from edgeworth.training.torch_learner import Samples


def distributions(policy: Policy, features: Tensor, legal: Tensor, caps: Tensor) -> tuple[list[Any], Tensor]:
    """One distribution for the act and one for each item type, and the values."""
    hidden = features
    for layer in policy.trunk:
        hidden = torch.tanh(layer(hidden))
    heads = policy.heads(hidden)
    acts = heads[:, :ACTS].masked_fill(legal == 0, NEVER)
    shares = heads[:, ACTS:-1].view(-1, ITEM_TYPES, policy.shape.units + 1).masked_fill(policy.units > caps[:, :, None], NEVER)
    new: Any = Categorical
    return [new(logits=acts), *(new(logits=shares[:, k]) for k in range(ITEM_TYPES))], heads[:, -1]


class DistributionPPO(PPO):
    """The torch backend with distribution objects in its loss."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        state = self.adam.optimizer.state
        self.adam.optimizer = torch.optim.Adam(self.adam.tensors, self.settings.learning_rate, eps=ADAM_EPSILON, foreach=False)
        self.adam.optimizer.state.update(state)

    def loss(self, samples: Samples) -> tuple[Tensor, list[Tensor]]:
        settings = self.settings
        (act, *shares), values = distributions(self.policy, samples.features, samples.legal, samples.caps)
        stated = self.policy.states_share[samples.acts]
        of_share = sum(share.log_prob(samples.shares[:, k]) for k, share in enumerate(shares))
        log_ratio = act.log_prob(samples.acts) + stated * of_share - samples.log_probs
        ratio = log_ratio.exp()
        advantages = normalised(samples.advantages)
        policy_loss = -torch.minimum(advantages * ratio, advantages * ratio.clamp(1.0 - settings.clip, 1.0 + settings.clip)).mean()
        value_loss = value_loss_of(values, samples, settings.clip_value)
        of_shares = sum(share.entropy() for share in shares)
        entropy = (act.entropy() + (act.probs @ self.policy.states_share) * of_shares).mean()
        approx_kl = ((ratio - 1.0) - log_ratio).mean()
        clip_fraction = ((ratio - 1.0).abs() > settings.clip).float().mean()
        statistics = [policy_loss, value_loss, entropy, act.entropy().mean(), of_shares.mean(), approx_kl, clip_fraction]
        return policy_loss + settings.value * value_loss - self.bonus * entropy, statistics
