"""Tables with some known qualities: estimates of all qualities.

For an answer with the judge's score s, whose quality q becomes known (L = 1) with probability p:

    g(s) + L (q - g(s)) / p,   g = E[q | s], nondecreasing, of each model its own, fitted on other folds

This is augmented inverse propensity weighting (Robins, Rotnitzky and Zhao 1994). Its mean over the answers that any
policy deploys is unbiased for the mean of their qualities under one of two conditions. Either whether a quality became
known depends on the quality only through the model and p, or g is right. Single numbers are no qualities and may leave
[0, 1].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Union

import numpy as np

from ... import _core
from ...errors import DataError
from ..groups import FOLDS, Floats, Groups, Ints
from ..learners.isotonic import IsotonicMap
from ..notes import Note, Topic
from .evaluator import TRUTH, judge_named, truth_refused

#: The least number of known qualities for a map from scores to qualities; a model with fewer uses that of all models.
LEAST_LABELS = 10
#: The number of standard errors from which it is reported that known qualities depend on the score.
SURE = 3.5


@dataclass(frozen=True)
class QualityEstimates:
    """Estimates of a table's qualities. `folds`: for each row the fold that g leaves out; FOLDS for held-out rows."""

    quality: Floats  #: rows x models, NaN where it is not known
    score: Floats
    probability: Floats
    folds: Ints

    @staticmethod
    def of_table(table: _core.TraceTable, evaluator: str, groups: Groups) -> QualityEstimates:
        """Refuses the evaluator "quality", at which nobody can look, and tables with fewer than ten known qualities."""
        quality: Floats = table.quality()
        known = int(np.count_nonzero(~np.isnan(quality)))
        if evaluator == TRUTH:
            raise truth_refused(quality.size - known, quality.size)
        if known < LEAST_LABELS:
            raise DataError(
                f"{table.source}: knows the quality of {known} answers; give at least {LEAST_LABELS}, better hundreds"
            )
        return QualityEstimates(
            quality, judge_of(table, evaluator), label_probabilities(table), groups.folds_by_appearance
        )

    def estimated(self, held_out: Union[bool, np.ndarray] = False) -> Floats:
        """Qualities, rows x models. Labels of `held_out` rows (by row) are used only for their own cells."""
        folds = np.where(held_out, FOLDS, self.folds)
        guess = cross_fitted_quality(self.quality, self.score, self.probability, folds)
        return augmented(guess, self.quality, self.probability)


def judge_of(table: _core.TraceTable, evaluator: str) -> Floats:
    """The score that an evaluator names, otherwise the table's first; zeros, which tell nothing, if there is none."""
    name = judge_named(evaluator) or next(iter(table.scores), None)
    if name is None:
        return np.zeros((table.rows, len(table.models)))
    return table.score(name)


def label_probabilities(table: _core.TraceTable) -> Floats:
    """Rows x models: the table's probability, otherwise the share of its model's answers with known quality."""
    given = _core.TableArrays(table).label_propensity
    return shares_known(table.quality(), ~np.isnan(table.cost())) if given is None else np.asarray(given)


def shares_known(quality: Floats, called: np.ndarray) -> Floats:
    """Rows x models: the share of each model's calls whose quality is known."""
    known = (called & ~np.isnan(quality)).sum(axis=0)
    share = np.where(known > 0, known / np.maximum(called.sum(axis=0), 1), 1.0)
    return np.broadcast_to(share, called.shape).copy()


