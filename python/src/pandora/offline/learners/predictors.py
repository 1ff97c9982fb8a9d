"""Predicts the result of each of some plans for a prompt from the prompt's features, before any call.

A plan is a model alone, or models in order with thresholds. A router takes the plan with the greatest predicted
utility, quality - price x dollars.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Optional

import numpy as np
import numpy.typing as npt

from ..outcomes import TIE
from .linear import LinearFit, LinearFits, shares_of
from .neighbours import five_digits, means_of_first, nearest, nearest_others

Array = npt.NDArray[np.float64]

#: the numbers of nearest prompts over which neighbours average
NEAREST = (10, 30, 100, 300)
#: the most prompts that neighbours remember, and the most by which a learner is chosen
MOST_REMEMBERED, MOST_ASKED = 3000, 1000
#: the most features, including the constant, of logistic regressions
MOST_LOGISTIC = 64


def spread(rows: int, most: int) -> npt.NDArray[np.intp]:
    """(min(rows, most)): numbers below `rows`, evenly spread, ascending."""
    count = min(rows, most)
    return np.arange(count, dtype=np.intp) * rows // max(count, 1)


def features_of(features: npt.ArrayLike) -> Array:
    """(n, d), rounded to the floats that a running cascade sees, as doubles."""
    return np.asarray(features, np.float32).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Predictor(abc.ABC):
    """Predicts the results of plans. `quality` and `usd`: arrays whose last axis is the plans."""

    quality: npt.NDArray[Any]
    usd: npt.NDArray[Any]

    @abc.abstractmethod
    def predict(self, features: npt.NDArray[np.floating]) -> tuple[Array, Array]:
        """Quality and dollars, both (n, plans), of prompts with `features` (n, d)."""

    def of_plans(self, plans: Sequence[int]) -> Predictor:
        """A predictor for only these plans, in this order."""
        return replace(self, quality=self.quality[..., plans], usd=self.usd[..., plans])

    @abc.abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The member "router" of a saved cascade. Raises UsageError if it has no such form."""

    def described(self) -> dict[str, Any]:
        """The same; if it has no such form, its `learner`."""
        return self.to_json()


@dataclass(frozen=True, eq=False)
class LinearPredictor(Predictor):
    """Linear functions of the features: `quality` and `usd` are weights, (1 + d, plans), the constant first.

    The learner "logistic" predicts quality as 1 / (1 + exp(-its linear function)), "ridge" as that function itself.
    """

    learner: str

    def predict(self, features: npt.NDArray[np.floating]) -> tuple[Array, Array]:
        """Quality and dollars, both (n, plans)."""
        numbers = features_of(features)
        quality, usd = _linear(self.quality, numbers), _linear(self.usd, numbers)
        return (shares_of(quality) if self.learner == "logistic" else quality), usd

    def to_json(self) -> dict[str, Any]:
        """The member "router" of a saved cascade."""
        return {"learner": self.learner, "quality": self.quality.ravel().tolist(), "dollars": self.usd.ravel().tolist()}


def _linear(weights: Array, features: Array) -> Array:
    """Sums go feature by feature, as in a running cascade, so that equal plans stay equal. A product of matrices may
    round them differently.
    """
    if len(features) == 1:  # a request: the same sums, in a tenth of the time
        terms = np.concatenate([weights[:1], features.T * weights[1:]])
        return np.asarray(np.add.accumulate(terms)[-1:], np.float64)
    out = np.repeat(weights[:1], len(features), axis=0)
    for feature, weight in zip(features.T, weights[1:]):
        out += feature[:, None] * weight
    return out


