"""Hints beside the observation: when they are asked for, what `info` shows, and that the game stays the same."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray

import edgeworth
from bargaining_table import POOL, fixed
from edgeworth import catalog
from edgeworth.agents.hints.advice import hints_of
from edgeworth.agents.questions import ask_once
from edgeworth.config import BargainingConfig, HintConfig
from edgeworth.dialogues.hint_prompt import hint_schema
from edgeworth.envs.hint_injector import HintFeed, HintInjectorEnv, HintInjectorVectorEnv, provider_of
from edgeworth.envs.negotiation import NegotiationEnv
from edgeworth.envs.negotiation_vector import NegotiationVectorEnv
from edgeworth.errors import InvalidOption, UnknownKey, UnknownName
from edgeworth.games.bargaining import rules
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.hint_features import AVAILABLE_COLUMN
from edgeworth.games.bargaining.hints import Hints
from edgeworth.protocol import Accepted, Reason, Rejection, parse_reply
from replies import HINT, PROVIDER_OPTIONS, said

MODES = list(AutoresetMode)
GREED = {"act_type": 0, "oA": np.array(POOL.counts)}
WALK = {"act_type": 3, "oA": np.zeros(3, np.int64)}


class Scripted:
    """Answers every question with what a function says of the agent's view, and remembers what it was asked."""

    def __init__(self, reply: Callable[[list[int]], str | None]) -> None:
        self.reply = reply
        self.calls: list[list[int]] = []
        self.put: list[int] = []

    @property
    def counters(self) -> Mapping[str, int | str]:
        return {"calls": len(self.calls)}

    def check(self, batch: BargainingBatch) -> None:
        self.checked = batch.size

    def give(self, batch: BargainingBatch, due: NDArray[np.bool_]) -> Hints:
        self.calls.append(np.flatnonzero(due).tolist())
        replies = ask_once([tuple(row) for row in batch.views[due].tolist()], self._answer)
        schemas = [hint_schema(batch.masks[slot], batch.views[slot, 0:3]) for slot in self.calls[-1]]
        verdicts = [parse_reply(reply, schema) for reply, schema in zip(replies, schemas, strict=True)]
        return hints_of(batch, due, [v.value if isinstance(v, Accepted) else v for v in verdicts])

    def _answer(self, views: list[Any]) -> list[str | None]:
        self.put.append(len(views))
        return [self.reply(list(view)) for view in views]


def always(text: str | None) -> Scripted:
    return Scripted(lambda view: text)


def pools(size: int | None = None, **options: Any) -> Any:
    """An environment that plays POOL, single or for so many, with the agent opening."""
    settings = {"opens": "agent", **options}
    return NegotiationEnv(**settings) if size is None else NegotiationVectorEnv(size, **settings)


def greedy(size: int) -> dict[str, Any]:
    return {"act_type": np.zeros(size, np.int64), "oA": np.tile(POOL.counts, (size, 1))}


# When


@pytest.mark.parametrize("k", [1, 2, 3, 5, 50])
def test_a_hint_comes_with_the_reset_and_after_every_kth_step(k: int) -> None:
    provider = always(said(HINT))
    env = HintInjectorEnv(pools(), provider, k=k)
    _, info = env.reset(seed=0, options=fixed(POOL))
    assert info["hint_features"][9] == 1.0 and len(provider.calls) == 1
    for t in range(4):
        _, _, terminated, _, info = env.step(GREED)
        due = (t + 1) % k == 0
        assert not terminated and ("hint" in info) is due and bool(info["hint_features"].any()) is due
    assert len(provider.calls) == 1 + 4 // k


def test_an_episode_that_is_over_gets_no_hint() -> None:
    provider = always(said(HINT))
    env = HintInjectorEnv(pools(), provider, hold_last=True)
    env.reset(seed=0, options=fixed(POOL))
    *_, terminated, _, info = env.step(WALK)
    assert terminated and not info["hint_features"].any() and "hint" not in info and len(provider.calls) == 1


