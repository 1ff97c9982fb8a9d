"""From a fit to a running cascade: the members of a cascade's file, and how it uses its models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

from .. import _core
from ..live import Members as FileMembers
from ..live import RunningCascade
from ..live.learning import Learning
from .fit import Fit
from .learners.estimators import EstimatorPredictor
from .learners.isotonic import IsotonicMap
from .options import FitSettings
from .policies import Order, Policy
from .policies.indices import LearnedIndices, calibration_rows
from .policies.router import Plans, plans_of, walked
from .sources.table import PreparedTable

#: The members of a cascade's file.
Members = dict[str, Any]


class Use(NamedTuple):
    """How a fitted cascade uses its models."""

    shares: list[dict[str, Any]]  #: by `model` of the file, the shares of prompts it is `called` for and `deployed` for
    never: list[str]  #: models that are never worth calling
    judged: float  #: the share of calls whose answers are judged


def models_used(policy: Policy, models: Sequence[str], explore: float) -> list[int]:
    """Columns of the table: the models that are called; all models for indices, or if the cascade explores."""
    if explore > 0.0 or isinstance(policy, LearnedIndices):
        return list(range(len(models)))
    return sorted({model for plan in plans_of(policy) for model in plan.order})


def file_of(policy: Policy, price: float, settings: FitSettings, prepared: PreparedTable) -> Members:
    """The members of a cascade's file, as _core.cascade_of takes them, without `about`.

    If the router is an estimator, which no file can hold, the name of its class takes its place.
    """
    names = prepared.source.models
    used, plans = models_used(policy, names, settings.explore), plans_of(policy)
    file: Members = {"models": [names[model] for model in used], "price": price, "evaluator": settings.evaluator}
    if isinstance(policy, Order):
        return {**file, **members_of_order(policy, names, used, prepared.calibration)}
    if isinstance(policy, LearnedIndices):
        first = len(calibration_rows(prepared.rows, len(names)))
        estimation = json.loads(_core.estimation(forget=settings.forget))
        rules = json.loads(_core.lane_rules("shrunk_weitzman", not prepared.sees_truth, settings.c, first, 0.0))
        file.update(kind="indices", rules=rules, estimation=estimation)
    elif isinstance(policy, Plans):
        is_router = all(len(plan.order) == 1 for plan in plans)
        file.update(kind="router" if is_router else "routed", plans=[plan_of(plan, names) for plan in plans])
        estimator = callers_estimator(policy)
        file["router"] = policy.predictor.to_json() if estimator is None else {"learner": estimator.learner}
        if prepared.calibration and not is_router:
            file["calibration"] = [prepared.calibration[model].to_json() for model in used]
    if prepared.features is not None and prepared.features.size > 0:
        file["features"] = json.loads(prepared.features.json)
    if prepared.psi_range:
        file["psi_range"] = [list(ends) for ends in prepared.psi_range]
    return file


def members_of_order(order: Order, names: Sequence[str], used: Sequence[int], maps: Sequence[IsotonicMap]) -> Members:
    """The members for thresholds, without price and evaluator. `used`: models as the file lists them; `maps`: by model,
    or none.
    """
    out: Members = {"kind": "thresholds", "models": [names[model] for model in used], **plan_of(order, names)}
    return {**out, "calibration": [maps[model].to_json() for model in used]} if maps else out


def plan_of(plan: Order, names: Sequence[str]) -> Members:
    """A plan in a file, with the models' names."""
    return {"order": [names[model] for model in plan.order], "thresholds": list(plan.thresholds)}


def callers_estimator(policy: Policy) -> Optional[EstimatorPredictor]:
    """The caller's estimator by which the policy chooses plans; None if there is none."""
    predictor = policy.predictor if isinstance(policy, Plans) else None
    return predictor if isinstance(predictor, EstimatorPredictor) else None


def build_cascade(file: dict[str, Any], prepared: Optional[PreparedTable], policy: Policy) -> RunningCascade:
    """The cascade from the members of its file. Indices are learned from all models' answers to the rows of `prepared`
    on which they are calibrated. `policy`: the fitted policy, whose router may be a caller's estimator.
    """
    cascade = RunningCascade(FileMembers.of_json(file, callers_estimator(policy)))
    if isinstance(cascade.indices, Learning) and prepared is not None:
        outcomes = prepared.outcomes
        cost = file["price"] * (outcomes.usd + outcomes.judge_usd)
        rows = calibration_rows(prepared.rows, outcomes.models)
        cascade.indices.estimator.teach(outcomes.psi, cost, prepared.shown, outcomes.quality, rows)
    return cascade


def use_of(fit: Fit, file: dict[str, Any], prepared: PreparedTable) -> Use:
    """How the cascade uses its models on the rows on which it was fitted; these shares hardly depend on the fit."""
    names, policy = fit.models, fit.policy
    called, deployed, judged = walked(policy, prepared.outcomes)
    made, rows = called >= 0, len(deployed)
    shares = []
    for name in file["models"]:
        model = names.index(name)
        used = {"called": float((called == model).sum()) / rows, "deployed": float((deployed == model).sum()) / rows}
        shares.append({"model": name, **used})
    never = [names[model] for model in fit.never]
    if isinstance(policy, LearnedIndices):
        never += [share["model"] for share in shares if share["called"] == 0.0]
    elif isinstance(policy, Plans):
        never += [name for name in names if name not in file["models"]]
    return Use(shares, never, float(made[judged].sum() / made.sum()))
