"""The database of events, states and versions, on SQLite and on PostgreSQL."""

from __future__ import annotations

import errno
import os
import pathlib
import random
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Optional

import pytest

import pandora
from pandora.serving import database as db
from pandora.serving.database import chain, schema
from pandora.serving.database.connection import connect

pytest_plugins = ["database_fixtures"]
LONG = os.environ.get("PANDORA_DATABASE") == "all"  # a night allows long tests
long = pytest.mark.skipif(not LONG, reason="PANDORA_DATABASE=all runs it")
START = bytes(32)


class Twin:
    """The content that a database should have, in lists and dicts."""

    def __init__(self) -> None:
        self.rows: dict[int, list[db.Row]] = {}  # by worker, all rows that were ever appended
        self.order: list[tuple[int, int]] = []
        self.states: dict[int, tuple[int, bytes]] = {}  # by number: place and state
        self.removed = 0
        self.begins = 0

    def head(self, worker: int) -> tuple[int, bytes]:
        rows = self.rows.get(worker)
        return (rows[-1].sequence, rows[-1].checksum) if rows else (0, START)

    def place(self) -> None:
        placed = set(self.order)
        waiting = []
        for worker, rows in self.rows.items():
            moment = -1.0
            for row in rows:
                if (worker, row.sequence) not in placed:
                    moment = max(moment, row.time)
                    waiting.append((moment, worker, row.sequence))
        self.order += [(worker, sequence) for _, worker, sequence in sorted(waiting)]

    def kept(self) -> list[tuple[int, db.Row]]:
        """The places and rows after the removed ones."""
        rows = [self.rows[worker][sequence - 1] for worker, sequence in self.order]
        return list(enumerate(rows, 1))[self.removed :]

    def live(self) -> list[db.Row]:
        """The rows that were not removed, with a place or without one."""
        gone = set(self.order[: self.removed])
        return [row for rows in self.rows.values() for row in rows if (row.worker, row.sequence) not in gone]

    def is_removed(self, request: int) -> bool:
        gone = [self.rows[worker][sequence - 1].request for worker, sequence in self.order[: self.removed]]
        there = {row.request for row in self.live()}
        return request not in there and any(r is not None and request <= r for r in gone)


def appended(kept: db.Database, twin: Twin, worker: int, events: list[db.Event]) -> Optional[type[Exception]]:
    """Appends rows to both. Returns the exception, on which both agree."""
    known = {row.request: row.payload for row in twin.live() if row.kind == "feedback"}
    own = {event.request for event in events if event.kind != "feedback"}
    expected: Optional[type[Exception]] = None
    for event in events:
        if event.kind == "feedback" and event.request is not None:
            refused: Optional[type[Exception]] = None
            if event.request in known:
                refused = db.FeedbackKnown if known[event.request] == event.payload else db.FeedbackConflict
            elif event.request not in own and twin.is_removed(event.request):
                refused = db.FeedbackRemoved
            expected = expected or refused
            known.setdefault(event.request, event.payload)
    rows = db.chained(worker, *twin.head(worker), events)
    try:
        kept.append(rows)
        found: Optional[type[Exception]] = None
    except db.FeedbackRefused as error:
        found = type(error)
        assert error.refusals[min(error.refusals)] is error
    assert found == expected
    if found is None:
        twin.rows.setdefault(worker, []).extend(rows)
        kept.append(rows)  # the same rows a second time change nothing
    return found


