"""Fits to tables with a known best cascade: evaluators, kinds, and bounds on seconds."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from trace_law import TraceLaw, by_hardness, holds

import pandora
from pandora.live import Members, RunningCascade, parse, text_of
from pandora.offline import api, frontier
from pandora.offline.judge import judge_cascade, judged_json, judged_sheet
from pandora.offline.kinds import Aim, AimKind, Candidate
from pandora.offline.leaks import suspected_leaks
from pandora.offline.options import FitSettings
from pandora.offline.policies import KINDS
from pandora.offline.sources.table import TableSource


def fit(trace: pandora.Trace, **given: Any) -> tuple[Any, list[pandora.Table], dict[str, Any]]:
    return api.fit(trace._table, **given)


def worth(cascade: Any, trace: pandora.Trace, **given: Any) -> Any:
    return judge_cascade(cascade, "c", trace._table, given.pop("against", None), **given).found.worth


# Evaluators.


def two_of_three(prefix: str = "p") -> pandora.Trace:
    """The small model is right on two of three prompts. The large one is always right and costs five times as much."""
    quality = np.column_stack([np.where(np.arange(300) % 3 == 0, 0.1, 1.0), np.ones(300)])
    usd, prompts = np.full((300, 2), [0.002, 0.01]), [f"{prefix}{k}" for k in range(300)]
    table = {"models": ["small", "large"], "quality": quality, "cost": usd, "scores": {"score": quality}}
    return pandora.Trace({**table, "prompts": prompts}, name="two of three")


def test_where_judging_is_said_to_be_free_the_verdict_says_what_it_may_cost() -> None:
    trace, given = two_of_three(), {"price": 10.0, "evaluator": "score", "kind": "thresholds"}
    cascade, _, record = fit(trace, **given)
    gone = (0.1 - 0.16 / 3.0) / (
        10.0 * 4.0 / 3.0
    )  # the gain 1 - 10 (0.002 + 0.01 / 3) - 0.9, by the price and 4/3 calls
    assert record["break_even_judge_usd"] == pytest.approx(gone) and record["judge_usd"] is None
    eyes = "; evaluator score: judging is taken to be free; at $0.0035 a call the gain is gone"
    assert record["verdict"].endswith(eyes) and judge_cascade(cascade, "c", trace._table).verdict.endswith(eyes)
    free, dear = (worth(cascade, trace, against="large", judge_usd=part * gone) for part in (0.999, 1.001))
    assert dear.gain.value < 0.0 < free.gain.value
    more = dear.usd_per_1000.value - worth(cascade, trace).usd_per_1000.value
    assert more == pytest.approx(1000.0 * 1.001 * gone * 4.0 / 3.0)  # every call of the cascade is judged
    # Fits to tables with other shares of hard prompts in each fold.
    below, above, nothing = (fit(trace, **given, judge_usd=part * gone)[2] for part in (0.9, 1.1, 0.0))
    assert below["kinds"]["thresholds"]["gain"]["value"] > 0.0 and above["choice"] == "best single"
    assert below["single"] == above["single"] == record["single"]  # a single model needs no judge
    assert below["verdict"].endswith("; evaluator score at $0.00315 a call")
    assert nothing["verdict"].endswith("; evaluator score at $0 a call")


def test_under_a_bound_a_judge_uses_up_the_saving_or_the_room() -> None:
    trace, given = two_of_three(), {"evaluator": "score", "kind": "thresholds"}
    cascade, _, record = fit(trace, min_quality=0.95, **given)
    gone = record["break_even_judge_usd"]
    assert gone == pytest.approx((0.01 - 0.016 / 3.0) * 0.75)
    assert record["verdict"].endswith("judging is taken to be free; at $0.0035 a call the gain is gone")
    saved = [worth(cascade, trace, against="large", judge_usd=part * gone).saving.value for part in (0.999, 1.001)]
    assert saved[1] < 0.0 < saved[0]
    record = fit(trace, max_usd=0.007, **given)[2]
    assert "at most 0.007 dollars per prompt is kept" in record["verdict"]
    assert record["bound"]["reached"] + record["break_even_judge_usd"] * 4.0 / 3.0 == pytest.approx(0.007)
    assert record["verdict"].endswith(" a call the room under the bound is gone")


def test_everything_names_the_evaluator_and_what_its_judge_costs() -> None:
    trace, eyes = two_of_three(), "evaluator score at $0.0002 a call"
    cascade, tables, record = fit(trace, price=10.0, evaluator="score", kind="thresholds", judge_usd=0.0002)
    judged = judge_cascade(cascade, "c", trace._table)
    for told in (*map(repr, tables), judged_sheet(judged).title, judged.verdict, record["verdict"]):
        assert eyes in " ".join(told.split())
    file = json.loads(text_of(cascade))
    for member in (file, file["about"], judged_json(judged), cascade.explain(cascade.begin(np.ones(1, "f4")))):
        assert member["evaluator"] == "score" and member.get("judge_usd", 0.0002) == 0.0002
    settings = FitSettings(Aim(AimKind.PRICE, 0.0), "score", (), "thresholds", 0.0002)
    found = frontier.frontier_of_tables(two_of_three("f")._table, trace._table, settings, [10.0])
    assert eyes in frontier.frontier_steps(found).title and frontier.frontier_numbers(found)["evaluator"] == eyes
    assert ",score,0.0002\nsingle," in frontier.frontier_csv(found)


def test_who_sees_the_truth_is_told_that_it_must_be_the_truth() -> None:
    trace, told = two_of_three(), []
    for evaluator, some in (("quality", trace), ("score", trace), ("quality", trace.select(["large"]))):
        told.append(fit(some, price=10.0, evaluator=evaluator, kind="thresholds")[0].caution())
    assert "`score` in observe must be the true quality" in told[0]
    assert told[1:] == ["", ""]  # a single model asks no judge


def test_judges_are_listed_as_they_are_asked_for() -> None:
    score = TraceLaw(0.4).draw(30, 1).scores["score"]

    def refused(*names: str) -> str:
        trace = TraceLaw(0.4).draw(30, 1, scores=dict.fromkeys(names, score))
        with pytest.raises(pandora.UsageError, match="no evaluator is given") as told:
            fit(trace, price=1.0)
        return str(told.value).partition("at run time: ")[2]

    yardstick = (
        ", and quality is a yardstick, a free and perfect judge that needs the truth at run time; give evaluator="
    )
    assert refused() == f'made up has no judge\'s score{yardstick}"quality" if the truth is known then'
    names = ("score", "score_2", "score:a", "gpt")
    assert refused(*names) == f'made up has score, score:2, score:a, score:gpt{yardstick}"score"'
    assert refused(*names[1:]).endswith('; give evaluator="score:2"')
    trace = TraceLaw(0.4).draw(30, 1, scores=dict.fromkeys(names, score))
    for judge in ("score", "score:2", "score:a", "score:gpt"):
        assert fit(trace, price=1.0, evaluator=judge, kind="thresholds")[2]["evaluator"] == judge
    for unknown in ("Quality", "judge", "scores", "noisy:0.5", "column:x"):
        with pytest.raises(pandora.UsageError, match="unknown; use quality"):
            fit(trace, price=1.0, evaluator=unknown)
    for lacking in ("score:", "score:other"):
        with pytest.raises(pandora.DataError, match="has no score"):
            fit(trace, price=1.0, evaluator=lacking)


# Kinds.


def test_a_kind_that_was_asked_for_is_given_and_that_it_does_not_pay_is_said() -> None:
    noise = TraceLaw(1.0).draw(500, 2)  # the score says nothing
    cascade, _, record = fit(noise, price=10.0, evaluator="score", kind="indices", forget=200.0, c=0.3)
    single = record["single"]["model"]
    assert (record["choice"], record["pays"], cascade.members.kind) == ("indices", False, "indices")
    assert "break_even_judge_usd" not in record
    assert record["verdict"].startswith(
        f"use indices of each prompt, as was asked for, although it is not sure to be better than {single} alone: gain "
    )
    for kind, notes in (("thresholds", []), ("auto", ["one model alone learns nothing"])):
        cascade, _, record = fit(noise, price=10.0, evaluator="score", kind=kind)
        assert record["choice"] == "best single" and [note[:30] for note in record["notes"]] == notes
        assert record["verdict"].startswith(
            f"use {single} alone: no cascade is better with this evaluator (score) at price 10: {record['cascade']} "
        )
        file = json.loads(text_of(cascade))
        assert (file["models"], file["thresholds"]) == ([single], [])
        judged = judge_cascade(cascade, "c", TraceLaw(1.0).draw(100, 3)._table)
        assert judged.against == single and judged.verdict.startswith(f"the cascade is {single} alone: ")
        assert judged.found.worth.gain == judged.found.worth.saving == (0.0, 0.0, 0.0)


def test_indices_that_are_no_better_leave_the_simpler_kind_and_models_are_those_that_it_calls() -> None:
    _, tables, record = fit(TraceLaw(0.4).draw(300, 3), price=10.0, evaluator="quality")
    assert (record["choice"], record["runner_up"]) == ("thresholds", "indices") and record["gain"]["low"] > 0.0
    assert "The choice is thresholds; the runner-up is indices. The difference indices - thresholds is " in " ".join(
        repr(tables[1]).split()
    )
    trace = TraceLaw(0.4).draw(500, 1).select(["small", "large", "medium"])
    cascade, _, record = fit(trace, price=60.0, evaluator="quality", kind="thresholds")
    file = json.loads(text_of(cascade))
    assert file["models"] == file["order"] == ["small", "medium"] and len(file["thresholds"]) == 1
    shares = {share["model"]: share for share in record["shares"]}
    assert shares[file["order"][0]]["called"] == 1.0 and shares.keys() == set(file["order"])


def sides(rows: int, seed: int, **more: Any) -> pandora.Trace:
    """A prompt's hardness, which is known before any call, decides which model it needs."""
    draw = np.random.default_rng(seed)
    hard = draw.integers(0, 2, rows).astype(float)
    quality = np.column_stack([0.9 - 0.8 * hard, np.full(rows, 0.9)]) + draw.uniform(-0.1, 0.1, (rows, 2))
    table = {"models": ["small", "large"], "quality": quality, "cost": np.full((rows, 2), [0.02, 0.03])}
    return pandora.Trace({**table, "columns": {"hardness": hard.tolist(), **more}}, name="hardness")


