"""A number with its interval; all estimates have this form."""

from __future__ import annotations

from typing import NamedTuple


class Interval(NamedTuple):
    """A number with its 95% confidence interval over prompts."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"