@dataclass(frozen=True, eq=False)
class NeighboursPredictor(Predictor):
    """Means over the `nearest` nearest of some remembered prompts.

    `prompts`: (remembered, d), their features; `quality` and `usd`: (remembered, plans), the plans' results for them.
    """

    prompts: Array
    nearest: int

    learner = "neighbours"

    def predict(self, features: npt.NDArray[np.floating]) -> tuple[Array, Array]:
        """Quality and dollars, both (n, plans)."""
        near = nearest(self.prompts, features_of(features), self.nearest)
        (mean,) = means_of_first(np.hstack([self.quality, self.usd]), near, [self.nearest])
        return mean[:, : self.quality.shape[1]], mean[:, self.quality.shape[1] :]

    def to_json(self) -> dict[str, Any]:
        """The member "router" of a saved cascade."""
        prompts = np.column_stack([np.ones(len(self.prompts)), self.prompts])
        return {
            "learner": self.learner,
            "quality": self.quality.ravel().tolist(),
            "dollars": self.usd.ravel().tolist(),
            "nearest": self.nearest,
            "prompts": prompts.ravel().tolist(),
        }


def predictor_of(router: Mapping[str, Any], plans: int, features: int) -> Predictor:
    """Reads to_json(), for that many plans and features. ValueError for invalid members."""
    if not isinstance(router, Mapping):
        raise ValueError("a router that is no object")
    learner = router.get("learner")
    if learner not in ("ridge", "logistic", NeighboursPredictor.learner):
        raise ValueError("a router that learns in an unknown way")
    numbers = {}
    for name in ("quality", "dollars", *(["prompts"] if learner == NeighboursPredictor.learner else [])):
        numbers[name] = np.array(router.get(name), np.float64)
        if numbers[name].ndim != 1 or not np.isfinite(numbers[name]).all():
            raise ValueError(f"a router whose {name} are no numbers")
    rows = 1 + features if "prompts" not in numbers else len(numbers["prompts"]) // (1 + features)
    sizes = [rows * plans, rows * plans, rows * (1 + features)]
    if [len(values) for values in numbers.values()] != sizes[: len(numbers)]:
        raise ValueError("a router with too few or too many numbers")
    quality, usd = numbers["quality"].reshape(rows, plans), numbers["dollars"].reshape(rows, plans)
    if "prompts" not in numbers:
        return LinearPredictor(quality, usd, learner)
    nearest = router.get("nearest")
    if type(nearest) is not int or not 0 < nearest <= rows:
        raise ValueError("a router with fewer prompts than it asks")
    return NeighboursPredictor(quality, usd, numbers["prompts"].reshape(rows, 1 + features)[:, 1:], nearest)


class LeftOut(NamedTuple):
    """A predictor's results for the asked prompts when each is left out: both (asked, plans)."""

    quality: Array
    usd: Array


class _Prompts:
    """Everything that is learned from the prompts alone, for any plans."""

    def __init__(self, features: npt.NDArray[np.floating]) -> None:
        numbers = features_of(features)
        self.features = numbers.shape[1]
        self.remembered = spread(len(numbers), MOST_REMEMBERED)
        places = spread(len(self.remembered), MOST_ASKED)  # of the asked ones, among the remembered
        self.asked = self.remembered[places]
        self.linear = LinearFits(numbers)
        self.known = five_digits(numbers[self.remembered])
        self.counts = [count for count in NEAREST if count < len(self.remembered)]
        self.near = nearest_others(self.known, places, self.counts[-1]) if self.counts else None


