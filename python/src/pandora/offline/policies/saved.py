"""The policy of a running cascade, in the form of a fit's policies, so that a test walks rows as a fit does."""

from __future__ import annotations

import numpy as np

from ...live import RunningCascade
from ...live.learning import Learning
from ..groups import Floats
from ..outcomes import Outcomes
from .base import Policy
from .indices import LearnedIndices
from .router import Plans


def policy_of(cascade: RunningCascade, outcomes: Outcomes, shown: Floats) -> Policy:
    """Follows the rules without exploring; positions are those of the cascade's models.

    `outcomes` and `shown`, the evaluator's values, are for all rows, by those models.
    """
    members = cascade.members
    if isinstance(cascade.indices, Learning):
        there = sum(1 << model for model in range(len(members.models)) if model not in members.removed)
        cost = np.ascontiguousarray(members.price * (outcomes.usd + outcomes.judge_usd))
        return LearnedIndices(cascade.indices.copied_estimator(), outcomes.psi, cost, shown, there)
    if members.predictor is None:
        return members.plans[0]
    calling = [number for number, plan in enumerate(members.plans) if plan.order]
    return Plans(tuple(members.plans[number] for number in calling), members.predictor.of_plans(calling), members.price)