def test_indices_by_the_context_where_it_tells() -> None:
    given: dict[str, Any] = {"evaluator": "quality", "context": ["hardness"]}
    cascade, tables, record = fit(sides(300, 5), price=10.0, kind="indices", **given)
    assert record["pays"] and "indices from the prompt's features" in repr(tables[0])
    found = worth(cascade, sides(300, 6))
    assert found.gain.low > 0.0 and found.gain.value == pytest.approx(record["promise"]["gain"]["value"], abs=0.02)
    assert found.calls.value == pytest.approx(1.0, abs=0.05)  # it calls the right model at once
    again = parse(text_of(cascade), "again")
    assert worth(again, sides(300, 6)) == found
    record = fit(sides(300, 5), price=10.0, **given)[2]
    assert record["choice"] in ("router", "indices") and not record["notes"]
    record = fit(sides(200, 5), price=0.0, **given)[2]  # the better of both answers, whatever the context
    assert record["choice"] == "thresholds" and record["notes"][0].startswith("context: not used; ")


def test_indices_without_a_context_are_the_tables_marginal_ones() -> None:
    """A third of the answers has the quality 1 exactly, as judged answers do. Then indices are close to 1."""
    draw, rows = np.random.default_rng(5), 1700
    right, usd = draw.random((rows, 4)) < [0.29, 0.35, 0.4, 0.44], np.array([2e-5, 1e-4, 6e-4, 4e-3])
    quality = np.where(right, 1.0, 1.0 - 0.3 * draw.random((rows, 4)) ** 2)
    trace = pandora.Trace({"models": list("abcd"), "quality": quality, "cost": usd * draw.uniform(0.5, 1.5, (rows, 4))})
    for price in (5.0, 20.0, 50.0):
        cascade = fit(trace, price=price, evaluator="quality", kind="indices")[0]
        told = [model["score"] for model in cascade.explain(cascade.begin(np.ones(1, "f4")))["models"]]
        wanted = pandora.reservation_index(quality.T, price * trace.cost.mean(axis=0))
        assert told == pytest.approx(wanted.tolist(), abs=1e-3) and cascade.counts()["unsolved_refits"] == 0


