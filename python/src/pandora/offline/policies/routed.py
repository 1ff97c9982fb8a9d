"""A model or an order with thresholds for each prompt, by its features."""

from __future__ import annotations

from typing import Optional

from ..kinds import Candidate
from .base import Policy, Prepared
from .order import Effort, Order, readable
from .router import chosen_of

#: Of one search for each model that a plan begins with.
EFFORT = Effort(prompts=3000, steps=5_000_000)


class Routed:
    """The kind `routed`."""

    name = "routed"
    needs = frozenset({"context", "judge"})
    out_of_fold = True
    priced_by = "thresholds"

    def fit(self, prepared: Prepared, candidate: Candidate, near: Optional[Policy] = None) -> Policy:
        """Of the models alone and, for each of them, the best order that begins with it."""
        models = range(prepared.outcomes.models)
        plans = [Order((model,)) for model in models]
        for model in models:
            plan = prepared.best_order(candidate.price, EFFORT, model)
            if len(plan.order) > 1:
                plans.append(readable(plan, prepared.training, candidate.price))
        return chosen_of(prepared, plans, candidate.price)
