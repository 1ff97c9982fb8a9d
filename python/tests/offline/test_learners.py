"""Compares learners with naive ones, which really leave prompts out, and with the results of the C++ learners."""

from __future__ import annotations

import hashlib
import json
import pathlib
from typing import Any

import numpy as np
import pytest
from learner_tables import CASES, PRICES, Array, outcomes, uniform

import pandora
from pandora.offline.learners.isotonic import IsotonicMap, applied, calibrations
from pandora.offline.learners.linear import LOGISTIC_RIDGES, RIDGES, LinearFits, _loss, shares_of
from pandora.offline.learners.neighbours import five_digits, nearest, nearest_others
from pandora.offline.learners.predictors import LinearPredictor, PlanPredictors, Predictor

GOLDEN = json.loads((pathlib.Path(__file__).parent / "golden_learners.json").read_text())


def solved(features: Array, y: Array, ridge: float) -> Array:
    """The weights of a ridge regression, with the constant first."""
    design = np.column_stack([np.ones(len(features)), features])
    penalty = ridge * np.eye(design.shape[1])
    penalty[0, 0] = 0.0
    return np.asarray(np.linalg.solve(design.T @ design + penalty, design.T @ y), np.float64)


def unit_of(features: Array) -> float:
    return float(((features - features.mean(axis=0)) ** 2).sum() / features.shape[1])


def test_ridges_are_chosen_by_prompts_that_are_really_left_out() -> None:
    table = outcomes(seed=1, rows=40, features=3, plans=2, kind="real")
    x = table.features.astype(np.float64)
    fit = LinearFits(x).ridge(table.quality)
    for t, y in enumerate(table.quality.T):
        errors, all_left_out = [], []
        for ridge in RIDGES * unit_of(x):
            without = [solved(np.delete(x, i, 0), np.delete(y, i), ridge) for i in range(len(x))]
            left_out = np.array([weights[0] + x[i] @ weights[1:] for i, weights in enumerate(without)])
            errors.append(float(np.mean((y - left_out) ** 2)))
            all_left_out.append(left_out)
        best = int(np.argmin(errors))
        np.testing.assert_allclose(fit.left_out[:, t], all_left_out[best], rtol=0, atol=1e-10)
        np.testing.assert_allclose(fit.weights[:, t], solved(x, y, RIDGES[best] * unit_of(x)), rtol=0, atol=1e-10)


def logistic_weights(features: Array, y: Array, ridge: float) -> Array:
    """The weights of a logistic regression, by many plain Newton steps."""
    design = np.column_stack([np.ones(len(features)), features])
    penalty = np.full(design.shape[1], ridge)
    penalty[0] = 0.0
    beta = np.zeros(design.shape[1])
    for _ in range(100):
        p = 1.0 / (1.0 + np.exp(-design @ beta))
        hessian = (design * (p * (1.0 - p))[:, None]).T @ design + np.diag(penalty)
        beta = beta + np.linalg.solve(hessian, design.T @ (y - p) - penalty * beta)
    return beta


@pytest.mark.parametrize("kind", ["0/1", "share"])
def test_logistic_regressions_are_those_of_newton_and_of_prompts_that_are_left_out(kind: str) -> None:
    table = outcomes(seed=5, rows=300, features=3, plans=2, kind=kind, strength=1.0)
    x = table.features.astype(np.float64)
    fit = LinearFits(x).logistic(table.quality)
    for t, y in enumerate(table.quality.T):
        design = np.column_stack([np.ones(len(x)), x])
        losses, all_left_out, all_weights = [], [], []
        for ridge in (share * unit_of(x) for share in LOGISTIC_RIDGES):
            weights = logistic_weights(x, y, ridge)
            p = shares_of(design @ weights)
            step = np.diag([0.0] + [ridge] * x.shape[1])
            left_out = np.empty(len(y))
            for i in range(len(y)):  # one Newton step without prompt i, from the fit to all
                others = np.arange(len(y)) != i
                some, q = design[others], p[others]
                gradient = some.T @ (y[others] - q) - step @ weights
                hessian = (some * (q * (1.0 - q))[:, None]).T @ some + step
                left_out[i] = design[i] @ (weights + np.linalg.solve(hessian, gradient))
            losses.append(_loss(left_out, y))
            all_left_out.append(shares_of(left_out))
            all_weights.append(weights)
        best = int(np.argmin(losses))
        np.testing.assert_allclose(fit.weights[:, t], all_weights[best], rtol=0, atol=2e-4)
        np.testing.assert_allclose(fit.left_out[:, t], all_left_out[best], rtol=0, atol=1e-4)
        # One Newton step is close to a fit without the prompt.
        for i in range(0, len(y), 50):
            refitted = logistic_weights(np.delete(x, i, 0), np.delete(y, i), LOGISTIC_RIDGES[best] * unit_of(x))
            assert abs(shares_of(design[i] @ refitted) - fit.left_out[i, t]) < 2e-3


