"""Metrics by which the literature measures routers and judges: pure functions of numbers.

Points are policies, each with its average cost (`usd`) and `quality`. A metric that is not defined is NaN. The
definitions are those of the papers that docstrings name; docs/metrics.md lists them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Optional

import numpy as np
import numpy.typing as npt

from .estimate import Interval, bootstrap
from .groups import Floats, Groups

#: The number of draws of a bootstrap over prompts.
DRAWS = 400
#: The dollars per 1,000 prompts between which RouterArena's score is defined.
ARENA_DEAREST, ARENA_CHEAPEST = 200.0, 0.0044
#: The bins of a calibration error.
BINS = 15


class Points(NamedTuple):
    """Policies: dollars and quality of each, on average."""

    usd: Floats
    quality: Floats

    def and_(self, others: Points) -> Points:
        """Both."""
        return Points(np.append(self.usd, others.usd), np.append(self.quality, others.quality))


class Shares(NamedTuple):
    """Routers between a weak and a strong model: the share of prompts that call the strong one, and quality."""

    share: Floats
    quality: Floats

    def in_order(self) -> Shares:
        """By their shares."""
        order = np.argsort(self.share, kind="stable")
        return Shares(self.share[order], self.quality[order])


def hull(points: Points) -> Points:
    """Corners of the least concave function above the points that does not decrease, the cheapest first.

    RouterBench's non-decreasing convex hull (Hu and others 2024, arXiv 2403.12031): what mixtures of the points reach.
    Beyond the best point it is flat.
    """
    order = np.lexsort((-points.quality, points.usd))
    corners: list[tuple[float, float]] = []
    for x, y in zip(points.usd[order].tolist(), points.quality[order].tolist()):
        if corners and y <= corners[-1][1]:
            continue
        while len(corners) > 1:
            (x0, y0), (x1, y1) = corners[-2:]
            if (y1 - y0) * (x - x0) > (y - y0) * (x1 - x0):
                break
            corners.pop()  # it lies on or under the line from the one before it
        corners.append((x, y))
    usd, quality = zip(*corners)
    return Points(np.array(usd), np.array(quality))


def average_improvement(points: Points, dearest: float, as_code: bool = False) -> float:
    """RouterBench's AIQ: (integral of the hull from its cheapest point c to `dearest` d) / (d - c).

    Hu and others 2024, arXiv 2403.12031, section 3. `as_code`: divided by d, as the program of the paper does.
    """
    corners = hull(points)
    end = max(dearest, float(corners.usd[-1]))
    area = area_under(np.append(corners.usd, end), np.append(corners.quality, corners.quality[-1]))
    start = 0.0 if as_code else float(corners.usd[0])
    if end > start:
        return area / (end - start)
    return math.nan if as_code else float(corners.quality[0])


def cost_of_quality(points: Points, quality: float) -> float:
    """Least dollars on the hull at which its quality is `quality`.

    RouteLLM (Ong and others 2024, arXiv 2406.18665) tells cost at 80% to 95% of the strong model's quality.
    """
    return _first_at(*hull(points), quality)


def strong_share_area(shares: Shares) -> float:
    """AUC: integral of quality over the share of strong calls, by trapezoids (RouteLLM, arXiv 2406.18665)."""
    return area_under(*shares.in_order())


def performance_gap_recovered(shares: Shares, weak: float, strong: float) -> float:
    """APGR: the mean over shares c of PGR(c) = (quality(c) - weak) / (strong - weak) (RouteLLM, arXiv 2406.18665).

    That is (AUC - weak w) / ((strong - weak) w), where shares have a range w. It is undefined without a gap: if the
    strong model is no better than the weak one, or is the same.
    """
    width = float(np.ptp(shares.share))
    if not (strong > weak and width > 0.0):
        return math.nan
    return (strong_share_area(shares) - weak * width) / ((strong - weak) * width)


def share_that_recovers(shares: Shares, weak: float, strong: float, recovered: float) -> float:
    """CPT(x): the least share of strong calls at which PGR is x, along lines (RouteLLM, arXiv 2406.18665).

    None without a gap, of which a part could be recovered.
    """
    if not strong > weak:
        return math.nan
    return _first_at(*shares.in_order(), weak + recovered * (strong - weak))


def deferral_area(points: Points, dearest: float, up_to: float) -> float:
    """The mean over x in [0, up_to] of the quality at dollars x `dearest`, along lines, constant beyond the points.

    The area under the deferral curve of UniRoute (Jitkrittum and others 2025, arXiv 2502.08773), up to all of the
    dearest model's dollars or to a part.
    """
    if not dearest > 0.0:
        return math.nan
    order = np.argsort(points.usd, kind="stable")
    x, y = points.usd[order] / dearest, points.quality[order]
    inside = (x > 0.0) & (x < up_to)
    first, last = (_at(x, y, end) for end in (0.0, up_to))
    return area_under(np.r_[0.0, x[inside], up_to], np.r_[first, y[inside], last]) / up_to


def least_cost_at(points: Points, quality: float) -> float:
    """Least dollars among the points of at least this quality.

    Divided by the dearest model's dollars, and at the strong model's quality, UniRoute's quality-neutral cost (arXiv
    2502.08773); 1 - that divided by the strong model's dollars is LLMRouterBench's CostSave (arXiv 2601.07206).
    """
    good = points.quality >= quality
    return float(points.usd[good].min()) if good.any() else math.nan


def arena_score(points: Points) -> float:
    """RouterArena's score at its greatest: (1 + b) A C / (b A + C), b = 0.1, A quality, C = log(d / usd) / log(d / c).

    Dollars are per 1,000 prompts, d = 200, c = 0.0044 (arXiv 2510.00202). Of points beyond d, where the formula passes
    through infinity, and of those that cost nothing there is none.
    """
    beta, known = 0.1, (points.usd > 0.0) & (points.usd < ARENA_DEAREST)
    if not known.any():
        return math.nan
    a, c = points.quality[known], np.log(ARENA_DEAREST / points.usd[known]) / math.log(ARENA_DEAREST / ARENA_CHEAPEST)
    return float(np.max((1.0 + beta) * a * c / (beta * a + c)))


def pareto_distance(points: Points, everyone: Points) -> float:
    """Mean Euclidean distance of the points to the nearest of `everyone` that none of them beats.

    Both axes are divided by everyone's range; one beats another where it is no worse in both and better in one.
    LLMRouterBench's ParetoDist (arXiv 2601.07206).
    """
    usd, quality = everyone
    no_worse = (usd[:, None] <= usd) & (quality[:, None] >= quality)
    better = (usd[:, None] < usd) | (quality[:, None] > quality)
    front = ~(no_worse & better).any(axis=0)
    scale = [float(np.ptp(axis)) or 1.0 for axis in everyone]
    away = [np.subtract.outer(of, axis[front]) / s for of, axis, s in zip(points, everyone, scale)]
    return float(np.hypot(*away).min(axis=1).mean())


def area_under(x: Floats, y: Floats) -> float:
    """By trapezoids, points in this order."""
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1])) / 2.0)


def _at(x: Floats, y: Floats, where: float) -> float:
    """Along lines, constant beyond the points; of equal x the first y."""
    right = int(np.searchsorted(x, where))
    near = slice(max(right - 1, 0), right + 1)
    return float(np.interp(where, x[near], y[near]))


def _first_at(x: Floats, y: Floats, mark: float) -> float:
    """The first x at which y reaches the mark, along lines; NaN where it never does."""
    reached = np.flatnonzero(y >= mark)
    if not len(reached):
        return math.nan
    at = reached[0]
    part = (mark - y[at - 1]) / (y[at] - y[at - 1]) if at > 0 else 1.0
    return float(x[at] if at == 0 else x[at - 1] + part * (x[at] - x[at - 1]))


class Forecasts:
    """Answers with a judge's forecast in [0, 1] of what each is worth, sorted once for any weights of the rows.

    `forecast`, `truth`: rows x models. Weights: of each row, whole numbers, how often it counts.
    """

    def __init__(self, forecast: Floats, truth: Floats) -> None:
        row = np.repeat(np.arange(len(truth)), truth.shape[1])
        f, t = forecast.ravel(), truth.ravel()
        known = np.flatnonzero(~np.isnan(f + t))
        known = known[np.argsort(-f[known], kind="stable")]
        self._row, self._truth, descending = row[known], t[known], f[known]
        self._tie = np.append(0, np.cumsum(descending[1:] != descending[:-1]))[: len(known)]
        # Rounded, as 0.4 is the end of a bin also where it is a mean that was summed up.
        self._bin = np.clip(np.ceil(np.round(descending * BINS, 9)) - 1.0, 0, BINS - 1).astype(np.int64)
        self._gap = self._truth - descending

    def calibration_error(self, weights: Floats) -> float:
        """ECE: sum over bins of |sum of (truth - forecast)| / answers, 15 bins of one width (Guo and others 2017)."""
        weight = weights[self._row]
        return float(np.abs(np.bincount(self._bin, weight * self._gap)).sum() / weight.sum())

    def area_under_roc(self, weights: Floats) -> float:
        """That a right answer (truth of at least 0.5) has the greater forecast, ties counted half.

        The Mann-Whitney statistic (Hanley and McNeil 1982).
        """
        count, _, right = self._ties(weights)
        wrong, before = count - right, np.cumsum(right) - right
        pairs = float(right.sum() * wrong.sum())
        return float(np.sum(wrong * (before + 0.5 * right))) / pairs if pairs > 0.0 else math.nan

    def area_under_risk(self, weights: Floats) -> float:
        """AURC: the mean over k of the mean loss, 1 - truth, of the k answers of the greatest forecasts.

        Geifman and El-Yaniv 2017. Within a tie every answer loses its mean l: after K answers that lost C the risks sum
        up to sum over j of (C + j l) / (K + j).
        """
        count, loss, _ = self._ties(weights)
        count, loss = count[count > 0.0], loss[count > 0.0]
        upto = np.cumsum(count)
        before, lost = upto - count, np.cumsum(loss) - loss
        harmonic = np.append(0.0, np.cumsum(1.0 / np.arange(1.0, upto[-1] + 1.0)))
        between = harmonic[upto.astype(np.int64)] - harmonic[before.astype(np.int64)]
        return float(np.sum(loss + (lost - before * loss / count) * between) / upto[-1])

    def risk_at(self, coverage: float, weights: Floats) -> float:
        """The mean loss of that share of the answers, those with the greatest forecasts (El-Yaniv and Wiener 2010)."""
        count, loss, _ = self._ties(weights)
        count, loss = count[count > 0.0], loss[count > 0.0]
        most = coverage * float(count.sum())
        taken = np.clip(most - (np.cumsum(count) - count), 0.0, count)
        return float(np.sum(taken * loss / count) / most)

    def _ties(self, weights: Floats) -> tuple[Floats, Floats, Floats]:
        """By forecast, the greatest first: how many answers, what they lose, how many are right."""
        weight, truth = weights[self._row], self._truth
        by_forecast = [weight, weight * (1.0 - truth), weight * (truth >= 0.5)]
        count, loss, right = (np.bincount(self._tie, of).astype(float) for of in by_forecast)
        return count, loss, right


def field_metrics(
    cascades: Points, models: Points, shares: Shares, best_answers: float, weak: int, strong: int
) -> dict[str, float]:
    """By the names of MEANINGS. `shares`: of the cascades, and of the weak and the strong model alone.

    `best_answers`: mean quality of each prompt's best answer. `weak`, `strong`: which of the models.
    """
    dearest_model, best = float(models.usd.max()), float(cascades.quality.max())
    dearest = max(dearest_model, float(cascades.usd.max()))  # RouterBench integrates to it
    ends = float(models.quality[weak]), float(models.quality[strong])
    at_strong = least_cost_at(cascades, ends[1])
    return {
        "aiq": average_improvement(cascades, dearest),
        "aiq_code": average_improvement(cascades, dearest, as_code=True),
        "aiq_models": average_improvement(models, dearest),
        "auc": strong_share_area(shares),
        "apgr": performance_gap_recovered(shares, *ends),
        **{f"cpt_{part}": share_that_recovers(shares, *ends, part / 100) for part in (50, 80)},
        **{f"usd_at_{part}": cost_of_quality(cascades, part / 100 * ends[1]) for part in (80, 90, 95, 100)},
        "deferral_area": deferral_area(cascades, dearest_model, 1.0),
        "deferral_area_50": deferral_area(cascades, dearest_model, 0.5),
        "quality_neutral_cost": _over(at_strong, dearest_model),
        "arena_score": arena_score(cascades),
        "perf_gain": _over(best, ends[1]) - 1.0,
        "cost_save": 1.0 - _over(at_strong, float(models.usd[strong])),
        "pareto_dist": pareto_distance(cascades, cascades.and_(models)),
        "oracle_gap": 1.0 - _over(best, best_answers),
    }


#: By name, of metrics that are in the order of this list.
MEANINGS = {
    "aiq": "area under the hull over its dollars, divided by their range",
    "aiq_code": "the same, divided by the dearest dollars",
    "aiq_models": "aiq of mixtures of the models alone",
    "auc": "area under quality over the share of strong calls",
    "apgr": "of the gap between weak and strong, on average over shares",
    "cpt_50": "share of strong calls that recovers 50% of the gap",
    "cpt_80": "share of strong calls that recovers 80% of the gap",
    "usd_at_80": "$ per 1,000 at 80% of the strong model's quality, on the hull",
    "usd_at_90": "$ per 1,000 at 90%",
    "usd_at_95": "$ per 1,000 at 95%",
    "usd_at_100": "$ per 1,000 at 100%",
    "deferral_area": "mean quality over shares of the dearest model's dollars, 0 to 1",
    "deferral_area_50": "the same over shares from 0 to 0.5",
    "quality_neutral_cost": "least share of the dearest model's dollars at the strong one's quality",
    "arena_score": "RouterArena's, of the cascade where it is greatest",
    "perf_gain": "greatest quality over the strong model's, less 1",
    "cost_save": "share of the strong model's dollars saved at its quality",
    "pareto_dist": "mean distance to the front of cascades and models",
    "oracle_gap": "1 - greatest quality over that of each prompt's best answer",
    "judge_ece": "the judge's calibration error, 15 bins",
    "judge_ece_calibrated": "the same after the fit's calibration",
    "judge_auroc": "that a right answer's score is the greater one",
    "judge_aurc": "area under risk over coverage, by scores",
    "judge_risk_50": "mean loss of the half with the greatest scores",
}


@dataclass(frozen=True)
class Compared:
    """What is compared on some rows. `cascades`, `models`: a pair of quality and dollars per row for each."""

    cascades: Sequence[tuple[Floats, Floats]]
    models: Sequence[tuple[Floats, Floats]]
    calls_strong: Sequence[npt.NDArray[np.bool_]]  #: by cascade and row
    weak: int  #: of `models`
    strong: int
    groups: Groups

    def field_metrics(self, judge: Optional[tuple[Forecasts, Forecasts]] = None) -> dict[str, Interval]:
        """By name, with 95% intervals: percentiles of a bootstrap over prompts.

        `judge`: what it forecasts, raw and calibrated; without one its metrics are left out.
        """
        sums, by_draw = self._sums(), []
        for weights in prompt_draws(self.groups.count, DRAWS):
            found = self._of_draw(sums, weights)
            if judge is not None:
                (raw, calibrated), of_row = judge, weights[self.groups.of_row]
                found["judge_ece"] = raw.calibration_error(of_row)
                found["judge_ece_calibrated"] = calibrated.calibration_error(of_row)
                found["judge_auroc"] = raw.area_under_roc(of_row)
                found["judge_aurc"] = raw.area_under_risk(of_row)
                found["judge_risk_50"] = raw.risk_at(0.5, of_row)
            by_draw.append(list(found.values()))
        return {name: bootstrap(draws) for name, draws in zip(found, np.array(by_draw).T)}

    def _sums(self) -> Floats:
        """By prompt, a row of each number, so that equal policies have equal means to the last bit."""
        best = np.maximum.reduce([quality for quality, _ in self.models])
        by_row = [np.ones(len(best)), best]
        by_row += [of for quality, usd in (*self.cascades, *self.models) for of in (1000.0 * usd, quality)]
        by_row += [called.astype(float) for called in self.calls_strong]
        return np.stack([self.groups.sums(of) for of in by_row])

    def _of_draw(self, sums: Floats, weights: Floats) -> dict[str, float]:
        total = [float(np.dot(row, weights)) for row in sums]
        mean = np.array(total[1:]) / total[0]
        cascades, models = len(self.cascades), len(self.models)
        points = mean[1 : 1 + 2 * (cascades + models)].reshape(-1, 2)
        of_cascades, of_models = (Points(*some.T) for some in (points[:cascades], points[cascades:]))
        quality = np.r_[of_cascades.quality, of_models.quality[[self.weak, self.strong]]]
        shares = Shares(np.r_[mean[1 + 2 * (cascades + models) :], 0.0, 1.0], quality)
        return field_metrics(of_cascades, of_models, shares, float(mean[0]), self.weak, self.strong)


def prompt_draws(prompts: int, draws: int) -> Iterator[Floats]:
    """How often each prompt comes in a draw of as many: first each of them once, then `draws` draws.

    The same on every machine and in every version of numpy: the k-th number of SplitMix64, modulo the prompts.
    """
    yield np.ones(prompts)
    place = np.arange(prompts, dtype=np.uint64)
    for draw in range(1, draws + 1):
        x = np.uint64(0x6D657472696373) + (place + np.uint64(draw * prompts)) * np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
        drawn = (x ^ (x >> np.uint64(31))) % np.uint64(prompts)
        yield np.bincount(drawn.astype(np.int64), minlength=prompts).astype(float)


def _over(a: float, b: float) -> float:
    return a / b if b > 0.0 else math.nan
