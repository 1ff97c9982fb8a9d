"""Four rivals of a fitted cascade, each as an engineer would write it in thirty lines.

A table has the quality in [0, 1], the dollars and one judge's score, prompts x models, and features of the prompt,
prompts x D. Rivals maximise the program's utility (docs/cascades.md), which is also reported. For a prompt it is

    utility = quality of the deployed answer - price x (dollars of all calls + judge_usd x judged calls)

The price is in utility per dollar. A cascade of two models or more judges every call, also the last one. One model
alone and a router need no judge. A rival is fitted on one table and tested on another, and sees nothing of the second.

    cascade    FrugalGPT (Chen, Zaharia and Zou 2023) by brute force: all orders of up to three models, and all
               thresholds of a grid on the worth of scores, which is E[quality | score] of each model by isotonic
               regression. It stops when the last answer's worth reaches the threshold, and deploys the best answer so
               far, the earlier one if two are equal
    ridge      a ridge regression of each model's utility on the features; the greatest forecast is called
    logistic   E[quality | features] of each model by logistic regression, minus price x E[dollars | features] by ridge
               regression (HybridLLM, Ding and others 2024; RouteLLM, Ong and others 2024, for two models)
    neighbours the mean utility among the k nearest prompts of the fitting table, with k by leaving one out
               (RouterBench, Hu and others 2024; Li 2025, "When simple kNN beats complex learned routers")
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from calibrate import isotonic, logistic, ridge
from intervals import Floats, Ints


@dataclass(frozen=True)
class Table:
    """A full table. `context` is prompts x features, of any scale."""

    quality: Floats
    cost: Floats
    score: Floats
    context: Floats

    def take(self, rows: Ints) -> Table:
        """The table of these prompts."""
        return Table(self.quality[rows], self.cost[rows], self.score[rows], self.context[rows])


@dataclass(frozen=True)
class Told:
    """The results of a rival on a table: means over prompts, and each prompt's utility for paired differences."""

    name: str
    quality: float
    usd_per_1000: float
    utility: float
    calls: float
    utilities: Floats
    qualities: Floats


def told(name: str, quality: Floats, dollars: Floats, calls: Floats, price: float) -> Told:
    """Computes the means from the values of the prompts."""
    utility = quality - price * dollars
    return Told(
        name,
        float(quality.mean()),
        1000 * float(dollars.mean()),
        float(utility.mean()),
        float(calls.mean()),
        utility,
        quality,
    )


def hashed_words(texts: Sequence[str], dimension: int = 16) -> Floats:
    """Counts words in small letters, hashed by FNV-1a to a place and a sign; the vector has length 1 (Weinberger
    2009).
    """
    features = np.zeros((len(texts), dimension))
    for row, text in enumerate(texts):
        for word in text.lower().split():
            code = 0xCBF29CE484222325
            for byte in word.encode():
                code = ((code ^ byte) * 0x100000001B3) % 2**64
            features[row, (code >> 1) % dimension] += 1.0 if code & 1 else -1.0
    length = np.linalg.norm(features, axis=1, keepdims=True)
    return features / np.where(length > 0, length, 1.0)


@dataclass(frozen=True)
class Cascade:
    """Models in order. The walk ends when an answer's worth reaches its threshold; the last threshold is not used."""

    order: tuple[int, ...]
    accept: tuple[float, ...]


def run_cascade(cascade: Cascade, table: Table, worth: Floats, judge_usd: float) -> tuple[Floats, Floats, Floats]:
    """The quality of the deployed answer, the dollars and the calls, for each prompt."""
    rows = len(table.quality)
    judge = judge_usd if len(cascade.order) > 1 else 0.0
    going, best = np.ones(rows, dtype=bool), np.full(rows, -np.inf)
    quality, dollars, calls = np.zeros(rows), np.zeros(rows), np.zeros(rows)
    for model, bound in zip(cascade.order, cascade.accept):
        better = going & (worth[:, model] > best)
        quality = np.where(better, table.quality[:, model], quality)
        best = np.where(better, worth[:, model], best)
        dollars += np.where(going, table.cost[:, model] + judge, 0.0)
        calls += going
        going = going & (worth[:, model] < bound)
    return quality, dollars, calls


def worth_of_scores(fit: Table, other: Table) -> Floats:
    """E[quality | score] of each model, fitted on one table, for the scores of another."""
    columns = []
    for model in range(fit.quality.shape[1]):
        fitted = isotonic(fit.score[:, model], fit.quality[:, model], np.ones(len(fit.quality)))
        columns.append(fitted(other.score[:, model]))
    return np.column_stack(columns)


def threshold_grid(worth: Floats, most: int) -> Floats:
    """The distinct worths, or quantiles if there are more than `most`, and one bound that nothing reaches."""
    values = np.unique(worth)
    if len(values) > most:
        values = np.unique(np.quantile(worth, np.linspace(0, 1, most)))
    return np.append(values, np.inf)


def _utilities(order: Sequence[int], table: Table, worth: Floats, price: float, judge_usd: float) -> list[Floats]:
    """The utility of each prompt if calls end after the first model of the order, after the second, and so on."""
    judge = judge_usd if len(order) > 1 else 0.0
    best, quality, dollars = np.full(len(worth), -np.inf), np.zeros(len(worth)), np.zeros(len(worth))
    ended = []
    for model in order:
        better = worth[:, model] > best
        quality, best = np.where(better, table.quality[:, model], quality), np.maximum(best, worth[:, model])
        dollars = dollars + table.cost[:, model] + judge
        ended.append(quality - price * dollars)
    return ended


