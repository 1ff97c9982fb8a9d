"""Estimates from a log of decisions for a policy that did not make it: importance weights, doubly robust, with
intervals.

Along the calls of a policy, in T steps, a row has a ratio for each step, [the log did what the policy does] / its
probability, and forecasts v_0 ... v_T of an outcome y before and after each step, v_T = y. With w_t the product of the
first t ratios the mean outcome is

    IPS     sum w_T y / n
    SNIPS   sum w_T y / sum w_T
    DR      sum (v_0 + sum_t w_t (v_t - v_{t-1})) / n,   unbiased whatever v is (Jiang and Li 2016)

where n counts the decisions that the rows stand for (`CallLog.stands_for`); those without a row add v_0. The last step
of a path is that the quality of the deployed answer became known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple, Optional

import numpy as np
import numpy.typing as npt

from ..errors import DataError
from ..spelling import option
from .call_log import DROPPED, Bools, CallLog, Openings
from .estimate import Estimate, Interval, stretched
from .groups import Floats, Groups, Ints
from .notes import Note, Topic
from .outcomes import CALLS, USD
from .sources.labels import augmented
from .worth import Worth

#: The least number of effective prompts for an estimate.
LEAST_EFFECTIVE = 30.0
#: In this many decisions a policy wants a call that the log never makes there: this is then no chance.
SEVERAL = 5
#: The prior of the noise of labels: additional known answers, and the mean of their (q - g)^2.
PRIOR, PRIOR_RESIDUAL = 5.0, 0.25


class Estimator(Enum):
    """How a value is estimated; for a full table by the plain mean."""

    PLUGIN = "plugin"
    IPS = "ips"
    SNIPS = "snips"
    DR = "dr"


class LabelNoise(NamedTuple):
    """The uncertainty of a sum over decisions in which qualities are rarely known. Numbers, or arrays of them.

    A decision of weight w whose answer's quality q becomes known with probability p adds w (q - g) / p to the sum if it
    does, where g is the judge's estimate. If p is small, few decisions carry most of the sum's variance; if by chance
    none of them is known, the sum seems certain. So its variance is computed as sum(w^2 (1 - p) / p) times the mean of
    (q - g)^2. The mean is over known answers and PRIOR additional ones, with the average weight of known ones and a
    value of 0.25. This is the value for answers that are right or wrong of which the judge knows half.
    """

    expected: Floats
    known: Floats
    residual: Floats
    fourth: Floats

    @staticmethod
    def of(weight: Floats, p: Floats, q_less_g: Floats) -> LabelNoise:
        """By decision. `q_less_g`: NaN if the quality is unknown."""
        known = ~np.isnan(q_less_g)
        second = weight**2 * (1.0 - p) / p
        seen = np.where(known, second / p, 0.0)
        return LabelNoise(second, seen, seen * np.nan_to_num(q_less_g) ** 2, second**2 / p)

    def total(self) -> LabelNoise:
        """Over decisions."""
        return LabelNoise(*(np.asarray(np.sum(summand)) for summand in self))

    def unseen(self) -> Floats:
        """The variance beyond that of known labels; 0 if every label is known."""
        is_uncertain = self.expected > 0.0
        expected = np.where(is_uncertain, self.expected, 1.0)
        prior = PRIOR * self.fourth / expected
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = expected * (self.residual + prior * PRIOR_RESIDUAL) / (self.known + prior)
        return np.where(is_uncertain, np.maximum(np.nan_to_num(variance - self.residual), 0.0), 0.0)


class Paths(NamedTuple):
    """ratio: rows x T, 1 once the policy has stopped. forecast: rows x (T + 1), finite also where nothing was seen."""

    ratio: Floats
    forecast: Floats

    @staticmethod
    def of(ratio: Floats, so_far: Floats, outcome: Floats, log: CallLog) -> Paths:
        """Forecasts are the sum so far (rows x (T + 1)) and the mean, on other folds, of the remaining part."""
        weights, to_come = log.sampling * np.prod(ratio, axis=1), outcome[:, None] - so_far[:, :-1]
        rest = np.zeros(to_come.shape)
        for fold in range(int(log.folds.max()) + 1):
            in_fold, others = log.folds == fold, log.folds != fold
            total = float(weights[others].sum())
            if total > 0.0:
                rest[in_fold] = weights[others] @ to_come[others] / total
        return Paths(ratio, np.column_stack([so_far[:, :-1] + rest, outcome]))

    @property
    def weights(self) -> Floats:
        """By row, w_T."""
        weights: Floats = np.prod(self.ratio, axis=1)
        return weights

    def estimate(self, estimator: Estimator, log: CallLog) -> Estimate:
        """Of the mean outcome."""
        weights = log.sampling * self.weights
        if estimator is Estimator.DR:
            corrections = np.sum(np.cumprod(self.ratio, axis=1) * np.diff(self.forecast, axis=1), axis=1)
            above = log.stands_for * self.forecast[:, 0] + log.sampling * corrections
            return Estimate.jackknife_ratio(above, log.stands_for, log.groups)
        below = weights if estimator is Estimator.SNIPS else log.stands_for
        return Estimate.jackknife_ratio(weights * self.forecast[:, -1], below, log.groups)


@dataclass(frozen=True)
class LoggedWalks:
    """The calls of a policy that the log's decisions made too, for every row."""

    cells: Ints  #: rows x T, the models in the order of the calls, -1 for none
    diverged: Bools  #: whether the policy's next call was not made by the log
    deployed: Ints  #: a model; meaningless if it diverged
    judge_usd: Floats  #: added to the dollars of each call

    @staticmethod
    def of(
        log: CallLog, called: npt.NDArray[np.integer], deployed: npt.NDArray[np.integer], judged: Bools
    ) -> LoggedWalks:
        """`called`: rows x positions, the models that a policy calls when it sees what the log saw, then -1. `judged`:
        by row, whether it looks at answers.
        """
        calls, place = called >= 0, np.take_along_axis(log.place, np.maximum(called, 0), axis=1)
        in_place = place == np.arange(1, called.shape[1] + 1)
        is_same = in_place if log.openings is Openings.IN_ORDER else ~np.isnan(place)
        made = np.logical_and.accumulate(calls & is_same, axis=1)
        diverged: Bools = np.any(calls & ~made, axis=1)
        judge = np.where(judged, log.judge_usd, 0.0)
        return LoggedWalks(np.where(made, called, -1).astype(np.int64), diverged, deployed.astype(np.int64), judge)

    @staticmethod
    def alone(log: CallLog, model: int) -> LoggedWalks:
        """For a model alone, which needs no judge."""
        called = np.full((log.rows, 1), model)
        return LoggedWalks.of(log, called, called[:, 0], np.zeros(log.rows, bool))

    @staticmethod
    def unknown(log: CallLog, positions: int) -> LoggedWalks:
        """Walks that are still unknown; put() fills them in."""
        empty = np.full((log.rows, positions), -1, np.int64)
        return LoggedWalks(empty, np.ones(log.rows, bool), np.zeros(log.rows, np.int64), np.zeros(log.rows))

    def put(self, rows: Ints, walks: LoggedWalks) -> None:
        """Fills in the walks of these rows."""
        self.cells[rows, : walks.cells.shape[1]] = walks.cells[rows]
        self.diverged[rows], self.deployed[rows] = walks.diverged[rows], walks.deployed[rows]
        self.judge_usd[rows] = walks.judge_usd[rows]

    @property
    def calls_made(self) -> Ints:
        """By row."""
        made: Ints = np.sum(self.cells >= 0, axis=1)
        return made

    @property
    def steps(self) -> int:
        """The most calls of a row, including one that was not made."""
        return max(1, int(np.max(self.calls_made + self.diverged, initial=1)))


