"""Estimates the value, dollars and calls of a policy from logs of another policy, or from tables with missing cells.

There are three kinds of records:

RouterLog   One action for each request: the model that was called and deployed. It has the probability p with which the
            logger chose it, and its outcome. For a target pi the weight is w = min(M, pi(a | x) / p); M clips weights,
            and is infinite by default.
                IPS    mean(w y)                                     Horvitz and Thompson 1952; Strehl and others 2010
                SNIPS  sum(w y) / sum(w)                             Swaminathan and Joachims 2015; Hajek 1971
                DR     mean(sum_a pi(a | x) q(x, a) + w (y - q(x, a_i)))       Dudik, Langford and Li 2011; Robins and
                       others 1994; q cross-fitted over clusters
PathLog     Several calls one after another, each with its probability given all that was seen before. Step t has the
            ratio r_t = [the log did the same as the target] x pi_t / p_t. It is 1 after the target has stopped. The
            weight of step t is w_t = r_1 ... r_t.
                IPS    mean(w_T y), SNIPS its ratio                                       Precup, Sutton and Singh 2000
                DR     mean(v_0 + sum_t w_t (v_t - v_{t-1})) with v_T = y, where v_t is any forecast of y from what was
                       seen up to step t; unbiased for every v because E[r_t | before] = 1        Jiang and Li 2016
            A missing label is one more step, with r = [labelled] / probability, and with the judge's calibrated score
            as the v before it. If only the deployed answer's quality is told, the choice of this answer is a step too.
Cells       A table prompts x models with scores and dollars everywhere, and the quality in some cells. A cell is
            labelled with probability pi(prompt, model, score, cost). A policy that sees only scores and dollars deploys
            d(prompt):
                IPS    mean(L q / pi), SNIPS its ratio, DR mean(g(s) + L (q - g(s)) / pi) over the deployed cells, where
                       g is the judge's calibrated score, cross-fitted.     Robins, Rotnitzky and Zhao 1994 (AIPW);
                       Angelopoulos and others 2023 (prediction-powered inference) for judges

Assumptions: The recorded probability is that of the action given the context and everything else that the logger saw
and that influences the outcome. Wherever the target acts, the logger may have acted in the same way (p > 0). The
outcome of a request does not depend on the actions for others. Labels are missing at random, given all that is logged.

All estimates are returned as Ratio (intervals.py), from which come values and intervals, also of differences.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from calibrate import Bools
from intervals import Floats, Ints, Ratio, cluster_totals, mean_of, ratio_of, standard_error


class Refused(ValueError):
    """The log cannot answer the question; the text has the reason."""


@dataclass(frozen=True)
class RouterLog:
    """One row for each request. `all_probabilities` is rows x models, or None if the log lacks them."""

    cluster: Ints
    context: Floats
    action: Ints
    propensity: Floats
    quality: Floats
    cost: Floats
    all_probabilities: Floats | None = None


def importance(target: Floats, log: RouterLog, clip: float = math.inf) -> Floats:
    """The weights min(M, pi(a_i | x_i) / p_i). `target` is rows x models."""
    if not (np.all(log.propensity > 0) and np.all(log.propensity <= 1)):
        raise Refused("propensities must lie in (0, 1]: an action that was taken had a chance")
    return np.minimum(target[np.arange(len(log.action)), log.action] / log.propensity, clip)


def effective_size(weight: Floats) -> float:
    """(sum w)^2 / sum w^2 by Kish (1965); 0 if all weights are 0."""
    total = float(np.sum(weight**2))
    return float(np.sum(weight)) ** 2 / total if total > 0 else 0.0


@dataclass(frozen=True)
class Support:
    """What the weights say about the log's power to estimate. `mean` should be 1, unless weights are clipped."""

    effective_rows: float
    effective_clusters: float
    mean: float
    mean_error: float
    largest_share: float
    clipped: float


def support(weight: Floats, cluster: Ints, unclipped: Floats | None = None) -> Support:
    """Effective sizes, the mean weight with its cluster-robust error, and the share of the heaviest cluster."""
    totals = cluster_totals(weight, cluster)
    share = float(totals.max() / totals.sum()) if totals.sum() > 0 else 0.0
    sizes = cluster_totals(np.ones(len(weight)), cluster)
    mean = float(weight.mean())
    error = standard_error((totals - mean * sizes) / sizes.mean())
    clipped = 0.0 if unclipped is None else float(np.mean(unclipped > weight))
    return Support(effective_size(weight), effective_size(totals), mean, error, share, clipped)


