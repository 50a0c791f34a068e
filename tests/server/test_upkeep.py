"""The upkeep of a store in PostgreSQL: a check reads it, a vacuum cleans it, and its copies are pg_dump's."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeworth.errors import InvalidOption
from edgeworth.server.openings import opening_of
from edgeworth.server.store import Store
from edgeworth.server.upkeep import back_up, check, give_back


def test_a_store_in_postgresql_is_checked_and_vacuumed(postgres_url: str) -> None:
    store = Store(postgres_url)
    for name in ("a", "b"):
        assert store.bring("ann", name, opening_of("auction", {}, 1), [("x", False)] * 5)
    assert check(postgres_url) == (2, 10, ())
    with store.database.writing() as cursor:
        cursor.execute("DELETE FROM edgeworth_log WHERE number = 2")
    assert [problem.count("step 2 is missing") for problem in check(postgres_url).problems] == [1, 1]
    assert store.bring("ann", "long", opening_of("auction", {}, 1), [("x" * 500, False)] * 2_000)
    stored = store.find("ann", "long")
    assert stored is not None and store.forget(stored.generation)
    before, after = give_back(postgres_url)
    assert after < before / 2
    store.close()


def test_a_store_in_postgresql_is_copied_by_pg_dump(postgres_url: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="pg_dump"):
        back_up(postgres_url, tmp_path / "copy")
    assert list(tmp_path.iterdir()) == []
