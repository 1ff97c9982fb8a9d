"""One order of models for every prompt, each with the estimated quality from which its answer is accepted."""

from __future__ import annotations

from typing import Optional

from ..kinds import Candidate, Kind, Policy
from ..sources.table import PreparedTable
from .order import Effort, best_in_time, best_order, readable

#: Limits for searches that come by the dozen: for folds, pairs of folds and prices.
SEARCH_EFFORT = Effort(prompts=6000, steps=50_000_000)


def fit(prepared: PreparedTable, candidate: Candidate, warm_start: Optional[Policy]) -> Policy:
    """The order with the greatest mean utility, with readable thresholds; or the best one within a bound on seconds."""
    if candidate.seconds is not None:
        return best_in_time(prepared.training, candidate.price, candidate.seconds)
    exact = best_order(prepared.training, candidate.price, SEARCH_EFFORT)
    return readable(exact, prepared.training, candidate.price)


KIND = Kind("thresholds", "one order of models", fit, frozenset({"judge"}))