def refuse_without_support(
    weight: Floats, cluster: Ints, target: Floats | None = None, logged: Floats | None = None, fewest: float = 30.0
) -> Support:
    """Raises Refused, with a reason, if the weights cannot carry an estimate. There are four reasons.

    1. The probabilities of all actions (`logged`) are known, and the target acts where the logger never does.
    2. In no row did the logger act like the target.
    3. The mean weight is more than 3.5 standard errors from 1, so probabilities are wrong or support is missing. (Pass
       unclipped weights.)
    4. There are fewer than `fewest` effective clusters, so no interval can be trusted.
    """
    if target is not None and logged is not None:
        lost = float(np.mean(np.sum(np.where(logged <= 0, target, 0.0), axis=1)))
        if lost > 1e-12:
            raise Refused(
                f"no support: the target takes actions that the logger never takes, on {lost:.1%} of requests"
            )
    told = support(weight, cluster)
    if told.effective_rows == 0:
        raise Refused("no support: no row of the log has done what the target does")
    if told.effective_clusters < fewest:
        raise Refused(f"{told.effective_clusters:.1f} effective prompts are too few; {fewest:.0f} are needed")
    if abs(told.mean - 1) > 3.5 * told.mean_error + 1e-9:
        raise Refused(f"weights have mean {told.mean:.3f} and not 1: wrong propensities, or actions without support")
    return told


def router_estimates(
    target: Floats, log: RouterLog, outcome: Floats, predicted: Floats, clip: float = math.inf
) -> dict[str, Ratio]:
    """IPS, SNIPS and DR of the mean outcome under `target`. `predicted` is q(x, a), rows x models."""
    weight = importance(target, log, clip)
    rows = np.arange(len(outcome))
    direct, residual = np.sum(target * predicted, axis=1), outcome - predicted[rows, log.action]
    return {
        "ips": mean_of(weight * outcome, log.cluster),
        "snips": ratio_of(weight * outcome, weight, log.cluster),
        "dr": mean_of(direct + weight * residual, log.cluster),
        "direct": mean_of(direct, log.cluster),
    }


def self_normalised_dr(
    target: Floats, log: RouterLog, outcome: Floats, predicted: Floats, clip: float = math.inf
) -> list[Ratio]:
    """mean(sum_a pi q) + sum(w (y - q)) / sum(w), as two parts (Robins and others 2007)."""
    weight, rows = importance(target, log, clip), np.arange(len(outcome))
    residual = outcome - predicted[rows, log.action]
    return [
        mean_of(np.sum(target * predicted, axis=1), log.cluster),
        ratio_of(weight * residual, weight, log.cluster),
    ]


def fewest_hits(weight: Floats, action: Ints, target: Floats, least: float = 0.01) -> float:
    """The least Kish size of one action's weights, among the actions that the target takes on at least `least` of rows.

    If a dear model was called eight times, its effective size is at most eight, however many cheap calls there are. The
    model's value to the target is known from eight answers only.
    """
    share = target.mean(axis=0)
    return min(effective_size(weight[action == model]) for model in np.flatnonzero(share >= least))


def pseudo_outcomes(log: RouterLog, outcome: Floats, predicted: Floats, clip: float = math.inf) -> Floats:
    """The table q(x, a) + [a = a_i] min(M, 1 / p) (y - q(x, a)), rows x models.

    The mean over the cells that a router chooses is its DR value. So a search for the best router on this table
    maximises DR (Dudik and others 2011; Athey and Wager 2021). Entries may lie outside [0, 1].
    """
    filled = predicted.copy()
    rows = np.arange(len(outcome))
    filled[rows, log.action] += np.minimum(1 / log.propensity, clip) * (outcome - predicted[rows, log.action])
    return filled


def cell_pseudo_quality(
    quality: Floats, labelled: Bools, probability: Floats, predicted: Floats, clip: float = math.inf
) -> Floats:
    """The full table g + L min(M, 1 / pi) (q - g), prompts x models, for policies that see no quality."""
    residual = np.where(labelled, quality - predicted, 0.0)
    return predicted + residual * np.minimum(1 / probability, clip)


def cell_estimates(
    deployed: Ints, quality: Floats, labelled: Bools, probability: Floats, predicted: Floats, cluster: Ints
) -> dict[str, Ratio]:
    """Mean quality of the deployed cells. `complete` uses labelled cells alone, which is right if labels are pure
    chance.
    """
    rows = np.arange(len(deployed))
    seen, guess = labelled[rows, deployed], predicted[rows, deployed]
    weight = seen / probability[rows, deployed]
    truth = np.where(seen, quality[rows, deployed], 0.0)
    return {
        "complete": ratio_of(truth * seen, seen.astype(float), cluster),
        "ips": mean_of(weight * truth, cluster),
        "snips": ratio_of(weight * truth, weight, cluster),
        "dr": mean_of(guess + weight * (truth - guess), cluster),
        "direct": mean_of(guess, cluster),
    }


