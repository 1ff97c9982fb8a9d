"""What the examples in docstrings use: `example`, a folder of results, and `tmp`, a folder of their own."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _names(request: pytest.FixtureRequest, doctest_namespace: dict[str, Any], tmp_path: pathlib.Path) -> None:
    if type(request.node).__name__ != "DoctestItem":
        return
    import pandora

    doctest_namespace["tmp"] = tmp_path
    if "example" in request.node.dtest.docstring:
        study = {
            "replications": 4,
            "periods": 100,
            "T0": [0],
            "environments": ["uniform"],
            "regimes": ["A"],
            "policies": ["online_plugin", "dow"],
            "hyperparameters": {"c_rho": [0.1], "c_theta": [0.1]},
            "oracle": {"samples": 2000},
            "output": {"order": False},
        }
        pandora.run(study, out=tmp_path / "example", progress=False)
        doctest_namespace["example"] = str(tmp_path / "example")
    import numpy as np

    doctest_namespace["np"] = np
