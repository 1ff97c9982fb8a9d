"""The metrics of the field on quality, dollars, choices and scores, each with the source of its definition.

"Read" means that we read the definition in the project's own code or text. "As we understand it" means that we could
not confirm the exact formula. Points are (dollars, quality) of one policy at several settings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from intervals import Floats, Ints
from numpy.typing import NDArray

Bools = NDArray[np.bool_]


def non_decreasing_hull(points: Floats) -> Floats:
    """The corners of the least non-decreasing concave function above the points, by dollars.

    RouterBench (Hu and others 2024, arXiv 2403.12031, section 3; evaluation/AIQ.py, read). A random choice between two
    points reaches every point on the line between them, and no point need be worse than a cheaper one. Beyond the best
    point the function is flat. This part has no corner.
    """
    cheapest_first = points[np.lexsort((-points[:, 1], points[:, 0]))]
    hull: list[Floats] = []
    for point in cheapest_first:
        if hull and point[1] <= hull[-1][1]:
            continue  # it is no better than a cheaper point
        while len(hull) > 1:
            (x0, y0), (x1, y1) = hull[-2], hull[-1]
            if (y1 - y0) * (point[0] - x0) > (point[1] - y0) * (x1 - x0):
                break
            hull.pop()
        hull.append(point)
    return np.array(hull)


def hull_at(hull: Floats, dollars: Floats) -> Floats:
    """The hull's quality at the given dollars; nan below its first point."""
    return np.where(dollars < hull[0, 0], np.nan, np.interp(dollars, hull[:, 0], hull[:, 1]))


def _area(x: Floats, y: Floats) -> float:
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2))


def aiq(points: Floats, dearest: float | None = None, as_code: bool = False) -> float:
    """Average improvement in quality: the area under the non-decreasing hull over the range of dollars.

    RouterBench, the paper: AIQ = integral over [c_min, c_max] / (c_max - c_min). Its code (evaluation/AIQ.py, read)
    integrates from the hull's cheapest point to the dearest of all compared routers, and divides by that dearest cost
    in place of the range; `as_code` does this. The two differ unless the cheapest point is free.
    """
    hull = non_decreasing_hull(points)
    end = float(points[:, 0].max()) if dearest is None else dearest
    x = np.append(hull[:, 0], max(end, hull[-1, 0]))
    y = np.append(hull[:, 1], hull[-1, 1])
    if as_code:
        return _area(x, y) / x[-1]
    return _area(x, y) / (x[-1] - x[0]) if x[-1] > x[0] else float(y[0])


def strong_share_auc(share: Floats, quality: Floats) -> float:
    """The area under quality over the share of calls to the strong model (RouteLLM, evals/evaluate.py, read).

    It is the sum of trapezoids over the points in order of share. No points are added at 0 and 1, and the area is not
    divided by the range.
    """
    order = np.argsort(share, kind="stable")
    return _area(share[order], quality[order])


def apgr(share: Floats, quality: Floats, weak: float, strong: float) -> float:
    """Average performance gap recovered (RouteLLM, Ong and others 2024, arXiv 2406.18665; evaluate.py, read).

    It is (AUC - AUC of the weak model) / (AUC of the strong model - AUC of the weak model). The AUC of a model is that
    of a constant over the same shares.
    """
    span = float(share.max() - share.min())
    return (strong_share_auc(share, quality) - weak * span) / ((strong - weak) * span)


def call_performance_threshold(share: Floats, quality: Floats, weak: float, strong: float, recovered: float) -> float:
    """CPT(x): the share of strong calls that recovers x of the gap between weak and strong (RouteLLM, read).

    Its code interpolates the share linearly over the quality, with the points in order of share. This is defined only
    if quality does not fall with the share. Here it is the first interpolated share at which quality reaches the mark,
    which agrees with the code where the code is defined. nan if the mark is never reached.
    """
    order = np.argsort(share, kind="stable")
    share, quality, mark = share[order], quality[order], weak + recovered * (strong - weak)
    if quality[0] >= mark:
        return float(share[0])
    for k in range(1, len(share)):
        if quality[k] >= mark:
            part = (mark - quality[k - 1]) / (quality[k] - quality[k - 1])
            return float(share[k - 1] + part * (share[k] - share[k - 1]))
    return math.nan