def test_equal_targets_get_equal_weights_and_features_that_do_not_vary_get_none() -> None:
    table = outcomes(seed=3, rows=90, features=5, plans=7, twins=True)
    features = np.column_stack([table.features, np.full(90, 0.1, np.float32)])
    for fit in (LinearFits(features).ridge(table.quality), LinearFits(features).logistic(table.quality)):
        assert (fit.weights[:, 0] == fit.weights[:, -1]).all() and (fit.left_out[:, 0] == fit.left_out[:, -1]).all()
        assert (np.abs(fit.weights[-1]) < 1e-12).all()
    alone = LinearFits(features[:, 5:])
    for fit in (alone.ridge(table.quality), alone.logistic(table.quality)):
        np.testing.assert_allclose(fit.weights[1], 0.0, atol=1e-9)


@pytest.mark.parametrize("levels,features", [(0, 4), (2, 1), (3, 3), (2, 20)])
@pytest.mark.parametrize("scale,offset", [(1.0, 0.0), (1e-3, 1e3), (1e20, 0.0), (1e-22, 0.0)])
def test_neighbours_are_the_nearest_of_all_the_first_of_equally_near_ones(
    levels: int, features: int, scale: float, offset: float
) -> None:
    x = uniform(7, 400, features) if levels == 0 else np.floor(levels * uniform(7, 400, features))
    x = offset + scale * x
    prompts, asked = x[:250], x[100:]
    away = np.zeros((len(asked), len(prompts)))
    for own, feature in zip(asked.T, prompts.T):
        away += (feature - own[:, None]) ** 2
    for count in (1, 10, 100, 249, 250):
        wanted = np.argsort(away, axis=1, kind="stable")
        assert (nearest(prompts, asked, count) == np.sort(wanted[:, :count], axis=1)).all()
        if count == 250:
            continue
        others = nearest_others(prompts, np.arange(100, 250), count)
        for i, found in enumerate(others):
            assert found.tolist() == [p for p in wanted[i].tolist() if p != 100 + i][:count]


def test_neighbours_of_a_table_are_means_of_the_others() -> None:
    table = outcomes(seed=9, rows=35, features=2, plans=2, levels=4)
    predictors = PlanPredictors(*table)
    (which,) = (k for k, p in enumerate(predictors.predictors) if getattr(p, "nearest", 0) == 10)
    x = table.features.astype(np.float64)
    for i in range(35):
        away = ((x - x[i]) ** 2).sum(axis=1)
        near = [p for p in np.argsort(away, kind="stable").tolist() if p != i][:10]
        np.testing.assert_allclose(predictors.left_out[which].quality[i], table.quality[near].mean(axis=0), rtol=1e-14)
        np.testing.assert_allclose(predictors.left_out[which].usd[i], five_digits(table.usd[near]).mean(axis=0))


def test_five_digits_are_those_of_text() -> None:
    numbers = np.concatenate([uniform(1, 500) * 10.0 ** (k % 30 - 15) for k in range(30)])
    numbers = np.concatenate([numbers, -numbers, [0.0, 99999.0, 123456.0, 0.123455, 9.99995, 1e-300, 1e300]])
    assert five_digits(numbers).tolist() == [float(f"{x:.5g}") for x in numbers.tolist()]


