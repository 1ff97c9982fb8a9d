"""Connections to SQLite and PostgreSQL with the same behaviour for their users. They survive errors and forks.

SQL is written once, with `?` for values. After an error of the driver a connection is closed, which undoes everything
that was not committed, and opened again at the next use.
"""

from __future__ import annotations

import errno
import fcntl
import importlib
import os
import sqlite3
import stat
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any, Optional, TypeVar
from urllib.parse import urlsplit

from ...errors import DataError, UsageError
from .errors import DamageError, DatabaseAway, LearnerLost, Raced
from .schema import MIGRATIONS

_Self = TypeVar("_Self")
_BUSY_SECONDS = 5.0  # how long SQLite waits for another process's transaction
_POLL_SECONDS = 0.2  # how often it looks for another process's commit
_HELD: set[str] = set()  # paths of the lock files whose lock this process holds
_MAKING = threading.Lock()
_GATE = threading.Lock()  # held while a file is opened, and while a process is forked
_ALL: weakref.WeakSet[Connection] = weakref.WeakSet()
_FORKING: list[Connection] = []  # connections that wait for a fork in progress
_INHERITED: list[Any] = []  # the parent's connections of drivers: closing them here would end them in the parent


class Closes:
    """Something that `with` closes."""

    def close(self) -> Any:
        """Ends its work and releases everything that it holds."""

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Connection(Closes):
    """One connection, opened at its first use. Calls of several threads wait for each other."""

    errors: tuple[type[Exception], ...] = ()  #: those of the driver
    for_update = ""  #: appended to a SELECT whose rows are to be locked
    has_tables = ""  #: returns a row if there is a schema of this program, of any number
    write, read = "BEGIN", "BEGIN"  #: begin a transaction; a reading one sees a single moment

    def __init__(self, name: str) -> None:
        self.name = name  #: for messages: without a password
        self._lock = threading.RLock()
        self._raw: Any = None
        self._process = os.getpid()
        self._at_gate = False  # waits for it, and is not open
        self._pinned = False  # whether a lock ends with the driver's connection, so that no other one may replace it
        _ALL.add(self)

    def _open(self) -> Any:
        raise NotImplementedError

    def _opened(self) -> Any:
        if self._raw is not None and self._process != os.getpid():
            raise UsageError(
                f"{self.name}: was opened before a fork that Python was not told of; open it after the fork"
            )
        if self._raw is None:
            if self._pinned:
                raise LearnerLost(f"{self.name}: the learner's connection broke; another one may learn now")
            self._process = os.getpid()
            self._raw = self._open()
        return self._raw

    def told(self, error: Exception) -> Exception:
        """The driver's error as an exception of this package."""
        raise NotImplementedError

    def _drop(self) -> None:
        raw, self._raw = self._raw, None
        if raw is not None:
            with suppress(*self.errors):
                raw.close()

    @contextmanager
    def _driver(self) -> Iterator[Any]:
        with self._lock:
            try:
                yield self._opened()
            except self.errors as error:
                self._drop()
                raise self.told(error) from error

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """The rows of a statement, or none. DatabaseAway or DamageError if it fails."""
        with self._driver() as raw:
            return self._rows(raw.execute(self._said(sql), values))

    def _said(self, sql: str) -> str:
        return sql

    def _rows(self, cursor: Any) -> list[Any]:
        return list(cursor.fetchall())

    def execute_all(self, sql: str, values: Sequence[Sequence[Any]]) -> None:
        """The statement for each of the values."""
        with self._driver() as raw:
            raw.cursor().executemany(self._said(sql), values)

    @contextmanager
    def transaction(self, begin: str = "") -> Iterator[None]:
        """Everything executed inside happens, or nothing; `begin` is `write`, unless it says `read`."""
        with self._lock:
            self.execute(begin or self.write)
            try:
                yield
                self.execute("COMMIT")
            except BaseException:
                if self._raw is not None:
                    with suppress(DatabaseAway, DamageError):
                        self.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Closes it; the next use opens it again."""
        with self._lock:
            self._drop()

    def structure(self) -> list[str]:
        """Sentences about damages of tables and indices that the database itself finds."""
        return []

    def lock_schema(self) -> None:
        """Lets others that would change the schema wait until the transaction ends."""

    def try_lock(self) -> bool:
        """Becomes the learner's connection, unless there is another one. DatabaseAway if the file system has no
        locks.
        """
        raise NotImplementedError

    def unlock(self) -> None:
        """Stops being the learner's connection."""

    def announce(self, number: int) -> None:
        """Inside a transaction that publishes a version: notifies those who wait for a change."""

    def wait_change(self, seconds: float) -> None:
        """Waits until something may have changed since the last call, or that many seconds have passed."""
        raise NotImplementedError