def test_a_context_that_tells_the_best_model_is_suspected() -> None:
    trace = sides(200, 5)
    quality, usd = trace.quality, trace.cost
    best, cheap = quality[:, 1] > quality[:, 0], quality[:, 1] - 0.15 > quality[:, 0] - 0.1
    names = {"best_arm": np.array(trace.models)[best.astype(int)].tolist(), "best at price 5": cheap.astype(float)}
    table = sides(200, 5, **names, id=[str(k) for k in range(200)])._table  # ids, from which nothing can be learned
    assert suspected_leaks(table, ["hardness", "id", "text:8", "length"], quality, usd, 5.0) == []
    found = suspected_leaks(table, ["hardness", "best_arm", "raw:best at price 5"], quality, usd, 5.0)
    told = " tells the best model of 100.0% of the prompts (one model for all: "
    assert [of.partition(told)[0] for of in found] == ["context best_arm", "context best at price 5"]
    assert found[0].partition(told)[2].startswith(f"{100.0 * max(best.mean(), 1.0 - best.mean()):.1f}%): was it ")


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(pandora.DataError, match="made up: has 9 different prompts: too few"):
        fit(TraceLaw(0.4).draw(9, 12), price=1.0, evaluator="quality")
    table = TraceLaw(0.4).draw(30, 11)
    with pytest.raises(pandora.DataError, match="no text of prompts"):
        fit(table, price=1.0, evaluator="quality", context=["text:4"])
    with pytest.raises(pandora.UsageError, match="is given 2 numbers for each prompt, .* a table cannot test it"):
        pandora.Cascade.new(table.models, price=1.0, evaluator="score", psi=2).test(table)


