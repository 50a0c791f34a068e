"""The recorded episodes, line by line; `record.py` beside this file says how to write them anew."""

from __future__ import annotations

import pytest
from record import FOLDER, PAGES


@pytest.mark.parametrize("name", PAGES)
def test_a_recorded_episode_plays_out_as_it_was_written_down(name: str) -> None:
    assert PAGES[name]() == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def test_every_page_has_its_script() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.txt")) == sorted(PAGES)
