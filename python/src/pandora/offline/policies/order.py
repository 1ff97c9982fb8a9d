"""Models in an order with thresholds: the form of single models, cascades of thresholds and a router's plans."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Optional

import numpy as np

from ... import _core
from ..groups import Floats
from ..outcomes import Outcomes, Walk, nearest_rank, utility
from ..text import order_text


class Effort(NamedTuple):
    """The limits of a search: prompts, and prompts times combinations of an order and thresholds."""

    prompts: int
    steps: int


#: For searches that are made once or a few times.
LARGE = Effort(prompts=20_000, steps=400_000_000)


@dataclass(frozen=True)
class Order:
    """An answer is accepted if its seen value reaches its model's threshold; the last model has none.

    The best answer so far is deployed, the first call of equal ones (in the engine: see deploy._calls). `order`:
    columns of the table.
    """

    order: tuple[int, ...]
    thresholds: tuple[float, ...] = ()

    def walk(self, outcomes: Outcomes) -> Walk:
        """The results of each row."""
        judge_usd = outcomes.judge_usd if self.looks_at_answers else 0.0
        tables = outcomes.seen, outcomes.quality, outcomes.usd, judge_usd, outcomes.latency
        return Walk(*_core.walk_order(*tables, self.order, self.thresholds))

    @property
    def looks_at_answers(self) -> bool:
        """Whether the judge sees the answers: a model alone needs none."""
        return len(self.order) > 1

    def without(self, model: int) -> Order:
        """Without that model; empty if it was the only one."""
        if model not in self.order:
            return self
        place, thresholds = self.order.index(model), list(self.thresholds)
        if thresholds:
            del thresholds[min(place, len(thresholds) - 1)]
        return Order(self.order[:place] + self.order[place + 1 :], tuple(thresholds))

    def text(self, models: list[str]) -> str:
        """Such as "a (accepted from 0.9), b"."""
        return order_text([models[model] for model in self.order], self.thresholds)


def best_order(outcomes: Outcomes, price: float, effort: Effort, first: Optional[int] = None) -> Order:
    """The order with the greatest mean utility. `first`: searches only orders of at least two models that begin with
    this one.
    """
    usd = outcomes.usd + outcomes.judge_usd
    order, thresholds = _core.fit_thresholds(outcomes.seen, outcomes.quality, usd, price, *effort, first)
    return Order(tuple(order.tolist()), tuple(thresholds.tolist()))


def readable(order: Order, outcomes: Outcomes, price: float) -> Order:
    """Moves each threshold in turn to the better neighbouring multiple of 0.05, otherwise of 0.01, if this loses at
    most half the standard error of the difference. On other prompts such a threshold is as good.
    """
    fitted = now = utility(order.walk(outcomes).numbers, price)
    for position, exact in enumerate(order.thresholds):
        seen, best = outcomes.seen[:, order.order[position]], (exact, now)
        for parts in (20.0, 100.0):
            most = -math.inf
            for rounded in (math.floor(exact * parts) / parts, math.ceil(exact * parts) / parts):
                # Another threshold is another decision only for what lies between the two.
                between = np.flatnonzero((seen >= min(exact, rounded)) & (seen < max(exact, rounded)))
                moved, other = now.copy(), _with_threshold(order, position, rounded)
                moved[between] = utility(other.walk(outcomes.take(between)).numbers, price)
                gain = moved - fitted
                mean = float(np.mean(gain))
                error = math.sqrt(max(0.0, float(np.mean(gain**2)) - mean**2) / len(gain))
                if mean >= -0.5 * error and mean > most:
                    most, best = mean, (rounded, moved)
            if math.isfinite(most):
                break
        order, now = _with_threshold(order, position, best[0]), best[1]
    return order


def best_in_time(outcomes: Outcomes, price: float, seconds: float) -> Order:
    """The best order that was found among those whose calls in series take at most `seconds` for 95% of the rows. From
    each single model on, one model at a time is added, at the best place and with the best multiple of 0.05 as
    threshold. If no model is fast enough, the fastest one.
    """
    models, steps, most_work = outcomes.models, 20, 100e6
    room = max(500.0, most_work / (steps * 2.0 * models**3))
    sample = outcomes.take(slice(None, None, math.ceil(len(outcomes.quality) / room)))

    def rated(order: Order) -> tuple[float, float]:
        walk = order.walk(sample)
        assert walk.seconds is not None
        late = max(0.0, nearest_rank(walk.seconds, 0.95) - seconds)
        return -late, float(np.mean(utility(walk.numbers, price)))

    best, best_rate = Order((0,)), (-math.inf, -math.inf)
    for first in range(models):
        now, rate = Order((first,)), rated(Order((first,)))
        grows = rate[0] == 0.0
        while grows:
            grows, start = False, now
            for longer in _with_one_more(start, models, steps):
                if (next_rate := rated(longer)) > rate and next_rate[1] > rate[1]:
                    now, rate, grows = longer, next_rate, True
        if rate > best_rate:
            best, best_rate = now, rate
    return best


def _with_one_more(order: Order, models: int, steps: int) -> list[Order]:
    out = []
    for model in range(models):
        for place in range(len(order.order) + 1 if model not in order.order else 0):
            position = min(place, len(order.thresholds))
            for k in range(1, steps + 1):
                thresholds = (*order.thresholds[:position], k / steps, *order.thresholds[position:])
                out.append(Order((*order.order[:place], model, *order.order[place:]), thresholds))
    return out


def best_single(quality: Floats, usd: Floats, price: float) -> Order:
    """The single model with the greatest mean utility, the first of equal ones. quality, usd: rows x models."""
    return Order((int(np.argmax(np.sum(quality - price * usd, axis=0))),))


def _with_threshold(order: Order, position: int, value: float) -> Order:
    return Order(order.order, (*order.thresholds[:position], value, *order.thresholds[position + 1 :]))
