"""What a kind of cascade is, and what a policy of it can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional, Protocol, Union

import numpy as np

from ..groups import Ints
from ..kinds import Candidate
from ..learners.estimators import EstimatorPredictors
from ..learners.predictors import PlanPredictors
from ..outcomes import Outcomes, Walk
from .order import Effort, Order

Predictors = Union[PlanPredictors, EstimatorPredictors]


class Policy(Protocol):
    """A rule from what is seen of a prompt to calls and a deployed answer. It reads what its calls show, no more."""

    def walk(self, outcomes: Outcomes) -> Walk:
        """What becomes of each row."""
        ...

    def text(self, models: list[str]) -> str:
        """In words, for people."""
        ...


class Prepared(Protocol):
    """A source as a fit on some of its rows sees it: scores calibrated, features and forecasts fitted on these."""

    rows: Ints  #: that are fitted on, ascending

    @property
    def outcomes(self) -> Outcomes:
        """Of all rows of the source."""
        ...

    @property
    def training(self) -> Outcomes:
        """Of `rows`."""
        ...

    def best_order(self, price: float, effort: Effort, first: Optional[int] = None) -> Order:
        """The order with thresholds that is worth most on `rows`."""
        ...

    def predictors(self, plans: Sequence[Order]) -> Predictors:
        """What can be predicted of plans; those of the models alone are fitted once."""
        ...

    def learn_indices(self, price: float, rows: Ints, near: Optional[Any] = None) -> Any:
        """_core.Indices, learned from all models' answers to these rows. `near`: from whose estimates they set out."""
        ...


class Kind(Protocol):
    """One way to cascade."""

    name: str  #: as users write it
    needs: frozenset[str]  #: of "context" and "judge"
    #: Whether what it is worth on other prompts is read out of fold, and not corrected (`estimate.corrected`).
    #: Correcting takes off what the folds' fits gain by having seen their prompts, which is right where they do the
    #: same as the fit on all rows. A router chooses its learner anew in each fold: where the whole remembers its
    #: prompts and the folds do not, most of what it remembers would stay.
    out_of_fold: bool
    #: Under a bound, by which kind the price is found around which it is tried.
    priced_by: str

    def fit(self, prepared: Prepared, candidate: Candidate, near: Optional[Policy] = None) -> Policy:
        """On `prepared.rows`. `near`: fitted on nearly the same rows, from where an iteration may set out."""
        ...


def is_simpler(a: Kind, b: Kind) -> bool:
    """Whether `a` needs less than `b`."""
    return a.needs < b.needs


def features_of(outcomes: Outcomes) -> np.ndarray:
    """Rows x d: the features of the prompts; of none where d is 0."""
    if outcomes.psi is None:
        return np.empty((len(outcomes.quality), 0), np.float32)
    return outcomes.psi[:, 1:]
