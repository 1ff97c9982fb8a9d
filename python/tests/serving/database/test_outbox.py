"""The outbox: every given event is in the database once, whatever fails."""

from __future__ import annotations

import json
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from typing import Any

import pytest
from faults import faulty
from stores import until

import pandora
from pandora.serving import database as db

pytest_plugins = ["database_fixtures"]
LONG = os.environ.get("PANDORA_DATABASE") == "all"  # a night allows long tests


def requests_of(url: str) -> list[int]:
    """The requests of all rows, with each worker's rows in their order. The database is verified."""
    with db.open(url) as kept:
        assert kept.verify() == []
        rows = kept._connection.execute("SELECT request FROM pandora_events ORDER BY worker, sequence")
        return [request for (request,) in rows]


def test_what_was_put_is_there_when_it_was_flushed(database_url: str) -> None:
    with db.Outbox(database_url, sync_seconds=0.05) as outbox:
        outbox.put(db.event("decision", 1, 1), db.event("rests", {"model": "a"}))
        ticket = outbox.put(db.event("feedback", 1.0, 1))
        assert outbox.flush(20.0, ticket)
        with db.open(database_url) as kept:
            assert [row.kind for row in kept.rows_of(1)] == ["decision", "feedback"]
        outbox.put(db.event("decision", 1, 2))
        until(lambda: outbox.metrics()["kept"] == 0)  # without a flush
        metrics = outbox.metrics()
        assert metrics["committed"] == 4 and metrics["seconds_since_commit"] < 20.0 and metrics["failure"] is None
    assert Counter(requests_of(database_url)) == {1: 2, 2: 1, None: 1}
    with pytest.raises(pandora.UsageError, match="closed"):
        outbox.put(db.event("decision", 1, 3))


def test_what_is_no_event_is_not_put(sqlite_url: str) -> None:
    with db.Outbox(sqlite_url) as outbox, pytest.raises(pandora.UsageError, match=r"database\.event makes"):
        outbox.put({"kind": "decision"})  # type: ignore[arg-type]


def test_refused_feedback_takes_only_its_own_put_with_it(database_url: str) -> None:
    with db.Outbox(database_url, sync_seconds=3600.0) as outbox:
        put = outbox.put
        tickets = [
            put(db.event("decision", 1, 1)),
            put(db.event("feedback", 1.0, 1)),
            put(db.event("feedback", 0.0, 1), db.event("monitor", 1)),
            put(db.event("feedback", 1.0, 1)),
            put(db.event("decision", 2, 2)),
            put(db.event("feedback", 0.5, 2)),
        ]
        assert outbox.flush(20.0)
        for ticket in tickets[:2] + tickets[3:]:
            assert outbox.flush(20.0, ticket)
        with pytest.raises(db.FeedbackConflict, match=r"request 1: it has 1.0 already, and 0.0 is refused"):
            outbox.flush(20.0, tickets[2])
        metrics = outbox.metrics()
        assert (metrics["committed"], metrics["refused"], metrics["kept"]) == (4, 2, 0)
        with pytest.raises(pandora.UsageError, match="not of this process"):
            outbox.flush(1.0, 7)
    assert requests_of(database_url) == [1, 1, 2, 2]


