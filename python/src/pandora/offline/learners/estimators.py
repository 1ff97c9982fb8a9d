"""Any object with fit and predict as a router's learner, such as an estimator of scikit-learn."""

from __future__ import annotations

import copy
import importlib
import io
import platform
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from ...arguments import refused
from ...errors import DataError, PandoraWarning, UsageError
from .linear import LinearFits
from .predictors import MOST_ASKED, Predictor, features_of, spread

Array = npt.NDArray[np.float64]


def require_estimator(what: str, estimator: Any) -> None:
    """Raises UsageError, beginning with `what`, unless EstimatorPredictors can use the estimator."""
    wanted = "an object with fit(features, targets) and predict(features), such as a regressor of scikit-learn"
    if isinstance(estimator, type):
        raise refused(what, estimator, f"one of it, {estimator.__name__}(...)")
    if not all(callable(getattr(estimator, name, None)) for name in ("fit", "predict")):
        raise refused(what, estimator, wanted)
    tags = _tags_of(estimator)
    kind = getattr(estimator, "_estimator_type", None) if tags is None else tags.estimator_type
    if kind == "classifier" and not _tells_chances(estimator):
        raise UsageError(f"{what} {_name_of(estimator)}: a classifier without predict_proba; give one that has it")


@dataclass(frozen=True, eq=False)
class _Column:
    """A number for each prompt: `shift` + `scale` x the estimator's prediction, or only `shift` without an
    estimator.
    """

    shift: float
    scale: float = 1.0
    estimator: Optional[Any] = None
    output: int = 0


@dataclass(frozen=True, eq=False)
class EstimatorPredictor(Predictor):
    """Predicts by fitted estimators. `learner` is the name of their class.

    JSON cannot hold it. If the estimators were saved beside a file, `saved_as` is what the file holds in its place.
    """

    learner: str
    saved_as: Optional[dict[str, Any]] = None

    def predict(self, features: npt.NDArray[np.floating]) -> tuple[Array, Array]:
        """Quality and dollars, both (n, plans). Raises UsageError if an estimator does not give a number for each."""
        numbers, columns = features_of(features), [*self.quality, *self.usd]
        asked = {id(column.estimator): column.estimator for column in columns if len(numbers)}
        said = {key: _said(estimator, numbers) for key, estimator in asked.items() if estimator is not None}
        out = np.tile([column.shift for column in columns], (len(numbers), 1))
        for place, column in enumerate(columns):
            if id(column.estimator) in said:
                out[:, place] += column.scale * said[id(column.estimator)][:, column.output]
        return out[:, : len(self.quality)], out[:, len(self.quality) :]

    def described(self) -> dict[str, Any]:
        """The estimator's class."""
        return {"learner": self.learner}

    def to_json(self) -> dict[str, Any]:
        """Raises UsageError if it was not saved beside a file."""
        if self.saved_as is None:
            article = "an" if self.learner[:1] in "AEIOU" else "a"
            raise UsageError(
                f"a cascade whose router is {article} {self.learner} is saved by Cascade.save alone, with the "
                "estimator in a file beside it; leave router out for one that stands in a single file"
            )
        return {"learner": self.learner, **self.saved_as}

    def dumped(self) -> tuple[bytes, dict[str, Any]]:
        """The object as joblib writes it, and the versions that are needed to read it. Raises UsageError without
        joblib, and if it cannot be pickled.
        """
        joblib, data = _joblib(), io.BytesIO()
        try:
            joblib.dump(replace(self, saved_as=None), data)
        except Exception as problem:  # from any __getstate__
            raise UsageError(f"a {self.learner} cannot be saved ({type(problem).__name__}: {problem})") from None
        return data.getvalue(), _versions(self)

    @staticmethod
    def of_dump(data: bytes, saved_as: dict[str, Any]) -> EstimatorPredictor:
        """Reads the bytes of dumped(), which runs the code in them. PandoraWarning if versions differ; DataError if
        they cannot be read.
        """
        try:
            out = _joblib().load(io.BytesIO(data))
        except UsageError:
            raise
        except Exception as problem:
            raise DataError(f"{saved_as['file']}: cannot be read ({type(problem).__name__}: {problem})") from None
        if not isinstance(out, EstimatorPredictor):
            raise DataError(f"{saved_as['file']}: is no router of a cascade")
        here = _versions(out)
        if saved_as["versions"] != here:
            warnings.warn(
                f"{saved_as['file']}: was saved with {_told(saved_as['versions'])}, this is {_told(here)}: what it "
                "predicts may differ",
                PandoraWarning, stacklevel=5,
            )  # fmt: skip
        return replace(out, saved_as=saved_as)


