"""Partners from checkpoints: the same rules as for all others, with a network on the other side of the table."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from numpy.typing import NDArray

from bargaining_table import all_bits, begun, begun_with, bits_of
from edgeworth import catalog
from edgeworth.agents.negotiators.learned import Learned
from edgeworth.agents.partners import FromCheckpoint
from edgeworth.config import BargainingConfig
from edgeworth.envs.bargaining_aec import BargainingAEC
from edgeworth.envs.flat_action import FlatActionEnv
from edgeworth.envs.hint_injector import HintInjectorEnv
from edgeworth.envs.negotiation import NegotiationEnv
from edgeworth.envs.negotiation_vector import NegotiationVectorEnv
from edgeworth.errors import DataError, EpisodeOver, IllegalAction, InvalidOption, UnknownKey, UnknownName
from edgeworth.games.bargaining import rules
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.best_response import best_response
from edgeworth.games.bargaining.blind_plan import check_silent_partner
from edgeworth.games.bargaining.bounds import oracle_values
from edgeworth.games.bargaining.contexts import Context, context_of
from edgeworth.games.bargaining.history import history_of
from edgeworth.games.bargaining.joint_actions import encode
from edgeworth.games.bargaining.partners.program import OUTSIDE
from edgeworth.games.bargaining.prior import posterior
from edgeworth.games.bargaining.vocabulary import AGENT, AGREE, DISAGREE, INSIST, ONGOING, PARTNER, PROPOSE, Side
from networks import write_network
from outside_partner import WITHOUT_MEMORY, use_outside_partner

SEEDS = 200
GAMES: list[dict[str, Any]] = [
    {},
    {"contexts": "lewis", "disagree": "passes", "insist_price": 0.3},
    {"opens": "partner", "normalize": True, "reservation": (0.2, 0.1), "discount": 0.9},
    {"max_turns": 3, "sudden_end": 0.3, "reveal_partner_utilities": True},
    {"min_count": 0, "on_illegal": "penalty", "max_turns": 2},
]
every_game = pytest.mark.parametrize("options", GAMES, ids=str)
drawn_or_not = pytest.mark.parametrize("sampled", [False, True], ids=["likeliest", "sampled"])


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_network(tmp_path_factory.mktemp("networks") / "agent"))


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Experts for pools of up to 4 and up to 6 units."""
    folder = tmp_path_factory.mktemp("box")
    write_network(folder / "classic")
    write_network(folder / "large", units=6, seed=5)
    return str(folder)


