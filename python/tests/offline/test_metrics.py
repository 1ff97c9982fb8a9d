"""Compares every metric with another implementation of the papers' definitions, and with cases by hand."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from pandora.offline import metrics
from pandora.offline.groups import Groups
from pandora.offline.metrics import Compared, Forecasts, Points, Shares

Floats = npt.NDArray[np.float64]
SEEDS = range(12)


def points_of(seed: int, count: int = 9, ties: bool = True) -> Points:
    draw = np.random.default_rng(seed)
    usd, quality = draw.uniform(0.05, 20.0, count), draw.random(count)
    if ties:
        usd[1], quality[3], usd[4] = usd[0], quality[2], usd[5]
        quality[4] = quality[5]
    return Points(usd, quality)


def best_mixture(points: Points, usd: float) -> float:
    """The greatest quality of a point, or of a random choice between two points, for at most these dollars."""
    best = -math.inf
    for (a, qa), (b, qb) in product(zip(*points), repeat=2):
        if a <= usd:
            best = max(best, qa)
        if a < usd < b:
            best = max(best, qa + (usd - a) / (b - a) * (qb - qa))
    return best


@pytest.mark.parametrize("seed", SEEDS)
def test_hull_is_what_mixtures_reach(seed: int) -> None:
    points = points_of(seed)
    corners = metrics.hull(points)
    assert np.all(np.diff(corners.usd) > 0.0) and np.all(np.diff(corners.quality) > 0.0)
    slopes = np.diff(corners.quality) / np.diff(corners.usd)
    assert np.all(np.diff(slopes) < 0.0)
    for usd in np.linspace(points.usd.min(), points.usd.max() + 1.0, 41):
        assert np.interp(usd, *corners) == pytest.approx(best_mixture(points, usd), abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_average_improvement_is_the_mean_of_what_mixtures_reach(seed: int) -> None:
    points, dearest = points_of(seed), 25.0
    at = np.unique(np.append(points.usd, dearest))  # the function is linear between these
    reached = np.array([best_mixture(points, usd) for usd in at])
    area = np.sum(np.diff(at) * (reached[1:] + reached[:-1]) / 2.0)
    assert metrics.average_improvement(points, dearest) == pytest.approx(area / (dearest - at[0]))
    assert metrics.average_improvement(points, dearest, as_code=True) == pytest.approx(area / dearest)


def test_average_improvement_of_one_price() -> None:
    one = Points(np.array([2.0, 2.0]), np.array([0.25, 0.5]))
    assert metrics.average_improvement(one, 2.0) == 0.5
    assert metrics.average_improvement(one, 2.0, as_code=True) == 0.0
    free = Points(np.zeros(1), np.array([0.5]))
    assert metrics.average_improvement(free, 0.0) == 0.5
    assert math.isnan(metrics.average_improvement(free, 0.0, as_code=True))


@pytest.mark.parametrize("seed", SEEDS)
def test_cost_of_quality_is_the_cheapest_mixture(seed: int) -> None:
    points = points_of(seed)
    for wanted in (0.2, 0.5, 0.8, float(points.quality.max()), 0.0):
        costs = [a for a, q in zip(*points) if q >= wanted]
        for (a, qa), (b, qb) in product(zip(*points), repeat=2):
            if qa < wanted <= qb:
                costs.append(a + (wanted - qa) / (qb - qa) * (b - a))
        found = metrics.cost_of_quality(points, wanted)
        assert found == pytest.approx(min(costs)) if costs else math.isnan(found)
    assert math.isnan(metrics.cost_of_quality(points, 1.5))


def shares_of(seed: int) -> Shares:
    draw = np.random.default_rng(seed)
    share = np.append(draw.random(6), [0.0, 1.0])
    return Shares(share, np.append(draw.uniform(0.3, 0.9, 6), [0.4, 0.8]))


@pytest.mark.parametrize("seed", SEEDS)
def test_gap_recovered_is_a_mean_over_shares(seed: int) -> None:
    shares = shares_of(seed)
    order = np.argsort(shares.share)
    c = (np.arange(200_000) + 0.5) / 200_000
    quality = np.interp(c, shares.share[order], shares.quality[order])
    assert metrics.strong_share_area(shares) == pytest.approx(quality.mean(), abs=1e-6)
    pgr = (quality - 0.4) / (0.8 - 0.4)
    assert metrics.performance_gap_recovered(shares, 0.4, 0.8) == pytest.approx(pgr.mean(), abs=1e-6)
    for part in (0.1, 0.5, 0.8):
        least = c[np.flatnonzero(pgr >= part)[0]] if (pgr >= part).any() else math.nan
        found = metrics.share_that_recovers(shares, 0.4, 0.8, part)
        assert found == pytest.approx(least, abs=2e-5)


@pytest.mark.parametrize(("weak", "strong"), [(0.8, 0.8), (0.8, 0.4)])
def test_no_part_of_a_gap_that_is_not_there(weak: float, strong: float) -> None:
    ends = Shares(np.array([0.0, 1.0]), np.array([weak, strong]))
    assert math.isnan(metrics.performance_gap_recovered(ends, weak, strong))
    assert math.isnan(metrics.share_that_recovers(ends, weak, strong, 0.5))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("up_to", [1.0, 0.5])
def test_deferral_area_is_a_mean_over_dollars(seed: int, up_to: float) -> None:
    points = points_of(seed, ties=False)
    order = np.argsort(points.usd)
    x = (np.arange(400_000) + 0.5) / 400_000 * up_to
    mean = np.interp(x * 15.0, points.usd[order], points.quality[order]).mean()
    assert metrics.deferral_area(points, 15.0, up_to) == pytest.approx(mean, abs=1e-5)
    assert math.isnan(metrics.deferral_area(points, 0.0, up_to))


def test_deferral_is_constant_beyond_the_points() -> None:
    points = Points(np.array([4.0, 6.0]), np.array([0.5, 0.7]))
    assert metrics.deferral_area(points, 10.0, 1.0) == pytest.approx(0.4 * 0.5 + 0.2 * 0.6 + 0.4 * 0.7)
    assert metrics.deferral_area(points, 10.0, 0.5) == pytest.approx((0.4 * 0.5 + 0.1 * 0.55) / 0.5)


def test_least_cost_and_arena_score_by_hand() -> None:
    points = Points(np.array([1.0, 4.0, 2.0]), np.array([0.5, 0.9, 0.9]))
    assert metrics.least_cost_at(points, 0.9) == 2.0
    assert math.isnan(metrics.least_cost_at(points, 0.95))
    c = math.log2(200.0 / 2.0) / math.log2(200.0 / 0.0044)
    best = max(1.1 * q * c_ / (0.1 * q + c_) for q, c_ in ((0.9, c), (0.5, math.log(200) / math.log(200 / 0.0044))))
    assert metrics.arena_score(points) == pytest.approx(best)
    dear_or_free = Points(np.array([0.0, 200.0, 300.0]), np.array([0.5, 0.5, 0.9]))
    assert math.isnan(metrics.arena_score(dear_or_free))


@pytest.mark.parametrize("seed", SEEDS)
def test_pareto_distance_to_those_that_none_beats(seed: int) -> None:
    points, others = points_of(seed, 5, ties=False), points_of(seed + 100)
    everyone = list(zip(*points.and_(others)))
    front = [(u, q) for u, q in everyone if not any(a <= u and b >= q and (a < u or b > q) for a, b in everyone)]
    usd, quality = zip(*everyone)
    width, height = max(usd) - min(usd), max(quality) - min(quality)
    away = [min(math.dist((u / width, q / height), (a / width, b / height)) for a, b in front) for u, q in zip(*points)]
    assert metrics.pareto_distance(points, points.and_(others)) == pytest.approx(sum(away) / len(away))
    same = Points(np.ones(2), np.full(2, 0.5))
    assert metrics.pareto_distance(same, same) == 0.0


def answers_of(seed: int) -> tuple[Floats, Floats, Floats]:
    """Forecasts with ties, graded truths and weights, some of them 0."""
    draw = np.random.default_rng(seed)
    forecast = np.round(draw.random((25, 3)), 1 if seed % 2 else 3)
    return forecast, np.round(draw.random((25, 3)), 1), draw.integers(0, 4, 25).astype(float)


def repeated(forecast: Floats, truth: Floats, weights: Floats) -> list[tuple[float, float]]:
    """Repeats each answer by its weight, with the greatest forecasts first."""
    times = weights.astype(int)
    return sorted(
        zip(np.repeat(forecast, times, axis=0).ravel(), np.repeat(truth, times, axis=0).ravel()), reverse=True
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_judges_against_their_definitions(seed: int) -> None:
    forecast, truth, weights = answers_of(seed)
    found, answers = Forecasts(forecast, truth), repeated(forecast, truth, weights)
    count = len(answers)
    bins: list[list[float]] = [[] for _ in range(15)]
    for f, t in answers:
        bins[min(max(math.ceil(f * 15) - 1, 0), 14)].append(t - f)
    error = sum(abs(sum(of)) for of in bins) / count
    assert found.calibration_error(weights) == pytest.approx(error)
    right, wrong = ([f for f, t in answers if (t >= 0.5) == is_right] for is_right in (True, False))
    won = sum(1.0 if a > b else 0.5 if a == b else 0.0 for a, b in product(right, wrong))
    assert found.area_under_roc(weights) == pytest.approx(won / (len(right) * len(wrong)))

    def risk(most: float) -> float:
        """The mean loss of the first `most` answers, if equal forecasts come in random order."""
        lost = 0.0
        for f in sorted({f for f, _ in answers}, reverse=True):
            tie = [1.0 - t for g, t in answers if g == f]
            before = sum(g > f for g, _ in answers)
            lost += min(max(most - before, 0.0), len(tie)) * sum(tie) / len(tie)
        return lost / most

    assert found.area_under_risk(weights) == pytest.approx(sum(risk(k) for k in range(1, count + 1)) / count)
    assert found.risk_at(0.5, weights) == pytest.approx(risk(0.5 * count))


def test_answers_of_one_kind_have_no_curve() -> None:
    forecast = np.array([[0.2, 0.8]])
    assert math.isnan(Forecasts(forecast, np.ones((1, 2))).area_under_roc(np.ones(1)))
    assert Forecasts(forecast, np.ones((1, 2))).area_under_risk(np.ones(1)) == 0.0


def test_the_end_of_a_bin_belongs_to_it_whatever_the_rounding() -> None:
    forecast, truth = np.array([[0.4, np.nextafter(0.4, 1.0)]]), np.array([[1.0, 0.0]])
    assert Forecasts(forecast, truth).calibration_error(np.ones(1)) == pytest.approx(0.1)


def test_unknown_truths_are_left_out() -> None:
    forecast, truth = np.array([[0.2, 0.8], [0.4, 0.6]]), np.array([[0.0, math.nan], [0.0, 1.0]])
    assert Forecasts(forecast, truth).area_under_roc(np.ones(2)) == 1.0


def compared(seed: int, rows: int = 60) -> tuple[Compared, dict[str, Any]]:
    draw = np.random.default_rng(seed)
    quality, usd = draw.integers(0, 2, (rows, 3)).astype(float), draw.uniform(0.001, 0.01, (rows, 3)) * [1.0, 2.0, 5.0]
    of_row = draw.permutation(np.arange(rows) % (rows - 20))
    strong = draw.random(rows) < 0.4
    routed = np.where(strong, quality[:, 2], quality[:, 0]), np.where(strong, usd[:, 2], usd[:, 0] + usd[:, 2])
    alone = [(quality[:, m], usd[:, m]) for m in range(3)]
    calls = [strong, np.ones(rows, bool)]
    what = Compared([routed, alone[2]], alone, calls, 0, 2, Groups(of_row, rows - 20))
    return what, {"quality": quality, "usd": usd, "of_row": of_row}


def test_draws_are_of_splitmix() -> None:
    draws = list(metrics.prompt_draws(7, 3))
    assert draws[0].tolist() == [1.0] * 7
    most = 2**64
    for number, draw in enumerate(draws[1:], 1):
        counts = [0] * 7
        for k in range(7):
            x = (0x6D657472696373 + (number * 7 + k) * 0x9E3779B97F4A7C15) % most
            x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % most
            x = (x ^ (x >> 27)) * 0x94D049BB133111EB % most
            counts[(x ^ (x >> 31)) % 7] += 1
        assert draw.tolist() == counts


@pytest.mark.parametrize("seed", range(4))
def test_metrics_of_draws_are_those_of_the_rows_drawn(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "DRAWS", 40)
    what, table = compared(seed)
    score = np.random.default_rng(seed).random(table["quality"].shape)
    judge = Forecasts(score, table["quality"]), Forecasts(np.round(score, 1), table["quality"])
    found = what.field_metrics(judge)
    by_draw: dict[str, list[float]] = {name: [] for name in found}
    for weights in metrics.prompt_draws(what.groups.count, 40):
        rows = np.repeat(np.arange(len(table["of_row"])), weights[table["of_row"]].astype(int))
        quality, usd = table["quality"][rows], 1000.0 * table["usd"][rows]
        models = Points(usd.mean(axis=0), quality.mean(axis=0))
        cascades = Points(*np.array([(1000.0 * u[rows].mean(), q[rows].mean()) for q, u in what.cascades]).T)
        weak, strong = float(models.quality[0]), float(models.quality[2])
        shares = Shares(
            np.append([c[rows].mean() for c in what.calls_strong], [0.0, 1.0]),
            np.append(cascades.quality, [weak, strong]),
        )
        dearest, best = float(models.usd.max()), float(cascades.quality.max())
        good = cascades.usd[cascades.quality >= strong - 1e-12].min()
        raw, calibrated = (Forecasts(f[rows], quality) for f in (score, np.round(score, 1)))
        once = np.ones(len(rows))
        values = {
            "aiq": metrics.average_improvement(cascades, max(dearest, float(cascades.usd.max()))),
            "aiq_models": metrics.average_improvement(models, max(dearest, float(cascades.usd.max()))),
            "auc": metrics.strong_share_area(shares),
            "apgr": metrics.performance_gap_recovered(shares, weak, strong),
            "cpt_80": metrics.share_that_recovers(shares, weak, strong, 0.8),
            "usd_at_90": metrics.cost_of_quality(cascades, 0.9 * strong),
            "deferral_area_50": metrics.deferral_area(cascades, dearest, 0.5),
            "quality_neutral_cost": good / dearest,
            "cost_save": 1.0 - good / float(models.usd[2]),
            "perf_gain": best / strong - 1.0,
            "oracle_gap": 1.0 - best / quality.max(axis=1).mean(),
            "pareto_dist": metrics.pareto_distance(cascades, cascades.and_(models)),
            "judge_ece": raw.calibration_error(once),
            "judge_ece_calibrated": calibrated.calibration_error(once),
            "judge_auroc": raw.area_under_roc(once),
            "judge_aurc": raw.area_under_risk(once),
            "judge_risk_50": raw.risk_at(0.5, once),
        }
        for name, value in values.items():
            by_draw[name].append(value)
    for name, draws in by_draw.items():
        if not draws:
            continue
        known = [x for x in draws[1:] if math.isfinite(x)]
        assert found[name].value == pytest.approx(draws[0], nan_ok=True)
        if len(known) >= 38:
            low, high = np.quantile(known, [0.025, 0.975])
            assert found[name].low == pytest.approx(min(low, draws[0])), name
            assert found[name].high == pytest.approx(max(high, draws[0])), name
        else:
            assert math.isnan(found[name].low), name


def test_the_same_policy_has_the_same_means_to_the_last_bit() -> None:
    """Otherwise rounding would decide what is "at the strong model's quality"."""
    what, _ = compared(1, 999)
    cheap = what.models[2]
    for cascades in ([cheap], [what.models[0], cheap, what.models[1]]):
        same = Compared(cascades, what.models, [np.ones(999, bool)] * len(cascades), 0, 2, what.groups)
        found = same.field_metrics()
        assert found["cost_save"].low >= 0.0  # in every draw the strong model itself keeps its quality


def test_one_model_recovers_no_gap() -> None:
    what, _ = compared(2)
    one = Compared([what.models[0]], [what.models[0]], [np.ones(60, bool)], 0, 0, what.groups)
    found = one.field_metrics()
    for name in ("apgr", "cpt_50", "cpt_80"):
        assert all(math.isnan(x) for x in found[name]), name
    assert found["auc"].value == pytest.approx(what.models[0][0].mean())
    assert found["cost_save"] == (0.0, 0.0, 0.0)


def test_names_and_meanings_are_there_for_all() -> None:
    what, table = compared(3)
    judge = Forecasts(table["quality"], table["quality"])
    assert list(what.field_metrics((judge, judge))) == list(metrics.MEANINGS) and len(metrics.MEANINGS) == 24