def test_isotonic_regression_is_the_formula_of_its_solution() -> None:
    for seed in range(40):
        n = 1 + seed
        scores, qualities = np.floor(8 * uniform(seed, n)) / 7.0, np.floor(5 * uniform(seed + 50, n)) / 4.0
        weights = np.ones(n) if seed % 2 else 0.5 + uniform(seed + 99, n)
        of = IsotonicMap.fit(scores, qualities, weights)
        assert (np.diff(of.scores) > 0.0).all() and (np.diff(of.qualities) >= 0.0).all()
        for score in np.unique(scores):  # max over beginnings of min over ends of the mean between them
            most = -np.inf
            for first in np.unique(scores[scores <= score]):
                least = np.inf
                for last in np.unique(scores[scores >= score]):
                    among = (scores >= first) & (scores <= last)
                    least = min(least, float(np.average(qualities[among], weights=weights[among])))
                most = max(most, least)
            assert of(np.array([score]))[0] == pytest.approx(most, abs=1e-12)


def test_isotonic_maps_are_those_of_scikit_learn_and_hold_long_tables() -> None:
    isotonic = pytest.importorskip("sklearn.isotonic")
    for seed, n in ((1, 3000), (2, 20_000)):
        scores, chance = uniform(seed, n), uniform(seed + 10, n)
        qualities, weights = (chance < scores).astype(np.float64), 0.1 + uniform(seed + 20, n)
        wanted = isotonic.IsotonicRegression(out_of_bounds="clip").fit(scores, qualities, sample_weight=weights)
        at = np.arange(-100, 1101) / 1000.0
        np.testing.assert_allclose(IsotonicMap.fit(scores, qualities, weights)(at), wanted.predict(at), atol=1e-12)
    falling = IsotonicMap.fit(np.arange(1000.0), -np.arange(1000.0))
    assert falling.scores.tolist() == [0.0, 999.0] and falling.qualities.tolist() == [-499.5, -499.5]


def test_calibrations_are_of_each_model_by_what_is_known() -> None:
    score, quality = uniform(3, 60, 2), uniform(4, 60, 2)
    quality[5, 0] = score[7, 1] = np.nan
    rows, weights = np.arange(0, 60, 2), uniform(5, 60, 2)
    weights[10, 0] = 0.0
    found = applied(calibrations(score, quality, rows, weights), score)
    some = np.setdiff1d(rows, [10])
    alone = IsotonicMap.fit(score[some, 0], quality[some, 0], weights[some, 0])
    np.testing.assert_array_equal(found[:, 0], alone(score[:, 0]))
    assert np.isnan(found[7, 1]) and np.isnan(found).sum() == 1
    nothing = calibrations(score, np.full((60, 2), np.nan), rows)[0]
    assert nothing.to_json() == {"scores": [], "qualities": []}
    np.testing.assert_array_equal(nothing(score), score)


def chosen(predictor: Predictor, plans: list[int], price: float, features: Any) -> list[int]:
    quality, usd = predictor.predict(features)
    return [plans[k] for k in np.argmax(quality - price * usd, axis=1)]


@pytest.mark.parametrize("name", CASES)
def test_learners_and_choices_are_those_of_the_program(name: str) -> None:
    table, golden = outcomes(**CASES[name]), GOLDEN["cases"][name]
    predictors = PlanPredictors(*table)
    assert len(predictors.predictors) == len(golden["learners"])
    for predictor, left_out, wanted in zip(predictors.predictors, predictors.left_out, golden["learners"]):
        quality, usd = predictor.predict(table.features[:3])
        found = {"quality": quality, "usd": usd}
        found.update(left_out_quality=left_out.quality[:3], left_out_usd=left_out.usd[:3])
        for key, numbers in found.items():
            np.testing.assert_allclose(numbers.ravel(), wanted[key], rtol=1e-8, atol=1e-9, err_msg=key)
        for key, value in wanted.get("router", {}).items():
            if key == "learner":
                assert predictor.to_json()[key] == value
            else:
                np.testing.assert_allclose(predictor.to_json()[key], value, rtol=1e-8, atol=1e-9)
    for wanted in golden["choices"]:
        price = wanted["price"]
        predictor, plans = predictors.best(price)
        assert (predictors.learner(price), plans) == (wanted["learner"], wanted["plans"]), price
        found_plans = chosen(predictor, plans, price, table.features[:400])
        assert "".join(map(str, found_plans)) == wanted["chosen"], price


