"""Tables that are drawn from a known law, for which every expectation is a finite sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

import pandora
from pandora.offline.groups import Floats
from pandora.offline.judge import Meeting

NAMES = ("small", "medium", "large")
DIFFICULTIES = (0.5, 0.3, 0.2)


class TraceLaw:
    """A prompt has one of three difficulties. Given it, the answers of three models are independent, with the qualities
    0.2, 0.6 and 1. Dearer models are better. A judge's score is 0.1, 0.5 or 0.9, by the level of the quality or, with
    probability `noise`, by a random level.

    `usd`: the dollars of each model for the easiest prompts, in units of 0.001; they grow with the difficulty.
    `models`: some of the three. `sigma`: drawn dollars are multiplied by lognormal numbers with mean 1, on which no
    route depends.
    """

    def __init__(
        self, noise: float, usd: Sequence[float] = (1, 2, 5), models: Sequence[str] = NAMES, sigma: float = 0.0
    ) -> None:
        self.noise, self.usd, self.models, self.sigma = noise, np.array(usd), list(models), sigma

    def _shares(self, difficulty: Any, model: int) -> Floats:
        """The probabilities of the three levels of quality, along the last axis."""
        best = 0.55 + 0.2 * model - 0.25 * np.asarray(difficulty, float)
        return np.stack([0.6 * (1.0 - best), 0.4 * (1.0 - best), best], axis=-1)

    def draw(self, rows: int, seed: int, **more: Any) -> pandora.Trace:
        """Draws a table. `more`: further columns and options of the table."""
        draw = np.random.default_rng(seed)
        difficulty = draw.choice(3, rows, p=DIFFICULTIES)
        ends = np.stack([self._shares(difficulty, model).cumsum(axis=1) for model in range(3)], axis=1)
        levels = (draw.random((rows, 3, 1)) >= ends[:, :, :2]).sum(axis=2)
        scores = np.where(draw.random((rows, 3)) < self.noise, draw.integers(0, 3, (rows, 3)), levels)
        factor = np.exp(self.sigma * draw.normal(size=(rows, 3)) - 0.5 * self.sigma**2)
        return self._table(difficulty, levels, scores, factor, **more)

    def _table(self, difficulty: Any, levels: Any, judged: Any, factor: Any = 1.0, **more: Any) -> pandora.Trace:
        given = {
            "models": NAMES,
            "quality": 0.2 + 0.4 * levels,
            "cost": 0.001 * np.outer(1 + difficulty, self.usd) * factor,
            "scores": {"score": 0.1 + 0.4 * judged},
        }
        return pandora.Trace({**given, **more}, name="made up").select(self.models)

    @cached_property
    def atoms(self) -> tuple[pandora.Trace, Floats]:
        """All possible outcomes, a row for each, and their probabilities."""
        every = np.array(list(product(range(3), repeat=7)))
        difficulty, levels, scores = every[:, 0], every[:, 1:4], every[:, 4:]
        p = np.array(DIFFICULTIES)[difficulty]
        for model in range(3):
            p = p * self._shares(difficulty, model)[np.arange(len(every)), levels[:, model]]
            p = p * (self.noise / 3.0 + (1.0 - self.noise) * (levels[:, model] == scores[:, model]))
        some = p > 0.0
        return self._table(difficulty[some], levels[some], scores[some]), p[some]

    def worth(self, of: Any, judge_usd: float = 0.0) -> tuple[float, float]:
        """The expected quality and dollars of a cascade, or of a model by its name."""
        trace, p = self.atoms
        if isinstance(of, str):
            model = trace.models.index(of)
            return float(p @ trace.quality[:, model]), float(p @ trace.cost[:, model])
        quality, usd, _ = Meeting(of, trace._table, None, judge_usd).numbers(trace.quality) @ p
        return float(quality), float(usd)


def by_hardness(rows: int, seed: int, prefix: str = "p") -> pandora.Trace:
    """A table with a small model, a large one and a judge. The small model is worse on harder prompts, and the hardness
    is known before any call. The large model hardly depends on it and costs 20 times as much. The judge is mostly
    right.
    """
    draw = np.random.default_rng(seed)
    hard = draw.random(rows)
    quality = np.column_stack([1.0 - hard, np.full(rows, 0.85)]) + draw.uniform(-0.3, 0.3, (rows, 2))
    quality = np.clip(quality, 0.0, 1.0)
    score = np.clip(quality + draw.uniform(-0.2, 0.2, (rows, 2)), 0.0, 1.0)
    usd = [0.001, 0.02] * draw.uniform(0.2, 1.8, (rows, 2))
    table = {"models": ["small", "large"], "quality": quality, "cost": usd, "scores": {"score": score}}
    more = {"prompts": [f"{prefix}{k}" for k in range(rows)], "columns": {"hardness": hard.tolist()}}
    return pandora.Trace({**table, **more}, name="hardness")


def least_held(count: int, share: float = 0.95) -> float:
    """The least number of `count` intervals that hold, if each holds with this probability, minus three errors."""
    return count * share - 3.0 * math.sqrt(count * share * (1.0 - share))


def holds(interval: Any, value: float) -> bool:
    """Whether the interval, an Interval or one from a record, holds the value."""
    low, high = (interval["low"], interval["high"]) if isinstance(interval, dict) else interval[1:]
    return bool(low - 1e-9 <= value <= high + 1e-9)  # a model gains exactly nothing over itself
