"""Many processes use one database, and some are killed. No acknowledged event is lost or there twice."""

from __future__ import annotations

import json
import os
import pathlib
import random
import subprocess
import sys
import time
from collections import Counter
from typing import Any, Optional

import pytest

from pandora.serving import database as db

pytest_plugins = ["database_fixtures"]
LONG = os.environ.get("PANDORA_DATABASE") == "all"  # a night allows long tests

WORKER = """
import sys, time
from pandora.serving import database as db
url, first = sys.argv[1], int(sys.argv[2])
outbox = db.Outbox(url, sync_seconds=0.02)
print("ready", flush=True)
for k in range(first, first + 100_000):
    time.sleep(0.002)
    ticket = outbox.put(db.event("decision", {"k": k}, k), db.event("rests", {"k": k}, k))
    if k % 3 == 0:
        ticket = outbox.put(db.event("feedback", 1.0, k))
    if k % 10 == 0 and outbox.flush(30.0, ticket):
        print(k, flush=True)  # all up to here is acknowledged
"""

LEARNER = """
import json, sys, time
from pandora.serving import database as db
url = sys.argv[1]
while True:
    try:
        kept = db.open(url, check=False)
        while (learner := db.Learner.of(kept)) is None:
            time.sleep(0.1)
        print("learns", flush=True)
        state = {} if learner.state is None else json.loads(learner.state.state)
        while True:
            rows = learner.read(500)
            for row in rows:
                name = f"{row.kind} {row.request}"
                state[name] = state.get(name, 0) + 1
            if rows:
                saved = json.dumps(state).encode()
                learner.save(saved, "v3")
                learner.publish(saved, "v3")
            time.sleep(0.05)
    except (db.DatabaseAway, db.LearnerLost):
        time.sleep(0.1)
"""


def start(program: str, *arguments: str) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() in ("ready\n", "learns\n", "")
    return process


def ended(process: subprocess.Popen[str]) -> list[int]:
    """Kills a player. Returns its reports."""
    process.kill()
    out, _ = process.communicate()
    return [int(line) for line in out.split("\n")[:-1] if line.isdigit()]


def test_what_eight_processes_acknowledge_survives_kills(database_url: str, request: pytest.FixtureRequest) -> None:
    """The kills hit workers in the middle of batches, the learner, and the server."""
    draw, workers, kills = random.Random(3), 8 if LONG else 2, 40 if LONG else 4
    server: Optional[Any] = None if database_url.startswith("sqlite") else request.getfixturevalue("postgres")
    db.open(database_url).close()
    first = iter(range(0, 10**12, 10**6))
    begun: dict[subprocess.Popen[str], int] = {}
    acknowledged: list[tuple[int, int]] = []  # the first and last request of each batch

    def worker() -> None:
        number = next(first)
        begun[start(WORKER, database_url, str(number))] = number

    def end(process: subprocess.Popen[str]) -> None:
        number, told = begun.pop(process), ended(process)
        if told:
            acknowledged.append((number, told[-1]))

    for _ in range(workers):
        worker()
    learner = start(LEARNER, database_url)
    for kill in range(kills):
        time.sleep(draw.uniform(0.1, 0.5))
        if kill % 4 == 3:
            ended(learner)
            learner = start(LEARNER, database_url)
        elif server is not None and kill % 10 == 5:
            server.stop()
            server.start()
        else:
            end(draw.choice(list(begun)))
            worker()
    time.sleep(1.0)
    for process in list(begun):
        end(process)
    ended(learner)
    with db.open(database_url) as kept:
        assert kept.verify() == []
        rows = Counter(kept._connection.execute("SELECT kind, request FROM pandora_events"))
        assert set(rows.values()) == {1}
        assert sum(last - low for low, last in acknowledged) > 100
        for low, last in acknowledged:
            for k in range(low, last + 1):
                assert rows["decision", k] == rows["rests", k] == 1 and rows["feedback", k] == (k % 3 == 0)
        for kind, number in rows:  # events that were put together are there together
            assert kind == "feedback" or (("decision", number) in rows) == (("rests", number) in rows)
        version = kept.newer_than(0)
        assert version is not None  # the learners have learned each row of the table once
        sql = "SELECT kind, request FROM pandora_events WHERE place <= ?"
        placed = kept._connection.execute(sql, [version.place])
        assert json.loads(version.content) == dict(Counter(f"{kind} {number}" for kind, number in placed))


def test_processes_make_one_file_at_once(tmp_path: pathlib.Path) -> None:
    program = """
import sys
from pandora.serving import database as db
print("ready", flush=True)
sys.stdin.readline()
kept = db.open(sys.argv[1])
kept.append(db.chained(db.new_worker(), 0, bytes(32), [db.event("monitor", 1)]))
"""
    url, count = f"sqlite:///{tmp_path}/kept.db", 8 if LONG else 3
    processes = []
    for _ in range(count):
        process = subprocess.Popen(
            [sys.executable, "-c", program, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        processes.append(process)
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    with db.open(url) as kept:
        assert kept.verify() == [] and len(kept._connection.execute("SELECT 1 FROM pandora_workers")) == count