@pytest.mark.parametrize("seed", range(10 if LONG else 1))
@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)  # PostgreSQL's default test
def test_random_calls_do_what_they_do_to_a_twin(database_url: str, seed: int) -> None:
    draw, twin, clock = random.Random(seed), Twin(), 0.0
    workers = [draw.randrange(1, 2**53) for _ in range(4)]
    kept = db.open(database_url)
    learner = db.Learner(kept)
    learned: list[tuple[int, db.Row]] = []
    published = 0
    seen: set[Any] = set()
    for _ in range(250):
        clock += 1.0
        what = draw.random()
        worker = draw.choice(workers)
        if what < 0.6:
            events = []
            for _ in range(draw.choice([1, 1, 2, 5])):
                kind = draw.choice(["decision", "feedback", "monitor"])
                request = None if kind == "monitor" else draw.randrange(40) + int(clock) // 3
                events.append(db.event(kind, draw.choice([0.0, 1.0]), request, time=clock + 5.0 * draw.random()))
            seen.add(appended(kept, twin, worker, events))
        elif what < 0.7:  # a gap, another past, another worker's chain
            last, checksum = twin.head(worker)
            events = [db.event("monitor", draw.random(), time=clock)]
            wrong = [
                db.chained(worker, last + 1, checksum, events),
                db.chained(worker, last, os.urandom(32), events),
                [row._replace(payload="2") for row in db.chained(worker, last, checksum, events)],
                db.chained(worker, max(last - 1, 0), checksum, events) if last > 0 else [],
            ]
            with pytest.raises(db.ChainError):
                kept.append(draw.choice([rows for rows in wrong if rows]))
        elif what < 0.85:
            if learner.point.place == len(twin.order):  # otherwise it reads rows that already have their places
                twin.place()
            rows = learner.read(draw.choice([3, 1000]))
            learned += [(row.place or 0, row._replace(place=None)) for row in rows]
        elif what < 0.92:
            state = draw.randbytes(100)
            twin.states[learner.save(state, "v3", now=clock).number] = len(learned), state
            published = learner.publish(state, "v3").number
        elif what < 0.95:
            days = draw.choice([20.0, 60.0]) / 86400.0
            old = [n for n in twin.states if n > twin.begins and learner_time(kept, n) <= clock - days * 86400.0]
            least = draw.choice([None, max(twin.states, default=0) - draw.randrange(4)])
            least = None if least is None else max(least, 0)
            before = twin.removed
            if old:
                twin.begins = max(old)
                twin.removed = twin.states[twin.begins][0]
                for worker in workers:  # workers that wrote nothing since begin anew under another number
                    placed = [s for w, s in twin.order[: twin.removed] if w == worker]
                    if placed and placed[-1] == twin.head(worker)[0]:
                        workers[workers.index(worker)] = draw.randrange(1, 2**53)
            assert learner.keep(days, least, now=clock) == twin.removed - before
            least = twin.begins if least is None else min(twin.begins, least)
            twin.states = {n: s for n, s in twin.states.items() if n >= least}
        elif what < 0.98:
            learner.close()
            kept.close()
            kept = db.open(database_url)
            learner = db.Learner(kept)
            place = 0 if learner.state is None else learner.state.point.place
            assert learner.point.place == place == max([p for p, _ in twin.states.values()], default=0)
            learned = learned[:place]
        else:
            assert kept.verify() == []
        assert kept.newest() == published
    assert kept.verify() == [] and kept.begins == twin.begins
    assert learned == [*enumerate((twin.rows[w][s - 1] for w, s in twin.order[: len(learned)]), 1)]
    assert [(row.place, row._replace(place=None)) for row in kept.replay()] == twin.kept()
    for number in range(max(twin.states) + 2):
        there = kept.state(number)
        assert (None if there is None else (there.point.place, there.state)) == twin.states.get(number)
    assert seen == {None, db.FeedbackKnown, db.FeedbackConflict, db.FeedbackRemoved}
    learner.close()
    kept.close()


def learner_time(kept: db.Database, number: int) -> float:
    state = kept.state(number)
    assert state is not None
    return state.time


def test_the_order_is_that_of_time_and_of_each_worker(database_url: str) -> None:
    """If a clock is set back, a worker's rows still come after its earlier rows."""
    with db.open(database_url) as kept:
        for worker, times in ((5, [3.0, 1.0, 9.0]), (4, [2.0, 3.0, 3.5])):
            kept.append(db.chained(worker, 0, START, [db.event("monitor", t, time=t) for t in times]))
        with db.Learner(kept) as learner:
            assert [(row.worker, row.sequence) for row in learner.read()] == [
                (4, 1),
                (4, 2),
                (5, 1),
                (5, 2),
                (4, 3),
                (5, 3),
            ]