def test_the_cadence_counts_the_steps_of_the_episode_whoever_opens() -> None:
    for opens in ("agent", "partner"):
        provider = always(said(HINT))
        env = HintInjectorEnv(pools(opens=opens), provider, k=2)
        for seed in range(3):
            env.reset(seed=seed, options=fixed(POOL))
            env.step(GREED)
            env.step(GREED)
        assert len(provider.calls) == 6


# What


def test_the_features_are_act_share_over_pool_confidence_and_availability() -> None:
    env = HintInjectorEnv(pools(), always(said(HINT, act_type=1, oA=[1, 1, 1])))
    _, info = env.reset(seed=0, options=fixed(POOL))
    np.testing.assert_array_equal(info["hint_features"], np.array([0, 1, 0, 0, 0, 1 / 2, 1, 1 / 3, 0.75, 1], np.float32))
    assert info["hint_features"].dtype == np.float32


def test_a_type_that_is_not_in_the_pool_has_no_part_of_it() -> None:
    env = HintInjectorEnv(pools(min_count=0), always(said(HINT, oA=[0, 1, 0])))
    _, info = env.reset(seed=0, options={"counts": (0, 1, 0), "my_utilities": (1, 1, 1), "partner_utilities": (1, 1, 1)})
    assert info["hint_features"].tolist() == [1, 0, 0, 0, 0, 0, 1, 0, 0.75, 1]


def test_a_hint_can_be_followed_as_it_is() -> None:
    env = HintInjectorEnv(pools(), "bayes")
    _, info = env.reset(seed=0, options=fixed(POOL))
    terminated, reward = False, 0.0
    while not terminated:
        assert env.action_space.contains({"act_type": np.int64(info["hint"]["act_type"]), "oA": info["hint"]["oA"]})
        _, reward, terminated, _, info = env.step(info["hint"])
    assert reward > 0


def test_a_batch_of_hints_can_be_followed_as_it_is() -> None:
    env = HintInjectorVectorEnv(NegotiationVectorEnv(32), "bayes")
    _, infos = env.reset(seed=0)
    total = 0.0
    for _ in range(10):
        assert infos["_hint"].all() and sorted(infos["hint"]) == ["act_type", "confidence", "oA"] and len(infos["hint"]) == 3
        _, rewards, _, _, infos = env.step(infos["hint"])
        total += rewards.sum()
    assert total > 0 and "act_type" in repr(infos["hint"])


REPLIES = {
    "no_json": "Hold out for the hat.",
    "several_objects": said(HINT) + said(HINT, act_type=1),
    "masked_act": said(HINT, act_type=2),
    "over_cap": said(HINT, oA=[3, 0, 0]),
    "bad_type": said(HINT, confidence=True),
    "not_finite": said(HINT, confidence=float("nan")),
    "no_reply": None,
}


@pytest.mark.parametrize("reason", REPLIES)
def test_a_rejected_hint_yields_neutral_features_and_its_reason(reason: str) -> None:
    env = HintInjectorEnv(pools(), always(REPLIES[reason]))
    _, info = env.reset(seed=0, options=fixed(POOL))
    assert not info["hint_features"].any() and "hint" not in info
    assert isinstance(info["hint_rejection"], Rejection) and info["hint_rejection"].reason == Reason(reason)
    assert env.hint_counts == {"asked": 1, "given": 0, reason: 1, "calls": 1}


def test_rejections_are_counted_by_reason() -> None:
    replies = iter([said(HINT), "no", None, "no", said(HINT)])
    env = HintInjectorEnv(pools(), Scripted(lambda view: next(replies)))
    env.reset(seed=0, options=fixed(POOL))
    for _ in range(4):
        env.step(GREED)
    assert env.hint_counts == {"asked": 5, "given": 2, "no_json": 2, "no_reply": 1, "calls": 5}


def test_in_a_batch_rejections_stand_beside_the_hints_of_the_others() -> None:
    env = HintInjectorVectorEnv(pools(3), Scripted(lambda view: said(HINT, oA=[2, 0, 0]) if view[0] >= 2 else "?"))
    rows = np.array([[1, 1, 1], [2, 1, 1], [3, 1, 1]])
    _, infos = env.reset(seed=0, options={"counts": rows, "my_utilities": (1, 1, 1), "partner_utilities": (1, 1, 1)})
    assert infos["_hint"].tolist() == [False, True, True] and infos["_hint_rejection"].tolist() == [True, False, False]
    assert infos["hint_rejection"][0].reason is Reason.NO_JSON and infos["hint_rejection"][1] is None
    assert infos["hint"]["oA"].tolist() == [[0, 0, 0], [2, 0, 0], [2, 0, 0]]
    assert env.hint_counts == {"asked": 3, "given": 2, "no_json": 1, "calls": 1}


