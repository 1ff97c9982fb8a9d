"""Which rows belong together: the rows of one prompt (or session) are one observation, and lie in one fold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .. import _core

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: The number of folds of a cross-validation.
FOLDS = 5
#: The column of a decision log with the conversation of a request.
SESSION = "session"


@dataclass(frozen=True)
class Groups:
    """The group of each row, from 0 to `count` - 1. Numbers are in a hash's order, so folds are drawn at random."""

    of_row: Ints
    count: int

    @staticmethod
    def of_table(table: _core.TraceTable) -> Groups:
        """Groups by the prompts' texts; by the row's name if there is no text, by its number if there is no name.

        In a decision log the requests of a session are one group.
        """
        of_row, count = _core.group_prompts(table)
        if SESSION not in table.columns or not _core.TableArrays(table).is_log:
            return Groups(of_row, count)
        sessions = np.array(table.column(SESSION), object)
        known = np.array([isinstance(one, str) and one != "" for one in sessions])
        joined = of_row.copy()
        # Sessions are digests (live/explaining.py), so their numbers are in a hash's order too.
        joined[known] = count + np.unique(sessions[known].astype(str), return_inverse=True)[1]
        _, numbers = np.unique(joined, return_inverse=True)
        return Groups(numbers.astype(np.int64), int(numbers.max(initial=-1)) + 1)

    @cached_property
    def folds(self) -> Ints:
        """The fold of each row, 0 to FOLDS - 1; all have about equally many groups."""
        return self.of_row % FOLDS

    @cached_property
    def folds_by_appearance(self) -> Ints:
        """Another division, by where a group first appears, for fits within one step, such as forecasts."""
        return self.take(np.arange(len(self.of_row))).of_row % FOLDS

    def take(self, rows: npt.NDArray[np.integer]) -> Groups:
        """The groups of these rows, numbered anew by first appearance."""
        _, first, inverse = np.unique(self.of_row[rows], return_index=True, return_inverse=True)
        rank = np.empty(len(first), np.int64)
        rank[np.argsort(first, kind="stable")] = np.arange(len(first))
        return Groups(rank[inverse], len(first))

    def sums(self, by_row: Floats) -> Floats:
        """The sum over the rows of each group."""
        return np.asarray(np.bincount(self.of_row, by_row, minlength=self.count), np.float64)
