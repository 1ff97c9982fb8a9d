"""Learning from many workers gives the same as learning from one process. Also a simulated service."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
from typing import Any

import numpy as np
import pytest

import pandora.serving
from pandora.live import RunningCascade, new_members
from pandora.live.explaining import decision_payload
from pandora.live.learning import Estimates
from pandora.serving.database import Row
from pandora.serving.learned import Learned

LONG = os.environ.get("PANDORA_DATABASE") == "all"  # a night allows long tests


def forgetful() -> RunningCascade:
    """A cascade that refits after every 20 requests, and whose samples lose weight."""
    return RunningCascade(new_members(["a", "b"], 1.0, "score", refit="every:20", forget=80.0))


def decided(cascade: RunningCascade) -> dict[str, Any]:
    """Runs a request by the cascade's own rules. Returns the payload of its decision."""
    number = cascade.begin([1.0])
    while (model := cascade.next(number)) is not None:
        cascade.observe(number, model, 0.01, [0.5 + 0.3 * (model == "b")])
    cascade.deploy(number)
    return decision_payload(cascade, cascade.request_of(number))


def learned_of(payloads: list[dict[str, Any]]) -> bytes:
    """The state after learning all rows."""
    learned = Learned.of_cascade(forgetful())
    for payload in payloads:
        row = Row(1, 1, 1, 0.0, "decision", payload["request"], json.dumps(payload), b"")
        learned.apply(row, lambda *_: None)
    return learned.saved()


def test_periods_are_counted_by_the_learner() -> None:
    worker = forgetful()
    worker.edition = 1
    payloads = [decided(worker) for _ in range(90)]
    of_many = [{**payload, "period": 20 * (k // 20)} for k, payload in enumerate(payloads)]
    assert learned_of(payloads) == learned_of(of_many)


def test_a_trial_does_not_begin_again_with_each_version() -> None:
    learned = Learned.of_cascade(forgetful())
    assert learned.learning is not None
    members = learned.members.with_model("c")
    learned.learning.add_model(members)
    estimates = Estimates(members, learned.learning.estimator.saved(False))
    worker = RunningCascade(members, estimates=estimates)
    worker.adopt(members, estimates, [0, 0, 0])
    worker.states.pop()  # the worker did not have the model before
    worker.adopt(members, estimates, [0, 0, 30])
    assert worker.states[2].trial == 30
    decided(worker)
    worker.adopt(members, estimates, [0, 0, 30])  # they were learned before that call
    assert worker.states[2].trial == 29
    worker.adopt(members, estimates, [0, 0, 12])  # calls of other workers
    assert worker.states[2].trial == 12


def simulation() -> Any:
    """The script tests/service/workers.py as a module."""
    file = pathlib.Path(__file__).resolve().parents[3] / "tests" / "service" / "workers.py"
    spec = importlib.util.spec_from_file_location("workers", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("policy", ["shrunk_weitzman", "dow"])
def test_many_workers_serve_as_well_as_one(policy: str) -> None:
    service, seeds, n = simulation(), 20 if LONG else 2, 4000 if LONG else 800
    runs = [service.utilities(policy, service.requests(seed, n, 0.5)) for seed in range(seeds)]
    for workers in ("8", "40"):
        less = [np.mean(run["1"] - run[workers]) for run in runs]
        assert np.mean(less) < (0.003 if LONG else 0.02)  # every worker tries the new model
        assert np.mean([np.mean(run["at once"] - run[workers]) for run in runs]) < (0.015 if LONG else 0.1)


def test_a_worker_that_opens_knows_which_models_are_on_trial(tmp_path: pathlib.Path) -> None:
    url = f"sqlite:///{tmp_path}/kept.db"
    with pandora.serving.open(url, pandora.Cascade.new(["a", "b"], price=1.0, evaluator="score")) as store:
        store.add_model("c")
        with pandora.serving.open(url, learns=False) as worker:
            assert [state.trial for state in worker._opened().states] == [0, 0, 30]


def test_a_rest_lasts_as_many_requests_of_all_workers() -> None:
    members = new_members(["a", "b"], 1.0, "score")
    learned = Learned.of_cascade(RunningCascade(members))
    assert learned.learning is not None
    worker = RunningCascade(members, estimates=Estimates(members, learned.learning.estimator.saved(False)))
    worker.rest("a")

    def calls_a() -> bool:
        return "a" in [call["model"] for call in decided(worker)["calls"]]

    assert not calls_a()
    worker.periods = max(worker.periods, 99)  # as a version sets it
    assert not calls_a() and calls_a()
