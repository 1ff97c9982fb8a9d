"""What can be estimated from a table, and the value of each model alone if not everything is known."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .. import _core
from ..spelling import option
from .call_log import CallLog, Openings
from .estimate import UNKNOWN, Estimate, Interval
from .groups import Groups
from .sources.first_calls import first_call_estimates
from .sources.labels import LEAST_LABELS, QualityEstimates, judge_of, label_note, label_probabilities
from .sources.log import faults_of_first_calls


@dataclass(frozen=True)
class Identified:
    """The estimators that a table allows, and a text, with marked options, about why not the others."""

    estimators: list[str]
    reasons: list[str]

    @property
    def best(self) -> str:
        """The estimator plugin for a full table, otherwise dr."""
        return self.estimators[-1]


@dataclass(frozen=True)
class EstimatedMean:
    """A model's mean quality, and how many times as wide its interval is as that of equally many prompts with all
    known.
    """

    quality: Interval = UNKNOWN
    widening: float = math.nan


def is_log(table: _core.TraceTable) -> bool:
    """Whether it is a log of decisions."""
    return bool(_core.TableArrays(table).is_log)


def unlabelled(table: _core.TraceTable) -> int:
    """How many answers have an unknown quality."""
    return int(np.count_nonzero(np.isnan(table.quality()) & ~np.isnan(table.cost())))


def identified(table: _core.TraceTable) -> Identified:
    """The estimators that its known values allow."""
    weighted = ["ips", "snips", "dr"]
    if not is_log(table):
        if unlabelled(table) == 0:
            return Identified(
                ["plugin"], ["every answer's quality and cost is known: means say all, and nothing is weighted"]
            )
        return Identified(weighted, [f"plugin needs every answer's quality; {label_note(table)}"])
    log = CallLog.of_table(table, Openings.IN_ORDER)
    reasons = ["plugin needs every model's answer to every prompt, and a log has those that were called"]
    reasons += [fault for fault in faults_of_first_calls(log) if fault]
    if not log.has_second_calls:
        reasons.append(
            "every decision made one call: policies that make one can be estimated, but what a second call would bring "
            f"only where models' answers are taken to be independent ({option('openings', 'apart')})"
        )
    if unlabelled(table) > 0 and _core.TableArrays(table).label_propensity is None:
        reasons.append(
            "whether a call's quality is known is taken to depend on its model alone; label_propensity says it better"
        )
    return Identified(weighted, reasons)


def estimated_means(table: _core.TraceTable, evaluator: str) -> list[EstimatedMean]:
    """For each model of a log or of a table with some labels; NaN if it is known, or was called first, too rarely."""
    quality, arrays = table.quality(), _core.TableArrays(table)
    counts, probability = ~np.isnan(quality), label_probabilities(table)
    if arrays.is_log:
        counts &= np.asarray(arrays.place) == 1.0
        probability = probability * np.asarray(arrays.propensity)
    enough = np.count_nonzero(counts, axis=0) >= LEAST_LABELS
    if arrays.is_log:
        enough &= [not fault for fault in faults_of_first_calls(CallLog.of_table(table, Openings.IN_ORDER))]
    out, kept = [EstimatedMean()] * len(enough), np.flatnonzero(enough).tolist()
    if not kept:
        return out
    part = table.select_models([table.models[m] for m in kept])
    if arrays.is_log:
        log = CallLog.of_table(part, Openings.IN_ORDER)
        groups, estimates = log.groups, first_call_estimates(log, judge_of(part, evaluator))[0]
    else:
        groups = Groups.of_table(table)
        estimates = QualityEstimates.of_table(part, evaluator, groups).estimated()
    for k, m in enumerate(kept):
        q, w = quality[counts[:, m], m], 1.0 / probability[counts[:, m], m]
        spread = float(np.average(q**2, weights=w)) - float(np.average(q, weights=w)) ** 2
        moved = float(np.mean(estimates[:, k] ** 2)) - float(np.mean(estimates[:, k])) ** 2
        times = math.sqrt(moved / spread) if spread > 0.0 else math.nan
        out[m] = EstimatedMean(Estimate.mean(estimates[:, k], groups).interval(), times)
    return out