def test_nothing_is_rejected_where_nothing_is_asked() -> None:
    env = HintInjectorVectorEnv(pools(2), always("?"), k=2)
    env.reset(seed=0, options=fixed(POOL))
    *_, infos = env.step(greedy(2))
    assert "hint_rejection" not in infos and not infos["_hint"].any()


# Options


def test_with_hold_last_a_hint_stays_until_the_next_is_due() -> None:
    turns: list[int] = []
    env = HintInjectorEnv(pools(), Scripted(lambda view: turns.append(view[16]) or said(HINT, oA=[len(turns), 0, 0])), k=2, hold_last=True)
    _, info = env.reset(seed=0, options=fixed(POOL))
    shown = [info["hint_features"][5]]
    for _ in range(4):
        info = env.step(GREED)[4]
        shown.append(info["hint_features"][5])
    assert shown == [0.5, 0.5, 1.0, 1.0, 0.0] and turns == [10, 6, 2]


def test_with_hold_last_a_rejection_ends_the_hint_before() -> None:
    replies = iter([said(HINT), "?", said(HINT)])
    env = HintInjectorEnv(pools(), Scripted(lambda view: next(replies)), k=2, hold_last=True)
    _, info = env.reset(seed=0, options=fixed(POOL))
    there = [info["hint_features"][9]]
    for _ in range(4):
        there.append(env.step(GREED)[4]["hint_features"][9])
    assert there == [1, 1, 0, 0, 1]


def test_a_hint_that_is_held_is_not_carried_into_the_next_episode() -> None:
    replies = iter([said(HINT), None])
    env = HintInjectorVectorEnv(pools(1), Scripted(lambda view: next(replies)), k=5, hold_last=True)
    env.reset(seed=0, options=fixed(POOL))
    *_, infos = env.step({"act_type": np.array([3]), "oA": np.zeros((1, 3), np.int64)})
    assert not infos["hint_features"].any()


def test_changing_what_info_showed_does_not_change_a_hint_that_is_held() -> None:
    for env in (HintInjectorEnv(pools(), "random", k=5, hold_last=True), HintInjectorVectorEnv(pools(1), "random", k=5, hold_last=True)):
        _, info = env.reset(seed=0, options=fixed(POOL))
        before = info["hint_features"].copy()
        info["hint_features"][:] = 7.0
        info = env.step(GREED if isinstance(env, HintInjectorEnv) else greedy(1))[4]
        assert info["hint_features"].tobytes() == before.tobytes()


def test_the_age_is_the_moves_since_the_question_over_k() -> None:
    env = HintInjectorEnv(pools(), always(said(HINT)), k=4, hold_last=True, age=True)
    _, info = env.reset(seed=0, options=fixed(POOL))
    ages = [info["hint_features"][10]]
    for _ in range(4):
        info = env.step(GREED)[4]
        ages.append(info["hint_features"][10])
    assert ages == [0.0, 0.25, 0.5, 0.75, 0.0] and info["hint_features"].shape == (11,)


def test_where_there_is_no_hint_there_is_no_age() -> None:
    env = HintInjectorEnv(pools(), always(said(HINT)), k=4, age=True)
    env.reset(seed=0, options=fixed(POOL))
    assert not env.step(GREED)[4]["hint_features"].any()
    env = HintInjectorEnv(pools(), always("?"), k=4, hold_last=True, age=True)
    env.reset(seed=0, options=fixed(POOL))
    assert not env.step(GREED)[4]["hint_features"].any()


# Many at once


