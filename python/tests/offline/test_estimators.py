"""Estimators of scikit-learn, and estimators by hand, as routers."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np
import numpy.typing as npt
import pytest
from learner_tables import PRICES, Array, outcomes

import pandora
from pandora.offline.learners.estimators import EstimatorPredictors, require_estimator
from pandora.offline.learners.predictors import PlanPredictors

pytest.importorskip("sklearn")
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

TABLE = outcomes(seed=23, rows=200, features=3, plans=3)
X = TABLE.features.astype(np.float64)


class Nearest:
    """Predicts the value of the nearest prompt. It has only the methods fit and predict, for one target."""

    fitted = 0

    def __init__(self, answer: Optional[Any] = None) -> None:
        self.answer = answer

    def fit(self, features: Array, targets: Array) -> None:
        assert targets.ndim == 1
        Nearest.fitted += 1
        self.features, self.targets = features, targets

    def predict(self, features: Array) -> npt.NDArray[Any]:
        if self.answer is not None:
            return np.asarray(self.answer)
        away = ((features[:, None] - self.features) ** 2).sum(axis=2)
        nearest: Array = self.targets[away.argmin(axis=1)]
        return nearest


def test_classifiers_predict_the_chance_of_a_quality_of_1_and_ridge_regression_the_dollars() -> None:
    estimator = LogisticRegression(C=0.5)
    found = EstimatorPredictors(estimator, *TABLE).predictors[0]
    quality, usd = found.predict(TABLE.features)
    for plan in range(3):
        alone = LogisticRegression(C=0.5).fit(X, TABLE.quality[:, plan].astype(int))
        np.testing.assert_allclose(quality[:, plan], alone.predict_proba(X)[:, 1], atol=1e-12)
    np.testing.assert_allclose(usd, PlanPredictors(*TABLE).predictors[0].predict(TABLE.features)[1], atol=1e-12)
    assert not hasattr(estimator, "coef_")
    with pytest.raises(pandora.UsageError, match="LogisticRegression: a classifier.* give a regressor"):
        EstimatorPredictors(estimator, TABLE.features, TABLE.quality * 0.5, TABLE.usd)


def test_regressors_of_several_targets_are_fitted_to_all_at_once() -> None:
    for estimator in (RandomForestRegressor(20, random_state=1), KNeighborsRegressor(7)):
        quality, usd = EstimatorPredictors(estimator, *TABLE).predictors[0].predict(TABLE.features)
        np.testing.assert_allclose(quality, estimator.fit(X, TABLE.quality).predict(X), atol=1e-12)
        scaled = (TABLE.usd - TABLE.usd.mean(axis=0)) / TABLE.usd.std(axis=0)
        wanted = TABLE.usd.mean(axis=0) + TABLE.usd.std(axis=0) * estimator.fit(X, scaled).predict(X)
        np.testing.assert_allclose(usd, wanted, atol=1e-12)


def test_regressors_of_one_target_are_fitted_to_each_and_dollars_come_in_their_own_unit() -> None:
    estimator = make_pipeline(StandardScaler(), SVR(epsilon=0.1))
    quality, usd = EstimatorPredictors(estimator, *TABLE).predictors[0].predict(TABLE.features)
    alone = make_pipeline(StandardScaler(), SVR(epsilon=0.1)).fit(X, TABLE.quality[:, 2])
    np.testing.assert_allclose(quality[:, 2], alone.predict(X), atol=1e-12)
    assert (usd.std(axis=0) > 0.2 * TABLE.usd.std(axis=0)).all()  # unscaled, all lie within epsilon


def test_a_class_of_hand_needs_fit_and_predict_alone() -> None:
    estimator = Nearest()
    Nearest.fitted = 0
    predictors = EstimatorPredictors(estimator, *TABLE)
    assert Nearest.fitted == 6 and not hasattr(estimator, "features")
    different = np.unique(TABLE.features, axis=0, return_index=True)[1]
    quality, usd = predictors.predictors[0].predict(TABLE.features[different])
    np.testing.assert_allclose(quality, TABLE.quality[different], atol=1e-12)
    np.testing.assert_allclose(usd, TABLE.usd[different], atol=1e-12)


@pytest.mark.parametrize("estimator", [LogisticRegression(), KNeighborsRegressor(5), SVR(), Nearest()])
def test_the_best_are_the_plans_that_it_chooses(estimator: Any) -> None:
    predictors = EstimatorPredictors(estimator, *TABLE)
    quality, usd = predictors.predictors[0].predict(TABLE.features)
    for price in PRICES:
        best, plans = predictors.best(price)
        wanted = np.argmax(quality - price * usd, axis=1)
        assert plans == sorted(set(wanted.tolist()))
        some, some_usd = best.predict(TABLE.features)
        assert (np.array(plans)[np.argmax(some - price * some_usd, axis=1)] == wanted).all()


def test_more_plans_are_fitted_alone() -> None:
    first = EstimatorPredictors(KNeighborsRegressor(5), TABLE.features, TABLE.quality[:, :2], TABLE.usd[:, :2])
    more, whole = first.more(TABLE.quality, TABLE.usd), EstimatorPredictors(KNeighborsRegressor(5), *TABLE)
    for one, other in zip(more.predictors[0].predict(X), whole.predictors[0].predict(X)):
        np.testing.assert_allclose(one, other, atol=1e-12)
    Nearest.fitted = 0
    EstimatorPredictors(Nearest(), TABLE.features, TABLE.quality[:, :2], TABLE.usd[:, :2]).more(
        TABLE.quality, TABLE.usd
    )
    assert Nearest.fitted == 6


def test_what_is_the_same_for_all_prompts_is_known() -> None:
    quality, usd = np.ones((200, 2)), np.full((200, 2), 0.001)
    quality[:, 1] = TABLE.quality[:, 1]
    for estimator in (LogisticRegression(), KNeighborsRegressor(5), Nearest()):
        found, dollars = EstimatorPredictors(estimator, TABLE.features, quality, usd).predictors[0].predict(X)
        assert (found[:, 0] == 1.0).all() and 0.0 <= found[:, 1].min() < found[:, 1].max() <= 1.0
        np.testing.assert_allclose(dollars, 0.001, rtol=1e-12)
    none = EstimatorPredictors(KNeighborsRegressor(5), np.empty((200, 0)), quality, usd).predictors[0]
    np.testing.assert_allclose(none.predict(np.empty((2, 0)))[0], [quality.mean(axis=0)] * 2)
    assert none.predict(np.empty((0, 0)))[0].shape == (0, 2)


def test_no_single_file_holds_it() -> None:
    predictor, _ = EstimatorPredictors(RandomForestRegressor(2), *TABLE).best(1.0)
    with pytest.raises(pandora.UsageError, match="a RandomForestRegressor is saved by Cascade.save alone"):
        predictor.to_json()


def test_what_is_no_estimator_is_refused() -> None:
    for wrong in (3, "ridge", None, object(), Ridge, StandardScaler(), SVC()):
        with pytest.raises(pandora.UsageError, match=r"^Cascade.fit: router"):
            require_estimator("Cascade.fit: router", wrong)
    for right in (Ridge(), Nearest(), LogisticRegression()):
        require_estimator("Cascade.fit: router", right)


@pytest.mark.parametrize("answer", [0.5, [0.5], [[[0.5]]], [0.5] * 199 + [np.nan]])
def test_predictions_that_are_no_numbers_of_prompts_are_refused(answer: Any) -> None:
    with pytest.raises(pandora.UsageError, match=r"^router Nearest: "):
        EstimatorPredictors(Nearest(answer), *TABLE)
