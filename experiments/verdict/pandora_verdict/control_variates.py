"""Means that are adjusted for other known properties of the replications, and their remaining error."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .sample import Values


@dataclass(frozen=True)
class Covariate:
    """A quantity of single replications, and the value at which its mean is taken, printed to `rounding`."""

    values: Values
    at: float
    rounding: float = 0.0


@dataclass(frozen=True)
class AdjustedMean:
    """A mean over n replications, with the data for its error and for that of sums of such means.

    `error`: how much each replication moves the mean, with sum 0; the sum of squares over n (n - 1) is the squared
    standard error. `residual`: the part of the values that the header does not explain, scaled so that its sample
    variance is that of a replication with a known header. `rounding`: standard error from the digits of the header.
    `degrees` of freedom are left for Student's t.
    """

    mean: float
    standard_error: float
    degrees: int
    error: Values
    residual: Values
    rounding: float


class _Regression:
    """Covariates x about their means, x_at - x_mean, and (x'x)^-1 in the generalised sense.

    A covariate that does not vary, or is determined by others, gets a slope without effect.
    """

    def __init__(self, covariates: Sequence[Covariate], n: int) -> None:
        x = np.array([c.values for c in covariates]).reshape(len(covariates), n).T
        mean = x.mean(axis=0)
        x = x - mean
        length = np.linalg.norm(x, axis=0)
        varies = length > 1e-9 * np.abs(mean) * math.sqrt(n)  # more than by rounding
        self.centred = np.where(varies, x, 0.0)
        self.distance = np.where(varies, np.array([c.at for c in covariates]) - mean, 0.0)
        scale = np.where(varies, 1.0 / np.where(varies, length, 1.0), 0.0)  # utilities are hundreds, masses below 1
        unit = self.centred * scale
        self.inverse = scale[:, None] * np.linalg.pinv(unit.T @ unit, rcond=1e-12, hermitian=True) * scale

    def slopes(self, y: Values) -> Values:
        return np.asarray(self.inverse @ (self.centred.T @ y))

    def leverage(self, towards: Values) -> Values:
        """How much a replication's residual moves the line's value at `towards` from the means, times n."""
        return np.asarray(len(self.centred) * (self.centred @ (self.inverse @ towards)))


def adjusted_mean(values: Values, header: Sequence[Covariate], controls: Sequence[Covariate]) -> AdjustedMean:
    """The mean of `values` in a sample with known means of `header`: y_mean + beta'(x_at - x_mean).

    beta comes from least squares over our replications. The means of `controls` are those over the law of instances:
    they correct only our replications' luck, and do not tell what the other sample drew. Errors include the scatter of
    the slopes, to first order. Without covariates it is the plain mean.
    """
    n, mean = len(values), float(np.mean(values))
    y = values - mean
    x, c = _Regression(header, n), _Regression(controls, n)
    beta = x.slopes(y)
    residual = y - x.centred @ beta
    gamma = c.slopes(residual)
    left = residual - c.centred @ gamma
    mean += float(beta @ x.distance + gamma @ c.distance)
    # From our means of the header, corrected for our luck, to the other sample's: the factor of an error of beta.
    towards = x.distance - c.slopes(x.centred).T @ c.distance
    error = left + x.leverage(towards) * residual + c.leverage(c.distance) * left
    error = error - error.mean()  # leverages do not sum to 0 exactly where residuals' variances differ
    degrees = n - 1.0
    left_over = n - 1 - len(header) - len(controls)
    error *= math.sqrt(degrees / left_over)
    standard_error = math.sqrt(float(error @ error) / degrees / n)
    rounding = math.hypot(0.0, *(float(b) * h.rounding / math.sqrt(12.0) for b, h in zip(beta, header)))
    scaled = residual * math.sqrt(degrees / (degrees - len(header)))
    return AdjustedMean(mean, standard_error, left_over, error, scaled, rounding)


def mean_least_greatest(count: int, first: float, second: float) -> tuple[float, float, float]:
    """Expected mean, least and greatest of `count` sums of independent uniforms on [0, first] and on [0, second].

    E[least] is the integral of (1 - F)^count, E[greatest] of 1 - F^count, F the law of a sum: polynomials on three
    pieces, which 20 nodes of Gauss and Legendre integrate exactly for count below 20.
    """
    a, b = min(first, second), max(first, second)
    nodes, weights = np.polynomial.legendre.leggauss(20)
    ends = (0.0, a, b, a + b)
    laws: tuple[Callable[[Values], Values], ...] = (
        lambda t: t * t / (2.0 * a * b),
        lambda t: (t - 0.5 * a) / b,
        lambda t: 1.0 - (a + b - t) ** 2 / (2.0 * a * b),
    )
    least = greatest = 0.0
    for law, start, end in zip(laws, ends, ends[1:]):
        below = law(0.5 * (start + end) + 0.5 * (end - start) * nodes)
        least += 0.5 * (end - start) * float(weights @ (1.0 - below) ** count)
        greatest += 0.5 * (end - start) * float(weights @ (1.0 - below**count))
    return 0.5 * (a + b), least, greatest
