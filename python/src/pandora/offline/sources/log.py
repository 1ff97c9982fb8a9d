"""Logs of decisions: orders with thresholds are searched by importance weights.

The fit of a log (`log_fit.py`) has its own loop over folds, because it does not promise a mean of numbers by row.
Forecasts use the other folds' walks, whoever made these. The number of effective decisions, and the effect of missing
labels, are computed from the walks of all folds together. A fold about which the log tells nothing is left out if the
rules that made the log can be kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import NoReturn, Optional

import numpy as np

from ... import _core
from ...errors import DataError
from ...spelling import option
from ..call_log import CallLog, Openings
from ..groups import FOLDS, Floats, Ints
from ..learners.isotonic import IsotonicMap, applied, calibrations
from ..outcomes import TIE, Outcomes
from ..paths import LEAST_EFFECTIVE, LabelNoise, LoggedWalks, LogReader, LogSupport, PolicyEstimate
from ..policies.order import Order
from .evaluator import TRUTH, shown_of, truth_refused
from .labels import LEAST_LABELS, cross_fitted_quality, dependence_notes, judge_of

#: How many standard errors are subtracted from a mean when the best of many candidates is searched in a log.
CAUTION = 2.0
#: The most thresholds of a model that are tried, and the most models of an order.
THRESHOLDS, LONGEST = 24, 3
#: The least number of decisions that make all calls of an order: where calls are rarely made, weights that are 0 for a
#: missing call move their mean little.
LEAST_MADE = 10
#: By how many standard errors the mean weight of a candidate may differ from 1. If no candidate passes, the second
#: number counts. In one of a hundred correct logs of two models, chance moves the weights of both by more than the
#: first number.
FAR = (3.0, 4.5)


def surest(means: Sequence[float], errors: Sequence[float]) -> int:
    """The number of the candidate with the greatest mean less CAUTION standard errors, the first of equal ones."""
    return int(np.argmax(np.array(means) - CAUTION * np.array(errors)))


class LogSource:
    """A log of decisions. `shown`: decisions x models, the evaluator's values; None if nothing is looked at."""

    def __init__(self, log: CallLog, evaluator: str, shown: Optional[Floats], score: Floats) -> None:
        """`score`: that of the judge who estimates unlabelled answers; not used with the evaluator "quality"."""
        self.log, self.evaluator, self.shown = log, evaluator, shown
        self.name, self.models, self.groups, self.judge_usd = log.name, log.models, log.groups, log.judge_usd
        self.sees_truth = evaluator == TRUTH
        self.notes, guess = list(log.notes), log.quality
        if not self.sees_truth:
            if np.isnan(log.quality).all():
                raise DataError(f"{log.name}: knows no call's quality; give that of some calls")
            guess = cross_fitted_quality(log.quality, score, 1.0 / log.label_weight, log.folds)
            self.notes += dependence_notes(log.quality, score, log.label_probability, log.called, log.groups)
        self.reader = LogReader(log, guess, guess if shown is None else shown)

    @staticmethod
    def of_table(table: _core.TraceTable, evaluator: str, openings: Openings, judge_usd: float = 0.0) -> LogSource:
        """Refuses an evaluator that the log does not have, or cannot look at."""
        log = CallLog.of_table(table, openings, judge_usd)
        unknown = int(np.count_nonzero(np.isnan(log.quality[log.called])))
        if evaluator == TRUTH and unknown:
            raise truth_refused(unknown, log.quality.size)
        shown = log.quality if evaluator == TRUTH else shown_of(table, evaluator)
        return LogSource(log, evaluator, shown, judge_of(table, evaluator))


