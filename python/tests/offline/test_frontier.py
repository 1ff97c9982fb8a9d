"""Quality against dollars: points by loops, mixtures and steps by hand, and the printed output."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

import numpy as np
import pytest

from pandora import DataError, Trace, UsageError
from pandora.figures import Figure
from pandora.offline import frontier as frontiers
from pandora.offline.crossfit import Progress
from pandora.offline.estimate import Interval
from pandora.offline.frontier import Frontier, Mixture, Point, find_frontier
from pandora.offline.kinds import Aim, AimKind, price_grid
from pandora.offline.options import FitSettings
from pandora.offline.sources.table import TableSource
from pandora.rendering.render import load
from pandora.rendering.study import frontier_figure


def table_of(name: str, seed: int, rows: int = 200, models: int = 3) -> Any:
    draw = np.random.default_rng(seed)
    hard = draw.normal(size=(rows, 1))
    quality = (hard + 0.5 * draw.normal(size=(rows, models)) < np.linspace(0.0, 1.5, models)).astype(float)
    usd = 0.0005 * 4.0 ** np.arange(models) * draw.uniform(0.5, 1.5, (rows, models))
    score = np.round(np.clip(0.5 * quality + 0.25 + 0.25 * draw.normal(size=quality.shape), 0.0, 1.0), 2)
    table = {"models": [f"m{m}" for m in range(models)], "quality": quality, "cost": usd, "scores": {"score": score}}
    return Trace({**table, "prompts": [f"{name}{k}" for k in range(rows)]}, name=name)._table


def found_by(evaluator: str = "score", judge_usd: Optional[float] = None, **more: Any) -> Frontier:
    fit, test = (
        TableSource(table_of(name, seed, rows), evaluator, (), judge_usd or 0.0)
        for name, seed, rows in (("fit", 1, 200), ("test", 2, 150))
    )
    return find_frontier(fit, test, ["thresholds"], judge_usd=judge_usd, **more)


def frontier_of(fit: Any, test: Any, prices: Sequence[float] = ()) -> Frontier:
    """The frontier from two dicts of arrays, by the true qualities."""
    a, b = (TableSource(Trace(table, free_calls=True)._table, "quality") for table in (fit, test))
    return find_frontier(a, b, ["thresholds"], prices)


def test_points_are_walks_on_the_other_table() -> None:
    """A point's name describes its cascade, with thresholds of four digits on the judge's calibrated scores."""
    judge_usd = 0.0001
    fit, test = table_of("fit", 1), table_of("test", 2, 150)
    source = TableSource(fit, "score", (), judge_usd)
    maps = source.prepare(np.arange(200)).calibration
    found = found_by(judge_usd=judge_usd)
    assert len(found.cascades) > 3 and len(found.singles) == 3
    quality, usd, score = test.quality(), test.cost(), test.score("score")
    for point in found.cascades:
        order, stops = [], []
        for part in point.name.split(", "):
            name, _, rest = part.partition(" (accepted from ")
            order.append(int(name[1:]))
            stops.append(float(rest.rstrip(")")) if rest else math.inf)
        for row in range(150):
            best, worth, spent, calls = -1.0, 0.0, 0.0, set()
            for model, stop in zip(order, stops):
                seen = float(maps[model](score[row, [model]])[0])
                spent += usd[row, model] + (judge_usd if len(order) > 1 else 0.0)
                calls.add(model)
                if seen > best:
                    best, worth = seen, quality[row, model]
                if seen >= stop:
                    break
            assert point.numbers[:, row].tolist() == pytest.approx([worth, spent, len(calls)])
            assert set(np.flatnonzero(point.called[row])) == calls
        assert point.quality.value == pytest.approx(point.numbers[0].mean())
        assert point.usd_per_1000.value == pytest.approx(1000.0 * point.numbers[1].mean())
        assert point.calls == pytest.approx(point.numbers[2].mean())
    for model, point in enumerate(found.singles):
        assert point.usd_per_1000.value == pytest.approx(1000.0 * usd[:, model].mean())  # a single model is not judged
        assert point.called.sum(axis=0).tolist() == [150 * (m == model) for m in range(3)]


def test_prices_descend_and_neighbours_differ() -> None:
    found = found_by()
    prices = [point.price for point in found.cascades]
    assert prices == sorted(prices, reverse=True) and len(set(prices)) == len(prices)
    for a, b in zip(found.cascades, found.cascades[1:]):
        assert not np.array_equal(a.numbers[:2], b.numbers[:2])


def test_asked_prices_are_not_refined() -> None:
    told: list[tuple[int, int]] = []
    found = found_by(prices=[5.0, 500.0], progress=Progress(lambda done, total: told.append((done, total))))
    assert {point.price for point in found.cascades} <= {5.0, 500.0}
    assert told == [(1, 2), (2, 2)]


def test_steps_that_are_far_apart_are_filled_in() -> None:
    """Prices that double skip points in between. Without given prices, such gaps are filled in."""
    doubled, filled = found_by(prices=price_grid(table_of("fit", 1).cost())), found_by()

    def widest(found: Frontier) -> float:
        usd = [point.usd_per_1000.value for point in found.cascades]
        return max(np.diff(usd)) / (usd[-1] - usd[0])

    assert len(filled.cascades) > len(doubled.cascades) and widest(filled) < widest(doubled)


def at(usd: float, quality: float, price: float = 1.0) -> Point:
    numbers, called = np.zeros((3, 1)), np.zeros((1, 1), bool)
    x, y = (Interval(value, value, value) for value in (usd, quality))
    return Point("a", price, numbers, called, y, x, 1.0)


def test_above_mixture_by_hand() -> None:
    mixtures = [Mixture(0, 0, 0.0, 0.4, 1.0), Mixture(0, 1, 0.5, 0.6, 5.5), Mixture(0, 1, 1.0, 0.8, 10.0)]
    assert frontiers.above_mixture(at(5.5, 0.7), mixtures) == pytest.approx(0.1)
    assert frontiers.above_mixture(at(3.25, 0.5), mixtures) == pytest.approx(0.0)
    assert frontiers.above_mixture(at(20.0, 0.7), mixtures) == pytest.approx(-0.1)
    assert frontiers.above_mixture(at(1.0, 0.4), mixtures) == 0.0
    assert math.isnan(frontiers.above_mixture(at(0.5, 0.9), mixtures))


def test_prices_between_those_that_are_far_apart() -> None:
    points = [at(1.0, 0.50, 100.0), at(1.6, 0.51, 50.0), at(1.7, 0.8, 25.0), at(1.8, 0.81, 12.0)]
    points.append(at(4.0, 0.82, 6.0))
    assert frontiers.prices_between(points) == [70.7, 35.4, 8.49]
    assert frontiers.prices_between(points[:1]) == []


def test_mixtures_go_along_the_hull_of_the_table_that_was_fitted_on() -> None:
    table = {"models": ["good", "bad", "best"], "quality": [[0.5, 0.4, 0.9]] * 10, "cost": [[1.0, 2.0, 3.0]] * 10}
    other = {**table, "quality": [[0.6, 1.0, 0.8]] * 10, "prompts": [f"q{k}" for k in range(10)]}
    fit = {**table, "prompts": [f"p{k}" for k in range(10)]}
    found = frontier_of(fit, other, [0.0])
    assert (found.models[found.weak], found.models[found.strong]) == ("good", "best")
    assert len(found.mixtures) == 17
    assert found.mixtures[8].quality == pytest.approx(0.7) and found.mixtures[8].usd_per_1000 == pytest.approx(2000.0)
    assert found.singles[1].above_mixture == pytest.approx(1.0 - 0.7)
    assert found.cascades[0].name == "best"


def test_steps_are_each_dearer_and_better() -> None:
    found = found_by()
    steps = [found.cascades[k] for k in found.steps]
    for a, b in zip(steps, steps[1:]):
        assert b.usd_per_1000.value > a.usd_per_1000.value and b.quality.value > a.quality.value
    for point in found.cascades:
        assert any(
            s.usd_per_1000.value <= point.usd_per_1000.value and s.quality.value >= point.quality.value for s in steps
        )
    sheet = frontiers.frontier_steps(found)
    assert len(sheet.rows) == len(steps) and sheet.notes[0] == f"1: {steps[0].name}"
    assert sheet.rows[0][5:] == ["---"] * 3
    more = sheet.rows[1][6].split()[0]
    assert float(more) == pytest.approx(steps[1].quality.value - steps[0].quality.value, abs=5e-5)


def two_models(name: str, quality: Sequence[float]) -> dict[str, Any]:
    """A table of two models, which are named by their dollars."""
    prompts = [f"{name}{k}" for k in range(30)]
    return {"models": ["weak", "strong"], "quality": [quality] * 30, "cost": [[0.001, 0.01]] * 30, "prompts": prompts}


def test_weak_and_strong_models_of_the_field() -> None:
    """RouterBench's and RouteLLM's areas for two models that no feature distinguishes."""
    fit, test = (two_models(name, [0.4, 0.8]) for name in ("fit", "test"))
    found = frontier_of(fit, test)
    wanted = {"aiq": 0.6, "auc": 0.6, "apgr": 0.5, "cpt_50": 0.5, "cpt_80": 0.8, "usd_at_100": 10.0}
    for name, value in wanted.items():
        assert found.metrics[name] == pytest.approx((value, value, value)), name


def test_no_gap_where_the_dear_model_is_worse() -> None:
    fit, test = (two_models(name, [0.8, 0.4]) for name in ("fit", "test"))
    found = frontier_of(fit, test)
    record = json.loads(json.dumps(frontiers.frontier_json(found), allow_nan=False))["metrics"]
    assert record["weak"] == record["strong"] == "weak"
    for name in ("apgr", "cpt_50", "cpt_80"):
        assert record[name] == {"value": None, "low": None, "high": None}
    assert record["quality_neutral_cost"]["value"] == pytest.approx(0.1)


def test_the_judge_has_metrics_and_the_truth_has_none() -> None:
    by_judge, by_truth = found_by("score").metrics, found_by("quality").metrics
    ends = ["ece", "ece_calibrated", "auroc", "aurc", "risk_50"]
    assert set(by_judge) - set(by_truth) == {f"judge_{end}" for end in ends}
    assert by_judge["judge_auroc"].low > 0.8
    assert by_judge["judge_ece_calibrated"].value < by_judge["judge_ece"].value


def test_best_candidates_of_several_kinds_are_by_price() -> None:
    source = TableSource(table_of("fit", 1), "score")
    found = frontiers.best_candidates(source, ["thresholds"], [1.0, 2.0], Progress())
    assert [(one.kind, one.price) for one in found] == [("thresholds", 1.0), ("thresholds", 2.0)]


def test_other_order_of_models() -> None:
    fit, test = table_of("fit", 1), table_of("test", 2, 150)
    turned = test.select_models(["m2", "m0", "m1"])
    same, other = (
        find_frontier(TableSource(fit, "score"), TableSource(t, "score"), ["thresholds"], [20.0])
        for t in (test, turned)
    )
    assert frontiers.frontier_json(same) == frontiers.frontier_json(other)


def test_what_is_written() -> None:
    found = found_by(judge_usd=0.0001)
    rows = list(csv.DictReader(io.StringIO(frontiers.frontier_csv(found))))
    columns = "kind,name,price,usd_per_1000,usd_low,usd_high,quality,quality_low,quality_high,calls,above_mixture"
    assert ",".join(rows[0]) == columns + ",evaluator,judge_usd"
    kinds = [row["kind"] for row in rows]
    counts = [kinds.count(kind) for kind in ("cascade", "single", "mixture")]
    assert counts == [len(found.cascades), 3, len(found.mixtures)]
    single = rows[len(found.cascades)]
    assert (single["price"], single["calls"], single["judge_usd"]) == ("", "1", "0.0001")
    assert float(rows[0]["usd_low"]) == found.cascades[0].usd_per_1000.low
    mixture = rows[-2]["name"].split()
    assert mixture[2] == "+" and float(mixture[0]) + float(mixture[3]) == pytest.approx(1.0, abs=1e-4)
    lines = list(csv.DictReader(io.StringIO(frontiers.rows_csv(found))))
    assert len(lines) == 150 * (len(found.cascades) + 3)
    assert lines[-1]["called"] == "m2" and lines[-1]["prompt"] == "test149"
    first = [line for line in lines if line["kind"] == "cascade"][:150]
    assert sum(float(line["quality"]) for line in first) == pytest.approx(150 * found.cascades[0].quality.value)
    record = json.loads(json.dumps(frontiers.frontier_json(found), allow_nan=False))
    assert sorted(record) == sorted(
        ["fitted_on", "tested_on", "kind", "evaluator", "judge_usd", "prompts", "points", "steps", "metrics"]
    )
    assert len(record["points"]) == len(found.cascades) + 3
    assert record["points"][-1]["price"] is None


def test_figure_is_one() -> None:
    found = found_by()
    figure = Figure(frontier_figure(frontiers.frontier_numbers(found)))
    labels = [series["label"] for series in figure.series]
    assert labels == ["cascades (thresholds)", "mixtures of two models", "m0", "m1", "m2"]
    assert [mark for mark in figure.series[0]["marks"] if mark] != []
    assert figure.caption.startswith("Quality against dollars on 150 prompts of test, fitted on fit; 95% intervals")
    x = figure.series[0]["x"]
    assert x.tolist() == [point.usd_per_1000.value for point in found.cascades]


def test_a_free_model_has_its_place_on_a_logarithmic_axis() -> None:
    fit, test = (
        {**two_models(name, [0.4, 0.8]), "cost": [[0.0, 0.01]] * 30, "quality": [[k % 2, 0.8] for k in range(30)]}
        for name in ("fit", "test")
    )
    caption = frontier_figure(frontiers.frontier_numbers(frontier_of(fit, test)))["caption"]
    assert caption.endswith("Zero has a place of its own at the left of the logarithmic axis.")


def test_what_is_refused() -> None:
    fit, test = (TableSource(table_of(name, seed), "score") for name, seed in (("fit", 1), ("test", 2)))
    with pytest.raises(UsageError, match="out of range; give utility per dollar, finite numbers that are not negative"):
        find_frontier(fit, test, ["thresholds"], [-1.0])
    with pytest.raises(DataError, match="200 of its 200 prompts are in fit too"):
        find_frontier(fit, TableSource(table_of("fit", 2), "score"), ["thresholds"])
    with pytest.raises(UsageError, match="a router goes by the prompt's features"):
        settings = FitSettings(Aim(AimKind.PRICE, 0.0), "score", kind="router")
        frontiers.frontier_of_tables(fit.table, test.table, settings)
    with pytest.raises(DataError, match="has no model"):
        find_frontier(fit, TableSource(table_of("test", 2, models=2), "score"), ["thresholds"])


def test_report_can_be_drawn(tmp_path: Path) -> None:
    found = found_by()
    frontiers.write_frontier(str(tmp_path), found, True, ["svg"])  # the files that are read here need no matplotlib
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    assert numbers == json.loads(json.dumps(frontiers.frontier_numbers(found), allow_nan=False))
    report = load(tmp_path)
    assert report["subtitle"].startswith("Fitted on fit, judged on test: 150 prompts, evaluator score")
    (section,) = report["sections"]
    (figure,) = section["figures"]
    assert figure["series"][0]["x"] == [point.usd_per_1000.value for point in found.cascades]
    assert [table["name"] for table in section["tables"]] == ["steps", "metrics"]
    assert section["tables"][1]["notes"][0] == "aiq: area under the hull over its dollars, divided by their range"
    assert (tmp_path / "tables" / "metrics.csv").read_text().splitlines()[0] == "metric,value"
    assert (tmp_path / "frontier.csv").read_text() == frontiers.frontier_csv(found) and (tmp_path / "rows.csv").exists()


def test_without_a_renderer_there_are_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, stale = found_by(prices=[5.0]), tmp_path / "report.html"
    stale.touch()
    for name, value in (("PANDORA_RENDERER", tmp_path / "none.py"), ("PANDORA_PYTHON", tmp_path / "none")):
        monkeypatch.setenv(name, str(value))
        told = frontiers.write_frontier(str(tmp_path), found, False, ["svg"])
        assert told.startswith(f"{tmp_path}: not all was rendered: ") and "none" in told
        assert "its numbers are in numbers.json; then run `python3 " in told and told.endswith(f"{tmp_path}`")
    assert (tmp_path / "numbers.json").exists() and not stale.exists()
