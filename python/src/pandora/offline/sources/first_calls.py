"""A log of decisions as a table of each model's estimated results alone, for routers.

It uses h + F (y - h) / p in place of quality and of dollars. F says whether the model was called first, and p with what
probability; y is the result of that call (for an unknown quality the estimate of `labels`). h is the mean of the
model's first calls on other folds, by the weights 1 / p. So the mean over the models that any router names is unbiased,
if the probabilities are right. Single numbers are no outcomes; dollars may be negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from ... import _core
from ...errors import DataError
from ...spelling import option
from ..call_log import CallLog, Openings
from ..estimate import Estimate
from ..groups import Floats
from ..notes import Note, Topic
from ..outcomes import Outcomes
from .evaluator import NONE
from .labels import LEAST_LABELS, augmented, cross_fitted_quality, dependence_notes, judge_of
from .log import CAUTION, require_first_calls, surest
from .table import PreparedTable, TableSource, counted_texts


def first_call_estimates(log: CallLog, score: Floats) -> tuple[Floats, Floats, str]:
    """Quality and dollars, decisions x models, and a note. DataError for a model that was too seldom called first."""
    first = log.place == 1.0
    calls = first.sum(axis=0)
    for model, name in enumerate(log.models):
        if calls[model] < LEAST_LABELS:
            raise DataError(
                f"{log.name}: calls {name} first in {calls[model]} decisions; a router needs at least {LEAST_LABELS} "
                f"of each model, better hundreds (leave the model out with {option('models')})"
            )
    require_first_calls(log)
    sampling = log.sampling[:, None]
    guess = cross_fitted_quality(log.quality, score, log.label_probability / sampling, log.folds)
    quality = np.where(np.isnan(guess), log.quality, augmented(guess, log.quality, log.label_probability))
    weight = np.where(first, sampling / np.where(first, log.propensity, 1.0), 0.0)
    quality, usd = (_around_means(np.where(first, seen, 0.0), weight, log) for seen in (quality, log.usd))
    least = int(np.argmin(calls))
    text = (
        f"a log: what each model alone would have brought is estimated from the first calls of {log.rows} decisions by "
        f"augmented inverse propensity weighting; least called is {log.models[least]}, {calls[least]} times"
    )
    return quality, usd, Note(text, Topic.FIRST_CALLS)


def _around_means(seen: Floats, weight: Floats, log: CallLog) -> Floats:
    out = np.empty(seen.shape)
    scaled = weight / float(log.sampling.mean())
    for fold in np.unique(log.folds):
        in_fold, others = log.folds == fold, log.folds != fold
        total = weight[others].sum(axis=0)
        mean = np.sum(weight[others] * seen[others], axis=0) / np.where(total > 0.0, total, 1.0)
        out[in_fold] = mean + scaled[in_fold] * (seen[in_fold] - mean)
    return out


class PreparedFirstCalls(PreparedTable):
    """First calls for a fit on some rows: qualities less CAUTION standard errors of their model's mean."""

    @cached_property
    def training(self) -> Outcomes:
        """The lowered outcomes of `rows`."""
        outcomes = self.outcomes.take(self.rows)
        errors = np.sqrt(np.var(outcomes.quality, axis=0) / len(self.rows))
        return replace(outcomes, quality=outcomes.quality - CAUTION * errors)


class FirstCalls(TableSource):
    """A model that was seldom called could be chosen for its noise. So a router uses each model's quality less CAUTION
    standard errors of its mean, and so does `single`, the surest model alone.

    `evaluator`: the judge whose score estimates unlabelled answers.
    """

    prepared_as = PreparedFirstCalls

    def __init__(
        self, table: _core.TraceTable, evaluator: str, context: Sequence[str], price: float, judge_usd: float = 0.0
    ) -> None:
        # super().__init__ is not called, because it assumes that every cell is known; a log knows only its calls.
        log, score = CallLog.of_table(table, Openings.IN_ORDER, judge_usd), judge_of(table, evaluator)
        self.table, self.evaluator, self.context, self.router = table, NONE, list(context), None
        self.name, self.models, self.judge_usd = log.name, log.models, 0.0
        self.groups, self.latency, self.shown, self.estimates = log.groups, None, None, None
        self.estimated = True
        self.quality, self.usd, note = first_call_estimates(log, score)
        bias = dependence_notes(log.quality, score, log.label_probability, log.called, log.groups)
        self.notes = [*log.notes, *bias, note]
        by_model = zip(self.quality.T, self.usd.T)
        means = [Estimate.mean(quality - price * usd, log.groups) for quality, usd in by_model]
        self.single = surest([mean.value for mean in means], [mean.error for mean in means])
        self._texts = counted_texts(table, context)
