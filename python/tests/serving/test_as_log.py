"""The decisions of a database as a log: checks, fits and tests by its URL."""

from __future__ import annotations

import contextlib
import pathlib
import random
import sqlite3

import pytest

import pandora
import pandora.serving
from pandora.offline import commands
from pandora.offline.groups import Groups

QUALITY = {"small": 0.6, "large": 0.9}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a service that explores: 400 requests in 100 sessions, with feedback on three of four requests."""
    where = f"sqlite:///{tmp_path_factory.mktemp('kept')}/kept.db"
    draw = random.Random(4)
    table = {
        "models": list(QUALITY),
        "quality": [[float(draw.random() < q) for q in QUALITY.values()] for _ in range(200)],
        "cost": [[0.001, 0.01]] * 200,
        "scores": {"score": [[draw.random() for _ in QUALITY] for _ in range(200)]},
    }
    cascade = pandora.Cascade.fit(table, price=5.0, evaluator="score", kind="thresholds", explore=0.3)
    with pandora.serving.open(where, cascade) as store:
        for k in range(400):
            with store.begin([1.0], session=f"user {k // 4}") as request:
                for model in request:
                    request.observe(dollars=0.001 if model == "small" else 0.01, score=draw.random(), latency=0.5)
            if k % 4:
                assert request.deployed is not None
                store.feedback(request.number, float(draw.random() < QUALITY[request.deployed]))
    return where


def test_a_database_is_read_as_its_log(url: str, tmp_path: pathlib.Path) -> None:
    trace = pandora.Trace(url)
    assert sorted(trace.models) == ["large", "small"] and len(trace.prompts) == 400
    assert trace._table.source.endswith("kept.db") and "score" in trace._table.scores
    assert Groups.of_table(trace._table).count == 100  # sessions are the observations
    folds = Groups.of_table(trace._table).folds
    assert len(set(folds.tolist())) == 5


def test_commands_take_the_url(url: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["trace", "check", url, "--price", "5", "--evaluator", "score"]) == 0
    assert "400 decisions" in capsys.readouterr().out
    out = str(tmp_path / "better.json")
    argv = ["cascade", "fit", url, "--price", "5", "--evaluator", "score", "--out", out]
    assert commands.main(argv) == 0
    assert "Keep the running cascade" in capsys.readouterr().out


def test_a_damaged_database_is_no_log(url: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "kept.db"
    with contextlib.closing(sqlite3.connect(url[len("sqlite:///") :])) as kept:
        kept.execute(f"VACUUM INTO '{path}'")
    with contextlib.closing(sqlite3.connect(path)) as kept:
        kept.execute("UPDATE pandora_events SET payload = '0.5' WHERE kind = 'feedback'")
        kept.commit()
    with pytest.raises(pandora.DataError, match="damaged: worker .* row"):
        pandora.Trace(f"sqlite:///{path}")


def test_what_is_no_log_is_told(tmp_path: pathlib.Path) -> None:
    with pytest.raises(pandora.DataError, match="there is no such file"):
        pandora.Trace(f"sqlite:///{tmp_path}/none.db")
    assert not (tmp_path / "none.db").exists()
    new = pandora.Cascade.new(["a", "b"], price=1.0, evaluator="score")
    pandora.serving.open(f"sqlite:///{tmp_path}/new.db", new).close()
    with pytest.raises(pandora.DataError, match="new.db: has no decisions yet"):
        pandora.Trace(f"sqlite:///{tmp_path}/new.db")