class Sqlite(Connection):
    """A file, in WAL mode, with every commit on the disk before it is answered (synchronous=FULL)."""

    errors = (sqlite3.Error, OSError, UnicodeError)  # the last if a message quotes something that is not text
    write = "BEGIN IMMEDIATE"
    has_tables = "SELECT 1 FROM sqlite_master WHERE name = 'pandora_about'"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        folder, file = os.path.split(os.path.abspath(path))
        self._path = os.path.join(os.path.realpath(folder), file)  # by a single name, as locks need it
        self._lock_file: Optional[int] = None
        self._seen: Any = None  # PRAGMA data_version

    def _open(self) -> Any:
        self._at_gate = True
        with _GATE:
            self._at_gate = False
            return self._open_file()

    def _open_file(self) -> Any:
        with _MAKING:
            _make(self._path)
        raw = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            end = time.monotonic() + _BUSY_SECONDS
            while True:  # the mode of a new file is set without waiting for others that set it
                try:
                    mode = raw.execute("PRAGMA journal_mode=WAL").fetchone()[0]
                    break
                except sqlite3.OperationalError as error:
                    if "locked" not in str(error) or time.monotonic() > end:
                        _require_locks(self._path)
                        raise
                    time.sleep(0.01)
            if mode != "wal":
                raise sqlite3.OperationalError("the file system has no shared memory; use a local disk or PostgreSQL")
            for setting in (
                "synchronous=FULL",
                "cell_size_check=ON",
                "trusted_schema=OFF",
                "journal_size_limit=1000000",
            ):
                raw.execute(f"PRAGMA {setting}")
        except BaseException:
            raw.close()
            raise
        self._seen = None
        return raw

    def _drop(self) -> None:
        if self._raw is not None:
            with suppress(*self.errors):
                self._raw.rollback()  # closing alone leaves the locks as long as somebody holds a cursor
        super()._drop()

    def told(self, error: Exception) -> Exception:
        """SQLite's error; a damage if it could not make sense of the file"""
        text = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        damaged = ("malformed", "not a database", "decode to UTF-8", "no such table", "no such column", "codec")
        if any(word in text for word in damaged):
            return DamageError(self.name, [text])
        return (Raced if isinstance(error, sqlite3.IntegrityError) else DatabaseAway)(f"{self.name}: {text}")

    def structure(self) -> list[str]:
        """Compares definitions with those of an empty database, and has SQLite check all pages and indices."""
        wanted = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"
        with closing(sqlite3.connect(":memory:")) as empty:
            for migration in MIGRATIONS:
                for statement in migration:
                    empty.execute(statement)
            missing = set(empty.execute(wanted)) - set(self.execute(wanted))
        found = [f"{kind} {name}: is not defined as it was" for kind, name, _ in sorted(missing)]
        return found + [text for (text,) in self.execute("PRAGMA integrity_check") if text != "ok"]

    def try_lock(self) -> bool:
        """Takes an fcntl lock on FILE-learner rather than a row with a heartbeat. The kernel releases it the moment
        that its process dies, it needs no clock, two processes cannot hold it, and it works wherever SQLite's own locks
        do.
        """
        name = self._path + "-learner"
        with _MAKING:
            if (
                name in _HELD
            ):  # a second descriptor of this process would get the lock too, and end it when it is closed
                return False
            file = None
            try:
                _refuse_foreign(name)
                file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
                os.fchmod(file, 0o600)  # whatever the umask
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if file is not None:
                    os.close(file)
                if error.errno in (errno.EACCES, errno.EAGAIN) and file is not None:
                    return False
                raise DatabaseAway(f"{name}: cannot be locked ({error.strerror})") from error
            self._lock_file = file
            _HELD.add(name)
        return True

    def unlock(self) -> None:
        """Releases the lock."""
        with _MAKING:
            if self._lock_file is not None:
                os.close(self._lock_file)
                self._lock_file = None
                _HELD.discard(self._path + "-learner")

    def wait_change(self, seconds: float) -> None:
        """Looks at PRAGMA data_version, a number in shared memory that every commit of others changes."""
        end = time.monotonic() + seconds
        while True:
            version = self.execute("PRAGMA data_version")
            if version != self._seen or time.monotonic() >= end:
                self._seen = version
                return
            time.sleep(min(_POLL_SECONDS, max(end - time.monotonic(), 0.0)))


