"""Tables of outcomes from files, data frames and arrays."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pandora


def made_up(rows: int = 200, seed: int = 3) -> dict[str, Any]:
    world = np.random.default_rng(seed)
    quality = np.clip(np.array([0.6, 0.75, 0.9]) + 0.15 * world.standard_normal((rows, 3)), 0, 1).round(3)
    return {
        "models": ["small", "middle", "large"],
        "quality": quality,
        "cost": np.array([0.0005, 0.004, 0.02]) * (1 + world.random((rows, 3)).round(3)),
        "scores": {"score": np.clip(quality + 0.05 * world.standard_normal((rows, 3)), 0, 1).round(3)},
        "prompts": [f"p{k}" for k in range(rows)],
        "columns": {"prompt": [f"question {k % 50} of {k}" for k in range(rows)], "size": np.arange(rows) / 7.0},
    }


def long_file(path: pathlib.Path, table: dict[str, Any]) -> str:
    with path.open("w") as file:
        for k, name in enumerate(table["prompts"]):
            for m, model in enumerate(table["models"]):
                row = {
                    "prompt_id": name,
                    "model": model,
                    "quality": table["quality"][k, m],
                    "cost": table["cost"][k, m],
                    "score": table["scores"]["score"][k, m],
                    "prompt": table["columns"]["prompt"][k],
                    "size": table["columns"]["size"][k],
                }
                file.write(json.dumps(row) + "\n")
    return str(path)


def test_arrays_and_a_file_of_the_same_content_are_the_same_table(tmp_path: pathlib.Path) -> None:
    table = made_up()
    of_arrays, of_file = pandora.Trace(table), pandora.Trace(long_file(tmp_path / "t.jsonl", table))
    assert of_arrays.digest == of_file.digest
    assert of_file.models == table["models"]
    np.testing.assert_array_equal(of_file.quality, table["quality"])
    np.testing.assert_array_equal(of_file.scores["score"], table["scores"]["score"])
    assert of_file.column("prompt")[7] == "question 7 of 7"
    np.testing.assert_array_equal(of_file.column("size"), table["columns"]["size"])


def test_data_frames_in_both_forms_are_the_same_table(tmp_path: pathlib.Path) -> None:
    pandas = pytest.importorskip("pandas")
    table = made_up()
    wanted = pandora.Trace(table).digest
    long = pandas.read_json(long_file(tmp_path / "t.jsonl", table), lines=True, precise_float=True)
    assert pandora.Trace(long).digest == wanted
    wide = pandas.DataFrame({"prompt_id": table["prompts"], **table["columns"]})
    for m, model in enumerate(table["models"]):
        wide[model] = table["quality"][:, m]
        wide[f"{model}|total_cost"] = table["cost"][:, m]
        wide[f"{model}|score"] = table["scores"]["score"][:, m]
    assert pandora.Trace(wide).digest == wanted
    with pytest.raises(pandora.DataError, match="the same model twice"):
        pandora.Trace(pandas.concat([long, long]))
    with pytest.raises(pandora.DataError, match="is no table of outcomes"):
        pandora.Trace(long.drop(columns="model"))
    for frame in (long.assign(cost="dear"), wide.assign(**{"small|total_cost": "dear"})):
        with pytest.raises(pandora.DataError, match="cost holds what is no number"):
            pandora.Trace(frame)
    with pytest.raises(pandora.UsageError, match="column when, row 1: Timestamp.*give a number, a text or a list"):
        pandora.Trace(wide.assign(when=pandas.Timestamp(2026, 1, 1)))


def test_what_is_wrong_with_a_cell_is_said() -> None:
    table = made_up(20)
    table["quality"][4, 1] = 1.5
    with pytest.raises(pandora.DataError, match="row 5.*middle.*quality.*1.5"):
        pandora.Trace(table)
    table["quality"][4, 1] = np.nan
    with pytest.raises(pandora.DataError, match="1 of 20 rows lack a cell"):
        pandora.Trace(table)
    assert pandora.Trace(table, missing="drop").rows == 19
    with pytest.raises(pandora.UsageError, match="needs models, quality and cost; cost is not there"):
        pandora.Trace({"models": ["a"], "quality": [[0.5]]})
    with pytest.raises(pandora.DataError, match="quality is 1 x 1, not prompts x models, 1 x 2"):
        pandora.Trace({"models": ["a", "b"], "quality": [[0.5]], "cost": [[0.5]]})
    with pytest.raises(pandora.DataError, match=r"absent\.csv"):
        pandora.Trace("absent.csv")


def test_check_says_what_routing_pays() -> None:
    check = pandora.Trace(made_up()).check(price=[2.0, 20.0])
    assert len(check.verdicts) == 2
    assert all("routing can pay" in verdict or "no cascade" in verdict for verdict in check.verdicts)
    assert "best single" in repr(check)
    with pytest.raises(pandora.UsageError, match="evaluator judge"):
        pandora.Trace(made_up()).check(evaluator="judge")


def test_parts_of_a_table() -> None:
    trace = pandora.Trace(made_up())
    first, second = trace.split(0.25)
    assert first.rows + second.rows == trace.rows
    assert set(first.prompts).isdisjoint(second.prompts)
    assert trace.select(["large", "small"]).models == ["large", "small"]
    assert trace.take([5, 3]).prompts == ["p5", "p3"]
    with pytest.raises(pandora.UsageError, match="has no row 200"):
        trace.take([200])


def test_rows_are_numbers_or_a_mask() -> None:
    trace = pandora.Trace(made_up())
    mask = np.zeros(200, dtype=bool)
    mask[[3, 5]] = True
    assert trace.take(mask).prompts == trace.take(mask.tolist()).prompts == ["p3", "p5"]
    assert trace.take(range(2)).prompts == trace.take(np.arange(2)).prompts == ["p0", "p1"]
    assert trace.take(iter([4])).prompts == ["p4"]  # type: ignore[arg-type]
    refused: list[tuple[Any, str]] = [
        (mask[:100], r"a mask of shape \(100,\) for 200 rows"),
        ([1.5], r"rows \[1.5\]: give a list of whole numbers"),
        ([-1], "row -1: rows are counted from 0 on; the last is 199"),
        (["1"], "give a list of whole numbers"),
        ([[1], [2]], "give a list of whole numbers"),
        ([[1], 2], "give a list of whole numbers"),
        (1, "give a list of whole numbers"),
    ]
    for rows, told in refused:
        with pytest.raises(pandora.UsageError, match=told):
            trace.take(rows)


def test_a_part_without_rows_or_models_is_refused() -> None:
    trace = pandora.Trace(made_up())
    nothing: list[Any] = [[], np.zeros(200, dtype=bool), np.array([], dtype=int)]
    for rows in nothing:
        with pytest.raises(pandora.UsageError, match="no rows: a table has at least one"):
            trace.take(rows)
    with pytest.raises(pandora.UsageError, match="no models: give one or more of small, middle, large"):
        trace.select([])
    with pytest.raises(pandora.DataError, match="has 1 rows, too few to be split"):
        trace.take([0]).split()


def test_arguments_of_another_type_are_usage_errors() -> None:
    trace, table = pandora.Trace(made_up(20)), made_up(20)
    anything: Any = pandora.Trace
    refused: list[tuple[Callable[[], Any], str]] = [
        (lambda: anything(None), "Trace: None: give a path, a data frame of pandas or a dict"),
        (lambda: anything(trace), "give a path, a data frame of pandas or a dict"),
        (lambda: anything(table, models="small"), "Trace: models 'small': give a list of texts"),
        (lambda: anything(table, models=[1]), "Trace: models 1: give a text"),
        (lambda: anything(table, missing=None), "Trace: missing None: give a text"),
        (lambda: anything({**table, "models": [1, 2, 3]}), "Trace: models 1: give a text"),
        (lambda: anything({**table, "models": "abc"}), "Trace: models 'abc': give a list of texts"),
        (lambda: anything({**table, "models": ["a", "b", "\ud800"]}), "surrogate pair at character 0"),
        (lambda: anything({**table, "prompts": "p"}), "prompts 'p': give a list of names"),
        (lambda: anything({**table, "columns": ["size"]}), "give a dict with a list for each column"),
        (lambda: anything({**table, "columns": {"size": "abc"}}), "column size 'abc': give a list"),
        (lambda: anything({**table, "columns": {"size": [{}] * 20}}), "column size, row 1: {}: give a number, a text"),
        (lambda: anything({**table, "columns": {"prompt": ["a\udc00"] * 20}}), "row 1:.*surrogate pair at character 1"),
        (lambda: anything("\udc00.csv"), "surrogate pair"),
        (lambda: trace.select("small"), "models 'small': give a list of texts"),
        (lambda: trace.split("a"), "share 'a': give a number"),  # type: ignore[arg-type]
        (lambda: trace.check(price="1"), "price '1': give a number"),  # type: ignore[arg-type]
        (lambda: trace.check(price=[]), "no price: give one or more"),
        (lambda: trace.column(1), "name 1: give a text"),  # type: ignore[arg-type]
    ]
    for call, told in refused:
        with pytest.raises(pandora.UsageError, match=told):
            call()
    matrices: list[Any] = [[["0.5"] * 3] * 20, [[0.5], [0.5, 0.1]], [[{}] * 3] * 20]
    for quality in matrices:
        with pytest.raises(pandora.DataError, match="quality"):
            pandora.Trace({**table, "quality": quality})


def test_cells_of_numpy_are_those_of_python() -> None:
    table = made_up(20)
    table["columns"] = {"n": list(np.arange(20)), "v": [np.arange(2, dtype=np.float32)] * 20, "b": [True] * 20}
    trace = pandora.Trace(table)
    np.testing.assert_array_equal(trace.column("n"), np.arange(20))
    np.testing.assert_array_equal(trace.column("v")[3], [0, 1])
    np.testing.assert_array_equal(trace.column("b"), np.ones(20))