def test_all_that_are_due_are_asked_in_one_call_and_the_same_question_once() -> None:
    provider = always(said(HINT))
    env = HintInjectorVectorEnv(pools(40), provider, k=2)
    env.reset(seed=0, options=fixed(POOL))
    assert provider.checked == 40
    env.step(greedy(40))
    env.step(greedy(40))
    assert provider.calls == [list(range(40))] * 2 and provider.put == [1, 1]


@pytest.mark.parametrize("hint", sorted(catalog.HINTS))
@pytest.mark.parametrize("options", [{"k": 1}, {"k": 2}, {"k": 2, "hold_last": True, "age": True}], ids=str)
@pytest.mark.filterwarnings("ignore::edgeworth.errors.FallbackUsed")
def test_in_a_batch_every_episode_sees_the_hints_that_it_sees_alone(hint: str, options: dict[str, Any]) -> None:
    size = 6
    options = {**options, "hint_options": PROVIDER_OPTIONS.get(hint)}
    vector = HintInjectorVectorEnv(NegotiationVectorEnv(size), hint, **options)
    singles = [HintInjectorEnv(NegotiationEnv(), hint, **options) for _ in range(size)]
    _, infos = vector.reset(seed=30)
    alone = [env.reset(seed=30 + i)[1] for i, env in enumerate(singles)]
    for _ in range(15):
        for i in range(size):
            assert infos["hint_features"][i].tobytes() == alone[i]["hint_features"].tobytes()
            assert infos["_hint"][i] == ("hint" in alone[i])
            if infos["_hint"][i]:
                assert {key: array[i].tolist() for key, array in infos["hint"].items()} == {
                    key: np.asarray(value).tolist() for key, value in alone[i]["hint"].items()
                }
        actions = vector.unwrapped.random_actions()
        *_, infos = vector.step(actions)
        for i, env in enumerate(singles):
            _, _, terminated, _, alone[i] = env.step({"act_type": actions["act_type"][i], "oA": actions["oA"][i]})
            if terminated:
                assert not alone[i]["hint_features"].any()
                alone[i] = env.reset()[1]
    if hint != "none":
        assert vector.hint_counts["given"] > size


@pytest.mark.parametrize("mode", MODES)
def test_an_episode_that_begins_gets_its_hint_in_every_autoreset_mode(mode: AutoresetMode) -> None:
    env = HintInjectorVectorEnv(pools(2, autoreset_mode=mode), always(said(HINT)), k=3)
    env.reset(seed=0, options=fixed(POOL))
    *_, infos = env.step({"act_type": np.array([0, 3]), "oA": np.array([POOL.counts, (0, 0, 0)])})
    assert infos["_hint"].tolist() == [False, mode is AutoresetMode.SAME_STEP]
    if mode is AutoresetMode.NEXT_STEP:
        *_, infos = env.step(greedy(2))
        assert infos["_hint"].tolist() == [False, True]
    if mode is AutoresetMode.DISABLED:
        _, infos = env.reset(options={"reset_mask": np.array([False, True]), **fixed(POOL)})
        assert infos["_hint"].tolist() == [False, True]


def test_a_reset_of_some_leaves_the_others_as_they_were_and_asks_nothing_for_them() -> None:
    provider = always(said(HINT))
    env = HintInjectorVectorEnv(pools(3, autoreset_mode="Disabled"), provider)
    env.reset(seed=0, options=fixed(POOL))
    *_, infos = env.step({"act_type": np.array([0, 3, 0]), "oA": np.array([POOL.counts, (0, 0, 0), POOL.counts])})
    before = infos["hint_features"].copy()
    _, infos = env.reset(options={"reset_mask": np.array([False, True, False]), **fixed(POOL)})
    assert provider.calls == [[0, 1, 2], [0, 2], [1]]
    assert infos["hint_features"][[0, 2]].tobytes() == before[[0, 2]].tobytes() and infos["hint_features"][1, 9] == 1.0


@pytest.mark.parametrize("options", [{}, {"k": 2, "hold_last": True, "age": True}], ids=str)
def test_what_was_handed_out_stays_as_it_was(options: dict[str, Any]) -> None:
    env = HintInjectorVectorEnv(NegotiationVectorEnv(8), "random", **options)
    kept = [env.reset(seed=0)[1]["hint_features"]]
    copies = [kept[0].copy()]
    for _ in range(10):
        kept.append(env.step(env.unwrapped.random_actions())[4]["hint_features"])
        copies.append(kept[-1].copy())
    assert all(a.tobytes() == b.tobytes() for a, b in zip(kept, copies, strict=True))


