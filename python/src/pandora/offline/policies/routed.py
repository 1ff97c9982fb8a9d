"""A model or an order with thresholds for each prompt, by its features."""

from __future__ import annotations

from typing import Optional

from ..kinds import Candidate, Kind, Policy
from ..sources.table import PreparedTable
from .order import Effort, Order, best_order, readable
from .router import chosen_of

#: The limits of one search, for each model with which a plan begins.
SEARCH_EFFORT = Effort(prompts=3000, steps=5_000_000)


def fit(prepared: PreparedTable, candidate: Candidate, warm_start: Optional[Policy]) -> Policy:
    """Chooses between the models alone and, for each model, the best order that begins with it."""
    training, models = prepared.training, range(prepared.outcomes.models)
    plans = [Order((model,)) for model in models]
    for model in models:
        plan = best_order(training, candidate.price, SEARCH_EFFORT, model)
        if len(plan.order) > 1:
            plans.append(readable(plan, training, candidate.price))
    return chosen_of(prepared, plans, candidate.price)


NEEDS = frozenset({"context", "judge"})
KIND = Kind("routed", "a model or an order with thresholds for each prompt", fit, NEEDS, out_of_fold=True)