def cost_at_share_of_strong(points: Floats, strong_quality: float, kept: float) -> float:
    """The least dollars on the non-decreasing hull at `kept` of the strong model's quality; nan if it has no such
    point.

    RouteLLM reports such a cost in words (95% of GPT-4's quality). The hull is our choice.
    """
    hull, mark = non_decreasing_hull(points), kept * strong_quality
    if hull[-1, 1] < mark:
        return math.nan
    return float(hull[0, 0]) if hull[0, 1] >= mark else float(np.interp(mark, hull[:, 1], hull[:, 0]))


def deferral_area(points: Floats, dearest: float, up_to: float = 1.0) -> float:
    """The area under the deferral curve: quality over dollars, as shares of the dearest model's dollars, up to `up_to`.

    Jitkrittum and others, Universal Model Routing (UniRoute, arXiv 2502.08773), as we understand it. The curve is the
    policy's quality as the price goes through its values. They report the area, the area up to half of the dearest
    cost, the least cost at the dearest model's quality (QNC), and the peak. Here the curve has the measured points in
    order of dollars. It is constant before its first point and after its last one, and the area is divided by `up_to`.
    """
    order = np.argsort(points[:, 0], kind="stable")
    x, y = points[order, 0] / dearest, points[order, 1]
    inside = (x > 0) & (x < up_to)
    at = np.concatenate([[0.0], x[inside], [up_to]])
    return _area(at, np.concatenate([[np.interp(0.0, x, y)], y[inside], [np.interp(up_to, x, y)]])) / up_to


def quality_neutral_cost(points: Floats, dearest: float, strong_quality: float) -> float:
    """QNC of UniRoute, as we understand it: the least dollars at the dearest model's quality, as a share of its
    dollars.
    """
    good = points[points[:, 1] >= strong_quality]
    return float(good[:, 0].min() / dearest) if len(good) else math.nan


def arena_score(
    accuracy: float, usd_per_1000: float, beta: float = 0.1, dearest: float = 200.0, cheapest: float = 0.0044
) -> float:
    """RouterArena (arXiv 2510.00202; router_evaluation/compute_scores.py, read): (1 + beta) A C / (beta A + C).

    C = (log2 dearest - log2 cost) / (log2 dearest - log2 cheapest), in dollars per 1,000 prompts. C is not clipped, so
    it is above 1 for a cost below the cheapest. The cost must be above 0.
    """
    if usd_per_1000 <= 0:
        raise ValueError("the arena score is of a cost above 0")
    cheapness = math.log2(dearest / usd_per_1000) / math.log2(dearest / cheapest)
    return (1 + beta) * accuracy * cheapness / (beta * accuracy + cheapness)


def performance_gain(points: Floats, best_single_quality: float) -> float:
    """PerfGain: the greatest quality of the policy's points, divided by that of the best single model, minus 1.

    LLMRouterBench (Li and others 2026, arXiv 2601.07206; readme, read: "maximum performance improvement over the best
    single model"). As we understand it, the improvement is a ratio and not a difference.
    """
    return float(points[:, 1].max()) / best_single_quality - 1


def cost_saved(points: Floats, best_single: tuple[float, float]) -> float:
    """CostSave: 1 - (least dollars of points with at least the best single model's quality) / (this model's dollars).

    LLMRouterBench's readme (read): "cost reduction achieved while maintaining comparable accuracy to the best single
    model". As we understand it, comparable means not lower. nan if no point is good enough.
    """
    good = points[points[:, 1] >= best_single[1]]
    return 1 - float(good[:, 0].min()) / best_single[0] if len(good) else math.nan


def pareto_front(points: Floats) -> Bools:
    """Which points are not beaten. A point beats another if dollars and quality are no worse, and one of them is
    better.
    """
    x, y = points[:, 0], points[:, 1]
    beats = (x[:, None] <= x) & (y[:, None] >= y) & ((x[:, None] < x) | (y[:, None] > y))
    return ~beats.any(axis=0)


