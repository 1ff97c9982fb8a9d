"""Panels that nobody simulated, beside the published numbers."""

from __future__ import annotations

import csv
import functools
import pathlib
from collections.abc import Mapping, Sequence
from typing import Optional

import numpy as np
from pandora_verdict.control_variates import Covariate
from pandora_verdict.panels import ROWS, Entry, Panel
from pandora_verdict.sample import Estimate, Sample

ROOT = pathlib.Path(__file__).resolve().parents[3]
RESULTS = ROOT / "experiments" / "results"
PUBLISHED = ROOT / "experiments" / "published"


@functools.cache
def _published(name: str) -> list[dict[str, str]]:
    with (PUBLISHED / name).open() as file:
        return list(csv.DictReader(file))


@functools.cache
def published_regret(regime: str, environment: str, policy: str, reward: str, T0: int) -> Optional[Estimate]:
    for row in _published("regret.csv"):
        cell = (row["regime"], row["environment"], row["policy"], row["T0"])
        if cell == (regime, environment, policy, str(T0)) and row["reward"] in (reward, "unstated"):
            return Estimate(float(row["regret_x1000"]), float(row["half_width_95_x1000"]))
    return None


def panel_of(
    random: np.random.Generator,
    n: int,
    regime: str = "A",
    environment: str = "uniform",
    T0: Sequence[int] = (0, 50, 100, 1000),
    means: Optional[Mapping[str, float]] = None,
) -> Panel:
    """Regrets that depend on the oracle's utility, as they do, and on each other; three hyperparameters of DOW.

    With `means`, by row or row and T0, they scatter by 0.1 around these, in all cells, and utilities around 500.
    """
    cost, luck = random.normal(size=n), random.normal(size=n)
    utility = 500 + 0.1 * random.normal(size=n) if means else 500 - 40 * cost + 10 * random.normal(size=n)
    entries = []
    for t in T0:
        for policy, reward, printed in ROWS:
            published = published_regret(regime, environment, policy, reward, t)
            if published is None:
                continue
            name = f"{policy}/{printed}" if printed else policy
            if means:
                mean = means.get(f"{name} {t}", means.get(name, 100.0))
                choices = [Sample.of(mean + 0.1 * random.normal(size=n), published)]
            else:
                base = 9 + 0.01 * (utility - 500) - 0.5 * cost + luck
                count = 3 if policy == "dow" else 1
                choices = [Sample.of(base + random.normal(size=n) + 2 * h, published) for h in range(count)]
            entries.append(Entry(policy, printed, t, tuple(choices)))
    header = next(r for r in _published("oracle.csv") if (r["regime"], r["environment"]) == (regime, environment))
    header_utility = Estimate(float(header["oracle_utility_x1000"]), float(header["half_width_95_x1000"]))
    return Panel(
        setting="", environment=environment, regime=regime, replications=n, which=np.arange(n),
        utility=Sample.of(utility, header_utility),
        boxes=Sample.of(1.6 - 0.1 * cost + 0.05 * random.normal(size=n), Estimate(float(header["boxes_queried"]), 0.0)),
        order=(),
        costs=tuple(Covariate(values, 0.0) for values in (cost, *(cost + 0.3 * random.normal(size=(2, n))))),
        entries=tuple(entries),
    )  # fmt: skip
