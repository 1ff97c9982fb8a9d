"""Checks whether qualities become known as often as assumed, for good answers as for bad ones.

Known qualities stand for unknown ones, by weights 1 / p. If people rate bad answers more often than good ones and p
does not reflect this, every estimate is too low. Only a judge can show it in a log: the share of known qualities then
depends on the score.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from .groups import Floats, Groups
from .notes import Note, Topic

#: The number of standard errors from which a dependence is reported.
SURE = 3.5


def dependence_notes(
    quality: Floats, score: Floats, probability: Floats, called: npt.NDArray[np.bool_], groups: Groups
) -> list[Note]:
    """The notes of a fit or a test if known qualities lean towards low or high scores; empty if this is not seen.

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
