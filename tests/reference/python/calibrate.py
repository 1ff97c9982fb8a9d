"""Models of outcomes, cross-fitted over clusters: quality from a judge's score, and regressions on the context.

Cross-fitting: the rows of fold k are predicted by a model that was fitted on the other folds, and all rows of a cluster
are in one fold (Chernozhukov and others, Double/debiased machine learning, 2018). A cluster's fold is its rank by first
appearance, modulo the number of folds, so that another program can have the same folds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from intervals import Floats, Ints
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Predictor = Callable[[Floats], Floats]


def folds(cluster: Ints, count: int = 5) -> Ints:
    """The fold of every row: the rank of its cluster by first appearance, modulo `count`."""
    names, first = np.unique(cluster, return_index=True)
    rank = np.empty(len(names), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(names))
    return rank[np.searchsorted(names, cluster)] % count


def isotonic(score: Floats, quality: Floats, weight: Floats) -> Predictor:
    """A non-decreasing E[quality | score] by weighted least squares, by pooling adjacent violators.

    Barlow and others, Statistical Inference under Order Restrictions (1972). Equal scores are pooled first. The
    function is linear between the observed scores, and constant beyond them.
    """
    if len(score) == 0:
        return lambda other: np.full(np.shape(other), 0.5)
    knots, where = np.unique(score, return_inverse=True)
    mass = np.bincount(where, weights=weight)
    mean = np.bincount(where, weights=weight * quality) / mass
    blocks: list[list[float]] = []  # each: value, mass, number of knots
    for value, one in zip(mean, mass):
        blocks.append([float(value), float(one), 1.0])
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            value_, mass_, knots_ = blocks.pop()
            total = blocks[-1][1] + mass_
            blocks[-1] = [(blocks[-1][0] * blocks[-1][1] + value_ * mass_) / total, total, blocks[-1][2] + knots_]
    fitted = np.concatenate([np.full(int(many), value) for value, _, many in blocks])
    return lambda other: np.interp(other, knots, fitted)


def logistic(features: Floats, quality: Floats, penalty: float = 1.0, rounds: int = 30) -> Predictor:
    """Fits 1 / (1 + exp(-(b + w'x))) to qualities in [0, 1] by Newton's method on cross-entropy + |w|^2 / 2."""
    design = np.column_stack([np.ones(len(features)), features])
    ridge = penalty * np.eye(design.shape[1])
    ridge[0, 0] = 1e-8
    weights = np.zeros(design.shape[1])
    for _ in range(rounds):
        mean = 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30)))
        gradient = design.T @ (quality - mean) - ridge @ weights
        step = np.linalg.solve((design.T * (mean * (1 - mean))) @ design + ridge, gradient)
        weights = weights + step
        if float(np.max(np.abs(step))) < 1e-12:
            break

    def predict(other: Floats) -> Floats:
        return 1 / (1 + np.exp(-np.clip(weights[0] + other @ weights[1:], -30, 30)))

    return predict


def ridge(features: Floats, outcome: Floats, penalty: float = 1.0) -> Predictor:
    """Fits b + w'x by least squares with the penalty |w|^2. Features are not scaled, and b has no penalty."""
    centre, level = features.mean(axis=0), float(outcome.mean())
    inner = (features - centre).T @ (features - centre) + penalty * np.eye(features.shape[1])
    weights = np.linalg.solve(inner, (features - centre).T @ (outcome - level))
    return lambda other: level + (other - centre) @ weights


def judge_calibrated(score: Floats, quality: Floats, labelled: Bools, probability: Floats, fold: Ints) -> Floats:
    """The estimated quality for each score, prompts x models: an isotonic fit for each model, cross-fitted.

    A label has the weight 1 / probability, so that the fit is for all cells and not for those that were chosen for a
    label. A model with fewer than 10 labels outside a fold uses the fit of all models together.
    """
    predicted = np.zeros(score.shape)
    for k in np.unique(fold):
        learn = labelled & (fold != k)[:, None]
        pooled = isotonic(score[learn], quality[learn], 1 / probability[learn])
        for model in range(score.shape[1]):
            mine = learn[:, model]
            fit = pooled
            if mine.sum() >= 10:
                fit = isotonic(score[mine, model], quality[mine, model], 1 / probability[mine, model])
            predicted[fold == k, model] = fit(score[fold == k, model])
    return predicted


def outcomes_of_actions(context: Floats, action: Ints, outcome: Floats, models: int, fold: Ints) -> Floats:
    """E[outcome | context, action] for every action, rows x models, by a cross-fitted ridge regression for each action.

    An action with fewer than 5 rows outside a fold has the mean of all rows there.
    """
    predicted = np.zeros((len(outcome), models))
    for k in np.unique(fold):
        for model in range(models):
            mine = (fold != k) & (action == model)
            if mine.sum() >= 5:
                predicted[fold == k, model] = ridge(context[mine], outcome[mine])(context[fold == k])
            else:
                predicted[fold == k, model] = outcome[fold != k].mean()
    return predicted
