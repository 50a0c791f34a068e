"""What the server's tests share: a store in a file, and one in a PostgreSQL server of our own where one can be started."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from benchmarks.postgres_process import NoPostgres, postgres_server


@pytest.fixture(scope="session")
def postgres_server_url() -> Iterator[str]:
    try:
        serving = postgres_server()
        url = serving.__enter__()
    except NoPostgres as reason:
        pytest.skip(f"PostgreSQL: {reason}")
    try:
        yield url
    finally:
        serving.__exit__(None, None, None)


@pytest.fixture
def postgres_url(postgres_server_url: str) -> str:
    """A database of the test's own."""
    name = f"edgeworth_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres_server_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return postgres_server_url.rpartition("/")[0] + f"/{name}"


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A fresh store of either kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'sessions.sqlite'}"
    url: str = request.getfixturevalue("postgres_url")
    return url
