"""Database drivers in which one chosen call fails."""

from __future__ import annotations

import sqlite3
import sys
from typing import Any, Callable

import pytest


class Faults:
    """Counts the driver's calls. The `at`-th one fails, before it happens or, with `after`, after it has happened."""

    def __init__(self, at: int, after: bool) -> None:
        self.at, self.after, self.count = at, after, 0

    def call(self, error: Exception, what: Callable[[], Any]) -> Any:
        self.count += 1
        if self.count == self.at and not self.after:
            raise error
        found = what()
        if self.count == self.at:
            if found is not None:
                found.close()  # a failing driver returns no cursor; an open one would hold SQLite's locks
            raise error
        return found


def faulty(monkeypatch: pytest.MonkeyPatch, at: int, after: bool, url: str) -> Faults:
    faults = Faults(at, after)

    def wrap(module: Any, base: Any, error: Any) -> None:
        class Cursor:
            def __init__(self, raw: Any) -> None:
                self.raw = raw

            def executemany(self, *given: Any) -> Any:
                return faults.call(error("made up"), lambda: self.raw.executemany(*given))

        class Connection(base):  # type: ignore[misc]
            def execute(self, *given: Any, **named: Any) -> Any:
                return faults.call(error("made up"), lambda: super(Connection, self).execute(*given, **named))

            def cursor(self, *given: Any, **named: Any) -> Any:
                found = super().cursor(*given, **named)
                return Cursor(found) if sys._getframe(1).f_code.co_name == "execute_all" else found

        real = module.connect

        def connect(*given: Any, **named: Any) -> Any:
            faults.count += 1
            if faults.count == faults.at:  # a connection must not fail after it was made, because it would leak
                raise error("made up")
            made = Connection.connect if module is not sqlite3 else lambda *g, **n: real(*g, factory=Connection, **n)
            return made(*given, **named)

        monkeypatch.setattr(module, "connect", connect)

    if url.startswith("sqlite"):
        wrap(sqlite3, sqlite3.Connection, sqlite3.OperationalError)
    else:
        psycopg = pytest.importorskip("psycopg")
        wrap(psycopg, psycopg.Connection, psycopg.OperationalError)
    return faults
