"""Cross-fitting: every candidate is fitted on all rows, without each fold and without each pair of folds.

One driver serves tables, tables with some labels, and a log's first calls. A source says how rows are prepared for a
fit, and what a policy does on rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Callable, Optional

import numpy as np

from ..errors import DataError
from .estimate import corrected, held_out
from .groups import FOLDS, Floats, Groups, Ints
from .kinds import Candidate
from .outcomes import USD, nearest_rank
from .policies import KINDS, Policy
from .sources.table import TableSource

#: The least number of different prompts in a table: two in each fold.
LEAST_PROMPTS = 10


class Progress:
    """Counts finished fits, for callers who wait; `told(done, total)` is called for each."""

    def __init__(self, told: Optional[Callable[[int, int], None]] = None) -> None:
        self._told = told
        self._done = self._total = 0

    def expect(self, fits: int) -> None:
        """Adds that many fits to the total."""
        self._total += fits

    def step(self) -> None:
        """Counts a finished fit."""
        self._done += 1
        if self._told is not None:
            self._told(self._done, max(self._done, self._total))


@dataclass(frozen=True)
class CrossFit:
    """The results of each candidate: 3 numbers (quality, dollars, calls) for each row, unless a field says
    otherwise.
    """

    source: TableSource
    candidates: Sequence[Candidate]
    policies: list[Policy]  #: by candidate, fitted on all rows
    fold_policies: list[list[Policy]]  #: by fold and candidate, fitted without it
    whole: Floats  #: candidates x 3 x rows, of `policies`
    by_fold: Floats  #: folds x candidates x 3 x rows: of the fits without a fold, on every row
    #: Folds x candidates x 3 x rows: for fold f and each row the result of the fit without fold f and without the row's
    #: own fold; NaN for rows of fold f.
    without: Floats
    #: By candidate, the 95th percentile of seconds on prompts that the fit has not seen, or of the fit on all rows if
    #: that is greater.
    latency: Optional[Floats]
    latency_without: Optional[Floats]  #: the 95th percentile from `without`, for each left-out fold and candidate

    @property
    def groups(self) -> Groups:
        """Which rows are one prompt or session."""
        return self.source.groups

    def reads_out_of_fold(self, kind: str) -> bool:
        """Whether a promise for this kind is read out of fold rather than corrected. Only this function decides it.

        Out of fold for estimated outcomes (`TableSource.estimated`) and for kinds that adapt to single prompts
        (`Kind.out_of_fold`). All others are corrected, which uses every fit on every row and varies less.
        """
        return self.source.estimated or KINDS[kind].out_of_fold

    def honest(self, whole: Floats, by_fold: Floats, kind: str) -> Floats:
        """The values on other prompts (3 x rows) of a policy that was fitted on all rows. by_fold: FOLDS x 3 x rows."""
        folds = self.groups.folds
        return held_out(by_fold, folds) if self.reads_out_of_fold(kind) else corrected(whole, by_fold, folds)

    def dearer(self, fitted: Floats, unseen: Floats) -> Floats:
        """By candidate: how many more dollars per row a policy spends on the rows on which it was fitted (`fitted`)
        than its out-of-fold evaluation says (`unseen`), at least 0; 0 for kinds that are corrected. Both arguments are
        candidates x 3 x rows.
        """
        more = np.maximum(0.0, fitted[:, USD].mean(axis=-1) - unseen[:, USD].mean(axis=-1))
        return np.where([self.reads_out_of_fold(candidate.kind) for candidate in self.candidates], more, 0.0)

    def candidate(self, number: int) -> Floats:
        """The values of a candidate on other prompts, 3 x rows."""
        return self.honest(self.whole[number], self.by_fold[:, number], self.candidates[number].kind)


def crossfit(
    source: TableSource, candidates: Sequence[Candidate], nested: bool, progress: Progress, timed: bool = False
) -> CrossFit:
    """Fits every candidate on all rows, without each fold and, if `nested`, without each pair of folds."""
    groups = source.groups
    if groups.count < LEAST_PROMPTS:
        raise DataError(
            f"{source.name}: has {groups.count} different prompt{'' if groups.count == 1 else 's'}: too few to judge a "
            f"cascade on what it was not fitted on; give a table of at least {LEAST_PROMPTS}, better hundreds"
        )
    folds, all_rows = groups.folds, np.arange(len(groups.of_row))
    latency = np.full((FOLDS + 1, len(candidates), len(all_rows) if timed else 0), np.nan)
    policies: list[Policy] = []

    def fit_and_read(left_out: Sequence[int], rows: Ints) -> tuple[list[Policy], Floats, Floats]:
        prepared = source.prepare(np.flatnonzero(~np.isin(folds, left_out)))
        fitted = [
            KINDS[candidate.kind].fit(prepared, candidate, policies[number] if policies else None)
            for number, candidate in enumerate(candidates)
        ]
        read = [source.read(prepared, policy, rows) for policy in fitted]
        progress.step()
        seconds = [by_row if timed and by_row is not None else np.empty(0) for _, by_row in read]
        return fitted, np.stack([numbers for numbers, _ in read]), np.stack(seconds)

    policies, whole, latency[FOLDS] = fit_and_read((), all_rows)
    by_fold, fold_policies = np.empty((FOLDS, *whole.shape)), []
    for fold in range(FOLDS):
        fitted, by_fold[fold], latency[fold] = fit_and_read((fold,), all_rows)
        fold_policies.append(fitted)
    without = np.full(by_fold.shape if nested else (0,), np.nan)
    seconds_without = np.full((FOLDS, *latency.shape[1:]) if nested and timed else (0,), np.nan)
    for pair in combinations(range(FOLDS), 2) if nested else ():
        rows = np.flatnonzero(np.isin(folds, pair))
        _, numbers, seconds = fit_and_read(pair, rows)
        for other, fold in (pair, pair[::-1]):
            in_fold = folds[rows] == fold
            without[other][:, :, rows[in_fold]] = numbers[:, :, in_fold]
            if timed:
                seconds_without[other][:, rows[in_fold]] = seconds[:, in_fold]
    latency_of_all = latency_without = None
    if timed:
        latency_of_all = np.maximum(_percentiles(held_out(latency[:FOLDS], folds)), _percentiles(latency[FOLDS]))
        latency_without = _percentiles(seconds_without) if nested else None
    return CrossFit(
        source, candidates, policies, fold_policies, whole, by_fold, without, latency_of_all, latency_without
    )


def _percentiles(seconds: Floats) -> Floats:
    """The 95th percentile along the last axis, of known values."""
    return np.apply_along_axis(lambda row: nearest_rank(row, 0.95), -1, seconds)
