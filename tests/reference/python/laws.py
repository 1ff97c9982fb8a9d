"""Made-up laws whose values are known: prompts with a hidden difficulty, models with quality, dollars and a judge.

A prompt has the difficulty h ~ N(0, 1). A class x in {0, 1, 2, 3} shows it roughly: the number of cuts -0.7, 0, 0.7
that h + 0.5 e exceeds, with e ~ N(0, 1). Model m is right (q = 1) with probability 1 / (1 + exp(-(skill_m - steep_m
h))), otherwise q = 0. Given h, models are independent. A judge's score has one of five levels, with a law that depends
on q. The dollars of a call are base_m exp(0.3 h) u, where u has the mean 1 and is lognormal with a given sigma, or
Pareto with alpha = 2.5.

Values are exact up to quadrature. Given h, everything is independent, x has normal probabilities, and there are
finitely many scores. The integral over h is by Gauss-Hermite with 100 nodes. Because E[u] = 1, the tail of u does not
matter.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass, field

import numpy as np
from calibrate import Bools
from intervals import Floats, Ints
from off_policy import Openings, RouterLog

LEVELS = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
SCORE_IF_RIGHT = np.array([0.04, 0.08, 0.18, 0.30, 0.40])
SCORE_IF_WRONG = np.array([0.34, 0.28, 0.20, 0.12, 0.06])
CUTS = np.array([-0.7, 0.0, 0.7])
CLASSES = 4


def _normal_cdf(x: Floats) -> Floats:
    return np.array([0.5 * (1 + math.erf(value / math.sqrt(2))) for value in np.ravel(x)]).reshape(np.shape(x))


@dataclass(frozen=True)
class Law:
    """The models, from cheap to dear; the law of dollars; the numbers of requests of a prompt (1: no clusters)."""

    skill: tuple[float, ...] = (0.4, 1.2, 2.2)
    steep: tuple[float, ...] = (1.6, 1.2, 0.9)
    base: tuple[float, ...] = (0.0004, 0.003, 0.015)
    tail: str = "lognormal"
    sigma: float = 0.5
    alpha: float = 2.5
    requests: tuple[int, ...] = (1,)  # a prompt has one of these, each with the same probability
    price: float = 20.0
    models: int = field(default=3)

    def right(self, h: Floats) -> Floats:
        """P(q = 1 | h), h x models."""
        return 1 / (1 + np.exp(-(np.array(self.skill) - np.array(self.steep) * np.asarray(h)[:, None])))

    def dollars(self, h: Floats) -> Floats:
        """E[dollars | h], h x models."""
        return np.array(self.base) * np.exp(0.3 * np.asarray(h))[:, None]


@dataclass(frozen=True)
class Table:
    """A full table, a row for each request; `cluster` is the prompt."""

    cluster: Ints
    kind: Ints
    quality: Floats
    score: Floats
    cost: Floats


def draw(law: Law, prompts: int, rng: np.random.Generator) -> Table:
    """A table with all outcomes. Requests with the same prompt have the same difficulty but different answers."""
    cluster = np.repeat(np.arange(prompts), rng.choice(law.requests, size=prompts))
    difficulty = rng.standard_normal(prompts)
    noise = rng.standard_normal(prompts)
    h, rows = difficulty[cluster], len(cluster)
    kind = np.searchsorted(CUTS, (difficulty + 0.5 * noise))[cluster]
    quality = (rng.random((rows, law.models)) < law.right(h)).astype(float)
    levels = np.where(
        quality == 1,
        rng.choice(LEVELS, p=SCORE_IF_RIGHT, size=quality.shape),
        rng.choice(LEVELS, p=SCORE_IF_WRONG, size=quality.shape),
    )
    if law.tail == "pareto":
        factor = (law.alpha - 1) / law.alpha * rng.random(quality.shape) ** (-1 / law.alpha)
    else:
        factor = np.exp(law.sigma * rng.standard_normal(quality.shape) - law.sigma**2 / 2)
    return Table(cluster, kind.astype(np.int64), quality, levels, law.dollars(h) * factor)


@functools.lru_cache(maxsize=1)
def _nodes() -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(100)
    return nodes, weights / weights.sum()


def _kinds(h: Floats) -> Floats:
    """P(x | h), h x classes."""
    below = np.column_stack([_normal_cdf((cut - h) / 0.5) for cut in CUTS])
    return np.diff(np.column_stack([np.zeros(len(h)), below, np.ones(len(h))]), axis=1)


def router_truth(law: Law, target: Floats) -> tuple[float, float]:
    """Mean quality and dollars of a router. `target` has its probabilities, classes x models."""
    h, weight = _nodes()
    share = _kinds(h) @ target
    return float(weight @ np.sum(share * law.right(h), axis=1)), float(weight @ np.sum(share * law.dollars(h), axis=1))


@functools.lru_cache(maxsize=64)
def cascade_truth(law: Law, order: tuple[int, ...], accept: tuple[float, ...]) -> tuple[float, float, float]:
    """Mean quality, dollars and calls of a cascade that sees scores. It deploys the first answer of the greatest
    score.
    """
    h, weight = _nodes()
    right, dollars = law.right(h), law.dollars(h)
    quality = spent = calls = 0.0
    for seen in itertools.product(range(len(LEVELS)), repeat=len(order)):
        chance, deployed, reached = np.ones(len(h)), 0, 0
        for t, level in enumerate(seen):
            p = right[:, order[t]]
            chance = chance * (p * SCORE_IF_RIGHT[level] + (1 - p) * SCORE_IF_WRONG[level])
        for t, level in enumerate(seen):
            deployed, reached = (t if level > seen[deployed] else deployed), t + 1
            if LEVELS[level] >= accept[t]:
                break
        p, level = right[:, order[deployed]], seen[deployed]
        good = p * SCORE_IF_RIGHT[level] / (p * SCORE_IF_RIGHT[level] + (1 - p) * SCORE_IF_WRONG[level])
        quality += float(weight @ (chance * good))
        spent += float(weight @ (chance * np.sum(dollars[:, list(order[:reached])], axis=1)))
        calls += float(weight @ chance) * reached
    return quality, spent, calls


def epsilon_greedy(table: Table, base: Ints, epsilon: float, models: int) -> Floats:
    """Probabilities of actions, rows x models: base[x] with 1 - epsilon, otherwise a uniform choice."""
    probability = np.full((len(table.kind), models), epsilon / models)
    probability[np.arange(len(table.kind)), base[table.kind]] += 1 - epsilon
    return probability


def softmax(table: Table, preference: Floats, temperature: float) -> Floats:
    """Probabilities that are proportional to exp(preference[x, model] / temperature)."""
    odds = np.exp(preference[table.kind] / temperature)
    return odds / odds.sum(axis=1, keepdims=True)


def log_router(table: Table, probability: Floats, rng: np.random.Generator) -> RouterLog:
    """The log of a service that draws its actions by `probability`."""
    rows = np.arange(len(table.kind))
    action = (rng.random(len(rows))[:, None] > np.cumsum(probability, axis=1)).sum(axis=1)
    action = np.minimum(action, probability.shape[1] - 1)
    return RouterLog(
        cluster=table.cluster,
        context=np.eye(CLASSES)[table.kind],
        action=action,
        propensity=probability[rows, action],
        quality=table.quality[rows, action],
        cost=table.cost[rows, action],
        all_probabilities=probability,
    )


def label(table: Table, rng: np.random.Generator, depends: bool = False, share: float = 0.3) -> tuple[Bools, Floats]:
    """Which cells are labelled, and their probabilities: the same for all cells, or lower if the judge is sure."""
    probability = np.full(table.score.shape, share)
    if depends:
        probability = np.clip(share * (1.5 - 2.5 * np.abs(table.score - 0.5)), 0.05, 1.0)
    return rng.random(table.score.shape) < probability, probability


def log_openings(table: Table, probability: Floats, rng: np.random.Generator, label_share: float = 1.0) -> Openings:
    """A log in which a toss of its own opens each model. Opened cells are labelled with probability `label_share`."""
    opened = rng.random(table.score.shape) < probability
    labelled = opened & (rng.random(table.score.shape) < label_share)
    return Openings(
        cluster=table.cluster,
        opened=opened,
        probability=np.broadcast_to(probability, opened.shape),
        score=np.where(opened, table.score, 0.0),
        cost=np.where(opened, table.cost, 0.0),
        quality=np.where(labelled, table.quality, 0.0),
        labelled=labelled,
        label_probability=np.full(opened.shape, label_share),
    )