@pytest.mark.parametrize("known", [1.0, 0.5])
def test_fits_look_at_no_rows_that_are_held_out(known: float) -> None:
    """Calibrations, features, orders and learners of some rows do not change if the other rows of the table change."""
    rows, prepared = np.arange(0, 300, 2), []
    unknown = np.random.default_rng(1).random((300, 2)) >= known
    words = [f"{('sum', 'poem', 'sea', 'proof')[k % 4]} {k}" for k in range(300)]
    for turned in (False, True):
        trace = by_hardness(300, 3)
        others = (np.arange(300) % 2 == 1) & turned
        quality, score = (np.where(others[:, None], 1.0 - of, of) for of in (trace.quality, trace.scores["score"]))
        columns = {
            "hardness": np.where(others, 5.0, trace.column("hardness")),
            "prompt": [f"other {k}" if other else word for k, (other, word) in enumerate(zip(others, words))],
        }
        table = {"models": trace.models, "quality": np.where(unknown, math.nan, quality)}
        table["cost"] = trace.cost * (1.0 + others[:, None])
        changed = pandora.Trace({**table, "scores": {"score": score}, "columns": columns})
        source = TableSource(changed._table, "score", ["hardness", "text:2"])
        prepared.append(source.prepare(rows))
    one, other = prepared
    np.testing.assert_array_equal(one.training.quality, other.training.quality)
    assert one.features is not None and other.features is not None
    assert one.outcomes.psi is not None and other.outcomes.psi is not None
    assert [of.to_json() for of in one.calibration] == [of.to_json() for of in other.calibration]
    assert one.features.json == other.features.json and not np.array_equal(one.outcomes.psi, other.outcomes.psi)
    for kind in ("thresholds", "router", "routed"):
        policies = [KINDS[kind].fit(of, Candidate(kind, 10.0), None) for of in prepared]
        first, second = (policy.walk(one.training) for policy in policies)
        np.testing.assert_array_equal(first.numbers, second.numbers)