class PlanPredictors:
    """Predictors of plans by every learner. They are fitted once, and give a router for any price.

    - "ridge": quality and dollars by ridge regression, each plan with its own ridge (LinearFits.ridge)
    - "logistic": quality by logistic regression (LinearFits.logistic), dollars as above; if no quality is outside [0,
      1], and for fewer than 64 features
    - "neighbours": means over the 10, 30, 100 or 300 nearest of at most 3,000 remembered prompts

    `features`: (n, d), rounded to floats; `quality` and `usd`: (n, plans), the plans' results for these prompts. n and
    plans are at least 1. `predictors` has one predictor of every learner for all plans, and one of neighbours for each
    number of neighbours. `left_out` has the predictions of each for the prompts `asked`, at most 1,000, when each is
    left out.
    """

    def __init__(
        self, features: npt.NDArray[np.floating], quality: Array, usd: Array, fitted: Optional[PlanPredictors] = None
    ) -> None:
        """`fitted`: predictors of the first of these plans, whose fits are reused."""
        self._features = features
        self._prompts: _Prompts = _Prompts(features) if fitted is None else fitted._prompts
        self.asked = self._prompts.asked
        self._quality, self._usd = quality[self.asked], usd[self.asked]
        first = 0 if fitted is None else fitted._ridge[0].weights.shape[1]
        new, linear = quality[:, first:], self._prompts.linear
        before = [None, None] if fitted is None else fitted._ridge
        self._ridge: list[LinearFit] = [
            self._joined(linear.ridge(y), earlier) for y, earlier in zip((new, usd[:, first:]), before)
        ]
        self._logistic: Optional[LinearFit] = None
        shares = new.size == 0 or (new.min() >= 0.0 and new.max() <= 1.0)
        if self._prompts.features + 1 <= MOST_LOGISTIC and shares and (fitted is None or fitted._logistic is not None):
            self._logistic = self._joined(linear.logistic(new), None if fitted is None else fitted._logistic)
        self.predictors: list[Predictor] = []
        self.left_out: list[LeftOut] = []
        dollars = self._ridge[1]
        for learner, fit in (("ridge", self._ridge[0]), ("logistic", self._logistic)):
            if fit is not None:
                self.predictors.append(LinearPredictor(fit.weights, dollars.weights, learner))
                self.left_out.append(LeftOut(fit.left_out, dollars.left_out))
        self._add_neighbours(quality, usd)

    def more(self, quality: Array, usd: Array) -> PlanPredictors:
        """With more plans for the same prompts. The first columns are the present plans, whose fits are reused."""
        return PlanPredictors(self._features, quality, usd, self)

    def learner(self, price: float) -> int:
        """Which of `predictors` chooses best at the price, judged by the asked prompts when each is left out; the first
        of equal ones, to 1e-9 in mean utility.
        """
        best, most = 0, -np.inf
        rows = np.arange(len(self.asked))
        utility = self._quality - price * self._usd
        for k in range(len(self.predictors)):
            worth = float(utility[rows, self._choices(k, price)].sum())
            if worth > most + TIE * len(rows):
                best, most = k, worth
        return best

    def best(self, price: float) -> tuple[Predictor, list[int]]:
        """The predictor of learner(price) for only those plans that it chooses for some of the asked prompts; and the
        numbers of these plans, ascending.
        """
        learner = self.learner(price)
        plans = np.unique(self._choices(learner, price)).tolist()
        return self.predictors[learner].of_plans(plans), plans

    def _choices(self, learner: int, price: float) -> npt.NDArray[np.intp]:
        left_out = self.left_out[learner]
        choices: npt.NDArray[np.intp] = np.argmax(left_out.quality - price * left_out.usd, axis=1)
        return choices

    def _joined(self, new: LinearFit, earlier: Optional[LinearFit]) -> LinearFit:
        """Left out are the asked prompts alone; beside the plans that were fitted before."""
        new = new._replace(left_out=new.left_out[self.asked])
        return new if earlier is None else LinearFit(*(np.hstack(both) for both in zip(earlier, new)))

    def _add_neighbours(self, quality: Array, usd: Array) -> None:
        prompts, plans = self._prompts, quality.shape[1]
        if prompts.near is None:
            return
        known = five_digits(np.hstack([quality[prompts.remembered], usd[prompts.remembered]]))
        means = means_of_first(known, prompts.near, prompts.counts)
        for count, mean in zip(prompts.counts, means):
            self.predictors.append(NeighboursPredictor(known[:, :plans], known[:, plans:], prompts.known, count))
            self.left_out.append(LeftOut(mean[:, :plans], mean[:, plans:]))