def test_gymnasiums_own_vectorisation_can_carry_hints() -> None:
    provider = Scripted(lambda view: said(HINT, oA=[0, 0, 0]) if view[0] % 2 else "?")
    env = SyncVectorEnv([lambda: HintInjectorEnv(NegotiationEnv(), provider)] * 4)
    _, infos = env.reset(seed=0)
    for _ in range(10):
        assert infos["hint_features"].shape == (4, 10)
        *_, infos = env.step({"act_type": np.full(4, 3), "oA": np.zeros((4, 3), np.int64)})


# The game stays the same


@pytest.mark.parametrize("hint", ["random", "bayes"])
def test_hints_do_not_change_the_game(hint: str) -> None:
    bare, hinted = NegotiationVectorEnv(16), HintInjectorVectorEnv(NegotiationVectorEnv(16), hint)
    bare.reset(seed=9)
    hinted.reset(seed=9)
    for _ in range(25):
        actions = bare.random_actions()
        one, other = bare.step(actions), hinted.step(actions)
        for key, value in one[0].items():
            np.testing.assert_array_equal(value, other[0][key])
        np.testing.assert_array_equal(one[1], other[1])
        assert set(other[4]) - set(one[4]) == {"hint", "_hint", "hint_features"}


@pytest.mark.parametrize("name", ["DealOrNoDialog-v0", "DealOrNoDialogFlat-v0"])
def test_it_wraps_either_view_with_the_wrappers_of_make(name: str) -> None:
    env = HintInjectorEnv(gymnasium.make(name), "random")
    _, info = env.reset(seed=0)
    assert info["hint_features"].shape == (10,) and env.hint_counts == {"asked": 1, "given": 1}
    vector = HintInjectorVectorEnv(gymnasium.make_vec(name, num_envs=3), "random")
    _, infos = vector.reset(seed=0)
    assert infos["hint_features"][0].tobytes() == info["hint_features"].tobytes()


def test_an_episode_cut_short_by_a_wrapper_gets_no_hint() -> None:
    provider = always(said(HINT))
    env = HintInjectorEnv(gymnasium.wrappers.TimeLimit(pools(), 2), provider)
    env.reset(seed=0, options=fixed(POOL))
    env.step(GREED)
    *_, truncated, info = env.step(GREED)
    assert truncated and not info["hint_features"].any() and len(provider.calls) == 2


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copied", "pickled"])
def test_a_copy_plays_on_with_the_same_hints(twin: Any) -> None:
    env = HintInjectorVectorEnv(NegotiationVectorEnv(4), "random", k=2, hold_last=True)
    env.reset(seed=0)
    env.step(env.unwrapped.random_actions())
    other = twin(env)
    for _ in range(5):
        actions = env.unwrapped.random_actions()
        one, two = env.step(actions)[4], other.step(actions)[4]
        assert one["hint_features"].tobytes() == two["hint_features"].tobytes()
    assert other.hint_counts == env.hint_counts


# What bad input gets


def test_an_unknown_provider_is_answered_with_its_neighbour() -> None:
    with pytest.raises(UnknownName, match=r"Unknown hint provider 'baies'. Known: .*Did you mean 'bayes'"):
        HintInjectorEnv(pools(), "baies")


