"""Cascades: the numbers of the command line, and the object that runs."""

from __future__ import annotations

import json
import pathlib
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from test_traces import long_file, made_up

import pandora
from conftest import Program


def test_fit_and_test_are_those_of_the_command_line(
    program: Program, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PANDORA_PYTHON", sys.executable)
    fitting, fresh = long_file(tmp_path / "a.jsonl", made_up(300, 3)), long_file(tmp_path / "b.jsonl", made_up(300, 4))
    cascade = pandora.Cascade.fit(pandora.Trace(fitting), price=20.0, evaluator="score", judge_usd=1e-5)
    file = tmp_path / "c.json"
    told_to = ["--price", "20", "--evaluator", "score", "--judge-usd", "1e-5", "--out", str(file)]
    program("cascade", "fit", fitting, *told_to)
    told = json.loads(program("cascade", "test", file, fresh, "--format", "json"))
    of_file, about = pandora.Cascade.load(file), cascade.about
    assert (cascade.kind, cascade.order, cascade.thresholds) == (of_file.kind, of_file.order, of_file.thresholds)
    tested = cascade.test(pandora.Trace(fresh))
    assert tested.verdict == told["verdict"]
    for name in ("quality", "usd_per_1000", "calls", "utility", "gain", "saving"):
        assert getattr(tested, name) == pandora.Interval(**{e: told[name][e] for e in ("value", "low", "high")})
    assert about is not None and about == of_file.about
    assert about["judge_usd"] == 1e-5 and len(cascade.tables) == 2


def test_bounds_are_kept_and_told_apart() -> None:
    trace = pandora.Trace(made_up(300))
    cheap = pandora.Cascade.fit(trace, max_usd=0.004, evaluator="quality")
    assert cheap.test(trace).usd_per_1000.value < 4.5
    table = made_up(300)
    with pytest.raises(pandora.Error, match="has no latencies; give a column .* leave out max_latency"):
        pandora.Cascade.fit(trace, price=0.0, max_latency=2.5, evaluator="quality")
    timed = pandora.Trace({**table, "latency": np.tile([1.0, 2.0, 3.0], (300, 1))})
    quick = pandora.Cascade.fit(timed, price=0.0, max_latency=2.5, evaluator="quality")
    assert quick.about is not None and quick.about["latency"] == {"most": 2.5, "p95": 2.0}
    assert "max_latency=0.5: no cascade keeps it" in refusal(
        lambda: pandora.Cascade.fit(timed, price=0.0, max_latency=0.5, evaluator="quality")
    )
    with pytest.raises(pandora.UsageError, match="one of price, max_usd and min_quality"):
        pandora.Cascade.fit(trace, price=1.0, max_usd=0.1)
    with pytest.raises(pandora.UsageError, match="kind"):
        pandora.Cascade.fit(trace, price=1.0, evaluator="quality", kind="greedy")


def refusal(call: Callable[[], Any]) -> str:
    with pytest.raises(pandora.UsageError) as raised:
        call()
    return str(raised.value)


def test_the_evaluator_must_be_given_and_the_judges_of_the_table_are_named() -> None:
    trace = pandora.Trace(made_up(50), name="t")
    wanted = (
        "no evaluator is given, which says what is seen of an answer at run time: t has score, and quality is a "
        'yardstick, a free and perfect judge that needs the truth at run time; give evaluator="score"'
    )
    assert refusal(lambda: pandora.Cascade.fit(trace, price=1.0)) == wanted
    other = pandora.Trace({**made_up(50), "columns": {"prompt": [f"other {k}" for k in range(50)]}})
    assert refusal(lambda: pandora.Cascade.frontier(trace, other)) == wanted
    new = refusal(lambda: pandora.Cascade.new(["a"], price=1.0))
    assert "no evaluator is given" in new and "score and score:NAME are judges'" in new


def test_errors_name_arguments() -> None:
    trace = pandora.Trace(made_up(50))
    many = pandora.Trace(
        {"models": [f"m{k}" for k in range(17)], "quality": np.ones((20, 17)), "cost": np.ones((20, 17))}
    )
    fit = pandora.Cascade.fit
    told = [
        (lambda: fit(trace, price=-1.0, evaluator="score"), "price=-1: out of range"),
        (lambda: fit(trace, max_usd=4.0, evaluator="score"), "per 1,000 prompts give max_usd=0.004, for none price=0"),
        (lambda: fit(trace, price=1.0, evaluator="score", judge_usd=-1.0), "judge_usd=-1: out of range"),
        (lambda: fit(trace, price=1.0, evaluator="score").test(trace, judge_usd=-1.0), "judge_usd=-1: out of range"),
    ]
    for call, part in told:
        text = refusal(call)
        assert part in text and "--" not in text
    with pytest.raises(pandora.DataError, match=r"name those \(models\): m0,m1,"):
        fit(many, price=1.0, evaluator="quality")
    with pytest.raises(pandora.DataError, match="name one of the table's with against$"):
        fit(trace, price=1.0, evaluator="score").test(trace, against="huge")


def test_a_test_sees_with_other_eyes() -> None:
    trace, fresh = pandora.Trace(made_up(300, 3)), pandora.Trace(made_up(300, 4))
    cascade = pandora.Cascade.fit(trace, price=20.0, evaluator="quality", kind="thresholds")
    own, judged = cascade.test(fresh), cascade.test(fresh, evaluator="score", judge_usd=1e-5)
    assert cascade.evaluator == own.values["evaluator"] == "quality" and own.values["judge_usd"] is None
    assert "judging is taken to be free" in own.verdict
    assert judged.verdict.endswith("evaluator score at $1e-05 a call")
    assert judged.utility.value < own.utility.value


def test_begin_warns_once_where_scores_must_be_the_truth() -> None:
    cascade = pandora.Cascade.fit(pandora.Trace(made_up(300)), price=20.0, evaluator="quality", kind="thresholds")
    cascade.test(pandora.Trace(made_up(300, 4)))  # it sees the values for which it was made, so there is no warning
    with pytest.warns(pandora.PandoraWarning, match="`score` in observe must be the true quality") as told:
        cascade.begin([1.0])
        cascade.begin([1.0])
    assert len(told) == 1 and told[0].filename == __file__
    with pytest.raises(pandora.UsageError, match="fit again with price$"):
        cascade.set_price(2.0)
    learner().begin([1.0, 0.5])  # with a judge there is no warning, which would be an error here


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
        evaluator="quality",
    )
    assert {"small", "middle", "large"} <= set(" ".join(map(str, frontier.points[frontier.points.columns[1]])).split())
    assert len(frontier.steps) >= 1
    assert {"aiq", "apgr", "cost_save", "oracle_gap"} <= set(frontier.metrics)
    assert frontier.weak == "small" and frontier.strong in ("small", "middle", "large")
    aiq = frontier.metrics["aiq"]
    assert 0 < aiq.low <= aiq.value <= aiq.high <= 1
    assert "utility per dollar" in frontier.figure._found["title"]
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    axes = frontier.plot().axes[0]
    assert {text.get_text() for text in axes.texts} == {str(k + 1) for k in range(len(frontier.steps))}


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


