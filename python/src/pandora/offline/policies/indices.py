"""Weitzman's policy: an index of each model for each prompt, learned from all models' answers and learned on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from ... import _core
from ..groups import Ints
from ..kinds import Candidate
from ..outcomes import CALLS, QUALITY, USD, Outcomes, Walk
from .base import Policy, Prepared, psi_of

#: Answers that indices are learned from, of prompts spread over the rows.
MOST_ANSWERS = 40_000


@dataclass(frozen=True)
class LearnedIndices:
    """Indices as the engine's estimator has them after a calibration; nothing is learned while it walks."""

    estimator: Any  #: _core.FittedIndices
    models: int

    def walk(self, outcomes: Outcomes) -> Walk:
        """What becomes of each row, by the engine."""
        called, deployed = self.estimator.run(
            psi_of(outcomes), outcomes.usd + outcomes.judge_usd, outcomes.seen, outcomes.quality
        )
        rows, made = np.arange(len(deployed)), called >= 0
        at = np.maximum(called, 0)
        usd = np.where(made, np.take_along_axis(outcomes.usd, at, axis=1) + outcomes.judge_usd, 0.0)
        numbers = np.empty((3, len(rows)))
        numbers[QUALITY] = outcomes.quality[rows, deployed]
        numbers[USD], numbers[CALLS] = usd.sum(axis=1), made.sum(axis=1)
        seconds = None
        if outcomes.latency is not None:
            seconds = np.where(made, np.take_along_axis(outcomes.latency, at, axis=1), 0.0).sum(axis=1)
        return Walk(called.astype(np.int64), deployed.astype(np.int64), numbers, True, seconds)

    def text(self, models: list[str]) -> str:
        """In words."""
        return "indices of each prompt"


def calibration_rows(rows: Ints, models: int) -> Ints:
    """Of many rows some, spread over them."""
    periods = min(len(rows), max(1, MOST_ANSWERS // models))
    return rows[np.arange(periods) * len(rows) // periods]


class Indices:
    """The kind `indices`."""

    name = "indices"
    needs = frozenset({"context", "judge"})
    out_of_fold = False
    priced_by = "thresholds"

    def fit(self, prepared: Prepared, candidate: Candidate, near: Optional[Policy] = None) -> Policy:
        """From all models' answers to the calibration rows. `near`: indices from where the estimates set out."""
        outcomes = prepared.outcomes
        rows = calibration_rows(prepared.rows, outcomes.models)
        some = outcomes.take(rows)
        estimator = _core.FittedIndices(
            psi_of(some),
            some.usd + some.judge_usd,
            some.seen,
            some.quality,
            candidate.price,
            prepared.sees_truth,
            near.estimator if isinstance(near, LearnedIndices) else None,
        )
        return LearnedIndices(estimator, outcomes.models)
