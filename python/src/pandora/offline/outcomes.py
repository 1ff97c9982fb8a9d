"""The outcomes of a table's rows for a policy, and the results of each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional, Union

import numpy as np

from .groups import Floats, Ints

#: Axis of `Walk.numbers`: quality, dollars, calls.
QUALITY, USD, CALLS = range(3)

#: Mean utilities, bounds and ratings that differ by less are equal.
TIE = 1e-9


@dataclass(frozen=True)
class Outcomes:
    """Rows x models. `seen`: the policy's knowledge of an answer, by which it accepts and deploys.

    `psi`: rows x m, 1 and the features of the prompt, for policies that use them. `judge_usd` is added to the dollars
    of every call of a policy that looks at answers. `latency`: seconds, if they are needed. `rows`: their numbers in
    the source; None if they are all rows.
    """

    seen: Floats
    quality: Floats
    usd: Floats
    psi: Optional[np.ndarray] = None
    judge_usd: float = 0.0
    latency: Optional[Floats] = None
    rows: Optional[Ints] = None

    @property
    def models(self) -> int:
        """How many there are."""
        return int(self.quality.shape[1])

    @property
    def features(self) -> np.ndarray:
        """Rows x d: of the prompts; of none where d is 0."""
        return np.empty((len(self.quality), 0), np.float32) if self.psi is None else self.psi[:, 1:]

    def take(self, rows: Union[Ints, slice]) -> Outcomes:
        """These rows, in this order."""
        numbers = np.arange(len(self.quality)) if self.rows is None else self.rows
        psi, latency = (None if values is None else values[rows] for values in (self.psi, self.latency))
        seen, quality, usd = self.seen[rows], self.quality[rows], self.usd[rows]
        return Outcomes(seen, quality, usd, psi, self.judge_usd, latency, numbers[rows])


@dataclass(frozen=True)
class Walk:
    """The results of each row. `called`: rows x positions, the models in the order of the calls, -1 for none.

    `numbers`: 3 x rows, the deployed answer's quality, dollars and calls. `seconds`: of the calls one after the other.
    """

    called: Ints
    deployed: Ints
    numbers: Floats
    seconds: Optional[Floats] = None

    @staticmethod
    def empty(rows: int, positions: int, timed: bool) -> Walk:
        """Empty results for rows that are filled in later."""
        called, seconds = np.full((rows, positions), -1, np.int64), np.zeros(rows) if timed else None
        return Walk(called, np.zeros(rows, np.int64), np.zeros((3, rows)), seconds)

    def put(self, rows: Ints, walk: Walk) -> None:
        """Fills in the results of these rows."""
        self.called[rows, : walk.called.shape[1]] = walk.called
        self.deployed[rows] = walk.deployed
        self.numbers[:, rows] = walk.numbers
        if self.seconds is not None and walk.seconds is not None:
            self.seconds[rows] = walk.seconds


def along(called: Ints, values: Floats) -> Floats:
    """Rows x positions: the entry of `values` (rows x models) for the model that was called, 0 if none was."""
    return np.where(called >= 0, np.take_along_axis(values, np.maximum(called, 0), axis=1), 0.0)


def columns_called(models: np.ndarray, columns: Sequence[int]) -> Ints:
    """Maps models of a running cascade to their columns in a table; -1, for none, stays."""
    return np.array([*columns, -1])[models.astype(np.int64)]


def utility(numbers: Floats, price: float) -> Floats:
    """By row: quality - price x dollars, of an array whose next to last axis is quality, dollars, calls."""
    return numbers[..., QUALITY, :] - price * numbers[..., USD, :]


def nearest_rank(values: Floats, share: float) -> float:
    """The value of the nearest rank to that share of those that are known; NaN where none is."""
    known = np.sort(values[~np.isnan(values)])
    return float(known[max(int(np.ceil(share * len(known))), 1) - 1]) if len(known) else float("nan")
