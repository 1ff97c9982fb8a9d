"""Damaged files of SQLite. `verify` reports the damage, or the content must be unchanged."""

from __future__ import annotations

import os
import pathlib
import random
from typing import Any

import pandora
from pandora.serving import database as db

LONG = os.environ.get("PANDORA_DATABASE") == "all"  # a night allows long tests


def filled(url: str) -> None:
    """Fills a database: six workers with 200 rows each, four states after a removed one, versions, rows without a
    place.
    """
    draw = random.Random(0)
    with db.open(url) as kept, db.Learner(kept) as learner:
        heads = {draw.randrange(1, 2**53): (0, bytes(32)) for _ in range(6)}
        for step in range(40):
            for worker, (sequence, checksum) in heads.items():
                events = []
                for _ in range(5):
                    request = draw.randrange(2**40) if draw.random() < 0.7 else None
                    kind = "feedback" if request is not None and draw.random() < 0.3 else "decision"
                    payload = {"n": draw.random(), "text": "x" * min(int(draw.paretovariate(0.7)), 9000)}
                    events.append(db.event(kind, payload, request, time=step + draw.random()))
                rows = db.chained(worker, sequence, checksum, events)
                kept.append(rows)
                heads[worker] = rows[-1].sequence, rows[-1].checksum
            if step < 35:
                learner.read()
            if step % 8 == 0:
                learner.save(draw.randbytes(3000), "v3", now=float(step))
            if step % 4 == 0:
                learner.publish(draw.randbytes(300), "v3", now=float(step))
            if step == 10:
                learner.keep(1.0 / 86400.0, now=10.0)


def content(url: str) -> Any:
    """All that can be read of the database. Raises DamageError or another error if it reports damage."""
    with db.open(url) as kept:
        if damages := kept.verify():
            raise db.DamageError(kept.name, damages)
        placed = list(kept.replay())
        run = kept._connection.execute
        requests = [request for (request,) in run("SELECT request FROM pandora_events WHERE request IS NOT NULL")]
        rows = [row for request in sorted(set(requests)) for row in kept.rows_of(request)]
        waiting = run("SELECT * FROM pandora_events WHERE place IS NULL ORDER BY worker, sequence")
        states = [kept.state(number) for number in range(10)]
        versions = [kept.version(number) for number in range(kept.newest() + 2)]
        return placed, rows, waiting, states, versions, kept.begins, run("SELECT * FROM pandora_removed ORDER BY block")


def whole(tmp_path: pathlib.Path) -> tuple[bytes, Any]:
    url = f"sqlite:///{tmp_path}/whole.db"
    filled(url)
    there = content(url)
    assert len(there[0]) > 500 and len(there[2]) > 100 and sum(s is not None for s in there[3]) == 4 and there[6]
    assert not (tmp_path / "whole.db-wal").exists()
    return (tmp_path / "whole.db").read_bytes(), there


def is_told(tmp_path: pathlib.Path, damaged: bytes, there: Any) -> bool:
    """Whether damage is reported. If not, the content must be unchanged."""
    for old in tmp_path.glob("damaged.db*"):
        old.unlink()
    (tmp_path / "damaged.db").write_bytes(damaged)
    try:
        found = content(f"sqlite:///{tmp_path}/damaged.db")
    except pandora.Error:
        return True
    assert found == there
    return False


def test_flipped_bits_are_told_or_harmless(tmp_path: pathlib.Path) -> None:
    file, there = whole(tmp_path)
    draw = random.Random(1)
    told = 0
    for _ in range(400 if LONG else 30):
        damaged = bytearray(file)
        damaged[draw.randrange(len(file))] ^= 1 << draw.randrange(8)
        told += is_told(tmp_path, bytes(damaged), there)
    assert told > 15


def test_lost_pages_are_told_or_harmless(tmp_path: pathlib.Path) -> None:
    file, there = whole(tmp_path)
    pages = [(k, k + 4096) for k in range(0, len(file), 4096 if LONG else 5 * 4096)]
    if LONG:
        draw = random.Random(2)
        more = [sorted(draw.sample(range(len(file)), 2)) for _ in range(100)]
        pages += [(low, min(low + 4096, high)) for low, high in more]
    told = sum(is_told(tmp_path, file[:low] + bytes(high - low) + file[high:], there) for low, high in pages)
    assert told > len(pages) / 2
