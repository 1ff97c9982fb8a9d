"""Events as rows that checksums link in a chain, and the checks of such chains. It does not use a database.

A row's checksum is the SHA-256 of the checksum of the same worker's row before (32 zero bytes for its first row) and
the text "WORKER SEQUENCE TIME KIND REQUEST PAYLOAD". It is SHA-256 rather than BLAKE2b, because PostgreSQL and every
command line can compute it too, and because processors have instructions for it.
"""

from __future__ import annotations

import json
import re
import time as clock
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from math import isfinite
from typing import Any, NamedTuple, Optional

from ...arguments import integer, number, refused

START = bytes(32)  # the checksum before a chain's first row
MOST_NUMBER = 2**53 - 1  # of workers and requests: JSON and Python carry it exactly
FEEDBACK = "feedback"  # the kind of event of which each request has at most one

_KIND = re.compile(r"[a-z][a-z0-9_]{0,39}")
_MOST_PAYLOAD = 16 << 20

#: for each worker the sequence number and the checksum of its last row
Heads = dict[int, tuple[int, bytes]]


class Event(NamedTuple):
    """Something that happened in a worker. `event` makes one and checks it."""

    kind: str
    payload: str  #: JSON, of ASCII characters alone
    request: Optional[int]  #: the request's number, or None
    time: float  #: seconds since 1970


class Row(NamedTuple):
    """An event as the database has it; the members are the columns of the table."""

    worker: int
    sequence: int  #: 1, 2, 3, ... of each worker
    place: Optional[int]  #: 1, 2, 3, ... in the learner's order; None until the learner has assigned it
    time: float
    kind: str
    request: Optional[int]
    payload: str
    checksum: bytes