def played(batch: BargainingBatch) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Random legal play of every episode to its end; what each side got."""
    mine, theirs = np.zeros(batch.size), np.zeros(batch.size)
    while (going := batch.state["outcome"] == ONGOING).any():
        part = batch.selected(going)
        part.step(*part.random_actions())
        batch.write_back(part, going)
        mine[going] += part.reports["reward"]
        theirs[going] = part.reports["partner_reward"]
    return mine, theirs


def by_hand(network: str, sampled: bool, seed: int, options: dict[str, Any]) -> tuple[Any, float, float]:
    """The same talks in the two-player game, with the network asked from seat 1 and everything done one move at a time."""
    env, partner = BargainingAEC(**options), FromCheckpoint(network, sampled)
    env.reset(seed=seed)
    got = {"player_0": 0.0, "player_1": 0.0}
    while not any(env.terminations.values()):
        if env.agent_selection == "player_0":
            acts, shares = env.batch.random_actions()
        else:
            acts, shares = partner.reply(env.batch)
        env.step(encode(int(acts[0]), shares[0].tolist(), env.batch.max_count))
        for player, reward in env.rewards.items():
            got[player] += reward
    return env.batch.state[0], got["player_0"], got["player_1"]


@every_game
@pytest.mark.parametrize("partner", WITHOUT_MEMORY)
@pytest.mark.parametrize("autoreset", [rules.NEVER, rules.SAME_STEP, rules.NEXT_STEP], ids=["never", "same step", "next step"])
def test_a_partner_asked_from_outside_is_the_partner_of_the_rules_to_the_last_bit(
    options: dict[str, Any], partner: str, autoreset: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {**options, "partner": partner}
    inside = begun(200, **options)
    use_outside_partner(monkeypatch, inside.config)
    outside = begun(200, **options)
    assert outside.outside is not None and inside.outside is None
    for _ in range(12):
        assert all_bits(inside) == all_bits(outside)
        if autoreset == rules.NEVER:
            for batch in (inside, outside):
                batch.reset(chosen=batch.state["outcome"] != ONGOING)
        acts, shares = inside.random_actions()
        if options.get("on_illegal") == "penalty":
            acts[::7] = 7
        for batch in (inside, outside):
            batch.step(acts, shares, autoreset)
        for a, b in zip(inside.outputs[1:], outside.outputs[1:], strict=True):
            assert a.tobytes() == b.tobytes()


@every_game
@drawn_or_not
def test_the_talks_are_those_of_the_two_player_game_with_the_network_in_seat_1(
    network: str, options: dict[str, Any], sampled: bool
) -> None:
    batch = begun(SEEDS, partner=network, partner_options={"sampled": sampled}, **options)
    mine, theirs = played(batch)
    for seed in range(SEEDS):
        state, reward, partner_reward = by_hand(network, sampled, seed, options)
        turns = int(state["turn"])
        assert batch.state["turn"][seed] == turns and batch.state["outcome"][seed] == state["outcome"]
        assert batch.state["history"][seed, :turns].tolist() == state["history"][:turns].tolist()
        assert batch.state["deal"][seed].tolist() == state["deal"].tolist()
        assert (mine[seed], theirs[seed]) == pytest.approx((reward, partner_reward), abs=1e-12)
    assert len(set(batch.state["outcome"].tolist())) > 2


def test_from_seat_1_it_says_what_the_learned_negotiator_says_from_seat_0(network: str) -> None:
    """Mirrored talks: sides, utilities and offers exchanged."""
    batch = begun(200, partner=network, opens="partner")
    part = batch.selected(batch.state["turn"] == 1)
    part.move(AGENT, *part.random_actions())
    part = part.selected(part.state["outcome"] == ONGOING)
    mirrored = part.over(part.state.copy())
    for field in ("utilities", "offer", "maximum", "offered", "insisted", "last_act", "insists"):
        mirrored.state[field] = part.state[field][:, ::-1]
    mirrored.views[:], mirrored.masks[:] = mirrored.look(AGENT)
    acts, shares = part.replies()
    expected = Learned(network).choose(mirrored)
    assert acts.tolist() == expected[0].tolist() and shares.tolist() == expected[1].tolist()
    assert len(set(acts.tolist())) > 2 and part.size > 50


@every_game
@drawn_or_not
@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_a_vector_environment_plays_what_single_ones_play(network: str, options: dict[str, Any], sampled: bool, mode: str) -> None:
    options = {"partner": network, "partner_options": {"sampled": sampled}, **options}
    singles = [NegotiationEnv(**options) for _ in range(20)]
    vector = NegotiationVectorEnv(20, autoreset_mode=mode, **options)
    seen = [env.reset(seed=50 + i) for i, env in enumerate(singles)]
    observations, infos = vector.reset(seed=50)
    over = np.zeros(20, np.bool_)
    for _ in range(15):
        for i, (observation, info) in enumerate(seen):
            for key, value in observation.items():
                np.testing.assert_array_equal(observations[key][i], value)
            np.testing.assert_array_equal(infos["action_mask"][i], info["action_mask"])
            assert infos["partner_has_spoken"][i] == info["partner_has_spoken"]
            lines = infos["history"][i][: int(singles[i].batch.state["turn"][0])]
            assert lines.tolist() == singles[i].batch.state["history"][0, : len(lines)].tolist()
        actions = vector.random_actions()
        observations, rewards, ended, _, infos = vector.step(actions)
        for i, env in enumerate(singles):
            if over[i] and mode == "NextStep":
                seen[i], over[i] = env.reset(), False
                assert rewards[i] == 0.0 and not ended[i]
                continue
            observation, reward, over[i], _, info = env.step({"act_type": actions["act_type"][i], "oA": actions["oA"][i]})
            assert (rewards[i], ended[i]) == (reward, over[i])
            if over[i]:
                endings = infos["final_info"] if mode == "SameStep" else infos
                assert endings["partner_reward"][i] == info["partner_reward"]
                assert endings["outcome"][i] == singles[i].batch.state["outcome"][0]
            if over[i] and mode == "SameStep":
                for key, value in observation.items():
                    np.testing.assert_array_equal(infos["final_obs"][key][i], value)
                observation, info = env.reset()
                over[i] = False
            seen[i] = observation, info


@drawn_or_not
def test_an_episode_is_the_same_in_a_batch_of_1_and_of_64(network: str, sampled: bool) -> None:
    options = {"partner": network, "partner_options": {"sampled": sampled}}
    many = begun(64, seed=9, **options)
    played(many)
    for slot in range(64):
        one = begun(1, seed=9 + slot, **options)
        played(one)
        assert bits_of(one.state) == bits_of(many.state[slot : slot + 1])


def test_all_that_wait_go_through_the_network_at_once(network: str, monkeypatch: pytest.MonkeyPatch) -> None:
    batch, sizes, reply = begun(100, partner=network), [], FromCheckpoint.reply
    monkeypatch.setattr(FromCheckpoint, "reply", lambda self, part: (sizes.append(part.size), reply(self, part))[1])
    batch.step(*batch.random_actions(), rules.SAME_STEP)
    assert len(sizes) == 2 and sum(sizes) <= 200
    batch.reset()
    assert len(sizes) == 3 and sizes[2] == np.count_nonzero(batch.state["opener"] == PARTNER)


def test_it_opens_with_an_offer(network: str) -> None:
    batch = begun(500, partner=network, partner_options={"sampled": True}, opens="partner")
    assert set(batch.state["history"][:, 0, 1].tolist()) == {PROPOSE, INSIST}
    assert (batch.state["outcome"] == ONGOING).all() and batch.masks.all()


def test_it_is_not_shown_what_the_game_reveals_to_the_agent(network: str, tmp_path: Path) -> None:
    knowing = str(write_network(tmp_path / "knowing", env={"reveal_partner_utilities": True}))
    hidden, shown, known = (
        begun(200, partner=path, opens="partner", reveal_partner_utilities=reveal).state["history"][:, 0].tolist()
        for path, reveal in ((network, False), (network, True), (knowing, True))
    )
    assert hidden == shown != known


def test_its_draws_are_its_own(network: str) -> None:
    """Drawn moves differ from the likeliest, repeat with the seed, and are not the draws of the agent."""
    talks = [
        begun(100, partner=network, partner_options={"sampled": s}, opens="partner").state["history"][:, 0] for s in (True, True, False)
    ]
    assert talks[0].tolist() == talks[1].tolist() != talks[2].tolist()
    batch = begun(100, partner=network, opens="agent")
    agent, partner = Learned(network, sampled=True).choose(batch), FromCheckpoint(network, sampled=True)
    for field in ("utilities", "maximum"):  # the same situation for both sides
        batch.state[field][:, PARTNER] = batch.state[field][:, AGENT]
    batch.state["turn"] = 2
    drawn = partner.reply(batch)
    batch.state["turn"] = 0
    assert agent[0].tolist() != drawn[0].tolist()


def test_an_illegal_action_changes_nothing(network: str) -> None:
    batch = begun(8, partner=network, opens="agent")
    before = all_bits(batch)
    acts, shares = batch.random_actions()
    acts[5] = AGREE
    with pytest.raises(IllegalAction, match="Environment 5: AGREE needs an offer"):
        batch.step(acts, shares, rules.SAME_STEP)
    assert all_bits(batch) == before
    env = NegotiationEnv(partner=network, opens="agent")
    env.reset(seed=1)
    with pytest.raises(IllegalAction, match="AGREE needs an offer"):
        env.step({"act_type": AGREE, "oA": [0, 0, 0]})
    with pytest.raises(IllegalAction, match="act_type is"):
        env.step({"act_type": 10**30, "oA": [0, 0, 0]})
    with pytest.raises(EpisodeOver, match="not begun"):
        BargainingBatch(batch.config, 2).step(acts[:2], shares[:2])


def test_a_partner_that_fails_changes_nothing(network: str, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = begun(8, partner=network)
    before = bits_of(batch.state)

    def fail(self: FromCheckpoint, part: BargainingBatch) -> None:
        raise RuntimeError("gone")

    monkeypatch.setattr(FromCheckpoint, "reply", fail)
    with pytest.raises(RuntimeError, match="gone"):
        batch.step(*batch.random_actions())
    assert bits_of(batch.state) == before


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["deepcopy", "pickle"])
@pytest.mark.parametrize("make", [NegotiationEnv, lambda **options: NegotiationVectorEnv(5, **options)], ids=["single", "vector"])
def test_copies_of_environments_play_on_alike_and_apart(network: str, duplicate: Any, make: Any) -> None:
    env = make(partner=network, partner_options={"sampled": True})
    env.reset(seed=3)
    twin = duplicate(env)
    for one in (env, twin):
        for _ in range(3):
            one.batch.step(*one.batch.random_actions(), rules.SAME_STEP)
    assert all_bits(env.batch) == all_bits(twin.batch)
    assert twin.batch.outside is not env.batch.outside


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_gymnasium_finds_nothing_wrong(network: str, box: str) -> None:
    check_env(gymnasium.make("DealOrNoDialog-v0", partner=network).unwrapped, skip_render_check=True)
    expert = {"partner": "expert", "partner_options": {"folder": box}}
    check_env(gymnasium.make("DealOrNoDialog-v0", **expert).unwrapped, skip_render_check=True)
    vector = gymnasium.make_vec("DealOrNoDialog-v0", num_envs=3, **expert)
    vector.reset(seed=0)
    vector.step(vector.unwrapped.random_actions())  # type: ignore[attr-defined]


def test_other_views_of_the_game_play_with_it_too(network: str) -> None:
    """The first share of everything is refused or accepted, and DISAGREE ends what is left."""
    flat, hinted = FlatActionEnv(partner=network), HintInjectorEnv(NegotiationEnv(partner=network), "random")
    counts, _ = hinted.reset(seed=2)[0]["counts"], flat.reset(seed=2)
    for act in (PROPOSE, DISAGREE):
        _, reward, ended, _, info = hinted.step({"act_type": act, "oA": counts})
        assert flat.step(encode(act, counts.tolist(), 4))[1:3] == (reward, ended)
        if ended:
            return
    raise AssertionError(f"DISAGREE did not end the talks: {info}")


def test_the_expert_is_the_one_that_knows_these_pools(box: str) -> None:
    for count, name in ((4, "classic"), (6, "large")):
        batch = begun(50, partner="expert", partner_options={"folder": box}, max_count=count)
        same = begun(50, partner=f"{box}/{name}", max_count=count)
        played(batch)
        played(same)
        assert bits_of(batch.state) == bits_of(same.state)
    with pytest.raises(InvalidOption, match="No bundled expert knows pools with up to 5 units of a type, only 4 or 6"):
        begun(1, partner="expert", partner_options={"folder": box}, max_count=5)


def test_random_play_inside_is_random_play_step_by_step(network: str) -> None:
    inside, stepped = begun(30, partner=network), begun(30, partner=network)
    totals = inside.random_rollout(12)
    rewards, ended = np.zeros(30), np.zeros(30)
    for _ in range(12):
        stepped.step(*stepped.random_actions(), rules.SAME_STEP)
        rewards, ended = rewards + stepped.outputs.rewards, ended + stepped.outputs.ended
    assert bits_of(inside.state) == bits_of(stepped.state)
    assert totals[:, 0].tolist() == ended.tolist() and totals[:, 1].tolist() == rewards.tolist() and (totals[:, 3] == 12).all()


# What is worked out about it


def test_the_best_response_earns_what_it_promises_and_nothing_earns_more(network: str) -> None:
    config = BargainingConfig(partner=network, max_turns=4)
    for opener in Side:
        game = replace(config, opens=opener.name.lower())
        for context in (Context((2, 1, 1), (1, 5, 2), (4, 2, 3)), Context((1, 2, 1), (6, 1, 0), (2, 2, 5))):
            response = best_response(context, game, opener)
            batch = begun_with(context, 1, partner=network, max_turns=4, opens=game.opens)
            reward, turn = 0.0, int(batch.state["turn"][0])
            while batch.state["outcome"][0] == ONGOING:
                move = response.move_at(turn, None)
                batch.step(np.array([move.act]), np.array([move.share or (0, 0, 0)]))
                reward, turn = reward + float(batch.reports["reward"][0]), turn + 2
            assert reward == pytest.approx(response.value)
            tries = begun_with(context, 3_000, partner=network, max_turns=4, opens=game.opens)
            tries.seed(list(range(3_000)))
            tries.reset(np.tile(np.array(context.row(), np.int16), (3_000, 1)))
            assert played(tries)[0].max() <= response.value + 1e-9


def test_the_posterior_keeps_the_truth_and_loses_something(network: str) -> None:
    batch = begun(40, partner=network, opens="partner")
    kept = []
    for slot in range(5):
        state = batch.state[slot]
        types = posterior(context_of(state), history_of(state["history"], 1), batch)
        assert state["utilities"][PARTNER].tolist() in types.tolist()
        kept.append(len(types))
    assert max(kept) < 1_331


def test_what_needs_another_partner_says_so(network: str) -> None:
    batch = begun(2, partner=network)
    drawing = begun(2, partner=network, partner_options={"sampled": True})
    with pytest.raises(InvalidOption, match="need a partner with acceptance thresholds"):
        oracle_values(batch)
    with pytest.raises(InvalidOption, match="need a partner with acceptance thresholds"):
        check_silent_partner(batch)
    context = context_of(drawing.state[0])
    with pytest.raises(InvalidOption, match="The best response needs a partner that always answers alike"):
        best_response(context, drawing.config)
    with pytest.raises(InvalidOption, match="The posterior needs a partner that always answers alike"):
        posterior(context, (), drawing)


@pytest.mark.parametrize("member", ["expert", "somebody"])
def test_a_population_of_networks_is_refused(network: str, member: str) -> None:
    entry: Any = {"partner": network} if member == "somebody" else 1.0
    with pytest.raises(InvalidOption, match=f"population: {member} plays from outside the rules"):
        begun(1, partner="population", partner_options={"members": {"heuristic": 1.0, member: entry}})


# Bad input


def test_a_path_without_a_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no checkpoint here; expected a run folder"):
        NegotiationEnv(partner="runs/nobody")
    with pytest.raises(DataError, match="there is no checkpoint here"):
        NegotiationEnv(partner=str(tmp_path))
    with pytest.raises(UnknownName, match=r"Unknown partner 'expart'.*walk_away, or the path of a checkpoint. Did you mean 'expert'"):
        NegotiationEnv(partner="expart")


@pytest.mark.parametrize(
    ("written", "options", "message"),
    [
        (
            {},
            {"max_count": 6},
            "knows up to 4 units of a type; a partner in this game needs up to 6 units",
        ),
        ({"features": 28}, {}, "was trained with hints and reads 28 features; a partner is given no hints and reads 18"),
        ({"game": "auction"}, {}, "is a checkpoint of auction, not of a negotiator"),
        (
            {"shape": {"features": 18, "units": 4, "hidden": 32, "layers": 2}},
            {},
            r"another network: trunk.0.weight is \(16, 18\); expected \(32, 18\)",
        ),
    ],
)
def test_a_network_for_something_else_is_refused(tmp_path: Path, written: dict[str, Any], options: dict[str, Any], message: str) -> None:
    path = write_network(tmp_path / "agent", **written)
    for make in (NegotiationEnv, lambda **game: NegotiationVectorEnv(2, **game)):
        with pytest.raises((InvalidOption, DataError), match=message):
            make(partner=str(path), **options)


def test_mistyped_options_are_answered_with_their_neighbours(network: str) -> None:
    with pytest.raises(UnknownKey, match="Did you mean 'sampled'"):
        NegotiationEnv(partner=network, partner_options={"sample": True})
    with pytest.raises(InvalidOption, match="the path is the checkpoint"):
        NegotiationEnv(partner=network, partner_options={"checkpoint": "another"})
    with pytest.raises(InvalidOption, match="sampled is 'yes'; expected true or false"):
        NegotiationEnv(partner="expert", partner_options={"sampled": "yes"})


def test_every_outside_partner_in_the_catalog_leaves_its_moves_to_itself() -> None:
    for name in catalog.OUTSIDE_PARTNERS:
        assert catalog.resolve("partner", name)().programs(BargainingConfig())["kind"].tolist() == [OUTSIDE]