def test_what_was_observed_is_booked_to_the_model_that_was_named() -> None:
    cascade = learner()
    request = cascade.begin([1.0, 0.5])
    with pytest.raises(pandora.UsageError, match=r"call next\(\), which names the model to call, before observe"):
        request.observe(dollars=0.01, score=0.1)
    first = request.next()
    with pytest.raises(pandora.UsageError, match="score 2"):
        request.observe(dollars=0.01, score=2.0)
    request.observe(dollars=0.01, score=0.1)
    second = cascade.request(request.number).next()
    assert second is not None
    with pytest.raises(pandora.UsageError, match="before observe"):
        request.observe(dollars=0.01, score=0.1)
    assert [call["model"] for call in request.explain()["calls"]] == [first]
    request.observe(dollars=0.01, score=0.1, model=second)
    assert [call["model"] for call in request.explain()["calls"]] == [first, second]
    done = cascade.begin([1.0, 0.5])
    for _ in done:
        done.observe(dollars=0.01, score=True)
    with pytest.raises(pandora.UsageError, match="calls no further model; deploy it"):
        done.observe(dollars=0.01, score=0.1)


def test_a_model_that_was_removed_when_its_answer_comes_is_told() -> None:
    cascade = learner()
    request = cascade.begin([1.0, 0.5])
    named = request.next()
    assert named is not None
    cascade.remove_model(named)
    with pytest.raises(pandora.UsageError, match=f"model {named} is not the one to call next"):
        request.observe(dollars=0.01, score=0.5)
    assert request.explain()["calls"] == []