def _joblib() -> Any:
    try:
        return importlib.import_module("joblib")
    except ImportError:
        raise UsageError("estimators are saved and loaded by joblib, which is not here: pip install joblib") from None


def _versions(predictor: EstimatorPredictor) -> dict[str, str]:
    """The versions of Python, numpy, and the estimators' packages."""
    columns = [*predictor.quality, *predictor.usd]
    names = {type(c.estimator).__module__.split(".")[0] for c in columns if c.estimator is not None}
    found = {name: getattr(sys.modules.get(name), "__version__", "") for name in sorted(names | {"numpy"})}
    return {"python": platform.python_version(), **{name: version for name, version in found.items() if version}}


def _told(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


class EstimatorPredictors:
    """Predictions of plans by an estimator, with the interface of PlanPredictors.

    `estimator` is cloned if it has get_params (sklearn.base.clone), otherwise copied, and stays unchanged. The copies
    are fitted to the quality and to the dollars of every plan. If its tags say that it takes several targets, all
    qualities are fitted at once, and all dollars; otherwise each target alone. Dollars are given to it less their mean,
    in units of their standard deviation. A target that is the same for all prompts is not fitted.

    A classifier (an estimator with predict_proba) is fitted to qualities of 0 and 1, and gives the probability of 1.
    The dollars are then predicted by ridge regression. Raises UsageError for a classifier with other qualities.

    `features`: (n, d), rounded to floats; `quality` and `usd`: (n, plans).
    """

    def __init__(
        self,
        estimator: Any,
        features: npt.NDArray[np.floating],
        quality: Array,
        usd: Array,
        fitted: Optional[EstimatorPredictor] = None,
    ) -> None:
        """`fitted`: a predictor of the first of these plans, which is reused."""
        require_estimator("router", estimator)
        self._estimator, self._features = estimator, features_of(features)
        first = 0 if fitted is None else len(fitted.quality)
        new, new_usd, name = quality[:, first:], usd[:, first:], _name_of(estimator)
        if _tells_chances(estimator):
            if not np.isin(new, (0.0, 1.0)).all():
                raise UsageError(
                    f"router {name}: a classifier, which takes qualities of 0 and 1 alone, and there are others; give "
                    "a regressor"
                )
            columns = _fitted(self._features, new.astype(np.int64), lambda: _copy_of(estimator), False)
            usd_columns = _fitted(self._features, new_usd, _Ridge, True)
        else:
            together = _takes_several(estimator)
            columns = _fitted(self._features, new, lambda: _copy_of(estimator), together)
            usd_columns = _fitted(self._features, new_usd, lambda: _copy_of(estimator), together, scaled=True)
        if fitted is not None:
            columns, usd_columns = [*fitted.quality, *columns], [*fitted.usd, *usd_columns]
        self.predictors = [EstimatorPredictor(np.array(columns, object), np.array(usd_columns, object), name)]
        #: the prompts from which best() finds the plans that are chosen
        self.asked = spread(len(self._features), MOST_ASKED)
        self._of_asked = self.predictors[0].predict(self._features[self.asked])

    def more(self, quality: Array, usd: Array) -> EstimatorPredictors:
        """With more plans for the same prompts. The first columns are the present plans, whose fits are reused."""
        return EstimatorPredictors(self._estimator, self._features, quality, usd, self.predictors[0])

    def best(self, price: float) -> tuple[Predictor, list[int]]:
        """A predictor for only those plans that it chooses for some of the prompts `asked`, on which it was fitted; and
        the numbers of these plans, ascending.
        """
        quality, usd = self._of_asked
        plans = np.unique(np.argmax(quality - price * usd, axis=1)).tolist()
        return self.predictors[0].of_plans(plans), plans


def _fitted(
    features: Array, targets: npt.NDArray[Any], make: Callable[[], Any], together: bool, scaled: bool = False
) -> list[_Column]:
    """A column for each of `targets` (n, t). `scaled`: fitted less their mean, in units of their standard deviation."""
    count, varies = targets.shape[1], (np.ptp(targets, axis=0) != 0) & (features.shape[1] > 0)
    columns = {t: _Column(float(targets[:, t].mean())) for t in range(count) if not varies[t]}
    shifts, scales = np.zeros(count), np.ones(count)
    if scaled:
        shifts, scales = targets.mean(axis=0), targets.std(axis=0)
    open_targets = np.flatnonzero(varies).tolist()
    for group in [open_targets] if together and len(open_targets) > 1 else [[t] for t in open_targets]:
        wanted = (targets[:, group] - shifts[group]) / scales[group] if scaled else targets[:, group]
        estimator = make()
        estimator.fit(features, wanted if len(group) > 1 else wanted[:, 0])
        columns.update({t: _Column(shifts[t], scales[t], estimator, k) for k, t in enumerate(group)})
    return [columns[t] for t in range(count)]


class _Ridge:
    """Predicts dollars beside a classifier."""

    def fit(self, features: Array, targets: Array) -> None:
        self._weights = LinearFits(features).ridge(targets.reshape(len(features), -1)).weights

    def predict(self, features: Array) -> Array:
        out: Array = self._weights[0] + features @ self._weights[1:]
        return out


def _said(estimator: Any, features: Array) -> Array:
    """(n, outputs): the predictions of a fitted estimator; for a classifier the probabilities of 1."""
    if _tells_chances(estimator):
        chances = np.asarray(estimator.predict_proba(features), np.float64)
        if chances.ndim == 2:
            classes = list(getattr(estimator, "classes_", range(chances.shape[1])))
            chances = chances[:, classes.index(1)]
        found = chances
    else:
        found = np.asarray(estimator.predict(features), np.float64)
    if found.ndim not in (1, 2) or len(found) != len(features):
        raise UsageError(f"router {_name_of(estimator)}: of {len(features)} prompts it predicts an array {found.shape}")
    if not np.isfinite(found).all():
        raise UsageError(f"router {_name_of(estimator)}: it predicts numbers that are not finite")
    return found.reshape(len(found), -1)


def _copy_of(estimator: Any) -> Any:
    if hasattr(estimator, "get_params"):
        try:
            return importlib.import_module("sklearn.base").clone(estimator)
        except ImportError:  # an estimator of another library with the same methods
            pass
    return copy.deepcopy(estimator)


def _tells_chances(estimator: Any) -> bool:
    return callable(getattr(estimator, "predict_proba", None))


def _tags_of(estimator: Any) -> Any:
    """The tags that scikit-learn has since 1.6; None for others."""
    return estimator.__sklearn_tags__() if hasattr(estimator, "__sklearn_tags__") else None


def _takes_several(estimator: Any) -> bool:
    tags = _tags_of(estimator)
    if tags is not None:
        return bool(tags.target_tags.multi_output)
    return hasattr(estimator, "_get_tags") and bool(estimator._get_tags().get("multioutput", False))


def _name_of(estimator: Any) -> str:
    return type(estimator).__name__
