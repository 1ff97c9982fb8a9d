"""The database of a running cascade: events of its workers, the order in which they are learned, and versions.

README.md in this folder has the tables, and says what holds when something fails.

>>> import pandora.serving.database as database
>>> url = f"sqlite:///{tmp}/kept.db"
>>> with database.open(url) as kept, database.Outbox(url) as outbox:  # a worker
...     ticket = outbox.put(database.event("decision", {"deployed": "small"}, request=7))
...     outbox.flush(seconds=10.0, ticket=ticket)  # it is committed
...     with database.Learner(kept) as learner:  # one process at a time
...         [(row.place, row.kind, row.payload) for row in learner.read()]
...         learner.save(b"all that was learned", level="v3").number
...         learner.publish(b"what workers decide by", level="v3").number
...     kept.newer_than(0).content
True
[(1, 'decision', '{"deployed":"small"}')]
1
1
b'what workers decide by'
"""

from __future__ import annotations

from .chain import Event, Point, Row, State, Version, chained, event
from .connection import require_file
from .database import Database, new_worker
from .errors import (
    ChainError,
    DamageError,
    DatabaseAway,
    FeedbackConflict,
    FeedbackKnown,
    FeedbackRefused,
    FeedbackRemoved,
    LearnerLost,
    OutboxFull,
)
from .learner import Learner
from .outbox import Outbox

__all__ = [
    "ChainError", "DamageError", "Database", "DatabaseAway", "Event", "FeedbackConflict", "FeedbackKnown",
    "FeedbackRefused", "FeedbackRemoved", "Learner", "LearnerLost", "Outbox", "OutboxFull", "Point", "Row", "State",
    "Version", "chained", "event", "new_worker", "open", "require_file",
]  # fmt: skip

open = Database  # as pandora.serving.open names it