def test_arguments_of_another_type_are_usage_errors(tmp_path: pathlib.Path) -> None:
    cascade, trace = learner(), pandora.Trace(made_up(50))
    anything: Any = pandora.Cascade
    live: Any = cascade
    refused: list[tuple[Callable[[], Any], str]] = [
        (lambda: anything("c.json"), "Cascade.fit, Cascade.load or Cascade.new"),
        (lambda: anything.new("abc", price=1.0), "models 'abc': give a list of texts"),
        (lambda: anything.new([1, 2], price=1.0), "models 1: give a text"),
        (lambda: anything.new(["a", "\ud800"], price=1.0), "surrogate pair"),
        (lambda: anything.new(["a"], price="1"), "price '1': give a number"),
        (lambda: anything.new(["a"], price=True), "price True: give a number"),
        (lambda: anything.new(["a"], price=1.0, psi=1.5), "psi 1.5: give a whole number"),
        (lambda: anything.new(["a"], price=1.0, most_samples=2**40), "most_samples 1099511627776: give a whole"),
        (lambda: anything.new(["a"], price=1.0, features=5), "features 5: give Features, or JSON"),
        (lambda: anything.load(5), "path 5: give the path of a file"),
        (lambda: anything.fit(trace, price="1"), "price '1': give a number"),
        (lambda: anything.fit(trace, price=1.0, context=5), "context 5: give a list of texts"),
        (lambda: anything.fit(trace, price=1.0, kind=None), "kind None: give a text"),
        (lambda: anything.frontier(trace, trace, prices="1"), "prices '1': give a number"),
        (lambda: live.save(5), "path 5: give the path of a file"),
        (lambda: live.add_model(5), "name 5: give a text"),
        (lambda: live.remove_model(5), "name 5: give a text"),
        (lambda: live.set_price("1"), "price '1': give a number"),
        (lambda: live.set_learning("off"), "on 'off': give True or False"),
        (lambda: live.request(-1), "number -1: give a whole number"),
        (lambda: live.test(trace, against=5), "against 5: give a text"),
        (lambda: live.begin(None), "psi None: give a list of numbers"),
        (lambda: live.begin(["1", "2"]), "psi .*: give a list of numbers"),
        (lambda: live.begin([[1.0, 2.0]]), "psi .*: give a list of numbers"),
        (lambda: live.begin("\ud800"), "prompt .*surrogate pair"),
        (lambda: live.begin("a", {"size": {}}), "column size {}: give a number, a text or a list of numbers"),
        (lambda: live.begin("a", 5), "columns 5: give a dict"),
        (lambda: live.begin([1.0, 0.0]).observe("1", 0.5, model="a"), "dollars '1': give a number"),
        (lambda: live.begin([1.0, 0.0]).observe(0.1, "1", model="a"), "score '1': give a number"),
        (lambda: live.begin([1.0, 0.0]).observe(0.1, 0.5, model=1), "model 1: give a text"),
        (lambda: live.begin([1.0, 0.0]).feedback(None), "quality None: give a number"),
        (lambda: live.calibrate("1", [1.0, 0.0], "a", 0.1, 0.5), "period '1': give a whole number"),
    ]
    for call, told in refused:
        with pytest.raises(pandora.UsageError, match=told):
            call()


def test_a_context_that_is_not_used_or_known_too_late_is_told() -> None:
    table: dict[str, Any] = dict(made_up(200))
    best = [max(range(len(row)), key=lambda m: row[m]) for row in table["quality"]]
    trace = pandora.Trace({**table, "columns": {**table["columns"], "best_arm": best}})
    with pytest.raises(pandora.UsageError, match="thresholds do not use it"):
        pandora.Cascade.fit(trace, price=20.0, evaluator="quality", kind="thresholds", context=["best_arm"])
    about = pandora.Cascade.fit(trace, price=20.0, evaluator="quality", kind="indices", context=["best_arm"]).about
    assert about is not None and "best_arm tells the best model of 100.0%" in about["notes"][-1]


def test_a_context_may_be_one_text_and_numbers_those_of_numpy() -> None:
    trace = pandora.Trace(made_up(200))
    cascade = pandora.Cascade.fit(trace, price=np.float32(20), evaluator="score", kind="indices", context="size")  # type: ignore[arg-type]
    assert cascade.context_of("", {"size": np.float32(3)}).shape == (2,)
    request = cascade.begin("a prompt", {"size": np.int64(3)})
    assert request.next() is not None
    request.observe(dollars=np.float32(0.5), score=np.float32(0.5))  # type: ignore[arg-type]
    assert request.explain()["calls"][0]["dollars"] == 0.5


