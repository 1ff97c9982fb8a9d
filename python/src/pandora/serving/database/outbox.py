"""A worker's outbox: takes events without waiting; its own thread writes them to the database, in order."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import deque
from typing import Any, NamedTuple, Optional

from ...arguments import integer, number, refused
from ...errors import UsageError
from .chain import START, Event, Row, chained
from .connection import Closes, connect
from .database import Database, new_worker
from .errors import ChainError, FeedbackKnown, FeedbackRefused, OutboxFull

_BATCH = 1000  # the most events of a batch
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 5.0  # seconds between tries while the database is away
_MOST_REFUSED = 10_000  # refusals that are kept for callers who ask
_ALL: weakref.WeakSet[Outbox] = weakref.WeakSet()


class _Put(NamedTuple):
    """The events of one call of put."""

    ticket: int  # 1, 2, 3, ...
    when: float  # of time.monotonic
    events: tuple[Event, ...]


class Outbox(Closes):
    """Passes a worker's events to the database of that URL.

    `put` takes events and never waits for the database. A thread writes them every `sync_seconds`; events that were put
    but not written are lost if the process dies. While the database is away, up to `most_events` events are kept, and
    written in order when it is back. The worker has its own random number. A forked child gets another number and
    begins empty, because its parent writes the parent's events. Threads may share it.
    """

    def __init__(self, url: str, sync_seconds: float = 1.0, most_events: int = 100_000) -> None:
        connect(url)  # refuses an invalid URL, but does not connect
        self.url = url
        self.sync_seconds = number("Outbox: sync_seconds", sync_seconds)
        self.most_events = integer("Outbox: most_events", most_events)
        if not 0.0 < self.sync_seconds <= 3600.0:
            raise refused("Outbox: sync_seconds", sync_seconds, "a number above 0, up to 3600")
        self._begin()
        _ALL.add(self)

    def _begin(self) -> None:
        """Starts empty, under a new number."""
        self._changed = threading.Condition()
        self._puts: deque[_Put] = deque()
        self._refused: dict[int, FeedbackRefused] = {}  # by the ticket
        self._ticket = self._wanted = 0  # of the last put, and of the last one for which somebody waits
        self._kept = self._committed = self._lost = self._not_taken = 0  # events
        self._failures = self._renamed = 0
        self._failure: Optional[str] = None
        self._commit_time = time.monotonic()
        self._closing = False
        self._thread: Optional[threading.Thread] = None
        #: how many puts, and their rows, are tried until their fate is known
        self._batch: Optional[tuple[int, list[Row]]] = None
        self._name_worker()

    def _name_worker(self) -> None:
        self.worker = new_worker()
        self._sequence, self._checksum = 0, START

    def _done(self) -> int:
        """The ticket up to which all puts are committed or refused."""
        return self._puts[0].ticket - 1 if self._puts else self._ticket

    def put(self, *events: Event) -> int:
        """Takes events, which are written in one transaction, whole or not at all. Returns a number for `flush`.

        Put feedback in a call of its own: if it is refused, all events of the call are. OutboxFull if the database is
        away for so long that no more can be kept.
        """
        if not all(isinstance(one, Event) for one in events):
            raise refused("Outbox.put: events", events, "what pandora.serving.database.event makes")
        with self._changed:
            if self._closing:
                raise UsageError("Outbox: it is closed")
            if self._kept + len(events) > self.most_events:
                self._lost += len(events)
                raise OutboxFull(
                    f"{self._kept} events wait for the database, and no more than {self.most_events} are kept; "
                    f"{self._lost} were not taken ({self._failure or 'they come faster than it writes'})"
                )
            self._ticket += 1
            self._puts.append(_Put(self._ticket, time.monotonic(), events))
            self._kept += len(events)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="pandora-outbox", daemon=True)
                self._thread.start()
            return self._ticket

    def flush(self, seconds: Optional[float] = None, ticket: Optional[int] = None) -> bool:
        """Waits until all earlier puts are committed, or the put with that number and all before it. Returns False if
        they are not after that many seconds; they will be later. With a number, raises FeedbackConflict or
        FeedbackRemoved if that put was refused; feedback that existed already counts as committed.
        """
        with self._changed:
            if ticket is not None and ticket > self._ticket:
                raise UsageError(f"Outbox.flush: put {ticket} is not of this process")
            wanted = self._ticket if ticket is None else ticket
            self._wanted = max(self._wanted, wanted)
            self._changed.notify_all()
            done = self._changed.wait_for(lambda: self._done() >= wanted, seconds)
            if ticket in self._refused:
                raise self._refused.pop(ticket)
            return done

    def metrics(self) -> dict[str, Any]:
        """The worker's number; how many events are `kept` but not written, and for how many seconds the oldest; seconds
        since the last commit; how many events were committed, refused, and lost for lack of room; failed tries; how
        often the worker took a new number because its chain broke; and the text of a lasting failure (None: all is
        well).
        """
        with self._changed:
            now = time.monotonic()
            return {
                "worker": self.worker,
                "kept": self._kept,
                "kept_seconds": now - self._puts[0].when if self._puts else 0.0,
                "seconds_since_commit": now - self._commit_time,
                "committed": self._committed,
                "refused": self._not_taken,
                "lost": self._lost,
                "failures": self._failures,
                "renamed": self._renamed,
                "failure": self._failure,
            }

    def close(self, seconds: float = 10.0) -> bool:
        """Writes everything, for at most that many seconds, and takes no more events; returns whether all was
        written.
        """
        done = self.flush(seconds)
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join(max(seconds, 1.0))
        return done

    # ---- the thread ---------------------------------------------------------------------------------------------

    def _work(self) -> None:
        database: Optional[Database] = None
        wait = 0.0
        while True:
            with self._changed:
                if wait > 0.0:
                    self._changed.wait_for(lambda: self._closing, wait)
                else:
                    self._changed.wait_for(lambda: self._closing or self._wanted > self._done(), self.sync_seconds)
                if self._closing:
                    break
            try:
                database = database or Database(self.url, check=False)
                while self._puts and not self._closing:
                    self._write(database)
                wait = 0.0
            except Exception as error:  # whatever it is: the events are kept, and the metrics say why
                wait = min(max(2.0 * wait, _FIRST_WAIT), _LONGEST_WAIT)
                with self._changed:
                    self._failures += 1
                    self._failure = str(error) or repr(error)
        if database is not None:
            database.close()

    def _write(self, database: Database) -> None:
        """The next batch; the same rows again if their fate is unknown."""
        if self._batch is None:
            self._batch = self._next_batch()
        puts, rows = self._batch
        try:
            database.append(rows)
            self._committed_all(puts, rows)
        except FeedbackRefused as error:
            self._refuse(puts, rows[0].sequence, error.refusals)
        except ChainError as error:  # another process has this number, or the database is an older copy
            self._name_worker()
            with self._changed:
                self._renamed += 1
                self._failure = str(error)
        self._batch = None

    def _next_batch(self) -> tuple[int, list[Row]]:
        events: list[Event] = []
        puts = 0
        with self._changed:
            for put in self._puts:
                if events and len(events) + len(put.events) > _BATCH:
                    break
                events.extend(put.events)
                puts += 1
        return puts, chained(self.worker, self._sequence, self._checksum, events)

    def _committed_all(self, puts: int, rows: list[Row]) -> None:
        if rows:
            self._sequence, self._checksum = rows[-1].sequence, rows[-1].checksum
        with self._changed:
            for _ in range(puts):
                self._puts.popleft()
            self._kept -= len(rows)
            self._committed += len(rows)
            self._commit_time = time.monotonic()
            self._failure = None
            self._changed.notify_all()

    def _refuse(self, puts: int, sequence: int, refusals: dict[int, FeedbackRefused]) -> None:
        """Removes puts with refused feedback from the first puts, whose rows begin with that number. The others are
        written with the next batch.
        """
        with self._changed:
            left = []
            for _ in range(puts):
                put = self._puts.popleft()
                told = [refusals[k] for k in range(sequence, sequence + len(put.events)) if k in refusals]
                sequence += len(put.events)
                if not told:
                    left.append(put)
                    continue
                self._kept -= len(put.events)
                refused = [one for one in told if not isinstance(one, FeedbackKnown)]
                if refused:
                    self._not_taken += len(put.events)
                    self._refused[put.ticket] = refused[0]
                    while len(self._refused) > _MOST_REFUSED:
                        self._refused.pop(next(iter(self._refused)))
            self._puts.extendleft(reversed(left))
            self._changed.notify_all()


def _after_fork_in_child() -> None:
    for outbox in list(_ALL):
        outbox._begin()


os.register_at_fork(after_in_child=_after_fork_in_child)