def event(kind: str, payload: Any, request: Optional[int] = None, time: Optional[float] = None) -> Event:
    """Makes an event now, or at `time` in seconds since 1970. `payload` is anything that json.dumps takes, up to 16 MiB
    as JSON.

    For feedback (kind "feedback") the payload is the value; the same payload again is the same feedback. UsageError if
    the kind is not a short word in lower case, the request is outside [0, 2^53), or the payload is not JSON.
    """
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise refused("event: kind", kind, "a word of a-z, 0-9 and _ with at most 40 characters")
    if request is not None:
        request = integer("event: request", request, MOST_NUMBER)
    elif kind == FEEDBACK:
        raise refused("event: request", request, "the number of the request that the feedback is for")
    when = clock.time() if time is None else number("event: time", time)
    if not isfinite(when):
        raise refused("event: time", time, "seconds since 1970")
    try:
        text = json.dumps(payload, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise refused("event: payload", payload, f"what JSON can hold ({error})") from None
    if len(text) > _MOST_PAYLOAD:
        raise refused("event: payload", payload, f"at most {_MOST_PAYLOAD} characters of JSON, not {len(text)}")
    return Event(kind, text, request, when)


def checksum_of(before: bytes, row: Row) -> bytes:
    """The checksum that the row must have behind a row with the checksum `before`."""
    text = f"{row.worker} {row.sequence} {row.time!r} {row.kind} {row.request} {row.payload}"
    return sha256(before + text.encode()).digest()


def chained(worker: int, sequence: int, checksum: bytes, events: Iterable[Event]) -> list[Row]:
    """The events as the worker's rows behind its row `sequence` with that checksum; 0 and START where it has none."""
    rows = []
    for one in events:
        sequence += 1
        row = Row(worker, sequence, None, one.time, one.kind, one.request, one.payload, b"")
        checksum = checksum_of(checksum, row)
        rows.append(row._replace(checksum=checksum))
    return rows


@dataclass
class Point:
    """A point in the learner's order: all rows up to `place` are before it."""

    place: int = 0
    order: bytes = START  #: SHA-256 of this member at the place before and the row's checksum; START at place 0
    heads: Heads = field(default_factory=dict)

    def copy(self) -> Point:
        """A copy that can advance independently."""
        return Point(self.place, self.order, dict(self.heads))

    def follow(self, place: int, checksum: bytes) -> None:
        """Advances the order by a row with this checksum."""
        self.place, self.order = place, sha256(self.order + checksum).digest()

    def see(self, row: Row) -> list[str]:
        """Advances by a row, which must be the next one of its worker and, if it has a place, of the order.

        Returns sentences about its damages; none if it is as it was written.
        """
        name = f"worker {row.worker}, row {row.sequence}"
        types = [type(row.worker), type(row.sequence), type(row.checksum)]
        if types != [int, int, bytes] or type(row.place) not in (int, type(None)):
            return [f"{name}: is no row of an event"]
        found = []
        if row.place is not None:
            if row.place != self.place + 1:
                found.append(f"{name}: has place {row.place} of the learner's order, behind place {self.place}")
            self.follow(row.place, row.checksum)
        last, checksum = self.heads.get(row.worker, (0, START))
        if row.sequence <= last:
            return [*found, f"{name}: stands behind its worker's row {last}"]
        if row.sequence > last + 1:
            found.append(f"worker {row.worker}, rows {last + 1} to {row.sequence - 1}: are missing")
        elif checksum_of(checksum, row) != row.checksum:
            found.append(f"{name}: its content is not what was written")
        self.heads[row.worker] = row.sequence, row.checksum
        return found

    def differs(self, heads: Heads, begun: Point) -> list[str]:
        """Sentences about workers whose rows, all seen since `begun`, do not end as that table says."""
        wrote = {worker for worker, head in self.heads.items() if head != begun.heads.get(worker)}
        found = [f"worker {worker}: is not in the table of workers" for worker in sorted(wrote - heads.keys())]
        for worker, (last, checksum) in heads.items():
            seen, ends = self.heads.get(worker, (0, START))
            if seen < last:
                found.append(f"worker {worker}, rows {seen + 1} to {last}: are missing")
            elif (seen, ends) != (last, checksum):
                found.append(f"worker {worker}: its rows end with row {seen}, not as the table of workers says")
        return found


class State(NamedTuple):
    """Everything that was learned up to a point of the order. Learning, replay and removal begin after it."""

    number: int  #: 1, 2, 3, ...
    time: float  #: when it was saved, in seconds since 1970
    level: str  #: of the instructions with which it was learned
    point: Point  #: the rows that it contains
    digest: bytes  #: SHA-256 of the state
    state: bytes

    def heads(self) -> str:
        """The point's heads as JSON: of each worker's number [sequence, checksum in hexadecimal digits]."""
        return json.dumps({str(w): [last, checksum.hex()] for w, (last, checksum) in sorted(self.point.heads.items())})

    def checksum(self) -> bytes:
        """SHA-256 of all other members, as JSON."""
        point = self.point
        return _digest(self.number, self.time, self.level, point.place, point.order, self.heads(), self.digest)


class Version(NamedTuple):
    """The content by which workers decide."""

    number: int  #: 1, 2, 3, ...
    time: float  #: when it was published, in seconds since 1970
    origin: str  #: "learner", "publish" or "rollback"
    level: str  #: of the instructions with which it was learned
    place: int  #: it was learned from all rows up to this place
    state: int  #: the number of the newest state when it was published; 0: there was none
    digest: bytes  #: SHA-256 of the content
    content: bytes

    def checksum(self) -> bytes:
        """SHA-256 of all other members, as JSON."""
        return _digest(*self[:-1])


def _digest(*members: Any) -> bytes:
    return sha256(json.dumps([m.hex() if isinstance(m, bytes) else m for m in members]).encode()).digest()


def heads_of(text: str) -> Heads:
    """State.heads() back. ValueError for another text."""
    found = json.loads(text)
    if not isinstance(found, Mapping):
        raise ValueError("no heads")
    return {int(worker): (int(last), bytes.fromhex(checksum)) for worker, (last, checksum) in found.items()}
