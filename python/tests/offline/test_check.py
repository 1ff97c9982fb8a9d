"""The content of a table and the gain of routing, compared with loops and with cases by hand."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from pandora import DataError, Trace, UsageError, reservation_index
from pandora.offline import check, identified
from pandora.offline.check import ModelIndices, calibrated_by_fold, check_json, check_sheets, check_table
from pandora.offline.groups import Groups
from pandora.offline.outcomes import Outcomes
from pandora.offline.policies.order import Order
from pandora.offline.sources.table import TableSource

Floats = npt.NDArray[np.float64]


def table_of(seed: int = 1, rows: int = 200, models: int = 3, share: float = 1.0, **more: Any) -> Any:
    """A table with a judge that knows something and prompts of unequal difficulty. A share of the qualities is
    known.
    """
    draw = np.random.default_rng(seed)
    hard = draw.normal(size=(rows, 1))
    quality = (hard + draw.normal(size=(rows, models)) < np.linspace(0.0, 1.5, models)).astype(float)
    usd = 0.0005 * np.minimum(4.0 ** np.arange(models), 1e3) * draw.uniform(0.5, 1.5, (rows, models))
    score = np.round(np.clip(0.5 * quality + 0.25 + 0.2 * draw.normal(size=quality.shape), 0.0, 1.0), 2)
    known = np.where(draw.random(quality.shape) < share, quality, np.nan)
    given = {"models": [f"m{m}" for m in range(models)], "quality": known, "cost": usd, "scores": {"score": score}}
    return Trace({**given, **more})._table


def test_correlations_are_pearsons() -> None:
    draw = np.random.default_rng(3)
    a, b = draw.random(50), draw.random(50)
    assert check.correlation(a, b) == pytest.approx(np.corrcoef(a, b)[0, 1])
    holes = np.where(draw.random(50) < 0.3, math.nan, b)
    some = ~np.isnan(holes)
    assert check.correlation(a, holes) == pytest.approx(np.corrcoef(a[some], b[some])[0, 1])
    assert math.isnan(check.correlation(a, np.ones(50)))
    assert math.isnan(check.correlation(a, np.full(50, math.nan)))


def isotonic(x: Floats, y: Floats, at: float) -> float:
    """The nondecreasing fit at an observed score: max over a <= at of min over b >= at of the means of y in [a, b]."""
    means = [
        min(float(y[(x >= a) & (x <= b)].mean()) for b in np.unique(x) if b >= at) for a in np.unique(x) if a <= at
    ]
    return max(means)


def test_explained_variance_is_of_prompts_that_were_not_calibrated_on() -> None:
    table = table_of(4, 60, 2)
    groups, quality, score = Groups.of_table(table), table.quality(), np.round(table.score("score"), 1)
    table = Trace({"models": ["a", "b"], "quality": quality, "cost": table.cost(), "scores": {"score": score}})._table
    facts = check.table_facts(table, groups)["judges"][0]
    fold, totals = groups.folds, np.zeros((2, 2))
    for row, model in np.ndindex(quality.shape):
        others = fold != fold[row]
        x, y, s = score[others, model], quality[others, model], score[row, model]
        below, above = x[x <= s], x[x >= s]
        if not len(below) or not len(above):
            seen = isotonic(x, y, x.min() if not len(below) else x.max())
        else:  # linear between two observed scores
            low, high = below.max(), above.min()
            part = (s - low) / (high - low) if high > low else 0.0
            seen = (1.0 - part) * isotonic(x, y, low) + part * isotonic(x, y, high)
        totals[model] += (quality[row, model] - y.mean()) ** 2, (quality[row, model] - seen) ** 2
    for model in range(2):
        assert facts["models"][model]["explained"] == pytest.approx(1.0 - totals[model, 1] / totals[model, 0])
    assert facts["explained"] == pytest.approx(1.0 - totals[:, 1].sum() / totals[:, 0].sum())
    assert facts["correlation"] == pytest.approx(np.corrcoef(score.ravel(), quality.ravel())[0, 1])


def test_tenths_of_scores() -> None:
    score = np.array([[0.0, 0.1], [0.1, 0.95], [1.0, 0.99]])
    quality = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.5]])
    table = Trace(
        {"models": ["a", "b"], "quality": quality, "cost": np.ones((3, 2)), "scores": {"score": score}}
    )._table
    facts = check.table_facts(table, Groups.of_table(table))["judges"][0]
    assert [tenth["answers"] for tenth in facts["tenths"]] == [1, 2, 0, 0, 0, 0, 0, 0, 0, 3]
    assert facts["tenths"][9]["score"] == pytest.approx((0.95 + 1.0 + 0.99) / 3)
    assert [facts["tenths"][k]["quality"] for k in (0, 1, 9)] == pytest.approx([0.0, 0.5, 2.5 / 3])
    assert math.isnan(facts["tenths"][5]["quality"])


def test_calibrations_are_those_of_the_rows_outside_the_fold() -> None:
    from pandora.offline.learners.isotonic import IsotonicMap

    table = table_of(6, 90)
    quality, score, fold = table.quality(), table.score("score"), np.arange(90) % 4
    quality[::7, 1] = math.nan
    found = calibrated_by_fold(score, quality, fold, 4)
    for without in range(5):
        for model in range(3):
            rows = (fold != without) & ~np.isnan(quality[:, model])
            whole = IsotonicMap.fit(score[rows, model], quality[rows, model])
            assert found[without][:, model] == pytest.approx(whole(score[:, model]))


def test_index_policy_walks_until_the_best_reaches_the_next_index() -> None:
    draw = np.random.default_rng(7)
    seen, quality = np.round(draw.random((50, 4)), 1), draw.random((50, 4))
    usd = draw.random((50, 4))
    policy = ModelIndices((2, 0, 3, 1), (0.9, 0.7, 0.6, 0.3))
    found = policy.numbers(Outcomes(seen, quality, usd))
    for row in range(50):
        best, worth, spent, calls = -1.0, 0.0, 0.0, 0
        for position, model in enumerate(policy.order):
            if position > 0 and best >= policy.indices[position]:
                break
            spent, calls = spent + usd[row, model], calls + 1
            if seen[row, model] > best:
                best, worth = seen[row, model], quality[row, model]
        assert found[:, row].tolist() == pytest.approx([worth, spent, calls])


def test_indices_of_models_in_their_order() -> None:
    seen = np.array([[0.2, 1.0, 0.5], [0.4, 0.0, 0.5]])
    usd = np.array([[0.1, 0.1, 0.0], [0.1, 0.3, 0.0]])
    found = ModelIndices.fit(seen, usd, 1.0)
    assert found.order == (1, 2, 0)  # the indices: from (1 - s) / 2 = 0.2; the value itself; 0.3 - 0.1
    assert found.indices == pytest.approx((0.6, 0.5, 0.2))


def test_a_reservation_index_solves_its_equation() -> None:
    draw = np.random.default_rng(3)
    for table in range(100):
        values, cost = draw.integers(0, 6, draw.integers(1, 21)) / 5.0, draw.uniform(1e-3, 2.0 if table % 2 else 0.2)
        sigma = float(reservation_index(values, cost))
        assert np.maximum(values - sigma, 0.0).mean() == pytest.approx(cost)
    assert float(reservation_index([0.3, 0.9, 0.6], 0.0)) == pytest.approx(0.9)


@pytest.mark.parametrize("evaluator", ["quality", "score"])
def test_headroom_by_loops(evaluator: str) -> None:
    """The fits of folds are taken as they are. The test walks them again, prompt by prompt, and counts."""
    table, price = table_of(8, 150), 40.0
    h = check_table(table, evaluator, [price]).headrooms[0]
    quality, usd, groups = table.quality(), table.cost(), Groups.of_table(table)
    worth, fold = quality - price * usd, groups.folds
    single = [int(np.argmax(worth[fold != f].mean(axis=0))) for f in range(5)]
    alone = np.array([worth[row, single[fold[row]]] for row in range(150)])
    assert h.best_single.utility.value == pytest.approx(alone.mean())
    error = alone.std(ddof=1) / math.sqrt(150)
    assert h.best_single.utility.high - h.best_single.utility.value == pytest.approx(1.9760132 * error, rel=1e-6)
    best = worth.max(axis=1)
    assert h.bound.utility.value == pytest.approx(best.mean())
    gain = best - alone
    assert h.bound.gain.value == pytest.approx(gain.mean())
    wide = math.sqrt(1.0 + 5.0 / 4.0) * 1.9760132 * gain.std(ddof=1) / math.sqrt(150)
    assert h.bound.gain.high - h.bound.gain.value == pytest.approx(wide, rel=1e-6)
    assert h.bound.calls.value == 1.0 and h.best_single.calls.value == 1.0
    seen = quality if evaluator == "quality" else calibrated_by_fold(table.score("score"), quality, fold, 5)[5]
    index = [float(reservation_index(seen[:, m], price * usd[:, m].mean())) for m in range(3)]
    assert h.fitted.index.indices == pytest.approx(sorted(index, reverse=True))
    assert h.fitted.single == int(np.argmax(worth.mean(axis=0)))
    assert h.single_in_hindsight.value == pytest.approx(worth.mean(axis=0).max())
    best_of_two = max(h.fixed_cascade.utility.value, h.index_policy.utility.value)
    assert h.routing_gain.value <= best_of_two - alone.mean() + 1e-12
    assert h.by_cascade == (h.fixed_cascade.utility.value > h.index_policy.utility.value)


def test_policies_of_folds_saw_the_other_folds_alone() -> None:
    table, price = table_of(21, 60), 60.0
    h = check_table(table, "score", [price]).headrooms[0]
    quality, usd, fold = table.quality(), table.cost(), Groups.of_table(table).folds
    seen = calibrated_by_fold(table.score("score"), quality, fold, 5)
    numbers = np.empty((3, 3, 60))
    for f in range(5):
        outcomes, held = Outcomes(seen[f], quality, usd), np.flatnonzero(fold == f)
        fit, others = check.FoldFit.on(outcomes.take(np.flatnonzero(fold != f)), price), outcomes.take(held)
        for k, policy in enumerate((Order((fit.single,)), fit.cascade)):
            numbers[k][:, held] = policy.walk(others).numbers
        numbers[2][:, held] = fit.index.numbers(others)
    for worth, of in zip((h.best_single, h.fixed_cascade, h.index_policy), numbers):
        assert worth.quality.value == pytest.approx(of[0].mean())
        assert worth.usd_per_1000.value == pytest.approx(1000.0 * of[1].mean())
        assert worth.calls.value == pytest.approx(of[2].mean())
    whole = check.FoldFit.on(Outcomes(seen[5], quality, usd), price)
    assert h.fitted == whole


def test_ties_between_policies_are_not_decided_by_rounding() -> None:
    """If both policies do the same on every prompt of the other folds, the index policy is taken."""
    source = TableSource(table_of(9, 50, 2), "quality")
    fold, single, index = source.groups.folds, np.zeros((3, 50)), np.zeros((3, 50))
    cascade = np.zeros((3, 50))
    cascade[0] = 0.1 * (fold == 3)
    fits = [check.FoldFit(0, Order((1,)), ModelIndices((0,), (0.5,)))] * 6
    found = check._conclude(source, 1.0, np.stack([single, cascade, index]), fits, fold)
    assert found.routing_gain.value == 0.0  # fold 3 takes the index policy, and the others the cascade
    cascade[0] = 0.1 * (fold >= 3)
    found = check._conclude(source, 1.0, np.stack([single, cascade, index]), fits, fold)
    assert found.routing_gain.value == pytest.approx(cascade[0].mean())


def test_one_model_gains_nothing_over_itself() -> None:
    h = check_table(table_of(10, 40, 1), "quality", [5.0]).headrooms[0]
    for gain in (h.fixed_cascade.gain, h.index_policy.gain, h.bound.gain, h.routing_gain):
        assert gain == (0.0, 0.0, 0.0)
    assert not h.pays


def test_more_models_than_can_be_checked_are_named() -> None:
    table = table_of(12, 20, 17)
    with pytest.raises(DataError, match="has 17 models; at most 16 are checked together; name those .models.: m"):
        check_table(table)


def test_members_and_sentences() -> None:
    found = check_table(table_of(13, 200), "score", [1.0, 100.0])
    record = json.loads(json.dumps(check_json(found), allow_nan=False))
    members = "dropped estimators evaluator facts models notes prices prompts reasons rows table verdict"
    assert sorted(record) == members.split()
    assert sorted(record["facts"]) == ["correlation", "judges", "models"]
    assert sorted(record["facts"]["judges"][0]) == ["correlation", "explained", "models", "score", "tenths"]
    price = record["prices"][0]
    assert sorted(price) == sorted(
        ["price", "best_single", "fixed_cascade", "index_policy", "bound", "routing", "verdict"]
    )
    numbers = {"value", "low", "high", "gain", "quality", "usd_per_1000", "calls"}
    assert set(price["bound"]) == numbers
    assert set(price["best_single"]) == numbers | {"model", "in_hindsight"}
    assert set(price["fixed_cascade"]) == numbers | {"order", "thresholds"}
    assert set(price["index_policy"]) == numbers | {"order", "indices"}
    assert set(price["routing"]) == {"policy", "gain", "pays"}
    assert record["verdict"] == "; ".join(part["verdict"] for part in record["prices"])
    for verdict in found.verdicts:
        assert verdict.startswith(("routing can pay up to ", "no cascade is better than m")), verdict
    sheets = check_sheets(found)
    assert [sheet.title.split()[0] for sheet in sheets] == ["200", "Correlation", "Judges:", "What", "Price", "Price"]
    assert (
        sheets[4].notes[-1].startswith(("Calling several models pays at price ", "No cascade is surely better than m"))
    )
    assert "(with stops on the calibrated score)" in sheets[4].notes[0]
    assert [row[0] for row in sheets[4].rows] == ["best single", "fixed cascade", "index policy", "bound"]
    assert sheets[4].rows[0][2] == "---"


def test_labels_in_part_have_estimated_means_and_no_bound() -> None:
    whole, some = table_of(14, 1500), table_of(14, 1500, share=0.3)
    found = check_table(some, prices=[20.0])
    assert found.evaluator == "score"  # an evaluator cannot be an unknown quality
    assert math.isnan(found.headrooms[0].bound.gain.value)
    assert found.verdicts[0].split(" at price")[0] in ("routing pays", "no cascade is better")
    truth = whole.quality().mean(axis=0)
    for model, facts in enumerate(found.facts["models"]):
        assert facts["estimated_quality"].low < truth[model] < facts["estimated_quality"].high
        assert 1.0 < facts["times_as_wide"] < 2.0  # without a judge it would be sqrt(1 / 0.3)
    assert found.can.estimators == ["ips", "snips", "dr"]
    assert "plugin needs every answer's quality; quality is known of " in found.can.reasons[0]
    record = check_json(found)
    assert set(record["facts"]["models"][0]) >= {"estimated_quality", "times_as_wide"}
    assert check_sheets(found)[0].columns[-2:] == ["estimated quality", "times as wide"]
    with pytest.raises(UsageError, match="qualities are not known, and nobody can look at them"):
        TableSource(some, "quality")


def test_labels_that_became_known_with_different_probabilities() -> None:
    """Answers with high scores were labelled more often. The weights 1 / label_propensity correct for this."""
    whole, draw = table_of(22, 3000, 2), np.random.default_rng(22)
    quality, score = whole.quality(), whole.score("score")
    p = np.where(score > 0.5, 0.8, 0.2)
    known = draw.random(p.shape) < p
    cells = list(np.ndindex(p.shape))
    table = Trace(
        {
            "prompt_id": [f"p{row}" for row, _ in cells],
            "model": [f"m{model}" for _, model in cells],
            "quality": [quality[at] if known[at] else None for at in cells],
            "cost": [whole.cost()[at] for at in cells],
            "score": [score[at] for at in cells],
            "label_propensity": [p[at] for at in cells],
        }
    )._table
    means = identified.estimated_means(table, "score")
    for model, mean in enumerate(means):
        assert mean.quality.low < quality[:, model].mean() < mean.quality.high
        assert quality[known[:, model], model].mean() > mean.quality.high  # a plain mean would be this high
        n = 3000
        full = math.sqrt(quality[:, model].var() / n) * 1.961
        assert mean.widening == pytest.approx((mean.quality.high - mean.quality.value) / full, rel=0.05)


def test_full_tables_identify_the_plugin() -> None:
    can = identified.identified(table_of())
    assert can.estimators == ["plugin"] and can.best == "plugin"
    assert can.reasons == ["every answer's quality and cost is known: means say all, and nothing is weighted"]


def test_prompts_that_come_twice_are_one() -> None:
    table = table_of(
        15, 60, prompts=[f"p{k}" for k in range(60)], columns={"prompt": [f"q{k % 40}" for k in range(60)]}
    )
    found = check_table(table, "quality", [5.0])
    assert found.prompts == 40
    assert check_sheets(found)[0].notes[0] == (
        "20 rows repeat the prompt of another row, so intervals count 40 different prompts."
    )


def test_what_is_refused() -> None:
    table = table_of(16, 20)
    for price in (-1.0, math.nan, 2e9):
        with pytest.raises(
            UsageError, match="out of range; give utility per dollar, a number from 0 to 1e9, such as 5"
        ):
            check_table(table, "quality", [price])
    for evaluator in ("none", "nonsense"):
        with pytest.raises(UsageError, match=f"evaluator.*{evaluator}.*: unknown; use quality"):
            check_table(table, evaluator)
    with pytest.raises(DataError, match="has no score"):
        check_table(table, "score:other")
    same = {"prompts": ["p", "q"], "columns": {"prompt": ["same"] * 2}}
    one = Trace({"models": ["a"], "quality": [[0.5]] * 2, "cost": [[1.0]] * 2, **same})
    with pytest.raises(DataError, match="has 1 prompt: nothing is left to judge on what is fitted on others; give a"):
        check_table(one._table)


def test_fewer_prompts_than_folds() -> None:
    h = check_table(table_of(17, 3), "score", [5.0]).headrooms[0]
    assert h.folds == 3
