"""The aim of a fit, its candidates, and what a kind of cascade is; the kinds are in policies/."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Optional, Protocol

import numpy as np

from .groups import Floats
from .outcomes import QUALITY, USD, Outcomes, Walk, utility

if TYPE_CHECKING:
    from .sources.table import PreparedTable


class AimKind(Enum):
    """A price of dollars, or a bound on dollars per prompt or on the mean quality."""

    PRICE = "price"
    MAX_USD = "max_usd"
    MIN_QUALITY = "min_quality"


@dataclass(frozen=True)
class Aim:
    """`value`: utility per dollar; dollars per prompt; or a quality in [0, 1].

    `max_latency`: seconds that 95% of the prompts' calls, one after the other, may take.
    """

    kind: AimKind
    value: float
    max_latency: Optional[float] = None

    @property
    def is_bound(self) -> bool:
        """Whether a price that keeps a bound must be found."""
        return self.kind is not AimKind.PRICE

    @property
    def on_usd(self) -> bool:
        """Whether the bound is on dollars."""
        return self.kind is AimKind.MAX_USD

    def objective(self, numbers: Floats, price: float) -> Floats:
        """By row the number to be maximised: utility at a price, quality under a bound on dollars, otherwise saved
        dollars.

        `numbers`: ... x 3 x rows. Dollars are per 1,000 prompts.
        """
        if self.kind is AimKind.PRICE:
            return utility(numbers, price)
        return numbers[..., QUALITY, :] if self.on_usd else -1000.0 * numbers[..., USD, :]

    def __str__(self) -> str:
        if self.kind is AimKind.PRICE:
            return f"price {self.value:g}"
        if self.on_usd:
            return f"at most {self.value:g} dollars per prompt"
        return f"quality of at least {self.value:g}"


@dataclass(frozen=True)
class Candidate:
    """A kind of cascade (a name of policies.KINDS) at a price.

    `model`: the column of a single model. `seconds`: the bound on latency to which thresholds are fitted; None: no
    bound.
    """

    kind: str
    price: float
    model: int = 0
    seconds: Optional[float] = None


class Policy(Protocol):
    """A rule from what is seen of a prompt to calls and a deployed answer. It reads only what its calls show."""

    def walk(self, outcomes: Outcomes) -> Walk:
        """The results of each row."""

    def text(self, models: list[str]) -> str:
        """In words, for people."""


@dataclass(frozen=True)
class Kind:
    """A kind of cascade."""

    name: str  #: as users write it
    about: str  #: what it does, for the command line's help
    #: Fits on the prepared rows. The last argument, `warm_start`, is the same candidate fitted on nearly the same rows,
    #: from which iterations may begin.
    fit: Callable[[PreparedTable, Candidate, Optional[Policy]], Policy]
    needs: frozenset[str] = frozenset()  #: of "context" and "judge"
    #: Whether its value on other prompts is read out of fold rather than corrected (`estimate.corrected`). The
    #: correction subtracts what the folds' fits gain by having seen their prompts. This is valid if they do the same as
    #: the fit on all rows. A router chooses its learner anew in each fold. If the fit on all rows remembers its prompts
    #: and the folds' fits do not, most of this advantage would remain.
    out_of_fold: bool = False
    priced_by: str = "thresholds"  #: under a bound: the kind at whose price this kind begins


def rounded(x: float, digits: int) -> float:
    """A positive number with that many significant digits."""
    return float(f"{x:.{digits - 1}e}")


def price_grid(usd: Floats) -> list[float]:
    """Prices, each twice the one before. They range from where the dearest model's dollars hardly count to where the
    cheapest is not worth a call, with two digits for people. `usd`: rows x models. [1] if nothing costs anything.
    """
    means = usd.mean(axis=0)
    means = means[means > 0.0]
    if not len(means):
        return [1.0]
    prices = 0.002 / float(means.max()) * 2.0 ** np.arange(64)
    last = int(np.searchsorted(prices, 1.0 / float(means.min())))
    return [rounded(price, 2) for price in prices[: last + 1].tolist()]
