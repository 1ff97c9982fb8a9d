"""Ridge and logistic regressions on the features of prompts, judged by leaving each prompt out.

One eigendecomposition of the features' covariance serves all targets and all ridges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

#: for ridge regressions, in units of a feature's mean sum of squares about its mean; half a decade apart
RIDGES = np.array([1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0])
#: for logistic regressions, in the same unit; each fit begins where the one before it ended
LOGISTIC_RIDGES = (10.0, 1.0, 0.1, 0.01)

_LEAST_KEPT = 1e-9  # the least 1 - leverage: a prompt with leverage 1 tells nothing about it
_MOST_STEPS = 25
_TOLERANCE = 1e-9  # of the objective, per prompt
_LEAST_CURVATURE = 1e-12


class LinearFit(NamedTuple):
    """Functions of the features, one for each of t targets.

    `weights`: (1 + d, t), the constant first. `left_out`: (n, t), what a fit without a prompt says of that prompt; of
    a logistic regression shares in [0, 1].
    """

    weights: Array
    left_out: Array


def shares_of(logits: Array) -> Array:
    """1 / (1 + exp(-logits)), in [0, 1], of any shape and without overflow."""
    falling = np.exp(-np.abs(logits))
    shares: Array = np.where(logits >= 0.0, 1.0, falling) / (1.0 + falling)
    return shares


class LinearFits:
    """Regressions on `features`: (n, d), n at least 1, d at least 0; a constant is added, and never shrunk.

    With F the centred features and F'F = V diag(s) V', all is done in the coordinates Z = F V, where both the
    covariance and every ridge are diagonal. The unit of ridges is the mean of s.
    """

    def __init__(self, features: npt.NDArray[np.floating]) -> None:
        numbers = np.asarray(features, np.float64)
        self._means = numbers.mean(axis=0)
        centred = numbers - self._means
        centred[:, np.ptp(numbers, axis=0) == 0.0] = 0.0  # else the rounding of the mean would be a feature
        squares, self._turn = np.linalg.eigh(centred.T @ centred)
        squares = np.maximum(squares, 0.0)
        self._unit = max(float(squares.mean()), 1e-300) if len(squares) else 1.0
        self._turned = centred @ self._turn
        self._shrinks = 1.0 / (squares[:, None] + RIDGES * self._unit)  # d x ridges
        leverage = self._turned**2 @ self._shrinks + 1.0 / len(numbers)
        self._kept = np.maximum(1.0 - leverage, _LEAST_KEPT)  # n x ridges

    def ridge(self, targets: Array) -> LinearFit:
        """Least squares of `targets` (n, t), of each with the one of RIDGES of least squared error by left-out prompts.

        The residual of a prompt that is left out is its residual by 1 - leverage, where the leverage at ridge r is
        1/n + z' diag(1 / (s + r)) z.
        """
        rows, count = targets.shape
        slopes, left_out = np.empty((len(self._turn), count)), np.empty((rows, count))
        means = np.empty(count)
        for t in range(count):  # one at a time, so that equal targets get equal weights to the last bit
            y = np.ascontiguousarray(targets[:, t])
            means[t] = y.mean()
            centred = y - means[t]
            by_ridge = self._shrinks * (self._turned.T @ centred)[:, None]
            residuals = (centred[:, None] - self._turned @ by_ridge) / self._kept
            best = int(np.argmin(np.einsum("ij,ij->j", residuals, residuals)))
            slopes[:, t] = by_ridge[:, best]
            left_out[:, t] = y - residuals[:, best]
        return LinearFit(self._weights_of(slopes, means), left_out)

    def logistic(self, shares: Array) -> LinearFit:
        """Logistic regressions of `shares` (n, t) in [0, 1], of each with the one of LOGISTIC_RIDGES of least log loss.

        The loss is by left-out prompts: one Newton step without each prompt, from the fit with it.
        """
        rows, count = shares.shape
        design = np.column_stack([np.ones(rows), self._turned])
        betas, left_out = np.zeros((design.shape[1], count)), np.empty((rows, count))
        for t in range(count):
            y = np.ascontiguousarray(shares[:, t])
            mean = min(max(float(y.mean()), 1e-3), 1.0 - 1e-3)
            beta = np.zeros(design.shape[1])
            beta[0] = np.log(mean / (1.0 - mean))
            least = np.inf
            for ridge in LOGISTIC_RIDGES:
                beta, without = _logistic(design, y, ridge * self._unit, beta)
                loss = _loss(without, y)
                if loss < least:
                    least, betas[:, t], left_out[:, t] = loss, beta, shares_of(without)
        return LinearFit(self._weights_of(betas[1:], betas[0]), left_out)

    def _weights_of(self, slopes: Array, constants: Array) -> Array:
        """On the features themselves, the constant first."""
        turned = np.column_stack([self._turn @ slope for slope in slopes.T]) if len(slopes) else slopes
        return np.vstack([[c - self._means @ slope for c, slope in zip(constants, turned.T)], turned])


def _loss(logits: Array, y: Array) -> float:
    """-log likelihood: the sum of log(1 + exp(eta)) - y eta."""
    return float(np.sum(np.maximum(logits, 0.0) - y * logits + np.log(1.0 + np.exp(-np.abs(logits)))))


def _logistic(design: Array, y: Array, ridge: float, beta: Array) -> tuple[Array, Array]:
    """Newton's method from `beta` on loss + ridge |slopes|^2 / 2, with steps halved while they make it worse.

    Returns beta (1 + d), and (n) every prompt's logit by one Newton step without it: with H the Hessian and
    g = x' H^-1 x, eta - g (y - p) / (1 - p (1 - p) g).
    """
    enough = _TOLERANCE * len(y)
    penalty = np.full(len(beta), ridge)
    penalty[0] = 0.0
    logits = design @ beta
    value = _loss(logits, y) + 0.5 * float(penalty @ beta**2)
    for step in range(_MOST_STEPS + 1):
        p = shares_of(logits)
        w = np.maximum(p * (1.0 - p), _LEAST_CURVATURE)
        scaled = design * np.sqrt(w)[:, None]
        hessian = scaled.T @ scaled + np.diag(penalty)
        uphill = design.T @ (y - p) - penalty * beta
        move = np.linalg.solve(hessian, uphill)
        if step == _MOST_STEPS or float(uphill @ move) < 0.5 * enough:  # twice what the step would gain
            break
        factor = 1.0
        while True:
            moved = beta + factor * move
            there = design @ moved
            then = _loss(there, y) + 0.5 * float(penalty @ moved**2)
            if not then > value or factor <= 1e-6:
                break
            factor *= 0.5
        if not then < value - enough:
            break
        beta, logits, value = moved, there, then
    g = np.einsum("ij,ij->i", design @ np.linalg.inv(hessian), design)
    return beta, logits - g * (y - p) / np.maximum(1.0 - w * g, 1e-9)
