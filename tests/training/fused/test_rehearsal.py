"""Rehearsal: what every offer would be worth, the gradient of what is expected, and the networks that runs begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from edgeworth.agents.network.layers import Gradients, NetworkArrays
from edgeworth.agents.network.player import NetworkPlayer
from edgeworth.agents.policy import Policy
from edgeworth.agents.policy_layout import PolicyShape, first_parameters
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.hindsight import GOES_ON, all_closings, best_closings
from edgeworth.games.bargaining.vocabulary import AGENT, AGREE, INSIST, ONGOING
from edgeworth.training.fused import rehearsal
from edgeworth.training.fused.rehearsal import moments_of, rehearse, situations_of
from edgeworth.training.fused.update import Moments
from edgeworth.training.learner import shape_of
from edgeworth.training.run import Run
from edgeworth.training.settings import RehearsalSettings, load_settings, settings_of

LINEAR = BargainingConfig(partner="linear")
SHAPE = PolicyShape(68, hidden=16, reading="fine", memory="history", shortcut=True)
SHORT: dict[str, Any] = {
    "num_train_steps": 64,
    "env": {"partner": "linear"},
    "ppo": {"num_envs": 8, "rollout": 8, "minibatch": 32, "hidden": 16, "memory": "history", "reading": "fine", "shortcut": True},
    "rehearsal": {"negotiations": 400},
}


def begun(partner: str, size: int = 40, moves: int = 2) -> BargainingBatch:
    """Negotiations in which the agent has asked for everything some times."""
    batch = BargainingBatch(BargainingConfig(partner=partner), size)
    batch.seed(3)
    batch.reset()
    for _ in range(moves):
        going = batch.state["outcome"] == ONGOING
        part = batch.selected(going)
        part.step(np.full(part.size, INSIST), part.state["counts"].astype(np.int64))
        batch.write_back(part, going)
    return batch


@pytest.mark.parametrize("partner", ["heuristic", "boulware", "conceder", "tit_for_tat", "population"])
def test_every_closing_is_what_the_rules_pay_for_the_move(partner: str) -> None:
    batch = begun(partner, moves=3)
    orders = np.tile(np.array([2, 0, 1], np.int32), (batch.size, 1))
    agreed, offers, paid = np.empty(batch.size), np.empty((batch.size, 125)), np.empty(batch.size)
    agreed_alone = np.empty(batch.size)
    trial, before = batch.state[:1].copy(), batch.state.tobytes()
    all_closings(batch.state, batch.rules, batch.partners, trial, np.empty(3, np.int64), orders, 4, agreed, offers)
    best_closings(batch.state, batch.rules, batch.partners, trial, agreed_alone, paid)
    assert batch.state.tobytes() == before
    best = np.full(batch.size, GOES_ON)
    going = batch.state["outcome"] == ONGOING
    closed = 0
    for number in range(-1, 125):
        share = np.array([number // 5 % 5, number % 5, number // 25])  # of the types 0, 1, 2, which stand second, third and first
        fits = going & ((batch.masks[:, AGREE] > 0) if number < 0 else (share <= batch.state["counts"]).all(axis=1))
        part = batch.selected(fits)
        part.step(np.full(part.size, AGREE if number < 0 else INSIST), np.tile(share * (number >= 0), (part.size, 1)))
        wanted = np.where(part.state["outcome"] == ONGOING, GOES_ON, part.reports["reward"])
        found = agreed if number < 0 else offers[:, number]
        np.testing.assert_array_equal(found[fits], wanted)
        assert not found[going & ~fits].any()
        best[fits] = np.maximum(best[fits], wanted)
        closed += (wanted > GOES_ON).sum()
    np.testing.assert_array_equal(paid[going], best[going])
    offered = going & (batch.masks[:, AGREE] > 0)
    np.testing.assert_array_equal(agreed_alone[offered], agreed[offered])
    assert closed > 100


def test_the_gradient_is_that_of_what_is_expected() -> None:
    batch = BargainingBatch(LINEAR, 60)
    batch.seed(1)
    batch.reset()
    parameters = first_parameters(SHAPE, 0)
    parameters += np.random.default_rng(0).normal(0.0, 0.1, len(parameters)).astype(np.float32)
    some = situations_of(batch, SHAPE, NetworkPlayer(parameters, SHAPE), 0.03, 1.0)
    size, value, entropy = len(some.agreed), 0.5, 0.1
    net, moments = NetworkArrays.of(parameters.copy(), SHAPE), Moments.of(SHAPE.size)
    weights = np.float32(value), np.float32(entropy)
    rehearsal.rehearse_minibatches(
        net, Gradients.of(SHAPE), moments, *some, np.zeros((3, 5)), np.arange(size), size, np.float64(0.0), np.float64(1e9), *weights, 0
    )
    policy = Policy(SHAPE, parameters).double()
    legal = torch.from_numpy((some.legal[:, :1] >> np.arange(5)) & 1)
    caps = torch.from_numpy(np.log2(some.legal[:, 1:] + 1).astype(np.int64) - 1)
    outlook = policy(torch.from_numpy(some.inputs).double(), legal, caps)
    acts, (first, second, third) = outlook.acts.exp(), outlook.shares.exp().unbind(1)
    worth = torch.from_numpy(some.offers).double().view(-1, 5, 5, 5)
    of_offers = torch.einsum("na,nb,nc,nabc->n", first, second, third, worth)
    expected = acts[:, INSIST] * of_offers + acts[:, AGREE] * torch.from_numpy(some.agreed)
    spread = policy.entropies(outlook)
    bonus = spread.act + spread.shares.sum(1)
    loss = -expected + value * 0.5 * (outlook.values - expected.detach()).square() - entropy * bonus
    loss.mean().backward()
    wanted = torch.cat([policy.get_parameter(name).grad.flatten() for name in SHAPE.tensors()]).numpy()  # type: ignore[union-attr]
    found = moments.gradient.astype(np.float64)
    assert np.linalg.norm(found - wanted) < 1e-5 * np.linalg.norm(wanted)


def test_an_offer_that_is_refused_is_worth_what_the_network_expects_next() -> None:
    batch = begun("linear", 200, moves=0)
    parameters = np.zeros(SHAPE.size, np.float32)
    SHAPE.split(parameters)["heads.bias"][-1] = 7.0
    some = situations_of(batch, SHAPE, NetworkPlayer(parameters, SHAPE), 0.03, 0.5)
    left = np.rint(some.inputs[:, 17] * 10)
    pools, shares = np.rint(some.inputs[:, None, :3] * 4), np.indices((5, 5, 5)).reshape(3, -1).T
    fits = np.asarray((pools >= shares).all(axis=2))
    at_first = some.offers[left == 10][fits[left == 10]]
    assert (at_first == 3.5).mean() > 0.8  # most are refused by a linear partner at the first move
    assert (some.offers[left <= 2] < 3.5).all()  # the last move with a reply, and the one with none


def test_the_network_makes_its_own_offers_in_some_negotiations_and_asks_for_everything_in_the_others() -> None:
    batch = begun("conceder", 200, moves=0)
    moments = moments_of(batch, SHAPE, NetworkPlayer(first_parameters(SHAPE, 0), SHAPE), 80)
    assert len(moments) == 5
    assert moments[2].open[:80].sum() < 40 < moments[2].open[80:].sum()  # a new network gives things away
    for moment in moments[1:]:
        offered, counts = moment.state["offer"][:, AGENT], moment.state["counts"]
        assert (offered[80:] == counts[80:]).all()
        assert (offered[:80] < counts[:80]).any(axis=1).mean() > 0.9


def test_situations_after_own_offers_remember_them() -> None:
    parameters = np.zeros(SHAPE.size, np.float32)
    SHAPE.split(parameters)["heads.bias"][-1] = 7.0
    some = situations_of(begun("linear", 200, moves=0), SHAPE, NetworkPlayer(parameters, SHAPE), 0.03, 0.5, own=200)
    first_offers = some.inputs[:, 18:21][some.inputs[:, 22] > 0]
    assert len(np.unique(first_offers, axis=0)) > 20
    assert np.isin(some.offers, 3.5).any(axis=1).mean() > 0.3  # a refusal is worth what is expected, also where the offer made was accepted


def test_a_network_that_has_rehearsed_plays_far_better_than_a_new_one() -> None:
    from edgeworth.evaluation.episodes import play_episodes

    settings = load_settings(changes=SHORT)
    shape = shape_of(LINEAR, settings.ppo)

    class Net:
        knows_partner: ClassVar[bool] = False

        def __init__(self, parameters: Any) -> None:
            self.player = NetworkPlayer(parameters, shape)

        def choose(self, batch: BargainingBatch) -> Any:
            return self.player.choose_from(batch.features(memory=True), batch.masks, batch.views[:, :3])

    learnt = rehearse(LINEAR, shape, RehearsalSettings(20_000, passes=4, minibatch=256), settings.ppo, 0.03, 0)
    scores = [play_episodes(LINEAR, Net(parameters), 2000, 9).share for parameters in (first_parameters(shape, 0), learnt)]
    assert scores[1] > max(0.45, scores[0] + 0.2), scores


def test_both_backends_begin_with_the_same_network_and_count_the_time(tmp_path: Path) -> None:
    runs = {
        backend: Run.begin(settings_of({**SHORT, "backend": backend, "device": "cpu"}), tmp_path / backend, "a test")
        for backend in ("fused", "torch")
    }
    fused, reference = (run.learner.parameters.copy() for run in runs.values())
    assert fused.tobytes() == reference.tobytes()
    assert not np.array_equal(fused, first_parameters(runs["fused"].shape, 0))
    rehearsed = {run: run.progress.cpu_seconds for run in runs.values()}
    assert min(rehearsed.values()) > 0.0
    for run in runs.values():
        line = run.train()
        run.close()
        assert float(line["cpu_seconds"]) > rehearsed[run]
    resumed = Run.resume(settings_of({**SHORT, "num_train_steps": 128}), tmp_path / "fused")
    assert resumed.learner.parameters.tobytes() == runs["fused"].learner.parameters.tobytes()
    resumed.close()


def test_a_rehearsal_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "TOGETHER", 50)
    seen: list[tuple[str, int, int]] = []
    settings = load_settings(changes=SHORT)
    shape = shape_of(LINEAR, settings.ppo)
    rehearse(LINEAR, shape, RehearsalSettings(140), settings.ppo, 0.03, 0, lambda *report: seen.append(report))
    assert seen == [("50 negotiations", 1, 3), ("100 negotiations", 2, 3), ("150 negotiations", 3, 3)]


@pytest.mark.parametrize("section", [{"hints": {"mode": "random"}}, {"self_play": {}, "env": {}}])
def test_rehearsals_with_hints_or_self_play_are_refused(section: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match="without hints and without self-play"):
        settings_of({**SHORT, **section})


def test_a_partner_outside_the_rules_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="partner of the rules"):
        Run.begin(settings_of({**SHORT, "env": {"partner": "expert"}, "ppo": {"hidden": 16}}), tmp_path / "run", "a test")
