"""Reservation indices of a changed problem."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Callable, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _core
from .errors import UsageError

Numbers = npt.NDArray[np.float64]
#: of numbers, block x A x n, and the rows of the block; what comes back has the same shape
Change = Callable[[Numbers, npt.NDArray[np.int64]], npt.ArrayLike]

_POINTS = 512
_ROWS_AT_ONCE = 2048


def numbers(what: str, values: Any) -> Numbers:
    """An array of numbers; masked and complex ones and texts are refused."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        raise UsageError(f"{what} is masked in places; fill them, .filled(...)")
    try:
        found = np.asarray(values)
    except ValueError as error:
        raise UsageError(f"{what}: {error}; give an array of numbers") from None
    if found.dtype.kind not in "fiub":
        raise UsageError(f"{what} is of type {found.dtype}; give an array of numbers")
    return np.asarray(found, dtype=np.float64, order="C")


def _at_least_0(what: str, values: Numbers) -> Numbers:
    wrong = np.argwhere(~(values >= 0) | np.isinf(values))
    if len(wrong) > 0:
        at = tuple(int(k) for k in wrong[0])
        raise UsageError(f"{what}: {values[at]:g} at {list(at)}; give finite numbers from 0 on")
    return values


def reservation_index(values: npt.ArrayLike, cost: npt.ArrayLike, weights: Optional[npt.ArrayLike] = None) -> Any:
    """Weitzman's reservation index of any law: the sigma with E[(V - sigma)^+] = cost.

    V takes the n `values` of the last axis, equally likely or in proportion to `weights`. The other axes are those of
    `cost` (at least 0) and of the result. If V is continuous, use the means of its quantile bins. The result is
    negative if the cost exceeds E[V], and the largest value if the cost is 0.

    >>> round(float(reservation_index([0.2, 0.8], 0.1)), 9)
    0.6
    >>> reservation_index([0.2, 0.8], [0.1, 0.4], weights=[3, 1]).round(9)
    array([ 0.4 , -0.05])
    """
    of, costs = np.atleast_1d(numbers("values", values)), _at_least_0("cost", numbers("cost", cost))
    if of.size == 0 or not np.isfinite(of).all():
        raise UsageError("values: give finite numbers, one at least")
    given = None if weights is None else _at_least_0("weights", numbers("weights", weights))
    if given is not None and (given.shape[-1:] != of.shape[-1:] or not (given.sum(-1) > 0).all()):
        raise UsageError(f"weights: give {of.shape[-1]} numbers from 0 on, not all of them 0")
    try:
        shape = np.broadcast_shapes(of.shape[:-1], costs.shape, () if given is None else given.shape[:-1])
    except ValueError:
        raise UsageError("reservation_index: values but for their last axis, and cost, do not go together") from None
    n = of.shape[-1]

    def flat(array: Numbers) -> Numbers:
        return np.ascontiguousarray(np.broadcast_to(array, (*shape, n))).reshape(-1, n)

    each = np.ascontiguousarray(np.broadcast_to(costs, shape)).reshape(-1)
    found = _core.reservation_index(flat(of), each, None if given is None else flat(given))
    return found.reshape(shape)[()]