def augmented(guess: Floats, quality: Floats, probability: Floats) -> Floats:
    """By cell, g + L (q - g) / p."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isnan(quality), guess, guess + (quality - guess) / probability)


def cross_fitted_quality(quality: Floats, score: Floats, probability: Floats, folds: Ints) -> Floats:
    """Rows x models: g(score), fitted on the labelled cells of other folds by the weights 1 / probability.

    Rows of the fold FOLDS are not used in fits. NaN where the score is NaN.
    """
    labelled, out = ~np.isnan(quality + score), np.full(score.shape, np.nan)
    for fold in range(FOLDS + 1):
        in_fold = np.flatnonzero(folds == fold)
        if not len(in_fold):
            continue
        training = labelled & ((folds != fold) & (folds != FOLDS))[:, None]
        pooled = _fitted(quality, score, probability, training)
        for model in range(score.shape[1]):
            of_model = np.zeros_like(training)
            of_model[:, model] = training[:, model]
            enough = np.count_nonzero(of_model) >= LEAST_LABELS
            fitted = _fitted(quality, score, probability, of_model) if enough else pooled
            out[in_fold, model] = fitted(score[in_fold, model])
    return out


def _fitted(quality: Floats, score: Floats, probability: Floats, cells: np.ndarray) -> IsotonicMap:
    if not cells.any():
        return IsotonicMap(np.zeros(1), np.full(1, 0.5))
    return IsotonicMap.fit(score[cells], quality[cells], 1.0 / probability[cells])


def label_note(table: _core.TraceTable) -> Note:
    """The note of a fit or a test."""
    known = int(np.count_nonzero(~np.isnan(table.quality())))
    presumed = (
        "those of a model whose quality is known had been drawn at random"
        if _core.TableArrays(table).label_propensity is None
        else "whether it is known depended on nothing that bears on it beyond label_propensity"
    )
    text = (
        f"quality is known of {known} of {table.rows * len(table.models)} answers; it is estimated by augmented "
        f"inverse propensity weighting, as if {presumed}"
    )
    return Note(text, Topic.METHOD)


def dependence_notes(
    quality: Floats, score: Floats, probability: Floats, called: np.ndarray, groups: Groups
) -> list[Note]:
    """The notes of a fit or a test if known qualities lean towards low or high scores; empty if this is not seen.

    Known qualities stand for unknown ones, by weights 1 / p. If people rate bad answers more often than good ones and p
    does not reflect this, every estimate is too low. Only a judge can show it in a log: the share of known qualities
    then depends on the score.

    By model it uses the sum over calls of (known - p) (score - mean score). p is the share of known qualities among all
    of a model's calls, times `probability` of each call. All arrays are rows x models.
    """
    cells = called & ~np.isnan(score)
    known = cells & ~np.isnan(quality)
    by_row, below, above = np.zeros(len(quality)), np.zeros(2), np.zeros(2)  # for both halves: known and expected
    for model in range(quality.shape[1]):
        is_called, is_known = cells[:, model], known[:, model]
        if is_known.sum() < 5 or (is_called & ~is_known).sum() < 5:
            continue
        p = np.where(is_called, probability[:, model], 0.0)
        p = p * min(1.0, is_known.sum() / p.sum())
        away = np.where(is_called, score[:, model] - np.average(score[is_called, model], weights=p[is_called]), 0.0)
        by_row += (is_known - p) * away
        is_low = score[:, model] < float(np.median(score[is_called, model]))
        for sums, half in ((below, is_called & is_low), (above, is_called & ~is_low)):
            sums += is_known[half].sum(), p[half].sum()
    error = math.sqrt(float(np.sum(groups.sums(by_row) ** 2)))
    if not error > 0.0 or abs(by_row.sum()) < SURE * error or not min(below[1], above[1]) > 0.0:
        return []
    low, high = below[0] / below[1], above[0] / above[1]
    more, less = ("low", "high") if by_row.sum() < 0.0 else ("high", "low")
    ratio = max(low, high) / max(min(low, high), 1e-9)
    times = f"{ratio:.1f} times" if ratio < 1000.0 else "very many times"
    text = (
        f"which qualities are known depends on the score: of answers with a {more} score {times} as many as of those "
        f"with a {less} one, so estimates may be too {more} where the score does not tell all: give label_propensity, "
        "or ask for the quality of answers drawn at random"
    )
    return [Note(text, Topic.LABELS_LEAN, more)]