def pareto_distance(points: Floats, everyone: Floats) -> float:
    """ParetoDist: the mean distance of the policy's points to the Pareto front of `everyone`, with both axes in 0..1.

    LLMRouterBench's readme (read): "average distance to the Pareto frontier". As we understand it, axes are scaled by
    the range over everyone, the distance is Euclidean, and the front is a set of points and not a curve.
    """
    low, spread = everyone.min(axis=0), np.ptp(everyone, axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    front, mine = (everyone[pareto_front(everyone)] - low) / spread, (points - low) / spread
    return float(np.linalg.norm(mine[:, None, :] - front[None, :, :], axis=2).min(axis=1).mean())


def oracle_gap(quality: float, table: Floats) -> float:
    """OracleGap: 1 - (quality) / (mean quality of the best answer to each prompt). `table`: prompts x models.

    LLMRouterBench's readme (read): "gap to Oracle, an instance-level upper bound that always picks the best available
    model". As we understand it, the gap is relative (Gap@O = 1 - Acc / Acc_O). The oracle pays for no calls.
    """
    return 1 - quality / float(table.max(axis=1).mean())


def calibration_error(forecast: Floats, truth: Floats, bins: int = 15, equal_mass: bool = False) -> float:
    """ECE: the sum over bins of (share of rows) x |mean truth - mean forecast|.

    Bins of equal width are [0, 1/B], (1/B, 2/B], ... (Guo and others, On Calibration of Modern Neural Networks, 2017).
    Bins of equal mass have n / B rows in order of the forecast (Nixon and others 2019, Kumar and others 2019). Equal
    forecasts share the bin of their middle rank, so that the order of rows does not matter; this is our choice.
    """
    if equal_mass:
        _, where, counts = np.unique(forecast, return_inverse=True, return_counts=True)
        middle = np.cumsum(counts) - counts / 2
        place = np.minimum((middle * bins / len(forecast)).astype(int), bins - 1)[where]
    else:
        place = np.clip(np.ceil(forecast * bins).astype(int) - 1, 0, bins - 1)
    gaps = np.bincount(place, weights=truth - forecast, minlength=bins)
    return float(np.abs(gaps).sum() / len(forecast))


def auroc(score: Floats, right: Bools) -> float:
    """P(score of a right answer > of a wrong one) + half of ties (Mann and Whitney 1947; Hanley and McNeil 1982).

    For graded quality, the caller decides which answers are right. nan if all answers or none are right.
    """
    positive, negative = int(right.sum()), int((~right).sum())
    if positive == 0 or negative == 0:
        return math.nan
    _, where, counts = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(counts) - (counts - 1) / 2)[where]
    return (float(rank[right].sum()) - positive * (positive + 1) / 2) / (positive * negative)


def risk_coverage(score: Floats, loss: Floats) -> tuple[Floats, Floats]:
    """Coverage k / n, and the mean loss of the k answers of greatest score (El-Yaniv and Wiener 2010; Geifman 2017).

    Answers of equal score each count with their mean loss, so that the order of rows does not matter; this is our
    choice.
    """
    _, where = np.unique(-score, return_inverse=True)
    mean = np.bincount(where, weights=loss) / np.bincount(where)
    ordered = mean[np.sort(where)]
    kept = np.arange(1, len(score) + 1)
    return kept / len(score), np.cumsum(ordered) / kept


def aurc(score: Floats, loss: Floats) -> float:
    """The area under risk over coverage: the mean over k of the risk at k / n (Geifman, Uziel and El-Yaniv 2019)."""
    return float(risk_coverage(score, loss)[1].mean())


def latency_in_series(latency: Floats, paths: Sequence[Sequence[int]], judge: float = 0.0) -> Floats:
    """Seconds for each prompt, with calls one after another and `judge` seconds for each. `paths`: the called
    models.
    """
    return np.array([latency[row, list(path)].sum() + judge * len(path) for row, path in enumerate(paths)])


def percentile(values: Floats, share: float) -> float:
    """The quantile by linear interpolation between order statistics (type 7 of Hyndman and Fan 1996)."""
    return float(np.quantile(values, share))


def deployed_quality(quality: Floats, deployed: Ints) -> float:
    """The mean quality if each prompt gets the answer of its deployed model."""
    return float(quality[np.arange(len(deployed)), deployed].mean())
