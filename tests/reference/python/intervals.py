"""Estimates that are ratios of totals over clusters, and their intervals.

Every estimator of off_policy.py is R = sum_c A_c / sum_c B_c, or a sum of such ratios with coefficients, where A_c and
B_c are totals over the rows of cluster c (a prompt, with all requests or answers that belong to it):

    IPS, DR      A = sum of contributions of the cluster's rows, B = number of its rows
    SNIPS        A = sum of weight x outcome,                    B = sum of weights

Linearised (Taylor): the cluster moves R by d_c = (A_c - R B_c) / mean(B). The d_c sum to 0 over clusters, and
var(R) = sum d_c^2 / (G (G - 1)) for G clusters. Sources: Cochran, Sampling Techniques (1977), chapter 6; Liang and
Zeger, Longitudinal data analysis using generalized linear models (1986), for the cluster-robust variance.

Jackknifed: d_c = -(G - 1) (R without c - mean over c of R without c). For means this is the same. For ratios with few
heavy clusters it is greater, because a heavy cluster that pulls R towards itself no longer hides how far away it lies
(Miller 1974; CR3 of MacKinnon and White 1985).

Use the interval `best`. The others are here to be compared (coverage.py):
    t          R +- t_{G-1} se, linearised
    t_jack     the same, jackknifed
    t_kurtosis jackknifed, with 2 G / (k - 1) degrees of freedom, where k is the kurtosis of d. The variance of s^2 is
               s^4 (k - 1) / G, and that of a chi-square with nu degrees of freedom is 2 s^4 / nu (Satterthwaite 1946).
               For normal d it is t_G
    hall       Hall, On the removal of skewness by transformation (1992). T = (R - theta) / se, with jackknifed d, is
               made symmetric by g(T) = T + a T^2 + a^2 T^3 / 3 + b with a = skew / (3 sqrt G) and
               b = skew / (6 sqrt G). The interval is solved for theta
    bootstrap  percentiles of R over clusters drawn with replacement (Efron 1979; Field and Welsh 2007 for clusters)
    best       from the lesser lower end to the greater upper end of t_kurtosis and hall
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Ratio:
    """`coefficient` x sum(numerator) / sum(denominator). Both arrays have a total for each cluster."""

    numerator: Floats
    denominator: Floats
    coefficient: float = 1.0

    def times(self, factor: float) -> Ratio:
        """The same ratio with its coefficient multiplied by `factor`."""
        return Ratio(self.numerator, self.denominator, self.coefficient * factor)


@dataclass(frozen=True)
class Interval:
    """An estimate with its 95% interval (or another level)."""

    value: float
    low: float
    high: float

    def holds(self, truth: float) -> bool:
        """Whether the truth lies inside, ends included."""
        return self.low <= truth <= self.high


def cluster_totals(values: Floats, cluster: Ints) -> Floats:
    """The totals of rows by cluster. Clusters have numbers from 0 on."""
    return np.bincount(cluster, weights=values, minlength=int(cluster.max()) + 1)


def ratio_of(contribution: Floats, weight: Floats, cluster: Ints) -> Ratio:
    """sum(contribution) / sum(weight) over rows."""
    return Ratio(cluster_totals(contribution, cluster), cluster_totals(weight, cluster))


def mean_of(contribution: Floats, cluster: Ints) -> Ratio:
    """The mean over rows."""
    return ratio_of(contribution, np.ones(len(contribution)), cluster)


def linearise(parts: Sequence[Ratio]) -> tuple[float, Floats]:
    """The value of the sum of the parts, and by how much each cluster moves it (d_c, with sum 0)."""
    value, moved = 0.0, np.zeros(len(parts[0].numerator))
    for part in parts:
        ratio = float(part.numerator.sum() / part.denominator.sum())
        value += part.coefficient * ratio
        moved += part.coefficient * (part.numerator - ratio * part.denominator) / part.denominator.mean()
    return value, moved


@functools.lru_cache(maxsize=1)
def _legendre() -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(120)
    return nodes, weights


def jackknife(parts: Sequence[Ratio]) -> tuple[float, Floats]:
    """Like `linearise`, but from the values without each cluster. d_c is infinite if the cluster has all of the
    weight.
    """
    value, without = 0.0, np.zeros(len(parts[0].numerator))
    for part in parts:
        above, below = part.numerator.sum() - part.numerator, part.denominator.sum() - part.denominator
        value += part.coefficient * float(part.numerator.sum() / part.denominator.sum())
        without += part.coefficient * np.divide(above, below, out=np.full(len(below), np.inf), where=below > 0)
    return value, -(len(without) - 1) * (without - without.mean())


def student_cdf(t: float, freedom: float) -> float:
    """P(T <= t) by Gauss-Legendre quadrature of the density in the angle: t = sqrt(freedom) tan(a)."""
    nodes, weights = _legendre()
    angle = math.atan(abs(t) / math.sqrt(freedom))
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
    half = scale * angle / 2 * float(np.sum(weights * np.cos(angle * (nodes + 1) / 2) ** (freedom - 1)))
    return 0.5 + half if t > 0 else 0.5 - half


def student_quantile(p: float, freedom: float) -> float:
    """The quantile of Student's t by bisection. More than 20,000 degrees of freedom count as 20,000."""
    low, high = -1e3, 1e3
    freedom = min(freedom, 2e4)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if student_cdf(middle, freedom) < p else (low, middle)
    return (low + high) / 2