class PreparedLog:
    """A log for a fit on `rows`."""

    def __init__(self, source: LogSource, rows: Ints) -> None:
        self.source, self.rows, self.log = source, rows, source.log
        shown = source.shown if source.shown is not None else source.reader.guess
        #: for each model: scores as qualities, from its known ones in these rows; empty for the truth
        self.calibration: list[IsotonicMap] = []
        self.seen: Floats = shown
        if not source.sees_truth:
            self.calibration = calibrations(shown, self.log.quality, rows, self.log.label_weight)
            self.seen = applied(self.calibration, shown)

    def walks(self, order: Order) -> LoggedWalks:
        """The order's walks over every row. Their part after a call that the log did not make is not read."""
        walk = order.walk(Outcomes(self.seen, self.source.reader.estimated, self.log.usd, None, self.log.judge_usd))
        return LoggedWalks.of(self.log, walk.called, walk.deployed, np.full(self.log.rows, order.looks_at_answers))


def sums_ended_at(position: int, reached: Sequence[Ints], counts: Sequence[int], values: Sequence[Floats]) -> Floats:
    """For every combination of thresholds, the sums over rows that end at a position of an order: summands x counts.

    A row reaches the first reached[j] of the counts[j] thresholds of position j. With threshold k it ends there if
    reached[j] > k, unless it ended before; all rows end at the last position, which has no thresholds. values: an array
    for each summand. The sum over positions is that of ThresholdSums in C++; here only rows that are called so far are
    given.
    """
    # Cells by how many thresholds are reached, cumulated along each axis: below k before, above k at the position.
    axes = [reached[j] for j in range(min(position + 1, len(counts)))]
    shape = tuple(counts[j] + 1 for j in range(len(axes)))
    flat = np.ravel_multi_index(tuple(axes), shape) if axes else np.zeros(len(values[0]), np.int64)
    out = []
    for summand in values:
        cells = np.bincount(flat, summand, minlength=int(np.prod(shape))).reshape(shape)
        for axis in range(len(axes)):
            before = np.cumsum(cells, axis=axis)
            all_but_last = before[(slice(None),) * axis + (slice(0, -1),)]
            only_last = before[(slice(None),) * axis + (slice(-1, None),)]
            cells = all_but_last if axis < position else only_last - all_but_last
        out.append(cells.reshape(cells.shape + (1,) * (len(counts) - cells.ndim)))
    return np.stack(out)


