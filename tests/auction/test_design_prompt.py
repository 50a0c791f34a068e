"""What a language model is told of a market, and that our prompt teaches the game as it is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeworth.agents.designers.design_prompt import VARIABLES, design_variables, load_design_prompt, mechanism_json
from edgeworth.envs.daedalus import DaedalusEnv
from edgeworth.errors import DataError
from edgeworth.games.auction.action import CHOICES, FIELDS, HIGHEST, checked_action, read_mechanism
from edgeworth.games.auction.state import PROXIES, SCORES

NUMBERED: dict[str, Any] = {
    "auction_type": 2,
    "reserve_price": np.array(0.38),
    "reveal_reserve": 0,
    "reveal_competing_bids": 0,
    "reveal_winner_identity": 1,
    "reveal_clearing_price": 1,
    "reveal_bid_distribution": 1,
    "shill_penalty": np.array(1.2),
    "withdrawal_penalty": np.array(1.0),
    "collusion_penalty": np.array(3.0),
    "coalition_policy": 3,
}


def observed(played: int, posted: list[Any] | None = None) -> dict[str, Any]:
    """An observation after some steps; the scores of step k are k tenths."""
    recent = np.zeros((5, len(SCORES)))
    for back in range(min(played, 5)):
        recent[4 - back] = (played - back) / 10
    return {
        "market_outcomes": recent,
        "population_proxies": np.arange(len(PROXIES)) / 3,
        "round_number": played,
        "episode_length": 10,
        "n_agents": 8,
        "current_mechanism": NUMBERED,
        "recent_mechanisms": np.array(posted or [[*NUMBERED.values()]] * 5, float),
    }


def test_before_the_first_step_there_is_nothing_to_tell() -> None:
    told = design_variables(observed(0))
    assert (told["round_number"], told["episode_length"], told["n_agents"]) == ("0", "10", "8")
    assert {told[name] for name in ("outcomes_csv", "proxies_csv", "current_mechanism_json", "history_str")} == {"none"}


def test_the_last_step_is_told_with_what_was_seen_of_the_bidders() -> None:
    told = design_variables(observed(2))
    assert told["outcomes_csv"] == "0.2,0.2,0.2,0.2,0.2"
    assert told["proxies_csv"] == "0,0.333,0.667,1,1.333,1.667,2,2.333"


def test_the_mechanism_in_force_is_told_in_the_words_that_a_designer_writes() -> None:
    told = json.loads(design_variables(observed(1))["current_mechanism_json"])
    assert list(told) == list(FIELDS) and checked_action(told) == checked_action(json.loads(mechanism_json(told)))
    assert (told["auction_type"], told["reveal_reserve"], told["reserve_price"]) == ("vcg", False, 0.38)
    assert told["coalition_policy"] == "penalize_confirmed"


def test_the_history_holds_the_steps_before_the_last_that_are_still_seen() -> None:
    assert design_variables(observed(1))["history_str"] == "none"
    assert design_variables(observed(3))["history_str"].splitlines() == ["step 1: 0.1,0.1,0.1,0.1,0.1", "step 2: 0.2,0.2,0.2,0.2,0.2"]
    assert [line[:6] for line in design_variables(observed(8))["history_str"].splitlines()] == ["step 4", "step 5", "step 6", "step 7"]


def test_a_designer_that_remembers_its_mechanisms_is_told_what_each_brought() -> None:
    posted = [{**NUMBERED, "reserve_price": k / 10} for k in range(5)]
    seen = observed(3, [[*mechanism.values()] for mechanism in posted])
    first, second = design_variables(seen, remembers=True)["history_str"].splitlines()
    assert first == f"step 1: 0.1,0.1,0.1,0.1,0.1 under {mechanism_json(posted[2])}"
    assert second == f"step 2: 0.2,0.2,0.2,0.2,0.2 under {mechanism_json(posted[3])}"


def test_the_default_prompt_needs_no_mechanisms_of_earlier_steps_and_tells_none() -> None:
    seen = observed(5)
    told = design_variables(seen)
    del seen["recent_mechanisms"]
    assert design_variables(seen) == told and " under " not in told["history_str"]


def test_a_long_history_is_capped_by_steps_and_by_characters() -> None:
    told = design_variables(observed(5), remembers=True, most_steps=3)["history_str"]
    assert told.startswith("(1 earlier left out)\nstep 2:")
    assert len(design_variables(observed(5), remembers=True, most_chars=800)["history_str"]) <= 800


def test_an_observation_of_the_environment_is_told() -> None:
    env = DaedalusEnv(stage="0")
    observation, _ = env.reset(seed=1)
    assert design_variables(observation)["outcomes_csv"] == "none"
    observation, reward, *_ = env.step(NUMBERED)
    told = design_variables(observation)
    assert told["outcomes_csv"].split(",")[-1] == f"{round(reward, 3):g}"
    assert checked_action(json.loads(told["current_mechanism_json"])).auction_type == "vcg"


def test_our_prompt_uses_every_variable_and_fits_every_state() -> None:
    prompt = load_design_prompt()
    assert prompt.names == set(VARIABLES)
    system, user = prompt.messages(design_variables(observed(3)))
    assert (system.role, user.role) == ("system", "user") and prompt.sections[0].names == ()
    assert "Steps played: 3 of 10. Bidders: 8." in user.content


def test_our_prompt_names_every_field_with_its_values_and_shows_one_legal_example(tmp_path: Path) -> None:
    system = load_design_prompt().messages(design_variables(observed(0)))[0].content
    for field in FIELDS:
        (line,) = re.findall(rf"^- {field}: (.*)$", system, re.MULTILINE)
        assert all(f'"{word}"' in line for word in CHOICES.get(field, ()))
        assert field not in HIGHEST or line.startswith(f"0 to {HIGHEST[field]:g}")
    (tmp_path / "example.json").write_text(re.findall(r"\{.*\}", system)[-1])
    assert read_mechanism(tmp_path / "example.json")


def test_our_prompt_explains_scores_and_proxies_in_the_order_in_which_they_come() -> None:
    user = load_design_prompt().messages(design_variables(observed(0)))[1].content
    scores, proxies = re.search(r"Scores of the last step \((.*?)\)", user), re.search(r"Seen of the bidders \((.*?)\)", user)
    assert scores is not None and len(scores.group(1).split(", ")) == len(SCORES)
    assert proxies is not None and len(proxies.group(1).split(", ")) == len(PROXIES)


def test_a_prompt_of_ones_own_is_checked_when_it_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("{outcome_csv}")
    with pytest.raises(DataError, match=r"unknown variable 'outcome_csv'.*Did you mean 'outcomes_csv'"):
        load_design_prompt(tmp_path / "mine.txt")
