"""What a language model is told of the talks, and that our prompt teaches the game as it is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bargaining_table import POOL, begun, play, propose, say, sit_down
from edgeworth.config import BargainingConfig
from edgeworth.dialogues.hint_prompt import VARIABLES, batch_variables, hint_variables, load_hint_prompt, move_words, rules_words
from edgeworth.envs.negotiation import NegotiationEnv
from edgeworth.errors import DataError
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.vocabulary import AGENT, LOST_TURN, PARTNER, Act

OPENING: dict[str, Any] = {
    "counts": np.array([2, 1, 3]),
    "my_utilities": np.array([1, 5, 1]),
    "last_partner_act": 3,
    "last_partner_offer_for_me": np.array([0, 0, 0]),
    "turns_remaining": 10,
}
SILENT: dict[str, Any] = {"action_mask": np.array([1, 1, 0, 1, 1]), "partner_has_spoken": False, "history": ()}


def test_before_the_partner_has_spoken_there_is_no_act_no_offer_and_no_history() -> None:
    assert hint_variables(OPENING, SILENT) == {
        "rules_str": "none",
        "counts_csv": "2,1,3",
        "my_utils_csv": "1,5,1",
        "last_partner_act_token": "NONE",
        "last_offer_csv": "none",
        "turns": "10",
        "p": "0.5",
        "history_str": "none",
    }


def test_the_talks_are_told_from_the_environment_as_shares_of_the_agent() -> None:
    step = play(sit_down(partner="heuristic"), propose(2, 1, 3), propose(2, 1, 2))
    told = hint_variables(step.observation, step.info, p=0.55)
    assert told["last_partner_act_token"] == "PROPOSE" and told["last_offer_csv"] == "1,1,1"
    assert told["turns"] == "6" and told["p"] == "0.55"
    assert told["history_str"].splitlines() == ["me PROPOSE 2,1,3", "partner PROPOSE 1,1,1", "me PROPOSE 2,1,2", "partner PROPOSE 1,1,1"]


def test_an_offer_of_nothing_is_not_the_same_as_no_offer() -> None:
    step = play(sit_down(partner="heuristic", partner_options={"counter": "keep_all"}), propose(2, 1, 3))
    assert hint_variables(step.observation, step.info)["last_offer_csv"] == "0,0,0"


def test_scaled_utilities_are_told_with_two_digits() -> None:
    observation = {**OPENING, "my_utilities": np.array([0.8333333, 10.0, 0.0], np.float32)}
    assert hint_variables(observation, SILENT)["my_utils_csv"] == "0.83,10,0"


@pytest.mark.parametrize(
    ("side", "move", "words"),
    [
        (AGENT, (AGENT, Act.INSIST, (2, 0, 1)), "me INSIST 2,0,1"),
        (AGENT, (PARTNER, Act.PROPOSE, (2, 0, 1)), "partner PROPOSE 0,1,2"),
        (AGENT, (PARTNER, Act.DISAGREE, None), "partner DISAGREE"),
        (AGENT, (AGENT, LOST_TURN, None), "me (lost turn)"),
        (PARTNER, (AGENT, Act.PROPOSE, (2, 0, 1)), "partner PROPOSE 0,1,2"),
        (PARTNER, (PARTNER, Act.PROPOSE, (2, 0, 1)), "me PROPOSE 2,0,1"),
    ],
)
def test_a_move_is_told_as_a_share_of_the_side_that_asks(side: int, move: Any, words: str) -> None:
    assert move_words(move, POOL.counts, side) == words


def test_a_long_history_is_capped_by_moves_and_by_characters() -> None:
    info = {**SILENT, "history": [(k % 2, Act.PROPOSE, (1, 1, 1)) for k in range(20)]}
    few = hint_variables(OPENING, info, most_moves=3)["history_str"].splitlines()
    assert few == ["(17 earlier left out)", "partner PROPOSE 1,0,2", "me PROPOSE 1,1,1", "partner PROPOSE 1,0,2"]
    assert len(hint_variables(OPENING, info, most_moves=20, most_chars=90)["history_str"]) <= 90


@pytest.mark.parametrize("options", [{}, {"normalize": True}, {"opens": "partner", "partner": "random"}], ids=str)
def test_a_batch_is_told_what_each_environment_of_it_would_be_told(options: dict[str, Any]) -> None:
    batch = begun(5, seed=3, **options)
    say(batch, propose(1, 1, 0))
    due = np.array([True, False, True, True, True]) & (batch.state["outcome"] == 0)
    told = batch_variables(batch, due)
    for values, slot in zip(told, np.flatnonzero(due).tolist(), strict=True):
        env = NegotiationEnv(**options)
        env.reset(seed=3 + slot)
        step = play(env, propose(1, 1, 0))
        assert values == hint_variables(step.observation, step.info)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "none"),
        ({"scenario": "discounted"}, "every move after the second multiplies a deal by 0.9"),
        ({"scenario": "walkaway"}, "the partner leaves at refusal 2"),
        ({"partner": "walk_away", "partner_options": {"patience": 3}}, "the partner leaves at refusal 4"),
        (
            {"sudden_end": 0.1, "disagree": "passes"},
            "after every move the negotiation may break off, chance 0.1; DISAGREE only passes the turn",
        ),
        ({"max_turns": 20}, "20 moves in all"),
        ({"normalize": True}, "the whole pool is worth 10 points to each side"),
        ({"scenario": "lewis_keep_all"}, "its offers leave me nothing"),
        ({"partner_options": {"accept": 0.8}}, "the partner agrees from 0.8 of its points, after INSIST from 0.5"),
        ({"partner": "conceder"}, "none"),
        ({"reservation": (0.25, 0.5)}, "no deal pays me 0.25 of my whole pool"),
        ({"insist_price": 2.0}, "INSIST costs me 2 points"),
    ],
    ids=str,
)
def test_house_rules_are_told(options: dict[str, Any], words: str) -> None:
    config = BargainingConfig.from_options(**options)
    assert rules_words(config) == words
    batch = BargainingBatch(config, 1)
    batch.reset()
    assert batch_variables(batch, np.array([True]))[0]["rules_str"] == words


def test_our_prompt_uses_every_variable_and_fits_every_state() -> None:
    prompt = load_hint_prompt()
    assert prompt.names == set(VARIABLES)
    system, user = prompt.messages(hint_variables(OPENING, SILENT))
    assert (system.role, user.role) == ("system", "user")
    assert "Pool (books, hats, balls): 2,1,3" in user.content and "{" not in user.content


def test_our_prompt_names_every_act_by_its_number_and_shows_one_legal_example() -> None:
    system = load_hint_prompt().messages(hint_variables(OPENING, SILENT))[0].content
    for act in Act:
        assert re.search(rf"^{act.value} {act.name}: ", system, re.MULTILINE)
    example = json.loads(re.findall(r"\{.*\}", system)[-1])
    assert set(example) == {"act_type", "oA", "confidence"}
    assert example["act_type"] in list(Act) and len(example["oA"]) == 3 and 0.0 <= example["confidence"] <= 1.0


def test_what_is_the_same_in_every_prompt_comes_first() -> None:
    prompt = load_hint_prompt()
    assert set(prompt.sections[0].names) <= {"p"}


def test_a_prompt_of_ones_own_is_checked_when_it_is_loaded(tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("{counts_csv} {my_util_csv} {last_offer_csv} {turns}")
    with pytest.raises(DataError, match=r"unknown variable 'my_util_csv'.*Did you mean 'my_utils_csv'"):
        load_hint_prompt(mine)
    mine.write_text("{counts_csv} {my_utils_csv} {turns}")
    with pytest.raises(DataError, match=r"the variable \{last_offer_csv\} is missing"):
        load_hint_prompt(mine)