@pytest.mark.parametrize(("option", "message"), [({"k": 0}, "k is 0; expected 1 to 50"), ({"k": 1.5}, "k is 1.5; expected a whole number")])
def test_a_cadence_is_a_whole_number_from_one(option: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        HintInjectorEnv(pools(), "random", **option)


@pytest.mark.parametrize(("name", "ours"), [("cadence_k", "k"), ("provider", "hint"), ("hint_option", "hint_options")])
def test_another_name_for_an_option_is_answered_with_ours(name: str, ours: str) -> None:
    with pytest.raises(UnknownKey, match=f"Unknown option '{name}'. Known: .*Did you mean '{ours}'"):
        HintInjectorEnv(pools(), **{name: 1})


def test_options_of_a_provider_are_checked() -> None:
    assert HintInjectorEnv(pools(), "bayes", hint_options={"offers": 2}).feed.provider.offers == 2
    with pytest.raises(InvalidOption, match=r"Unknown setting of hint provider bayes 'ofers'.*Did you mean 'offers'"):
        HintInjectorEnv(pools(), "bayes", hint_options={"ofers": 2})
    with pytest.raises(InvalidOption, match="given by name"):
        HintInjectorEnv(pools(), always("?"), hint_options={"offers": 2})


def test_what_is_no_provider_is_refused() -> None:
    with pytest.raises(InvalidOption, match="expected one of bayes, expert"):
        HintInjectorEnv(pools(), 3)


def test_a_provider_that_cannot_serve_this_partner_says_so_before_the_first_episode() -> None:
    with pytest.raises(InvalidOption, match="draw nothing"):
        HintInjectorEnv(NegotiationEnv(partner="random"), "bayes")


def test_each_form_wraps_its_own_kind_of_environment() -> None:
    with pytest.raises(InvalidOption, match="HintInjectorVectorEnv a vector environment"):
        HintInjectorEnv(pools(2), "random")
    with pytest.raises(InvalidOption, match="HintInjectorEnv wraps a single environment"):
        HintInjectorVectorEnv(pools(), "random")
    with pytest.raises(InvalidOption, match="Hints are for the bargaining environments"):
        HintInjectorEnv(gymnasium.make("Daedalus-v0"), "random")


def test_who_the_expert_is_stays_on_record() -> None:
    env = HintInjectorEnv(pools(), "expert")
    env.reset(seed=0, options=fixed(POOL))
    env.step(GREED)
    assert str(env.hint_counts["expert"]).startswith("bundled: ")


def test_both_forms_are_public_names() -> None:
    assert edgeworth.HintInjectorEnv is HintInjectorEnv and edgeworth.HintInjectorVectorEnv is HintInjectorVectorEnv


# Dropout


def feed_of(dropout: float, hold_last: bool = False, k: int = 1) -> HintFeed:
    batch = BargainingBatch(BargainingConfig(opens="agent"), 400)
    batch.seed(7)
    batch.reset()
    return HintFeed(batch, provider_of("random"), HintConfig(k, hold_last, dropout=dropout))


def hinted_moves(feed: HintFeed, moves: int = 3) -> np.ndarray:
    """Whether there was a hint, by move and episode, while nobody agrees to anything."""
    seen = []
    for _ in range(moves):
        feed.ask()
        seen.append(feed.features[:, AVAILABLE_COLUMN] == 1.0)
        feed.batch.step(np.zeros(feed.batch.size, np.int64), feed.batch.state["counts"].astype(np.int64), rules.SAME_STEP)
    return np.array(seen)


def test_dropout_takes_all_hints_of_an_episode_or_none() -> None:
    seen = hinted_moves(feed_of(0.3))
    assert (seen == seen[0]).all()
    assert 0.6 < seen[0].mean() < 0.8


@pytest.mark.parametrize(("dropout", "share"), [(0.0, 1.0), (1.0, 0.0)])
def test_dropout_of_0_drops_nothing_and_of_1_everything(dropout: float, share: float) -> None:
    feed = feed_of(dropout)
    assert hinted_moves(feed).mean() == share and feed.asked == feed.given == 1200 * share


def test_a_dropped_hint_is_not_replaced_by_one_that_is_held_from_the_episode_before() -> None:
    feed = feed_of(0.5, hold_last=True, k=2)
    seen = hinted_moves(feed, 12)  # two episodes of five moves, and the beginning of a third
    for first in (0, 5):
        episode = seen[first : first + 5]
        assert (episode == episode[0]).all() and 0.4 < episode[0].mean() < 0.6
    assert (seen[0] & ~seen[5]).any()


def test_which_episodes_are_dropped_is_a_matter_of_their_seeds() -> None:
    assert (hinted_moves(feed_of(0.5)) == hinted_moves(feed_of(0.5))).all()
