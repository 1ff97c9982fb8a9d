"""Small tables that are made from whole numbers, so that they are the same on every machine and with every numpy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def uniform(seed: int, *shape: int) -> Array:
    """Random multiples of 0.001 in [0, 1), by splitmix64."""
    with np.errstate(over="ignore"):
        x = (np.arange(int(np.prod(shape)), dtype=np.uint64) + np.uint64(seed * 1_000_003)) * np.uint64(
            0x9E3779B97F4A7C15
        )
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
        x ^= x >> np.uint64(31)
    out: Array = (x % np.uint64(1000)).astype(np.float64).reshape(shape) / 1000.0
    return out


class Outcomes(NamedTuple):
    features: npt.NDArray[np.float32]
    quality: Array
    usd: Array


def outcomes(
    seed: int,
    rows: int,
    features: int,
    plans: int,
    kind: str = "0/1",
    levels: int = 0,
    twins: bool = False,
    strength: float = 2.0,
) -> Outcomes:
    """`kind`: the kind of qualities, "0/1", "share" or "real". `levels`: the number of values of every feature, if they
    are few. `twins`: the last plan is the same as the first.
    """
    x = np.round(4.0 * (uniform(seed, rows, features) - 0.5), 3)
    if levels:
        x = np.asarray(np.floor(uniform(seed, rows, features) * levels), np.float64)
    slopes = strength * (uniform(seed + 1, features, plans) - 0.5)
    score = np.zeros((rows, plans))
    for column, slope in zip(x.T, slopes):  # a product of matrices may round differently
        score += column[:, None] * slope
    noise = uniform(seed + 2, rows, plans)
    if kind == "0/1":
        quality = (score + 3.0 * (noise - 0.5) > 0.0).astype(np.float64)
    elif kind == "share":
        quality = np.asarray(np.round(np.clip(0.5 + 0.2 * score + 0.3 * (noise - 0.5), 0.0, 1.0), 3), np.float64)
    else:
        quality = np.round(score + noise, 3)
    usd = 0.001 * (1.0 + np.arange(plans)) * (0.5 + uniform(seed + 3, rows, plans))
    if twins:
        quality[:, -1], usd[:, -1] = quality[:, 0], usd[:, 0]
    return Outcomes(x.astype(np.float32), quality, usd)


#: The arguments of outcomes() from which golden_learners.json was made.
CASES: dict[str, dict[str, Any]] = {
    "three models, 0/1": dict(seed=11, rows=150, features=3, plans=3),
    "two models, shares": dict(seed=21, rows=60, features=2, plans=2, kind="share"),
    "four models, any qualities": dict(seed=31, rows=80, features=4, plans=4, kind="real"),
    "twins, features of three values": dict(seed=41, rows=400, features=2, plans=4, levels=3, twins=True),
    "five models, all learners": dict(seed=51, rows=400, features=16, plans=5, strength=0.8),
    "more features than logistic regression takes": dict(seed=61, rows=120, features=70, plans=2),
    "more prompts than are remembered": dict(seed=71, rows=3500, features=5, plans=3, strength=1.0),
    "eight prompts": dict(seed=81, rows=8, features=2, plans=3),
}
PRICES = [0.0, 1.0, 5.0, 20.0, 100.0, 1000.0]