# Routers.


def test_without_a_judge_the_context_is_worth_what_it_tells() -> None:
    trace, other = by_hardness(400, 22), by_hardness(400, 23, "t")
    cascade, _, record = fit(trace, price=10.0, evaluator="none", context=["hardness"])
    assert record["choice"] == "router" and list(record["kinds"]) == ["router"]
    assert record["promise"]["calls"]["value"] == 1.0 and "break_even_judge_usd" not in record
    assert "for each prompt, by its context, one of" in record["verdict"]
    assert record["verdict"].endswith("; no answer is judged")
    judged = judge_cascade(cascade, "c", other._table)
    assert judged.verdict.endswith("; no answer is judged") and judged.found.worth.calls.value == 1.0
    utility = judged.found.worth.utility
    assert judged.found.worth.gain.low > 0.0 and holds(record["promise"]["utility"], utility.value)
    # The best rule calls the large model from some hardness on.
    every, hard = other.quality - 10.0 * other.cost, other.column("hardness")
    best = max(np.where(hard >= k / 100, every[:, 1], every[:, 0]).mean() for k in range(101))
    assert utility.value == pytest.approx(best, abs=0.015)


def test_what_judging_costs_decides_which_kind_is_worth_most() -> None:
    trace, given = by_hardness(400, 24), {"price": 10.0, "context": ["hardness"]}
    assert fit(trace, evaluator="score", judge_usd=0.02, **given)[2]["choice"] == "router"
    record = fit(trace, evaluator="quality", **given)[2]
    assert record["cascade"] != "router" and list(record["kinds"]) == sorted(
        ("router", "thresholds", "indices", "routed")
    )
    settings = FitSettings(Aim(AimKind.PRICE, 0.0), "score", ("hardness",), "auto", 0.02)
    found = frontier.frontier_of_tables(trace._table, by_hardness(300, 25, "t")._table, settings, [10.0])
    assert (found.cascades[0].calls, frontier.frontier_json(found)["kind"]) == (1.0, "auto")
    assert " | " in found.cascades[0].name


def test_a_router_keeps_a_bound_on_dollars() -> None:
    given: dict[str, Any] = {"max_usd": 0.008, "evaluator": "none", "kind": "router", "context": ["hardness"]}
    cascade, _, record = fit(by_hardness(400, 26), **given)
    assert record["choice"] == "router" and record["bound"]["met"]
    judged = judge_cascade(cascade, "c", by_hardness(2000, 27, "t")._table)
    assert judged.found.worth.usd_per_1000.value <= 8.0
    assert judged.found.worth.quality.value > judged.found.alone.quality.value


# Latency.


def timed(unknown: Any = slice(0)) -> pandora.Trace:
    """The better a model is, the slower it is."""
    seconds = np.array([1.0, 2.0, 3.0]) + 0.01 * (np.arange(200) % 10)[:, None]
    seconds[unknown, 0] = math.nan
    return TraceLaw(0.0).draw(200, 5, latency=seconds)


