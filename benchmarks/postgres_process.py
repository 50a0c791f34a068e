"""A PostgreSQL server for tests and soaks, in a temporary folder, on a free port of 127.0.0.1."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from benchmarks.server_process import free_port
from edgeworth.errors import InvalidOption


class NoPostgres(InvalidOption):
    """There is no server here, and why."""


@contextmanager
def postgres_server() -> Iterator[str]:
    """The URL of a database on a fresh server, which is gone afterwards."""
    programs, person = _programs(), _person()
    place = Path(mkdtemp(prefix="edgeworth-postgres-"))
    data, port = place / "data", free_port()
    try:
        if person is not None:
            os.chown(place, person.pw_uid, person.pw_gid)
        _run(person, programs / "initdb", "-D", data, "-A", "trust", "-U", "edgeworth", "--no-sync")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
        _run(person, programs / "pg_ctl", "-D", data, "-w", "-t", "30", "-l", place / "log", "-o", options, "start")
        try:
            yield f"postgresql://edgeworth@127.0.0.1:{port}/postgres"
        finally:
            _run(person, programs / "pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _programs() -> Path:
    """The folder of initdb and pg_ctl, the newest version first."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in folders:
        if (folder / "initdb").is_file() and (folder / "pg_ctl").is_file():
            return folder
    raise NoPostgres("no PostgreSQL server is installed")


def _person() -> pwd.struct_passwd | None:
    """Whom the server runs as: ourselves, or somebody else where we are root, which it refuses to run as."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise NoPostgres("PostgreSQL does not run as root, and there is no user `postgres` or `nobody`")


def _run(person: pwd.struct_passwd | None, *command: object) -> None:
    who: dict[str, Any] = {} if person is None else {"user": person.pw_uid, "group": person.pw_gid, "extra_groups": []}
    told = subprocess.run([str(part) for part in command], cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60, **who)
    if told.returncode:
        raise NoPostgres(f"{Path(str(command[0])).name} failed: {told.stderr.decode(errors='replace').strip()[-200:]}")