@dataclass(frozen=True)
class LogSupport:
    """What weights tell about a log's power to estimate."""

    effective_prompts: float = 0.0  #: (sum w)^2 / sum w^2 of prompts' totals (Kish 1965)
    mean: float = 0.0  #: of the weights; it should be 1
    mean_error: float = 0.0  #: its standard error over prompts
    calls: int = 0  #: of the policy for a prompt, at most
    never: int = 0  #: the first of these that the log never makes; 0 if there is none

    @staticmethod
    def of(weights: Floats, log: CallLog) -> LogSupport:
        """weights: by row, w_T."""
        return LogSupport.over(log.groups, log.sampling * weights, log.stands_for)

    @staticmethod
    def over(groups: Groups, weights: Floats, stands_for: Floats) -> LogSupport:
        """For rows that stand for that many decisions each."""
        totals, sizes = groups.sums(weights), groups.sums(stands_for)
        second, total, decisions = float(np.sum(totals**2)), float(totals.sum()), float(sizes.sum())
        mean = total / decisions
        # If by chance few great weights were drawn, their mean, which should be 1, and its error are small together.
        error = Estimate(mean, (totals - mean * sizes) / decisions).error / math.sqrt(min(max(mean, 1e-3), 1.0))
        return LogSupport(total**2 / second if second > 0.0 else 0.0, mean, error)

    @staticmethod
    def of_labels(before: Floats, p: Floats, weights: Floats, log: CallLog) -> LogSupport:
        """The support if the last step is that the answer's quality became known, with probability p. It counts how
        much could become known, not how much did by chance. `before`: the weights without that step.
        """
        out, before = LogSupport.of(before, log), log.sampling * before
        second, noise = float(np.sum(before**2 / p)), float(np.sum(before**2 * (1.0 / p - 1.0)))
        effective = min(out.effective_prompts, before.sum() ** 2 / second) if second > 0.0 else out.effective_prompts
        decisions = float(log.stands_for.sum())
        mean_error = math.hypot(out.mean_error, math.sqrt(noise) / decisions)
        return LogSupport(float(effective), float(np.sum(log.sampling * weights)) / decisions, mean_error)

    @property
    def is_off(self) -> bool:
        """Whether the weights' mean certainly differs from 1."""
        return abs(self.mean - 1.0) > 3.5 * self.mean_error + 1e-9

    def fault(self, policy: str, is_log: bool = True, openings: Openings = Openings.IN_ORDER) -> str:
        """Why the weights do not allow an estimate: no row does what the policy does, or makes one of its calls; there
        are fewer than LEAST_EFFECTIVE effective prompts; or the mean is not 1. "" if they do. Its options are marked.
        """
        if self.effective_prompts == 0.0:
            return f"no decision calls what {policy} calls: the log cannot tell"
        if self.never > 0:
            return (
                f"{policy} makes up to {self.calls} calls for a prompt, and no decision of the log makes its call "
                f"number {self.never}: the log cannot tell; {option('openings', 'apart')} takes models' answers to be "
                "independent"
            )
        if self.effective_prompts < LEAST_EFFECTIVE:
            return (
                f"{self.effective_prompts:.1f} effective prompts do what {policy} does, too few for an interval; "
                f"{LEAST_EFFECTIVE:.0f} are needed: log more decisions, or explore more"
            )
        if not self.is_off:
            return ""
        if not is_log:
            reason = (
                "label_propensity is not the probability with which qualities became known or, without one, that "
                "depends on more than the model"
            )
        elif openings is Openings.INDEPENDENT:
            reason = (
                "propensities are wrong, calls did not come by tosses of their own, or the log is not a sample of all "
                f"decisions (where some were left out, a column {DROPPED} says with which probability)"
            )
        else:
            reason = (
                "propensities are wrong, it makes calls that the log never makes, or each model was called by a toss "
                f"of its own ({option('openings', 'independent')})"
            )
        return Note(f"the weights of {policy} have the mean {self.mean:.3f} and not 1: {reason}", Topic.WEIGHTS)


