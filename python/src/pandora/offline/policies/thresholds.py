"""One order of models for every prompt, each with the estimated quality from which its answer is accepted."""

from __future__ import annotations

from typing import Optional

from ..kinds import Candidate
from .base import Policy, Prepared
from .order import Effort, best_in_time, readable

#: Searches come by the dozen: for folds, pairs of folds and prices.
EFFORT = Effort(prompts=10_000, steps=50_000_000)


class Thresholds:
    """The kind `thresholds`."""

    name = "thresholds"
    needs = frozenset({"judge"})
    out_of_fold = False
    priced_by = "thresholds"

    def fit(self, prepared: Prepared, candidate: Candidate, near: Optional[Policy] = None) -> Policy:
        """The order of the greatest mean utility, with readable thresholds; or the best one that is in time."""
        if candidate.seconds is not None:
            return best_in_time(prepared.training, candidate.price, candidate.seconds)
        found = prepared.best_order(candidate.price, EFFORT)
        return readable(found, prepared.training, candidate.price)
