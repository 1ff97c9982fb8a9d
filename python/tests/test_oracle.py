"""Reservation indices."""

from __future__ import annotations

import json
import math
import pathlib
from typing import Any

import numpy as np
import pytest

import pandora
from conftest import Program


def test_indices_are_those_of_the_command_line(program: Program) -> None:
    asked = {"environment": "gaussian", "samples": 5000, "seed": 3, "ell": 0.2, "scale": 1.5, "cost": 0.1}
    words = [word for name, value in asked.items() for word in (f"--{name}", value)]
    said = program("oracle", "index", *words).split()
    sigma, error = pandora.oracle_index(0.2, 1.5, 0.1, "gaussian", samples=5000, seed=3, with_error=True)
    assert float(said[1]) == pytest.approx(sigma, abs=6e-7)
    assert float(said[3]) == pytest.approx(error, abs=6e-7)
    costs = np.array([[0.05, 0.1], [0.2, 0.4]])
    found = pandora.oracle_index(0.2, 1.5, costs, "gaussian", samples=5000, seed=3)
    assert found.shape == (2, 2) and found[0, 1] == sigma
    assert (np.diff(found.ravel()) < 0).all()
    with pytest.raises(pandora.UsageError, match="scales and costs above 0"):
        pandora.oracle_index(0.0, 1.0, 0.0)


@pytest.mark.parametrize("regime", ["A", "B"])
def test_the_grid_gives_the_indices_of_a_run(example: str, regime: str) -> None:
    r = pandora.open(example)
    grid = pandora.OracleGrid(r, "uniform", regime, replication=1)
    assert (grid.boxes, grid.context) == (3, 100)
    x = grid.contexts(5)
    assert x.shape == (5, 100)
    lane = r.lane(policy="dow/known", environment="uniform", regime=regime, T0=0, replication=1)
    told = [[box["sigma"] for box in period["boxes"]] for period in lane.explain(1, 5)["periods"]]
    np.testing.assert_allclose(grid.sigma(x), told, atol=1e-5)
    np.testing.assert_array_equal(grid.sigma(x, box=2), grid.sigma(x)[:, 2])
    np.testing.assert_array_equal(grid.sigma(x[3]), grid.sigma(x)[3])
    assert grid.instance()["D"].shape == (10, 100)
    with pytest.raises(pandora.UsageError, match="100 numbers, not 4"):
        grid.sigma(np.ones(4))
    with pytest.raises(pandora.UsageError, match="3 is none of the indices of boxes, 0 to 2"):
        grid.sigma(x, box=3)


def test_locations_and_drawn_indices(tmp_path: pathlib.Path) -> None:
    study = {
        "replications": 1,
        "periods": 60,
        "T0": [0],
        "policies": ["dow"],
        "environments": ["apart", "linear"],
        "regimes": ["B"],
        "dimensions": {"context": 6, "output": 8, "reward_features": 3, "radius_draws": 2000},
        "oracle": {"samples": 2000, "grid": [9, 5, 9]},
        "output.order": False,
        "environment": {
            "apart": {"law": "uniform", "u": 0.2, "stream": 40, "location": "own"},
            "linear": {"law": "uniform", "stream": 41, "indices": "linear"},
        },
    }
    results = pandora.run(study, out=tmp_path / "r")
    for environment in ("apart", "linear"):
        grid = pandora.OracleGrid(study, environment, "B")
        lane = results.lane(policy="dow/known", environment=environment, T0=0)
        told = [[box["sigma"] for box in period["boxes"]] for period in lane.explain(1, 5)["periods"]]
        np.testing.assert_allclose(grid.sigma(grid.contexts(5)), told, atol=1e-5)
    rho = grid.instance()["rho"]
    assert rho.shape == (3, 7)
    x = grid.contexts(5)
    np.testing.assert_allclose(grid.sigma(x), np.tanh(rho[:, 0] + x @ rho[:, 1:].T), atol=1e-9)
    assert pandora.OracleGrid(study, "apart", "B").instance()["Q"].shape == (9, 6)


BOXES = [
    {"cost": 0.1, "values": [0.0, 1.0], "probabilities": [0.5, 0.5]},
    {"cost": 0.05, "values": [0.2, 0.8], "probabilities": [0.3, 0.7]},
    {"cost": 0.15, "values": [0.1, 0.6, 0.9], "probabilities": [0.2, 0.4, 0.4], "openings": 2},
]


def test_the_exact_policy_is_the_one_of_the_command_line(program: Program, tmp_path: pathlib.Path) -> None:
    file = pathlib.Path(__file__).parents[2] / "examples/finite/three-boxes.toml"
    said = json.loads(program("oracle", "exact", file, "--format", "json"))
    found = pandora.solve_exactly(BOXES, uninspected=True)
    assert (found.value, found.weitzman) == (said["value"], said["weitzman"])
    assert (found.commit_or_search, found.committed) == (said["commit_or_search"]["value"], 2)
    assert said["commit_or_search"]["unopened"] == 3  # the command counts boxes from 1
    assert found.relaxation == said["relaxation"] >= found.value
    assert found.states["opened"].tolist() == [tuple(state["opened"]) for state in said["states"]]
    assert found.states["value"].tolist() == [state["value"] for state in said["states"]]
    assert found.states["action"][0] == "open" and said["states"][0]["next"] == "open box 1"
    assert np.isnan(found.states["best"][0]) and said["states"][0]["best"] is None


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"probabilities": [0.5, 0.4]}, "box 1: probabilities sum to 0.9"),
        ({"values": [1.0, 1.0]}, "box 1: a value stands there twice"),
        ({"values": [0.0, math.inf]}, "box 1: a value is not finite"),
        ({"values": [0.0]}, "box 1: has 1 values and 2 probabilities"),
        ({"cost": -0.1}, "box 1: cost is -0.1"),
        ({"openings": 0}, "box 1: openings is 0"),
        ({"openings": 2.5}, "for openings a whole one"),
        ({"cost": "dear"}, "give numbers"),
        ({"price": 1}, r"boxes\[0\]: give cost, values, probabilities"),
    ],
)
def test_what_is_no_law_is_refused(change: dict[str, Any], told: str) -> None:
    with pytest.raises(pandora.UsageError, match=told):
        pandora.solve_exactly([{**BOXES[0], **change}])