@dataclass(frozen=True)
class PolicyEstimate:
    """Quality, dollars and calls of a policy, and their support in the log."""

    quality: Estimate
    usd: Estimate
    calls: Estimate
    support: LogSupport

    def utility(self, price: float) -> Estimate:
        """Quality - price x dollars."""
        return self.quality - price * self.usd

    @property
    def values(self) -> Floats:
        """Quality, dollars and calls."""
        return np.array([self.quality.value, self.usd.value, self.calls.value])

    def worth(
        self, alone: PolicyEstimate, price: float, widening: float = 1.0, deployed: Optional[Floats] = None
    ) -> Worth:
        """Compared with one model alone, or with the rules that made the log; compared with itself the gain is 0,
        whatever labels do not show. `widening`: 1 for policies that were not fitted to the log. `deployed`: values of
        the deployed policy, as in Worth.of.
        """

        def interval(estimate: Estimate, least: float = -math.inf, most: float = math.inf) -> Interval:
            return replace(estimate, range=(least, most)).widened(widening).robust_interval()

        deployed = self.values if deployed is None else deployed
        utility, share = self.utility(price), self.usd / alone.usd
        saving = 1.0 - share.value
        return Worth(
            interval(self.quality, 0.0, 1.0),
            stretched(interval(1000.0 * self.usd), 1000.0 * float(deployed[USD])),
            stretched(interval(self.calls), float(deployed[CALLS])),
            interval(utility, -math.inf, 1.0),
            Interval(0.0, 0.0, 0.0) if alone is self else interval(utility - alone.utility(price)),
            stretched(interval(replace(-1.0 * share, value=saving)), 1.0 - float(deployed[USD]) / alone.usd.value),
        )


