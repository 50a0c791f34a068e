"""A few market states and a tiny Qwen2, made once for all tests of training a language model designer."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.tiny_model import tiny_qwen, write_tiny_model

from edgeworth.training.designer.settings import MarketSettings
from edgeworth.training.designer.states import States, play_states

MARKETS = MarketSettings(players=("adaptive",), n_agents=(8, 4), episode_lengths=(4,))


@pytest.fixture(scope="session")
def states() -> States:
    return play_states(MARKETS, 48, seed=3)


@pytest.fixture(scope="session")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("tiny") / "qwen", make=tiny_qwen)
