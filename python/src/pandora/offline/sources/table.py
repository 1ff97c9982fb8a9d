"""Tables: every model's answer to every prompt has its dollars and scores, and all or some have a quality."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np

from ... import _core
from ..groups import Floats, Groups, Ints
from ..learners.estimators import EstimatorPredictors
from ..learners.isotonic import IsotonicMap, applied, calibrations
from ..learners.predictors import PlanPredictors
from ..outcomes import QUALITY, USD, Outcomes
from .evaluator import shown_of
from .labels import QualityEstimates

if TYPE_CHECKING:
    from ..policies import Order, Policy

Predictors = Union[PlanPredictors, EstimatorPredictors]


class PreparedTable:
    """A table for a fit on `rows`."""

    def __init__(self, source: TableSource, rows: Ints, quality: Floats, features: Optional[Any]) -> None:
        self.source, self.rows = source, rows
        shown = source.shown
        self.calibration: list[IsotonicMap] = []  #: for each model; empty for the truth
        seen = source.quality
        if shown is not None:
            self.calibration = source.calibrated(quality, rows)
            seen = applied(self.calibration, shown)
        self.features = features  #: _core.FeatureMap; None if no context is used
        self.psi_range: list[tuple[float, float]] = []
        psi = None
        if features is not None and features.size > 0:
            psi, self.psi_range = _psi(features, source, rows)
        self.outcomes = Outcomes(seen, quality, source.usd, psi, source.judge_usd, source.latency)  #: of all rows
        self._single_model_predictors: Optional[Predictors] = None

    @property
    def sees_truth(self) -> bool:
        """Whether the seen value of an answer is its quality."""
        return self.source.shown is None

    @cached_property
    def training(self) -> Outcomes:
        """Of `rows`."""
        return self.outcomes if len(self.rows) == len(self.outcomes.quality) else self.outcomes.take(self.rows)

    def predictors(self, plans: Sequence[Order]) -> Predictors:
        """Predictors of `plans`. The first plans are the models alone, which are fitted once and reused."""
        training, router = self.training, self.source.router
        if self._single_model_predictors is None:
            given = training.features, training.quality, training.usd
            self._single_model_predictors = (
                PlanPredictors(*given) if router is None else EstimatorPredictors(router, *given)
            )
        if len(plans) == training.models:
            return self._single_model_predictors
        numbers = np.stack([plan.walk(training).numbers for plan in plans], axis=-1)
        return self._single_model_predictors.more(numbers[QUALITY], numbers[USD])

    @property
    def shown(self) -> Floats:
        """Rows x models: the evaluator's values as in the table."""
        return self.source.quality if self.source.shown is None else self.source.shown

    def learn_indices(self, cost: Floats, rows: Ints, warm_start: Optional[Any] = None) -> Any:
        """_core.IndexEstimator, learned from all models' answers to these rows. `cost`: in utility, for all rows.

        `warm_start`: another estimator, from whose estimates iterations begin.
        """
        outcomes, models, learned = self.outcomes, len(self.source.models), not self.sees_truth
        rules = _core.lane_rules("shrunk_weitzman", learned, 0.0, len(rows), 0.0)
        m = 1 if outcomes.psi is None else outcomes.psi.shape[1]
        shape = models, m, 2 * models if learned else 0
        estimator = _core.IndexEstimator(rules, _core.estimation(), *shape, "[1, 0, 0, 0]")
        estimator.teach(outcomes.psi, cost, self.shown, outcomes.quality, rows, warm_start)
        return estimator