class LogSearch:
    """The best order with thresholds on some rows, chosen with caution: the greatest mean of many candidates looks too
    good for those with few decisions (Swaminathan and Joachims 2015). Compared with the rules that made the log,
    candidates similar to them are the most certain.
    """

    def __init__(self, prepared: PreparedLog, price: float) -> None:
        source, rows = prepared.source, prepared.rows
        self.log, self.reader, self.price, self.rows = source.log, source.reader, price, rows
        self.seen = prepared.seen[rows]
        self.estimated = source.reader.estimated[rows]
        self.decisions = float(self.log.stands_for[rows].sum())
        self.thresholds = [_grid(self.seen[:, model]) for model in range(self.seen.shape[1])]
        self.reached = [
            np.searchsorted(grid, np.nan_to_num(self.seen[:, model], nan=-np.inf), side="right")
            for model, grid in enumerate(self.thresholds)
        ]
        rules = source.reader.log_rules
        self.influence_of_rules = np.zeros(len(rows))  # how a decision moves the utility of the rules that made the log
        if rules is not None:
            weight, utility = rules.weight[rows], rules.quality[rows] - price * rules.usd[rows]
            self.influence_of_rules = weight * (utility - np.sum(weight * utility) / max(float(weight.sum()), 1e-300))
        self.rules_variance = float(np.sum(self.influence_of_rules**2))

    def best(self, longest: int = LONGEST) -> Optional[Order]:
        """The best order of at most `longest` models; None if there are too few decisions for any."""
        models = range(len(self.thresholds))
        orders = sorted(order for length in range(1, longest + 1) for order in permutations(models, length))
        accepting = [order for order in orders if all(len(self.thresholds[model]) for model in order[:-1])]
        for self.far in FAR:
            if rated := [found for order in accepting if (found := self._rate(order)) is not None]:
                return max(rated, key=lambda found: found[0])[1]
        return None

    def effective_alone(self, model: int) -> float:
        """The number of effective decisions that call and deploy a model alone."""
        weight = self._ratio(model, 0)
        made = np.flatnonzero(weight)
        if not len(made):
            return 0.0
        noise = self.reader.label_noise(np.full(len(made), model), weight[made], self.rows[made]).total()
        return float(weight.sum() ** 2 / (np.sum(weight**2) + noise.expected))

    def refuse_few(self) -> NoReturn:
        """Where no model alone can be judged."""
        most = max([1.0, *(self.effective_alone(model) for model in range(self.seen.shape[1]))])
        if most >= LEAST_EFFECTIVE:
            raise DataError(
                f"{self.log.name}: has models whose first calls have weights (1 / propensity) of a mean that is not 1: "
                "propensities are wrong"
            )
        in_each_fold = FOLDS / (FOLDS - 1.0)
        needed = float(f"{in_each_fold * LEAST_EFFECTIVE / most * self.log.rows:.1e}")
        raise DataError(
            f"{self.log.name}: has too few decisions: {LEAST_EFFECTIVE:.0f} effective ones are needed of a model "
            f"alone, and here the most are {most:.1f}; log about {needed:.0f} like these, or explore more "
            f"({option('explore')})"
        )

    def _ratio(self, model: int, calls_before: int) -> Floats:
        """By row, 1 / propensity of the call, for the first call times `sampling`; 0 if the log did not make it."""
        log = self.log
        in_order = log.openings is Openings.IN_ORDER
        is_made = log.place[:, model] == calls_before + 1 if in_order else log.called[:, model]
        weight = 1.0 / np.where(is_made, log.propensity[:, model], np.inf)[self.rows]
        return weight * self.log.sampling[self.rows] if calls_before == 0 else weight

    def _rate(self, order: tuple[int, ...]) -> Optional[tuple[float, Order]]:
        """All thresholds of an order at once."""
        rows = len(self.rows)
        weight, usd = np.ones(rows), np.zeros(rows)
        best, deployed = np.full(rows, -np.inf), np.full(rows, order[0])
        judge = self.log.judge_usd if len(order) > 1 else 0.0
        sums: Optional[Floats] = None
        counts = [len(self.thresholds[model]) for model in order[:-1]]
        arrived = np.arange(rows)
        for position, model in enumerate(order):
            weight = weight * self._ratio(model, position)
            arrived = arrived[weight[arrived] > 0.0]
            usd[arrived] += self.log.usd[self.rows[arrived], model] + judge
            better = arrived[self.seen[arrived, model] > best[arrived]]
            deployed[better], best[better] = model, self.seen[better, model]
            if position + 1 == len(order) and len(arrived) < LEAST_MADE:
                return None
            w, z = weight[arrived], self.influence_of_rules[arrived]
            y = self.estimated[arrived, deployed[arrived]] - self.price * usd[arrived]
            noise = self.reader.label_noise(deployed[arrived], w, self.rows[arrived])
            ww = w * w
            # In the order that _cautious unpacks.
            summands = [w, w * y, ww, ww * y, ww * y * y, w * z, w * y * z, *noise]
            reached_by_position = [self.reached[m][arrived] for m in order[: position + 1]]
            ended = sums_ended_at(position, reached_by_position, counts, summands)
            sums = ended if sums is None else sums + ended
        assert sums is not None
        rating = self._cautious(sums, len(order))
        value = float(np.max(rating))
        if not value > -np.inf:
            return None
        # Thresholds with no answer between them are equally good: the lowest is taken, however sums were rounded.
        as_good = np.flatnonzero(rating >= value - TIE)
        numbers = np.unravel_index(int(as_good[0]), rating.shape) if counts else ()
        return value, Order(order, tuple(float(self.thresholds[model][k]) for model, k in zip(order, numbers)))

    def _cautious(self, sums: Floats, models: int) -> Floats:
        """The objective for each combination of thresholds: the mean utility less CAUTION standard errors (of the
        utility minus that of the rules that made the log). It is -inf if the mean weight is wrong, or too few decisions
        are effective.
        """
        w, wy, ww, wwy, wwyy, wz, wyz = sums[:7]
        noise, decisions = LabelNoise(*sums[7:]), self.decisions
        # The more decisions there are, the more rare openings could be chosen by chance.
        least = LEAST_EFFECTIVE if models == 1 else max(LEAST_EFFECTIVE, 2.0 * np.sqrt(decisions))
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = wy / w
            variance = wwyy - 2.0 * mean * wwy + mean**2 * ww + noise.unseen()
            covariance = (wyz - mean * wz) / (w * decisions)
            error = np.sqrt(np.maximum(0.0, variance / w**2 - 2.0 * covariance + self.rules_variance / decisions**2))
            mean_weight = w / decisions
            error_of_mean_weight = np.sqrt(np.maximum(0.0, ww / w - mean_weight) / decisions)
            usable = (w > 0.0) & (np.abs(mean_weight - 1.0) <= self.far * error_of_mean_weight + 1e-9)
            usable &= w**2 / (ww + noise.expected) >= least
            rating: Floats = np.where(usable, mean - CAUTION * error, -np.inf)
        return rating


