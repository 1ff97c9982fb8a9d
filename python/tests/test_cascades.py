"""Cascades: the numbers of the command line, and the object that runs."""

from __future__ import annotations

import json
import pathlib
import subprocess
import threading
from collections.abc import Sequence

import numpy as np
import pytest
from test_traces import long_file, made_up

import pandora


def test_fit_and_test_are_those_of_the_command_line(program: str, tmp_path: pathlib.Path) -> None:
    fitting, fresh = long_file(tmp_path / "a.jsonl", made_up(300, 3)), long_file(tmp_path / "b.jsonl", made_up(300, 4))
    cascade = pandora.Cascade.fit(pandora.Trace(fitting), price=20.0)
    file = tmp_path / "c.json"
    subprocess.run(
        [program, "cascade", "fit", fitting, "--price", "20", "--out", file], check=True, capture_output=True
    )
    test = subprocess.run(
        [program, "cascade", "test", file, fresh, "--format", "json"], check=True, capture_output=True
    )
    told = json.loads(test.stdout)
    of_file = pandora.Cascade.load(file)
    assert (cascade.kind, cascade.order, cascade.thresholds) == (of_file.kind, of_file.order, of_file.thresholds)
    tested = cascade.test(pandora.Trace(fresh))
    assert tested.verdict == told["verdict"]
    for name in ("quality", "usd_per_1000", "calls", "utility", "gain", "saving"):
        assert getattr(tested, name) == pandora.Interval(**{e: told[name][e] for e in ("value", "low", "high")})
    about = cascade.about
    assert about is not None and about["choice"] in ("thresholds", "indices", "best single")
    assert len(cascade.tables) > 2


def test_bounds_are_kept_and_told_apart() -> None:
    trace = pandora.Trace(made_up(300))
    cheap = pandora.Cascade.fit(trace, max_usd=0.004)
    assert cheap.test(trace).usd_per_1000.value < 4.5
    with pytest.raises(pandora.UsageError, match="one of price, max_usd and min_quality"):
        pandora.Cascade.fit(trace, price=1.0, max_usd=0.1)
    with pytest.raises(pandora.UsageError, match="kind"):
        pandora.Cascade.fit(trace, price=1.0, kind="greedy")


def test_frontier_has_cascades_models_and_mixtures() -> None:
    frontier = pandora.Cascade.frontier(
        pandora.Trace(made_up(150, 3)),
        pandora.Trace(
            {
                **made_up(150, 4),
                "prompts": [f"q{k}" for k in range(150)],
                "columns": {"prompt": [f"other {k}" for k in range(150)]},
            }
        ),
    )
    assert {"small", "middle", "large"} <= set(" ".join(map(str, frontier.points[frontier.points.columns[1]])).split())
    assert len(frontier.steps) >= 1


def serve(cascade: pandora.Cascade, requests: Sequence[int]) -> list[str]:
    deployed = []
    for k in requests:
        world = np.random.default_rng(k)
        with cascade.begin([1.0, world.uniform(-1, 1)]) as request:
            for _ in request:
                request.observe(dollars=0.01, score=float(world.random()))
        assert request.deployed is not None
        deployed.append(request.deployed)
        request.feedback(float(world.random()))
    return deployed


def learner() -> pandora.Cascade:
    return pandora.Cascade.new(["a", "b", "c"], price=2.0, evaluator="score", psi=2)


def test_a_cascade_that_runs_is_saved_and_goes_on(tmp_path: pathlib.Path) -> None:
    whole, first = learner(), learner()
    wanted = serve(whole, range(60))
    got = serve(first, range(30))
    first.save(tmp_path / "c.json")
    again = pandora.Cascade.load(tmp_path / "c.json")
    assert got + serve(again, range(30, 60)) == wanted
    whole.save(tmp_path / "w.json")
    again.save(tmp_path / "a.json")
    assert (tmp_path / "w.json").read_bytes() == (tmp_path / "a.json").read_bytes()
    assert whole.counts["requests"] == 60 and whole.counts["feedbacks"] == 60


def test_steps_out_of_turn_are_usage_errors() -> None:
    cascade = learner()
    request = cascade.begin([1.0, 0.5])
    with pytest.raises(pandora.UsageError, match="has called no model yet"):
        request.deploy()
    model = request.next()
    assert model is not None
    with pytest.raises(pandora.UsageError, match="score 2"):
        request.observe(dollars=0.01, score=2.0)
    with pytest.raises(pandora.UsageError, match="before the next model"):
        for _ in request:
            pass
    request.observe(dollars=0.01, score=0.5, model=model)
    assert request.explain()["calls"][0]["model"] == model
    with pytest.raises(pandora.UsageError, match="psi has 3 numbers"):
        cascade.begin([1.0, 0.0, 0.0])
    with pytest.raises(pandora.UsageError, match="there is no model d"):
        cascade.remove_model("d")
    with pytest.raises(pandora.DataError, match=r"absent\.json"):
        pandora.Cascade.load("absent.json")


def test_an_exception_in_a_request_deploys_nothing() -> None:
    cascade = learner()
    with pytest.raises(ZeroDivisionError), cascade.begin([1.0, 0.5]) as request:
        raise ZeroDivisionError
    assert request.deployed is None and cascade.counts["deployed"] == 0


def test_models_and_prices_change_while_it_runs() -> None:
    cascade = learner()
    serve(cascade, range(20))
    cascade.add_model("d")
    assert cascade.models == ["a", "b", "c", "d"]
    assert "d" in serve(cascade, range(20, 60))
    cascade.remove_model("d")
    assert "d" not in serve(cascade, range(60, 80))
    cascade.set_price(4.0)
    assert cascade.price == 4.0


def test_threads_share_a_cascade() -> None:
    cascade = learner()
    threads = [threading.Thread(target=serve, args=(cascade, range(50 * k, 50 * k + 50))) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cascade.counts["requests"] == 200 and cascade.counts["feedbacks"] == 200


def test_prompts_become_features() -> None:
    table = made_up(200)
    trace = pandora.Trace(table)
    cascade = pandora.Cascade.fit(trace, price=20.0, kind="indices", context=["size"])
    assert cascade.kind == "indices"
    assert cascade.context_of("", {"size": 3.0}).shape == (2,)
    request = cascade.begin("a prompt", {"size": 3.0})
    assert request.next() in trace.models
