"""Logs of decisions: the library's estimates equal those of an independent program in numpy."""

from __future__ import annotations

import importlib
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

import pandora

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "reference" / "python"))
long_log: Any = importlib.import_module("long_log")

MODELS = ["small", "middle", "large"]


def _table(rows: int, seed: int) -> list[dict[str, Any]]:
    """A table with a row for each answer. Dearer models are better, and the judge sees this with noise."""
    draw, out = random.Random(seed), []
    for prompt in range(rows):
        hard = draw.random()
        for place, model in enumerate(MODELS):
            quality = min(1.0, max(0.0, 0.9 - 0.6 * hard + 0.2 * place + draw.gauss(0, 0.1)))
            score = min(1.0, max(0.0, quality + draw.gauss(0, 0.15)))
            cost = 0.0004 * 3**place * (0.5 + hard)
            out.append({"prompt_id": f"p{prompt}", "model": model, "quality": quality, "cost": cost, "score": score})
    return out


def _log(rows: list[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    """The answers that independent tosses called. 70% of the qualities are known."""
    draw, out = random.Random(seed), []
    for row in rows:
        p = {"small": 1.0, "middle": 0.5, "large": 0.4}[row["model"]]
        if draw.random() < p:
            known = draw.random() < 0.7
            call = {**row, "decision": row["prompt_id"], "propensity": p, "label_propensity": 0.7}
            out.append(call if known else {**call, "quality": None})
    return out


def _written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def cascade(tmp_path: Path) -> pandora.Cascade:
    """A cascade with thresholds that sees the quality, so that nothing is calibrated."""
    table = pandora.Trace(_written(tmp_path / "fit.jsonl", _table(400, 1)))
    return pandora.Cascade.fit(table, price=20, evaluator="quality", kind="thresholds")


def test_estimates_equal_an_independent_program(cascade: pandora.Cascade, tmp_path: Path) -> None:
    rows = _log(_table(500, 2), 3)
    log = pandora.Trace(_written(tmp_path / "log.jsonl", rows))
    cascade.save(tmp_path / "cascade.json")
    saved = json.loads((tmp_path / "cascade.json").read_text())
    accept = [*saved["thresholds"], 0.0]
    openings = long_log.openings_of(rows, saved["order"], independent=True)
    expected = long_log.estimate(openings, accept, 20.0)
    for name in ("ips", "snips", "dr"):
        found = cascade.test(log, "large", evaluator="score", estimator=name, openings="independent")
        for what in ("quality", "usd_per_1000", "calls", "utility"):
            interval = getattr(found, what)
            assert interval.value == pytest.approx(expected[name][what]["value"], abs=1e-10)
            assert interval.low == pytest.approx(expected[name][what]["low"], abs=1e-8)
            assert interval.high == pytest.approx(expected[name][what]["high"], abs=1e-8)


def test_thresholds_are_fitted_to_a_log(tmp_path: Path) -> None:
    log = pandora.Trace(_written(tmp_path / "log.jsonl", _log(_table(2000, 9), 10)))
    fit = pandora.Cascade.fit(log, price=20, evaluator="score", openings="independent")
    assert fit.about is not None
    assert any("fitted to a log" in note for note in fit.about["notes"])
    full = fit.test(_written(tmp_path / "full.jsonl", _table(1000, 11)), "large")
    assert full.utility.low < fit.about["promise"]["utility"]["high"]
    assert full.utility.high > fit.about["promise"]["utility"]["low"]


def test_a_table_that_knows_some_qualities_is_fitted(tmp_path: Path) -> None:
    rows, draw = _table(600, 5), random.Random(6)
    holes = [row if draw.random() < 0.3 else {**row, "quality": None} for row in rows]
    table = pandora.Trace(_written(tmp_path / "holes.jsonl", holes))
    fit = pandora.Cascade.fit(table, price=20, evaluator="score", kind="thresholds")
    full = fit.test(_written(tmp_path / "full.jsonl", _table(600, 7)))
    assert fit.about is not None
    promise = fit.about["promise"]["utility"]
    assert full.utility.low < promise["high"]
    assert full.utility.high > promise["low"]
    with pytest.raises(pandora.UsageError, match="not known"):
        pandora.Cascade.fit(table, price=20, evaluator="quality")
    with pytest.raises(pandora.UsageError, match="identifies ips, snips, dr"):
        fit.test(table, estimator="plugin")


def test_a_cascade_that_explores_logs_what_a_table_is_made_of(tmp_path: Path) -> None:
    rows = _table(900, 6)
    table = pandora.Trace(_written(tmp_path / "fit.jsonl", rows))
    cascade = pandora.Cascade.fit(table, price=20, evaluator="score", kind="thresholds", explore=0.3)
    assert cascade.explore == 0.3
    cascade.log_to(tmp_path / "log", prompts=True)
    of = {(row["prompt_id"], row["model"]): row for row in rows}
    did = {}
    for prompt in range(900):
        with cascade.begin(f"p{prompt}") as request:
            for seconds, model in enumerate(request):
                answer = of[f"p{prompt}", model]
                request.observe(answer["cost"], answer["score"], latency=seconds + 0.5)
        did[str(request.number)] = request.deployed
        if prompt % 3:
            request.feedback(of[f"p{prompt}", request.deployed]["quality"])
    assert cascade.counts["unlogged"] == 0
    log = pandora.Trace(tmp_path / "log")
    assert sorted(log.prompts) == sorted(did)
    texts = log.column("prompt")
    for row, name in enumerate(log.prompts):
        for k, model in enumerate(log.models):
            if log.cost[row, k] == log.cost[row, k]:
                answer = of[texts[row], model]
                assert (log.cost[row, k], log.scores["score"][row, k]) == (answer["cost"], answer["score"])
                if log.quality[row, k] == log.quality[row, k]:
                    assert model == did[name] and log.quality[row, k] == answer["quality"]
    for estimator in ("ips", "snips", "dr"):
        found = cascade.test(log, against=cascade.order[0], estimator=estimator)
        assert 0.5 < found.quality.value < 1.2 and found.quality.low < found.quality.high
    with pytest.raises(pandora.UsageError, match="from 0 to 1"):
        cascade.set_explore(2.0)
    with pytest.raises(pandora.UsageError, match="prompts"):
        cascade.log_to(tmp_path / "other", prompts=1)  # type: ignore[arg-type]
    (tmp_path / "file").write_text("")
    with pytest.raises(pandora.OutputError, match="log to another folder"):
        cascade.log_to(tmp_path / "file")