def fit_cascade(fit: Table, price: float, judge_usd: float = 0.0, longest: int = 3, most: int = 24) -> Cascade:
    """The order and thresholds with the greatest mean utility on the fitting table. It tries all."""
    worth, models = worth_of_scores(fit, fit), fit.quality.shape[1]
    grids = [threshold_grid(worth[:, model], most) for model in range(models)]
    goes_on = [(worth[:, model][None, :] < grid[:, None]).astype(float) for model, grid in enumerate(grids)]
    best, found = -math.inf, Cascade((0,), (0.0,))
    for length in range(1, min(longest, models) + 1):
        for order in itertools.permutations(range(models), length):
            ended = _utilities(order, fit, worth, price, judge_usd)
            total = np.full((1, 1), ended[0].sum())
            if length > 1:
                total = total + (goes_on[order[0]] @ (ended[1] - ended[0]))[:, None]
            if length > 2:
                total = total + (goes_on[order[0]] * (ended[2] - ended[1])) @ goes_on[order[1]].T
            if total.max() > best + 1e-12:
                best, at = float(total.max()), np.unravel_index(int(total.argmax()), total.shape)
                bounds = [float(grids[model][k]) for model, k in zip(order[:-1], at)]
                found = Cascade(order, (*bounds, 0.0))
    return found


def scaled(fit: Table, other: Table) -> tuple[Floats, Floats]:
    """Features minus their mean, divided by their standard deviation. Both come from the fitting table."""
    centre, spread = fit.context.mean(axis=0), fit.context.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    return (fit.context - centre) / spread, (other.context - centre) / spread


def ridge_choice(fit: Table, test: Table, price: float) -> Ints:
    """The model of greatest utility, by a ridge regression with penalty 1 for each model."""
    x, other = scaled(fit, test)
    utility = fit.quality - price * fit.cost
    return np.argmax(np.column_stack([ridge(x, utility[:, m])(other) for m in range(utility.shape[1])]), axis=1)


def logistic_choice(fit: Table, test: Table, price: float) -> Ints:
    """The model of greatest quality - price x dollars, by a logistic and a ridge regression for each model."""
    x, other = scaled(fit, test)
    models = range(fit.quality.shape[1])
    return np.argmax(
        np.column_stack(
            [logistic(x, fit.quality[:, m])(other) - price * ridge(x, fit.cost[:, m])(other) for m in models]
        ),
        axis=1,
    )


def _nearest(x: Floats, other: Floats, most: int, own: Ints | None = None) -> Ints:
    """The `most` nearest rows of x for each row of `other`, nearest first. It never takes the row in `own`."""
    found = []
    for start in range(0, len(other), 500):
        part = other[start : start + 500]
        distance = np.sum(part**2, axis=1)[:, None] + np.sum(x**2, axis=1) - 2 * part @ x.T
        if own is not None:
            distance[np.arange(len(part)), own[start : start + 500]] = np.inf
        found.append(np.argsort(np.round(distance, 9), axis=1, kind="stable")[:, :most])
    return np.concatenate(found)


def neighbours_choice(fit: Table, test: Table, price: float, sizes: Sequence[int] = (10, 30, 100, 300)) -> Ints:
    """The model of greatest mean utility among the k nearest prompts.

    k is chosen by leaving out one prompt at a time, for at most 2,000 prompts, evenly spread over the fitting table.
    """
    x, other = scaled(fit, test)
    utility, rows = fit.quality - price * fit.cost, np.arange(0, len(x), max(1, len(x) // 2000))
    sizes = sorted({min(size, len(x) - 1) for size in sizes})
    near = _nearest(x, x[rows], max(sizes), own=rows)
    kept = [float(utility[rows, np.argmax(utility[near[:, :k]].mean(axis=1), axis=1)].mean()) for k in sizes]
    k = sizes[int(np.argmax(kept))]
    return np.argmax(utility[_nearest(x, other, k)].mean(axis=1), axis=1)


def rivals(fit: Table, test: Table, price: float, judge_usd: float = 0.0, most: int = 24) -> list[Told]:
    """The results of all four, and of the fitting table's best single model, on the test table."""
    rows, one = np.arange(len(test.quality)), np.ones(len(test.quality))
    cascade = fit_cascade(fit, price, judge_usd, most=most)
    quality, dollars, calls = run_cascade(cascade, test, worth_of_scores(fit, test), judge_usd)
    found = [told("cascade", quality, dollars, calls, price)]
    single = int(np.argmax((fit.quality - price * fit.cost).mean(axis=0)))
    choices = {
        "ridge": ridge_choice(fit, test, price),
        "logistic": logistic_choice(fit, test, price),
        "neighbours": neighbours_choice(fit, test, price),
        "single": np.full(len(rows), single),
    }
    for name, chosen in choices.items():
        found.append(told(name, test.quality[rows, chosen], test.cost[rows, chosen], one, price))
    return found


def best_at(usd_per_1000: float, points: Sequence[Told]) -> Floats:
    """The quality of each prompt under the best mixture of two points that costs this much on average; nan if every
    point is dearer.

    It serves tables such as "quality at $0.20 per 1,000". A mixture is a random choice between two of a rival's points.
    """
    best, found = math.nan, np.full(len(points[0].qualities), math.nan)
    for a, b in itertools.product(points, repeat=2):
        if a.usd_per_1000 <= usd_per_1000 and (a is b or usd_per_1000 <= b.usd_per_1000):
            gap = b.usd_per_1000 - a.usd_per_1000
            share = (usd_per_1000 - a.usd_per_1000) / gap if gap > 0 else 1.0
            if not (1 - share) * a.quality + share * b.quality <= best:
                best = (1 - share) * a.quality + share * b.quality
                found = (1 - share) * a.qualities + share * b.qualities
    return found
