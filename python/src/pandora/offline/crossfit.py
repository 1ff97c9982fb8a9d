"""Cross-fitting: every candidate, fitted on some folds and read on the others.

One driver for tables, tables with labels in part and a log's first calls: a source says how rows are prepared for a
fit, and how a policy is read on rows that it was not fitted on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Optional

import numpy as np

from ..errors import DataError
from .estimate import corrected, held_out
from .groups import FOLDS, Floats, Groups, Ints
from .kinds import Candidate
from .outcomes import USD, nearest_rank
from .policies import KINDS, Policy
from .progress import Progress
from .sources.table import TableSource

#: Different prompts that a table has at least: two in each fold.
LEAST_PROMPTS = 10


@dataclass(frozen=True)
class CrossFit:
    """What each candidate does. Arrays are candidates x 3 x rows, of seconds candidates x rows."""

    source: TableSource
    candidates: Sequence[Candidate]
    policies: list[Policy]  #: by candidate, fitted on all rows
    fold_policies: list[list[Policy]]  #: by fold and candidate, fitted without it
    whole: Floats  #: of `policies`
    by_fold: Floats  #: folds x candidates x 3 x rows: of the fits without a fold, on every row
    without: Floats  #: folds x candidates x 3 x rows: of fits that saw neither that fold nor the row's own
    latency: Optional[Floats]  #: by candidate, the 95th per cent of seconds on other prompts
    latency_without: Optional[Floats]  #: folds x candidates

    @property
    def groups(self) -> Groups:
        """Of the rows."""
        return self.source.groups

    def reads_out_of_fold(self, kind: str) -> bool:
        """Whether a promise of this kind is read out of fold, and not corrected. The one place that decides it.

        Out of fold for estimated outcomes (`TableSource.estimated`) and for kinds that fit themselves to single prompts
        (`Kind.out_of_fold`); all others are corrected, which uses every fit on every row and is less variable.
        """
        return self.source.estimated or KINDS[kind].out_of_fold

    def honest(self, whole: Floats, by_fold: Floats, kind: str) -> Floats:
        """3 x rows of what was fitted on all rows, as on other prompts. by_fold: FOLDS x 3 x rows."""
        folds = self.groups.folds
        return held_out(by_fold, folds) if self.reads_out_of_fold(kind) else corrected(whole, by_fold, folds)

    def dearer(self, own: Floats, read: Floats) -> Floats:
        """By candidate: by how many dollars a row a policy spends more than those that it is read of, out of fold.

        own, read: candidates x 3 x rows.
        """
        more = np.maximum(0.0, own[:, USD].mean(axis=-1) - read[:, USD].mean(axis=-1))
        return np.where([self.reads_out_of_fold(candidate.kind) for candidate in self.candidates], more, 0.0)

    def candidate(self, number: int) -> Floats:
        """3 x rows of a candidate, as on other prompts."""
        return self.honest(self.whole[number], self.by_fold[:, number], self.candidates[number].kind)


def crossfit(
    source: TableSource, candidates: Sequence[Candidate], nested: bool, progress: Progress, timed: bool = False
) -> CrossFit:
    """Fits every candidate on all rows, without each fold and, where `nested`, without each pair of folds."""
    groups = source.groups
    if groups.count < LEAST_PROMPTS:
        raise DataError(
            f"{source.name}: has {groups.count} different prompt{'' if groups.count == 1 else 's'}: too few to judge a "
            f"cascade on what it was not fitted on; give a table of at least {LEAST_PROMPTS}, better hundreds"
        )
    folds, every = groups.folds, np.arange(len(groups.of_row))
    latency = np.full((FOLDS + 1, len(candidates), len(every) if timed else 0), np.nan)
    policies: list[Policy] = []

    def read(out_of: Sequence[int], rows: Ints) -> tuple[list[Policy], Floats, Floats]:
        prepared = source.prepare(np.flatnonzero(~np.isin(folds, out_of)), whole=not out_of)
        fitted = [
            KINDS[candidate.kind].fit(prepared, candidate, policies[number] if policies else None)
            for number, candidate in enumerate(candidates)
        ]
        found = [source.read(prepared, policy, rows) for policy in fitted]
        progress.step()
        seconds = [of_policy if timed and of_policy is not None else np.empty(0) for _, of_policy in found]
        return fitted, np.stack([numbers for numbers, _ in found]), np.stack(seconds)

    policies, whole, latency[FOLDS] = read((), every)
    by_fold, fold_policies = np.empty((FOLDS, *whole.shape)), []
    for fold in range(FOLDS):
        fitted, by_fold[fold], latency[fold] = read((fold,), every)
        fold_policies.append(fitted)
    without = np.full(by_fold.shape if nested else (0,), np.nan)
    seconds_without = np.full((FOLDS, *latency.shape[1:]) if nested and timed else (0,), np.nan)
    for pair in combinations(range(FOLDS), 2) if nested else ():
        rows = np.flatnonzero(np.isin(folds, pair))
        _, numbers, seconds = read(pair, rows)
        for unseen, own in (pair, pair[::-1]):
            of_own = folds[rows] == own
            without[unseen][:, :, rows[of_own]] = numbers[:, :, of_own]
            if timed:
                seconds_without[unseen][:, rows[of_own]] = seconds[:, of_own]
    return CrossFit(
        source,
        candidates,
        policies,
        fold_policies,
        whole,
        by_fold,
        without,
        _latency(latency, folds) if timed else None,
        _percentiles(seconds_without) if nested and timed else None,
    )


def _percentiles(seconds: Floats) -> Floats:
    """The 95th per cent along the last axis, of what is known."""
    return np.apply_along_axis(lambda row: nearest_rank(row, 0.95), -1, seconds)


def _latency(seconds: Floats, folds: Ints) -> Floats:
    """By candidate: on prompts that were not fitted on or, if more, of the fit on all rows, which is deployed."""
    others = held_out(seconds[:FOLDS], folds)
    return np.maximum(_percentiles(others), _percentiles(seconds[FOLDS]))
