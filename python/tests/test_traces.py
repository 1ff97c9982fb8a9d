"""Tables of outcomes from files, data frames and arrays."""

from __future__ import annotations

import json
import pathlib
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
    with pytest.raises(pandora.DataError, match="is not prompts x models"):
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
