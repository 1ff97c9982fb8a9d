"""Estimates with their intervals: a value, and how much each observation moves it.

Each of the G groups (prompts or sessions) has an influence value psi_i, which says how much it moves the estimate. The
values are centred: their sum is 0. The estimate varies like a sum of G independent draws of such values:

    error = (G / (G - 1) sum_i psi_i^2)^(1/2)

The influence values of a sum, a difference, a multiple and a ratio of estimates follow from theirs. So every interval
of the package is one of these:

- `interval()`: Student's t with G - 1 degrees of freedom. If fewer than `RARE` groups differ from the usual value, it
  is united with the exact interval of Clopper and Pearson (1934), because values that were hardly seen may lie anywhere
  in their range: 60 answers without a failure do not show that there is none.
- `bound()`: one-sided, by Hall's transformation (1992), which follows skewed values such as dollars.
- `robust_interval()`: for weighted logs, in which few groups have much of the weight. It is the union of Student's t,
  with fewer degrees of freedom the larger the kurtosis is, and of Hall's interval.
- `bootstrap()`: for numbers without influence values, such as an area under a curve.

All are 95% intervals. An estimate for a policy that was fitted on part of the same rows is `widened()` first. A value
with a known range is never promised outside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np

from .. import _core
from ..interval import Interval as Interval  # also used for estimates here
from .groups import FOLDS, Floats, Groups, Ints


def cross_fitted(folds: int) -> float:
    """The factor by which intervals after cross-fitting are wider. They also count how the fit would vary between
    tables: the variance times 1 + folds / (folds - 1) (Nadeau and Bengio 2003).
    """
    return math.sqrt(1.0 + folds / (folds - 1.0))


CROSS_FITTED = cross_fitted(FOLDS)

#: With fewer groups than this that differ from the usual value, Student's t is not reliable.
RARE = 5

#: A number that is undefined in a greater share of a bootstrap's draws has no interval.
MOST_UNDEFINED = 0.05

UNKNOWN = Interval(math.nan, math.nan, math.nan)


#: For one_more(). A single group stands out if its squared deviation is a greater share of the sum of all than
#: STANDS_OUT, and the skewness is above SKEWED. Ordinary dollars of 400 prompts have shares of 0.02 to 0.05, those from
#: lognormal laws 0.06 and more. The farthest of 100 normal numbers also stands out, but is no tail.
STANDS_OUT, SKEWED = 0.06, 1.0


@dataclass(frozen=True)
class Estimate:
    """A value and its influence values, one for each group.

    `unseen`: how far the value may lie below and above, because values that occur rarely were hardly seen (_unseen).
    `variance`: further known variance, besides that of the groups (answers that are rarely labelled). `range`: the
    range of the value. `widening`: the factor by which its intervals are wider than those over groups.
    """

    value: float
    influence: Floats
    unseen: tuple[float, float] = (0.0, 0.0)
    variance: float = 0.0
    range: tuple[float, float] = (-math.inf, math.inf)
    widening: float = 1.0

    @staticmethod
    def mean(by_row: Floats, groups: Groups, range: Optional[tuple[float, float]] = None) -> Estimate:
        """The mean over rows. `range`: the range of every row's value, if it is known."""
        value = float(np.mean(by_row))
        estimate = Estimate(value, groups.sums(by_row - value) / len(by_row))
        if range is None:
            return estimate
        return replace(estimate, unseen=_unseen(value, estimate.influence, range), range=range)

    @staticmethod
    def jackknife_ratio(above: Floats, below: Floats, groups: Groups) -> Estimate:
        """sum(above) / sum(below), by leaving each group out, for sums in which single groups have much weight."""
        a, b = groups.sums(above), groups.sums(below)
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = np.where(b.sum() - b > 0.0, (a.sum() - a) / (b.sum() - b), np.inf)
            value, count = float(np.divide(a.sum(), b.sum())), groups.count
            return Estimate(value, -(count - 1.0) / count * (rest - rest.mean()))

    @staticmethod
    def jackknife_mean(by_row: Floats, groups: Groups) -> Estimate:
        """The mean over rows, by leaving each group out."""
        return Estimate.jackknife_ratio(by_row, np.ones(len(by_row)), groups)

    @staticmethod
    def saving(usd: Floats, of_model: Floats, groups: Groups) -> Estimate:
        """1 - usd / of_model, to the first order: the share of a model's dollars that is saved; NaN if the model costs
        nothing.
        """
        total = float(np.sum(of_model))
        if not total > 0.0:
            return Estimate(math.nan, np.full(groups.count, math.nan))
        ratio = float(np.sum(usd)) / total
        return Estimate(1.0 - ratio, -(groups.sums(usd - ratio * of_model) / total))

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(
            self.value + other.value,
            self.influence + other.influence,
            (self.unseen[0] + other.unseen[0], self.unseen[1] + other.unseen[1]),
            self.variance + other.variance,
            widening=max(self.widening, other.widening),
        )

    def __sub__(self, other: Estimate) -> Estimate:
        return self + -1.0 * other

    def __rmul__(self, factor: float) -> Estimate:
        down, up = self.unseen if factor >= 0.0 else self.unseen[::-1]
        ends = sorted(factor * end if factor != 0.0 else 0.0 for end in self.range)
        return Estimate(
            factor * self.value,
            factor * self.influence,
            (abs(factor) * down, abs(factor) * up),
            factor**2 * self.variance,
            (ends[0], ends[1]),
            self.widening,
        )

    def __truediv__(self, other: Estimate) -> Estimate:
        """The ratio of two estimates, to the first order."""
        if not other.value > 0.0:
            return Estimate(math.nan, np.full(len(self.influence), math.nan))
        value = self.value / other.value
        moved = (1.0 / other.value) * (self - value * other)
        return replace(moved, value=value)

    def widened(self, factor: float = CROSS_FITTED) -> Estimate:
        """The same estimate with intervals that are wider by `factor`, for a policy that was fitted on part of the same
        groups.
        """
        return replace(self, widening=self.widening * factor)

    @property
    def error(self) -> float:
        """The standard error, widened; NaN for a single group."""
        count = len(self.influence)
        if count < 2:
            return math.nan
        over_groups = count / (count - 1.0) * float(np.sum(self.influence**2))
        return self.widening * math.sqrt(over_groups + self.variance)

    @property
    def differing(self) -> int:
        """The number of groups whose values differ from the usual one."""
        return _usual(self.influence)[1]

    @property
    def skewness(self) -> float:
        """The skewness of the influence values."""
        second = float(np.mean(self.influence**2))
        return float(np.mean(self.influence**3)) / second**1.5 if second > 0.0 else 0.0

    def interval(self) -> Interval:
        """Student's t over groups, united with the possible effect of unseen groups."""
        half = _student(0.975, len(self.influence) - 1.0) * self.error
        down, up = (max(half, self.widening * unseen) for unseen in self.unseen)
        return self._within(self.value - down, self.value + up)

    def bound(self, upper: bool, level: float = 0.95) -> float:
        """A one-sided bound on the true value with that confidence, for skewed values (Hall 1992)."""
        count = len(self.influence)
        t = _student(1.0 - level if upper else level, count - 1.0)
        a = self.skewness / math.sqrt(count)
        shifted = t - a / 6.0
        quantile = shifted if abs(a) < 1e-6 else 3.0 / a * (float(np.cbrt(1.0 + a * shifted)) - 1.0)
        by_groups = self.value - self.error * quantile
        down, up = (self.widening * unseen for unseen in self.unseen)
        if upper:
            return min(max(by_groups, self.value + up if up > 0.0 else -math.inf), self.range[1])
        return max(min(by_groups, self.value - down if down > 0.0 else math.inf), self.range[0])

    def one_more(self) -> float:
        """If one group stands out far above the others, a further group like it may be missing from the sample. Returns
        its influence, which is the amount that such a group would add to the estimate; otherwise 0.

        Among equally many further groups, about one is expected beyond the farthest that was seen. Under a law with a
        heavy tail, a sample without such a group has too low a mean and too small a skewness, and a bound then only
        seems to hold.
        """
        squares = float(np.sum(self.influence**2))
        most = float(self.influence.max(initial=0.0))
        return most if self.skewness > SKEWED and most**2 > STANDS_OUT * squares else 0.0

    def robust_interval(self) -> Interval:
        """For weighted values. It held the true value in 95.3% of made-up logs, Student's t in 92.4%."""
        count = len(self.influence)
        second = float(np.mean(self.influence**2)) if count else 0.0
        if count < 2 or not math.isfinite(self.value):
            return Interval(self.value, math.nan, math.nan)
        if second + self.variance == 0.0:
            return self._within(self.value - self.unseen[0], self.value + self.unseen[1])
        kurtosis = float(np.mean(self.influence**4)) / second**2 if second > 0.0 else 1.0
        freedom = min(max(2.0 * count / max(kurtosis - 1.0, 1e-9), 2.0), count - 1.0)
        half = _student(0.975, max(freedom, 1.0)) * self.error
        root, t = math.sqrt(count), _student(0.975, count - 1.0)
        a, b = self.skewness / (3.0 * root), self.skewness / (6.0 * root)

        def untransformed(x: float) -> float:
            return x if abs(a) < 1e-9 else (float(np.cbrt(1.0 + 3.0 * a * (x - b))) - 1.0) / a

        low = max(half, self.error * untransformed(t), self.widening * self.unseen[0])
        high = max(half, -self.error * untransformed(-t), self.widening * self.unseen[1])
        return self._within(self.value - low, self.value + high)

    def _within(self, low: float, high: float) -> Interval:
        """The interval [low, high] cut to `range`. If the value itself lies outside the range, the range's end takes
        its place and is one end of the interval.
        """
        least, greatest = self.range
        value = min(max(self.value, least), greatest)
        return Interval(value, min(max(low, least), value) if low == low else low, max(min(high, greatest), value))