class ReplicationRequest(_core.ReplicationRequest):
    """The replication that an environment is to draw, and the paper's model of it.

    The parameters of the model are there under their names (theta, D, Q, alpha, beta0, beta1, c0, c1; ell, scale,
    expected_cost and context_cost for each row and box), read-only.
    """

    def indices(
        self,
        cost: Union[npt.ArrayLike, Change, None] = None,
        *,
        ell: Optional[npt.ArrayLike] = None,
        scale: Optional[npt.ArrayLike] = None,
        theta: Optional[npt.ArrayLike] = None,
        mu: Optional[Change] = None,
    ) -> Numbers:
        """The oracle's reservation indices of a changed problem, rows x A; NaN in the rows before the online ones.

        sigma_a(x) solves E[(mu* - sigma_a(x))^+ | x] = E[c_a | x], where mu* = G(ell + scale theta_*' D xi). Arguments
        that are left out are as in the model:

        `cost`: E[c_a | x], the expected cost of querying: a number, or an array that broadcasts to rows x A. It may be
        a function ``cost(c, rows)`` that makes the changed costs from the model's; their mean is taken.

        `ell`, `scale`: l_a(x) and s_a(x), likewise. `theta`: another theta_*, d numbers; `ell` is then theta' Q x.

        `mu`: the value of an output as a function of z = ell + scale theta_*' D xi, ``mu(z, rows)``, in place of G(z).

        Functions are called with arrays of block x A x n, the values at n equally likely points (512, or 1 if nothing
        is random), and with the numbers of the block's rows. Without `mu` the law is the oracle's own sample, or 4,000
        quantiles of it if the model is contextual; this takes a second or two for 30,000 periods. Boxes stay
        independent given x.

        >>> import pandora
        >>> class HalfPrice(pandora.Environment):
        ...     def draw(self, request):
        ...         drawn = request.model()
        ...         drawn["cost"] = drawn["cost"] / 2
        ...         drawn["sigma"] = request.indices(cost=request.expected_cost / 2)
        ...         return drawn
        """
        given = None if theta is None else numbers("theta", theta)
        if given is not None and given.shape != (self.reward_features,):
            raise UsageError(f"theta: give {self.reward_features} numbers, not {' x '.join(map(str, given.shape))}")
        shift, spread = self._cells("ell", ell), self._cells("scale", scale)
        if scale is not None and not (spread > 0).all():
            raise UsageError("scale: give numbers above 0")
        if callable(cost):
            costs = self._mean_cost(cost)
        else:
            costs = self._cells("cost", cost)
            if cost is not None:
                _at_least_0("cost", costs)
        if mu is None:
            return _core.indices_of_request(self, shift, spread, costs, given)
        points, of_theta = _core.law_of_request(self, _POINTS, given)
        shift = of_theta if ell is None else shift
        spread, costs = (self.scale if scale is None else spread), (self.expected_cost if cost is None else costs)
        sigma = np.full(shift.shape, np.nan)
        for rows in self._blocks():
            values = mu(shift[rows, :, None] + spread[rows, :, None] * points, rows)
            sigma[rows] = reservation_index(self._of_block("mu", values, rows, len(points)), costs[rows])
        return sigma

    def _cells(self, what: str, values: Optional[npt.ArrayLike]) -> Numbers:
        if values is None:
            return np.full((self.rows, self.boxes), np.nan)
        found = numbers(what, values)
        if not np.isfinite(found).all():
            raise UsageError(f"{what}: give finite numbers")
        try:
            return np.ascontiguousarray(np.broadcast_to(found, (self.rows, self.boxes)))
        except ValueError:
            given = " x ".join(map(str, found.shape))
            raise UsageError(f"{what}: give an array of {self.rows} x {self.boxes}, not {given}") from None

    def _blocks(self) -> Iterator[npt.NDArray[np.int64]]:
        for first in range(1 + self.calibration_periods, self.rows, _ROWS_AT_ONCE):
            yield np.arange(first, min(first + _ROWS_AT_ONCE, self.rows))

    def _of_block(self, what: str, values: npt.ArrayLike, rows: npt.NDArray[np.int64], n: int) -> Numbers:
        found = numbers(f"{what}(...)", values)
        if found.shape != (len(rows), self.boxes, n):
            raise UsageError(f"{what}(...): return an array of the shape of its first argument")
        return found

    def _mean_cost(self, change: Change) -> Numbers:
        out = np.array(self.expected_cost)
        magnitudes = (
            np.reshape(_core.magnitudes_of_request(self, _POINTS), (self.boxes, -1))
            if self.regime == "B"
            else np.zeros((1, 1))
        )
        n = magnitudes.shape[1]
        for rows in self._blocks():
            logistic = 1 / (1 + np.exp(-self.scale[rows, :, None] * magnitudes))
            cost = self.context_cost[rows, :, None] + self.c1[:, None] * logistic
            cost = np.ascontiguousarray(np.broadcast_to(cost, (len(rows), self.boxes, n)))
            out[rows] = _at_least_0("cost(...)", self._of_block("cost", change(cost, rows), rows, n)).mean(axis=2)
        return out
