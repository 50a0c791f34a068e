"""Local models for tests: an untrained one that is made in a second, and the pocket model where it is there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgeworth.llm.huggingface import HuggingFace
from tiny_model import write_tiny_model

os.environ.setdefault("OMP_NUM_THREADS", "1")  # models this small are slower on two threads than on one


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an untrained model."""
    return write_tiny_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def tiny(tiny_folder: Path) -> Iterator[HuggingFace]:
    """An untrained model."""
    with HuggingFace(tiny_folder) as client:
        client.check()
        yield client