def p95(cascade: Any, trace: pandora.Trace) -> float:
    latency = judge_cascade(cascade, "c", trace._table).found.latency
    assert latency is not None
    seconds: float = latency["p95"]
    return seconds


def test_what_is_deployed_keeps_a_bound_on_latency() -> None:
    trace, given = timed(), {"price": 0.001, "evaluator": "quality", "kind": "thresholds"}
    free, _, record = fit(trace, **given)
    assert p95(free, trace) > 4.5
    before = record["promise"]["quality"]["value"]
    for most in (20.0, 1.5):
        cascade, _, now = fit(trace, max_latency=most, **given)
        assert now["latency"]["most"] == most and max(now["latency"]["p95"], p95(cascade, trace)) <= most
        assert "calls in series take at most" in now["verdict"]
        quality = now["promise"]["quality"]["value"]
        assert quality == before if most == 20.0 else quality <= before + 0.02  # a tighter bound must not gain quality
        before = quality
    notes = fit(trace, max_latency=2.5, price=0.001, evaluator="quality")[2]["notes"]
    assert any(note.startswith("indices: not deployed; calls in series take") for note in notes)
    cascade, _, record = fit(trace, min_quality=0.999, max_latency=2.5, evaluator="quality", kind="thresholds")
    assert p95(cascade, trace) <= 2.5 and not record["bound"]["met"]  # only slower models would reach the bound
    seconds = np.array([0.4, 0.8, 1.6]) * np.random.default_rng(4).uniform(0.5, 1.5, (200, 3))
    record = fit(TraceLaw(0.0).draw(200, 9, latency=seconds), **{**given, "price": 1.0}, max_latency=2.0)[2]
    assert record["choice"] == "thresholds"  # the best order has a model that is too slow; a faster order is found
    with pytest.raises(pandora.UsageError, match=r"max_latency=0\.5: .* 1\.09 seconds; "):
        fit(trace, max_latency=0.5, **given)


def test_indices_and_latencies_that_are_not_known_count() -> None:
    given: dict[str, Any] = {"price": 0.001, "evaluator": "quality", "kind": "indices"}
    assert p95(fit(timed(), **given)[0], timed()) > 4.5
    with pytest.raises(
        pandora.UsageError, match="max_latency=4.5: no cascade keeps it.* at least that, another kind or f"
    ):
        fit(timed(), max_latency=4.5, **given)
    assert fit(timed(np.arange(200) % 7 == 0), max_latency=20.0, **given)[2]["latency"]["p95"] > 4.5


def test_seconds_of_a_test_are_of_calls_in_series_where_all_are_known() -> None:
    draw = np.random.default_rng(31)
    seconds = np.where(draw.random((200, 3)) < 0.1, math.nan, draw.uniform(0.0, 3.0, (200, 3)))
    trace = TraceLaw(0.3).draw(200, 31, latency=seconds)
    file = {"kind": "thresholds", "models": trace.models, "price": 1.0, "evaluator": "quality"}
    cascade = RunningCascade(Members.of_json({**file, "order": ["small", "large"], "thresholds": [0.5]}))
    found = judge_cascade(cascade, "c", trace._table, "medium").found.latency
    own = seconds[:, 0] + np.where(trace.quality[:, 0] < 0.5, seconds[:, 2], 0.0)
    known = ~np.isnan(own + seconds[:, 1])
    assert found is not None and 0 < known.sum() < 200
    for told, of, share in (
        (found["p50"], own, 0.5),
        (found["p95"], own, 0.95),
        (found["alone"]["p50"], seconds[:, 1], 0.5),
        (found["alone"]["p95"], seconds[:, 1], 0.95),
    ):  # at least this share of prompts takes at most so long
        assert np.mean(of[known] < told) < share <= np.mean(of[known] <= told)
    assert judge_cascade(cascade, "c", TraceLaw(0.3).draw(200, 31)._table, "medium").found.latency is None