def _refuse_foreign(name: str) -> None:
    """UsageError for a link, a pipe, a device or a second name of another file, because it would write elsewhere."""
    with suppress(FileNotFoundError):
        there = os.lstat(name)
        if not stat.S_ISREG(there.st_mode) or there.st_nlink > 1:
            raise UsageError(
                f"{name}: is no file of its own but a link, a pipe, a device or a folder; name another file"
            )


def _require_locks(path: str) -> None:
    """DatabaseAway if the file system has no locks; SQLite would think that somebody holds one."""
    probe = f"{path}-probe"  # closing the file itself would end SQLite's locks on it
    try:
        with open(probe, "w") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EAGAIN):
            raise DatabaseAway(
                f"{path}: its file system has no locks ({error.strerror}); put it on a local disk, or use PostgreSQL"
            ) from error
    finally:
        with suppress(OSError):
            os.unlink(probe)


def _make(path: str) -> None:
    """Makes the file if it does not exist, for its owner only, whatever the umask. SQLite gives its -wal and -shm the
    same mode. An existing file is not opened, because closing it would end SQLite's locks on it in this process.
    """
    for name in (path, path + "-wal", path + "-shm", path + "-journal"):
        _refuse_foreign(name)
    if os.path.exists(path):
        return
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return  # another process made it meanwhile
    except FileNotFoundError:
        raise UsageError(f"{path}: the folder is not there; make it, or name another file") from None
    os.fchmod(file, 0o600)
    os.close(file)
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_CLOEXEC)
    os.fsync(folder)  # so that a power failure does not take the name away
    os.close(folder)