def corrected(whole: Floats, by_fold: Floats, folds: Ints) -> Floats:
    """By row, what a policy fitted on all rows would do on other prompts (Burman 1989, corrected cross-validation).

    `whole`: ... x rows; `by_fold`: FOLDS x ... x rows, the results of each fold's fit on every row. The fit on all rows
    looks too good on these rows. The folds' fits show by how much: they do better on all rows than in their own fold.
    """
    less = held_out(by_fold, folds) - by_fold.mean(axis=0)
    of_fold = np.stack([less[..., folds == fold].mean(axis=-1) for fold in range(len(by_fold))], axis=-1)
    out: Floats = whole + less - of_fold[..., folds] + less.mean(axis=-1, keepdims=True)
    return out


def held_out(by_fold: Floats, folds: Ints) -> Floats:
    """By row, the result of the fit without its fold: ... x rows from FOLDS x ... x rows."""
    out: Floats = np.empty_like(by_fold[0])
    for fold, of_fold in enumerate(by_fold):
        out[..., folds == fold] = of_fold[..., folds == fold]
    return out


def bootstrap(by_draw: Floats) -> Interval:
    """The interval of a value from its values in draws of groups with replacement: their percentiles.

    The ends are NaN if the value is undefined in all draws, or in a greater share than MOST_UNDEFINED.
    """
    value, draws = float(by_draw[0]), by_draw[1:]
    finite = draws[np.isfinite(draws)]
    if not len(finite) or len(draws) - len(finite) > MOST_UNDEFINED * len(draws):
        return Interval(value, math.nan, math.nan)
    low, high = np.quantile(finite, [0.025, 0.975])
    return Interval(value, min(float(low), value), max(float(high), value))


