"""Rehearsal: what every offer would be worth, the gradient of what is expected and foreseen, and what likeliest play makes of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from edgeworth.agents.network.layers import Gradients, NetworkArrays
from edgeworth.agents.network.player import NetworkPlayer
from edgeworth.agents.policy import Policy
from edgeworth.agents.policy_layout import PolicyShape, first_parameters
from edgeworth.agents.trained_network import read_network
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.hindsight import GOES_ON, all_answers, best_closings
from edgeworth.games.bargaining.state import VIEW
from edgeworth.games.bargaining.vocabulary import AGENT, AGREE, INSIST, ONGOING, PARTNER_AGREED
from edgeworth.training.fused import rehearsal
from edgeworth.training.fused.rehearsal import moments_of, rehearse, situations_of
from edgeworth.training.fused.update import Moments
from edgeworth.training.learner import shape_of
from edgeworth.training.run import Run
from edgeworth.training.settings import RehearsalSettings, load_settings, settings_of

LINEAR = BargainingConfig(partner="linear")
SHAPE = PolicyShape(68, hidden=16, reading="fine", memory="history", shortcut=True, foresight=True)
SHORT: dict[str, Any] = {
    "num_train_steps": 0,
    "env": {"partner": "linear"},
    "ppo": {"hidden": 16, "memory": "history", "reading": "fine", "shortcut": True},
    "rehearsal": {"negotiations": 400},
}
FEW = np.indices((5, 5, 5)).reshape(3, -1).sum(axis=0) <= 3
"""Which of the 125 shares have up to three units."""


def begun(partner: str, size: int = 40, moves: int = 2, **options: Any) -> BargainingBatch:
    """Negotiations in which the agent has asked for everything some times."""
    batch = BargainingBatch(BargainingConfig(partner=partner, **options), size)
    batch.seed(3)
    batch.reset()
    for _ in range(moves):
        going = batch.state["outcome"] == ONGOING
        part = batch.selected(going)
        part.step(np.full(part.size, INSIST), part.state["counts"].astype(np.int64))
        batch.write_back(part, going)
    return batch


@pytest.mark.parametrize("partner", ["heuristic", "walk_away", "boulware", "conceder", "tit_for_tat", "population"])
@pytest.mark.parametrize("options", [{}, {"insist_price": 1.0, "discount": 0.9}])
def test_every_answer_is_that_of_the_rules(partner: str, options: dict[str, Any]) -> None:
    batch = begun(partner, moves=0 if partner == "walk_away" else 3, **options)
    orders = np.tile(np.array([2, 0, 1], np.int32), (batch.size, 1))
    agreed, accepted = np.empty(batch.size), np.empty((batch.size, 125), np.bool_)
    taken, refused = np.empty((2, batch.size, 125))
    paid, agreed_alone = np.empty((2, batch.size))
    trial, before = np.empty(2, batch.state.dtype), batch.state.tobytes()
    answers = agreed, accepted, taken, refused
    all_answers(batch.state, batch.rules, batch.partners, trial, np.empty(3, np.int64), orders, 4, *answers)
    best_closings(batch.state, batch.rules, batch.partners, trial, agreed_alone, paid)
    assert batch.state.tobytes() == before
    best, going = np.full(batch.size, GOES_ON), batch.state["outcome"] == ONGOING
    answered = going & (batch.state["turn"] < batch.config.max_turns - 1)
    for number in range(-1, 125):
        share = np.array([number // 5 % 5, number % 5, number // 25])  # of the types 0, 1, 2, which stand second, third and first
        fits = going & ((batch.masks[:, AGREE] > 0) if number < 0 else (share <= batch.state["counts"]).all(axis=1))
        part = batch.selected(fits)
        part.step(np.full(part.size, AGREE if number < 0 else INSIST), np.tile(share * (number >= 0), (part.size, 1)))
        wanted = np.where(part.state["outcome"] == ONGOING, GOES_ON, part.reports["reward"])
        best[fits] = np.maximum(best[fits], wanted)
        if number < 0:
            np.testing.assert_array_equal(agreed[fits], wanted)
            continue
        np.testing.assert_array_equal(accepted[fits, number], part.state["outcome"] == PARTNER_AGREED)
        np.testing.assert_array_equal(np.where(accepted, taken, refused)[fits, number], wanted)
        pays = batch.state["utilities"][:, AGENT] @ share * batch.config.discount ** batch.state["turn"] - batch.config.insist_price
        np.testing.assert_allclose(taken[answered & fits, number], pays[answered & fits])
        assert not accepted[going & ~fits, number].any()
        assert not np.where(accepted, taken, refused)[going & ~fits, number].any()
    np.testing.assert_array_equal(paid[going], best[going])
    offered = going & (batch.masks[:, AGREE] > 0)
    np.testing.assert_array_equal(agreed_alone[offered], agreed[offered])
    last = going & (batch.state["turn"] >= batch.config.max_turns - 2)
    assert (refused[last] > GOES_ON).all()
    assert accepted[going].sum() > 100


def test_the_gradient_is_that_of_what_is_expected_and_foreseen() -> None:
    batch = BargainingBatch(LINEAR, 60)
    batch.seed(1)
    batch.reset()
    parameters = first_parameters(SHAPE, 0)
    parameters += np.random.default_rng(0).normal(0.0, 0.1, len(parameters)).astype(np.float32)
    point = 0.03
    some = situations_of(batch, SHAPE, NetworkPlayer(parameters, SHAPE), point, 1.0)
    size, weights = len(some.agreed), rehearsal.Weights(*(np.float32(weight) for weight in (0.3, 0.2, 0.5, 0.1, point)))
    net, moments = NetworkArrays.of(parameters.copy(), SHAPE), Moments.of(SHAPE.size)
    room = np.zeros(128, np.float32), np.zeros((3, 5))
    rehearsal.rehearse_minibatches(
        net, Gradients.of(SHAPE), moments, some, *room, np.arange(size), size, np.float64(0.0), np.float64(1e9), weights, 0
    )
    policy = Policy(SHAPE, parameters).double()
    legal = torch.from_numpy((some.legal[:, :1] >> np.arange(5)) & 1)
    caps = torch.from_numpy(np.log2(some.legal[:, 1:] + 1).astype(np.int64) - 1)
    inputs = torch.from_numpy(some.inputs).double()
    outlook = policy(inputs, legal, caps)
    acts, (first, second, third) = outlook.acts.exp(), outlook.shares.exp().unbind(1)
    worth, agreed = torch.from_numpy(some.offers).double(), torch.from_numpy(some.agreed).double()
    of_offers = torch.einsum("na,nb,nc,nabc->n", first, second, third, worth.view(-1, 5, 5, 5))
    expected = acts[:, INSIST] * of_offers + acts[:, AGREE] * agreed
    spread = policy.entropies(outlook)
    aim, foreseen = what_is_foreseen(policy.outputs(inputs)[:, SHAPE.logits + 1 :], some, legal, caps, point)
    loss = -expected + weights.value * 0.5 * (outlook.values - aim).square() - weights.entropy * (spread.act + spread.shares.sum(1))
    (loss.mean() + foreseen).backward()
    wanted = torch.cat([policy.get_parameter(name).grad.flatten() for name in SHAPE.tensors()]).numpy()  # type: ignore[union-attr]
    found = moments.gradient.astype(np.float64)
    assert np.linalg.norm(found - wanted) < 1e-5 * np.linalg.norm(wanted)


def what_is_foreseen(outputs: Any, some: Any, legal: Any, caps: Any, point: float) -> tuple[Any, Any]:
    """What comes of the moves that promise most, and the loss of what is foreseen, in torch."""
    waiting, logits = outputs[:, :4], outputs[:, 4:]
    shares = torch.from_numpy(np.indices((5, 5, 5)).reshape(3, -1).T.astype(np.float64))
    fits = (caps[:, None, :] >= shares).all(2)
    accepted, wait = torch.from_numpy(some.accepted), torch.from_numpy(some.waiting).double() / (10.0 * point)
    brings = waiting[:, :1] + waiting[:, 1:] @ shares.T
    misses = torch.where(accepted, brings - wait[:, None], 0.0).square().sum(1) / accepted.sum(1).clamp(min=1)
    surprise = torch.nn.functional.binary_cross_entropy_with_logits(logits, accepted.double(), reduction="none")
    points = torch.from_numpy(np.rint(some.inputs[:, 3:6] * 10.0).astype(np.float64))
    promises = 10.0 * waiting[:, :1] + logits.sigmoid() * (points @ shares.T - 10.0 * brings)
    best = torch.where(fits, promises, -torch.inf).max(1)
    everything = ((caps[:, 0] * 5 + caps[:, 1]) * 5 + caps[:, 2])[:, None]
    number = torch.where((best.values < 10.0 * waiting[:, 0] + 1.0)[:, None], everything, best.indices[:, None])
    led_to = torch.from_numpy(some.offers).double().gather(1, number)[:, 0]
    offered = torch.from_numpy((np.rint(some.inputs[:, 14:17] * 4.0) * np.rint(some.inputs[:, 3:6] * 10.0)).sum(1))
    agrees = (legal[:, AGREE] > 0) & (offered >= best.values.clamp(min=0.0))
    aim = torch.where(agrees, torch.from_numpy(some.agreed).double(), led_to)
    loss = 0.2 * 0.5 * misses.mean() + 0.3 * torch.where(fits, surprise, 0.0).sum(1).mean()
    return aim.detach(), loss


def test_an_offer_that_is_refused_is_worth_what_the_network_expects_next() -> None:
    batch = begun("linear", 200, moves=0)
    parameters = np.zeros(SHAPE.size, np.float32)
    SHAPE.split(parameters)["heads.bias"][SHAPE.logits] = 7.0
    some = situations_of(batch, SHAPE, NetworkPlayer(parameters, SHAPE), 0.03, 0.5)
    left = np.rint(some.inputs[:, 17] * 10)
    pools, shares = np.rint(some.inputs[:, None, :3] * 4), np.indices((5, 5, 5)).reshape(3, -1).T
    fits = np.asarray((pools >= shares).all(axis=2))
    at_first = some.offers[left == 10][fits[left == 10]]
    assert (at_first == 3.5).mean() > 0.8  # most are refused by a linear partner at the first move
    assert (some.offers[left <= 2] < 3.5).all()  # the last move with a reply, and the one with none


def test_the_network_makes_its_own_offers_in_some_negotiations_and_asks_for_everything_in_the_others() -> None:
    batch = begun("conceder", 200, moves=0)
    moments = moments_of(batch, SHAPE, foreseeing(FEW), 80)
    assert len(moments) == 5
    for moment in moments[1:]:
        offered, counts = moment.state["offer"][:, AGENT], moment.state["counts"]
        assert (offered[80:] == counts[80:]).all()
        assert (offered[:80] < counts[:80]).any(axis=1).mean() > 0.9


def test_situations_after_own_offers_remember_them() -> None:
    parameters = np.zeros(SHAPE.size, np.float32)
    SHAPE.split(parameters)["heads.bias"][SHAPE.logits] = 7.0
    some = situations_of(begun("linear", 200, moves=0), SHAPE, NetworkPlayer(parameters, SHAPE), 0.03, 0.5, own=200)
    first_offers = some.inputs[:, 18:21][some.inputs[:, 22] > 0]
    assert len(np.unique(first_offers, axis=0)) > 20
    assert np.isin(some.offers, 3.5).any(axis=1).mean() > 0.3  # a refusal is worth what is expected, also where the offer made was accepted


def test_a_network_that_has_rehearsed_plays_far_better_than_a_new_one() -> None:
    from edgeworth.evaluation.episodes import play_episodes

    settings = load_settings(changes=SHORT)
    shape = replace(shape_of(LINEAR, settings.ppo), foresight=True)

    class Net:
        knows_partner: ClassVar[bool] = False

        def __init__(self, parameters: Any) -> None:
            self.player = NetworkPlayer(parameters, shape)

        def choose(self, batch: BargainingBatch) -> Any:
            return self.player.choose_from(batch.features(memory=True), batch.masks, batch.views[:, :3])

    learnt = rehearse(LINEAR, shape, RehearsalSettings(20_000, passes=4, minibatch=256), settings.ppo, 0.03, 0)
    scores = [play_episodes(LINEAR, Net(parameters), 2000, 9).share for parameters in (first_parameters(shape, 0), learnt)]
    assert scores[1] > max(0.45, scores[0] + 0.1), scores  # a new one asks for much


def foreseeing(accepted: Any, waiting: float = 0.0) -> NetworkPlayer:
    """A network that foresees the same in every situation: which of the 125 shares are accepted, and what waiting brings."""
    parameters = np.zeros(SHAPE.size, np.float32)
    bias = SHAPE.split(parameters)["heads.bias"]
    bias[SHAPE.logits + 1] = waiting / 10.0
    bias[SHAPE.logits + 5 :] = np.where(accepted, 20.0, -20.0)
    return NetworkPlayer(parameters, SHAPE)


def test_likeliest_play_takes_what_promises_most() -> None:
    batch = begun("linear", 200, moves=0)
    situations = batch.features(memory=True), batch.masks, batch.views[:, :3]
    shares, few = np.indices((5, 5, 5)).reshape(3, -1), FEW
    acts, found = foreseeing(few).choose_from(*situations)
    utilities, counts = batch.state["utilities"][:, AGENT].astype(np.int64), batch.state["counts"].astype(np.int64)
    assert (found <= counts).all() and (found.sum(axis=1) <= 3)[acts == INSIST].all()
    best = np.where((counts[:, :, None] >= shares).all(axis=1) & few, utilities @ shares, -1).max(axis=1)
    offered = (batch.views[:, VIEW["last_partner_offer_for_me"]] * utilities).sum(axis=1)
    agrees = (batch.masks[:, AGREE] > 0) & (offered >= best)
    assert 0 < agrees.sum() < batch.size
    np.testing.assert_array_equal(acts, np.where(agrees, AGREE, INSIST))
    worth = (found * utilities).sum(axis=1)
    asks = ~agrees & (best >= 1)
    np.testing.assert_array_equal(worth[asks], best[asks])


def test_an_agent_asks_for_everything_where_no_offer_promises_more_than_waiting() -> None:
    batch = begun("linear", 200, moves=0)
    situations = batch.features(memory=True), batch.masks, batch.views[:, :3]
    acts, found = foreseeing(np.ones(125, np.bool_), waiting=60.0).choose_from(*situations)
    whole = (batch.state["utilities"][:, AGENT].astype(np.int64) * batch.state["counts"]).sum(axis=1)
    waits = (whole < 60) & (batch.masks[:, AGREE] == 0)
    assert waits.any() and (acts[waits] == INSIST).all()
    np.testing.assert_array_equal(found[waits], batch.state["counts"][waits])


def test_a_rehearsal_is_all_of_a_training(tmp_path: Path) -> None:
    run = Run.begin(settings_of(SHORT), tmp_path / "run", "a test")
    line = run.train()
    assert run.over and line["steps"] == 0 and line["negotiations"] == 400 and line["cpu_seconds"] > 0
    run.close()
    network = read_network(tmp_path / "run")
    assert network.shape.foresight and network.shape.heads == SHAPE.logits + 1 + 4 + 125
    with pytest.raises(InvalidOption, match="num_train_steps is 64; expected 0, since a rehearsal is all of the training"):
        settings_of({**SHORT, "num_train_steps": 64})
    with pytest.raises(InvalidOption, match="num_train_steps is 0; expected more than 0"):
        settings_of({**SHORT, "rehearsal": None})


@pytest.mark.parametrize("options", [{"discount": 0.9}, {"insist_price": 1.0}])
def test_a_rehearsal_is_refused_where_time_or_insist_costs_something(options: dict[str, float]) -> None:
    with pytest.raises(InvalidOption, match="neither time nor INSIST costs anything"):
        rehearse(BargainingConfig(partner="linear", **options), SHAPE, RehearsalSettings(40), load_settings().ppo, 0.03, 0)


def test_both_backends_rehearse_to_the_same_network_and_count_the_time(tmp_path: Path) -> None:
    found = []
    for backend in ("fused", "torch"):
        run = Run.begin(settings_of({**SHORT, "backend": backend, "device": "cpu"}), tmp_path / backend, "a test")
        assert run.progress.cpu_seconds > 0.0
        assert not np.array_equal(run.learner.parameters, first_parameters(run.shape, 0))
        found.append(run.learner.parameters.tobytes())
        run.close()
    assert found[0] == found[1]


def test_a_rehearsal_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "TOGETHER", 50)
    seen: list[tuple[str, int, int]] = []
    rehearse(LINEAR, SHAPE, RehearsalSettings(140), load_settings(changes=SHORT).ppo, 0.03, 0, lambda *report: seen.append(report))
    assert seen == [("50 negotiations", 1, 3), ("100 negotiations", 2, 3), ("150 negotiations", 3, 3)]


@pytest.mark.parametrize("section", [{"hints": {"mode": "random"}}, {"self_play": {}, "env": {}}, {"curriculum": [{"from": 0}]}])
def test_rehearsals_with_hints_self_play_or_a_curriculum_are_refused(section: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match="without hints and without self-play"):
        settings_of({**SHORT, **section})


def test_a_partner_outside_the_rules_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="partner of the rules"):
        Run.begin(settings_of({**SHORT, "env": {"partner": "expert"}, "ppo": {"hidden": 16}}), tmp_path / "run", "a test")