class Postgres(Connection):
    """A server. The session's settings detect within ten seconds that the machine of either side has died."""

    for_update = " FOR UPDATE"
    # to_regclass() would answer from the session's cache, which nothing refreshes inside a transaction: a process that
    # had waited for another one's schema would try to make it again. Reading pg_class refreshes it.
    has_tables = "SELECT 1 FROM pg_class WHERE relname = 'pandora_about' AND pg_table_is_visible(oid)"
    read = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    _settings = (
        "SET tcp_keepalives_idle = 3; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 2; "
        "SET tcp_user_timeout = 8000; SET lock_timeout = '10s'; SET synchronous_commit = on"
    )
    _key = "747268, hashtext(current_schema())"  # of advisory locks: this program's number and the schema's name

    def __init__(self, url: str) -> None:
        try:
            self._driver_module = importlib.import_module("psycopg")
        except ImportError:
            raise UsageError('postgresql:// needs psycopg: pip install "psycopg[binary]"') from None
        parts = urlsplit(url)
        super().__init__(f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}")
        self._url = url
        self.errors = (self._driver_module.Error, OSError)
        self._listens = False

    def _open(self) -> Any:
        raw = self._driver_module.connect(
            self._url, autocommit=True, client_encoding="utf8", connect_timeout=5, tcp_user_timeout=8000,
            keepalives_idle=3, keepalives_interval=2, keepalives_count=2,
        )  # fmt: skip
        try:
            raw.execute(self._settings)
        except BaseException:
            raw.close()
            raise
        self._listens = False
        return raw

    def _said(self, sql: str) -> str:
        return sql.replace("?", "%s")

    def _rows(self, cursor: Any) -> list[Any]:
        return list(cursor.fetchall()) if cursor.description else []

    def told(self, error: Exception) -> Exception:
        """The error of the server or the driver, on one line."""
        text = " ".join(str(error).split())
        if (getattr(error, "sqlstate", None) or "").startswith("XX00"):
            return DamageError(self.name, [text])
        raced = isinstance(error, self._driver_module.errors.UniqueViolation)
        return (Raced if raced else DatabaseAway)(f"{self.name}: {text}")

    def lock_schema(self) -> None:
        """An advisory lock that ends with the transaction."""
        self.execute("SELECT pg_advisory_xact_lock(747269)")

    def try_lock(self) -> bool:
        """An advisory lock of the session. It ends with the connection over which all of the learner's writes go, so a
        learner that lost the lock cannot write any more.
        """
        self._pinned = self.execute(f"SELECT pg_try_advisory_lock({self._key})") == [(True,)]
        return self._pinned

    def unlock(self) -> None:
        """Ends the session."""
        self.close()
        self._pinned = False

    def announce(self, number: int) -> None:
        """NOTIFY, when the transaction is committed."""
        self.execute("SELECT pg_notify('pandora_versions', ?)", [str(number)])

    def wait_change(self, seconds: float) -> None:
        """LISTEN; after the first call on a connection it must be looked at once, since that is when it begins."""
        with self._driver() as raw:
            if not self._listens:
                raw.execute("LISTEN pandora_versions")
                self._listens = True
                return
            for _ in raw.notifies(timeout=seconds, stop_after=1):
                pass


def connect(url: str) -> Connection:
    """A connection to "sqlite:///file.db" (four slashes: from the root) or "postgresql://...", opened when used."""
    if isinstance(url, str):
        if url.startswith("sqlite:///") and len(url) > 10 and "\0" not in url and url != "sqlite:///:memory:":
            return Sqlite(url[10:])
        if url.startswith(("postgresql://", "postgres://")):
            return Postgres(url)
    scheme = url.partition(":")[0] if isinstance(url, str) else repr(url)  # the rest may contain a password
    raise UsageError(f'database {scheme}: give "sqlite:///file.db" or "postgresql://user@host/name"')


def require_file(url: str) -> None:
    """DataError for a file of SQLite that is not there, which opening would make."""
    if url.startswith("sqlite:///") and not os.path.isfile(url[len("sqlite:///") :]):
        raise DataError(f"{url}: there is no such file")


def _before_fork() -> None:
    """A child would take this process's SQLite locks as its own. So no connection is open, or is opened, while it
    forks.
    """
    _GATE.acquire()
    for connection in sorted(_ALL, key=id):
        if not isinstance(connection, Sqlite):
            continue
        while not connection._lock.acquire(timeout=0.01):
            if connection._at_gate:  # of a thread that waits until the fork is over
                break
        else:
            connection._drop()
            _FORKING.append(connection)


def _after_fork_in_parent() -> None:
    while _FORKING:
        _FORKING.pop()._lock.release()
    _GATE.release()


def _after_fork_in_child() -> None:
    global _MAKING, _GATE
    _MAKING, _GATE = threading.Lock(), threading.Lock()
    _HELD.clear()  # locks of fcntl are not inherited
    _FORKING.clear()
    for connection in list(_ALL):
        connection._lock = threading.RLock()
        if connection._raw is not None:
            _INHERITED.append(connection._raw)
            connection._raw = None


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
