"""E[quality | a judge's score], nondecreasing in the score, by isotonic regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class IsotonicMap:
    """A nondecreasing function of a score: linear between knots, constant beyond the first and the last.

    `scores`: (knots), strictly ascending; `qualities`: (knots), nondecreasing. Without knots a score is its own
    quality.
    """

    scores: Array
    qualities: Array

    @staticmethod
    def fit(scores: Array, qualities: Array, weights: Optional[Array] = None) -> IsotonicMap:
        """The nondecreasing f that minimises the sum of weight (quality - f(score))^2, by pool adjacent violators.

        All are (n), with n at least 0, in any order, and finite; weights are at least 0, by default 1. f is constant on
        blocks of neighbouring scores; the knots are the first and the last score of every block. Qualities are rounded
        to 12 digits, so that two models that are right equally often do not differ by the order of a sum.
        """
        weights = np.ones(len(scores)) if weights is None else weights
        known = weights > 0.0
        scores, qualities, weights = scores[known], qualities[known], weights[known]
        order = np.lexsort((weights, qualities, scores))
        distinct, block = np.unique(scores[order], return_inverse=True)
        sums, counts = np.zeros(len(distinct)), np.zeros(len(distinct))
        np.add.at(sums, block, weights[order] * qualities[order])
        np.add.at(counts, block, weights[order])
        starts, means = _pooled(sums, counts)
        ends = np.append(starts[1:], len(distinct))[: len(starts)] - 1
        knots = np.column_stack([starts, ends]).ravel()
        new = np.append(True, knots[1:] != knots[:-1])[: len(knots)]  # a block of one score has one knot
        return IsotonicMap(distinct[knots[new]], np.repeat(np.round(means, 12), 2)[new])

    def __call__(self, scores: Array) -> Array:
        """The qualities for scores of any shape; nan for nan."""
        if not len(self.scores):
            return np.array(scores, np.float64)
        scores = np.clip(scores, self.scores[0], self.scores[-1])
        left = np.searchsorted(self.scores, scores, "right") - 1
        right = np.minimum(left + 1, len(self.scores) - 1)
        share = (scores - self.scores[left]) / np.where(left < right, self.scores[right] - self.scores[left], 1.0)
        between: Array = self.qualities[left] + share * (self.qualities[right] - self.qualities[left])
        return between

    def to_json(self) -> dict[str, Any]:
        """The member "calibration" of a saved cascade."""
        return {"scores": self.scores.tolist(), "qualities": self.qualities.tolist()}


def _pooled(sums: Array, weights: Array) -> tuple[npt.NDArray[np.intp], Array]:
    """Blocks of neighbours with strictly ascending means: where each begins, and its mean.

    As long as it removes many blocks, all neighbours that do not ascend are pooled at once; then one after another.
    """
    starts = np.arange(len(sums))
    while len(sums) > 1:
        means = sums / weights
        first = np.flatnonzero(np.append(True, means[1:] > means[:-1]))
        few = len(first) > 0.95 * len(sums)
        starts, sums, weights = starts[first], np.add.reduceat(sums, first), np.add.reduceat(weights, first)
        if few:
            break
    blocks: list[tuple[int, float, float]] = []
    for start, s, w in zip(starts.tolist(), sums.tolist(), weights.tolist()):
        while blocks and blocks[-1][1] / blocks[-1][2] >= s / w:
            start, left_s, left_w = blocks.pop()
            s, w = left_s + s, left_w + w
        blocks.append((start, s, w))
    return np.array([b[0] for b in blocks], np.intp), np.array([b[1] / b[2] for b in blocks])


def calibrations(
    score: Array, quality: Array, rows: npt.NDArray[np.integer], weights: Optional[Array] = None
) -> list[IsotonicMap]:
    """A map for each model, fitted on `rows` (k) of `score` and `quality`, both (n, models), in [0, 1].

    Cells in which either is nan are left out. `weights`: (n, models), at least 0.
    """
    maps = []
    for model in range(score.shape[1]):
        scores, qualities = score[rows, model], quality[rows, model]
        known = ~np.isnan(scores + qualities)
        their_weights = None if weights is None else weights[rows, model][known]
        maps.append(IsotonicMap.fit(scores[known], qualities[known], their_weights))
    return maps


def applied(maps: Sequence[IsotonicMap], score: Array) -> Array:
    """(n, models): each model's scores after its map."""
    return np.column_stack([map_of_model(score[:, model]) for model, map_of_model in enumerate(maps)])
