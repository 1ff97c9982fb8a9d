"""Tables of real models, if they are there (../shared/data beside the repository)."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from trace_law import holds

import pandora
from pandora.offline import api, check, frontier
from pandora.offline.judge import judge_cascade
from pandora.offline.kinds import Aim, AimKind
from pandora.offline.options import FitSettings
from pandora.offline.outcomes import Outcomes

FOLDER = Path(__file__).resolve().parents[4] / "shared" / "data" / "llm_traces"
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason=f"{FOLDER} is not here")


def read(name: str) -> pandora.Trace:
    return pandora.Trace(FOLDER / f"paretobandit_{name}.jsonl")


def fit(trace: pandora.Trace, **given: Any) -> Any:
    return api.fit(trace._table, **{"evaluator": "quality", "kind": "thresholds", **given})


def test_four_models_and_the_truth() -> None:
    val, test = read("val_k4"), read("test_k4")
    cascade, _, record = fit(val, price=20.0)
    judged = judge_cascade(cascade, "c", test._table)
    found = judged.found.worth
    # The fit is as good as a search in twenty lines over all orders of three models and a short list of thresholds.
    assert found.utility.value >= 0.9447 and found.gain.low > 0.0
    assert judged.verdict.startswith("the cascade is better than ")
    assert holds(record["promise"]["utility"], found.utility.value)
    dearest = judge_cascade(cascade, "c", test._table, "google/gemini-2.5-pro").found
    assert dearest.worth.saving.value == pytest.approx(0.944, abs=0.01)
    assert dearest.worth.quality.value - dearest.alone.quality.value == pytest.approx(0.029, abs=0.005)
    # Bounds hold on other prompts, and the allowed dollars are used.
    good, cheap = (fit(val, **bound)[::2] for bound in ({"min_quality": 0.95}, {"max_usd": 0.001}))
    assert good[1]["bound"]["met"] and cheap[1]["bound"]["met"]
    judged = judge_cascade(good[0], "c", test._table)
    assert judged.found.worth.quality.value >= 0.95 and "quality of at least 0.95 holds here" in judged.verdict
    found = judge_cascade(cheap[0], "c", test._table).found.worth
    assert 0.5 <= found.usd_per_1000.value <= 1.0 and found.quality.value >= 0.95
    # Every step of the frontier that calls more than one model lies above mixtures of models.
    settings = FitSettings(Aim(AimKind.PRICE, 0.0), "quality", kind="thresholds")
    drawn = frontier.frontier_of_tables(val._table, test._table, settings)
    steps = [drawn.cascades[number] for number in drawn.steps]
    assert len(steps) >= 5 and all(step.calls < 1.05 or step.above_mixture > 0.0 for step in steps)


def test_a_judge_that_is_cheaper_does_not_pay_and_promises_are_kept_by_the_same_eyes() -> None:
    val, test, best = read("judged_val_k3"), read("judged_test_k3"), "mistralai/mistral-large-2512"
    for trace, price in product((val, test), (5.0, 20.0)):
        record = fit(trace, price=price, evaluator="score")[2]
        assert (record["choice"], record["single"]["model"]) == ("best single", best)
        assert record["verdict"].startswith(f"use {best} alone: no cascade is better")
    assert fit(val, price=5.0)[2]["choice"] != "best single"
    for kind in ("thresholds", "auto"):
        cascade, _, record = fit(val, price=20.0, evaluator="score", kind=kind)
        assert holds(record["promise"]["utility"], judge_cascade(cascade, "c", test._table).found.worth.utility.value)
    cascade, _, record = fit(val, price=20.0)
    assert record["promise"]["utility"]["value"] == pytest.approx(0.9368, abs=5e-4)
    blind = judge_cascade(cascade, "c", test._table, None, "score").found.worth
    assert blind.utility.value == pytest.approx(0.8961, abs=5e-4) and blind.gain.high < 0.0  # a single model is better
    assert blind.utility.high < record["promise"]["utility"]["low"]


def test_what_routing_pays() -> None:
    """Another program found, in hindsight, the gain of the index policy over the best single model, and the bound on
    it.
    """
    trace = read("test_k4")
    found = check.check_table(trace._table, "quality", [5.0, 50.0])
    for h, gain, below in zip(found.headrooms, (0.033251734941, 0.023991464027), (0.008259190463, 0.020168634969)):
        quality, usd, _ = h.fitted.index.numbers(Outcomes(trace.quality, trace.quality, trace.cost)).mean(axis=1)
        assert quality - h.price * usd - h.single_in_hindsight.value == pytest.approx(gain, abs=1e-9)
        assert h.bound.utility.value - quality + h.price * usd == pytest.approx(below, abs=1e-9)
        assert h.index_policy.gain.value == pytest.approx(gain, abs=0.002)  # on other prompts than those of the fit
        assert h.fixed_cascade.utility.value >= h.index_policy.utility.value
    assert all(verdict.startswith("routing can pay up to") for verdict in found.verdicts)
    for name in ("judged_test_k3", "judged_val_k3"):
        table = read(name)._table
        judged, truth = (check.check_table(table, evaluator, [5.0]) for evaluator in ("score", "quality"))
        assert judged.verdicts[0].startswith("no cascade is better than mistralai/mistral-large-2512")
        assert truth.headrooms[0].pays
        if name == "judged_test_k3":  # another program measured this, with indices from other prompts
            assert judged.headrooms[0].index_policy.utility.value == pytest.approx(0.9176, abs=0.003)
            assert judged.headrooms[0].best_single.utility.value == pytest.approx(0.9197, abs=1e-4)