def stretched(interval: Interval, to: float) -> Interval:
    """The interval with its low end moved down, or its high end up, by the distance of `to` from its value."""
    further = to - interval.value
    return interval._replace(low=interval.low + min(further, 0.0), high=interval.high + max(further, 0.0))


def no_surer(interval: Interval, other: Interval) -> Interval:
    """The interval with a low end that is at most the other's."""
    return interval._replace(low=min(interval.low, other.low))


def unpaired(a: Interval, b: Interval) -> Interval:
    """The difference of two estimates that are not paired."""
    value = a.value - b.value
    return Interval(
        value,
        value - math.hypot(a.value - a.low, b.high - b.value),
        value + math.hypot(a.high - a.value, b.value - b.low),
    )


def _student(probability: float, freedom: float) -> float:
    return _core.student_t_quantile(probability, freedom) if freedom > 0.0 else math.nan


def most_share(differ: float, count: float) -> float:
    """The upper end of the 95% interval of a share that was `differ` out of `count` (Clopper and Pearson 1934)."""
    return _core.beta_quantile(0.975, differ + 1.0, count - differ)


def _usual(influence: Floats) -> tuple[float, int]:
    """By how much most groups' values lie above the mean, and how many groups differ from them."""
    shifts, counts = np.unique(np.round(influence * len(influence), 9), return_counts=True)
    return float(shifts[np.argmax(counts)]), len(influence) - int(counts.max())


def _unseen(value: float, influence: Floats, range: tuple[float, float]) -> tuple[float, float]:
    """How far groups like those that were hardly seen may move a mean down and up.

    If hardly any group differs from the usual value, the share of groups that differ is binomial. Clopper and Pearson
    bound it, and each such group may lie at the end of the range. If `RARE` groups differ, Student's t is valid.
    """
    count, (shift, differ) = len(influence), _usual(influence)
    if differ >= RARE or count < 2:
        return 0.0, 0.0
    usual = value + shift
    more_differ = most_share(differ, count) - differ / count
    return max(0.0, more_differ * (usual - range[0])), max(0.0, more_differ * (range[1] - usual))
