"""Databases for tests: a file of SQLite, and a server of PostgreSQL if this machine has one.

One short test runs on PostgreSQL too. With PANDORA_DATABASE=all every test does, and long tests are longer. If the
server is missing, tests that need it are skipped; with PANDORA_POSTGRES=required they fail. This is no conftest.py,
because other tests import from the module conftest. Tests name it as a plugin.
"""

from __future__ import annotations

import glob
import importlib
import importlib.util
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

LONG = os.environ.get("PANDORA_DATABASE") == "all"  # a night allows long tests


class Server:
    """A server of PostgreSQL in its own folder. It listens on a socket there."""

    def __init__(self) -> None:
        found = [*sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb")), shutil.which("initdb")][::-1]
        programs = [os.path.dirname(one) for one in found if one]
        if not programs or importlib.util.find_spec("psycopg") is None:
            said = "no PostgreSQL: install Debian's package postgresql, and pip install psycopg[binary]"
            pytest.fail(said) if os.environ.get("PANDORA_POSTGRES") == "required" else pytest.skip(said)
        self.programs = programs[0]
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="pandora-postgres-", dir=memory)
        self.url = f"postgresql://pandora@/postgres?host={self.folder}"
        self.user: dict[str, Any] = {}
        if os.getuid() == 0:  # the server refuses to run as root
            names = {user.pw_name: user.pw_gid for user in pwd.getpwall()}
            user = "postgres" if "postgres" in names else "nobody"
            shutil.chown(self.folder, user)
            self.user = {"user": user, "group": names[user], "extra_groups": []}
        self.run("initdb", "-D", f"{self.folder}/data", "--no-sync", "-A", "trust", "-U", "pandora", "--no-locale")
        self.start()

    def run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [f"{self.programs}/{program}", *arguments],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder, **self.user,
        )  # fmt: skip

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses= -c fsync=off -c max_connections=150"
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-o", options, "-l", f"{self.folder}/log", "-w", "start")

    def stop(self, mode: str = "immediate") -> None:
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-m", mode, "-w", "stop")

    def query(self, sql: str) -> list[Any]:
        with importlib.import_module("psycopg").connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            return list(cursor.fetchall()) if cursor.description else []

    def disconnect(self) -> None:
        """Ends all connections, like a server that is started again."""
        self.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")

    def make(self) -> str:
        """Makes an empty database, which is a schema of its own. Returns its URL."""
        name = f"t{uuid.uuid4().hex}"
        self.query(f"CREATE SCHEMA {name}")
        return f"{self.url}&options=-csearch_path%3D{name}"


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    server = Server()
    yield server
    server.stop()
    shutil.rmtree(server.folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"] if LONG else ["sqlite"])
def database_url(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> str:
    """An empty database: SQLite, and in long tests PostgreSQL too."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/kept.db"
    server: Server = request.getfixturevalue("postgres")
    return server.make()


@pytest.fixture
def sqlite_url(tmp_path: pathlib.Path) -> str:
    return f"sqlite:///{tmp_path}/kept.db"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes versions follow each other at once, and lets another process learn soon."""
    monkeypatch.setattr("pandora.serving.learning._PUBLISH_SECONDS", 0.0)
    monkeypatch.setattr("pandora.serving.learning._TRY_SECONDS", 0.05)
    monkeypatch.setattr("pandora.serving.database.connection._POLL_SECONDS", 0.02)