def test_a_router_calls_one_model_and_needs_no_score() -> None:
    trace = pandora.Trace(made_up(300))
    cascade = pandora.Cascade.fit(trace, price=20.0, evaluator="none", kind="auto", context="size")
    about = cascade.about
    assert about is not None and list(about["kinds"]) == ["router"]
    with cascade.begin("", {"size": 1.0}) if cascade.kind == "router" else cascade.begin() as request:
        assert not request.needs_score
        for _ in request:
            request.observe(dollars=0.1)
    assert request.deployed in trace.models and request.explain()["calls"][0]["quality"] is None
    routed = pandora.Cascade.fit(trace, price=20.0, evaluator="score", kind="routed", context="size", judge_usd=1e-5)
    assert routed.about is not None and routed.about["cascade"] == "routed"
    with pytest.raises(pandora.UsageError, match="give --context|give context"):
        pandora.Cascade.fit(trace, price=20.0, evaluator="none", kind="router")


def test_an_exception_in_a_request_deploys_nothing() -> None:
    cascade = learner()
    with pytest.raises(ZeroDivisionError), cascade.begin([1.0, 0.5]) as request:
        raise ZeroDivisionError
    assert request.deployed is None and cascade.counts["deployed"] == 0
    assert cascade.counts["cancelled"] == 1
    with pytest.raises(pandora.UsageError, match="forgotten"):
        request.deploy()


def test_a_call_that_fails_is_passed_over() -> None:
    cascade = learner()
    with cascade.begin([1.0, 0.5]) as request:
        called = []
        for model in request:
            called.append(model)
            if len(called) == 1:
                request.fail("time-out", dollars=0.25)
            elif len(called) == 2:
                request.skip()
            else:
                request.observe(dollars=0.5, score=0.5)
    assert len(set(called)) == len(called) == 3 and request.deployed == called[2]
    counts = cascade.counts
    assert (counts["failures"], counts["calls"], counts["dollars"]) == (1, 1, 0.75)
    request = cascade.begin([1.0, 0.5])
    for _ in request:
        request.fail()
    with pytest.raises(pandora.UsageError, match="has failed or was skipped; cancel it"):
        request.deploy()
    request.cancel()
    with pytest.raises(pandora.UsageError, match="next\\(\\)"):
        cascade.begin([1.0, 0.5]).fail()


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


def test_what_features_need_is_asked_for() -> None:
    cascade = pandora.Cascade.fit(
        pandora.Trace(made_up(200)), price=20.0, evaluator="score", kind="indices", context=["size"]
    )
    with pytest.raises(
        pandora.UsageError, match=r"made of the column size; give it \(a value that is not known: None\)$"
    ):
        cascade.begin()
    assert cascade.begin("", {"size": None}).next() is not None
    messages: Any = [{"role": "user", "content": "What is 2 + 2?"}]
    for prompt in (messages, messages[0]):
        with pytest.raises(pandora.UsageError, match=r"is chat messages.*give a text, such as messages\[-1\]"):
            cascade.begin(prompt)
    assert cascade.counts["requests"] == 1


def test_a_test_leaves_a_cascade_as_it_was(tmp_path: pathlib.Path) -> None:
    trace = pandora.Trace(made_up(200))
    cascade = pandora.Cascade.fit(trace, price=20.0, evaluator="score")
    request = cascade.begin()
    cascade.save(tmp_path / "before.json")
    assert cascade.test(trace).verdict == cascade.test(trace).verdict
    cascade.save(tmp_path / "after.json")
    assert (tmp_path / "before.json").read_bytes() == (tmp_path / "after.json").read_bytes()
    assert request.next() is not None and cascade.begin().number == request.number + 1


def test_a_list_of_features_is_no_text_with_commas() -> None:
    with pytest.raises(pandora.UsageError, match=r"context 'text:16,topic': give a list, \['text:16', 'topic'\]"):
        pandora.Cascade.fit(pandora.Trace(made_up(50)), price=1.0, evaluator="quality", context="text:16,topic")


def test_a_request_shows_its_number_and_what_was_deployed() -> None:
    cascade = pandora.Cascade.new(["a", "b"], price=1.0, evaluator="score")
    with cascade.begin([1.0]) as request:
        assert repr(request) == f"<pandora.Request {request.number}>"
        for _ in request:
            request.observe(dollars=0.01, score=0.9)
    assert repr(request).endswith(f", deployed {request.deployed}>")