def test_of_two_workers_with_the_same_feedback_one_is_refused(database_url: str) -> None:
    """This also holds if both are in transactions at the same time."""
    with db.open(database_url):
        pass
    said: list[Any] = []

    def tell(worker: int) -> None:
        with db.open(database_url) as kept:
            sequence, checksum = 0, START
            for request in range(30):
                rows = db.chained(worker, sequence, checksum, [db.event("feedback", worker, request)])
                try:
                    kept.append(rows)
                    sequence, checksum = rows[-1].sequence, rows[-1].checksum
                    said.append((request, None))
                except db.FeedbackConflict:
                    said.append((request, worker))

    threads = [threading.Thread(target=tell, args=(worker,)) for worker in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(request for request, worker in said if worker is None) == list(range(30)) and len(said) == 90
    with db.open(database_url) as kept:
        assert kept.verify() == []


def test_rows_of_some_kinds_are_given_in_the_order(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """This also holds while other rows are appended and placed. Each row comes once."""
    monkeypatch.setattr("pandora.serving.database.database._PAGE", 2)
    kinds = ["decision", "rests", "price", "decision", "rests", "rests"]

    def put(kept: db.Database, worker: int, last: tuple[int, bytes] = (0, START)) -> tuple[int, bytes]:
        events = [db.event(kind, 1, k, time=k + 1.0 / worker) for k, kind in enumerate(kinds)]
        kept.append(rows := db.chained(worker, *last, events))
        return rows[-1].sequence, rows[-1].checksum

    with db.open(database_url) as kept, db.Learner(kept) as learner:
        assert list(kept.events(["rests"])) == [] == kept.rows_after(0, ["rests"])
        ends = {worker: put(kept, worker) for worker in (1, 2)}
        placed = [row for row in learner.read() if row.kind in ("rests", "price")]
        assert kept.rows_after(0, ["rests", "price"]) == placed and len(placed) == 8
        assert kept.rows_after(placed[2].place or 0, {"rests", "price"}, 3) == placed[3:6]
        assert kept.rows_after(0, ["nothing"]) == kept.rows_after(0, []) == list(kept.events([])) == []
        for worker, end in ends.items():
            put(kept, worker, end)
        waiting = [(worker, sequence) for worker in (1, 2) for sequence in (8, 9, 11, 12)]
        reading = kept.events(("rests", "price"))
        found = [next(reading) for _ in range(9)]
        assert found[:8] == placed and len(learner.read(3)) == 3
        found += reading
        assert [(row.worker, row.sequence) for row in found[8:]] == waiting
        assert {row.place for row in kept.rows_after(12, ["rests", "price"])} == {15, 16, 17, 18, 21, 22, 23, 24}


def test_events_are_checked() -> None:
    for kind, payload, request, said in [
        ("Decision", 1, 1, "word"), ("a b", 1, 1, "word"), ("feedback", 1, None, "number of the request"),
        ("decision", float("nan"), 1, "JSON"), ("decision", {1, 2}, 1, "JSON"), ("decision", 1, 2**53, "whole number"),
        ("decision", 1, -1, "whole number"), ("decision", "x" * (17 << 20), 1, "at most"),
    ]:  # fmt: skip
        with pytest.raises(pandora.UsageError, match=said):
            db.event(kind, payload, request)
    assert db.event("decision", {"text": "é\0\ud800"}, 1, time=2).payload == '{"text":"\\u00e9\\u0000\\ud800"}'


def test_an_event_has_the_checksum_that_the_page_says() -> None:
    from hashlib import sha256

    (row,) = db.chained(7, 2, b"\1" * 32, [db.event("decision", {"a": 1}, 9, time=1.5)])
    assert row.checksum == sha256(b"\1" * 32 + b'7 3 1.5 decision 9 {"a":1}').digest()


# ---- schema and files ------------------------------------------------------------------------------------------------


def test_a_schema_is_made_whole_or_not_at_all(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", schema.MIGRATIONS)
        patch.setattr("pandora.serving.database.database.MIGRATIONS", [[*schema.MIGRATIONS[0], "SELECT nothing"]])
        with pytest.raises(pandora.Error, match="nothing"):
            db.open(database_url)
    with db.open(database_url) as kept:
        assert kept.verify() == []
        kept._connection.execute("UPDATE pandora_about SET number = 9 WHERE name = 'schema'")
        with pytest.raises(pandora.MismatchError, match="schema 9, of a later program"):
            db.open(database_url)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_process_that_waited_for_the_schema_finds_it(database_url: str) -> None:
    problems: list[BaseException] = []

    def opened() -> None:
        try:
            db.open(database_url).close()
        except BaseException as problem:
            problems.append(problem)

    waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with connect(database_url) as first, connect(database_url) as looking:
        with first.transaction():
            first.lock_schema()
            second = threading.Thread(target=opened)
            second.start()
            while second.is_alive() and not looking.execute(waiting):
                time.sleep(0.01)
            for statement in schema.MIGRATIONS[0]:
                first.execute(statement)
        second.join()
    assert problems == []


def test_a_later_migration_keeps_what_is_there(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with db.open(database_url) as kept:
        kept.append(db.chained(1, 0, START, [db.event("monitor", 1)]))
    more = [*schema.MIGRATIONS, ["CREATE TABLE pandora_more (number BIGINT)"]]
    for module in ("database", "connection"):
        monkeypatch.setattr(f"pandora.serving.database.{module}.MIGRATIONS", more)
    with db.open(database_url) as kept:
        assert kept.verify() == [] and kept._connection.execute("SELECT * FROM pandora_more") == []
        assert kept._connection.execute("SELECT count(*) FROM pandora_events") == [(1,)]
    monkeypatch.undo()
    with pytest.raises(pandora.MismatchError, match="schema 2"):
        db.open(database_url)


@pytest.mark.parametrize("mask", [0, 0o022, 0o277])
def test_files_are_for_their_owner_alone(tmp_path: pathlib.Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        with db.open(f"sqlite:///{tmp_path}/kept.db") as kept, db.Learner(kept):
            kept.append(db.chained(1, 0, START, [db.event("monitor", 1)]))
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == {f"kept.db{end}": 0o600 for end in ("", "-wal", "-shm", "-learner")}


@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-learner"])
def test_what_is_no_file_of_its_own_is_refused(tmp_path: pathlib.Path, end: str) -> None:
    url, other = f"sqlite:///{tmp_path}/kept.db", tmp_path / "other"
    other.write_text("mine")
    there = tmp_path / f"kept.db{end}"
    makes: list[Callable[[], None]] = [
        lambda: there.symlink_to(other),
        lambda: there.symlink_to(tmp_path / "nowhere"),
        lambda: os.link(other, there),
        lambda: os.mkfifo(there),
        lambda: there.mkdir(),
    ]
    for make in makes:
        make()
        with pytest.raises(pandora.UsageError, match="no file of its own"), db.open(url) as kept:
            db.Learner.of(kept)
        there.rmdir() if there.is_dir() and not there.is_symlink() else there.unlink()
    assert other.read_text() == "mine" and not (tmp_path / "nowhere").exists()


def test_urls_that_are_none(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for url in ("kept.db", "sqlite://kept.db", "sqlite:///", "sqlite:///:memory:", "mysql://me:secret@there/x", 3):
        with pytest.raises(pandora.UsageError, match='give "sqlite:///file.db"') as told:
            db.open(url)  # type: ignore[arg-type]
        assert "secret" not in str(told.value)
    with pytest.raises(pandora.UsageError, match="the folder is not there"):
        db.open(f"sqlite:///{tmp_path}/none/kept.db")
    (tmp_path / "text.db").write_text("this is no database " * 100)
    with pytest.raises(pandora.DataError, match="not a database"):
        db.open(f"sqlite:///{tmp_path}/text.db")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(pandora.UsageError, match=r'pip install "psycopg\[binary\]"'):
        db.open("postgresql://me:secret@localhost/x")


def test_a_server_that_is_not_there_is_told_without_its_password() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(db.DatabaseAway, match="postgresql://localhost:1/x") as told:
        db.open("postgresql://me:secret@localhost:1/x")
    assert "secret" not in str(told.value)


# ---- verify ------------------------------------------------------------------------------------------------


DAMAGES = [  # EVENTS is short for pandora_events, and SET for UPDATE pandora_events SET
    ("SET payload = '0' WHERE worker = 1 AND sequence = 3", "worker 1, row 3: its content"),
    ("SET request = 5 WHERE worker = 2 AND sequence = 9", "worker 2, row 9: its content"),
    ("SET time = time + 1 WHERE worker = 2 AND sequence = 1", "worker 2, row 1: its content"),
    ("DELETE FROM EVENTS WHERE worker = 2 AND sequence IN (4, 5)", "worker 2, rows 4 to 5: are missing"),
    ("DELETE FROM EVENTS WHERE worker = 2 AND sequence = 10", "worker 2, rows 10 to 10: are missing"),
    ("DELETE FROM EVENTS WHERE worker = 3", "worker 3, rows 1 to 10: are missing"),
    ("DELETE FROM EVENTS WHERE place IS NULL", "rows 6 to 10: are missing"),
    ("SET worker = 3, sequence = 11 WHERE worker = 1 AND sequence = 4", "worker 3, row 11: its content"),
    ("SET worker = 3, sequence = 11 WHERE worker = 1 AND sequence = 4", "worker 1, rows 4 to 4: are missing"),
    ("SET worker = 4 WHERE worker = 1", "worker 4, row 1: its content"),
    ("SET place = NULL WHERE place = 15", "places 15 to 15 are missing"),
    ("SET place = 99 WHERE place = 7", "has place 8 of the learner's order, behind place 6"),
    ("SET place = 16 WHERE worker = 1 AND sequence = 10", "have changed their places"),
    ("SET place = CASE place WHEN -4 THEN 5 WHEN -5 THEN 4 END WHERE place < 0", "have changed their places"),
    ("DELETE FROM pandora_workers WHERE worker = 2", "worker 2: is not in the table of workers"),
    ("UPDATE pandora_workers SET last = 9 WHERE worker = 2", "worker 2: its rows end with row 10"),
    ("DELETE FROM pandora_states WHERE number = 1", "state 1: is missing"),
    ("DELETE FROM pandora_states WHERE number = 2", "state 2: is missing"),
    ("UPDATE pandora_states SET level = 'v4' WHERE number = 1", "state 1: its content"),
    ("UPDATE pandora_about SET number = 1 WHERE name = 'states'", "state 1: is not the one that was written"),
    ("UPDATE pandora_about SET number = 1 WHERE name = 'states'", "state 2: is there, and was not written"),
    ("DELETE FROM pandora_versions WHERE number = 1", "version 1: is missing"),
    ("UPDATE pandora_versions SET place = 9 WHERE number = 2", "version 2: its content"),
    ("UPDATE pandora_about SET number = 1 WHERE name = 'versions'", "version 1: is not the one that was written"),
    ("DELETE FROM pandora_about WHERE name = 'order'", "'order' is missing"),
    ("INSERT INTO pandora_removed VALUES (0, 5)", "removed requests"),
]


@pytest.mark.parametrize(("sql", "said"), DAMAGES)
def test_verify_names_what_is_damaged(database_url: str, sql: str, said: str) -> None:
    sql = ("UPDATE EVENTS " if sql.startswith("SET") else "") + sql
    sql = sql.replace("EVENTS", "pandora_events")
    with db.open(database_url) as kept:
        rows = {
            worker: db.chained(
                worker, 0, START, [db.event("decision", k, 100 * worker + k, float(k)) for k in range(10)]
            )
            for worker in (1, 2, 3)
        }
        for of in rows.values():
            kept.append(of[:5])
        with db.Learner(kept) as learner:
            assert len(learner.read()) == 15
            for content in (b"one", b"two"):
                learner.save(content, "v3")
                learner.publish(content, "v3")
        for of in rows.values():
            kept.append(of)
        assert kept.verify() == []
        if "-4" in sql:  # two rows change their places
            kept._connection.execute("UPDATE pandora_events SET place = -place WHERE place IN (4, 5)")
        kept._connection.execute(sql)
        damages = kept.verify()
        assert any(said in damage for damage in damages), damages


def test_damage_behind_the_newest_state_is_told_when_it_is_opened(database_url: str) -> None:
    with db.open(database_url) as kept:
        kept.append(db.chained(1, 0, START, [db.event("monitor", k) for k in range(10)]))
        with db.Learner(kept) as learner:
            assert len(learner.read(4)) == 4
            learner.save(b"x", "v3")
            kept._connection.execute("UPDATE pandora_events SET payload = '7' WHERE sequence = 9")
            assert len(learner.read()) == 4  # the rows before it
            with pytest.raises(db.DamageError, match="worker 1, row 9"):
                learner.read()
    with pytest.raises(db.DamageError, match="worker 1, row 9: its content is not what was written"):
        db.open(database_url)
    with db.open(database_url, check=False) as kept:
        assert kept.verify() == ["worker 1, row 9: its content is not what was written"]


def test_a_page_that_is_lost_names_its_rows(sqlite_url: str, tmp_path: pathlib.Path) -> None:
    with db.open(sqlite_url) as kept:
        kept.append(db.chained(1, 0, START, [db.event("monitor", "x" * 300) for _ in range(200)]))
    path = tmp_path / "kept.db"
    connection = sqlite3.connect(path)
    (page,) = connection.execute(
        "SELECT pageno FROM dbstat WHERE name = 'pandora_events' AND pagetype = 'leaf' LIMIT 1 OFFSET 3"
    ).fetchone()
    connection.close()
    file = bytearray(path.read_bytes())
    file[4096 * (page - 1) : 4096 * page] = bytes(4096)
    path.write_bytes(file)
    with db.open(sqlite_url, check=False) as kept:
        damages = kept.verify()
    assert any("worker 1, rows 2" in damage or "worker 1, rows 3" in damage for damage in damages), damages


# ---- the learner, states and versions --------------------------------------------------------------------------------

HOLDS = """
import sys, time
from pandora.serving import database as db
kept = db.open(sys.argv[1])
learner = db.Learner.of(kept)
print(learner is not None, flush=True)
time.sleep(60)
"""


def test_one_learns_and_another_takes_over_within_ten_seconds(database_url: str) -> None:
    with db.open(database_url) as kept:
        with db.Learner(kept) as learner:
            assert db.Learner.of(kept) is None
            child = subprocess.run(
                [sys.executable, "-c", HOLDS.replace("60", "0"), database_url], stdout=subprocess.PIPE
            )
            assert child.stdout == b"False\n"
            assert learner.read() == []
        holder = subprocess.Popen([sys.executable, "-c", HOLDS, database_url], stdout=subprocess.PIPE)
        assert holder.stdout is not None and holder.stdout.readline() == b"True\n"
        assert db.Learner.of(kept) is None
        holder.kill()
        killed = time.monotonic()
        holder.wait()
        holder.stdout.close()
        while (found := db.Learner.of(kept)) is None:
            assert time.monotonic() < killed + 10.0
            time.sleep(0.05)
        found.close()


def test_the_same_file_by_another_name_has_the_same_learner(tmp_path: pathlib.Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    same = f"sqlite:///{tmp_path}/link/../link/kept.db"
    with db.open(f"sqlite:///{tmp_path}/folder/kept.db") as kept, db.Learner(kept), db.open(same) as other:
        assert db.Learner.of(other) is None


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # from Python 3.12 on
def test_a_forked_child_is_not_the_learner(database_url: str) -> None:
    with db.open(database_url) as kept, db.Learner(kept) as learner:
        kept.append(db.chained(1, 0, START, [db.event("monitor", 1)]))
        child = os.fork()
        if child == 0:
            code = 1
            try:
                learner.read()
            except db.LearnerLost:
                learner.close()
                code = 0 if db.Learner.of(kept) is None and kept.newest() == 0 else 2
            os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert db.Learner.of(kept) is None and len(learner.read()) == 1
        learner.publish(b"x", "v3")


@long
def test_a_learner_whose_connection_broke_writes_no_more(postgres: Any) -> None:
    with db.open(postgres.make()) as kept, db.Learner(kept) as learner:
        postgres.disconnect()
        with pytest.raises(db.DatabaseAway):
            learner.publish(b"x", "v3")
        with pytest.raises(db.LearnerLost):
            learner.publish(b"x", "v3")
        with pytest.raises(db.DatabaseAway):  # the other connection is broken too, and is opened again
            kept.newest()
        assert kept.newest() == 0
        with db.Learner(kept) as another:
            another.publish(b"y", "v3")


PUBLISHES = """
import sys, time
from pandora.serving import database as db
kept = db.open(sys.argv[1])
learner = db.Learner.of(kept)
for _ in range(5):
    sys.stdin.readline()
    print(time.time(), flush=True)
    learner.publish(b"content", "v3")
"""


def test_a_version_is_adopted_within_two_seconds(database_url: str) -> None:
    waits = []
    with db.open(database_url) as kept:
        assert kept.newer_than(0) is None and kept.wait_newer(0, 0.1) is None
        arguments = [sys.executable, "-c", PUBLISHES, database_url]
        with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as publisher:
            assert publisher.stdin is not None and publisher.stdout is not None
            for number in range(5):
                publisher.stdin.write(b"\n")
                publisher.stdin.flush()
                version = kept.wait_newer(number, 10.0)
                waits.append(time.time() - float(publisher.stdout.readline()))
                assert version is not None and (version.number, version.content) == (number + 1, b"content")
    assert max(waits) < 2.0


@long
def test_without_notify_a_version_is_found_by_looking(postgres: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pandora.serving.database.connection.Postgres.announce", lambda self, number: None)
    with db.open(postgres.make()) as kept, db.Learner(kept) as learner:
        later = threading.Timer(0.3, lambda: learner.publish(b"x", "v3"))
        later.start()
        begun = time.monotonic()
        assert kept.wait_newer(0, 10.0) is not None and time.monotonic() - begun < 2.0
        later.join()


def test_what_a_state_contains_is_removed_and_replay_begins_there(database_url: str) -> None:
    day = 86400.0
    with db.open(database_url) as kept, db.Learner(kept) as learner:
        for step in range(6):
            last, checksum = learner.point.heads.get(1, (0, START))
            events = [db.event("decision", k, 10 * step + k, time=step * day) for k in range(4)]
            kept.append(db.chained(1, last, checksum, events))
            learner.read()
            learner.save(b"%d" % step, "v3", now=step * day)
        last, checksum = learner.point.heads[1]
        waiting = db.chained(1, last, checksum, [db.event("feedback", 1, 50)])
        kept.append(waiting)
        assert learner.keep(2.5, now=5.0 * day) == 12 and learner.keep(2.5, now=5.0 * day) == 0
        assert kept.begins == 3 and kept.state(2) is None and kept.state(3) is not None and kept.verify() == []
        assert [row.place for row in kept.replay()] == list(range(13, 25))
        for request, refusal in ((3, db.FeedbackRemoved), (22, db.FeedbackRemoved), (50, db.FeedbackConflict)):
            with pytest.raises(refusal):
                kept.append(db.chained(1, last + 1, waiting[0].checksum, [db.event("feedback", 0, request)]))
        kept.append(db.chained(1, last + 1, waiting[0].checksum, [db.event("feedback", 0, 31)]))
        assert len(learner.read()) == 2
    with db.open(database_url) as kept, db.Learner(kept) as learner:  # a learner that begins after the newest state
        assert learner.state is not None and learner.state.state == b"5"
        assert [row.kind for row in learner.read()] == ["feedback", "feedback"]
        assert [row.request for row in kept.rows_of(31)] == [31, 31]


def test_states_that_a_rollback_needs_stay(database_url: str) -> None:
    with db.open(database_url) as kept, db.Learner(kept) as learner:
        assert kept.newest_state() is None and learner.state is None
        for step in range(5):
            last, checksum = learner.point.heads.get(1, (0, START))
            kept.append(db.chained(1, last, checksum, [db.event("monitor", step)]))
            learner.read()
            learner.save(b"%d" % step, "v3", now=float(step))
        assert learner.keep(1.0, least_state=2, now=86400.0 + 3.5) == 4 and kept.begins == 4
        newest = kept.newest_state()
        assert newest is not None and newest == learner.state and (newest.number, newest.state) == (5, b"4")
        assert [kept.state(number) is None for number in (1, 2, 3, 4, 5)] == [True] + [False] * 4
        assert kept.verify() == []
        assert learner.keep(1.0, least_state=5, now=0.0) == 0  # rows begin after the fourth state, so it stays
        assert kept.state(3) is None and kept.state(4) is not None and kept.verify() == []
        kept._connection.execute("UPDATE pandora_states SET level = 'v4' WHERE number = 5")
        with pytest.raises(db.DamageError, match="state 5: its content"):
            db.open(database_url)


def test_a_worker_that_was_forgotten_is_in_no_later_state(database_url: str) -> None:
    """This also holds if a learner begins with an earlier state."""
    with db.open(database_url) as kept:
        kept.append(db.chained(1, 0, START, [db.event("monitor", 1)]))
        kept.append(db.chained(2, 0, START, [db.event("monitor", 1)]))
        with db.Learner(kept) as learner:
            learner.read()
            learner.save(b"x", "v3", now=0.0)
            learner.save(b"y", "v3", now=2.0)
            assert learner.keep(1.0, now=86400.0 + 1.0) == 2 and learner.point.heads == {}
        with db.Learner(kept) as learner:
            assert learner.point.heads.keys() == {1, 2}
            learner.keep(1.0, now=86400.0 + 3.0)
            assert learner.point.heads == {} and kept.verify() == []


def test_the_newest_eight_versions_stay(database_url: str) -> None:
    with db.open(database_url) as kept, db.Learner(kept) as learner:
        learner.publish(b"0", "v3")
        learner.save(b"state", "v3")
        for number in range(2, 11):
            kept.append(db.chained(number, 0, START, [db.event("monitor", 1)]))
            learner.read()
            assert learner.publish(b"%d" % number, "v3", "rollback").number == number
        assert [kept.version(number) is None for number in range(12)] == [True] * 3 + [False] * 8 + [True]
        version = kept.version(10)
        assert version is not None and version == learner.version
        assert version[2:6] == ("rollback", "v3", 9, 1) and version.content == b"10" and kept.verify() == []
        with pytest.raises(pandora.UsageError, match='"publish" or "rollback"'):
            learner.publish(b"x", "v3", "mine")


def test_a_learner_that_took_over_publishes_nothing_older(database_url: str) -> None:
    with db.open(database_url) as kept:
        kept.append(db.chained(1, 0, START, [db.event("monitor", k) for k in range(4)]))
        with db.Learner(kept) as learner:
            learner.read(1)
            learner.save(b"one", "v3")
            learner.read()
            learner.publish(b"all", "v3")
        with db.Learner(kept) as learner:  # it begins after the state
            assert len(learner.read(2)) == 2
            with pytest.raises(pandora.UsageError, match="up to place 3, and version 1 contains those up to place 4"):
                learner.publish(b"less", "v3")
            assert kept.newest() == 1 and len(learner.read()) == 1
            assert learner.publish(b"all again", "v3").number == 2


def test_a_removal_that_was_killed_goes_on(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with db.open(database_url) as kept, db.Learner(kept) as learner:
        kept.append(db.chained(1, 0, START, [db.event("decision", k, k, time=0.0) for k in range(20)]))
        learner.read()
        learner.save(b"x", "v3", now=0.0)
        kept.append(db.chained(2, 0, START, [db.event("decision", k, 100, time=0.0) for k in range(5)]))
        learner._begin_behind(1)  # then it is killed
        assert kept.verify() == [] and list(kept.replay()) == []
        with pytest.raises(db.FeedbackRemoved):
            kept.append(db.chained(3, 0, START, [db.event("feedback", 1, 7)]))
        assert len(learner.read()) == 5
        monkeypatch.setattr("pandora.serving.database.learner._PART", 3)
        assert learner.keep(1.0) == 20 and kept.verify() == [] and len(list(kept.replay())) == 5


def test_a_worker_that_was_removed_goes_on_under_a_new_number(database_url: str) -> None:
    with db.open(database_url) as kept, db.Learner(kept) as learner, db.Outbox(database_url, 0.05) as outbox:
        outbox.put(db.event("decision", 1, 1))
        assert outbox.flush(20.0)
        worker = outbox.worker
        learner.read()
        learner.save(b"x", "v3", now=0.0)
        assert learner.keep(1.0) == 1
        outbox.put(db.event("decision", 2, 2))
        assert outbox.flush(20.0) and outbox.worker != worker and outbox.metrics()["renamed"] == 1
        assert kept.verify() == [] and [row.request for row in learner.read()] == [2]


def test_heads_are_read_as_they_are_written() -> None:
    heads = {3: (5, b"\1" * 32), 2**52: (1, b"\2" * 32)}
    state = db.State(1, 0.0, "v3", db.Point(0, START, heads), b"", b"")
    assert chain.heads_of(state.heads()) == heads


def test_a_file_system_without_locks_is_told(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("database is locked")  # SQLite's own words

    def none(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("pandora.serving.database.connection._BUSY_SECONDS", 0.0)
    monkeypatch.setattr("fcntl.lockf", none)
    monkeypatch.setattr("sqlite3.connect", lambda *_, **__: Locked(locked))
    with pytest.raises(db.DatabaseAway, match=r"its file system has no locks \(No locks available\); put it on"):
        db.open(f"sqlite:///{tmp_path}/kept.db")
    assert not (tmp_path / "kept.db-probe").exists()


class Locked:
    """A connection on which every operation fails."""

    def __init__(self, execute: Callable[..., None]) -> None:
        self.execute = execute

    def close(self) -> None:
        """Does nothing, because nothing is open."""