def test_nothing_waits_while_the_database_is_locked(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pandora.serving.database.connection._BUSY_SECONDS", 0.5)
    db.open(sqlite_url).close()
    holder = sqlite3.connect(sqlite_url[10:], isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with db.Outbox(sqlite_url, sync_seconds=0.05) as outbox:
        begun = time.monotonic()
        ticket = outbox.put(db.event("feedback", 1, 1))
        assert not outbox.flush(0.1, ticket)
        assert time.monotonic() - begun < 2.0
        until(lambda: outbox.metrics()["failures"] > 0)
        metrics = outbox.metrics()
        assert metrics["kept"] == 1 and metrics["kept_seconds"] > 0.4 and "database is locked" in metrics["failure"]
        holder.execute("ROLLBACK")
        holder.close()
        assert outbox.flush(20.0, ticket) and outbox.metrics()["failure"] is None
    assert requests_of(sqlite_url) == [1]


def test_a_database_that_is_away_gets_a_hundred_thousand_events_in_their_order(tmp_path: pathlib.Path) -> None:
    """The folder of the database does not exist yet."""
    url, count = f"sqlite:///{tmp_path}/later/kept.db", 100_000 if LONG else 5_000
    with db.Outbox(url, sync_seconds=0.05, most_events=count) as outbox:
        for k in range(count // 2):
            outbox.put(db.event("decision", 1, k), db.event("rests", 1, k))
        with pytest.raises(db.OutboxFull, match=f"no more than {count} are kept; 2 were not taken"):
            outbox.put(db.event("decision", 1, 1), db.event("rests", 1, 1))
        until(lambda: "folder" in (outbox.metrics()["failure"] or ""))
        assert outbox.metrics()["lost"] == 2 and outbox.metrics()["kept"] == count
        (tmp_path / "later").mkdir()
        assert outbox.flush(120.0)
        outbox.put(db.event("decision", 1, 7))
    assert requests_of(url) == [*(k // 2 for k in range(count)), 7]


@pytest.mark.skipif(not LONG, reason="PANDORA_DATABASE=all runs it")
def test_a_server_that_is_started_again_gets_everything(postgres: Any) -> None:
    url = postgres.make()
    with db.Outbox(url, sync_seconds=0.05) as outbox:
        for k in range(300):
            outbox.put(db.event("decision", 1, k))
            if k == 100:
                assert outbox.flush(20.0)
                postgres.stop()
            if k == 200:
                until(lambda: outbox.metrics()["failures"] > 1)
                assert outbox.metrics()["kept"] == 100
                postgres.start()
            if k % 50 == 20 and not 100 <= k <= 200:
                postgres.disconnect()
        assert outbox.flush(60.0)
    assert requests_of(url) == list(range(300))


DISK = """
import json, resource, sys, time
from pandora.serving import database as db
url = sys.argv[1]
db.open(url).close()
outbox = db.Outbox(url, sync_seconds=0.05)
text = "x" * 1000
taken = 0
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY))
for k in range(1500):
    outbox.put(db.event("decision", text, k))
    if k % 100 == 99:
        outbox.flush(0.2)
metrics = outbox.metrics()
assert metrics["kept"] > 0 and metrics["failures"] > 0, metrics
failure = metrics["failure"]
with db.open(url) as kept:
    assert kept.verify() == []
    there = len(kept._connection.execute("SELECT 1 FROM pandora_events"))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert outbox.flush(30.0)
print(json.dumps([metrics["committed"], there, failure]))
"""


def test_a_full_disk_takes_nothing_that_was_committed(sqlite_url: str) -> None:
    """A limit on file sizes acts like a full disk: writes beyond it fail until it is raised."""
    found = subprocess.run([sys.executable, "-c", DISK, sqlite_url], stdout=subprocess.PIPE, check=True)
    committed, there, failure = json.loads(found.stdout)
    assert 0 < committed <= there < 1500 and ("full" in failure or "I/O" in failure)
    assert requests_of(sqlite_url) == list(range(1500))


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # from Python 3.12 on
def test_a_forked_child_is_another_worker(database_url: str) -> None:
    """This happens while the parent's thread writes. Each event is there once."""
    outbox = db.Outbox(database_url, sync_seconds=0.01)
    kept = db.open(database_url)
    children = []
    for k in range(20):
        outbox.put(db.event("decision", 1, k))
        if k % 4 == 0:
            parent = outbox.worker
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    assert outbox.worker != parent and outbox.metrics()["kept"] == 0 and kept.newest() == 0
                    outbox.put(db.event("decision", 1, 100 + k))
                    code = 0 if outbox.flush(30.0) and outbox.close() else 2
                finally:
                    os._exit(code)
            children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 5
    assert outbox.close() and outbox.worker == parent
    kept.close()
    assert Counter(requests_of(database_url)) == Counter([*range(20), *(100 + k for k in range(0, 20, 4))])
    with db.open(database_url) as again:
        assert len(again._connection.execute("SELECT 1 FROM pandora_workers")) == 6


def test_a_database_that_was_replaced_by_an_older_copy_gets_a_new_worker(tmp_path: pathlib.Path) -> None:
    url, path = f"sqlite:///{tmp_path}/kept.db", tmp_path / "kept.db"
    outbox = db.Outbox(url, sync_seconds=3600.0)
    outbox.put(db.event("decision", 1, 1))
    assert outbox.flush(20.0)
    with sqlite3.connect(path) as connection:
        copy = sqlite3.connect(tmp_path / "copy.db")
        connection.backup(copy)
        copy.close()
    connection.close()
    outbox.put(db.event("decision", 1, 2))
    assert outbox.flush(20.0)
    with sqlite3.connect(path) as connection:
        copy = sqlite3.connect(tmp_path / "copy.db")
        copy.backup(connection)
        copy.close()
    connection.close()
    outbox.put(db.event("decision", 1, 3))
    assert outbox.flush(20.0) and outbox.metrics()["renamed"] == 1 and outbox.close()
    assert sorted(requests_of(url)) == [1, 3]


# ---- every call of the driver fails once ---------------------------------------------------------------------------


def run(url: str) -> None:
    """Runs a worker and a learner. As in a service, they try again after a call of the driver fails."""
    outbox = db.Outbox(url, sync_seconds=3600.0)
    for k in range(4):
        outbox.put(db.event("decision", k, k, time=float(k)))
        outbox.put(db.event("feedback", 1.0, k // 2, time=float(k)))  # every second one is there already
        assert outbox.flush(120.0)  # a busy machine takes seconds to make a table
    done = 0
    while done < 4:
        try:
            with db.open(url) as kept, db.Learner(kept) as learner:
                learned = [] if learner.state is None else json.loads(learner.state.state)
                while rows := learner.read(3):
                    learned += [row.request for row in rows]
                learner.save(json.dumps(learned).encode(), "v3", now=float(done))
                learner.publish(json.dumps(learned).encode(), "v3")
                done += 1
                learner.keep(1.0 / 86400.0, now=float(done))
                version = kept.newer_than(0)
                assert version is not None and json.loads(version.content) == [0, 0, 1, 2, 1, 3]
        except (db.DatabaseAway, db.LearnerLost):
            pass
    assert outbox.close()


@pytest.mark.parametrize("after", [False, True])
def test_every_call_of_the_driver_fails_once(
    database_url: str,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    after: bool,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.setattr("pandora.serving.database.outbox._FIRST_WAIT", 0.01)
    with monkeypatch.context() as patch:
        faults = faulty(patch, 0, after, database_url)
        run(database_url)
        count = faults.count
    assert count > 60
    step = 1 if LONG else 29
    for at in range(1 + random.Random(count).randrange(step), count + 1, step):
        if database_url.startswith("sqlite"):
            url = f"sqlite:///{tmp_path}/{at}.db"
        else:
            url = request.getfixturevalue("postgres").make()
        with monkeypatch.context() as patch:
            faulty(patch, at, after, url)
            run(url)
        with db.open(url) as kept:
            assert kept.verify() == [], at
            assert kept.newest() >= 4


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # from Python 3.12 on
def test_a_process_may_be_forked_while_threads_open_the_database(sqlite_url: str) -> None:
    """A child with an open connection of its parent would take the locks for its own, and damage the file."""
    db.open(sqlite_url).close()
    enough = threading.Event()

    def write() -> None:
        with db.open(sqlite_url, check=False) as kept:
            kept.append(db.chained(db.new_worker(), 0, bytes(32), [db.event("monitor", 1)]))

    def work() -> None:
        while not enough.wait(0.01):
            write()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    codes = []
    for _ in range(300 if LONG else 25):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                write()
                code = 0
            finally:
                os._exit(code)
        codes.append(os.waitpid(child, 0)[1])
    enough.set()
    for thread in threads:
        thread.join()
    assert set(codes) == {0}
    with db.open(sqlite_url) as kept:
        assert kept.verify() == []