@dataclass(frozen=True)
class Searched:
    """The result of a search in a log, and its estimates on decisions that the search did not see."""

    cascade_order: Order
    single_order: Order
    calibration: list[IsotonicMap]
    cascade_on_fit_rows: Floats  #: quality, dollars and calls of `cascade_order` on the log in which it was found
    cascade_estimate: PolicyEstimate  #: for the cascades that each fold's search found
    fold_singles_estimate: PolicyEstimate  #: for the single models that each fold's search found
    single_estimate: PolicyEstimate  #: for `single_order` in every fold
    notes: list[str]
    tells_cascade: bool = True  #: whether the log can estimate cascades
    tells_single: bool = True  #: whether it can estimate single models


def _grid(seen: Floats) -> Floats:
    """Readable thresholds that accept some answers but not all, with about equally many between two of them."""
    seen = np.sort(seen[~np.isnan(seen)])
    if not len(seen):
        return np.empty(0)
    places = np.arange(1, THRESHOLDS + 1) * (len(seen) - 1) // THRESHOLDS
    values: Floats = np.unique(np.floor(100.0 * seen[places] + 0.5) / 100.0)
    return np.asarray(values[values > seen[0]])


def require_first_calls(log: CallLog) -> None:
    """DataError if the first calls of some model do not represent it."""
    for fault in filter(None, faults_of_first_calls(log)):
        raise DataError(f"{log.name}: {fault}")


def faults_of_first_calls(log: CallLog) -> list[str]:
    """For each model why its first calls do not represent it, or empty. They do not if their weights 1 / propensity do
    not have the mean 1 over decisions, or if too few of at least LEAST_LABELS first calls are effective. Its options
    are marked.
    """
    out = []
    for model, name in enumerate(log.models):
        first, fault = log.place[:, model] == 1.0, ""
        support = LogSupport.of(np.where(first, 1.0 / np.where(first, log.propensity[:, model], 1.0), 0.0), log)
        if np.count_nonzero(first) < LEAST_LABELS:
            pass
        elif support.is_off:
            fault = (
                f"have the mean {support.mean:.3f} and not 1: propensities are wrong, some decisions could not call it "
                f"first, or each model was called by a toss of its own ({option('openings', 'independent')})"
            )
        elif support.effective_prompts < LEAST_EFFECTIVE:
            fault = (
                f"are those of {support.effective_prompts:.1f} effective prompts, and {LEAST_EFFECTIVE:.0f} are "
                "needed: log more decisions, or explore more"
            )
        weights = f"weights of the first calls of {name} (1 / propensity)"
        out.append(fault and f"{weights} {fault}; cascade fit {option('models')} leaves it out")
    return out
