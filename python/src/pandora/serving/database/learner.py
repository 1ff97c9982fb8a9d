"""The learner: one process at a time, which orders the events of all, reads them, saves states and publishes
versions.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Optional

from ...arguments import integer, refused, text
from ...arguments import number as a_number
from ...errors import UsageError
from .chain import START, Point, Row, State, Version
from .connection import Closes, connect
from .database import (
    _BLOCK,
    _STATE,
    _VERSION,
    _VERSIONS,
    Database,
    _about,
    _heads,
    _newer_than,
    _newest_state,
    _removed_checksum,
    _rows,
    _state,
)
from .errors import DamageError, LearnerLost

_PART = 5000  # rows that get their place, or are removed, in one transaction


class Learner(Closes):
    """Holds the learner's lock until it is closed or its process ends. LearnerLost if another process holds it.

    It begins after the newest state, `state`. The rows that `read` returns are to be learned on top of it; None: there
    is no state, and it begins with the first row. `version` is the newest version, which may contain more rows.
    LearnerLost if another process may be the learner by now; then the call did nothing, and this object cannot be used
    any more. DatabaseAway if the database cannot be used now; with PostgreSQL the learner is then lost with its
    connection.
    """

    def __init__(self, database: Database) -> None:
        self._process = os.getpid()
        self._connection = connect(database.url)
        try:
            if not self._connection.try_lock():
                raise LearnerLost(f"{database.name}: another one is the learner")
            self.state = _newest_state(self._connection)
            self.version = _newer_than(self._connection, 0)
        except BaseException:
            self.close()
            raise
        #: after the last row that was read
        self.point = Point() if self.state is None else self.state.point.copy()

    @classmethod
    def of(cls, database: Database) -> Optional[Learner]:
        """The learner, or None while there is another one. A learner that died, or whose machine did, ends within ten
        seconds.
        """
        try:
            return cls(database)
        except LearnerLost:
            return None

    def _own(self) -> None:
        if self._process != os.getpid():
            raise LearnerLost(f"{self._connection.name}: process {self._process} is the learner, and not its child")

    def read(self, most: int = 1000) -> list[Row]:
        """The next rows in the order, at most that many; none if there is nothing new. DamageError if the next row is
        not as it was written; it and all later rows are never returned.

        Rows without a place get the next places in the order of their events' time, but no row comes before an earlier
        row of its worker. Of equal times the smaller worker number comes first.
        """
        self._own()
        where, values = "place > ? ORDER BY place LIMIT ?", [self.point.place, most]
        rows = _rows(self._connection, where, values)
        if not rows and self._order():
            rows = _rows(self._connection, where, values)
        point = self.point.copy()
        for k, row in enumerate(rows):
            if damages := point.see(row):
                if k > 0:
                    return self.read(k)  # those before it
                raise DamageError(self._connection.name, damages)
        self.point = point
        return rows

    def _order(self) -> int:
        """Gives places to rows that have none; returns how many."""
        run = self._connection.execute
        with self._connection.transaction():
            place, order = _about(self._connection, "order")
            end = Point(place, order or START)
            waiting = run(
                "SELECT worker, sequence, checksum FROM (SELECT worker, sequence, checksum, max(time) OVER "
                "(PARTITION BY worker ORDER BY sequence) AS moment FROM pandora_events WHERE place IS NULL) AS waiting "
                "ORDER BY moment, worker, sequence LIMIT ?",
                [_PART],
            )
            places = []
            for worker, sequence, checksum in waiting:
                end.follow(end.place + 1, checksum)
                places.append((end.place, worker, sequence))
            if places:
                sql = "UPDATE pandora_events SET place = ? WHERE worker = ? AND sequence = ?"
                self._connection.execute_all(sql, places)
                self._set("order", end.place, end.order)
        return len(places)

    def _set(self, name: str, number: int, checksum: bytes) -> None:
        sql = "UPDATE pandora_about SET number = ?, checksum = ? WHERE name = ?"
        self._connection.execute(sql, [number, checksum, name])

    def _insert(self, table: str, columns: str, values: Sequence[Any], checksum: bytes) -> None:
        marks = ", ".join("?" * (len(values) + 1))
        sql = f"INSERT INTO pandora_{table} ({columns}, checksum) VALUES ({marks})"
        self._connection.execute(sql, [*values, checksum])
        self._set(table, values[0], checksum)

    def save(self, state: bytes, level: str, now: Optional[float] = None) -> State:
        """Saves a state that contains all rows that were read. The next learner begins after it.

        `level` names the instructions with which it was learned.
        """
        self._own()
        level, state, when = _checked("save", level, state, now)
        with self._connection.transaction():
            number, point = _about(self._connection, "states")[0] + 1, self.point.copy()
            saved = State(number, when, level, point, sha256(state).digest(), state)
            values = [number, when, level, point.place, point.order, saved.heads(), saved.digest, state]
            self._insert("states", _STATE, values, saved.checksum())
        self.state = saved
        return saved

    def publish(self, content: bytes, level: str, origin: str = "learner", now: Optional[float] = None) -> Version:
        """Publishes a version with that content, learned from all rows that were read; workers adopt it. The newest
        eight are kept.

        `level` names the instructions with which it was learned; `origin` is "learner", "publish" or "rollback".
        UsageError if fewer rows were read than the newest version contains: read on first.
        """
        self._own()
        if origin not in ("learner", "publish", "rollback"):
            raise refused("publish: origin", origin, '"learner", "publish" or "rollback"')
        level, content, when = _checked("publish", level, content, now)
        place = self.point.place
        if self.version is not None and place < self.version.place:
            raise UsageError(
                f"publish: rows were read up to place {place}, and version {self.version.number} contains those up to "
                f"place {self.version.place}: read on first"
            )
        with self._connection.transaction():
            number = _about(self._connection, "versions")[0] + 1
            newest = _about(self._connection, "states")[0]
            version = Version(number, when, origin, level, place, newest, sha256(content).digest(), content)
            self._insert("versions", _VERSION, version, version.checksum())
            self._connection.execute("DELETE FROM pandora_versions WHERE number <= ?", [number - _VERSIONS])
            self._connection.announce(number)
        self.version = version
        return version

    def keep(self, days: float, least_state: Optional[int] = None, now: Optional[float] = None) -> int:
        """Removes the rows contained in the newest state that is older than that many days, and all states before it,
        but no state from number `least_state` on.

        Later rows, that state and all later ones stay; replay and the workers' chains begin after it. Returns how many
        rows were removed. If it is killed, the next call removes the rest, which has no effect until then.
        """
        self._own()
        run = self._connection.execute
        before = (time.time() if now is None else now) - 86400.0 * a_number("keep: days", days)
        begins = _about(self._connection, "begins")[0]
        found = run("SELECT max(number) FROM pandora_states WHERE time <= ? AND number > ?", [before, begins])
        if found[0][0] is not None:
            begins = int(found[0][0])
            self._begin_behind(begins)
        if least_state is not None:
            begins = min(begins, integer("keep: least_state", least_state))
        run("DELETE FROM pandora_states WHERE number < ?", [begins])
        place, count = _about(self._connection, "removed")[0], 0
        least = "SELECT min(place) FROM pandora_events WHERE place <= ?"
        while (first := run(least, [place])[0][0]) is not None:  # in parts, so that no worker waits for long
            through = min(first + _PART - 1, place)
            run("DELETE FROM pandora_events WHERE place <= ?", [through])
            count += through - first + 1
        return count

    def _begin_behind(self, number: int) -> None:
        run = self._connection.execute
        with self._connection.transaction():
            state = _state(self._connection, number)
            if state is None:
                raise DamageError(self._connection.name, [f"state {number}: is missing"])
            run(
                f"INSERT INTO pandora_removed SELECT request / {_BLOCK}, max(request) FROM pandora_events "
                f"WHERE place <= ? AND request IS NOT NULL GROUP BY request / {_BLOCK} ON CONFLICT (block) DO UPDATE "
                "SET through = excluded.through WHERE excluded.through > pandora_removed.through",
                [state.point.place],
            )
            self._set("begins", number, state.checksum())
            self._set("removed", state.point.place, _removed_checksum(self._connection))
            # Workers that have written nothing since: one that lives yet goes on under a new number. Those that are
            # not in the table were forgotten before, and a state from before that time had them still.
            heads = _heads(self._connection)
            gone = [w for w, (last, _) in state.point.heads.items() if w not in heads or heads[w][0] == last]
            self._connection.execute_all("DELETE FROM pandora_workers WHERE worker = ?", [[worker] for worker in gone])
            for worker in gone:
                self.point.heads.pop(worker, None)

    def close(self) -> None:
        """Another process may be the learner."""
        if self._process == os.getpid():
            self._connection.unlock()
            self._connection.close()


def _checked(call: str, level: str, content: bytes, now: Optional[float]) -> tuple[str, bytes, float]:
    when = time.time() if now is None else a_number(f"{call}: now", now)
    return text(f"{call}: level", level), bytes(content), when
