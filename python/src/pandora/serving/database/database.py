"""A database of events, states and versions, to which workers append and from which they adopt, and its checks."""

from __future__ import annotations

import secrets
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any, Callable, Optional, TypeVar

from ...errors import MismatchError
from .chain import FEEDBACK, MOST_NUMBER, START, Event, Heads, Point, Row, State, Version, chained, heads_of
from .connection import Closes, Connection, connect
from .errors import (
    ChainError,
    DamageError,
    FeedbackConflict,
    FeedbackKnown,
    FeedbackRefused,
    FeedbackRemoved,
    Raced,
)
from .schema import MIGRATIONS

_STATE = "number, time, level, place, order_checksum, heads, digest, state"
_VERSION = ", ".join(Version._fields)
_VERSIONS = 8  # the number of newest versions that are kept
_PAGE = 2000  # rows that are read at once
_KEYS = 500  # values in one IN (...)
_BLOCK = 1 << 20  # requests that are numbered in ascending order, as in pandora.Cascade
_One = TypeVar("_One", State, Version)


class Database(Closes):
    """A database given by its URL. An empty one is initialised, and an older one is brought to this program's schema.

    Threads may share it; their calls wait for each other. In a forked child it opens a connection of its own. With
    `check`, opening checks everything that the newest state does not contain; `verify` checks everything. DatabaseAway
    if it cannot be reached, DamageError if it is damaged, MismatchError if a later program made it.
    """

    def __init__(self, url: str, check: bool = True) -> None:
        self.url = url
        self._connection = connect(url)
        self._waiting: Optional[Connection] = None
        try:
            _migrate(self._connection)
            if check and (damages := self._damages(self._connection, every=False)):
                raise DamageError(self.name, damages)
        except BaseException:
            self.close()
            raise

    @property
    def name(self) -> str:
        """The file, or the URL without its password."""
        return self._connection.name

    def close(self) -> None:
        """Closes its connections."""
        self._connection.close()
        if self._waiting is not None:
            self._waiting.close()

    # ---- events -------------------------------------------------------------------------------------------------

    def append(self, rows: Sequence[Row]) -> None:
        """Appends rows of one worker, as `chained` makes them: all of them, or none.

        Existing rows are skipped, so a call whose answer was lost can be repeated. ChainError for other content under
        the same numbers, and for rows that do not follow the worker's last one. FeedbackRefused, or a subclass, if some
        feedback exists already or its request was removed; `refusals` has all of those.
        """
        if not rows:
            return
        try:
            with self._connection.transaction():
                self._append(rows)
        except Raced:  # another worker's feedback for the same request came first, and is visible now
            with self._connection.transaction():
                self._append(rows)

    def _append(self, rows: Sequence[Row]) -> None:
        worker, first, final = rows[0].worker, rows[0].sequence, rows[-1].sequence
        run = self._connection.execute
        heads = run(
            f"SELECT last, checksum FROM pandora_workers WHERE worker = ?{self._connection.for_update}", [worker]
        )
        last, checksum = heads[0] if heads else (0, START)
        if first > last + 1:
            raise ChainError(f"{self.name}: worker {worker} has {last} rows, and row {first} cannot follow them")
        if last >= first:  # a repeated call: the checksum of the last existing row confirms all rows before it
            there, known = min(last, final), checksum
            if there < last:
                found = run("SELECT checksum FROM pandora_events WHERE worker = ? AND sequence = ?", [worker, there])
                known = found[0][0] if found else b""
            if rows[there - first].checksum != known:
                raise ChainError(f"{self.name}: worker {worker} has another row {there} than the one given")
            rows = rows[there - first + 1 :]
        if not rows:
            return
        follows = chained(worker, last, checksum, [Event(r.kind, r.payload, r.request, r.time) for r in rows])
        if follows != list(rows):
            raise ChainError(f"{self.name}: worker {worker}: the rows given do not follow its row {last}")
        if refusals := self._refusals(rows):
            said = next(iter(refusals.values()))
            said.refusals = refusals
            raise said
        sql = f"INSERT INTO pandora_events ({', '.join(Row._fields)}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        self._connection.execute_all(sql, follows)
        run(
            "INSERT INTO pandora_workers VALUES (?, ?, ?) "
            "ON CONFLICT (worker) DO UPDATE SET last = excluded.last, checksum = excluded.checksum",
            [worker, final, rows[-1].checksum],
        )

    def _refusals(self, rows: Sequence[Row]) -> dict[int, FeedbackRefused]:
        """Why feedback cannot be appended, by its row's sequence number."""
        given = [row for row in rows if row.kind == FEEDBACK and row.request is not None]
        requests = [row.request for row in given]
        there = dict(self._of(f"SELECT request, payload FROM pandora_events WHERE kind = '{FEEDBACK}' AND", requests))
        unknown = [request for request in requests if request not in there]
        removed = self._removed(unknown) if unknown else set()
        removed -= {row.request for row in rows if row.kind != FEEDBACK}
        found: dict[int, FeedbackRefused] = {}
        for row in given:
            request, before = row.request or 0, there.setdefault(row.request, None)
            if before == row.payload:
                found[row.sequence] = FeedbackKnown(request, "it is there already")
            elif before is not None:
                found[row.sequence] = FeedbackConflict(
                    request, f"it has {before} already, and {row.payload} is refused"
                )
            elif request in removed:
                found[row.sequence] = FeedbackRemoved(request, "the request is older than what is kept (keep_days)")
            there[row.request] = before or row.payload
        return found

    def _removed(self, requests: Sequence[Any]) -> set[Any]:
        """Requests of which keep_days has left no row, because a later request of their block was removed."""
        blocks = dict(
            self._of("SELECT block, through FROM pandora_removed WHERE", [r // _BLOCK for r in requests], "block")
        )
        old = [request for request in requests if request <= blocks.get(request // _BLOCK, -1)]
        removed = _about(self._connection, "removed")[0]
        rows = self._of("SELECT request, place FROM pandora_events WHERE", old)
        return set(old) - {request for request, place in rows if place is None or place > removed}

    def _of(self, sql: str, keys: Sequence[Any], column: str = "request") -> Iterator[Any]:
        """The rows whose column is one of the keys."""
        keys = sorted(set(keys))
        for k in range(0, len(keys), _KEYS):
            part = keys[k : k + _KEYS]
            yield from self._connection.execute(f"{sql} {_among(column, part)}", part)

    def rows_of(self, request: int) -> list[Row]:
        """The stored rows of a request, in the order of time."""
        return _rows(self._connection, "request = ? ORDER BY time, worker, sequence", [request])

    def is_removed(self, request: int) -> bool:
        """Whether keep_days has left no row of it, because a later request of its block was removed."""
        return bool(self._removed([request]))

    def last_place(self) -> Optional[int]:
        """The last place of the order; None while some rows have no place."""
        if self._connection.execute("SELECT 1 FROM pandora_events WHERE place IS NULL LIMIT 1"):
            return None
        return _about(self._connection, "order")[0]

    def rows_after(self, place: int, kinds: Collection[str], most: int = 1000) -> list[Row]:
        """The next rows of these kinds after that place of the learner's order, in that order; at most that many."""
        where = f"{_among('kind', kinds)} AND place > ? ORDER BY place LIMIT ?"
        return _rows(self._connection, where, [*kinds, place, most])

    def events(self, kinds: Collection[str]) -> Iterator[Row]:
        """All stored rows of these kinds: first those that have a place now, in the learner's order, then the others,
        each worker's in its order. Each row that exists now is returned once, even if it gets a place meanwhile, unless
        it is removed. Rows are read in pages, without an open transaction between two pages.
        """
        end, _ = _about(self._connection, "order")
        where = f"{_among('kind', kinds)} AND"
        yield from _placed(self._connection, 0, f"{where} place <= {end} AND", kinds)
        yield from _by_worker(self._connection, f"{where} (place IS NULL OR place > {end})", kinds)

    # ---- states and versions ------------------------------------------------------------------------------------

    def newest(self) -> int:
        """The number of the newest version; 0 if there is none."""
        return _about(self._connection, "versions")[0]

    def version(self, number: int) -> Optional[Version]:
        """The version of that number; None if it does not exist (any more). DamageError if it is damaged."""
        return _version(self._connection, number)

    def state(self, number: int) -> Optional[State]:
        """The state of that number; None if it does not exist (any more). DamageError if it is damaged."""
        return _state(self._connection, number)

    def states(self) -> list[int]:
        """The numbers of the stored states, the newest first."""
        found = self._connection.execute("SELECT number FROM pandora_states ORDER BY number DESC")
        return [number for (number,) in found]

    def newest_state(self) -> Optional[State]:
        """The state that was saved last; None if there is none."""
        return _newest_state(self._connection)

    def newer_than(self, number: int) -> Optional[Version]:
        """The newest version, if its number is greater."""
        return _newer_than(self._connection, number)

    def wait_newer(self, number: int, seconds: float) -> Optional[Version]:
        """Waits for a newer version; None after that many seconds. It uses a connection of its own, so that other
        threads' calls do not wait. NOTIFY says when to look; without it, it looks every second.
        """
        if self._waiting is None:
            self._waiting = connect(self.url)
        end = time.monotonic() + seconds
        while True:
            left = end - time.monotonic()
            if (found := _newer_than(self._waiting, number)) is not None or left <= 0.0:
                return found
            self._waiting.wait_change(min(1.0, left))

    # ---- checks -------------------------------------------------------------------------------------------------

    def replay(self, behind: Optional[State] = None) -> Iterator[Row]:
        """All rows with a place in the learner's order after that state, or after state `begins`, each checked.
        DamageError at the first row that is not as it was written.
        """
        with connect(self.url) as connection, connection.transaction(connection.read):
            point = _begins(connection)[1] if behind is None else behind.point.copy()
            for row in _placed(connection, point.place):
                if damages := point.see(row):
                    raise DamageError(self.name, damages)
                yield row
            if damages := _order_differs(connection, point):
                raise DamageError(self.name, damages)

    @property
    def begins(self) -> int:
        """The number of the state after which the stored rows begin; 0: nothing was removed."""
        return _begins(self._connection)[0]

    def verify(self) -> list[str]:
        """Checks everything. Returns sentences that name the worker and the row of each damage; none if all is
        intact.
        """
        with connect(self.url) as connection:
            try:
                if not (found := connection.structure()):
                    return self._damages(connection, every=True)
            except DamageError as error:
                found = error.damages
            try:
                return found + _missing(connection)
            except DamageError as error:
                return found + error.damages

    def _damages(self, connection: Connection, every: bool) -> list[str]:
        """Checks all rows, states and versions, or the newest of both and everything that the newest state does not
        contain.
        """
        found: list[str] = []
        with connection.transaction(connection.read):
            begins, begun = _begins(connection)
            heads, newest = _heads(connection), _about(connection, "versions")[0]
            found.extend(_numbered(connection, "state", _state, max(begins, 1) if every else None))
            found.extend(_numbered(connection, "version", _version, max(newest - _VERSIONS + 1, 1) if every else None))
            if not every and not found and (state := _newest_state(connection)) is not None:
                begun = state.point
            if every:
                if _removed_checksum(connection) != (_about(connection, "removed")[1] or sha256().digest()):
                    found.append("the table of removed requests is not what was written")
                # First by workers, because in the learner's order one moved row makes many look wrong.
                chains = begun.copy()
                for row in _by_worker(connection, f"(place IS NULL OR place > {begun.place})"):
                    found.extend(chains.see(row._replace(place=None)))
                if found := [*found, *chains.differs(heads, begun)]:
                    return found
            point = begun.copy()
            for row in _placed(connection, point.place):
                found.extend(point.see(row))
            found.extend(_order_differs(connection, point))
            for row in _by_worker(connection, "place IS NULL"):
                found.extend(point.see(row))
        return [*found, *point.differs(heads, begun)]


def new_worker() -> int:
    """A number for a worker, drawn at random from 1 to 2^53 - 1."""
    return secrets.randbelow(MOST_NUMBER) + 1


def _migrate(connection: Connection) -> None:
    """Makes the schema of this program, whole or not at all."""

    def there() -> int:
        if not connection.execute(connection.has_tables):
            return 0
        found = connection.execute("SELECT number FROM pandora_about WHERE name = 'schema'")
        if len(found) != 1 or type(found[0][0]) is not int or found[0][0] < 1:
            raise DamageError(connection.name, ["the schema's number is missing"])
        return int(found[0][0])

    if there() != len(MIGRATIONS):
        with connection.transaction():
            connection.lock_schema()
            number = there()
            if number > len(MIGRATIONS):
                raise MismatchError(
                    f"{connection.name}: has schema {number}, of a later program; this one knows schemas up to "
                    f"{len(MIGRATIONS)}: update it, or name another database"
                )
            for migration in MIGRATIONS[number:]:
                for statement in migration:
                    connection.execute(statement)
            connection.execute("UPDATE pandora_about SET number = ? WHERE name = 'schema'", [len(MIGRATIONS)])


def _about(connection: Connection, name: str) -> tuple[int, Any]:
    found = connection.execute("SELECT number, checksum FROM pandora_about WHERE name = ?", [name])
    if len(found) != 1 or type(found[0][0]) is not int:
        raise DamageError(connection.name, [f"pandora_about: {name!r} is missing"])
    return found[0][0], found[0][1]


def _begins(connection: Connection) -> tuple[int, Point]:
    """The state after which the stored rows begin, and its point."""
    number, checksum = _about(connection, "begins")
    if number == 0:
        return 0, Point()
    state = _state(connection, number)
    if state is None or state.checksum() != checksum:
        raise DamageError(connection.name, [f"state {number}: is not the one behind which the rows begin"])
    return number, state.point.copy()


def _state(connection: Connection, number: int) -> Optional[State]:
    def made(_: int, when: float, level: str, place: int, order: bytes, heads: str, *state: bytes) -> State:
        return State(number, when, level, Point(place, order, heads_of(heads)), *state)

    return _whole(connection, f"SELECT {_STATE}, checksum FROM pandora_states WHERE number = ?", number, made)


def _version(connection: Connection, number: int) -> Optional[Version]:
    return _whole(connection, f"SELECT {_VERSION}, checksum FROM pandora_versions WHERE number = ?", number, Version)


def _whole(connection: Connection, sql: str, number: int, make: Callable[..., _One]) -> Optional[_One]:
    """The object of the row with that number; DamageError if the row is not as it was written."""
    for *members, checksum in connection.execute(sql, [number]):
        try:
            one = make(*members)
            if one.checksum() == checksum and sha256(one[-1]).digest() == one.digest:
                return one
        except (ValueError, TypeError, AttributeError):
            pass
        name = "version" if make is Version else "state"
        raise DamageError(connection.name, [f"{name} {number}: its content is not what was written"])
    return None


def _numbered(
    connection: Connection, name: str, read: Callable[[Connection, int], Optional[_One]], first: Optional[int]
) -> list[str]:
    """Damages of all states or versions, which must be there from the first on; of the newest one, where it is None."""
    newest, checksum = _about(connection, f"{name}s")
    there = {number for (number,) in connection.execute(f"SELECT number FROM pandora_{name}s")}
    wanted = {newest}
    if first is not None:
        wanted |= there.union(range(first, newest + 1) if newest in there else [])
    found = []
    for number in sorted(wanted - {0}):
        try:
            one = read(connection, number)
        except DamageError as error:
            found.extend(error.damages)
            continue
        if one is None:
            found.append(f"{name} {number}: is missing")
        elif number > newest:
            found.append(f"{name} {number}: is there, and was not written")
        elif number == newest and one.checksum() != checksum:
            found.append(f"{name} {number}: is not the one that was written")
    return found


def _newest_state(connection: Connection) -> Optional[State]:
    number = _about(connection, "states")[0]
    state = _state(connection, number)
    if state is None and number > 0:
        raise DamageError(connection.name, [f"state {number}: is missing"])
    return state


def _newer_than(connection: Connection, number: int) -> Optional[Version]:
    newest = _about(connection, "versions")[0]
    return _version(connection, newest) if newest > number else None


def _heads(connection: Connection) -> Heads:
    rows = connection.execute("SELECT worker, last, checksum FROM pandora_workers")
    if any([type(x) for x in row] != [int, int, bytes] for row in rows):
        raise DamageError(connection.name, ["the table of workers has a row that is none"])
    return {worker: (last, checksum) for worker, last, checksum in rows}


def _rows(connection: Connection, where: str, values: Sequence[Any]) -> list[Row]:
    """Rows for which that holds with its values."""
    found = connection.execute(f"SELECT {', '.join(Row._fields)} FROM pandora_events WHERE {where}", values)
    return [Row(*row) for row in found]


def _among(column: str, values: Collection[Any]) -> str:
    """That the column is one of so many values."""
    return f"{column} IN ({', '.join('?' * len(values)) or 'NULL'})"


def _placed(connection: Connection, place: int, where: str = "", values: Iterable[Any] = ()) -> Iterator[Row]:
    """Rows behind that place, in the learner's order; those for which `where` holds with its values."""
    return _pages(connection, f"{where} place > ? ORDER BY place", values, (place,), slice(2, 3))


def _by_worker(connection: Connection, where: str, values: Iterable[Any] = ()) -> Iterator[Row]:
    """Rows for which that holds, those of each worker in its order."""
    where = f"{where} AND (worker, sequence) > (?, ?) ORDER BY worker, sequence"
    return _pages(connection, where, values, (0, 0), slice(2))


def _pages(
    connection: Connection, where: str, values: Iterable[Any], key: tuple[int, ...], columns: slice
) -> Iterator[Row]:
    """Rows in the order of those columns, behind the row with that key in them."""
    while rows := _rows(connection, f"{where} LIMIT {_PAGE}", [*values, *key]):
        yield from rows
        end: Any = rows[-1][columns]
        if any(type(x) is not int for x in end) or end <= key:
            raise DamageError(connection.name, [f"an index of rows, behind {', '.join(map(str, key))}"])
        key = end


def _order_differs(connection: Connection, point: Point) -> list[str]:
    """Whether the order, when all of it was read, ends where the learner said."""
    place, order = _about(connection, "order")
    if (place, order or START) == (point.place, point.order):
        return []
    if point.place < place:
        return [f"the learner's order: places {point.place + 1} to {place} are missing"]
    return [f"the learner's order: does not end with place {place} as it did, or rows have changed their places"]


def _removed_checksum(connection: Connection) -> bytes:
    rows = connection.execute("SELECT block, through FROM pandora_removed ORDER BY block")
    return sha256("".join(f"{block} {through}\n" for block, through in rows).encode()).digest()


def _missing(connection: Connection) -> list[str]:
    """The damages of a database that cannot be read completely, row by row."""
    found, begun = [], _begins(connection)[1]
    point = begun.copy()
    heads = _heads(connection)
    for worker, (last, _) in heads.items():
        for sequence in range(point.heads.get(worker, (0, START))[0] + 1, last + 1):
            with suppress(DamageError):
                for row in _rows(connection, "worker = ? AND sequence = ?", [worker, sequence]):
                    found.extend(point.see(row._replace(place=None)))
    return found + point.differs(heads, begun)