@pytest.mark.parametrize("which", range(4))
def test_calibrations_are_those_of_the_program(which: int) -> None:
    seed, n, kind = ((1, 60, "0/1"), (2, 60, "share"), (3, 1, "share"), (4, 200, "ties"))[which]
    scores, chance = uniform(seed, n), uniform(seed + 100, n)
    if kind == "ties":
        scores = np.floor(scores * 10) / 10
    share = kind == "share"
    qualities = np.round(0.5 * scores + 0.5 * chance, 3) if share else (chance < scores).astype(np.float64)
    weights = np.round(0.5 + uniform(seed + 200, n), 3) if share else None
    found, wanted = IsotonicMap.fit(scores, qualities, weights), GOLDEN["isotonic"][which]
    assert found.scores.tolist() == wanted["scores"]
    np.testing.assert_allclose(found.qualities, wanted["qualities"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found(np.arange(-2, 23) / 20), wanted["values"], rtol=0, atol=1e-12)


def test_more_plans_take_over_what_is_fitted() -> None:
    table = outcomes(seed=13, rows=120, features=3, plans=5)
    whole = PlanPredictors(*table)
    more = PlanPredictors(table.features, table.quality[:, :3], table.usd[:, :3]).more(table.quality, table.usd)
    assert len(whole.predictors) == len(more.predictors)
    for price in PRICES:
        (one, plans), (other, more_plans) = whole.best(price), more.best(price)
        assert plans == more_plans and one.to_json() == other.to_json()


def test_where_some_plans_have_other_qualities_no_logistic_regression_is_taken_over() -> None:
    table = outcomes(seed=13, rows=120, features=3, plans=3)
    cautious = PlanPredictors(table.features, table.quality - 0.01, table.usd)
    more = cautious.more(np.hstack([table.quality, table.quality]), np.hstack([table.usd, table.usd]))
    assert [p.to_json()["learner"] for p in more.predictors] == ["ridge", "neighbours", "neighbours", "neighbours"]


def test_without_features_all_prompts_are_alike() -> None:
    quality, usd = uniform(1, 40, 2), uniform(2, 40, 2)
    for predictor in PlanPredictors(np.empty((40, 0), np.float32), quality, usd).predictors:
        found, dollars = predictor.predict(np.empty((3, 0), np.float32))
        assert (found == found[0]).all() and (dollars == dollars[0]).all()
        if isinstance(predictor, LinearPredictor):
            np.testing.assert_allclose(dollars[0], usd.mean(axis=0))


def test_a_prompt_alone_is_predicted_as_among_others_in_every_digit() -> None:
    for seed in range(20):
        weights, features = uniform(seed, 40, 3) - 0.5, uniform(seed + 100, 7, 39).astype(np.float32)
        predictor = LinearPredictor(weights, weights[:, ::-1] / 3.0, "ridge")
        for one, many in zip(zip(*(predictor.predict(row[None]) for row in features)), predictor.predict(features)):
            assert np.concatenate(one).tobytes() == many.tobytes()


def test_a_running_cascade_takes_the_plans_that_a_router_of_its_file_promises_most_of(tmp_path: pathlib.Path) -> None:
    table = outcomes(seed=17, rows=150, features=2, plans=3)
    names, price = ["a", "b", "c"], 20.0
    columns = {f"x{j}": table.features[:, j].astype(np.float64).tolist() for j in range(2)}
    trace = pandora.Trace({"models": names, "quality": table.quality, "cost": table.usd, "columns": columns})
    context = ["raw:x0", "raw:x1"]
    pandora.Cascade.fit(trace, price=price, kind="router", context=context, evaluator="quality").save(tmp_path / "c")
    file = json.loads((tmp_path / "c").read_text())
    file.update(models=names, plans=[{"order": [name], "thresholds": []} for name in names], about=None)
    file.pop("digest")
    predictors = PlanPredictors(*table)
    for predictor in predictors.predictors:
        file["router"] = predictor.to_json()
        text = json.dumps(file, sort_keys=True, separators=(",", ":"))
        (tmp_path / "d").write_text(json.dumps({**file, "digest": hashlib.sha256(text.encode()).hexdigest()}))
        live = pandora.Cascade.load(tmp_path / "d")
        wanted = chosen(predictor, [0, 1, 2], price, table.features)
        for row, plan in enumerate(wanted):
            with live.begin("", columns={name: values[row] for name, values in columns.items()}) as request:
                assert request.next() == names[plan]
                request.observe(dollars=0.001)
