"""The talks in a mirror: what changes places, what stays, and that a second look shows them as they are."""

from __future__ import annotations

import numpy as np
import pytest

from bargaining_table import AGREE as AGREE_TO_IT
from bargaining_table import POOL, begun_with, bits_of, insist, propose, talk
from edgeworth.agents.negotiators.scripted import RandomLegal
from edgeworth.agents.negotiators.seat import OF_BUILT_IN_PARTNER, mirrored_config, mirrored_contexts, mirrored_states
from edgeworth.config import BargainingConfig
from edgeworth.evaluation.episodes import opened, play_out
from edgeworth.games.bargaining.contexts import lewis_table
from edgeworth.games.bargaining.state import EPISODE
from edgeworth.games.bargaining.vocabulary import Act, Outcome


def test_what_one_side_said_the_other_has_said() -> None:
    table = begun_with(POOL, two_player=True)
    talk(table, propose(0, 1, 2), insist(2, 0, 2))
    seen = mirrored_states(table.state)[0]
    assert seen["utilities"].tolist() == [list(POOL.partner_utilities), list(POOL.my_utilities)]
    assert seen["offer"].tolist() == [[2, 0, 2], [0, 1, 2]] and seen["last_act"].tolist() == [Act.INSIST, Act.PROPOSE]
    assert seen["history"][:2].tolist() == [[1, Act.PROPOSE, 0, 1, 2], [0, Act.INSIST, 2, 0, 2]]
    assert (seen["opener"], seen["turn"], seen["outcome"]) == (1, 2, Outcome.ONGOING)


def test_an_accepted_offer_is_the_other_sides_share_of_the_same_deal() -> None:
    table = begun_with(POOL, two_player=True)
    talk(table, propose(0, 1, 2), AGREE_TO_IT)
    seen = mirrored_states(table.state)[0]
    assert seen["outcome"] == Outcome.AGENT_AGREED and seen["deal"].tolist() == [2, 0, 1]
    assert seen["payoff"].tolist() == table.state[0]["payoff"].tolist()[::-1] == [5.0, 7.0]


@pytest.mark.parametrize("disagree", ["ends", "passes"])
def test_a_second_look_shows_the_talks_as_they_are(disagree: str) -> None:
    batch = opened(BargainingConfig.from_options(disagree=disagree, partner="random"), np.arange(300))
    before = batch.state.copy()
    play_out(batch, RandomLegal())
    assert len(np.unique(batch.state["outcome"])) >= 5
    for states in (before, batch.state):
        for name in OF_BUILT_IN_PARTNER:
            states[name] = 0
        assert bits_of(mirrored_states(mirrored_states(states))) == bits_of(states)


def test_every_field_of_an_episode_with_two_sides_changes_places() -> None:
    two_sided = {name for name in EPISODE.names or () if EPISODE[name].shape[:1] == (2,)} - set(OF_BUILT_IN_PARTNER)
    states = np.zeros(1, EPISODE)
    for name in two_sided:
        states[name][:, 1] = 1
    seen = mirrored_states(states)
    assert all((seen[name][:, 0] == 1).all() and (seen[name][:, 1] == 0).all() for name in two_sided)


def test_the_game_in_the_mirror_is_opened_by_the_other_side() -> None:
    config = BargainingConfig(opens="agent", reservation=(0.1, 0.3), discount=0.9)
    seen = mirrored_config(config)
    assert (seen.opens, seen.reservation, seen.discount) == ("partner", (0.3, 0.1), 0.9)
    assert mirrored_config(seen) == config and mirrored_config(BargainingConfig()) == BargainingConfig()


def test_the_lewis_contexts_are_the_same_in_the_mirror() -> None:
    table = lewis_table()
    assert {tuple(row) for row in mirrored_contexts(table).tolist()} == {tuple(row) for row in table.tolist()}
