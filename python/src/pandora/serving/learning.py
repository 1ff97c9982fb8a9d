"""The thread that learns, in one process at a time: it takes events in order, saves states and publishes versions."""

from __future__ import annotations

import json
import platform
import re
import threading
import time
from collections.abc import Iterable
from typing import Any, Optional

from .. import _core
from ..live.members import Json
from .database import Database, Learner, Row
from .learned import Learned

#: The instructions with which this program learns: with the same ones, the same events give the same bytes.
LEVEL = " ".join([platform.machine(), *re.findall(r"sources *(.*)", _core.build), _core.__file__.rsplit("/", 2)[-2]])

_PUBLISH_SECONDS = 0.5  # between two versions
_TRY_SECONDS = 2.0  # between tries to be the learner
_EVENTS_OF_A_STATE = 20_000
_KEEP_SECONDS = 600.0  # between removals


class LearningThread:
    """Tries to become the learner, and stays it until it is closed or the database is away.

    `first`: the initial content for a database without a state. `began`: whether this process has initialised it.
    `has_nothing`: whether the database has no state and there is no initial content.
    """

    def __init__(self, url: str, first: Optional[Learned], keep_days: Optional[float]) -> None:
        self._url, self._first, self._keep_days = url, first, keep_days
        self._wake = threading.Event()
        self._closing = False
        self.began = self.has_nothing = False
        self.failure: Optional[Exception] = None
        self._is_learner = False
        self._level_changed: Optional[str] = None
        self._learned_events = 0
        self._thread = threading.Thread(target=self._work, name="pandora-learns", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Says that there is something to learn."""
        self._wake.set()

    def close(self) -> None:
        """Stops; another process may learn."""
        self._closing = True
        self._wake.set()
        self._thread.join(30.0)

    def metrics(self) -> dict[str, Any]:
        """Whether this process learns, how many events it has learned, and what prevents it."""
        return {
            "learns": self._is_learner,
            "events": self._learned_events,
            "failure": None if self.failure is None else str(self.failure),
            "level_changed": self._level_changed,
        }

    def _work(self) -> None:
        while not self._closing:
            try:
                with Database(self._url, check=False) as kept:
                    learner = Learner.of(kept)
                    if learner is not None:
                        with learner:
                            self._is_learner = True
                            self._learn(kept, learner)
            except Exception as problem:  # the lock or the database is lost, or damaged; metrics say why
                self.failure = problem
            finally:
                self._is_learner = False
            if not self._closing:
                self._wait(_TRY_SECONDS)

    def _wait(self, seconds: float) -> None:
        self._wake.wait(seconds)
        self._wake.clear()

    def _learn(self, kept: Database, learner: Learner) -> None:
        if learner.state is None:
            if self._first is None:
                self.has_nothing = True
                return
            learner.save(self._first.saved(), LEVEL)
            self.began = True
        assert learner.state is not None
        self.has_nothing = False
        if learner.state.level != LEVEL:
            self._level_changed = f"the state was learned by {learner.state.level}, this is {LEVEL}"
        _Course(kept, learner, self._keep_days).run(self)


def decision_before(rows: Iterable[Row], place: int) -> Optional[Json]:
    """The decision of one request, if it stands before that place of the order."""
    for row in rows:
        if row.kind == "decision" and row.place is not None and row.place < place:
            found: Json = json.loads(row.payload)
            return found
    return None


class _Course:
    """One term as the learner."""

    def __init__(self, kept: Database, learner: Learner, keep_days: Optional[float]) -> None:
        assert learner.state is not None
        self.kept, self.learner, self.keep_days = kept, learner, keep_days
        self.learned = Learned.restored(learner.state.state)
        self.members_state = learner.state.number
        self.since_state = 0  # events
        self.published = learner.version is not None and learner.version.place >= learner.point.place
        self.published_at = self.kept_at = 0.0
        self.decisions: dict[Optional[int], Row] = {}  # of the rows that are being learned

    def run(self, thread: LearningThread) -> None:
        while not thread._closing:
            rows = self.learner.read()
            self.decisions = {row.request: row for row in rows if row.kind == "decision"}
            for row in rows:
                self.learned.apply(row, self._lookup)
                self.since_state += 1
                thread._learned_events += 1
            self.published = self.published and not rows
            if self.learned.due:
                self._save(self.learned.due)
            elif self.since_state >= _EVENTS_OF_A_STATE:
                self._save("learner")
            self._publish("learner")
            self._remove_old()
            thread.failure = None
            if len(rows) < 1000:
                thread._wait(0.2)
        if self.since_state and self.learner.version is not None:
            self._save("learner")
            self._publish("learner")

    def _lookup(self, request: int, place: int) -> Optional[Json]:
        known = self.decisions.get(request)
        return decision_before(self.kept.rows_of(request) if known is None else [known], place)

    def _save(self, why: str) -> None:
        state = self.learner.save(self.learned.saved(), LEVEL)
        self.since_state = 0
        if why != "learner":
            self.members_state, self.published, self.published_at = state.number, False, 0.0
            self.learned.due = ""
            self._publish(why if why in ("publish", "rollback") else "learner")

    def _publish(self, origin: str) -> None:
        if self.published or time.monotonic() - self.published_at < _PUBLISH_SECONDS:
            return
        version = self.learner.version
        if version is not None and self.learner.point.place < version.place:
            return  # it replays events that another learner has published already
        self.learner.publish(self.learned.content(self.members_state), LEVEL, origin)
        self.published, self.published_at = True, time.monotonic()

    def _remove_old(self) -> None:
        if self.keep_days is None or time.monotonic() - self.kept_at < _KEEP_SECONDS:
            return
        self.kept_at = time.monotonic()
        self.learner.keep(self.keep_days, self.members_state)
