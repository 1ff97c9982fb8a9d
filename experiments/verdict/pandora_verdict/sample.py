"""One quantity over replications: its values if they are kept, otherwise only its mean and standard error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Optional, Union

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

Values = npt.NDArray[np.float64]
UNKNOWN = float("nan")


class Estimate(NamedTuple):
    """A mean with the half-width of its 95% interval."""

    mean: float
    half_width: float


NOTHING = Estimate(UNKNOWN, UNKNOWN)


def student_factor(degrees: float) -> float:
    """The factor from a standard error to half of a 95% interval: Student's t; NaN without a degree of freedom."""
    return float(stdtrit(degrees, 0.975)) if degrees > 0 else UNKNOWN


@dataclass(frozen=True)
class Sample:
    """A mean over n replications with its standard error; the values behind it, or None if they are not kept.

    `published`: the paper's number in its place, with 1.96 standard errors; NaN if there is none.
    """

    n: int
    mean: float
    standard_error: float
    values: Optional[Values] = None
    published: Estimate = NOTHING

    @classmethod
    def of(cls, values: Values, published: Estimate = NOTHING) -> Sample:
        """Mean and s / sqrt(n), s^2 = sum (x_r - mean)^2 / (n - 1)."""
        n = len(values)
        error = float(np.std(values, ddof=1)) / math.sqrt(n) if n > 1 else UNKNOWN
        return cls(n, float(np.mean(values)) if n else UNKNOWN, error, values, published)

    @property
    def is_published(self) -> bool:
        """Whether the paper has that number."""
        return not math.isnan(self.published.mean)

    @property
    def deviation(self) -> float:
        """The standard deviation s of a replication."""
        return self.standard_error * math.sqrt(self.n)

    @property
    def as_published(self) -> Estimate:
        """With 1.96 standard errors, as the paper's tables have them."""
        return Estimate(self.mean, 1.96 * self.standard_error)

    @property
    def interval(self) -> Estimate:
        """The 95% interval of Student's t with n - 1 degrees of freedom."""
        return Estimate(self.mean, student_factor(self.n - 1) * self.standard_error)

    def less(self, other: Union[Sample, float], factor: float = 1.0) -> Sample:
        """Minus `factor` times the other, paired: replication r of one with replication r of the other."""
        if not isinstance(other, Sample):
            other = Sample(self.n, other, 0.0, np.full(self.n, other), Estimate(other, 0.0))
            error = self.standard_error
        else:
            error = UNKNOWN
        published = Estimate(self.published.mean - factor * other.published.mean, UNKNOWN)
        if self.values is not None and other.values is not None:
            return Sample.of(self.values - factor * other.values, published)
        return Sample(self.n, self.mean - factor * other.mean, error, None, published)

    def negative(self) -> Sample:
        """The same with the other sign."""
        values = None if self.values is None else -self.values
        return Sample(self.n, -self.mean, self.standard_error, values, Estimate(-self.published.mean, UNKNOWN))

    def take(self, which: npt.NDArray[np.intp]) -> Sample:
        """Some of its replications."""
        assert self.values is not None
        return Sample.of(self.values[which], self.published)
