"""Weitzman's policy: an index of each model for each prompt, learned from all models' answers, also in operation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from ..groups import Floats, Ints
from ..kinds import Candidate, Kind, Policy
from ..outcomes import Outcomes, Walk, along
from ..sources.table import PreparedTable

#: How many answers indices are learned from, for prompts spread over the rows.
MOST_ANSWERS = 40_000


@dataclass(frozen=True, eq=False)
class LearnedIndices:
    """Indices of the engine's estimator after a calibration; it does not learn while it walks.

    `psi`, `cost` (in utility) and `shown` are for all rows of a source. `there`: models that it may call, a bit each.
    """

    estimator: Any  #: _core.IndexEstimator
    psi: Optional[np.ndarray]
    cost: Floats
    shown: Floats
    there: int = ~0

    def walk(self, outcomes: Outcomes) -> Walk:
        """The results of each row; `outcomes` are of the same source."""
        rows = np.arange(len(self.cost)) if outcomes.rows is None else outcomes.rows
        called, deployed = self.estimator.run(self.psi, self.cost, self.shown, rows, self.there & 0xFFFF)
        usd = along(called, outcomes.usd + outcomes.judge_usd).sum(axis=1)
        quality = outcomes.quality[np.arange(len(deployed)), deployed]
        numbers = np.stack([quality, usd, (called >= 0).sum(axis=1)])
        seconds = None if outcomes.latency is None else along(called, outcomes.latency).sum(axis=1)
        return Walk(called.astype(np.int64), deployed.astype(np.int64), numbers, seconds)

    def text(self, models: list[str]) -> str:
        """In words."""
        return "indices of each prompt"


def calibration_rows(rows: Ints, models: int) -> Ints:
    """Some of many rows, evenly spread."""
    periods = min(len(rows), max(1, MOST_ANSWERS // models))
    return rows[np.arange(periods) * len(rows) // periods]


def fit(prepared: PreparedTable, candidate: Candidate, warm_start: Optional[Policy]) -> Policy:
    """From all models' answers to the calibration rows. `warm_start`: indices whose estimates iterations begin with."""
    rows = calibration_rows(prepared.rows, prepared.outcomes.models)
    begun = warm_start.estimator if isinstance(warm_start, LearnedIndices) else None
    outcomes = prepared.outcomes
    cost = candidate.price * (outcomes.usd + outcomes.judge_usd)
    return LearnedIndices(prepared.learn_indices(cost, rows, begun), outcomes.psi, cost, prepared.shown)


KIND = Kind("indices", "an order for each prompt", fit, frozenset({"context", "judge"}))
