"""One model for each prompt, by its features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
import numpy.typing as npt

from ..groups import Ints
from ..kinds import Candidate, Kind, Policy
from ..learners.predictors import Predictor
from ..outcomes import Outcomes, Walk
from ..sources.table import PreparedTable
from .order import Order


@dataclass(frozen=True)
class Plans:
    """Takes for each prompt the plan with the greatest predicted utility, the first of equal ones."""

    plans: tuple[Order, ...]
    predictor: Predictor
    price: float

    def choose(self, outcomes: Outcomes) -> Ints:
        """By row the number of the chosen plan."""
        quality, usd = self.predictor.predict(outcomes.features)
        chosen: Ints = np.argmax(quality - self.price * usd, axis=1)
        return chosen

    def walk(self, outcomes: Outcomes) -> Walk:
        """The results of each row."""
        chosen = self.choose(outcomes)
        positions = max(len(plan.order) for plan in self.plans)
        out = Walk.empty(len(chosen), positions, outcomes.latency is not None)
        for number, plan in enumerate(self.plans):
            rows = np.flatnonzero(chosen == number)
            out.put(rows, plan.walk(outcomes.take(rows)))
        return out

    def text(self, models: list[str]) -> str:
        """The plans, with "|" between."""
        return " | ".join(plan.text(models) for plan in self.plans)


def walked(policy: Policy, outcomes: Outcomes) -> tuple[Ints, Ints, npt.NDArray[np.bool_]]:
    """By row the models that are called, in order and then -1; the model whose answer is deployed; and whether answers
    are looked at, which is not so if only one model can be called.
    """
    walk = policy.walk(outcomes)
    if isinstance(policy, Plans):
        judged = np.array([plan.looks_at_answers for plan in policy.plans])[policy.choose(outcomes)]
    else:
        judged = np.full(len(walk.deployed), not isinstance(policy, Order) or policy.looks_at_answers)
    return walk.called, walk.deployed, judged


def only_model(policy: Policy) -> Optional[int]:
    """The plan that it uses for every prompt, whatever it sees; None if there is no such plan."""
    orders = {plan.order for plan in plans_of(policy)}
    order = orders.pop() if len(orders) == 1 else ()
    return order[0] if len(order) == 1 else None


def plans_of(policy: Policy) -> list[Order]:
    """The orders between which a policy chooses; none for indices."""
    return [policy] if isinstance(policy, Order) else list(policy.plans) if isinstance(policy, Plans) else []


def chosen_of(prepared: PreparedTable, plans: Sequence[Order], price: float) -> Plans:
    """A router with the learner whose choices are best when each prompt is left out, and the plans that it chooses."""
    predictor, numbers = prepared.predictors(plans).best(price)
    return Plans(tuple(plans[number] for number in numbers), predictor, price)


def fit(prepared: PreparedTable, candidate: Candidate, warm_start: Optional[Policy]) -> Policy:
    """Of the models alone."""
    return chosen_of(prepared, [Order((model,)) for model in range(prepared.outcomes.models)], candidate.price)


KIND = Kind(
    "router",
    "a model for each prompt by its context",
    fit,
    frozenset({"context"}),
    out_of_fold=True,
    priced_by="router",
)
