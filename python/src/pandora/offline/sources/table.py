"""Tables: every model's answer to every prompt has its dollars and scores, and all or some have a quality."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Optional

import numpy as np

from ... import _core
from ...errors import DataError
from ..groups import FOLDS, Floats, Groups, Ints
from ..learners.isotonic import IsotonicMap, calibrated
from ..learners.predictors import PlanPredictors
from ..outcomes import Outcomes
from ..policies.base import Policy
from ..policies.order import Effort, Order, best_order
from .evaluator import NONE, TRUTH, score_of
from .labels import QualityEstimates


class PreparedTable:
    """A table as a fit on `rows` sees it."""

    def __init__(self, source: TableSource, rows: Ints, quality: Floats, features: Optional[Any]) -> None:
        self.source, self.rows = source, rows
        shown = source.shown
        self.calibration: list[IsotonicMap] = []  #: of each model; empty for the truth
        seen = source.quality
        if shown is not None:
            self.calibration = [
                IsotonicMap.fit(shown[rows, model], quality[rows, model]) for model in range(quality.shape[1])
            ]
            seen = calibrated(self.calibration, shown)
        self.features = features  #: _core.FeatureMap; None where no context is used
        self.psi_range: list[tuple[float, float]] = []
        psi = None
        if features is not None and features.size > 0:
            psi, self.psi_range = _psi(features, source, rows)
        self._outcomes = Outcomes(seen, quality, source.usd, psi, source.judge_usd, source.latency)
        self._of_models: Optional[PlanPredictors] = None

    @property
    def sees_truth(self) -> bool:
        """Whether what is seen of an answer is its quality."""
        return self.source.shown is None

    @property
    def outcomes(self) -> Outcomes:
        """Of all rows."""
        return self._outcomes

    @cached_property
    def training(self) -> Outcomes:
        """Of `rows`."""
        return self._outcomes if len(self.rows) == len(self._outcomes.quality) else self._outcomes.take(self.rows)

    def best_order(self, price: float, effort: Effort, first: Optional[int] = None) -> Order:
        """By the search over orders and thresholds (C++)."""
        return best_order(self.training, price, effort, first)

    def predictors(self, plans: Sequence[Order]) -> PlanPredictors:
        """Of plans that begin with the models alone."""
        models = self.training.models
        if self._of_models is None:
            self._of_models = self._fitted([Order((model,)) for model in range(models)], None)
        return self._of_models if len(plans) == models else self._fitted(plans, self._of_models)

    def _fitted(self, plans: Sequence[Order], some: Optional[PlanPredictors]) -> PlanPredictors:
        psi = self.training.psi
        if psi is None:
            psi = np.ones((len(self.rows), 1), np.float32)
        numbers = [plan.walk(self.training).numbers for plan in plans]
        quality, usd = (np.column_stack([of_plan[k] for of_plan in numbers]) for k in (0, 1))
        return PlanPredictors(psi, quality, usd, some) if some is not None else PlanPredictors(psi, quality, usd)


class TableSource:
    """A table in which every quality is known or, with labels in part, estimated.

    `evaluator`: what is seen of an answer, "quality", "score", "score:NAME" or "none". `context`: specs of features.
    An estimate is g(score) + L (q - g(score)) / p (augmented inverse propensity weighting); a fit on some rows sees
    estimates that are made without the labels of all others, so that no estimate by which a policy is judged goes back
    to labels that chose the policy.
    """

    def __init__(
        self,
        table: _core.TraceTable,
        evaluator: str,
        context: Sequence[str] = (),
        judge_usd: float = 0.0,
        timed: bool = False,
    ) -> None:
        self.table, self.evaluator, self.context = table, evaluator, list(context)
        self.name, self.models, self.judge_usd = table.source, list(table.models), judge_usd
        self.groups = Groups.of_table(table)
        self.usd: Floats = table.cost()
        self.latency: Optional[Floats] = table.latency() if timed else None
        known: Floats = table.quality()
        self.shown = None if evaluator in (NONE, TRUTH) else score_of(table, evaluator)
        self.estimates = QualityEstimates.of_table(table, evaluator, self.groups) if np.isnan(known).any() else None
        self.estimated = self.estimates is not None
        self.quality = known if self.estimates is None else self.estimates.without(np.zeros(len(known), bool))
        self._texts = _core.count_texts(table) if any(spec.startswith("text:") for spec in self.context) else None
        self._whole: Optional[Any] = None  # the feature map of all rows, from where those of folds set out

    def prepare(self, rows: Ints, whole: bool) -> PreparedTable:
        """Scores calibrated, features fitted on these rows."""
        quality = self.quality
        if self.estimates is not None and not whole:
            held_out = np.ones(len(quality), bool)
            held_out[rows] = False
            quality = self.estimates.without(held_out)
        features = None
        if self.context:
            features = _core.features_fit(self.table, self.context, rows, self._texts, self._whole)
            if whole:
                self._whole = features
        return PreparedTable(self, rows, quality, features)

    def psi_of(self, features: Any) -> np.ndarray:
        """rows x m of all rows: 1 and the features, float32."""
        numbers = _core.features_apply(features, self.table, self._texts)
        return np.column_stack([np.ones(len(numbers), np.float32), numbers])

    def read(self, prepared: PreparedTable, policy: Policy, rows: Ints) -> tuple[Floats, Optional[Floats]]:
        """What the policy does on these rows."""
        every = len(rows) == len(prepared.outcomes.quality)
        walk = policy.walk(prepared.outcomes if every else prepared.outcomes.take(rows))
        return walk.numbers, walk.seconds


def _psi(features: Any, source: TableSource, rows: Ints) -> tuple[np.ndarray, list[tuple[float, float]]]:
    """psi of all rows; where some numbers are of raw columns, within what was seen in `rows`, as a request's is taken."""
    psi = source.psi_of(features)
    raw = np.array([name.startswith("raw:") for name in features.names])
    if not raw.any():
        return psi, []
    low, high = np.full(psi.shape[1], -1.0, np.float32), np.ones(psi.shape[1], np.float32)
    low[1:][raw], high[1:][raw] = psi[rows, 1:][:, raw].min(axis=0), psi[rows, 1:][:, raw].max(axis=0)
    return np.clip(psi, low, high), list(zip(low.tolist(), high.tolist()))


__all__ = ["FOLDS", "DataError", "PreparedTable", "TableSource"]
