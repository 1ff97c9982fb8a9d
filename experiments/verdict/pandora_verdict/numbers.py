"""The published numbers one by one: z, unadjusted and adjusted; ratios of groups of them, and how many are inside."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Optional, TypeVar

import numpy as np

from .control_variates import Covariate, adjusted_mean
from .panels import LEAST_FOR_COMPARISON, ORDER, PAPER_REPLICATIONS, ROWS, Entry, Panel
from .sample import UNKNOWN, Estimate, Sample, Values, student_factor

LEAST_FOR_ADJUSTMENT = 30
PRINTED = 0.01  # the unit of the last published place
T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True)
class Judgement:
    """Our number beside a published one, unadjusted or adjusted.

    z = 1.96 (ours - published) / joint, joint^2 = (1.96 standard_error)^2 + published_half_width^2, where the published
    half-width is 1.96 standard errors; NaN with too few replications. Inside: |ours - published| <= joint. `ours` has
    the interval of Student's t. `error` and `residual` are as in AdjustedMean, None if no replication is kept.
    """

    ours: Estimate
    standard_error: float
    published_half_width: float
    z: float
    inside: bool
    error: Optional[Values] = None
    residual: Optional[Values] = None


NOT_JUDGED = Judgement(Estimate(UNKNOWN, UNKNOWN), UNKNOWN, UNKNOWN, UNKNOWN, False)


@dataclass(frozen=True)
class Number:
    """A published number: a regret, or a number of a panel's header or of Table 3.

    `adjusted`: the expectation for 50 replications whose oracle has the published utility and boxes (for regrets),
    without our own luck in the costs. The published half-width is then that of the part which the header does not
    explain.
    """

    kind: str
    setting: str
    environment: str
    regime: str
    policy: str
    reward: str
    T0: Optional[int]
    published: Estimate
    plain: Judgement
    adjusted: Judgement

    @property
    def is_regret(self) -> bool:
        """Whether it stands in Table 1 or 2."""
        return self.kind == "regret_x1000"

    @property
    def row(self) -> str:
        """Such as dow/known."""
        return f"{self.policy}/{self.reward}" if self.reward else self.policy


def _judgement(
    ours: Estimate,
    own_error: float,
    published: Estimate,
    rounding: float,
    error: Optional[Values],
    residual: Optional[Values],
) -> Judgement:
    difference, joint = ours.mean - published.mean, math.hypot(1.96 * own_error, published.half_width, rounding)
    if joint == 0.0:  # Table 3 in regime A: no replication differs
        z = 0.0 if difference == 0.0 else math.copysign(math.inf, difference)
    else:
        z = 1.96 * difference / joint
    return Judgement(ours, own_error, published.half_width, z, abs(difference) <= joint, error, residual)


def _deviation(about_zero: Values) -> float:
    return math.sqrt(float(about_zero @ about_zero) / (len(about_zero) - 1))


def _judged(sample: Sample, header: Sequence[Covariate], costs: Sequence[Covariate]) -> tuple[Judgement, Judgement]:
    """Unadjusted and adjusted."""
    published = sample.published
    about_mean = None if sample.values is None else sample.values - sample.mean
    plain = _judgement(sample.interval, sample.standard_error, published, 0.0, about_mean, about_mean)
    if sample.n < LEAST_FOR_COMPARISON:
        plain = replace(plain, z=UNKNOWN)
    if sample.values is None or sample.n < LEAST_FOR_ADJUSTMENT:
        return plain, NOT_JUDGED
    mean = adjusted_mean(sample.values, header, costs)
    # The header explains the same part of the scatter of our replications and of the paper's.
    explained = _deviation(mean.residual) / sample.deviation if sample.deviation > 0.0 else 1.0
    given = Estimate(published.mean, published.half_width * explained)
    ours = Estimate(mean.mean, student_factor(mean.degrees) * mean.standard_error)
    return plain, _judgement(ours, mean.standard_error, given, 1.96 * mean.rounding, mean.error, mean.residual)


Key = tuple[str, ...]  # setting, kind, regime, environment, policy, reward, T0


def judge(panel: Panel, kept: Mapping[Key, Judgement] = MappingProxyType({})) -> list[Number]:
    """The published numbers of a panel: its regrets, then utility, boxes and Table 3.

    `kept`: adjusted judgements of a panel without single replications.
    """
    header = [
        Covariate(sample.values, sample.published.mean, PRINTED)
        for sample in (panel.utility, panel.boxes)
        if sample is not None and sample.values is not None and sample.is_published
    ]
    out: list[Number] = []

    def add(kind: str, sample: Optional[Sample], entry: Optional[Entry] = None) -> None:
        if sample is None or not sample.is_published:
            return
        plain, adjusted = _judged(sample, header if entry else [], panel.costs)
        policy, reward, T0 = (entry.policy, entry.reward, entry.T0) if entry else ("", "", None)
        key = (panel.setting, kind, panel.regime, panel.environment, policy, reward, "" if T0 is None else str(T0))
        adjusted = kept.get(key, adjusted) if sample.values is None else adjusted
        lead = (kind, panel.setting, panel.environment, panel.regime)
        out.append(Number(*lead, policy, reward, T0, sample.published, plain, adjusted))

    for entry in panel.entries:
        add("regret_x1000", entry.regrets, entry)
    add("oracle_utility_x1000", panel.utility)
    if panel.boxes is not None:
        # The paper gives no half-width. In its place stands that of 50 replications that scatter as ours.
        assumed = 1.96 * panel.boxes.deviation / math.sqrt(PAPER_REPLICATIONS)
        add("boxes_queried", replace(panel.boxes, published=Estimate(panel.boxes.published.mean, assumed)))
    for kind, sample in zip(ORDER, panel.order):
        add(kind, sample)
    return out


@dataclass(frozen=True)
class Group:
    """Several regrets: how many are inside, the root mean square of z, the mean of ours / published."""

    of: int
    inside: int
    rms_z: float
    ratio: Estimate


def mean_ratio(numbers: Sequence[Number], judgements: Sequence[Judgement]) -> Estimate:
    """The mean of ours / published, with the 95% interval that the standard errors of both sides give.

    Numbers of a panel share instances, in our results and, as it is taken to be, in the paper's: errors of the
    published numbers are correlated as ours are, replication by replication; panels are independent. With weights
    w = 1 / (count published), the variance is the sum over panels of var(sum w error) / n and of
    var(sum w ratio half_width / (1.96 s) residual), s the deviation of the residual. Student's t has the degrees of
    freedom of the side with fewer replications.
    """
    count = len(numbers)
    ratios = [judged.ours.mean / number.published.mean for number, judged in zip(numbers, judgements)]
    sums: dict[Hashable, list[Values]] = {}
    for number, judged, ratio in zip(numbers, judgements, ratios):
        if judged.error is None or judged.residual is None:
            return Estimate(sum(ratios) / count, UNKNOWN)
        scatter = _deviation(judged.residual)
        theirs = ratio * judged.published_half_width / 1.96 / scatter * judged.residual if scatter > 0.0 else 0.0
        both = np.array([judged.error, theirs * np.ones(len(judged.error))]) / (count * number.published.mean)
        sums.setdefault((number.setting, number.environment, number.regime), []).append(both)
    variance, replications = 0.0, PAPER_REPLICATIONS
    for terms in sums.values():
        ours, theirs = np.sum(terms, axis=0)
        replications = min(replications, len(ours))
        variance += _deviation(ours) ** 2 / len(ours) + _deviation(theirs) ** 2
    return Estimate(sum(ratios) / count, student_factor(replications - 1) * math.sqrt(variance))


def summarise(numbers: Sequence[Number], adjusted: bool) -> Group:
    """Summarises the numbers; a ratio only for regrets."""
    judgements = [number.adjusted if adjusted else number.plain for number in numbers]
    rms_z = math.sqrt(sum(judged.z**2 for judged in judgements) / len(numbers)) if numbers else UNKNOWN
    regrets = len(numbers) > 0 and all(number.is_regret for number in numbers)
    ratio = mean_ratio(numbers, judgements) if regrets else Estimate(UNKNOWN, UNKNOWN)
    return Group(len(numbers), sum(judged.inside for judged in judgements), rms_z, ratio)


def grouped(numbers: Iterable[Number], key: Callable[[Number], T]) -> dict[T, list[Number]]:
    """The regrets grouped by `key`, in their order."""
    out: dict[T, list[Number]] = {}
    for number in numbers:
        if number.is_regret:
            out.setdefault(key(number), []).append(number)
    return out


def by_row(numbers: Iterable[Number]) -> dict[tuple[str, str], list[Number]]:
    """The regrets by row of Tables 1 and 2, in the paper's order."""
    found = grouped(numbers, lambda number: (number.policy, number.reward))
    return {(policy, printed): found[policy, printed] for policy, _, printed in ROWS if (policy, printed) in found}
