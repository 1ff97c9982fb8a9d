"""A store with a failing database: calls of the driver, a full disk, a missing server, damaged files."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import random
import resource
import sqlite3
import time
from collections.abc import Callable
from typing import Any

import pytest
from faults import faulty
from players import Player
from stores import deployed, in_order, learned, new, opened, require_replayed, rows, serve, until

import pandora
from pandora.serving import Store

pytest_plugins = ["database_fixtures"]
LONG = os.environ.get("PANDORA_DATABASE") == "all"  # a night allows long tests
pytestmark = [
    pytest.mark.usefixtures("quick"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning"),  # from Python 3.12 on
]


def use(url: str) -> tuple[list[int], list[str]]:
    """Makes calls of every kind. Returns the requests with acknowledged feedback, and the commands that were done."""
    fed, done = list[int](), list[str]()
    end = time.monotonic() + 60.0
    store = None
    while store is None:
        assert time.monotonic() < end
        with contextlib.suppress(pandora.ResourceError, pandora.UsageError):  # the store may begin with an error
            store = opened(url, new())
    try:
        commands: list[Callable[[], Any]] = [
            lambda: store.add_model("d"),
            lambda: store.set_price(2.0),
            lambda: store.publish(new(["d", "e"])),
            lambda: store.rollback(),
            lambda: store.save(),
        ]
        for k in range(5):
            for j in range(3):
                number = serve(store, 10 * k + j)  # no request fails
                with contextlib.suppress(pandora.Error):
                    if store.feedback(number, 0.5, seconds=3.0):
                        fed.append(number)
            with contextlib.suppress(pandora.Error):
                commands[k]()
                done.append(["add_model", "set_price", "publish", "rollback", "save"][k])
        with contextlib.suppress(pandora.Error):
            store.explain(fed[0])
        assert store.flush(60.0)
    finally:
        store.close()
    return fed, done


@pytest.mark.parametrize("after", [False, True])
def test_every_call_of_the_driver_fails_once(
    database_url: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, after: bool, request: Any
) -> None:
    """Callers see an error or a queued answer. Acknowledged events are there, and the database opens afterwards."""
    monkeypatch.setattr("pandora.serving.database.outbox._FIRST_WAIT", 0.01)
    monkeypatch.setattr("pandora.serving.store._COMMAND_SECONDS", 5.0)
    monkeypatch.setattr("pandora.serving.store._OPEN_SECONDS", 5.0)
    with monkeypatch.context() as patch:
        faults = faulty(patch, 0, after, database_url)
        fed, done = use(database_url)
        count = faults.count
    assert count > 200 and len(done) == 5 and fed
    step = 3 if LONG else count // 4
    for at in range(1 + random.Random(count).randrange(step), count + 1, step):
        if database_url.startswith("sqlite"):
            url = f"sqlite:///{tmp_path}/{at}.db"
        else:
            url = request.getfixturevalue("postgres").make()
        with monkeypatch.context() as patch:
            faulty(patch, at, after, url)
            fed, done = use(url)
        with opened(url) as store:
            assert store.settle()
            feedback = {number for kind, number, _ in rows(store) if kind == "feedback"}
            assert set(fed) <= feedback and set(done) <= {kind for kind, _, _ in rows(store)}, at
            assert len(rows(store, "decision")) + len(rows(store, "cancelled")) == 15
            require_replayed(store)


def serving(store: Store, until_true: Callable[[], bool]) -> tuple[list[int], list[int]]:
    """Serves requests until the condition holds. Returns all numbers, and those whose feedback was only queued."""
    numbers, queued = list[int](), list[int]()
    while not until_true():
        number = deployed(store)
        numbers.append(number)
        if len(numbers) % 20 == 0 and not store.feedback(number, 0.5, seconds=0.05):
            queued.append(number)
        assert store.explain(number)["deployed"]
        time.sleep(0.002)
    return numbers, queued


def require_there(store: Store, numbers: list[int]) -> None:
    """Requires that all requests are there, with their feedback."""
    assert store.settle(120.0)
    decisions = [number for kind, number, _ in rows(store) if kind == "decision"]
    assert sorted(decisions) == sorted(numbers)
    assert (
        store.metrics()["feedbacks"] == sum(kind == "feedback" for kind, _, _ in rows(store)) >= len(numbers) // 20 - 1
    )
    require_replayed(store)


def test_a_database_that_is_away_gets_everything_afterwards(
    database_url: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pandora.serving.database.connection._BUSY_SECONDS", 0.2)
    seconds = 60.0 if LONG else 2.0
    server = None if database_url.startswith("sqlite") else request.getfixturevalue("postgres")
    with opened(database_url, in_order()) as store:
        before, _ = serving(store, lambda: len(store._recent) == 20)
        assert store.settle()
        holder = None
        if server is None:  # another process has begun to write and does not finish
            holder = sqlite3.connect(database_url[10:], isolation_level=None)
            holder.execute("BEGIN IMMEDIATE")
        else:
            server.stop()
        end = time.monotonic() + seconds
        numbers, queued = serving(store, lambda: time.monotonic() > end)
        assert len(numbers) > 40 and queued and store.metrics()["outbox"]["kept"] > 0
        assert store.metrics()["outbox"]["failure"] is not None
        if holder is not None:
            holder.execute("ROLLBACK")
            holder.close()
        if server is not None:
            server.start()
        require_there(store, before + numbers)
        assert all(store.explain(number)["feedback"] == 0.5 for number in queued)


def test_on_a_full_disk_no_request_fails(sqlite_url: str) -> None:
    """A limit on file sizes acts like a full disk: writes beyond it fail until it is raised."""

    def work(tell: Callable[[Any], None], _: Any) -> None:
        store = opened(sqlite_url, in_order())
        serving(store, lambda: len(store._recent) == 100)
        store.flush()
        size = max(file.stat().st_size for file in pathlib.Path(sqlite_url[10:]).parent.glob("kept.db*"))
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20_000, resource.RLIM_INFINITY))
        _, queued = serving(store, lambda: len(store._recent) >= (3000 if LONG else 500))
        metrics = store.metrics()["outbox"]
        tell([len(queued), metrics["kept"], metrics["failure"], store.metrics()["learner"]["failure"]])
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        tell([store.flush(60.0), list(store._recent)])
        store.close()

    player = Player(work)
    told = player.kill(None)
    assert len(told) == 2, told
    (queued, kept, failure, _), (flushed, numbers) = told
    assert queued > 0 and kept > 0 and ("full" in failure or "I/O" in failure) and flushed
    with opened(sqlite_url) as store:
        require_there(store, numbers)


# ---- damage ----


def content(url: str) -> Any:
    """All that can be seen of the store. Raises an error if damage is reported."""
    with opened(url, sync_seconds=3600.0) as store:
        until(lambda: store.metrics()["learner"]["learns"] or store.metrics()["learner"]["failure"])
        store.settle(0.3)
        told = store.metrics()["learner"]["failure"], store.metrics()["away"], store.metrics()["outbox"]["failure"]
        if any(told) or (damages := store._database.verify()):
            raise pandora.DataError(str(told if any(told) else damages))
        numbers = sorted({request for _, request, _ in rows(store) if request is not None})
        return learned(store), [store.explain(number) for kind, number, _ in rows(store, "decision")], numbers


def test_damages_of_a_file_are_told_or_harmless(tmp_path: pathlib.Path) -> None:
    url = f"sqlite:///{tmp_path}/whole.db"
    with opened(url, new()) as store:
        for k in range(60):
            number = serve(store, k)
            if k % 3 == 0 and any(one[1] == number for one in rows(store, "decision")):
                store.feedback(number, 0.5)
            if k % 20 == 10:
                store.save()
        store.publish(new(["a", "d"]))
        serve(store, 100)
    there = content(url)
    file, draw, told = (tmp_path / "whole.db").read_bytes(), random.Random(1), 0
    flips, pages = (400, 100) if LONG else (10, 6)
    damaged = []
    for _ in range(flips):
        flipped = bytearray(file)
        flipped[draw.randrange(len(file))] ^= 1 << draw.randrange(8)
        damaged.append(bytes(flipped))
    for _ in range(pages):
        low = draw.randrange(len(file) // 4096) * 4096
        damaged.append(file[:low] + bytes(4096) + file[low + 4096 :])
    for data in damaged:
        for old in tmp_path.glob("damaged.db*"):
            old.unlink()
        (tmp_path / "damaged.db").write_bytes(data)
        try:
            found = content(f"sqlite:///{tmp_path}/damaged.db")
        except pandora.Error:
            told += 1
            continue
        assert json.dumps(found[1:]) == json.dumps(there[1:]) and found[0] == there[0]
    assert told > len(damaged) / 3
