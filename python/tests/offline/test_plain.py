"""A fit prints one screen in plain sentences, for every aim and every kind of table."""

from __future__ import annotations

import json
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from pandora.offline import commands
from pandora.offline.choose import SINGLE
from pandora.offline.notes import Note, Topic, topics_json
from pandora.offline.plain import _IN_SHORT, LINES, short_sheets, verdict_text

GOLDEN = pathlib.Path(__file__).resolve().parents[3] / "tests" / "golden"
sys.path.insert(0, str(GOLDEN))

from worlds import WORLDS  # noqa: E402

#: A world of tests/golden, the options of the fit, and a part of the expected text.
FITS = [
    ("three.csv --price 20 --evaluator score", "Call small first, then "),
    ("three.csv --price 20 --evaluator score --judge-usd 0.001", "The fit counts $0.001 for judging an answer."),
    ("three.csv --price 20 --evaluator score --kind indices", "in the order of their indices, and stop when"),
    ("three.csv --max-usd 0.006 --evaluator score --kind thresholds", "which keeps the bound of $0.006 per prompt."),
    ("three.csv --min-quality 0.55 --evaluator score --kind thresholds", "On new prompts it saves $"),
    ("three.csv --min-quality 0.99 --evaluator quality --kind thresholds", "which misses the bound of 0.99 by "),
    (
        "eight.csv --price 50 --evaluator quality --kind thresholds",
        "Stop at the first answer whose estimated quality is at least",
    ),
    (
        "router-pays.jsonl --price 10 --evaluator none --kind router --context x",
        "the one model that the router chooses",
    ),
    ("router-pays.jsonl --min-quality 0.6 --evaluator score --kind routed --context x", "Plans: left | right | right"),
    ("null.csv --price 5 --evaluator score --context z", "alone for every prompt. No cascade is surely better"),
    ("null.csv --price 5 --evaluator score --context z --kind routed", "You asked for this kind."),
    ("leak.csv --price 10 --evaluator none --kind router --context winner", "Context winner may have been computed"),
    ("heavy.csv --max-usd 0.02 --evaluator score --kind thresholds", "cannot be said with any confidence"),
    ("latency-gaps.csv --price 20 --evaluator score --max-latency 2", "Calls one after the other take at most"),
    ("labels-20.csv --price 10 --evaluator score --kind thresholds", "of 1800 answers is not known and is estimated."),
    ("log-in-order.csv --price 20 --evaluator score", "Fitted to a log; the promise is as precise as from "),
    (
        "log-running.jsonl --price 20 --evaluator score",
        "Keep the running cascade, because no other one is surely better.",
    ),
    ("log-running-poor.jsonl --price 20 --evaluator score", "over the running cascade."),
    ("log-in-order-labels.csv --price 20 --evaluator score", " answers is not known and is estimated."),
    ("log-one-call.jsonl --price 10 --evaluator score", "so the log cannot show what a second call brings."),
    ("log-apart.jsonl --price 20 --evaluator score --openings apart", "models' answers are independent."),
    ("log-router.jsonl --price 10 --evaluator none --kind router --context psi", "first calls of a log"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pathlib.Path]:
    """A folder with the tables of FITS."""
    where = tmp_path_factory.mktemp("plain")
    for world in WORLDS:
        if any(words.startswith(f"{world.name}.") for words, _ in FITS):
            world.write(where)
    yield where


@pytest.mark.filterwarnings("ignore")  # from cascades that see the quality
@pytest.mark.parametrize(("words", "told"), FITS)
def test_a_fit_and_its_file_are_told_on_one_screen(
    folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str, told: str
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    (folder / "cascade.json").unlink(missing_ok=True)
    assert commands.main(["cascade", "fit", *words.split(), "--force"]) == 0
    said = capsys.readouterr().out
    assert said.count("\n") <= LINES and max(map(len, said.splitlines())) <= 80, said
    assert told in " ".join(said.split()), said
    assert commands.main(["cascade", "show", "cascade.json"]) == 0
    shown = capsys.readouterr().out
    assert said.startswith(shown)
    assert commands.main(["cascade", "show", "cascade.json", "--details"]) == 0
    details = capsys.readouterr().out
    assert "The promise is what the deployed cascade is expected to do" in details and "--details" not in details
    record = json.loads((folder / "cascade.json").read_text())["about"]
    assert all(note in " ".join(details.split()) for note in record["notes"])


def test_long_names_and_many_notes_leave_the_verdict() -> None:
    names = [f"provider/a-model-with-a-very-long-name-{k}" for k in range(9)]
    worth = {name: {"value": 0.5, "low": 0.4, "high": 0.6} for name in ("quality", "usd_per_1000", "calls", "utility")}
    worth |= {"gain": worth["quality"], "saving": worth["quality"]}
    record = {
        "promise": worth, "single": {**worth, "model": names[0]}, "pays": True, "choice": "thresholds",
        "gain": worth["quality"], "price": 5.0, "prompts": 100, "never": names, "latency": {"p95": 1.0},
        "break_even_judge_usd": 0.01, "notes": ["context: not used", *(f"note {k}" for k in range(40))],
    }  # fmt: skip
    file: dict[str, Any] = {
        "kind": "thresholds", "models": names, "order": names, "thresholds": [0.5] * 8, "price": 5.0,
        "evaluator": "score", "about": record,
    }  # fmt: skip
    sheets = short_sheets(file, {}, "f")
    text = "\n".join(sheet.text(80) for sheet in sheets)
    assert text.count("\n") < LINES and text.startswith(f"Call {names[0]} first, then")
    assert "Notes that only the details show: 4" in text and "Models that follow: " in text
    assert "if judging an answer costs more than $0.01, the gain is gone." in verdict_text(file, record)


def test_every_topic_has_a_line_and_other_notes_are_counted() -> None:
    worth = {name: {"value": 0.5, "low": 0.4, "high": 0.6} for name in ("quality", "usd_per_1000", "calls", "utility")}
    for topic in Topic:
        note = Note("the whole sentence", topic, "first value", "second value")
        record = {
            "promise": worth, "single": {**worth, "model": "a"}, "choice": SINGLE, "models": ["a", "b"],
            "notes": [note, "of no topic", "of a topic that this version does not know"],
            "topics": [*topics_json([note]), {"note": 2, "topic": "of another version", "values": []}],
        }  # fmt: skip
        file = {"kind": "thresholds", "models": ["a"], "order": ["a"], "thresholds": [], "price": 1.0, "about": record}
        told = short_sheets(file, {}, "f", details=True)[1].notes
        lines = [] if topic is Topic.METHOD else [_IN_SHORT[topic].format("first value", "second value")]
        assert told == [*lines, "Notes that only the details show: 2."]
