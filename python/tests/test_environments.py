"""Environments that are written in Python."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import pandora


class FreeSample(pandora.Environment):
    """The paper's model, but the first box costs next to nothing."""

    name = "free_sample"
    stream = 101

    def draw(self, request: pandora.ReplicationRequest) -> Mapping[str, Any]:
        drawn = request.model()
        drawn["cost"][:, 0] = 1e-6
        drawn["sigma"][:, 0] = 1.0  # so that the oracle opens it first
        return drawn


class Coins(pandora.Environment):
    """An environment with two outcomes. It gives no rewards, so they are drawn."""

    stream = 102

    def draw(self, request: pandora.ReplicationRequest) -> Mapping[str, Any]:
        random = self.generator(request)
        n, A = request.rows, request.boxes
        return {
            "psi": np.column_stack([np.ones(n), random.random((n, request.index_features - 1))]),
            "phi": random.random((n, A, request.reward_features)),
            "mu": random.choice([0.2, 0.8], (n, A)),
            "cost": np.full((n, A), 0.1),
            "sigma": np.full((n, A), 0.7),
        }


def test_an_environment_of_ones_own_runs_resumes_and_is_known_by_its_code(
    single: dict[str, Any], tmp_path: pathlib.Path
) -> None:
    study = {key: value for key, value in single.items() if key not in ("environments", "output")}
    r = pandora.run(study, out=tmp_path / "r", environments=[FreeSample, Coins()], progress=False)
    assert r.environments == ["free_sample", "Coins"]
    both = r.boxes("oracle", T0=0, environment=["free_sample", "Coins"])
    assert both.where(environment="free_sample", box=1)["queries_per_period"][0] == 1.0
    assert np.isfinite(r.regret("dow/known", environment="Coins", T0=0)).all()
    before = (tmp_path / "r" / "summary.csv").read_bytes()
    pandora.run(study, out=tmp_path / "r", environments=[FreeSample, Coins], progress=False)
    assert (tmp_path / "r" / "summary.csv").read_bytes() == before

    class Changed(FreeSample):
        def draw(self, request: pandora.ReplicationRequest) -> Mapping[str, Any]:
            return request.model()

    with pytest.raises(pandora.MismatchError, match=r"build\.environment\.free_sample"):
        pandora.run(study, out=tmp_path / "r", environments=[Changed, Coins], progress=False)


def test_streams_and_names_are_ones_own() -> None:
    from pandora.environment import register

    class Taken(Coins):
        name = "uniform"

    class Shared(Coins):
        name = "shared"
        stream = 1

    for environment, said in (
        (Taken, "the name is taken"),
        (Shared, "its stream 1 .in C.. its id. belongs to gaussian"),
    ):
        with pytest.raises(pandora.UsageError, match=said):
            register(environment)
