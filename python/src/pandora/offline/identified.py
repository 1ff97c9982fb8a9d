"""What can be estimated from a table, and what each of its models is worth alone where not all is known."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .. import _core
from .estimate import UNKNOWN, Estimate, Interval
from .groups import FOLDS, Floats, Groups
from .sources.labels import (
    LEAST_LABELS,
    QualityEstimates,
    cross_fitted_quality,
    judge_of,
    label_note,
    label_probabilities,
)


@dataclass(frozen=True)
class Identified:
    """The estimators that a table identifies, and in words why not the rest."""

    estimators: list[str]
    reasons: list[str]

    @property
    def best(self) -> str:
        """The estimator plugin of a full table, else dr."""
        return self.estimators[-1]


@dataclass(frozen=True)
class EstimatedMean:
    """A model's mean quality, and how many times as wide its interval is as one of as many prompts all known."""

    quality: Interval = UNKNOWN
    widening: float = math.nan


def is_log(table: _core.TraceTable) -> bool:
    """Whether it is a log of decisions."""
    return bool(_core.TableArrays(table).is_log)


def unlabelled(table: _core.TraceTable) -> int:
    """How many answers were given whose quality is not known."""
    return int(np.count_nonzero(np.isnan(table.quality()) & ~np.isnan(table.cost())))


def identified(table: _core.TraceTable) -> Identified:
    """By what is known in it."""
    weighted = ["ips", "snips", "dr"]
    if not is_log(table):
        if unlabelled(table) == 0:
            return Identified(
                ["plugin"], ["every answer's quality and cost is known: means say all, and nothing is weighted"]
            )
        return Identified(weighted, [f"plugin needs every answer's quality; {label_note(table)}"])
    from .call_log import CallLog, Openings  # tables do without
    from .sources.log import faults_of_first_calls

    log = CallLog.of_table(table, Openings.IN_ORDER)
    reasons = ["plugin needs every model's answer to every prompt, and a log has those that were called"]
    reasons += [fault for fault in faults_of_first_calls(log) if fault]
    if not log.has_second_calls:
        reasons.append(
            "every decision made one call: policies that make one can be estimated, but what a second call would bring "
            "only where models' answers are taken to be independent (--openings apart)"
        )
    if unlabelled(table) > 0 and not log.has_label_propensity:
        reasons.append(
            "whether a call's quality is known is taken to depend on its model alone; label_propensity says it better"
        )
    return Identified(weighted, reasons)


def estimated_means(table: _core.TraceTable, evaluator: str) -> list[EstimatedMean]:
    """Of each model of a log or of a table with labels in part; NaN where it is known, or called first, too rarely."""
    quality, weight = table.quality(), _weights(table)
    counts = weight > 0.0
    kept = [m for m in range(quality.shape[1]) if np.count_nonzero(counts[:, m]) >= LEAST_LABELS]
    out = [EstimatedMean()] * quality.shape[1]
    if is_log(table):
        from .call_log import CallLog, Openings
        from .sources.log import faults_of_first_calls

        faults = faults_of_first_calls(CallLog.of_table(table, Openings.IN_ORDER))
        kept = [m for m in kept if not faults[m]]
    if not kept:
        return out
    groups = Groups.of_table(table)
    some = table.select_models([table.models[m] for m in kept])
    if is_log(table):
        estimates = _first_calls(some, evaluator, groups)
    else:
        estimates = QualityEstimates.of_table(some, evaluator, groups).without(np.zeros(len(quality), bool))
    for k, m in enumerate(kept):
        w, q = weight[counts[:, m], m], quality[counts[:, m], m]
        mean = float(np.average(q, weights=w))
        spread = float(np.average(q**2, weights=w)) - mean**2
        moved = float(np.mean(estimates[:, k] ** 2)) - float(np.mean(estimates[:, k])) ** 2
        times = math.sqrt(moved / spread) if spread > 0.0 else math.nan
        out[m] = EstimatedMean(Estimate.mean(estimates[:, k], groups).interval(), times)
    return out


def _weights(table: _core.TraceTable) -> Floats:
    """Rows x models: of a known quality 1 / the probability that it became known; 0 of others."""
    known, probability = ~np.isnan(table.quality()), label_probabilities(table)
    if is_log(table):
        arrays = _core.TableArrays(table)
        known &= np.asarray(arrays.place) == 1.0
        probability = probability * np.asarray(arrays.propensity)
    return np.where(known, 1.0 / np.where(known, probability, 1.0), 0.0)


def _first_calls(table: _core.TraceTable, evaluator: str, groups: Groups) -> Floats:
    """Rows x models: what each model alone would have brought, h + F (y - h) / p.

    F says whether the model was called first, p with what probability, y is the quality of that call (one that is not
    known as in sources.labels), h the mean of the model's first calls on other folds by the weights 1 / p.
    """
    arrays, quality, folds = _core.TableArrays(table), table.quality(), groups.folds_by_appearance
    label = label_probabilities(table)
    guess = cross_fitted_quality(quality, judge_of(table, evaluator), label, folds)
    told = np.where(np.isnan(guess), quality, guess + np.nan_to_num((quality - guess) / label))
    first = np.asarray(arrays.place) == 1.0
    weight = np.where(first, 1.0 / np.where(first, np.asarray(arrays.propensity), 1.0), 0.0)
    told = np.where(first, told, 0.0)
    out = np.empty_like(told)
    for fold in range(FOLDS):
        own, others = folds == fold, folds != fold
        total = weight[others].sum(axis=0)
        mean = np.where(total > 0.0, (weight * told)[others].sum(axis=0) / np.where(total > 0.0, total, 1.0), 0.0)
        out[own] = mean + weight[own] * np.where(first[own], told[own] - mean, 0.0)
    return out


__all__ = ["EstimatedMean", "Identified", "estimated_means", "identified", "is_log", "unlabelled"]