@functools.lru_cache(maxsize=4096)
def _t(level: float, freedom: float) -> float:
    return student_quantile((1 + level) / 2, max(freedom, 1.0))


def standard_error(moved: Floats) -> float:
    """The cluster-robust standard error, from the amounts by which each cluster moves the estimate."""
    clusters = len(moved)
    return math.sqrt(float(np.sum(moved**2)) / (clusters * (clusters - 1)))


def t_interval(parts: Sequence[Ratio], level: float = 0.95, jackknifed: bool = False) -> Interval:
    """Cluster-robust interval with G - 1 degrees of freedom."""
    value, moved = jackknife(parts) if jackknifed else linearise(parts)
    half = _t(level, len(moved) - 1) * standard_error(moved)
    return Interval(value, value - half, value + half)


def kurtosis_freedom(moved: Floats) -> float:
    """2 G / (kurtosis - 1), at most G - 1 and at least 2."""
    clusters, second = len(moved), float(np.mean(moved**2))
    if second == 0:
        return clusters - 1.0
    kurtosis = float(np.mean(moved**4)) / second**2
    return min(max(2 * clusters / max(kurtosis - 1, 1e-9), 2.0), clusters - 1.0)


def t_kurtosis_interval(parts: Sequence[Ratio], level: float = 0.95) -> Interval:
    """An interval with fewer degrees of freedom under heavy tails."""
    value, moved = jackknife(parts)
    half = _t(level, kurtosis_freedom(moved)) * standard_error(moved)
    return Interval(value, value - half, value + half)


def hall_interval(parts: Sequence[Ratio], level: float = 0.95) -> Interval:
    """An interval by Hall's transformation, which takes the skewness into account."""
    value, moved = jackknife(parts)
    clusters, second = len(moved), float(np.mean(moved**2))
    error, quantile = standard_error(moved), _t(level, len(moved) - 1)
    if second == 0:
        return Interval(value, value, value)
    skewness = float(np.mean(moved**3)) / second**1.5
    a, b = skewness / (3 * math.sqrt(clusters)), skewness / (6 * math.sqrt(clusters))
    if abs(a) < 1e-9:
        return Interval(value, value - quantile * error, value + quantile * error)

    def untransformed(x: float) -> float:
        return (float(np.cbrt(1 + 3 * a * (x - b))) - 1) / a

    return Interval(value, value - error * untransformed(quantile), value - error * untransformed(-quantile))


def best_interval(parts: Sequence[Ratio], level: float = 0.95) -> Interval:
    """The union of t_kurtosis and hall."""
    one, other = t_kurtosis_interval(parts, level), hall_interval(parts, level)
    return Interval(one.value, min(one.low, other.low), max(one.high, other.high))


def drawn_clusters(clusters: int, rng: np.random.Generator, draws: int = 399) -> Floats:
    """How often each draw has each cluster, draws x clusters."""
    picked = rng.integers(0, clusters, size=(draws, clusters)) + clusters * np.arange(draws)[:, None]
    return np.bincount(picked.ravel(), minlength=draws * clusters).reshape(draws, clusters).astype(float)


def bootstrap_interval(parts: Sequence[Ratio], counts: Floats, level: float = 0.95) -> Interval:
    """The percentile interval over clusters drawn with replacement. `counts` says how often each is drawn.

    A draw without any weight has no value and is left out. The ends are quantiles by linear interpolation.
    """
    value, _ = linearise(parts)
    drawn = np.zeros(len(counts))
    for part in parts:
        below = counts @ part.denominator
        drawn += part.coefficient * np.divide(
            counts @ part.numerator, below, out=np.full(len(counts), np.nan), where=below > 0
        )
    low, high = np.nanquantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(value, float(low), float(high))