def path_weights(step: Floats, clip: float = math.inf) -> Floats:
    """The weights w_1 .. w_T, rows x T, from the ratios of the steps. Each product is clipped at M."""
    return np.minimum(np.cumprod(step, axis=1), clip)


def path_estimates(step: Floats, forecast: Floats, cluster: Ints, clip: float = math.inf) -> dict[str, Ratio]:
    """IPS, SNIPS and DR along paths. `step` has the ratios, rows x T. `forecast` has v_0 .. v_T, rows x (T + 1), where
    v_T is the outcome.

    Values that were not seen may be any finite number, because their weight is 0.
    """
    weight = path_weights(step, clip)
    last, outcome = weight[:, -1], forecast[:, -1]
    return {
        "ips": mean_of(last * outcome, cluster),
        "snips": ratio_of(last * outcome, last, cluster),
        "dr": mean_of(forecast[:, 0] + np.sum(weight * np.diff(forecast, axis=1), axis=1), cluster),
    }


@dataclass(frozen=True)
class Openings:
    """A log in which each model was opened by a toss of its own, with a known probability. Arrays are rows x models.

    Opened cells have a score, a cost and a quality; other cells may have any finite number. Given that a cell was
    opened, its quality is known (`labelled`) with probability `label_probability`.
    """

    cluster: Ints
    opened: Bools
    probability: Floats
    score: Floats
    cost: Floats
    quality: Floats
    labelled: Bools
    label_probability: Floats


@dataclass(frozen=True)
class Walk:
    """A cascade's walk through a log: the ratio of each step, and the dollars, calls and best estimate after it."""

    step: Floats
    dollars: Floats
    calls: Floats
    best: Floats
    deployed: Ints


def walk_cascade(order: Sequence[int], accept: Sequence[float], log: Openings, worth: Floats) -> Walk:
    """Walks a cascade with thresholds: it calls models in `order` until the worth of the last answer reaches `accept`.

    `worth`: the calibrated scores that the cascade sees, rows x models. It deploys the answer of greatest worth, and
    the earlier one if two are equal. A walk ends at the first cell that was not opened, with the ratio 0.
    """
    rows, steps = len(log.cluster), len(order)
    step, dollars, calls = np.ones((rows, steps)), np.zeros((rows, steps + 1)), np.zeros((rows, steps + 1))
    best, going = np.full((rows, steps + 1), -np.inf), np.ones(rows, dtype=bool)
    deployed = np.full(rows, order[0], dtype=np.int64)
    for t, (model, bound) in enumerate(zip(order, accept)):
        step[:, t] = np.where(going, log.opened[:, model] / log.probability[:, model], 1.0)
        called = going & log.opened[:, model]
        dollars[:, t + 1] = dollars[:, t] + np.where(called, log.cost[:, model], 0.0)
        calls[:, t + 1] = calls[:, t] + called
        better = called & (worth[:, model] > best[:, t])
        deployed[better] = model
        best[:, t + 1] = np.where(better, worth[:, model], best[:, t])
        going = called & (worth[:, model] < bound)
    return Walk(step, dollars, calls, best, deployed)


def forecasts(seen: Floats, step: Floats, outcome: Floats, fold: Ints) -> Floats:
    """The forecasts v_0 .. v_T: what was seen after t steps, plus the cross-fitted mean of what is to come.

    v_T is the outcome. `seen`, rows x (T + 1), has the dollars so far, or the best worth so far. At t = 0 there is no
    answer yet, so the worth may be any finite number.
    """
    weight = path_weights(step)[:, -1]
    built = np.column_stack([seen[:, :-1], outcome])
    for k in np.unique(fold):
        learn, apply = fold != k, fold == k
        total = float(weight[learn].sum())
        for t in range(seen.shape[1] - 1):
            rest = float(np.sum(weight[learn] * (outcome - seen[:, t])[learn])) / total if total > 0 else 0.0
            built[apply, t] += rest
    return built


def labelled_path(walk: Walk, log: Openings, guess: Floats, fold: Ints) -> tuple[Floats, Floats]:
    """Ratios and forecasts of quality, with the label as the last step. `guess`: the deployed answer's calibrated
    score.
    """
    rows = np.arange(len(log.cluster))
    seen = log.labelled[rows, walk.deployed]
    step = np.column_stack([walk.step, seen / log.label_probability[rows, walk.deployed]])
    best = np.where(np.isfinite(walk.best), walk.best, 0.0)
    forecast = forecasts(np.column_stack([best[:, :-1], guess]), walk.step, guess, fold)
    truth = np.where(seen, log.quality[rows, walk.deployed], guess)
    return step, np.column_stack([forecast, truth])