def require_possible(quality: Estimate, name: str, policy: str, widening: float = 1.0) -> None:
    """DataError if a quality is certainly above 1, or below 0."""
    ends = quality.widened(widening).robust_interval()
    if ends.low > 1.0 or ends.high < 0.0:
        raise DataError(
            f"{name}: says that the quality of {policy} is {ends.value:.3f} [{ends.low:.3f}, {ends.high:.3f}]: "
            "answers whose quality is known are not like the others; feedback must come as often for good answers as "
            "for bad ones"
        )


class LogReader:
    """Estimates from a log for policies.

    `guess`: decisions x models, the judge's estimate of each call's quality, fitted on other folds. `answer_values`:
    the values that a policy assumes for answers, by which the best so far is forecast.
    """

    def __init__(self, log: CallLog, guess: Floats, answer_values: Floats, estimator: Estimator = Estimator.DR) -> None:
        self.log, self.guess, self.answer_values, self.estimator = log, guess, answer_values, estimator
        #: The judge's estimate for each call, corrected where its quality is known.
        self.estimated = augmented(guess, log.quality, log.label_probability)
        self.log_rules = LogRules.of(self)

    def label_noise(self, model: Ints, weight: Floats, rows: Ints) -> LabelNoise:
        """By row, for that model's answer."""
        p = self.log.label_probability[rows, model]
        return LabelNoise.of(weight, p, self.log.quality[rows, model] - self.guess[rows, model])

    def estimate(self, walks: LoggedWalks, chosen: bool) -> PolicyEstimate:
        """`chosen`: for policies that were chosen by this log, so that what it does not show counts."""
        log, steps, rows = self.log, walks.steps, np.arange(self.log.rows)
        cells = walks.cells[:, :steps]
        made, cell_index = cells >= 0, (rows[:, None], np.maximum(cells, 0))
        diverges_here = walks.diverged[:, None] & (np.arange(steps) == walks.calls_made[:, None])
        propensity = np.where(made, log.propensity[cell_index], 1.0)
        ratio = np.where(made, 1.0 / propensity, np.where(diverges_here, 0.0, 1.0))
        before = np.prod(ratio, axis=1)

        def sum_over_calls(numbers: Floats) -> Estimate:
            """The estimate of a number summed over the calls."""
            so_far = _from_zero(np.cumsum(np.where(made, numbers, 0.0), axis=1))
            return Paths.of(ratio, so_far, so_far[:, -1], log).estimate(self.estimator, log)

        # A further step: the deployed answer's quality became known. Before it the judge's estimate stands for the
        # quality.
        deployed = rows, walks.deployed
        p = np.where(walks.diverged, 1.0, log.label_probability[deployed])
        known = ~walks.diverged & ~np.isnan(log.quality[deployed])
        label_ratio = np.where(walks.diverged, 1.0, np.where(known, 1.0 / p, 0.0))
        guess = np.where(walks.diverged, 0.0, self.guess[deployed])
        best = _from_zero(np.maximum.accumulate(np.where(made, self.answer_values[cell_index], 0.0), axis=1))
        quality_paths = Paths.of(ratio, best, guess, log)
        outcome = np.where(known, log.quality[deployed], guess)
        paths = Paths(np.column_stack([ratio, label_ratio]), np.column_stack([quality_paths.forecast, outcome]))
        quality = paths.estimate(self.estimator, log)
        if chosen:
            weighted = np.flatnonzero(before > 0.0)
            noise = self.label_noise(walks.deployed[weighted], (log.sampling * before)[weighted], weighted)
            quality = replace(quality, variance=float(noise.total().unseen()) / float(log.stands_for.sum()) ** 2)
        never = next((t + 1 for t in range(steps) if self._is_never_made(walks, t)), 0)
        support = replace(LogSupport.of_labels(before, p, paths.weights, log), calls=steps, never=never)
        usd = sum_over_calls(log.usd[cell_index] + walks.judge_usd[:, None])
        calls = sum_over_calls(np.ones(made.shape))
        return PolicyEstimate(quality, usd, calls, support)

    def _is_never_made(self, walks: LoggedWalks, t: int) -> bool:
        """Whether the log makes no call number t + 1 of the policy, and this is no chance: it never makes that many
        calls, or the policy makes this one in several decisions.
        """
        made = walks.calls_made
        if np.any(made > t):
            return False
        wanted = int(np.count_nonzero(walks.diverged & (made == t)))
        return wanted >= SEVERAL or (wanted > 0 and t > 0 and not self.log.has_second_calls)


