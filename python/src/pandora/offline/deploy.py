"""From a fit to what runs: the members of a cascade's file, and how it uses its models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

import numpy as np
import numpy.typing as npt

from .. import _core
from .fit import Fit
from .groups import Ints
from .learners.estimators import EstimatorPredictor
from .learners.isotonic import IsotonicMap
from .options import FitSettings
from .outcomes import columns_called
from .policies import Order, Policy
from .policies.indices import LearnedIndices, calibration_rows
from .policies.router import Plans, plans_of
from .sources.table import PreparedTable

#: Of a cascade's file.
Members = dict[str, Any]


class Use(NamedTuple):
    """How a fitted cascade uses its models."""

    shares: list[dict[str, Any]]  #: by `model` of the file, the shares of prompts it is `called` for and `deployed` for
    never: list[str]  #: models that are never worth calling
    judged: float  #: the share of calls whose answers are judged

    @staticmethod
    def unknown() -> Use:
        """A log does not say it; all calls of a cascade of several models are judged."""
        return Use([], [], 1.0)


def models_used(policy: Policy, models: Sequence[str], explore: float) -> list[int]:
    """Columns of the table: those that are called or, where it is to explore and of indices, all."""
    if explore > 0.0 or isinstance(policy, LearnedIndices):
        return list(range(len(models)))
    return sorted({model for plan in plans_of(policy) for model in plan.order})


def file_of(policy: Policy, price: float, settings: FitSettings, prepared: PreparedTable) -> Members:
    """The members of a cascade's file, as _core.cascade_of takes them, without `about`.

    Of a router that is an estimator the name of its class stands in place of what no file can hold.
    """
    names = prepared.source.models
    used, plans = models_used(policy, names, settings.explore), plans_of(policy)
    file: Members = {"models": [names[model] for model in used], "price": price, "evaluator": settings.evaluator}
    if isinstance(policy, Order):
        return {**file, **members_of_order(policy, names, used, prepared.calibration)}
    if isinstance(policy, LearnedIndices):
        first = len(calibration_rows(prepared.rows, len(names)))
        estimation = json.loads(_core.live_estimation())
        estimation["forget"] = settings.forget
        rules = json.loads(_core.index_rules(not prepared.sees_truth, settings.c, first))
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
    """Of thresholds, less price and evaluator. `used`: models as the file lists them; `maps`: by model, or none."""
    out: Members = {"kind": "thresholds", "models": [names[model] for model in used], **plan_of(order, names)}
    return {**out, "calibration": [maps[model].to_json() for model in used]} if maps else out


def plan_of(plan: Order, names: Sequence[str]) -> Members:
    """Of a file, with the models' names."""
    return {"order": [names[model] for model in plan.order], "thresholds": list(plan.thresholds)}


def callers_estimator(policy: Policy) -> Optional[EstimatorPredictor]:
    """The estimator of the caller's by which it chooses plans; None where there is none."""
    predictor = policy.predictor if isinstance(policy, Plans) else None
    return predictor if isinstance(predictor, EstimatorPredictor) else None


def build_plain(file: dict[str, Any]) -> _core.Cascade:
    """The cascade of the members of its file; of indices one that has learned nothing."""
    cascade: _core.Cascade = _core.cascade_of(json.dumps(file))
    return cascade


def build_cascade(file: dict[str, Any], prepared: PreparedTable) -> _core.Cascade:
    """The same; indices are learned from all models' answers to the rows that they are calibrated on."""
    cascade = build_plain(file)
    if file["kind"] == "indices":
        prepared.teach(cascade, calibration_rows(prepared.rows, prepared.outcomes.models))
    return cascade


def use_of(fit: Fit, file: dict[str, Any], prepared: PreparedTable) -> Use:
    """How the cascade uses its models on the rows it was fitted on; these shares hardly depend on the fit."""
    names, policy = fit.models, fit.policy
    called, deployed, judged = _calls(policy, file, prepared)
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


def _calls(policy: Policy, file: dict[str, Any], prepared: PreparedTable) -> tuple[Ints, Ints, npt.NDArray[np.bool_]]:
    """The models that are called, in order and then -1, whose answer is deployed, and whether answers are judged."""
    outcomes = prepared.outcomes
    # On ties the engine deploys the model that comes first in the file; `Order.walk`, by which the promise is read, the
    # one that was called first. Shares are told as the engine deploys.
    if file["kind"] == "thresholds" or (file["kind"] == "routed" and "quality" in file["router"]):
        used = [prepared.source.models.index(name) for name in file["models"]]
        usd, shown = (np.ascontiguousarray(by_model[:, used]) for by_model in (outcomes.usd, prepared.shown))
        cascade = build_plain(file)
        psi = None if file["kind"] == "thresholds" else outcomes.psi
        arrays = _core.run_cascade(cascade, psi, usd + outcomes.judge_usd, shown)
        return columns_called(arrays[0], used), columns_called(arrays[1], used), np.asarray(arrays[2])
    walk = policy.walk(outcomes)
    if isinstance(policy, Plans):
        several = np.array([len(plan.order) > 1 for plan in policy.plans])[policy.choose(outcomes)]
    else:
        several = np.full(len(walk.deployed), isinstance(policy, LearnedIndices))
    return walk.called, walk.deployed, several


def all_rows(source: Any) -> Ints:
    """Numbers of all rows of a source."""
    return np.arange(len(source.groups.of_row))