class TableSource:
    """A table in which every quality is known or, with some labels, estimated.

    `router`: a caller's estimator, in place of the learners of routers.

    `evaluator`: the value that is seen of an answer, "quality", "score", "score:NAME" or "none". `context`: specs of
    features. With some labels, labels.py estimates the qualities. A fit on some rows uses estimates without the labels
    of all others, so that no policy is judged by estimates from labels that chose it.
    """

    prepared_as: type[PreparedTable] = PreparedTable
    _whole: Optional[PreparedTable] = None  # prepare() for all rows; features of folds begin from its

    def __init__(
        self,
        table: _core.TraceTable,
        evaluator: str,
        context: Sequence[str] = (),
        judge_usd: float = 0.0,
        timed: bool = False,
        router: Optional[Any] = None,
    ) -> None:
        self.table, self.evaluator, self.context, self.router = table, evaluator, list(context), router
        self.name, self.models, self.judge_usd = table.source, list(table.models), judge_usd
        self.groups = Groups.of_table(table)
        self.usd: Floats = table.cost()
        self.latency: Optional[Floats] = table.latency() if timed else None
        known: Floats = table.quality()
        self.shown = shown_of(table, evaluator)
        self.estimates = QualityEstimates.of_table(table, evaluator, self.groups) if np.isnan(known).any() else None
        self.estimated = self.estimates is not None
        self.quality = known if self.estimates is None else self.estimates.estimated()
        self._texts = counted_texts(table, context)

    def prepare(self, rows: Optional[Ints] = None) -> PreparedTable:
        """The table for a fit on `rows`, by default all: scores are calibrated and features fitted on these rows.

        The result for all rows is kept, and the features of later ones begin from it.
        """
        rows = np.arange(len(self.groups.of_row)) if rows is None else rows
        whole = len(rows) == len(self.groups.of_row)
        if whole and self._whole is not None:
            return self._whole
        quality = self.quality
        if self.estimates is not None and not whole:
            quality = self.estimates.estimated(~np.isin(np.arange(len(quality)), rows))
        features = None
        if self.context:
            warm_start = None if self._whole is None or self._texts is None else self._whole.features
            features = _core.features_fit(self.table, self.context, rows, self._texts, warm_start)
        prepared = self.prepared_as(self, rows, quality, features)
        if whole:
            self._whole = prepared
        return prepared

    @cached_property
    def _calibrations(self) -> dict[bytes, list[IsotonicMap]]:
        return {}  # by a digest of the rows

    def calibrated(self, quality: Floats, rows: Ints) -> list[IsotonicMap]:
        """The calibration of each model on these rows. It is kept: fits to a bound come back to the same folds."""
        assert self.shown is not None
        key = blake2b(rows.tobytes()).digest()
        if key not in self._calibrations:
            self._calibrations[key] = calibrations(self.shown, quality, rows)
        return self._calibrations[key]

    def psi_of(self, features: Any) -> np.ndarray:
        """Rows x m of all rows: 1 and the features, float32."""
        numbers = _core.features_apply(features, self.table, self._texts)
        return np.column_stack([np.ones(len(numbers), np.float32), numbers])

    def read(self, prepared: PreparedTable, policy: Policy, rows: Ints) -> tuple[Floats, Optional[Floats]]:
        """A policy on these rows: 3 x rows (quality, dollars, calls), and seconds by row (None without latencies)."""
        are_all = len(rows) == len(prepared.outcomes.quality)
        walk = policy.walk(prepared.outcomes if are_all else prepared.outcomes.take(rows))
        return walk.numbers, walk.seconds


def counted_texts(table: _core.TraceTable, context: Sequence[str]) -> Optional[_core.CountedTexts]:
    """The texts from which features are made. DataError if the table has none."""
    return _core.CountedTexts(table) if any(spec.startswith("text:") for spec in context) else None


def _psi(features: Any, source: TableSource, rows: Ints) -> tuple[np.ndarray, list[tuple[float, float]]]:
    """Psi of all rows; numbers from raw columns are restricted to the range in `rows`, as for a request."""
    psi = source.psi_of(features)
    raw = np.array([name.startswith("raw:") for name in features.names])
    if not raw.any():
        return psi, []
    low, high = np.full(psi.shape[1], -1.0, np.float32), np.ones(psi.shape[1], np.float32)
    low[1:][raw], high[1:][raw] = psi[rows, 1:][:, raw].min(axis=0), psi[rows, 1:][:, raw].max(axis=0)
    return np.clip(psi, low, high), list(zip(low.tolist(), high.tolist()))