@dataclass(frozen=True)
class LogRules:
    """The rules that made a cascade's log, without exploring, estimated from the decisions that followed only them."""

    log: CallLog
    weight: Floats  #: by row: 1 / the probability that a decision followed the rules; 0 for others
    quality: Floats  #: by row, of the deployed answer
    usd: Floats
    calls: Floats
    looks: bool  #: whether the rules look at answers

    @staticmethod
    def of(reader: LogReader) -> Optional[LogRules]:
        """None if the log does not say which decisions followed its rules, or not enough did."""
        log = reader.log
        if log.by_rules is None:
            return None
        has = ~np.isnan(log.by_rules)
        if not has.any(axis=1).all():
            return None
        rows, deployed = np.arange(log.rows), np.argmax(has, axis=1)
        by_rules = log.by_rules[rows, deployed]
        weight = log.sampling * np.where(by_rules >= 1e-9, 1.0 / np.maximum(by_rules, 1e-9), 0.0)
        quality, guess = log.quality[rows, deployed], reader.guess[rows, deployed]
        known = ~np.isnan(quality)
        if not known.any() or weight.sum() ** 2 < LEAST_EFFECTIVE * np.sum(weight**2):
            return None
        share_known = float(np.sum(log.sampling * known)) / float(log.sampling.sum())
        calls = log.called.sum(axis=1).astype(float)
        looks = bool(np.any(calls[weight > 0.0] > 1))
        usd = np.where(log.called, log.usd + log.judge_usd * looks, 0.0).sum(axis=1)
        corrected = guess + np.where(known, np.nan_to_num(quality - guess) / share_known, 0.0)
        return LogRules(log, weight, corrected, usd, calls, looks)

    def estimate(self) -> PolicyEstimate:
        """Self-normalised."""
        weight, groups = self.weight, self.log.groups
        quality, usd, calls = (
            Estimate.jackknife_ratio(weight * x, weight, groups) for x in (self.quality, self.usd, self.calls)
        )
        return PolicyEstimate(quality, usd, calls, LogSupport.of(weight / self.log.sampling, self.log))


def _from_zero(numbers: Floats) -> Floats:
    """With 0 before the first step."""
    return np.column_stack([np.zeros(len(numbers)), numbers])
